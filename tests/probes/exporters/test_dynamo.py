"""The dynamo exporter: the file and its inputs, the guards that it made, and every reason why it refused."""

from __future__ import annotations

import contextlib
import logging
import warnings
from pathlib import Path
from typing import Any

import onnx
import pytest
import torch
from torch import nn

from onnxlint.probes.common.userspace import relative
from onnxlint.probes.exporters import Example, Export
from onnxlint.probes.exporters.dynamo import Log, call_form, captured, dynamic_shapes, export, quiet

ROOT = str(Path(__file__).parent)
HERE = relative(__file__, ROOT)
X = torch.ones(4, 3)
BATCH = {"x": {0: "batch"}}
DYNAMIC = torch.export.Dim.DYNAMIC


class Gate(nn.Module):
    """Decides by a size; one of its inputs is None and one a number."""

    def forward(self, x, none, factor):
        if x.shape[0] > 2:  # at: guard
            x = x * factor
        return x


class Pinned(nn.Module):
    def forward(self, x):
        return x.reshape(4, 3) * 2  # at: pinned


class Reads(nn.Module):
    def forward(self, x):
        if x.sum() > 0:  # at: branch
            x = x * 2
        return x


class Foreign(nn.Module):
    """Two operators without a translation, one of them in two lines."""

    def forward(self, x):
        y = torch.special.bessel_j0(x)  # at: first
        y = y + torch.special.bessel_j1(x)  # at: second
        return y + torch.special.bessel_j0(y)  # at: third


class Flat(nn.Module):
    """Attention over three dims, whose translation raises."""

    def forward(self, x):
        return nn.functional.scaled_dot_product_attention(x, x, x)  # at: attention


class Twice(nn.Module):
    """The second translation is fed what stands in for the first."""

    def forward(self, x):
        y = nn.functional.scaled_dot_product_attention(x, x, x)  # at: stood-in
        return nn.functional.scaled_dot_product_attention(y, x, x)


class Last(nn.Module):
    def forward(self, x, batch):
        return x + batch["y"]


def line(mark: str) -> int:
    lines = Path(__file__).read_text().splitlines()
    return next(number for number, text in enumerate(lines, 1) if text.endswith(f"# at: {mark}"))


def exported(model: nn.Module, example: Example, folder: Path, opset: int = 20) -> Export:
    return export(model.eval(), example, opset, folder, ROOT)


def placed(made: Export) -> list[int]:
    """The lines of the reasons, all in this file."""
    assert all(refusal.frames[0].path == HERE for refusal in made.refusals)
    return [refusal.frames[0].line for refusal in made.refusals]


@pytest.mark.slow
def test_a_file_is_made_with_its_inputs_by_leaf_and_the_guards_of_the_capture(tmp_path: Path) -> None:
    example = Example((X, None, 3), {}, ("x", "none", "factor"), BATCH)
    made = exported(Gate(), example, tmp_path)
    assert (made.error, made.refusals) == ("", [])
    assert made.path is not None
    model = onnx.load(str(made.path))
    assert [value.name for value in model.graph.input] == list(made.inputs)
    assert list(made.inputs.values()) == ["x"]
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param
    assert made.capture is not None
    (guard,) = (guard for guard in made.guards if guard.frames[0].line == line("guard"))
    assert guard.holds({"x": torch.ones(2, 3)}) is False
    assert guard.holds({"x": torch.ones(3, 3)}) is True


@pytest.mark.slow
def test_names_that_the_call_asked_for_are_those_of_the_inputs(tmp_path: Path) -> None:
    example = Example((X, {"y": X}), {}, ("x", "batch"), options={"input_names": ["first", "second"]})
    made = exported(Last(), example, tmp_path)
    assert made.inputs == {"first": "x", "second": "batch.y"}


@pytest.mark.slow
def test_a_read_of_data_is_refused_at_its_line(tmp_path: Path) -> None:
    made = exported(Reads(), Example((X,), {}, ("x",), BATCH), tmp_path)
    assert (made.path, made.capture) == (None, None)
    assert "data-dependent" in made.error
    assert "unhinted" not in made.error  # torch's words for its own authors
    assert placed(made) == [line("branch")]


