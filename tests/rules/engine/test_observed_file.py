"""The statements that are parsed, their metadata, and rules that visit their nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import libcst as cst
import pytest
from libcst.metadata import MetadataWrapper

from onnxlint.base.catalogue import load_catalogue
from onnxlint.base.records import Diagnostic, Finding, Span
from onnxlint.flow.state.observations import BoolOperator, Branch, Call, Escape, Observation
from onnxlint.rules.engine import look_through as engine
from onnxlint.rules.engine import observed_file
from onnxlint.rules.engine.cst_tree import Tree
from onnxlint.rules.engine.observed_file import ObservationProvider, ObservedFile, Piece, ValueProvider
from onnxlint.rules.engine.rule import Objection, Rule
from onnxlint.rules.engine.source_page import Page
from onnxlint.rules.helpers.branch_arms import keyword_of
from onnxlint.rules.onx102_tensor_bool_operator import TensorBoolOperator

PATH = "model.py"


def seen(text: str, part: str, statement: str = "", kind: type[Observation] = Call, **more: object) -> Observation:
    """An observation at the first occurrence of a part of a text, in the statement whose line holds another."""
    start = text.index(part)
    lines = Page(PATH, text).lines
    span = Span(PATH, *lines.place(start), *lines.place(start + len(part)))
    line = lines.place(text.index(statement))[0] if statement else span.line
    return kind(span, part, "m.f", statement=line, **more)


def opened(text: str, *observations: Observation) -> ObservedFile:
    broken: list[Diagnostic] = []
    file = ObservedFile(Page(PATH, text), observations, broken)
    assert not broken
    return file


STATEMENTS = [
    ("y = f(x)\n", "f(x)", "", cst.Call, cst.Assign),
    ("if 1:\n    y = [\n        f(x),\n    ]\n", "f(x)", "y = [", cst.Call, cst.Element),
    ("if 1:\n  a = 'é(['; y = a + f(x)  # )\n", "f(x)", "", cst.Call, cst.BinaryOperation),
    ("if 1:\n    if f(x) > 0:  # why:\n        pass\n", "f(x) > 0", "", cst.Comparison, cst.If),
    ("if 0:\n    pass\nelif a and b and c:\n    pass\n", "a and b and c", "", cst.BooleanOperation, cst.If),
    ("def f():\n    try: pass\n    except f(x): return y\n", "f(x)", "", cst.Call, cst.ExceptHandler),
    ("if 1:\n    match f(x):\n        case _:\n            pass\n", "f(x)", "", cst.Call, cst.Match),
    ("match x:\n    case _ if f(x):\n        pass\n", "f(x)", "", cst.Call, cst.MatchCase),
    ("if 1: y = 1\nelse: y = f(x)\n", "f(x)", "", cst.Call, cst.Assign),
    ("try: y = f(x)\nfinally: pass\n", "f(x)", "", cst.Call, cst.Assign),
    ("for y in f(x):\n    break\n", "f(x)", "", cst.Call, cst.For),
    ("while x.item():\n    break", "x.item()", "", cst.Call, cst.While),
    ("with f(x) as y, \\\n   g(x):\n    pass\n", "g(x)", "with", cst.Call, cst.WithItem),
    ("y = f(a=x.n, *x)\n", "a=x.n", "", cst.Arg, cst.Call),
    ("n = a.n + n\n", "n", "", cst.Name, cst.AssignTarget),
    ("y = (x, n)[n]\n", "(x, n)", "", cst.Tuple, cst.Subscript),
    ('y = """\n(\n""" + f(x)\n', "f(x)", "y =", cst.Call, cst.BinaryOperation),
]


@pytest.mark.parametrize(("text", "part", "statement", "kind", "around"), STATEMENTS, ids=[s[0] for s in STATEMENTS])
def test_an_observation_has_its_node_in_its_statement(
    text: str, part: str, statement: str, kind: type[cst.CSTNode], around: type[cst.CSTNode]
) -> None:
    observation = seen(text, part, statement)
    file = opened(text, observation)
    ((node, observations),) = file.metadata[ObservationProvider].items()
    assert observations == [observation]
    assert (type(node), type(file.parent(node))) == (kind, around)
    (piece,) = file.pieces
    assert piece.tree is not None
    span = observation.span
    assert piece.tree.range(node) == ((span.line, span.column), (span.end_line, span.end_column))


def test_the_statement_stands_for_what_goes_on_behind_its_header() -> None:
    text = "class M:\n    def forward(self, x):\n        return x\n"
    file = opened(text, seen(text, "def forward(self, x):\n        return x"))
    (node,) = file.metadata[ObservationProvider]
    assert isinstance(node, cst.FunctionDef)
    assert file.parent(node) is None


DEEP = "y = f(x)" + " + 1" * 3000


def test_of_a_statement_that_is_nested_too_deeply_the_expression_is_parsed_alone() -> None:
    file = opened(f"{DEEP}\nz = g(x)\n", seen(f"{DEEP}\nz = g(x)\n", "f(x)"), seen(f"{DEEP}\nz = g(x)\n", "g(x)"))
    assert [file.source(node) for node in file.metadata[ObservationProvider]] == ["f(x)", "g(x)"]
    assert [piece.tree is None for piece in file.pieces] == [True, False]


def test_places_in_a_text_that_is_nested_too_deeply_are_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = Tree(DEEP + "\n", lambda line, column: (line, column))
    with pytest.raises(RecursionError):
        tree.at((1, 1), (1, 5))
    monkeypatch.setattr(cst.CSTNode, "_codegen", None)  # it would fail otherwise
    with pytest.raises(RecursionError):
        tree.at((1, 1), (1, 5))


def test_values_are_those_of_variables_and_of_what_was_observed() -> None:
    text = "y = f(x, x.n, n=n)\n"
    file = opened(text, seen(text, "f(x, x.n, n=n)", described={"x": "tensor", "n": "dim:batch", "": "data"}))
    values = {file.source(node): kind for node, kind in file.metadata[ValueProvider].items()}
    assert values == {"x": "tensor", "n": "dim:batch", "f(x, x.n, n=n)": "data"}
    assert len(file.metadata[ValueProvider]) == 4  # `x` twice, and one `n` of three


def test_libcst_alone_has_no_dataflow() -> None:
    with pytest.raises(ValueError, match="Cache is required"):
        MetadataWrapper(cst.parse_module("y = f(x)\n")).resolve(ObservationProvider)


def test_each_statement_is_parsed_once_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[int] = []
    piece = observed_file._piece

    def counted(page: Page, line: int) -> Piece:
        lines.append(line)
        return piece(page, line)

    monkeypatch.setattr(observed_file, "_piece", counted)
    text = "a = f(x) + g(x)\nif h(x):\n    b = i(x)\nc = j(x)\n"
    observations = [seen(text, part) for part in ("g(x)", "h(x)", "f(x)")]
    looked(Calls, text, [*observations, seen(text, "j(x)", kind=Branch)])
    assert lines == [1, 2]


def looked(rule: type[Rule], text: str, observations: Iterable[Observation]) -> tuple[list[Finding], list[str]]:
    """What one rule says, under the contract of another; and the errors."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rule, "code", "ONX404", raising=False)
        patch.setattr(engine, "rules_of", lambda codes: ({"ONX404": rule()}, []))
        contract = replace(load_catalogue()["ONX404"], effects={"dynamo": "export-error"})
        findings, broken = engine.look_through(
            PATH, text, list(observations), ["ONX404"], {"ONX404": contract}, ["dynamo"]
        )
    return list(findings), [diagnostic.message for diagnostic in broken]


class Calls(Rule):
    """Subscribes to observations."""

    code = "ONX499"

    def on_op_call(self, node: cst.Call, call: Call) -> Iterator[Objection]:
        yield Objection(f"{self.source(node)} is {self.value(node)}", "", at=node.args[0])


class Visitor(Rule):
    """Visits nodes, and asks what was observed there."""

    code = "ONX499"

    def visit_Call(self, node: cst.Call) -> None:
        for _ in self.observations(node, Call):
            self.report(node.args[0], f"{self.source(node)} is {self.value(node)}", "")


TEXT = "a = f(x) + (g(\n    x  # why\n))\nif h(y):\n    b = i(x)\n"


@pytest.mark.parametrize("rule", [Calls, Visitor])
def test_rules_of_both_styles_say_the_same_at_the_same_nodes(rule: type[Rule]) -> None:
    observations = [
        seen(TEXT, "g(\n    x  # why\n)", described={"": "data"}),
        seen(TEXT, "h(y)", described={"": "tensor"}),
    ]
    findings, broken = looked(rule, TEXT, [*observations, seen(TEXT, "f(x)", kind=Escape)])
    assert broken == []
    assert [(f.message, f.span.line, f.span.column) for f in findings] == [
        ("g( x # why ) is data", 2, 5),
        ("h(y) is tensor", 4, 6),
    ]


def test_a_visitor_is_called_for_all_nodes_of_a_statement_and_none_of_its_body() -> None:
    class Names(Rule):
        code = "ONX499"

        def visit_Name(self, node: cst.Name) -> None:
            self.report(node, node.value, "")

    findings, _ = looked(Names, TEXT, [seen(TEXT, "h(y)", trace=())])
    assert [(f.message, f.span.line) for f in findings] == [("h", 4), ("y", 4)]


def test_a_rule_that_raises_costs_its_own_findings_only() -> None:
    class Broken(Rule):
        code = "ONX499"

        def visit_Call(self, node: cst.Call) -> None:
            self.report(node, "said", "")
            if isinstance(self.parent(node), cst.If):
                raise ZeroDivisionError

    findings, broken = looked(Broken, TEXT, [seen(TEXT, "f(x)"), seen(TEXT, "h(y)")])
    assert [f.span.line for f in findings] == [1, 1]
    assert broken == ["internal error in ONX404: ZeroDivisionError: "]


def test_of_a_statement_that_cannot_be_parsed_the_expression_is() -> None:
    text = "y = f(x) +\n"
    file = opened(text, seen(text, "f(x)"), seen(text, "y ="))
    nodes = list(file.metadata[ObservationProvider])
    assert [type(node) for node in nodes] == [cst.Call, cst.Module]
    assert [file.source(node) for node in nodes] == ["f(x)", "y ="]


WORDS = [
    ("if a:\n    pass\n", "a", "if"),
    ("if 1:\n    pass\nelif b > c:\n    pass\n", "b > c", "if"),
    ("while a:\n    pass\n", "a", "while"),
    ("y = (b if a else c)\n", "a", "ternary"),
    ("y = [i for i in x if a]\n", "a", "comprehension"),
    ("match b:\n    case 1:\n        pass\n", "b", "match"),
    ("match x:\n    case 1 if f(y):\n        pass\n", "f(y)", "if"),
    ("if (b if a else c):\n    pass\n", "a", "ternary"),
    ("if b and not d:\n    pass\n", "not d", "if"),
]


@pytest.mark.parametrize(("text", "test", "word"), WORDS, ids=[w[0] for w in WORDS])
def test_the_statement_tells_what_branches_on_a_test(text: str, test: str, word: str) -> None:
    file = opened(text, seen(text, test))
    rule = Calls()
    rule.look_at(file)
    (node,) = file.metadata[ObservationProvider]
    assert keyword_of(rule, node) == word


@pytest.mark.parametrize("code", ["a and b", "a or b and c", "not a", "a in t", "a not in t", "a < b < c"])
def test_the_operator_is_named_that_turns_a_tensor_into_a_bool(code: str) -> None:
    text = f"y = {code}\n"
    (finding,), _ = looked(TensorBoolOperator, text, [seen(text, code, kind=BoolOperator)])
    word = {"a or b and c": "or", "not a": "not", "a not in t": "in", "a < b < c": "chained comparison"}.get(
        code
    ) or code.split()[-2]
    assert finding.message == f"`{word}` turns a tensor into one Python bool: `{code}`"
