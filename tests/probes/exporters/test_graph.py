"""Canonical graphs: what is the same, what differs, of which kind, and at which line."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Sequence
from typing import Any

import onnx
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from observed import HERE, Branchy, Counted, Crossed, Gate, Reshape, line, scale

from onnxlint.probes.exporters.graph import Difference, Input, Node, canonical_jit, diff, onnx_frames, tensor_text


def traced(model: torch.nn.Module, *args: torch.Tensor) -> tuple[Node, ...]:
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return canonical_jit(torch.jit.trace(model, args, check_trace=False).inlined_graph)


def lines(model: torch.nn.Module, *args: torch.Tensor, dynamo: bool) -> set[int]:
    """The lines that the nodes of an exported file come from."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        if dynamo:
            proto = torch.onnx.export(model, args, dynamo=True, verbose=False).model_proto
        else:
            buffer = io.BytesIO()
            torch.onnx.export(model, args, buffer, dynamo=False, verbose=True, input_names=["x"])
            proto = onnx.load_from_string(buffer.getvalue())
    return {frames[0].line for node in proto.graph.node if (frames := onnx_frames(node))}


def message(results: Sequence[Difference]) -> list[tuple[Any, ...]]:
    return [(d.kind, d.location and d.location.line) for d in results]


UP, DOWN = torch.ones(2, 4), -torch.ones(2, 4)


@pytest.mark.parametrize("model", [Gate(), Branchy(), Reshape()], ids=lambda model: type(model).__name__)
def test_two_traces_of_one_path_are_the_same_graph(model: torch.nn.Module) -> None:
    assert diff(traced(model, UP), traced(model, UP * 2)) == ()


def test_a_baked_size_is_one_constant_at_the_line_of_the_reshape() -> None:
    model = Reshape()
    (results,) = diff(traced(model, torch.ones(2, 4)), traced(model, torch.ones(3, 4)))
    assert message([results]) == [("constant", line("reshape"))]
    assert "[4, 2] against [6, 2]" in results.detail
    assert results.frames[0].path == HERE


def test_the_other_arm_of_a_branch_is_a_difference_in_topology_at_its_line() -> None:
    results = diff(traced(Branchy(), UP), traced(Branchy(), DOWN))
    assert message(results) == [("topology", line("tanh"))]
    assert results[0].detail == "aten::tanh against aten::sigmoid"


class Scaled(torch.nn.Module):
    def __init__(self, factor: torch.Tensor) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.factor.to(x.dtype)


@pytest.mark.parametrize("kind", ["bfloat16", "float8_e4m3fn", "complex64", "uint16", "bool"])
def test_constants_of_every_type_are_compared(kind: str) -> None:
    if kind == "bool":
        a, b = torch.tensor([True, True]), torch.tensor([True, False])
    else:
        a, b = (torch.tensor(v).to(getattr(torch, kind)) for v in ([1.0, 2.0], [1.0, 3.0]))
    texts = [tensor_text(a), tensor_text(b)]
    assert texts[0] == tensor_text(a.clone()) != texts[1]
    assert all(text.startswith(f"{kind} 2 [") for text in texts)


def test_a_constant_that_numpy_has_no_type_for_ends_no_comparison() -> None:
    x = torch.ones(2, dtype=torch.bfloat16)
    one, other = (traced(Scaled(torch.tensor([1.5, v], dtype=torch.bfloat16)), x) for v in (2.0, 3.0))
    (results,) = diff(one, other)
    assert results.kind == "constant"
    assert "bfloat16 2 [1.5, 2.0] against bfloat16 2 [1.5, 3.0]" in results.detail


def test_an_unrolled_loop_is_a_difference_in_topology() -> None:
    short, long = (traced(Counted(), UP, torch.tensor(steps)) for steps in (2, 4))
    assert {d.kind for d in diff(short, long)} == {"topology"}


def test_equal_operators_that_are_wired_otherwise_are_not_equal_graphs() -> None:
    straight, crossed = (traced(Crossed(swapped), UP, DOWN) for swapped in (False, True))
    assert diff(straight, straight) == ()
    assert {(d.kind, d.location.line) for d in diff(straight, crossed) if d.location} == {("topology", line("crossed"))}


@pytest.mark.parametrize("dynamo", [False, True], ids=["torchscript", "dynamo"])
def test_onnx_of_either_exporter_carries_the_lines(dynamo: bool) -> None:
    # the linear layer runs in torch: its line is that of its call, in the user's code
    expected = {line("reshape") - 1, line("reshape"), line("reshape") + 1}
    assert lines(Reshape().eval(), UP, dynamo=dynamo) == expected


def test_the_body_of_a_scripted_branch_is_part_of_the_graph() -> None:
    class Scripted(torch.nn.Module):
        def __init__(self, factor: int) -> None:
            super().__init__()
            self.factor = factor
            self.arm = torch.jit.script(scale)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.arm(x, self.factor)

    (results,) = diff(traced(Scripted(2), UP), traced(Scripted(3), UP))
    assert results.kind == "constant"
    assert "2 against 3" in results.detail
    assert results.location is not None
    assert results.location.line == line("scaled")


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Node, ...]:
    """Chains of operators over an input, constants, and each other's outputs."""
    nodes: list[Node] = []
    for k in range(draw(st.integers(1, 12))):
        constants = st.integers(0, 2).map(lambda n: Input("constant", str(n)))
        values = st.integers(-1, k - 1).map(lambda n: Input("value", producer=n))
        operator = draw(st.sampled_from(["Add", "Mul", "Relu"]))
        inputs = [draw(st.one_of(constants, values)) for _ in range(1 if operator == "Relu" else 2)]
        attributes = draw(st.sampled_from([(), (("alpha", "1"),), (("alpha", "2"),)]))
        nodes.append(Node(operator, attributes, tuple(inputs), ()))
    return tuple(nodes)


@given(graphs())
def test_a_graph_does_not_differ_from_itself(graph: tuple[Node, ...]) -> None:
    assert diff(graph, tuple(graph)) == ()


@given(graphs(), graphs())
def test_difference_is_symmetric_and_empty_only_for_equal_graphs(a: tuple[Node, ...], b: tuple[Node, ...]) -> None:
    assert bool(diff(a, b)) == bool(diff(b, a)) == (a != b)
