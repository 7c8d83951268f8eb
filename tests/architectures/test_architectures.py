"""The data on real architectures is whole, and the README shows what it says."""

from __future__ import annotations

import importlib

import measure
import pytest

from onnxlint.base.records import EXPORTERS, Outcome

MODELS = measure.read()["models"]
CELLS = [(name, exporter) for name in MODELS for exporter in EXPORTERS]
LEAST = 120


def test_the_readme_shows_what_the_data_says() -> None:
    text = measure.README.read_text(encoding="utf-8")
    assert measure.BEGIN in text
    assert measure.with_excerpt(text, measure.read()) == text, "run tests/architectures/measure.py --readme"


def test_enough_architectures_of_every_library_are_known() -> None:
    assert len(MODELS) >= LEAST
    assert {name.partition(":")[0] for name in MODELS} == set(measure.MODULES)


@pytest.mark.parametrize(("model", "exporter"), CELLS)
def test_every_model_was_probed_and_every_failure_has_its_line(model: str, exporter: str) -> None:
    found = MODELS[model]
    assert "reason" not in found
    cell = found[exporter]
    assert Outcome(cell["outcome"]) not in (Outcome.TIMEOUT, Outcome.CRASH, Outcome.EAGER_ERROR, Outcome.SKIPPED)
    assert (cell["outcome"] == "ok") == ("file" not in cell)
    if "file" in cell:
        assert cell["source"]
    assert found["seconds"] < measure.LIMIT


@pytest.mark.slow
def test_the_data_is_of_architectures_that_are_declared() -> None:
    for package in ("transformers", "timm", "vit_pytorch", "diffusers", "ultralytics", "x_transformers"):
        pytest.importorskip(package)
    declared = {f"{module}:{name}" for module in measure.MODULES for name in importlib.import_module(module).NETS}
    assert set(MODELS) <= declared
