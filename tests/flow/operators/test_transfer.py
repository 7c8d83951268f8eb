"""The frame of transfer functions: how arguments are read, and what an operator without one gives by the table."""

from __future__ import annotations

import ast

import pytest
from analysing import BATCH, running, words_of

from onnxlint.flow.operators.transfer import Call, kind_of, like, result_by_table
from onnxlint.flow.values.domain import CONFIG, UNKNOWN, Const, External, Seq, Shape, Tensor, Tuple, Value

X, WEIGHT = Tensor((BATCH, Const(4))), Tensor((Const(4),), source="weight")


def call(*args: Value, **kwargs: Value) -> Call:
    engine, _ = running("pass")
    return Call(engine, "view", "torch.view", list(args), kwargs, ast.parse("f()", mode="eval").body)


def test_an_argument_by_name_comes_before_one_by_position() -> None:
    given = call(X, Const(1), dim=Const(2))
    assert given.int_arg(1, "dim") == 2
    assert given.int_arg(1) == 1
    assert given.int_arg(2, "keepdim", default=7) == 7
    assert call(X, CONFIG).int_arg(1, default=7) is None  # it is given, and nobody knows what


def test_the_tensor_may_come_by_name() -> None:
    assert call(input=X, dim=Const(1)).tensor == X
    assert call(Const(1)).tensor.source == "made"
    assert call(Tuple((X, WEIGHT)), other=WEIGHT).tensors() == [X, WEIGHT, WEIGHT]


def test_what_is_made_of_a_list_with_something_unknown_in_it_may_depend_on_the_inputs() -> None:
    assert like(call(WEIGHT), None).fixed
    for given in (Seq(UNKNOWN), Tuple((WEIGHT, UNKNOWN))):
        made = like(call(given), None)
        assert (made.source, made.guessed) == ("input", True)
    assert not like(call(X, UNKNOWN), None).guessed  # it does depend on them, whatever the other is


@pytest.mark.parametrize(
    ("given", "sizes"),
    [
        ((Const(2), Const(3)), [Const(2), Const(3)]),
        ((Tuple((Const(2), Const(3))),), [Const(2), Const(3)]),
        ((Shape(X),), [BATCH, Const(4)]),
        ((Const(2),), [Const(2)]),
        ((UNKNOWN,), None),
        ((Seq(Const(2)),), None),
        ((Shape(Tensor(None)),), None),
    ],
)
def test_sizes_come_as_numbers_as_a_tuple_or_as_a_shape(given: tuple[Value, ...], sizes: list[Value] | None) -> None:
    assert call(X, *given).sizes(1, "size") == sizes


@pytest.mark.parametrize(
    ("name", "kind"),
    [("torch.int64", "int"), ("torch.bfloat16", "float"), ("torch.uint8", "int"), ("torch.cfloat", "complex")],
)
def test_the_kind_that_a_dtype_stands_for(name: str, kind: str) -> None:
    assert kind_of(External(name)) == kind


def test_what_is_no_dtype_has_no_kind() -> None:
    assert kind_of(Const(3)) is None
    assert kind_of(None) is None
    assert kind_of(External("torch.strided")) is None


def test_what_the_table_alone_tells_of_a_result() -> None:
    assert result_by_table(call(WEIGHT, X), "tensor") == Tensor()
    assert result_by_table(call(WEIGHT), "tensor") == Tensor(source="weight")
    assert result_by_table(call(X), "tensors") == Seq(Tensor())
    assert result_by_table(call(X), "int") == CONFIG
    assert result_by_table(call(X), "shape") == Shape(X)
    assert result_by_table(call(X), "?") == UNKNOWN


def test_a_cast_by_device_keeps_the_kind_and_one_by_a_tensor_takes_its_kind() -> None:
    integers, floats = Tensor((BATCH,), kind="int"), Tensor((BATCH,), kind="float")
    assert words_of("x.to(y.device)", integers, floats) == "tensor/int:batch"
    assert words_of("x.to(y)", integers, floats) == "tensor/float:batch"


def test_numpy_makes_an_array_of_a_tensor_and_a_number_of_a_size() -> None:
    assert words_of("np.sqrt(x)", X) == "array"
    assert words_of("np.prod(x.shape[0])", X) == "dim"
    assert words_of("np.sqrt(2)", X) != "array"
