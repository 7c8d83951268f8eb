"""Arithmetic and comparisons: of numbers, sizes, data, tensors and sequences, and what Python refuses."""

from __future__ import annotations

import pytest
from analysing import BATCH, LENGTH, findings_of, told, words_of

from onnxlint.flow.values.domain import Const, Tensor

X = Tensor((BATCH, LENGTH, Const(4)), kind="float")
INDEX = Tensor((BATCH, LENGTH), kind="index")
MASK = Tensor((BATCH, LENGTH), kind="bool")


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("2 ** 3 + 1", "9"),
        ("7 // 2", "3"),
        ("-7 // 2", "-4"),
        ("'a' + 'b'", "'ab'"),
        ("1 < 2 < 3", "True"),
        ("3 > 4", "False"),
        ("not None", "True"),
        ("[1] + [2, 3]", "1 & 2 & 3"),
        ("(1, 2) * 2", "1 & 2 & 1 & 2"),
        ("1 / 0", "config"),
        ("'a' + 1", "config"),
        ("10 ** 10 ** 10", "config"),
    ],
)
def test_literals_are_computed_as_python_does_and_errors_are_settings(expression: str, words: str) -> None:
    assert words_of(expression) == words


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("x.shape[2] // 2", "2"),
        ("x.shape[2] == 4", "True"),
        ("x.shape[0] + 1", "dim"),
        ("-x.shape[0]", "dim"),
        ("x.shape[0] == 3", "dim"),
        ("x.shape[0] > 0", "config"),  # no export has an empty batch
        ("x.shape == x.shape", "config"),
        ("x.shape == x.transpose(0, 1).shape", "dim"),
        ("[1] * x.shape[0]", "many 1"),
        ("foreign.count() % x.shape[0]", "unknown"),
    ],
)
def test_a_size_is_dynamic_as_long_as_it_can_change_the_result(expression: str, words: str) -> None:
    assert words_of(expression, X) == words


def test_a_number_out_of_a_tensor_stays_data() -> None:
    for expression in ("1 + x[0, 0, 0].item()", "x[0, 0, 0].item() > 1", "not x.item()"):
        assert words_of(expression, X) == "data"


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("x // 2", "tensor/index:batch,length"),
        ("x * 0.5", "tensor/float:batch,length"),
        ("x - x", "tensor/int:batch,length"),
        ("x == 1", "tensor/bool:batch,length"),
        ("~y", "tensor/bool:batch,length"),
        ("y & y", "tensor/bool:batch,length"),
        ("x.unsqueeze(-1) + torch.ones(5)", "tensor:batch,length,5"),
        ("x.float() @ torch.ones(3, 5)", "tensor/float:batch,5"),
    ],
)
def test_tensors_have_the_sizes_and_the_kind_that_torch_gives(expression: str, words: str) -> None:
    assert words_of(expression, INDEX, MASK) == words


@pytest.mark.parametrize("product", ["x * 2j", "2j * x"])
def test_a_complex_number_is_observed_on_either_side(product: str) -> None:
    source = f"class M(nn.Module):\n    def forward(self, x: Tensor):\n        return ({product}).abs()\n"
    assert told(source) == [f"ComplexCall: {product}"]


def test_a_chain_of_comparisons_asks_a_tensor_for_its_truth() -> None:
    source = "class M(nn.Module):\n    def forward(self, x: Tensor):\n        return x * (0 < x < 1)\n"
    assert [line.partition(":")[0] for line in told(source)] == ["BoolOperator"]


FEATURES = """
class M(nn.Module):
    def __init__(self, name):
        super().__init__()
        self.name = name

    def forward(self, x: Tensor):
        {body}
"""


@pytest.mark.parametrize(
    ("body", "observed"),
    [
        ("return x[self.name] if self.name in x else x", []),
        ("return {k: x[k] * 2 for k in x}", []),
        ("for k in x: y = x[k]", []),
        ("return x * 2 if self.name in x else x", ["Branch data: self.name in x"]),
        ("return [k * 2 for k in x]", ["Loop tensor: x"]),
        ("for k in x: y = k", ["Loop tensor: x"]),
    ],
)
def test_what_is_looked_up_by_a_key_that_was_asked_for_or_taken_from_it_is_a_dict(
    body: str, observed: list[str]
) -> None:
    assert told(FEATURES.format(body=body)) == observed


UNKNOWN_OPERAND = """
from elsewhere import prepared
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(3, 1, 1))
    def forward(self, batch):
        {first}
        return {rest}
"""


@pytest.mark.parametrize(("operand", "reads"), [("prepared(batch)", "data"), ("self.mean", "weight")])
def test_a_weight_and_something_unknown_may_depend_on_the_inputs(operand: str, reads: str) -> None:
    first = f"image = ({operand} - self.mean) / self.mean"
    rest = "image[:, :4, :4] * 2 if image[:, 0, 0].sum() > 0 else image.view(image.shape[1], -1)"
    observed = told(UNKNOWN_OPERAND.format(first=first, rest=rest))
    assert [text for text in observed if "Branch" in text] == [f"Branch {reads}: image[:, 0, 0].sum() > 0"]


@pytest.mark.parametrize("weight", ["self.mean", "torch.arange(3)"])
def test_a_weight_times_something_unknown_is_not_reported_for_its_shape(weight: str) -> None:
    scaled = f"y = ({weight} * prepared(3)).reshape(1, 3)"
    found = findings_of(UNKNOWN_OPERAND.format(first=scaled, rest="batch + y"))
    assert not {code for code, *_ in found} & {"ONX201", "ONX202"}
