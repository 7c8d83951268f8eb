"""`onnxlint init`: what is written where, what stays as it was, and that `check` takes it."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from onnxlint.base.probe_records import SYNTHESISED
from onnxlint.config.declared_models import ModelConfig
from onnxlint.config.settings import Settings, load_settings
from onnxlint.flow.state.candidates import Candidate
from onnxlint.probes.schedule.plan import plan
from onnxlint.run.declare import added, configuration_file

TABLE = '[[tool.onnxlint.models]]\nfactory = "nets:Gate"\ninputs = { x = "float32[batch, 3]" }\n'
OWN = TABLE.replace("tool.onnxlint.", "")
NETS = """\
from torch import nn


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(5, 3)

    def forward(self, x):
        h = self.stem(x)
        if h.mean() > 0:
            return h * 2
        return h


class Sized(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.out = nn.Linear(dim, 2)

    def forward(self, x):
        return self.out(x)


class Odd(nn.Module):
    def forward(self, x):
        raise RuntimeError("not today")
"""


class Nowhere:
    def __call__(self, factory: str) -> tuple[str, int]:
        return "", 0


def candidate(name: str, **more: object) -> Candidate:
    given = {"reason": "nothing says what to feed it", "source": "", **more}
    return Candidate(factory=f"nets:{name}", path="nets.py", line=1, root=".", **given)  # type: ignore[arg-type]


class TestPlan:
    def test_undeclared_models_are_probed_within_a_budget(self, tmp_path: Path) -> None:
        todo = plan(Settings(tmp_path, max_models=2), [candidate(f"N{k}") for k in range(5)], Nowhere())
        assert [p.source for p in todo.probes] == [SYNTHESISED] * 2
        assert todo.over == ("nets:N2", "nets:N3", "nets:N4")
        assert [m.name for m in todo.unprobed] == list(todo.over)
        assert "max-models" in (todo.unprobed[0].reason or "")

    def test_who_names_a_model_or_declares_one_is_told_of_no_budget(self, tmp_path: Path) -> None:
        many = [candidate(f"N{k}") for k in range(5)]
        named = plan(Settings(tmp_path, max_models=0, only_models=("nets:N3",)), many, Nowhere())
        assert [p.name for p in named.probes] == ["nets:N3"]
        assert named.over == ()
        assert plan(Settings(tmp_path, max_models=0, models=(ModelConfig("nets:N0"),)), many, Nowhere()).over == ()

    def test_declared_models_come_alone(self, tmp_path: Path) -> None:
        settings = Settings(tmp_path, models=(ModelConfig("nets:Gate"),))
        todo = plan(settings, [candidate("Gate"), candidate("Other")], Nowhere())
        assert [p.name for p in todo.probes] == ["nets:Gate"]

    def test_a_model_that_needs_arguments_waits_until_it_is_asked_for(self, tmp_path: Path) -> None:
        needy = candidate("Sized", reason="its constructor needs `dim`", buildable=False)
        assert not plan(Settings(tmp_path), [needy], Nowhere()).probes
        asked = plan(Settings(tmp_path, only_models=("nets:Sized",)), [needy], Nowhere())
        assert [p.source for p in asked.probes] == [SYNTHESISED]


class TestWhatIsWritten:
    @pytest.mark.parametrize(
        "before",
        [
            '[project]\nname = "x"  # mine\n\n[tool.ruff]\nline-length = 99',
            '[tool.onnxlint]\nopset = 18\n\n[[tool.onnxlint.models]]\nfactory = "a:B"\n\n[tool.ruff]\n',
            "",
        ],
        ids=["no table of ours", "models, and another tool behind them", "an empty file"],
    )
    def test_the_rest_stays_as_it_was(self, before: str) -> None:
        text = added(before, TABLE)
        assert text.startswith(before)
        assert text.endswith(TABLE)
        old = tomllib.loads(before).get("tool", {}).get("onnxlint", {}).get("models", [])
        new = tomllib.loads(text)["tool"]["onnxlint"]["models"]
        assert [m["factory"] for m in new] == [*(m["factory"] for m in old), "nets:Gate"]

    def test_a_list_of_inline_tables_grows(self) -> None:
        before = '# mine\n[tool.onnxlint]\nopset = 18  # why\nmodels = [{ factory = "a:B" }]\n'
        text = added(before, TABLE + "# onnxlint could not feed `nets:Odd`\n")
        assert [m["factory"] for m in tomllib.loads(text)["tool"]["onnxlint"]["models"]] == ["a:B", "nets:Gate"]
        assert "opset = 18  # why" in text
        assert "# onnxlint could not feed `nets:Odd`" in text

    def test_a_file_that_is_no_toml_is_refused(self) -> None:
        with pytest.raises(ValueError, match="line 1"):
            added("not toml", OWN)

    def test_it_goes_to_the_file_that_holds(self, tmp_path: Path) -> None:
        assert configuration_file(Settings(tmp_path)).name == "onnxlint.toml"
        (tmp_path / "pyproject.toml").write_text("")
        assert configuration_file(Settings(tmp_path)).name == "pyproject.toml"
        held = tmp_path / ".onnxlint.toml"
        assert configuration_file(Settings(tmp_path, config_file=held)) == held


def test_arguments_and_values_are_read_from_a_configuration(tmp_path: Path) -> None:
    (tmp_path / "onnxlint.toml").write_text(
        '[[models]]\nfactory = "a:B"\narguments = { dim = 3, sub = { _target_ = "a:C", k = [1, 2] } }\n'
        'inputs = { x = "float32[batch, 3]" }\nvalues = { steps = 4, flag = false }\n'
    )
    settings, faults = load_settings(tmp_path)
    assert not faults
    (model,) = settings.models
    assert model.arguments == {"dim": 3, "sub": {"_target_": "a:C", "k": [1, 2]}}
    assert model.values == {"steps": 4, "flag": False}


def test_a_date_is_no_value(tmp_path: Path) -> None:
    (tmp_path / "onnxlint.toml").write_text('[[models]]\nfactory = "a:B"\nvalues = { when = 2024-01-01 }\n')
    _, faults = load_settings(tmp_path)
    assert [f.line for f in faults] == [3]


def onnxlint(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "onnxlint", *args]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)


def test_the_report_says_how_many_undeclared_models_were_left_out(tmp_path: Path) -> None:
    (tmp_path / "nets.py").write_text(NETS)
    done = onnxlint(tmp_path, "check", "--max-models", "0", "nets.py")
    told = "0 of 2 models that nobody declared are probed, without nets:Gate and 1 more; --max-models 2 probes all"
    assert told in " ".join((done.stdout + done.stderr).split())


@pytest.mark.slow
def test_a_package_that_is_not_installed_is_told_once_and_written_nowhere(tmp_path: Path) -> None:
    (tmp_path / "nets.py").write_text("import not_there_at_all\n" + NETS)
    done = onnxlint(tmp_path, "init")
    assert done.returncode == 2
    assert not list(tmp_path.glob("*.toml"))
    assert done.stderr.count("not_there_at_all") == 2, done.stderr
    assert "  install `not_there_at_all` in the environment that onnxlint runs in" in done.stderr
    assert "3 models could not be fed, such as nets:Gate: " in done.stderr


def test_where_there_is_no_model_it_says_so(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text("x = 1\n")
    done = onnxlint(tmp_path, "init")
    assert done.returncode == 0
    assert "no model was found" in done.stderr


@pytest.mark.slow
def test_a_project_is_declared_and_then_checked_as_declared(tmp_path: Path) -> None:
    (tmp_path / "nets.py").write_text(NETS)
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "nets"  # mine\n')

    undeclared = onnxlint(tmp_path, "check", "--output-format", "json", "nets.py")
    assert undeclared.returncode == 1, undeclared.stderr
    models = {m["name"]: m for m in json.loads(undeclared.stdout)["models"]}
    assert models["nets:Gate"]["assumed"]["inputs"] == {"x": "float32[batch=2, 5]"}
    assert {m["status"] for n, m in models.items() if n != "nets:Gate"} == {"not-probed"}

    printed = onnxlint(tmp_path, "init", "--stdout")
    assert printed.returncode == 0, printed.stderr
    assert (tmp_path / "pyproject.toml").read_text() == '[project]\nname = "nets"  # mine\n'

    done = onnxlint(tmp_path, "init")
    assert done.returncode == 0, done.stderr
    assert "2 models in pyproject.toml: look at the inputs, they are assumptions" in done.stderr
    assert "1 model could not be fed; a start for each is in pyproject.toml, as a comment:\n  nets:Odd: " in done.stderr
    text = (tmp_path / "pyproject.toml").read_text()
    assert text.startswith('[project]\nname = "nets"  # mine\n')
    assert text.endswith(printed.stdout)
    assert "# eval: it is built in training mode, and exported in evaluation mode" in text
    line = NETS.splitlines().index("class Odd(nn.Module):") + 1
    assert f"could not feed `nets:Odd` (nets.py:{line}): no inputs were found" in text
    assert {m["factory"] for m in tomllib.loads(text)["tool"]["onnxlint"]["models"]} == {"nets:Gate", "nets:Sized"}

    again = onnxlint(tmp_path, "init")
    assert (tmp_path / "pyproject.toml").read_text() == text, again.stderr

    declared = onnxlint(tmp_path, "check", "--output-format", "json", "nets.py")
    assert declared.returncode == 1, declared.stderr
    report = json.loads(declared.stdout)
    assert {m["name"]: m["status"] for m in report["models"]} == {"nets:Gate": "probed", "nets:Sized": "probed"}
    assert [(f["code"], f["verdict"]) for f in report["findings"]] == [("ONX101", "confirmed")]
