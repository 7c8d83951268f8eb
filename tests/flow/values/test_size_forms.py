"""Sizes that the code around them settles."""

import ast

import pytest

from onnxlint.flow.values import size_forms


def expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


FORMS = {
    "mask.shape == (b, h, w)": True,
    "mask.shape[1] == n": True,
    "position_ids.shape[0] == 4": True,
    "mask.shape[0] < batch * heads": True,
    "x.shape[1] == n": False,
    "mask.shape[1] == 4": False,
}


@pytest.mark.parametrize(("text", "yes"), FORMS.items())
def test_a_comparison_that_tells_forms_of_one_input(text: str, yes: bool) -> None:
    test = expression(text)
    assert isinstance(test, ast.Compare)
    assert size_forms.tells_forms(test) is yes


def test_the_tensor_of_which_something_is_a_size() -> None:
    assert ast.unparse(size_forms.read_sizes_of(expression("self.x.shape[0]")) or expression("no")) == "self.x"
    assert size_forms.read_sizes_of(expression("x.size(0)")) is None


def test_a_tensor_of_one_element_is_squeezed_for_its_item() -> None:
    statement = ast.parse("n = t.squeeze().item()").body[0]
    call = next(n for n in ast.walk(statement) if isinstance(n, ast.Call) and ast.unparse(n) == "t.squeeze()")
    assert size_forms.takes_item(call, statement)
    assert not size_forms.takes_item(call, None)


def test_the_length_of_what_may_be_a_list() -> None:
    tree = ast.parse("def f(x):\n    if isinstance(x, list):\n        return len(x)\n    return -len(x)").body[0]
    inside, outside = (n for n in ast.walk(tree) if isinstance(n, ast.Call) and ast.unparse(n.func) == "len")
    first, second = sorted((inside, outside), key=lambda n: n.lineno)
    assert not size_forms.may_be_list(first, tree)
    assert size_forms.may_be_list(second, tree)
