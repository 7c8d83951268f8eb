"""From a call with a live model to its example: names and files, dynamic dims, and why a model cannot be probed."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.export import Dim

from onnxlint.base.records import from_json
from onnxlint.probes.examples import examples
from onnxlint.probes.exporters import Example, programs
from onnxlint.probes.live.live_models import Call, describe, freeze, rehearse
from onnxlint.probes.live.snapshot_client import Capture, Snapshot


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x: Any, y: Any = None, *rest: Any) -> Any:
        return self.linear(x)


X, Y = torch.ones(2, 3), torch.ones(4, 3)


@pytest.fixture(autouse=True)
def unchanged() -> Iterator[None]:
    """Put back what `describe` changes in the process, which is a forked one elsewhere."""
    threads, live = torch.get_num_threads(), list(examples._live)
    yield
    torch.set_num_threads(threads)
    examples._live[:] = live


def captured(call: Call) -> Capture:
    found = from_json(Capture, describe(call, sys._getframe(1), str(Path(__file__).parent)))
    assert isinstance(found, Capture)
    return found


def example(**call: Any) -> tuple[Example, dict[str, tuple[int, ...]]]:
    """The example of a call and the sizes that it limits."""
    capture = captured(Call(**{"model": Net(), "args": (X,), **call}))
    assert capture.reason is None
    return examples._live[0][1], dict(capture.sizes)


def test_a_call_is_kept_for_probes_and_told_by_its_class_and_its_line() -> None:
    model = Net()
    line = sys._getframe().f_lineno + 1
    capture = captured(Call(model, (X,), opset=17, exporters=("dynamo",), number="1.0", replaces="0.9"))
    assert (capture.name, capture.path, capture.line) == (f"{__name__}:Net", Path(__file__).name, line)
    assert (capture.opset, capture.exporters, capture.number, capture.replaces) == (17, ("dynamo",), "1.0", "0.9")
    assert capture.files == (__file__,), "torch's own class is left out"
    assert examples._live[0][0] is model
    assert examples._live[0][1].dynamic == {"x": {0: "batch"}}


def test_source_that_no_file_holds_is_told_with_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "import torch\nclass Cell(torch.nn.Module):\n    def forward(self, x):\n        return x\n"
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(text, "/nowhere/cell.py", "exec"), space)
    assert captured(Call(space["Cell"](), (X,))).texts == {}
    monkeypatch.setitem(linecache.cache, "/nowhere/cell.py", (1, None, text.splitlines(keepends=True), ""))
    capture = captured(Call(space["Cell"](), (X,)))
    assert (capture.texts, capture.files) == ({"/nowhere/cell.py": text}, ())


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (Call(torch.sin, (X,)), "what is exported is a `builtin_function_or_method`, not an nn.Module"),
        (Call(torch.nn.ReLU(), (X, X)), "there are 2 inputs, but forward takes 1"),
        (Call(Net().to("meta"), (X,)), "it is not on the CPU, and could not be brought there"),
        (Call(Net(), (X, [X.to("meta")])), "it is not on the CPU, and could not be brought there"),
        (Call(Net(), (X.as_subclass(type("Mine", (torch.Tensor,), {})),)), "its inputs hold a `Mine`"),
        (Call(torch.nn.ReLU(), (X,), dynamic={"z": {0: "n"}}), "no parameter `z`"),
    ],
)
def test_why_a_model_cannot_be_probed(call: Call, reason: str) -> None:
    examples._live[:] = []
    assert reason in str(captured(call).reason)
    assert examples._live == [], "nothing is kept for probes"


def test_inputs_are_what_the_exporters_make_of_them() -> None:
    for args, kwargs, onnx, expected in [
        (X, {}, False, ((X,), {})),
        ({"x": X}, {"y": Y}, False, ((), {"x": X, "y": Y})),
        ((X, {"y": Y}), {}, True, ((X,), {"y": Y})),
        ((X, {"y": Y}), {}, False, ((X, {"y": Y}), {})),
        ([X, Y, 3], {}, True, ((X, Y, 3), {})),
    ]:
        found, _ = example(args=args, kwargs=kwargs, onnx=onnx)
        assert (found.args, dict(found.kwargs)) == expected
    assert found.parameters == ("x", "y", "input_2")


def test_dynamic_axes_are_those_of_the_inputs_that_their_names_stand_for() -> None:
    found, sizes = example(
        args=(X, Y),
        input_names=("first", "second"),
        dynamic_axes={"first": {0: "n", 1: None}, "second": [-2], "output": {0: "n"}},
    )
    assert (found.dynamic, sizes) == ({"x": {0: "n", 1: "first_1"}, "y": {0: "second_-2"}}, {})


def test_one_name_for_two_sizes_moves_nothing() -> None:
    found, _ = example(args=(X, Y), dynamic_axes={"x": {0: "n", 1: "w"}, "y": {0: "n"}})
    assert found.dynamic == {"x": {1: "w"}}


def test_the_range_of_a_declared_dim_limits_the_sizes_that_are_tried() -> None:
    short, long = Dim("short", min=2, max=4), Dim("long", min=8)
    args = (torch.ones(2, 20),)
    found, sizes = example(args=args, dynamic_shapes={"x": {0: short, 1: long}}, exporters=("dynamo",))
    assert found.dynamic == {"x": {0: "short", 1: "long"}}
    assert found.options == {"dynamic_shapes": {"x": {0: short, 1: long}}}, "the exporter gets it as it is"
    assert sizes["short"] == (2, 4, 3)
    assert min(sizes["long"]) == 8
    assert {10, 21, 40} <= set(sizes["long"])


def test_dims_without_a_name_go_together_by_axis_and_size_and_static_ones_stay() -> None:
    shapes = ({0: Dim.AUTO, 1: Dim.STATIC}, {0: Dim.DYNAMIC, 1: Dim.AUTO}, [(Dim.AUTO, None)])
    found, _ = example(args=(X, torch.ones(2, 5), X), dynamic_shapes=dict(zip(("x", "y", "rest"), shapes, strict=True)))
    assert found.dynamic == {"x": {0: "batch"}, "y": {0: "batch", 1: "y_1"}, "input_2": {0: "batch"}}


def test_a_dim_that_another_is_computed_from_does_not_move() -> None:
    n = Dim("n")
    found, sizes = example(args=(X, Y), dynamic_shapes=({0: n, 1: "w"}, {0: 2 * n}))
    assert found.dynamic == {"x": {1: "w"}}
    assert sizes == {}


def test_a_leaf_of_a_container_has_a_name_of_its_own() -> None:
    args = ({"a": X, "b": [Y]},)
    found, _ = example(args=args, dynamic_shapes=({"a": {0: "n"}, "b": [{0: "m"}]},))
    assert found.dynamic == {"x.a": {0: "n"}, "x.b.0": {0: "m"}}


def test_what_is_on_the_cpu_is_not_copied() -> None:
    call = Call(Net(), (X,))
    assert call.on_cpu() is call


@pytest.mark.slow
def test_a_program_stands_for_itself_under_the_name_of_its_class_and_with_its_own_dims() -> None:
    program = torch.export.export(Net(), (X,), dynamic_shapes=({0: Dim("n", max=9)},))
    capture = captured(Call(program, ()))
    assert (capture.name, capture.exporters, capture.reason) == (f"{__name__}:Net", ("dynamo",), None)
    model, found = examples._live[0]
    assert isinstance(model, torch.fx.GraphModule)
    assert found.options == {programs.PROGRAM: program}
    (dim,) = found.dynamic["x"].values()
    assert max(capture.sizes[dim]) == 9
    assert "dynamo exporter alone" in str(captured(Call(program, (), exporters=("torchscript",))).reason)


@pytest.mark.slow
def test_a_frozen_call_is_described_in_its_own_process_and_loading_exporters_leaves_random_numbers() -> None:
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    with torch.no_grad():
        rehearse()
    assert torch.equal(torch.rand(2), expected)
    examples._live[:] = []
    snapshot = Snapshot(freeze(Call(Net(), (X,)), sys._getframe()))
    snapshot.close()
    assert (snapshot.capture.name, snapshot.capture.reason) == (f"{__name__}:Net", None)
    assert examples._live == []
