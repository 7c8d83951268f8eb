"""ONX115: pad always, by an amount that may be zero."""

from __future__ import annotations

import ast

from onnxlint.fix.guards import pads_only, without_question
from onnxlint.fix.onx101_tensor_branch import branch_of
from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site
from onnxlint.fix.values import assigned
from onnxlint.records import Edit, Fix, Safety

_TITLE = "pad always, by an amount that may be zero"


@remedy("ONX115", Safety.SAFE)
def pad_always(site: Site) -> Fix | None:
    """Safe: the amount is zero exactly where the question was answered with no."""
    branch = branch_of(site)
    if not isinstance(branch, ast.If) or branch.orelse or len(branch.body) != 1:
        return None
    if pads_only(site, branch):
        return without_question(site, branch, _TITLE, Safety.SAFE)
    statement = branch.body[0]
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
        return None
    call = statement.value
    if site.source(call.func).rpartition(".")[2] != "pad" or len(call.args) < 2:
        return None
    asked = _asked(branch.test)
    if asked is None:
        return None
    return _rest(site, branch, asked, call)


def _asked(test: ast.expr) -> ast.expr | None:
    """What is asked for being other than zero: `n`, `n != 0`, `n > 0`."""
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], (ast.NotEq, ast.Gt)):
        right = test.comparators[0]
        return test.left if isinstance(right, ast.Constant) and right.value == 0 else None
    return test if isinstance(test, (ast.Name, ast.BinOp)) else None


def _rest(site: Site, branch: ast.If, asked: ast.expr, call: ast.Call) -> Fix | None:
    """`if n % k: pad by k - n % k`: pad by `-n % k`."""
    rest = asked
    if isinstance(asked, ast.Name):
        values = list(assigned(site, asked))
        if len(values) != 1 or values[0] is None:
            return None
        rest = values[0]
    if not (isinstance(rest, ast.BinOp) and isinstance(rest.op, ast.Mod)):
        return None
    divisor, text = site.source(rest.right), site.source(asked)
    found = [
        n
        for n in ast.walk(call.args[1])
        if isinstance(n, ast.BinOp)
        and isinstance(n.op, ast.Sub)
        and site.source(n) in (f"{divisor} - {text}", f"{divisor} - ({text})")
    ]
    if len(found) != 1 or any(isinstance(n, ast.Name) and n not in ast.walk(found[0]) for n in ast.walk(call.args[1])):
        return None
    fix = without_question(site, branch, _TITLE, Safety.SAFE)
    if fix is None:
        return None
    (edit,) = fix.edits
    amount = f"-{site.operand(rest.left)} % {divisor}"
    if edit.text.count(site.source(found[0])) != 1:
        return None
    told = edit.text.replace(site.source(found[0]), amount)
    return site.fix(_TITLE, Safety.SAFE, Edit(edit.path, edit.start, edit.end, told))
