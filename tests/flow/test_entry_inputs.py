"""What entry points are fed."""

import pytest
from analysing import project_of, running

from onnxlint.base.specs import parse_spec
from onnxlint.flow import entry_inputs
from onnxlint.flow.state.variable_kinds import describe
from onnxlint.flow.values.domain import CONFIG, UNKNOWN, Tensor

SOURCE = """import torch
class M(torch.nn.Module):
    def forward(self, x, mask=None, *, flag=True): return x
def export(model, path="m.onnx", dynamo=False, *, opset): pass
"""


def test_a_tensor_of_an_exported_forward_knows_its_parameter() -> None:
    (info,) = project_of(SOURCE).modules.values()
    args = entry_inputs.named_inputs(info.classes["M"].methods["forward"], [Tensor(), UNKNOWN])
    assert args == [Tensor(parameter="x"), UNKNOWN]


def test_a_forward_of_which_no_call_is_known_gets_a_tensor() -> None:
    engine, info = running(SOURCE)
    args, kwargs = entry_inputs.unknown_arguments(engine, info.classes["M"].methods["forward"], exported=True)
    assert isinstance(args[0], Tensor)
    assert [*kwargs] == ["flag"]


def test_a_function_that_exports_is_told_of_flags_no_more_than_that_somebody_sets_them() -> None:
    (info,) = project_of(SOURCE).modules.values()
    assert entry_inputs.script_arguments(info.functions["export"]) == ([UNKNOWN], {"opset": CONFIG, "dynamo": CONFIG})


@pytest.mark.parametrize(
    ("chains", "known"),
    [
        ({}, True),
        ({(("a", 1),): False}, False),
        ({(("a", 1),): False, (("a", 1), ("b", 2)): True}, True),
        ({(("a", 1), ("b", 2)): False, (("c", 3),): True}, False),
    ],
)
def test_a_function_by_itself_counts_where_no_caller_says_more(
    chains: dict[tuple[tuple[str, int], ...], bool], known: bool
) -> None:
    assert entry_inputs.all_known(chains) is known


def test_a_spec_names_dynamic_axes_and_the_example_of_the_batch() -> None:
    (info,) = project_of(SOURCE).modules.values()
    spec = parse_spec("float32[batch=2, 3, length]")
    assert entry_inputs.axes_of([spec]) == (((0, "batch"), (2, "length")), 2)
    tensor = entry_inputs.from_spec(info.classes["M"].methods["forward"], "x", spec)
    assert describe(tensor) == "tensor/float:batch,3,length"
