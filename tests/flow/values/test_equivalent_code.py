"""Arms that compute the same, and questions that no example answers otherwise."""

import ast

import pytest

from onnxlint.flow.values import equivalent_code

COUNTS = {"x.numel()": True, "x.shape[1]": True, "len(x)": True, "x.size(1)": True, "x.sum()": False, "x[1]": False}


@pytest.mark.parametrize(("text", "yes"), COUNTS.items())
def test_what_asks_for_elements(text: str, yes: bool) -> None:
    assert equivalent_code.asks_for_elements(ast.parse(text, mode="eval").body) is yes


NAMES = {"x_lens - 1": False, "seq_lens[0]": True, "ids.long()": True, "x": False}


@pytest.mark.parametrize(("text", "yes"), NAMES.items())
def test_what_stands_for_numbers_that_are_not_negative(text: str, yes: bool) -> None:
    assert equivalent_code.counts(ast.parse(text, mode="eval").body) is yes


def arms(text: str) -> tuple[list[ast.stmt], list[ast.stmt]]:
    (statement,) = ast.parse(text).body
    assert isinstance(statement, ast.If)
    return statement.body, statement.orelse


WHOLE = "if n < 8:\n    y = self.mlp(x)\nelse:\n    y = torch.cat([self.{name}(p) for p in x.split(8)])"


def test_one_call_and_the_same_call_piece_by_piece_split_the_work() -> None:
    assert equivalent_code.splits_work(*arms(WHOLE.format(name="mlp")))
    assert not equivalent_code.splits_work(*arms(WHOLE.format(name="other")))


def test_only_the_other_arm_may_loop_where_it_does_the_work_in_pieces() -> None:
    one, other = arms(WHOLE.format(name="mlp"))
    assert equivalent_code.in_pieces(one, other)
    assert not equivalent_code.in_pieces(other, one)


@pytest.mark.parametrize(("bound", "large"), [("2**31", True), ("100", False)])
def test_more_elements_than_any_example_has_are_a_question_of_memory(bound: str, large: bool) -> None:
    tree = ast.parse(f"def f(x):\n    n = x.numel()\n    return n > {bound}").body[0]
    test = next(n for n in ast.walk(tree) if isinstance(n, ast.Compare))
    assert equivalent_code.asks_for_memory(test, tree, lambda n: float(eval(ast.unparse(n)))) is large
