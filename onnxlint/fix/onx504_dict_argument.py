"""ONX504: a dict as one argument of forward."""

from __future__ import annotations

import libcst as cst

from onnxlint.fix.registry import remedy
from onnxlint.records import Fix, Safety
from onnxlint.rules.exports import export_call
from onnxlint.rules.site import Site, argument


@remedy("ONX504", Safety.UNSAFE)
def pass_it_as_one_argument(site: Site) -> Fix | None:
    """Unsafe: the call does something else than before. An empty dict at the end takes the keyword arguments' place."""
    call = export_call(site)
    given = argument(call, "args", 1) if call is not None else None
    empty = cst.Element(cst.Dict([]))
    if isinstance(given, cst.Tuple):
        if len(given.elements) != 1 or not given.lpar:
            return None
        comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
        new = given.with_changes(elements=[given.elements[0].with_changes(comma=comma), empty])
        return site.fix("end the tuple with an empty dict", Safety.UNSAFE, site.replace(given, new))
    if not isinstance(given, (cst.Name, cst.Dict, cst.Attribute)):
        return None
    new = cst.Tuple([cst.Element(given.with_changes(lpar=(), rpar=())), empty])
    return site.fix("pass it in a tuple, with an empty dict behind it", Safety.UNSAFE, site.replace(given, new))
