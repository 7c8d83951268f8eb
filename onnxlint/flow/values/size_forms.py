"""Sizes that the code around them settles: forms of one input, a single element, what is only given back."""

import ast

from onnxlint.flow.tables import NAMES
from onnxlint.flow.values.node_places import last_name, nodes_of

_HOLDS = (ast.Return, ast.Tuple, ast.List, ast.Dict, ast.BinOp, ast.UnaryOp, ast.Compare)


def tells_forms(test: ast.Compare) -> bool:
    """True for `mask.shape == (b, h, w)`, `mask.shape[1] == n`, `position_ids.shape[0] == 4`: forms of one input.

    So does `mask.shape[0] < batch * heads`: a mask for each item of the batch, or for each head of each.
    """
    left, right = test.left, test.comparators[0]
    equal = isinstance(test.ops[0], (ast.Eq, ast.NotEq))
    if isinstance(left, ast.Attribute):
        return equal and left.attr == "shape" and isinstance(right, ast.Tuple)
    name = getattr(read_sizes_of(left), "id", "")
    if not equal:
        factors = _factors(right)
        return name.endswith("mask") and len(factors) > 1 and not any(isinstance(n, ast.Constant) for n in factors)
    return name == "position_ids" or (name.endswith("mask") and not isinstance(right, ast.Constant))


def read_sizes_of(node: ast.expr) -> ast.expr | None:
    """The tensor of which `x.shape[0]` is a size."""
    sizes = node.value if isinstance(node, ast.Subscript) else None
    return sizes.value if isinstance(sizes, ast.Attribute) and sizes.attr == "shape" else None


def _factors(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return [*_factors(node.left), *_factors(node.right)]
    return [node]


def takes_item(call: ast.AST, statement: ast.AST | None) -> bool:
    """True for the `t.squeeze()` of `t.squeeze().item()`: eager itself takes one element only."""
    nodes = ast.walk(statement) if statement is not None else ()
    return any(isinstance(n, ast.Attribute) and n.value is call and n.attr == "item" for n in nodes)


def gives_back(call: ast.AST, statement: ast.AST | None, function: ast.AST) -> bool:
    """True for `return x.squeeze()` and `return x.squeeze() * 2`, and where the last return alone reads its name so.

    Measured: the files of both exporters drop the axes that eager drops, also where an operator broadcasts the result.
    """
    if not isinstance(statement, ast.Assign) or not _hands_on(statement.value, call):
        return isinstance(statement, ast.Return) and _hands_on(statement, call)
    names = [n for n in nodes_of(function) if isinstance(n, ast.Name) and n.lineno > (statement.end_lineno or 0)]
    read = [n for n in names if ast.unparse(n) == ast.unparse(statement.targets[0])]
    last = getattr(function, "body", [None])[-1]
    return isinstance(last, ast.Return) and len(read) == 1 and _hands_on(last, read[0])


def _hands_on(node: ast.AST, inner: ast.AST) -> bool:
    name = last_name(node.func if isinstance(node, ast.Call) else node)
    holds = isinstance(node, _HOLDS) and not isinstance(getattr(node, "op", None), ast.MatMult)
    among = ast.iter_child_nodes(node) if holds or name in NAMES["elementwise"] else ()
    return node is inner or any(_hands_on(n, inner) for n in among)


def may_be_list(at: ast.AST, function: ast.AST) -> bool:
    """True for `len(x)` where the function asks whether `x` is a list, and `at` stands in no arm of that question."""
    name = at.args[0] if isinstance(at, ast.Call) and at.args else None
    if not isinstance(name, ast.Name):
        return False
    asking = [n for n in nodes_of(function) if isinstance(n, ast.Call) and _asks_for_list(n, name.id)]
    arms = (n for n in nodes_of(function) if isinstance(n, (ast.If, ast.IfExp)) and any(m is at for m in ast.walk(n)))
    return bool(asking) and not any(a in asking for n in arms for a in ast.walk(n.test))


def _asks_for_list(call: ast.Call, name: str) -> bool:
    if not (isinstance(call.func, ast.Name) and call.func.id == "isinstance" and len(call.args) == 2):
        return False
    kinds = {n.id for n in ast.walk(call.args[1]) if isinstance(n, ast.Name)}
    return isinstance(call.args[0], ast.Name) and call.args[0].id == name and bool(kinds & {"list", "tuple"})