@pytest.mark.slow
def test_a_size_that_is_declared_and_was_pinned_is_refused_where_that_happened(tmp_path: Path) -> None:
    made = exported(Pinned(), Example((X,), {}, ("x",), BATCH), tmp_path)
    assert placed(made) == [line("pinned")]
    assert any(guard.kind == "specialization" and guard.text == "x.shape[0] == 4" for guard in made.guards)


@pytest.mark.slow
def test_every_operator_without_a_translation_is_a_reason(tmp_path: Path) -> None:
    made = exported(Foreign(), Example((X,), {}, ("x",)), tmp_path)
    assert placed(made) == [line("first"), line("second"), line("third")]
    assert all("has no translation to ONNX" in refusal.message for refusal in made.refusals)
    assert made.capture is not None, "it failed in the translation"


@pytest.mark.slow
def test_a_translation_that_raises_is_told_at_the_line_of_its_node(tmp_path: Path) -> None:
    made = exported(Flat(), Example((torch.ones(2, 3, 4),), {}, ("x",)), tmp_path)
    assert placed(made) == [line("attention")]
    assert "cannot be translated to ONNX" in made.refusals[0].message


@pytest.mark.slow
def test_what_a_failed_translation_leads_to_is_no_reason(tmp_path: Path) -> None:
    made = exported(Twice(), Example((torch.ones(2, 3, 4),), {}, ("x",)), tmp_path)
    assert placed(made) == [line("stood-in")]


def test_a_dict_at_the_end_of_the_arguments_is_passed_by_keyword() -> None:
    example = Example((X, {"y": X}), {}, ("x", "batch"))
    called = call_form(example)
    assert (called.args, list(called.kwargs)) == ((X,), ["batch"])
    assert list(called.leaves()) == list(example.leaves()) == ["x", "batch.y"]
    other = Example((X,), {"batch": {"y": X}}, ("x", "batch"))
    assert call_form(other) is other


def test_the_shapes_are_a_tree_like_the_arguments() -> None:
    example = Example((X, {"y": torch.ones(4, 3)}), {}, ("x", "batch"), {"x": {0: "n"}, "batch.y": {0: "n", 1: "m"}})
    assert dynamic_shapes(Last(), example) == {"x": {0: DYNAMIC}, "batch": {"y": {0: DYNAMIC, 1: DYNAMIC}}}
    assert dynamic_shapes(Last(), Example(example.args, {}, ("x", "batch"))) is None


def test_a_capture_knows_the_lines_of_helpers() -> None:
    program = captured(Helped(), Example((X,), {}, ("x",)))
    assert program is not None
    (sine,) = (node for node in program.graph.nodes if node.op == "call_function")
    assert f"line {line('helper')}, in helper" in sine.meta["stack_trace"]
    assert captured(Reads(), Example((X,), {}, ("x",))) is None


def helper(x: torch.Tensor) -> torch.Tensor:
    return torch.sin(x)  # at: helper


class Helped(nn.Module):
    def forward(self, x):
        return helper(x)


def test_nothing_is_heard_of_what_is_quiet_and_everything_of_what_comes_after(
    capsys: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with warnings.catch_warnings(record=True) as heard, contextlib.suppress(ValueError), quiet():
        print("out")
        warnings.warn("careful", stacklevel=1)
        logging.getLogger("torch.onnx").critical("lost")
        raise ValueError
    assert (capsys.readouterr().out, heard, caplog.records) == ("", [], [])
    logging.getLogger("torch.onnx").critical("found")
    assert [record.message for record in caplog.records] == ["found"]


@pytest.mark.parametrize(
    ("source", "place"),
    [
        ("L['x'].size()[0]", ("x", 0)),
        ("L['x']['b'][2].size()[1]", ("x.b.2", 1)),
        ("L['x'].mask.size()[1]", ("x.mask", 1)),
        ("L['flat_args'][1].size()[3]", ("y", 3)),
        ("L['flat_args'][7].size()[3]", None),
        ("L['x'].stride()[0]", None),
    ],
)
def test_the_source_of_a_symbol_is_a_leaf_and_an_axis(source: str, place: tuple[str, int] | None) -> None:
    assert Log(ROOT, ["x", "y"]).place(source) == place
