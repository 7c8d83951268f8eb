"""ONX504: a dict as one argument of forward."""

from __future__ import annotations

import ast

from onnxlint.fix.calls import argument
from onnxlint.fix.exports import export_call
from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site
from onnxlint.records import Fix, Safety


@remedy("ONX504", Safety.UNSAFE)
def pass_it_as_one_argument(site: Site) -> Fix | None:
    """Unsafe: the call does something else than before. An empty dict at the end takes the keyword arguments' place."""
    call = export_call(site)
    given = argument(call, "args", 1) if call is not None else None
    if given is None:
        return None
    if isinstance(given, ast.Tuple):
        if len(given.elts) != 1 or not site.source(given).endswith(")"):
            return None
        item = given.elts[0]
        return site.fix(
            "end the tuple with an empty dict", Safety.UNSAFE, site.replace(given, f"({site.source(item)}, {{}})")
        )
    if not isinstance(given, (ast.Name, ast.Dict, ast.Attribute)):
        return None
    return site.fix(
        "pass it in a tuple, with an empty dict behind it",
        Safety.UNSAFE,
        site.replace(given, f"({site.source(given)}, {{}})"),
    )
