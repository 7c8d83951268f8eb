"""The arms of a branch as one computation: which variables each sets, and `torch.where` of them."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from onnxlint.fix.site import Site
from onnxlint.fix.values import Values, condition, fresh, may_reshape, names_in

LONGEST = 100  # columns of a line that is written
MOST = 190  # arms, one within the other: Python parses no more than 200 parentheses


@dataclass(frozen=True, slots=True)
class Branch:
    """An `if` with its `elif`s: a condition and what is assigned under it, and what is assigned otherwise."""

    tests: tuple[str, ...]
    bodies: tuple[dict[str, str], ...]
    otherwise: dict[str, str]
    reads: frozenset[str]


def chosen(site: Site, node: ast.If, values: Values) -> str | None:
    """The statements that set what the `if` sets, without it; None where an arm does something else."""
    branch = _branch(site, node, values)
    if branch is None:
        return None
    arms = (*branch.bodies, branch.otherwise)
    names = list(dict.fromkeys(name for arm in arms for name in arm))
    if len(names) > 1 and branch.reads & set(names):
        return None  # a later line would read what an earlier one has changed
    if any(name not in arm and not values.is_tensor(ast.Name(name)) for name in names for arm in arms):
        return None  # an arm leaves it unset
    lines = []
    tests = list(branch.tests)
    function = site.function(node)
    if len(names) > 1 and function is not None:  # said once, read for every variable
        for at, test in enumerate(tests):
            tests[at] = fresh(site, function, "test" if at == 0 else f"test_{at + 1}")
            lines.append(f"{tests[at]} = {test}")
    for name in names:
        told = branch.otherwise.get(name, name)
        for test, body in zip(reversed(tests), reversed(branch.bodies), strict=True):
            told = where(test, body.get(name, name), told)
        lines.append(broken(f"{name} = ", told, site.indent(node)))
    comments = [text for _, text in site.comments(*site.page.range(node))]
    return f"\n{site.indent(node)}".join([*comments, *lines])


def _branch(site: Site, node: ast.If, values: Values) -> Branch | None:
    tests: list[str] = []
    bodies: list[dict[str, str]] = []
    reads: set[str] = set()
    rest: Sequence[ast.stmt] = [node]
    while len(rest) == 1 and isinstance(rest[0], ast.If):
        if len(tests) == MOST:
            return None
        test = condition(values, rest[0].test)
        body = _assigned(site, rest[0].body, values)
        if test is None or body is None:
            return None
        tests.append(test)
        bodies.append(body)
        reads |= names_in(rest[0].test)
        reads |= names_in(*(s.value for s in rest[0].body if isinstance(s, (ast.Assign, ast.AugAssign)) and s.value))
        rest = rest[0].orelse
    otherwise = _assigned(site, rest, values)
    if otherwise is None:
        return None
    reads |= names_in(*(s.value for s in rest if isinstance(s, (ast.Assign, ast.AugAssign))))
    return Branch(tuple(tests), tuple(bodies), otherwise, frozenset(reads))


def _assigned(site: Site, body: Sequence[ast.stmt], values: Values) -> dict[str, str] | None:
    """What a block assigns, as text by name; None where it does anything but set variables to tensors or numbers."""
    found: dict[str, str] = {}
    for statement in body:
        if isinstance(statement, ast.Assign):
            target, value = statement.targets[0], statement.value
            if len(statement.targets) > 1:
                return None
            text = site.source(value)
        elif isinstance(statement, ast.AugAssign):
            target, value = statement.target, statement.value
            text = f"{site.source(target)} {_OPERATORS.get(type(statement.op), '')} {site.operand(value)}"
            if type(statement.op) not in _OPERATORS or not values.is_tensor(target):
                return None
        elif isinstance(statement, ast.Pass):
            continue
        else:
            return None
        if not isinstance(target, ast.Name) or target.id in found or names_in(value) & found.keys():
            return None
        if "#" in text or not (values.is_tensor(value) or is_number(value)):
            return None
        if may_reshape(value) and target.id in names_in(value):
            return None  # it has another shape afterwards: what there is to choose from does not fit together
        found[target.id] = text
    return found


_OPERATORS = {
    **{ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**", ast.MatMult: "@"},
    **{ast.BitAnd: "&", ast.BitOr: "|", ast.Mod: "%", ast.FloorDiv: "//"},
}


def is_number(node: ast.expr) -> bool:
    """Whether an expression is a literal number."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def where(test: str, one: str, other: str) -> str:
    """Choose between two tensors."""
    return f"torch.where({test}, {one}, {other})"


def broken(head: str, call: str, indent: str) -> str:
    """A statement, with the arguments of its call on lines of their own where it would be too long for one."""
    if len(indent) + len(head) + len(call) <= LONGEST or "\n" in call:
        return head + call
    try:
        node = ast.parse(call, mode="eval").body
    except SyntaxError:
        return head + call
    if not isinstance(node, ast.Call) or not call.isascii():
        return head + call
    inner = f"\n{indent}    "
    parts = [call[a.col_offset : a.end_col_offset] for a in node.args]
    return f"{head}{call[: node.func.end_col_offset]}({inner}{f',{inner}'.join(parts)},\n{indent})"
