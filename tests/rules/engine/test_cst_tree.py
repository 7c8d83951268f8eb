"""Trees of pieces of a file: each node with its place in the file, the nodes between places, and code for new ones."""

from __future__ import annotations

import libcst as cst
import pytest

from onnxlint.rules.engine.cst_tree import MANY, BeyondStatement, Tree, children, walk

TEXT = """\
def f(x):
    # above
    y = [g(x), 'é' + x]  # beside
    return (y)
"""


def tree(text: str, above: int = 0) -> Tree:
    return Tree(text, lambda line, column: (line + above, column))


def found(whole: Tree, kind: type[cst.CSTNode]) -> cst.CSTNode:
    return next(node for node in walk(whole.root) if isinstance(node, kind))


def test_places_are_those_of_the_file_in_characters() -> None:
    whole = tree(TEXT, above=10)
    assert whole.range(found(whole, cst.BinaryOperation)) == ((13, 16), (13, 23))
    assert whole.range(found(whole, cst.Return)) == ((14, 5), (14, 15))
    with pytest.raises(KeyError):
        whole.range(cst.Name("x"))


def test_the_nodes_at_two_places_are_outermost_first() -> None:
    whole = tree("y = a + b\n")
    assert [type(node) for node in whole.at((1, 1), (1, 10))] == [cst.Assign]
    assert [type(node) for node in whole.at((1, 5), (1, 10))] == [cst.BinaryOperation]
    assert whole.at((1, 5), (1, 8)) == []


def test_parentheses_belong_to_a_tuple_and_not_to_a_name() -> None:
    whole = tree("y = (a), (b, c)\n")
    assert isinstance(whole.at((1, 6), (1, 7))[-1], cst.Name)
    assert isinstance(whole.at((1, 10), (1, 16))[-1], cst.Tuple)


@pytest.mark.parametrize("length", [3, MANY + 5])
def test_what_lies_between_two_places_is_found_among_few_and_many(length: int) -> None:
    """Children of a long list are looked up by place, those of a short one are gone through."""
    names = [f"n{number:03}" for number in range(length)]
    whole = tree(f"y = [{', '.join(names)}]\n")
    start = 6 + 6 * (length - 2)
    nodes = whole.within((1, start), (1, start + 10))
    assert [node.value for node in nodes if isinstance(node, cst.Name)] == names[-2:]


def test_comments_are_found_by_their_line() -> None:
    comments = {line: node.comment.value for line, node in tree(TEXT, above=1).comments.items() if node.comment}
    assert comments == {3: "# above", 4: "# beside"}


def test_a_statement_alone_does_not_tell_what_is_around_it() -> None:
    lone = Tree("if 1:\n    y = f(x)\n", lambda line, column: (line, column), lone=True)
    call = found(lone, cst.Call)
    assert isinstance(lone.parent(call), cst.Assign)
    with pytest.raises(BeyondStatement):
        list(lone.around(call))
    with pytest.raises(BeyondStatement):
        _ = lone.module


def test_parts_are_in_the_order_of_the_source() -> None:
    conditional = cst.parse_expression("a if b else c")
    assert [node.value for node in children(conditional) if isinstance(node, cst.Name)] == ["a", "b", "c"]
    names = [node.value for node in walk(cst.parse_expression("f(x, k=y)[z]")) if isinstance(node, cst.Name)]
    assert names[0] + names[-1] == "fz"


def test_a_statement_that_is_made_is_indented_as_its_neighbour() -> None:
    whole = tree("class C:\n  def f(self):\n    return 1\n")
    made = cst.parse_statement("if x:\n    y = 1\n")
    assert whole.code(made, found(whole, cst.Return)).splitlines() == ["    if x:", "      y = 1"]
