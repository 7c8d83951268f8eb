import libcst as cst

from onnxlint.base.records import Edit, Fix, Outcome, Safety, Severity
from onnxlint.flow.state.observations import Branch
from onnxlint.rules.engine.cst_tree import walk
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site, body_of, elements, ended, is_loaded, names_in, orelse_of, same, variables
from onnxlint.rules.helpers.branch_arms import broken, chosen, is_number, keyword_of, where
from onnxlint.rules.helpers.freed_numbers import free_names
from onnxlint.rules.helpers.value_kinds import Values, condition, may_reshape
from onnxlint.rules.helpers.work_saving_branches import branch_of, without_guard, without_question

_UNFELT = {"torchscript": Outcome.OK, "dynamo": Outcome.EXPORT_ERROR}
_CHOOSE = "compute both arms and choose with `torch.where`"

WORDS = {"ternary": "the conditional expression", "comprehension": "the comprehension's `if`"}


class TensorBranch(Rule):
    """Object to a test that reads tensor data; shape, dtype and None-ness are not data."""

    def on_branch(self, node: Node, branch: Branch) -> Objections:
        keyword = keyword_of(self, node)
        word = WORDS.get(keyword, f"the `{keyword}`")
        if branch.reads == "data" and not branch.leaves:
            what = "a size that depends on tensor data" if branch.sized else "the value of a tensor"
            message = f"{word} branches on {what}: `{self.source(node)}`"
            effects = _UNFELT if branch.talks else None
            about = f"branch on {_subject_of(branch) or self.source(_subject(node))}"
            hints: dict[str, str | int] = {"sized": int(branch.sized), "does": "" if "any(" in message else branch.does}
            yield Objection(message, effects=effects, about=about, hints=hints)
        elif branch.reads == "weight":
            message = f"{word} branches on the value of a weight: `{self.source(node)}`"
            advice = "decide it once in `__init__` and keep the answer as a Python bool"
            about = f"branch on {_subject_of(branch) or self.source(_subject(node))}"
            yield Objection(message, advice, severity=Severity.WARNING, effects=_UNFELT, about=about)

    def fix(self, site: Site) -> Fix | None:
        """Unsafe: both arms run on every input, so one that fails, or divides by zero, where it did not run is felt."""
        if site.hint("does") == "more" and not site.number("sized"):
            return None
        branch = branch_of(site)
        if branch is None:
            return None
        if site.number("sized"):
            return without_guard(site, branch)
        read = {n.value for n in variables(branch.test) if site.value(n.value) == "data" and is_loaded(site, n)}
        values = Values(site, read)
        if isinstance(branch, cst.IfExp):
            choice = _choice(site, values, branch.test, branch.body, branch.orelse)
            change = site.replace_whole(branch, choice) if choice is not None else None
        else:
            change = chosen(site, branch, values) or _returns(site, branch, values)
        shorter = _without_shortcut(site, branch) if change is None and isinstance(branch, cst.If) else None
        edits = free_names(site, branch.test) if change or shorter else None
        if edits is None or change is None:
            return None if edits is None else shorter
        return site.fix(_CHOOSE, Safety.UNSAFE, *edits.values(), change)


def _subject(test: cst.CSTNode) -> cst.CSTNode:
    """What a test is about: of a comparison, its left side."""
    while isinstance(test, (cst.UnaryOperation, cst.Comparison)):
        test = test.expression if isinstance(test, cst.UnaryOperation) else test.left
    return test


def _subject_of(branch: Branch) -> str:
    """What the `if` is about that this is an `elif` of: they choose together."""
    return cst.Module([]).code_for_node(_subject(cst.parse_expression(branch.head))) if branch.head else ""


def _fits(one: cst.BaseExpression, other: cst.BaseExpression) -> bool:
    """Not where one is a variable as it is, and the other the same in another shape."""
    plain = [n for n in (one, other) if isinstance(n, cst.Name)]
    return not any(may_reshape(n) and p.value in names_in(n) for p in plain for n in (one, other))


def _choice(
    site: Site, values: Values, test: cst.BaseExpression, one: cst.BaseExpression, other: cst.BaseExpression
) -> cst.BaseExpression | None:
    """The choice between two expressions: both tensors or numbers that fit together, and one at least a tensor."""
    asked, arms = condition(values, test), (one, other)
    if asked is None or not _fits(one, other) or not any(map(values.is_tensor, arms)):
        return None
    if not all(values.is_tensor(n) or is_number(n) for n in arms):
        return None
    return where(site, asked, one, other)


def _returns(site: Site, node: cst.If, values: Values) -> Edit | None:
    """`if test: return a`, then `return b`, be it in the `else` or behind the `if`."""
    if not isinstance(body_of(node)[0], cst.Return) or condition(values, node.test) is None:
        return None
    block = [] if node.orelse else site.block(node)
    following = orelse_of(node) or block[block.index(node) + 1 :]
    match body_of(node), following:
        case [cst.Return(cst.BaseExpression() as first)], [cst.Return(cst.BaseExpression() as second) as last]:
            value = _chosen_value(site, values, node.test, first, second)
            if value is None or site.comments(value) or site.function(node) is None:
                return None
            bare, line = node.with_changes(leading_lines=()), site.parent(last)
            comments = site.comments(ended(bare)) if node.orelse else site.comments(bare, ended(line or last))
            returned = cst.Return(broken(site, value, f"{site.indent(node)}return "))
            return site.replace_lines(node, last, [cst.SimpleStatementLine([returned])], comments)
    return None


def _chosen_value(
    site: Site, values: Values, test: cst.BaseExpression, first: cst.BaseExpression, second: cst.BaseExpression
) -> cst.BaseExpression | None:
    ones, others = elements(first), elements(second)
    if not (isinstance(first, cst.Tuple) and isinstance(second, cst.Tuple) and ones and others):
        return _choice(site, values, test, first, second)
    if len(ones) != len(others):
        return None
    parts = []
    for one, other in zip(ones, others, strict=True):
        part = _choice(site, values, test, one, other)
        if part is None:
            return None
        parts.append(cst.Element(one if same(one, other) else part))
    return cst.Tuple(parts, lpar=(), rpar=())


def _without_shortcut(site: Site, branch: cst.If) -> Fix | None:
    """`if mask.any():` before what only masks: a mask that is empty masks nothing."""
    title = "do without the shortcut: an empty mask masks nothing"
    test, body = branch.test, body_of(branch)
    match test:
        case cst.BooleanOperation(cst.Comparison(cst.Name(name), [cst.ComparisonTarget(cst.IsNot())]), cst.And(), last):
            if name != _asked_for_any(last) or name not in names_in(*body):
                return None
            return site.fix(title, Safety.UNSAFE, site.replace(test, test.left))
    mask = _asked_for_any(test)
    if mask is None or not all(mask in names_in(statement) for statement in body):
        return None
    if any(isinstance(n, (cst.Return, cst.Raise, cst.Break, cst.Continue)) for s in body for n in walk(s)):
        return None
    return without_question(site, branch, title, Safety.UNSAFE)


def _asked_for_any(test: cst.BaseExpression) -> str | None:
    """The variable of `mask.any()` or `torch.any(mask)`."""
    match test:
        case cst.Call(cst.Attribute(attr=cst.Name("any")), [cst.Arg(cst.Name(mask), keyword=None)]):
            return str(mask)
        case cst.Call(cst.Attribute(cst.Name(mask), cst.Name("any")), []):
            return str(mask)
    return None
