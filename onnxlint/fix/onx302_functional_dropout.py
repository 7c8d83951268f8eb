"""ONX302: tie a functional dropout to the mode of its module."""

from __future__ import annotations

import ast

from onnxlint.fix.calls import set_argument
from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site
from onnxlint.records import Fix, Safety


@remedy("ONX302", Safety.UNSAFE, changes_output=True)
def tie_to_mode(site: Site) -> Fix | None:
    """Pass `training=self.training`; outside of a module's method there is no mode to pass."""
    call = site.at_span(ast.Call)
    if call is None or not site.is_module(call):
        return None
    owner = site.owner(call)
    if owner is None:
        return None
    name = ast.unparse(call.func).rpartition(".")[2]
    if name[:1].isupper():
        return None  # a module made in forward: it belongs in `__init__`
    if name == "scaled_dot_product_attention":
        given = next((k.value for k in call.keywords if k.arg == "dropout_p"), None)
        if given is None:
            return None
        text = f"{site.operand(given)} if {owner}.training else 0.0"
        return site.fix(
            "drop only in training: `dropout_p=… if self.training else 0.0`", Safety.UNSAFE, site.replace(given, text)
        )
    edits = set_argument(site, call, "training", f"{owner}.training", position=2)
    return site.fix("pass `training=self.training`", Safety.UNSAFE, *edits) if edits else None
