"""ONX307: tie the statistics of a normalisation to the mode of its module."""

from __future__ import annotations

import ast

from onnxlint.fix.calls import argument, set_argument
from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site
from onnxlint.records import Fix, Safety


@remedy("ONX307", Safety.UNSAFE, changes_output=True)
def tie_to_mode(site: Site) -> Fix | None:
    """Unsafe: eval mode then normalises by the running statistics, which the call has to be given."""
    call = site.at_span(ast.Call)
    if call is None or not site.is_module(call) or not ast.unparse(call.func).endswith("batch_norm"):
        return None
    owner = site.owner(call)
    statistics = (argument(call, "running_mean", 1), argument(call, "running_var", 2))
    if owner is None or any(s is None or isinstance(s, ast.Constant) for s in statistics):
        return None
    edits = set_argument(site, call, "training", f"{owner}.training", position=5)
    return site.fix("pass `training=self.training`", Safety.UNSAFE, *edits) if edits else None
