"""Models that nobody described: what they are fed with, which dims may change, and what is said where nothing fits."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from probing import unknown

from onnxlint.base.probe_records import DECLARED, SYNTHESISED, ProbeResult
from onnxlint.base.records import Assumed, ModelStatus, Outcome
from onnxlint.base.specs import format_spec
from onnxlint.config.settings import load_settings
from onnxlint.probes.examples.examples import ProbeFailure, build_model, example_inputs
from onnxlint.probes.guess.synthesise import survey, synthesise, unfed
from onnxlint.probes.process.worker import run_probe
from onnxlint.probes.schedule.pool import ProbePool


def assumed(name: str) -> Assumed:
    return synthesise(unknown(name))[1]


@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        (
            "ByName",
            {"image": "float32[batch=2, 3, height=64, width=67]", "attention_mask": "bool[batch=2, sequence=8]"},
        ),
        ("ByTokenName", {"input_ids": "int64[batch=2, sequence=8]"}),
        ("ByFirstLayer", {"x": "float32[batch=2, 11]"}),
        ("ByLayerReached", {"x": "float32[batch=2, 5, sequence=64]"}),
        ("ByEmbeddingReached", {"x": "int64[batch=2, sequence=8]"}),
        ("ByConfig", {"pixel_values": "float32[batch=2, 4, 40, 40]"}),
        ("ByConvention", {"input_ids": "int64[batch=2, sequence=5]"}),
        ("ByJaxtyping", {"x": "float32[batch=2, sequence=8, 13]", "y": "float32[batch=2, y_sequence=3, 13]"}),
        ("ByMatmulMessage", {"x": "float32[batch=2, 17]"}),
        ("ByDtypeMessage", {"x": "int64[batch=2, sequence=16]"}),
        ("ByMultipleMessage", {"image": "float32[batch=2, 3, height=96, width=192]"}),
        ("Recurrent", {"x": "float32[batch=2, sequence=8, 6]"}),
        ("Together", {"tokens": "int64[batch=2, sequence=8]", "mask": "bool[batch=2, sequence=8]"}),
        ("Strided", {"image": "float32[batch=2, 3, height=64, width=128]"}),
        ("Square", {"image": "float32[batch=2, 3, side=64, side=64]"}),
        (
            "TwoSequences",
            {"query": "float32[batch=2, sequence=8, 12]", "key": "float32[batch=2, key_sequence=11, 20]"},
        ),
        (
            "Pyramid",
            {
                "features.0": "float32[batch=2, 6, 64, 64]",
                "features.1": "float32[batch=2, 10, 32, 32]",
                "features.2": "float32[batch=2, 14, 16, 16]",
            },
        ),
        (
            "States",
            {"x": "float32[batch=2, 9]", "state.0": "float32[batch=2, 9]", "state.1": "float32[batch=2, 9]"},
        ),
        (
            "Keyed",
            {"batch.input_ids": "int64[batch=2, sequence=8]", "batch.attention_mask": "bool[batch=2, sequence=8]"},
        ),
        (
            "ByPast",
            {
                "x": "float32[batch=2, sequence=8, 24]",
                "past_key": "float32[batch=2, 4, past=5, 6]",
                "past_value": "float32[batch=2, 4, past=5, 6]",
            },
        ),
        ("ByState", {"x": "float32[batch=2, 5]", "h": "float32[batch=2, 7]", "c": "float32[batch=2, 7]"}),
        ("InChunks", {"x": "float32[batch=2, 8]"}),
        ("BySquare", {"weights": "float32[side=2, side=2]"}),
    ],
)
def test_inputs_come_from(name: str, inputs: dict[str, str]) -> None:
    assert dict(assumed(name).inputs) == inputs


@pytest.mark.parametrize(
    "name",
    [
        "Listed",
        "TwoTables",
        "ByDefault",
        "ByAnnotation",
        "ByRankMessage",
        "ByMissingMessage",
        "ByUnpackedNone",
        "NeedsTuple",
        "NeedsModule",
    ],
)
def test_the_model_takes_what_is_assumed(name: str) -> None:
    probe, _ = synthesise(unknown(name))
    model = build_model(probe)
    example = example_inputs(probe, model)
    model(*example.args, **example.kwargs)


def test_values_that_are_no_tensors_are_told() -> None:
    assert dict(assumed("ByAnnotation").values) == {"steps": 8, "flag": False}
    assert dict(assumed("ByDefault").values) == {}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("ByFirstLayer", {}),
        ("NeedsArguments", {"dim": 32, "num_heads": 4, "dropout": 0.0}),
        ("NeedsConfig", {"config": {"_target_": "guessed:Config", "image_size": 32, "dim": 32}}),
        ("NeedsTuple", {"depth": [2, 2]}),
        ("NeedsModule", {"encoder": {"_target_": "guessed:ByFirstLayer"}}),
        ("NeedsSizes", {"dim": 32, "levels": [8, 8], "scales": [8, 8]}),
        ("NeedsMoreByName", {"dim": 32, "num_heads": 4, "dropout": 0.0}),
    ],
)
def test_constructor_arguments_come_from_names_annotations_and_errors(name: str, arguments: dict[str, object]) -> None:
    assert dict(assumed(name).arguments) == arguments


def test_a_dim_is_tried_at_primes_and_at_one() -> None:
    sizes = assumed("Together").sizes
    assert sizes["batch"] == (1, 3, 5, 7)
    assert set(sizes["sequence"]) == {7, 9, 11}


def test_a_dim_that_only_takes_multiples_has_multiples_to_try() -> None:
    assumption = assumed("Strided")
    assert assumption.sizes["height"]
    assert all(size % 8 == 0 for size in (*assumption.sizes["height"], *assumption.sizes["width"]))


def test_what_moves_is_preferred_to_what_is_fixed_on_every_axis() -> None:
    assert assumed("ByWhatMoves").sizes.keys() == {"batch"}


def test_a_side_that_eager_fixes_is_not_dynamic() -> None:
    assert set(assumed("ByConfig").sizes) == {"batch"}


def test_features_are_not_dynamic_though_the_arithmetic_allows_it() -> None:
    assert dict(assumed("ByDefault").inputs) == {"x": "float32[batch=2, 16]"}


def test_the_configuration_says_the_same() -> None:
    probe, assumption = synthesise(unknown("NeedsArguments"))
    (table,) = tomllib.loads(assumption.config)["tool"]["onnxlint"]["models"]
    assert table["factory"] == "guessed:NeedsArguments"
    assert table["arguments"] == probe.arguments
    assert table["inputs"] == dict(assumption.inputs)
    assert table["sizes"] == {name: list(sizes) for name, sizes in assumption.sizes.items()}


@pytest.mark.parametrize("name", ["States", "Keyed", "Pyramid"])
def test_the_configuration_of_several_tensors_in_one_input_feeds_the_model(name: str, tmp_path: Path) -> None:
    _, assumption = synthesise(unknown(name))
    (tmp_path / "onnxlint.toml").write_text(assumption.config.replace("tool.onnxlint.", ""))
    settings, faults = load_settings(tmp_path)
    assert not faults
    (model,) = settings.models
    assert not isinstance(model.inputs, str | None)
    assert {label: format_spec(spec) for label, spec in model.inputs.items()} == dict(assumption.inputs)
    declared = replace(unknown(name), source="config", inputs=model.inputs, sizes=model.sizes, ranges=model.ranges)
    built = build_model(declared)
    example = example_inputs(declared, built)
    built(*example.args, **example.kwargs)
    assert {dim for axes in example.dynamic.values() for dim in axes.values()} == set(assumption.sizes)


def test_indices_stay_in_the_table_that_they_are_looked_up_in() -> None:
    probe, assumption = synthesise(unknown("TwoTables"))
    assert dict(assumption.ranges) == {"x": (0, 6)} == dict(probe.ranges)
    assert "ranges = { x = [0, 6] }" in assumption.config
    assert "# x: whole numbers up to 6" in assumption.config


@pytest.mark.parametrize(("factory", "written"), [("Dropping", True), ("evaluating", False)])
def test_the_mode_is_written_where_the_model_is_not_built_in_it(factory: str, written: bool) -> None:
    probe, assumption = synthesise(unknown(factory))
    assert probe.eval is assumption.eval is written
    assert ("\neval = true\n" in assumption.config) is written
    assert not build_model(probe).training


def test_the_comments_say_what_moved_together_and_what_did_not_move() -> None:
    comments = [line for line in assumed("Together").config.splitlines() if line.startswith("#")]
    assert "# batch: axis 0 of tokens and axis 0 of mask moved together" in comments
    assert "# sequence: axis 1 of tokens and axis 1 of mask moved together" in comments
    assert any("axis 1 of x (11)" in line for line in assumed("ByFirstLayer").notes)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("NeverTakes", r"no inputs were found in \d+ tries, the first with x: float32\[.*\]: RuntimeError: not today"),
        ("NeedsUnknown", "nothing says what to give its constructor for `teacher`"),
        ("RaisesInConstructor", r"its constructor raised RuntimeError: no weights on this machine with dim=32"),
    ],
)
def test_where_nothing_fits_it_says_what_was_tried(name: str, reason: str) -> None:
    with pytest.raises(ProbeFailure, match=reason):
        synthesise(unknown(name))


def test_a_start_is_offered_with_what_is_known_of_the_constructor() -> None:
    with pytest.raises(ProbeFailure) as failure:
        synthesise(unknown("NeedsWidthAndUnknown"))
    (table,) = tomllib.loads(failure.value.remedy or "")["tool"]["onnxlint"]["models"]
    assert table["arguments"] == {"dim": 32, "teacher": {"_target_": "module:Class"}}


def test_the_number_of_tries_is_limited_and_a_start_is_offered() -> None:
    with pytest.raises(ProbeFailure) as failure:
        synthesise(unknown("NeverTakes"))
    assert tomllib.loads(failure.value.remedy or "")["tool"]["onnxlint"]["models"][0]["factory"] == "guessed:NeverTakes"
    tries = int(failure.value.reason.split(" tries")[0].split()[-1])
    assert 1 < tries <= 60


@pytest.mark.parametrize("name", ["Hangs", "HangsInConstructor"])
@pytest.mark.slow
def test_a_model_that_hangs_is_ended_by_the_pool_and_no_error_of_the_user(name: str) -> None:
    with ProbePool("onnxlint.probes.guess.synthesise:survey") as pool:
        (result,) = pool.run([unknown(name, timeout=6.0)], jobs=1)
    assert result.report.status is ModelStatus.NOT_PROBED
    assert "s" in (result.report.reason or "")
    assert not result.evidence


def test_the_survey_exports_nothing() -> None:
    sent: list[ProbeResult] = []
    result = survey(unknown("ByFirstLayer"), sent.append)
    assert result.report.status is ModelStatus.PROBED
    assert result.report.exporters == {}
    assert result.report.assumed is not None


@pytest.mark.slow
def test_a_verdict_on_assumed_inputs_says_so_and_clears_no_line(tmp_path: Path) -> None:
    probe = replace(unknown("Branch", "hazards"), repro_dir=str(tmp_path))
    result = run_probe(probe)
    assert result.report.exporters["torchscript"].outcome is not Outcome.OK
    assert result.report.assumed is not None
    assert result.report.assumed.inputs
    assert all(e.detail.endswith("(on assumed inputs)") for e in result.evidence)
    assert result.reached == {}


def test_a_model_that_takes_nothing_is_listed_and_has_no_outcome() -> None:
    result = run_probe(unknown("NeverTakes"))
    assert result.report.status is ModelStatus.NOT_PROBED
    assert result.report.assumed == Assumed()
    assert result.report.exporters == {}
    assert not result.report.declared


@pytest.mark.parametrize(
    ("name", "source"),
    [("ByFirstLayer", SYNTHESISED), ("NeedsWidth", SYNTHESISED), ("BringsItsExample", "example_input_array")],
)
def test_a_declaration_without_inputs_takes_what_there_is(name: str, source: str) -> None:
    assert unfed(replace(unknown(name), source=DECLARED)).source == source


def test_a_declaration_with_inputs_is_left_as_it_is() -> None:
    declared = replace(unknown("ByFirstLayer"), source=DECLARED, inputs="guessed:inputs")
    assert unfed(declared) is declared


def test_a_narrow_type_in_an_annotation_is_kept() -> None:
    inputs = assumed("ByNarrowType").inputs
    assert inputs["input_ids"].startswith("int32[batch=2, ")
    assert inputs["weight"].startswith("float16[")
