"""The arms of a branch as one computation: which variables each sets, and `torch.where` of them."""

from collections.abc import Sequence

import libcst as cst

from onnxlint.base.records import Edit
from onnxlint.rules.engine.cst_tree import Statement
from onnxlint.rules.engine.rule import Rule
from onnxlint.rules.engine.site import Site, bare, body_of, ended, names_in, operand, orelse_of
from onnxlint.rules.helpers.value_kinds import Values, condition, fresh, may_reshape

KEYWORDS = {cst.While: "while", cst.IfExp: "ternary", cst.Match: "match", cst.CompIf: "comprehension", cst.If: "if"}
LONGEST = 100  # columns of a line that is written
MOST = 190  # arms, one within the other: Python parses no more than 200 parentheses
# `x <<= n` and `x ^= y` are left out.
_OPERATORS = frozenset(("+=", "-=", "*=", "/=", "**=", "@=", "&=", "|=", "%=", "//="))
Arm = dict[str, cst.BaseExpression]  # what an arm sets variables to


def keyword_of(rule: Rule, test: cst.CSTNode) -> str:
    """What branches on a test: one of KEYWORDS."""
    at = rule.parent(test)
    while at is not None and type(at) not in KEYWORDS:
        at = rule.parent(at)
    return "if" if at is None else KEYWORDS[type(at)]


def chosen(site: Site, node: cst.If, values: Values) -> Edit | None:
    """Set what the `if` sets, without it; None where an arm does something else."""
    branch = _branch(site, node, values)
    if branch is None:
        return None
    tests, arms, reads = branch
    *bodies, otherwise = arms
    names = list(dict.fromkeys(name for arm in arms for name in arm))
    if len(names) > 1 and reads & set(names):
        return None  # a later line would read what an earlier one has changed
    if any(name not in arm and not values.is_tensor(cst.Name(name)) for name in names for arm in arms):
        return None  # an arm leaves it unset
    remaining = site.comments(*tests)
    comments = [text for text in site.comments(ended(node.with_changes(leading_lines=()))) if text not in remaining]
    lines: list[cst.Assign] = []
    function = site.function(node)
    if len(names) > 1 and function is not None:  # said once, read for every variable
        for at, test in enumerate(tests):
            tests[at] = name = cst.Name(fresh(site, function, "test" if at == 0 else f"test_{at + 1}"))
            lines.append(cst.Assign([cst.AssignTarget(name)], test))
    for text in names:
        target = cst.Name(text)
        value = otherwise.get(text, target)
        for test, body in zip(reversed(tests), reversed(bodies), strict=True):
            value = where(site, test, body.get(text, target), value)
        lines.append(cst.Assign([cst.AssignTarget(target)], broken(site, value, f"{site.indent(node)}{text} = ")))
    return site.replace_lines(node, node, [cst.SimpleStatementLine([line]) for line in lines], comments)


def _branch(site: Site, node: cst.If, values: Values) -> tuple[list[cst.BaseExpression], list[Arm], set[str]] | None:
    """The conditions of an `if` with its `elif`s; what is assigned under each, and otherwise; what is read for that."""
    tests: list[cst.BaseExpression] = []
    bodies: list[Arm] = []
    reads: set[str] = set()
    rest: Sequence[Statement] = [node]
    while len(rest) == 1 and isinstance(branch := rest[0], cst.If):
        test = condition(values, branch.test)
        body = _assigned(site, body_of(branch), values)
        if test is None or body is None or len(tests) == MOST:
            return None
        tests.append(test)
        bodies.append(body)
        reads |= names_in(branch.test) | _read(body_of(branch))
        rest = orelse_of(branch)
    otherwise = _assigned(site, rest, values)
    return None if otherwise is None else (tests, [*bodies, otherwise], reads | _read(rest))


def _read(body: Sequence[Statement]) -> set[str]:
    return names_in(*(s.value for s in body if isinstance(s, (cst.Assign, cst.AugAssign))))


def _assigned(site: Site, body: Sequence[Statement], values: Values) -> Arm | None:
    """What a block assigns, by name; None where it does anything but set variables to tensors or numbers."""
    assigned: Arm = {}
    for statement in body:
        match statement:
            case cst.Pass():
                continue
            case cst.Assign([cst.AssignTarget(cst.Name(name))], value):
                new = value
            case cst.AugAssign(cst.Name(name) as target, operator, value):
                sign = site.source(operator)
                if sign not in _OPERATORS or not values.is_tensor(target):
                    return None
                new = site.expression(f"{{one}} {sign.removesuffix('=')} {{other}}", one=target, other=operand(value))
            case _:
                return None
        if name in assigned or names_in(value) & assigned.keys():
            return None
        if site.comments(value) or not (values.is_tensor(value) or is_number(value)):
            return None
        if may_reshape(value) and name in names_in(value):
            return None  # it has another shape afterwards: what there is to choose from does not fit together
        assigned[name] = new
    return assigned


def where(site: Site, test: cst.BaseExpression, *arms: cst.BaseExpression) -> cst.BaseExpression:
    """The choice between two expressions."""
    one, other = map(bare, arms)
    return site.expression("torch.where({test}, {one}, {other})", test=test, one=one, other=other)


def is_number(node: cst.BaseExpression) -> bool:
    """Whether an expression is a literal number."""
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus):
        node = node.expression
    return isinstance(node, (cst.Integer, cst.Float))


def broken(site: Site, value: cst.BaseExpression, head: str) -> cst.BaseExpression:
    """A call with its arguments on lines of their own, where it would be too long for one line behind its head."""
    code = site.tree.code(value)
    if not isinstance(value, cst.Call) or "\n" in code or len(head) + len(code) <= LONGEST:
        return value
    row = cst.ParenthesizedWhitespace(indent=True, last_line=cst.SimpleWhitespace("    "))
    ends = [*[row] * (len(value.args) - 1), cst.ParenthesizedWhitespace(indent=True)]
    args = [a.with_changes(comma=cst.Comma(whitespace_after=end)) for a, end in zip(value.args, ends, strict=True)]
    return value.with_changes(whitespace_before_args=row, args=args)
