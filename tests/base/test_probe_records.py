"""What goes to a worker and comes back, and into the cache, is what was sent."""

from __future__ import annotations

import dataclasses
import json

import pytest

from onnxlint.base.probe_records import (
    Depends,
    DimSpec,
    Probe,
    ProbeResult,
    TensorSpec,
    Tolerance,
    Way,
)
from onnxlint.base.records import Diagnostic, ModelReport, ModelStatus, from_json, to_json

SPEC = TensorSpec("float32", (DimSpec("batch", None), DimSpec(None, 3), DimSpec("größe", 2**40)), (1, 0.5))
PROBE = Probe(
    name="pkg.größe:Net",
    factory="pkg.größe:Net",
    path="two words/größe.py",
    line=3,
    source="config",
    inputs={"x": SPEC, "states.0": TensorSpec("bool", ())},
    dynamic={"x": {0: "batch", -1: "größe"}},
    sizes={"batch": (1, 2, 5)},
    vary=None,
    exporters=("dynamo",),
    opset=20,
    search_path=("/w/two words",),
    root="/w",
    repro_dir=".onnxlint/repro",
    tolerance=Tolerance(absolute=1e-3),
    memory=2**40,
    overlay={"/w/m.py": "x = '\xff'"},
    ranges={"x": (0.0, 1.5)},
    arguments={"inner": {"_target_": "a:b", "sizes": [1, 2], "name": "ß", "on": True, "none": None}},
)


def test_a_probe_survives_the_way_to_a_worker() -> None:
    assert from_json(Probe, json.loads(json.dumps(to_json(PROBE)))) == PROBE
    by_name = dataclasses.replace(PROBE, inputs="pkg.größe:inputs")
    assert from_json(Probe, json.loads(json.dumps(to_json(by_name)))) == by_name


def test_a_result_survives_the_way_back() -> None:
    result = ProbeResult(
        ModelReport("m:A", "m.py", 1, ModelStatus.PROBED),
        reached={"two words/m.py": (1, 2, 30)},
        notices=(Diagnostic("warning", "it wrote größe"),),
        depends=Depends({"/w/m.py": "abc"}, {"HOME": ""}, "it asked for the time"),
        ways=(Way("with mask", {"x": SPEC}, {"mask": None}, ranges={"x": (0.0, 1.0)}),),
    )
    assert from_json(ProbeResult, json.loads(json.dumps(to_json(result)))) == result


def test_what_is_no_probe_is_refused() -> None:
    data = to_json(PROBE)
    with pytest.raises(ValueError, match="line"):
        from_json(Probe, {**data, "line": "3"})
    with pytest.raises(ValueError, match="factory"):
        from_json(Probe, {key: value for key, value in data.items() if key != "factory"})


@pytest.mark.parametrize(
    ("source", "asked"), [("config", True), ("captured", True), ("call-site", False), ("synthesised", False)]
)
def test_a_model_is_asked_for_where_the_user_named_it(source: str, asked: bool) -> None:
    assert dataclasses.replace(PROBE, source=source).asked_for is asked
