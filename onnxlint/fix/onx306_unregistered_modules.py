"""ONX306: a container that registers its modules."""

from __future__ import annotations

import libcst as cst
from libcst import matchers as m

from onnxlint.fix.registry import remedy
from onnxlint.records import Fix, Safety
from onnxlint.rules.site import Site, bare

_NAMED = m.DictElement(key=m.SimpleString() | m.ConcatenatedString())
_ATTRIBUTE = m.Assign(targets=[m.AssignTarget(m.Attribute())]) | m.AnnAssign(target=m.Attribute())


@remedy("ONX306", Safety.UNSAFE, changes_output=True)
def register_them(site: Site) -> Fix | None:
    """Unsafe: `eval()` then reaches the modules, and the state dict gains their weights."""
    kinds = (cst.List, cst.ListComp, cst.Dict, cst.DictComp)
    node = next((n for n in site.inside(cst.BaseExpression) if isinstance(n, kinds)), None)
    statement = site.parent(node) if node is not None else None
    if node is None or statement is None or not m.matches(statement, _ATTRIBUTE):
        return None
    if isinstance(node, cst.DictComp):
        return None  # whether its keys are text cannot be told
    if isinstance(node, cst.Dict) and not all(m.matches(e, _NAMED) for e in node.elements):
        return None
    name = "ModuleDict" if isinstance(node, cst.Dict) else "ModuleList"
    container = f"{site.page.imports.get('torch.nn') or 'torch.nn'}.{name}"
    new = site.expression(f"{container}({{modules}})", modules=bare(node))
    return site.fix(f"wrap it in `{container}(...)`", Safety.UNSAFE, site.replace(node, new))
