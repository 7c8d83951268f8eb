"""ONX414: the function without the underscore."""

from __future__ import annotations

import libcst as cst

from onnxlint.fix.registry import remedy
from onnxlint.records import Fix, Safety
from onnxlint.rules.site import Site


@remedy("ONX414", Safety.UNSAFE)
def make_a_new_tensor(site: Site) -> Fix | None:
    """Unsafe: the caller's tensor keeps its shape then."""
    call = site.at_span(cst.Call)
    statement = site.parent(call) if call is not None else None
    match call:
        case cst.Call(func=cst.Attribute(value=cst.Name() as tensor, attr=cst.Name(value=name)) as func):
            if not name.endswith("_") or not isinstance(statement, cst.Expr):
                return None
            new = call.with_changes(func=func.with_changes(attr=cst.Name(name[:-1])))
            change = site.replace(statement, cst.Assign([cst.AssignTarget(tensor)], new))
            return site.fix(f"go on with what `{name[:-1]}` returns", Safety.UNSAFE, change)
    return None
