"""ONX306: a container that registers its modules."""

from __future__ import annotations

import ast

from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site
from onnxlint.records import Fix, Safety


@remedy("ONX306", Safety.UNSAFE, changes_output=True)
def register_them(site: Site) -> Fix | None:
    """Unsafe: `eval()` then reaches the modules, and the state dict gains their weights."""
    node = next(
        (n for n in site.inside(ast.expr) if isinstance(n, (ast.List, ast.ListComp, ast.Dict, ast.DictComp))), None
    )
    if node is None:
        return None
    statement = site.statement(node)
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or statement.value is not node:
        return None
    if isinstance(node, ast.Dict) and not all(
        isinstance(k, ast.Constant) and isinstance(k.value, str) for k in node.keys
    ):
        return None
    if isinstance(node, ast.DictComp):
        return None  # whether its keys are text cannot be told
    kind = "ModuleDict" if isinstance(node, ast.Dict) else "ModuleList"
    nn = site.page.imports.get("torch.nn") or "torch.nn"
    if not _used_as_modules(site, statement):
        return None
    start, end = site.page.range(node)
    return site.fix(
        f"wrap it in `{nn}.{kind}(...)`",
        Safety.UNSAFE,
        site.splice(start, start, f"{nn}.{kind}("),
        site.splice(end, end, ")"),
    )


def _used_as_modules(site: Site, statement: ast.Assign | ast.AnnAssign) -> bool:
    """No class mixes something else in later, as far as its text tells: only `self.name` on the left."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return len(targets) == 1 and isinstance(targets[0], ast.Attribute)
