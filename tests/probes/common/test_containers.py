"""Inputs in dicts, lists, tuples, named tuples and dataclasses: made up, exported, varied, written down again."""

from __future__ import annotations

import subprocess
import sys
from collections import OrderedDict
from dataclasses import replace
from pathlib import Path

import contained
import pytest
import torch
from probing import unknown

from onnxlint.base.specs import parse_spec
from onnxlint.probes.common.containers import as_annotated, fields_of
from onnxlint.probes.examples.examples import build_model, example_inputs
from onnxlint.probes.examples.vary import variations
from onnxlint.probes.guess.call_variants import find_ways
from onnxlint.probes.guess.synthesise import synthesise
from onnxlint.probes.process.worker import run_probe

MODULE = "contained"


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("ByKey", [dict]),
        ("AllValues", [dict]),
        ("Ordered", [OrderedDict]),
        ("Listed", [list]),
        ("Paired", [tuple]),
        ("Triple", [torch.Tensor, tuple]),
        ("Recurrent", [torch.Tensor, contained.State]),
        ("Held", [contained.Batch]),
    ],
)
def test_containers_are_made_as_they_are_annotated(name: str, kinds: list[type]) -> None:
    probe, assumed = synthesise(unknown(name, MODULE))
    model = build_model(probe).eval()
    example = example_inputs(probe, model)
    assert [type(value) for value in example.args] == kinds
    changed = variations(probe, model, example)
    assert {v.kind for v in changed} == {"values", "sizes"}
    for variation in changed:
        assert [type(value) for value in variation.args] == kinds
        model(*variation.args, **variation.kwargs)
    assert "." in "".join(assumed.inputs)


def test_optional_containers_are_further_ways_to_call_a_model() -> None:
    probe, _ = synthesise(unknown("Maybe", MODULE))
    ways = find_ways(probe, build_model(probe).eval(), 10.0)
    assert [(way.label, list(way.inputs)) for way in ways] == [
        ("with pair", ["x", "pair.0", "pair.1"]),
        ("with state", ["x", "state.hidden", "state.cell"]),
    ]


def test_what_is_declared_becomes_what_is_annotated() -> None:
    specs = {"x": "float32[batch=2, 6]", "state.hidden": "float32[batch=2, 5]", "state.cell": "float32[batch=2, 5]"}
    declared = {name: parse_spec(spec) for name, spec in specs.items()}
    probe = replace(unknown("Recurrent", MODULE), source="config", inputs=declared)
    example = example_inputs(probe, build_model(probe))
    assert isinstance(example.args[1], contained.State)


def test_what_the_class_does_not_take_stays_what_it_was() -> None:
    arguments = {"x": 1, "state": {"hidden": 2, "other": 3}}
    assert as_annotated(contained.Recurrent(), arguments) == arguments
    assert as_annotated(contained.Recurrent(), {"x": 1, "state": [2, 3]})["state"] == contained.State(2, 3)
    assert not fields_of(dict[str, int])
    assert list(fields_of(contained.Batch)) == ["image", "mask"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ByKey", "Paired", "Ordered", "Recurrent", "Held"])
def test_dynamo_exports_them_and_agrees(name: str, tmp_path: Path) -> None:
    probe = replace(unknown(name, MODULE), repro_dir=str(tmp_path), exporters=("dynamo",))
    assert run_probe(probe).report.exporters["dynamo"].outcome == "ok"


@pytest.mark.slow
def test_a_counterexample_spells_them(tmp_path: Path) -> None:
    probe = replace(unknown("Recurrent", MODULE), repro_dir=str(tmp_path), exporters=("torchscript",))
    (evidence,) = run_probe(probe).evidence
    assert evidence.repro is not None
    script = Path(probe.root, evidence.repro)
    assert 'importlib.import_module("contained").State(hidden=tensor(' in script.read_text()
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert "'tuple' object has no attribute 'hidden'" in ran.stderr
