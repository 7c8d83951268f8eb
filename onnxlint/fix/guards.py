"""Branches that only save work: without the question the same is computed, if for nothing."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from onnxlint.fix.site import Site, many_lines
from onnxlint.fix.values import assigned, names_in
from onnxlint.records import Fix, Safety


def without_question(site: Site, branch: ast.If, title: str, safety: Safety) -> Fix | None:
    """The body in the place of the branch, with its comments."""
    if site.page.text.startswith("elif", site.page.range(branch)[0]) or branch.orelse:
        return None
    start, end = site.page.range(branch)
    first, last = site.page.range(branch.body[0])[0], site.page.range(branch.body[-1])[1]
    row = site.page.lines.start(branch.body[0].lineno)
    if site.page.text[row:first].strip():
        return None  # on the line of the `if`
    text = site.page.text[first:last]
    comments = [note for at, note in site.comments(start, end) if not first <= at < last]
    if "\n" in text:
        shift = len(site.indent(branch.body[0])) - len(site.indent(branch))
        if shift < 1 or any(map(many_lines, branch.body)):
            return None
        rows = text.split("\n")
        text = "\n".join([rows[0], *(row[shift:] if not row[:shift].strip() else row for row in rows[1:])])
    return site.fix(title, safety, site.splice(start, end, f"\n{site.indent(branch)}".join([*comments, text])))


def without_shortcut(site: Site, branch: ast.If) -> Fix | None:
    """`if mask.any():` before what only masks: a mask that is empty masks nothing."""
    title = "do without the shortcut: an empty mask masks nothing"
    test = branch.test
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) and len(test.values) == 2:
        first, second = test.values
        mask = _asked_for_any(second)
        given = (
            isinstance(first, ast.Compare) and isinstance(first.ops[0], ast.IsNot) and isinstance(first.left, ast.Name)
        )
        if mask is None or not given or mask not in names_in(first) or not _mentions(branch.body, mask):
            return None
        return site.fix(title, Safety.UNSAFE, site.replace(test, site.source(first)))
    mask = _asked_for_any(test)
    if mask is None or branch.orelse or not all(_mentions([s], mask) for s in branch.body):
        return None
    if any(isinstance(n, (ast.Return, ast.Raise, ast.Break, ast.Continue)) for s in branch.body for n in ast.walk(s)):
        return None
    return without_question(site, branch, title, Safety.UNSAFE)


def _asked_for_any(test: ast.expr) -> str | None:
    """The variable of `mask.any()` or `torch.any(mask)`."""
    if not isinstance(test, ast.Call) or not isinstance(test.func, ast.Attribute) or test.func.attr != "any":
        return None
    asked = test.args[0] if test.args else test.func.value
    return asked.id if isinstance(asked, ast.Name) and not test.keywords else None


def _mentions(body: Sequence[ast.stmt], name: str) -> bool:
    return any(name in names_in(statement) for statement in body)


def amounts(test: ast.expr) -> list[ast.Name] | None:
    """The variables of `p > 0 or q > 0`, `p or q`, `p != 0`; None for any other test."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        found = [amounts(value) for value in test.values]
        return None if any(f is None for f in found) else [name for f in found for name in f or ()]
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], (ast.NotEq, ast.Gt)):
        right = test.comparators[0]
        if not (isinstance(right, ast.Constant) and right.value == 0):
            return None
        test = test.left
    return [test] if isinstance(test, ast.Name) else None


def is_rest(site: Site, name: ast.Name) -> bool:
    """Whether a variable is what a division leaves, and so never below zero: `-n % k`, `(k - n % k) % k`."""
    values = list(assigned(site, name))
    value = values[0] if len(values) == 1 else None
    return isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mod)


def pads_only(site: Site, branch: ast.If) -> bool:
    """Whether the body is one `pad` by the amounts that the test asks for, none of which is ever below zero."""
    asked = amounts(branch.test)
    if asked is None or len(branch.body) != 1 or not isinstance(branch.body[0], ast.Assign):
        return False
    call = branch.body[0].value
    if not isinstance(call, ast.Call) or site.source(call.func).rpartition(".")[2] != "pad" or len(call.args) < 2:
        return False
    given = call.args[1].elts if isinstance(call.args[1], (ast.Tuple, ast.List)) else []
    names = [e for e in given if isinstance(e, ast.Name)]
    zeros = [e for e in given if isinstance(e, ast.Constant) and e.value == 0]
    known = {n.id for n in asked}
    return (
        bool(names)
        and len(names) + len(zeros) == len(given)
        and {n.id for n in names} <= known
        and all(is_rest(site, n) for n in asked)
    )


def crops_only(branch: ast.If) -> bool:
    """Whether the body only cuts a variable to sizes: `x = x[:, :h, :w].contiguous()`."""
    if amounts(branch.test) is None or len(branch.body) != 1 or not isinstance(branch.body[0], ast.Assign):
        return False
    statement = branch.body[0]
    value = statement.value
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "contiguous":
        value = value.func.value
    if not (isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Tuple)):
        return False
    same = ast.dump(value.value) == ast.dump(statement.targets[0]).replace("Store()", "Load()")
    return same and all(
        isinstance(p, ast.Slice) and p.lower is None and p.step is None and not isinstance(p.upper, ast.UnaryOp)
        for p in value.slice.elts
    )
