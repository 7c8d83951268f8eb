"""ONX101: compute both arms of a branch on tensor data, and choose with `torch.where`."""

from __future__ import annotations

import ast

from onnxlint.fix.arms import broken, chosen, is_number, where
from onnxlint.fix.freed import free_names
from onnxlint.fix.guards import without_shortcut
from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site
from onnxlint.fix.values import Values, condition, may_reshape, names_in
from onnxlint.records import Edit, Fix, Safety

_CHOOSE = "compute both arms and choose with `torch.where`"


@remedy("ONX101", Safety.UNSAFE)
def choose_with_where(site: Site) -> Fix | None:
    """Unsafe: both arms run on every input, so one that fails, or divides by zero, where it did not run is felt."""
    branch = branch_of(site)
    if branch is None:
        return None
    if site.number("sized"):
        return without_guard(site, branch)
    edits = free_names(site, branch.test)
    if edits is None:
        return None
    bound = dict.fromkeys(edits, True)
    values = Values(site, bound)
    before = tuple(edits.values())
    if isinstance(branch, ast.IfExp):
        text = _ternary(site, branch, values)
        return site.fix(_CHOOSE, Safety.UNSAFE, *before, site.replace_whole(branch, text)) if text else None
    text = chosen(site, branch, values)
    if text is not None:
        return site.fix(_CHOOSE, Safety.UNSAFE, *before, site.replace(branch, text))
    return _returns(site, branch, values, before) or without_shortcut(site, branch)


def branch_of(site: Site) -> ast.If | ast.IfExp | None:
    """The branch whose test the finding underlines; an `elif` is part of the `if` above it."""
    node = site.at_span(ast.expr)
    if node is None:
        return None
    for outer in (node, *site.around(node)):
        parent = site.region.parents.get(outer)
        if isinstance(parent, (ast.If, ast.IfExp)) and parent.test is outer:
            if isinstance(parent, ast.If):
                return _head(site, parent)
            return parent
        if isinstance(outer, ast.stmt):
            break
    return None


def _head(site: Site, node: ast.If) -> ast.If:
    above = site.region.parents.get(node)
    while (
        isinstance(above, ast.If)
        and above.orelse == [node]
        and site.page.text.startswith("elif", site.page.range(node)[0])
    ):
        node, above = above, site.region.parents.get(above)
    return node


def _ternary(site: Site, node: ast.IfExp, values: Values) -> str | None:
    test = condition(values, node.test)
    if test is None or not _tensors(values, node.body, node.orelse):
        return None
    return where(test, site.source(node.body), site.source(node.orelse))


def _fits(one: ast.expr, other: ast.expr) -> bool:
    """Not where one is a variable as it is, and the other the same in another shape."""
    plain = [n for n in (one, other) if isinstance(n, ast.Name)]
    return not any(may_reshape(n) and p.id in names_in(n) for p in plain for n in (one, other))


def _tensors(values: Values, *nodes: ast.expr) -> bool:
    """Whether all are tensors or numbers, and one at least a tensor."""
    if not all(_fits(one, other) for one in nodes for other in nodes if one is not other):
        return False
    return any(map(values.is_tensor, nodes)) and all(values.is_tensor(n) or is_number(n) for n in nodes)


def _returns(site: Site, node: ast.If, values: Values, before: tuple[Edit, ...]) -> Fix | None:
    """`if test: return a`, then `return b`, be it in the `else`, behind the `if`, or at the end of the function."""
    if len(node.body) != 1 or not isinstance(node.body[0], ast.Return) or site.function(node) is None:
        return None
    test = condition(values, node.test)
    first = node.body[0].value
    block = site.block(node)
    if test is None or first is None or node not in block:
        return None
    following = node.orelse or block[block.index(node) + 1 :]
    last = following[-1] if following else None
    if not isinstance(last, ast.Return) or last.value is None:
        return None
    if len(following) > 1:
        return None
    start, end = site.page.range(node)[0], site.page.range(last)[1]
    comments = site.comments(start, end)
    told = _chosen_value(site, values, test, first, last.value)
    if told is None or "#" in told:
        return None
    indent = site.indent(node)
    lines = [*(text for _, text in comments), broken("return ", told, indent)]
    return site.fix(_CHOOSE, Safety.UNSAFE, *before, site.splice(start, end, f"\n{indent}".join(lines)))


def _chosen_value(site: Site, values: Values, test: str, first: ast.expr, second: ast.expr) -> str | None:
    if isinstance(first, ast.Tuple) and isinstance(second, ast.Tuple) and len(first.elts) == len(second.elts):
        pairs = list(zip(first.elts, second.elts, strict=True))
        if not all(_tensors(values, a, b) for a, b in pairs):
            return None
        return ", ".join(
            site.source(a) if ast.dump(a) == ast.dump(b) else where(test, site.source(a), site.source(b))
            for a, b in pairs
        )
    if not _tensors(values, first, second):
        return None
    return where(test, site.source(first), site.source(second))


def without_guard(site: Site, node: ast.If | ast.IfExp) -> Fix | None:
    """A test for an empty selection: what is done with it does no harm when nothing is selected."""
    if not isinstance(node, ast.If) or node.orelse or not isinstance(node.test, ast.Compare) or len(node.test.ops) != 1:
        return None
    limit = node.test.comparators[0]
    if not isinstance(limit, ast.Constant) or limit.value not in (0, 1):
        return None
    operator = type(node.test.ops[0])
    if not _is_count(site, node.test.left):
        return None
    empty = (operator is ast.Eq and limit.value == 0) or (operator is ast.Lt and limit.value == 1)
    if empty and len(node.body) == 1 and isinstance(node.body[0], ast.Continue):
        return site.fix(
            "leave out the test: the rest does nothing for an empty selection", Safety.UNSAFE, site.remove(node)
        )
    return None


def _is_count(site: Site, node: ast.expr) -> bool:
    """`rows.numel()`, `len(rows)`, `rows.shape[0]`: how many were selected."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
    if not isinstance(node, ast.Call):
        return False
    return site.source(node.func) == "len" or (
        isinstance(node.func, ast.Attribute) and node.func.attr in ("numel", "nelement", "size")
    )
