"""What is probed and what is not, in which order, under which names, and what would help the others."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

from onnxlint.base.probe_records import DECLARED, SYNTHESISED, Probe, Way
from onnxlint.base.specs import parse_spec
from onnxlint.config.declared_models import ModelConfig
from onnxlint.config.settings import Settings
from onnxlint.flow.state.candidates import Candidate
from onnxlint.probes.live.snapshot_client import Captured
from onnxlint.probes.schedule.plan import LISTED, PATIENCE, Plan, further, plan, plan_captured, remedy

NOTHING_SAYS = "nothing says what to feed it"


def fed(name: str, **more: Any) -> Candidate:
    """A model of which the source says all that a probe needs."""
    return Candidate(f"nets:{name}", "nets.py", 3, "call-site", "/src", **more)


def unfed(name: str, **more: Any) -> Candidate:
    """A model of which nothing says what to feed it."""
    return Candidate(**{"factory": f"nets:{name}", "path": "nets.py", "line": 5, "source": "", "root": "/src"} | more)


def planned(settings: Settings, *candidates: Candidate) -> Plan:
    given = (replace(c, reason=c.reason or NOTHING_SAYS) if not c.source else c for c in candidates)
    return plan(settings, list(given), lambda factory: ("nets.py", 7))


def names(plan: Plan) -> tuple[list[str], list[str]]:
    return [p.name for p in plan.probes], [m.name for m in plan.unprobed]


def test_what_is_declared_comes_first_and_is_not_probed_again_as_a_candidate(tmp_path: Path) -> None:
    settings = Settings(tmp_path, models=(ModelConfig("nets:Told", timeout=7.0, exporters=("dynamo",)),), opset=18)
    made = planned(settings, fed("Told"), fed("Called"), unfed("Silent"))
    assert names(made) == (["nets:Told", "nets:Called"], [])
    told, called = made.probes
    assert (told.source, told.path, told.line, told.timeout) == (DECLARED, "nets.py", 7, 7.0)
    assert (told.exporters, told.opset) == (("dynamo",), 18)
    assert (called.source, called.line, called.timeout) == ("call-site", 3, settings.timeout)
    assert called.search_path == ("/src", str(tmp_path))


def test_models_that_nobody_feeds_are_probed_on_assumed_inputs_up_to_a_limit(tmp_path: Path) -> None:
    made = planned(Settings(tmp_path, max_models=1), unfed("A"), unfed("B"), unfed("C", buildable=False))
    (probe,) = made.probes
    assert (probe.name, probe.source, probe.timeout) == ("nets:A", SYNTHESISED, PATIENCE)
    assert made.over == ("nets:B",)
    beyond, unbuilt = made.unprobed
    assert "beyond the 1 models" in (beyond.reason or "")
    assert unbuilt.reason == NOTHING_SAYS
    short = planned(Settings(tmp_path, timeout=9.0), unfed("A"))
    assert short.probes[0].timeout == 9.0


def test_only_so_many_silent_models_are_named_and_the_rest_counted(tmp_path: Path) -> None:
    many = [unfed(f"N{k}", buildable=False) for k in range(LISTED + 3)]
    marked = replace(unfed("Marked", reason="its constructor needs `dim`"), source="marked")
    made = planned(Settings(tmp_path), *many, marked)
    assert [m.name for m in made.unprobed][:2] == ["nets:Marked", "nets:N0"]
    assert (len(made.unprobed), made.unnamed) == (LISTED + 1, 3)


def test_names_that_are_asked_for_leave_the_others_out_and_raise_the_limit(tmp_path: Path) -> None:
    settings = Settings(tmp_path, only_models=("nets:B", "nets:Gone"), max_models=0)
    made = planned(settings, fed("A"), unfed("B"), unfed("C"))
    assert names(made) == (["nets:B"], [])
    assert made.unknown == ("nets:Gone",)


def test_live_models_are_planned_from_what_was_captured_alone(tmp_path: Path) -> None:
    settings = Settings(tmp_path, models=(ModelConfig("nets:Told"),), only_models=("nets:Told",))
    assert plan_captured(settings, Captured()) == Plan((), (), 0, ("nets:Told",))


def declared(**inputs: str) -> Probe:
    """The probe of a model that the configuration declares."""
    specs = {name: parse_spec(spec) for name, spec in inputs.items()}
    model = ModelConfig("nets:Named", specs, optional=True)
    return plan(Settings(Path(), models=(model,)), [], lambda factory: ("nets.py", 7)).probes[0]


def test_the_probe_of_a_way_keeps_of_the_declaration_what_still_holds() -> None:
    probe = replace(
        declared(x="float32[rows, 6]", bias="float32[columns, 6]"),
        dynamic={"bias": {0: "columns"}, "x": {0: "rows"}},
        sizes={"rows": (2, 3), "columns": (2, 3)},
    )
    other = further(probe, Way("without bias", {"x": parse_spec("float32[rows=2, 6]")}, sizes=probe.sizes))
    assert (other.name, other.way) == ("nets:Named [without bias]", "without bias")
    assert dict(other.dynamic) == {"x": {0: "rows"}}
    assert dict(other.sizes) == {"rows": (2, 3)}
    assert not other.optional


def test_the_remedy_suggests_what_the_name_of_a_parameter_says() -> None:
    suggested = {
        "latents": "float32[batch, 4, height, width]",
        "tokens": "int64[batch, sequence]",
        "image": "float32[batch, 3",
    }
    made = remedy(unfed("M", parameters=(*suggested, "x"), reason="its constructor needs `dim`"))
    assert all(f'{name} = "{spec}' in made for name, spec in suggested.items())
    assert 'x = "float32[batch, 16]"' in made
    assert 'factory = "nets:build"' in made


def test_the_remedy_is_configuration_that_keeps_the_inputs_that_are_known() -> None:
    made = remedy(unfed("M", parameters=("x",), inputs={"x": parse_spec("int64[rows, 7]")}, reason=NOTHING_SAYS))
    (table,) = tomllib.loads(made)["tool"]["onnxlint"]["models"]
    assert table == {"factory": "nets:M", "inputs": {"x": "int64[rows, 7]"}}
    (bare,) = tomllib.loads(remedy(unfed("M")))["tool"]["onnxlint"]["models"]
    assert bare["inputs"] == {"x": "float32[batch, 16]"}
