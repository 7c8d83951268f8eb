"""What of a counterexample is shown: its values, its error on every input, and its graph beside the example's."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from probing import hazard, lines
from torch.onnx._internal.exporter import _capture_strategies

from onnxlint.base.probe_records import ProbeResult
from onnxlint.base.records import GraphDiff, Location, from_json, to_json
from onnxlint.probes.exporters import Capture, Example, Export, dynamo
from onnxlint.probes.exporters.graph import canonical_fx
from onnxlint.probes.observe.eager import Eager, explore, prepare
from onnxlint.probes.process.worker import run_probe
from onnxlint.probes.proof.counterexample_view import graphs, values

TRACED = Export("torchscript")


def test_small_inputs_are_written_out_and_large_ones_described() -> None:
    assert values(
        {
            "x": torch.tensor([[0.5, 1e-7], [float("nan"), 3.0]]),
            "ids": torch.arange(100).reshape(2, 50),
            "mask": torch.tensor([True, False]),
            "half": torch.ones(3, 40, dtype=torch.bfloat16),
            "wave": torch.ones(30, dtype=torch.complex64),
            "none": torch.ones(0, 3),
            "size": 7,
        }
    ) == {
        "x": "float32[2, 2] [[0.5, 1e-07], [nan, 3]]",
        "ids": "int64[2, 50] from 0 to 99",
        "mask": "bool[2] [True, False]",
        "half": "bfloat16[3, 40] from 1 to 1",
        "wave": "complex64[30]",
        "none": "float32[0, 3] []",
        "size": "7",
    }


@pytest.mark.parametrize("kind", ["uint16", "uint32", "uint64", "int8", "float16", "float64", "float8_e4m3fn"])
def test_a_large_input_of_any_type_is_described(kind: str) -> None:
    value = torch.arange(100).to(getattr(torch, kind))
    least, greatest = (f"{float(v):.5g}" for v in (value.double().min(), value.double().max()))
    assert values({"x": value}) == {"x": f"{kind}[100] from {least} to {greatest}"}


def test_what_has_no_place_in_a_range_is_counted() -> None:
    odd = torch.zeros(50)
    odd[:4] = torch.tensor([float("nan"), float("inf"), float("nan"), -2.0])
    assert values({"x": odd, "none": odd[:1].expand(30), "mask": odd > -1}) == {
        "x": "float32[50] from -2 to 0, 2 nan, 1 inf",
        "none": "float32[30] 30 nan",
        "mask": "bool[50] 47 of 50 True",
    }


def test_many_and_long_values_are_cut() -> None:
    assert len(values({f"x{k}": k for k in range(50)})) == 8
    assert len(values({"text": "a" * 5000})["text"]) == 200


def explored(factory: str, folder: Path) -> Eager:
    probe = hazard(factory, folder)
    eager = prepare(probe)
    explore(probe, eager)
    return eager


def shown(eager: Eager, label: str, place: Location | None = None, export: Export = TRACED) -> GraphDiff | None:
    run = next(run for run in eager.runs if run.label.startswith(label))
    return graphs(eager, export, run, place, str(Path(__file__).parents[1]))


def test_the_graph_of_the_other_branch_stands_beside_that_of_the_example(tmp_path: Path) -> None:
    results = shown(explored("Branch", tmp_path), "values[negative")
    assert results is not None
    assert (results.left, results.right.partition("#")[0]) == ("example", "values[negative")
    mul, end = results.rows
    assert mul.differs
    assert mul.left is not None
    assert mul.right is not None
    assert (mul.left.operator, mul.left.detail, mul.right.detail) == ("aten::mul", "int64 scalar 2", "int64 scalar 3")
    here = lines("Branch")[0]
    assert [at.line for at in (mul.left.location, mul.right.location) if at] == [here + 1, here + 2]
    assert end.left == end.right
    assert end.left is not None
    assert end.left.sources == (0,), "the return takes the row above"
    assert from_json(GraphDiff, to_json(results)) == results


def test_a_size_that_was_frozen_is_a_constant_that_differs(tmp_path: Path) -> None:
    results = shown(explored("IntBatch", tmp_path), "batch=3")
    assert results is not None
    sides = [(row.left, row.right) for row in results.rows if row.differs]
    assert any(
        left and right and left.operator == right.operator and left.detail != right.detail for left, right in sides
    )


def test_the_same_graph_is_not_drawn(tmp_path: Path) -> None:
    eager = explored("Linear", tmp_path)
    assert all(graphs(eager, TRACED, run, None, str(tmp_path)) is None for run in (eager.base, *eager.runs))


def test_a_slow_model_is_not_traced_for_a_drawing_but_a_trace_that_exists_is_drawn(tmp_path: Path) -> None:
    eager = explored("Branch", tmp_path)
    wanted = shown(eager, "values[negative")
    assert wanted is not None
    eager.pace = 60.0
    assert shown(eager, "values[negative") == wanted
    eager.traces.clear()
    assert shown(eager, "values[negative") is None
    assert not eager.traces


def captured(eager: Eager) -> Export:
    program = dynamo.captured(eager.fresh(), eager.example)
    assert program is not None
    return Export("dynamo", capture=Capture(program, _capture_strategies.TorchExportNonStrictStrategy, 0.1))


def test_what_dynamo_captures_of_another_size_stands_beside_what_it_captured(tmp_path: Path) -> None:
    eager = explored("DimBranch", tmp_path)
    results = shown(eager, "batch=5", export=captured(eager))
    assert results is not None
    mul, end = results.rows
    assert mul.left is not None
    assert mul.right is not None
    assert (mul.left.operator, mul.left.detail, mul.right.detail) == ("aten::mul", "3", "2")
    here = lines("DimBranch")[0]
    assert [at.line for at in (mul.left.location, mul.right.location) if at] == [here + 2, here + 1]
    assert (mul.differs, end.differs) == (True, False)
    assert shown(eager, "batch=3", export=captured(eager)) is None, "the same arm"


def test_a_capture_that_takes_long_is_made_only_where_the_exports_leave_time(tmp_path: Path) -> None:
    eager = explored("DimBranch", tmp_path)
    export = captured(eager)
    assert export.capture is not None
    export.capture = replace(export.capture, seconds=60.0)
    assert shown(eager, "batch=5", export=export) is not None, "nobody knows yet what the exports cost"
    eager.costs.exported = True
    assert shown(eager, "batch=5", export=export) is None
    eager.costs.parts["dynamo"] = 600.0
    assert shown(eager, "batch=5", export=export) is not None


class Sized(torch.nn.Module):
    """Of a size: a check that ONNX has not, a number that is kept, an operator with two outputs, a parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.shape[0] > 40:
            x = x * 2
        most, _ = x.max(dim=0)
        return self.inner(x) + most * torch.tensor([0.5, x.shape[0] // 7, 2.0]).sum()


def test_a_capture_in_canonical_form_has_no_checks_and_no_unpacking() -> None:
    program = dynamo.captured(Sized(), Example((torch.ones(4, 3),), {}, ("x",), {"x": {0: "batch"}}))
    assert program is not None
    assert "_assert" in str(program.graph)
    nodes = canonical_fx(program)
    assert [node.operator for node in nodes if not node.operator.startswith("aten::")][-1] == "return"
    assert not [node.operator for node in nodes if "assert" in node.operator or node.operator in ("getitem", "le")]
    linear = next(node for node in nodes if node.operator == "aten::linear")
    assert [i.text for i in linear.inputs if i.kind == "parameter"] == ["self.inner.weight", "self.inner.bias"]
    mul = next(node for node in nodes if node.operator == "aten::mul")
    assert nodes[mul.inputs[0].producer].operator == "aten::max"
    assert all(node.location is not None for node in nodes[:-1])


@pytest.fixture(scope="module")
def probed(tmp_path_factory: pytest.TempPathFactory) -> ProbeResult:
    folder = tmp_path_factory.mktemp("shown")
    return run_probe(hazard("MeanThreshold", folder, module="branching", exporters=("torchscript",)))


@pytest.mark.slow
def test_the_evidence_of_a_probe_holds_values_graphs_and_every_error(probed: ProbeResult) -> None:
    tried = probed.report.exporters["torchscript"].tried
    assert tried[0].variation == "example"
    assert {one.result for one in tried} == {"agrees", "values"}
    assert all((one.max_abs or 0) > (one.allowed or 0) for one in tried if one.result == "values")
    noise = [one for one in tried if one.result == "agrees"]
    assert all(one.max_abs is not None and one.max_abs < 1e-5 and one.output == 0 for one in noise)
    assert {one.allowed for one in noise} == {None}
    evidence = next(e for e in probed.evidence if e.exporter == "torchscript")
    kind, _, numbers = evidence.inputs["x"].partition("] ")
    assert kind.startswith("float32[")
    assert ast.literal_eval(numbers)
    assert evidence.graphs is not None
    assert evidence.frames[0].line in lines("MeanThreshold", module="branching")
    assert from_json(ProbeResult, to_json(probed)) == probed


@pytest.mark.slow
def test_the_evidence_of_dynamo_has_graphs_too(tmp_path: Path) -> None:
    result = run_probe(hazard("DimBranch", tmp_path, exporters=("dynamo",)))
    (evidence,) = (e for e in result.evidence if e.exporter == "dynamo")
    assert evidence.graphs is not None
    assert evidence.graphs.right == evidence.variation == "batch=5"
    assert from_json(ProbeResult, to_json(result)) == result
