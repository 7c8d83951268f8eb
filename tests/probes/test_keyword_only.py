"""Parameters behind a `*` are passed by keyword, and an exporter that cannot is told apart from what the model does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

import onnxlint
from onnxlint.base.probe_records import SYNTHESISED, Probe
from onnxlint.base.records import EXPORTERS, Outcome
from onnxlint.base.specs import parse_spec
from onnxlint.probes.examples.examples import example_inputs
from onnxlint.probes.guess.synthesise import synthesise
from onnxlint.probes.process.worker import run_probe

HERE = Path(__file__).parent


class Towers(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query = torch.nn.Linear(16, 8)
        self.document = torch.nn.Linear(16, 8)

    def forward(self, *, query, document):
        return self.query(query) @ self.document(document).T


class Flat(torch.nn.Module):
    """The attention of windows: three dims, which dynamo's translation has no case for."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = torch.nn.Linear(8, 24)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        return torch.nn.functional.scaled_dot_product_attention(q, k, v)


class Codes(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.codes = torch.nn.Parameter(torch.randn(5, 6))

    def forward(self, latents):
        return torch.cdist(latents, self.codes)


def probe(name: str, **changes: object) -> Probe:
    made = Probe(
        name=f"test_keyword_only:{name}",
        factory=f"test_keyword_only:{name}",
        path="test_keyword_only.py",
        line=1,
        source=SYNTHESISED,
        inputs=None,
        dynamic={},
        sizes={},
        vary=None,
        exporters=EXPORTERS,
        opset=20,
        search_path=(str(HERE),),
        root=str(HERE),
        repro_dir="repro",
        timeout=120.0,
    )
    return replace(made, **changes)


def test_declared_inputs_behind_a_star_go_by_keyword() -> None:
    specs = {name: parse_spec(f"float32[{name}=3, 16]") for name in ("query", "document")}
    example = example_inputs(probe("Towers", source="declared", inputs=specs), Towers())
    assert example.args == ()
    assert list(example.kwargs) == ["query", "document"]


def test_inputs_behind_a_star_are_found() -> None:
    known, assumed = synthesise(probe("Towers"))
    assert {name: spec.split("[")[0] for name, spec in assumed.inputs.items()} == dict.fromkeys(
        ("query", "document"), "float32"
    )
    assert list(example_inputs(known, Towers()).kwargs) == ["query", "document"]


def test_the_size_that_a_distance_asks_for_is_found() -> None:
    assert synthesise(probe("Codes"))[1].inputs["latents"].endswith("6]")


@pytest.mark.slow
def test_torchscript_cannot_pass_by_keyword_and_says_so(tmp_path: Path) -> None:
    result = run_probe(probe("Towers", repro_dir=str(tmp_path / "repro"))).report
    assert result.exporters["torchscript"].outcome is Outcome.EXPORT_ERROR
    assert "forward takes `query`, `document` by keyword only" in (result.exporters["torchscript"].detail or "")
    assert result.exporters["dynamo"].outcome is Outcome.OK


@pytest.mark.slow
def test_a_failed_translation_names_the_line_of_its_node() -> None:
    """A refusal without a frame of the model in its traceback: the exporter tells the node."""
    result = onnxlint.check_model(Flat(), (torch.rand(2, 3, 8),), exporters="dynamo")
    refused = next(f for f in result.findings if f.code == "ONX702")
    lines = Path(__file__).read_text().splitlines()
    assert "scaled_dot_product_attention(q" in lines[refused.span.line - 1]
