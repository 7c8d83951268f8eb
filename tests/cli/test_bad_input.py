"""Bad input: one clear message with the place and the remedy, the rest of the run completed, no traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from onnxlint.base.catalogue import load_catalogue
from onnxlint.cli import main

ROOT = Path(__file__).resolve().parents[2]

GATE = """import torch


class Gate(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x
"""

MODELS = """import sys

import torch


def build():
    return torch.nn.Linear(4, 2)


def number():
    return 42


def fails():
    raise ValueError("no weights here")


def leaves():
    sys.exit(3)


def inputs():
    return (torch.ones(2, 4),)


def wrong_inputs():
    return (torch.ones(2, 5),)


def no_inputs():
    raise KeyError("tokenizer")
"""


@dataclass
class Run:
    code: int
    out: str
    err: str

    @property
    def report(self) -> dict[str, Any]:
        return dict(json.loads(self.out))

    @property
    def diagnostics(self) -> list[dict[str, Any]]:
        return list(self.report["diagnostics"])

    def lines(self, path: str) -> list[tuple[str, int]]:
        return [(f["code"], f["line"]) for f in self.report["findings"] if f["path"] == path]


def check(*args: str, static: bool = True) -> Run:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "onnxlint", "check", "--output-format", "json"),
            *(["--static-only"] if static else []),
            *args,
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert "Traceback" not in done.stdout + done.stderr
    return Run(done.returncode, done.stdout, done.stderr)


@pytest.fixture(autouse=True)
def _project(here: Path) -> None:
    Path("gate.py").write_text(GATE)


def test_the_good_file_alone_gives_its_finding() -> None:
    run = check()
    assert (run.code, run.diagnostics, run.err) == (1, [], "")
    assert run.lines("gate.py") == [("ONX101", 6)]


@pytest.mark.parametrize(
    ("data", "line", "fault", "remedy"),
    [
        (b"import torch\n\ndef f(:\n", 3, "does not parse as Python", "mend it"),
        (b"import torch\n# caf\xe9\n", 2, "is not UTF-8", "save it as UTF-8"),
        (b"import torch\nx = '\0'\n", 2, "null byte", "mend it"),
        (b"# coding: klingon\nimport torch\n", 1, "encoding", "save it as UTF-8"),
    ],
    ids=["does not parse", "is not UTF-8", "holds a null byte", "names no encoding"],
)
def test_a_file_that_cannot_be_read_is_one_error(data: bytes, line: int, fault: str, remedy: str) -> None:
    Path("bad.py").write_bytes(data)
    run = check()
    (diagnostic,) = run.diagnostics
    assert (run.code, diagnostic["level"], diagnostic["path"], diagnostic["line"]) == (2, "error", "bad.py", line)
    assert fault in diagnostic["message"]
    assert remedy in diagnostic["message"]
    assert run.lines("gate.py") == [("ONX101", 6)], "the rest of the run is complete"


def test_an_empty_file_is_no_fault() -> None:
    Path("empty.py").write_bytes(b"")
    run = check()
    assert (run.code, run.diagnostics) == (1, [])
    assert run.report["summary"]["files"] == 2


def test_a_folder_called_like_a_file_is_walked() -> None:
    Path("model.py").mkdir()
    Path("model.py/gate.py").write_text(GATE)
    run = check("model.py")
    assert (run.code, run.diagnostics) == (1, [])
    assert run.lines("model.py/gate.py") == [("ONX101", 6)]


@pytest.mark.parametrize("args", [[], ["big.py", "gate.py"]], ids=["found", "named"])
def test_a_file_of_20_megabytes_is_left_out_with_a_warning(args: list[str]) -> None:
    Path("big.py").write_bytes(b"import torch\n" + b"# " + b"x" * 20_000_000 + b"\n")
    run = check(*args)
    (diagnostic,) = run.diagnostics
    assert (run.code, diagnostic["level"], diagnostic["path"]) == (1, "warning", "big.py")
    assert "20.0 MB" in diagnostic["message"]
    assert run.lines("gate.py") == [("ONX101", 6)]


def test_symbolic_links_that_loop_are_named() -> None:
    os.symlink(".", "loop")
    os.symlink("self.py", "self.py")
    run = check()
    assert (run.code, [(d["level"], d["path"]) for d in run.diagnostics]) == (
        1,
        [("warning", "loop"), ("warning", "self.py")],
    )
    assert run.lines("gate.py") == [("ONX101", 6)]


def test_a_notebook_is_a_warning_that_says_how_to_convert_it() -> None:
    Path("model.ipynb").write_text("{}")
    run = check("model.ipynb", "gate.py")
    (diagnostic,) = run.diagnostics
    assert (run.code, diagnostic["level"], diagnostic["path"]) == (1, "warning", "model.ipynb")
    assert "jupyter nbconvert --to script" in diagnostic["message"]
    assert run.lines("gate.py") == [("ONX101", 6)]


def test_a_path_that_does_not_exist_is_an_error() -> None:
    run = check("nope", "gate.py")
    (diagnostic,) = run.diagnostics
    assert (run.code, diagnostic["level"], diagnostic["path"]) == (2, "error", "nope")
    assert run.lines("gate.py") == [("ONX101", 6)]


def test_a_path_that_may_not_be_read_does_not_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may read everything, so the system's answer is given for it."""
    Path("secret.py").write_text(GATE)
    Path("locked").mkdir()
    access, opened, stat = os.access, os.open, os.stat

    def denied(path: Any, *more: Any, **named: Any) -> int:
        if str(path).endswith("secret.py"):
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *more, **named)

    monkeypatch.setattr(
        os, "access", lambda path, mode, **more: "secret" not in str(path) and access(path, mode, **more)
    )

    def shut(path: Any, *more: Any, **named: Any) -> os.stat_result:
        if f"{os.sep}locked{os.sep}" in str(path):
            raise PermissionError(13, "Permission denied", str(path))
        return stat(path, *more, **named)

    monkeypatch.setattr(os, "open", denied)
    monkeypatch.setattr(os, "stat", shut)
    done = CliRunner().invoke(
        main, ["check", "--static-only", "--output-format", "concise", "secret.py", "locked", "gate.py"]
    )
    assert done.exit_code == 2
    assert "Usage" not in done.output
    assert "gate.py:6:12: ONX101" in done.output


def test_an_unknown_rule_code_ends_the_run_with_the_nearest() -> None:
    run = check("--select", "ONX199")
    nearest = max(code for code in load_catalogue() if code.startswith("ONX1"))
    assert (run.code, run.out) == (2, "")
    assert f"no rule is called `ONX199`; did you mean `{nearest}`?" in run.err.replace("\n", " ")


def test_an_unknown_rule_in_the_file_is_reported_at_its_line() -> None:
    Path("onnxlint.toml").write_text('jobs = 1\nignore = [\n  "tensor-itration",\n]\n')
    run = check()
    (diagnostic,) = run.diagnostics
    assert (run.code, diagnostic["path"], diagnostic["line"]) == (2, "onnxlint.toml", 3)
    assert "did you mean `tensor-iteration`?" in diagnostic["message"]
    assert run.lines("gate.py") == [("ONX101", 6)]


def test_an_output_that_cannot_be_written_loses_no_report() -> None:
    run = check("--output-file", "gate.py/report.json")
    assert run.code == 2
    assert run.lines("gate.py") == [("ONX101", 6)]
    (message,) = run.err.splitlines()
    assert message.startswith("onnxlint: gate.py/report.json: the report cannot be written")


def test_text_output_carries_the_message_too() -> None:
    Path("bad.py").write_text("import torch\ndef f(:\n")
    run = check("--output-format", "full")
    assert run.code == 2
    assert "bad.py:2" in run.out
    assert "does not parse" in run.out
    assert "gate.py:6" in run.out


CASES = {
    "a module that is not there": ('factory = "modles:build"', ["modles"]),
    "a factory that is not there": ('factory = "models:biuld"\ninputs = "models:inputs"', ["biuld"]),
    "a factory that returns no module": ('factory = "models:number"\ninputs = "models:inputs"', ["int"]),
    "a factory that raises": ('factory = "models:fails"\ninputs = "models:inputs"', ["no weights here"]),
    "a factory that leaves": ('factory = "models:leaves"\ninputs = "models:inputs"', ["exit", "3"]),
    "inputs that are not there": ('factory = "models:build"\ninputs = "models:inptus"', ["inptus"]),
    "inputs that raise": ('factory = "models:build"\ninputs = "models:no_inputs"', ["tokenizer"]),
    "inputs that the model rejects": ('factory = "models:build"\ninputs = "models:wrong_inputs"', ["2x5"]),
}


@pytest.mark.slow
def test_a_model_that_cannot_be_probed_costs_its_own_probe_alone() -> None:
    """All the cases run at once: each is one entry with the reason and the remedy, and the good model is complete."""
    Path("models.py").write_text(MODELS)
    good = '[[models]]\nfactory = "models:build"\ninputs = { input = "float32[batch, 4]" }\n'
    Path("onnxlint.toml").write_text(good + "".join(f"[[models]]\n{text}\n" for text, _ in CASES.values()))
    run = check("--jobs", "2", static=False)
    assert run.code == 2
    first, *others = run.report["models"]
    assert (first["status"], first["reason"]) == ("probed", None)
    assert {name: result["outcome"] for name, result in first["exporters"].items()} == {
        "torchscript": "ok",
        "dynamo": "ok",
    }
    assert len(others) == len(CASES)
    for entry, (case, (_, words)) in zip(others, CASES.items(), strict=True):
        assert entry["status"] == "not-probed", case
        assert all(word in entry["reason"] for word in words), (case, entry["reason"])
        assert "\n" not in entry["reason"].strip(), (case, "the message is one line")
    assert ("ONX101", 6) in run.lines("gate.py")


@pytest.mark.slow
def test_proofs_that_cannot_be_kept_lose_no_run() -> None:
    Path("models.py").write_text(MODELS)
    Path("file").write_text("")
    Path("onnxlint.toml").write_text('[[models]]\nfactory = "models:build"\ninputs = "models:inputs"\n')
    run = check("--repro-dir", "file", static=False)
    assert run.code == 2
    (diagnostic,) = run.diagnostics
    assert (diagnostic["level"], diagnostic["path"]) == ("error", "file")
    assert "--repro-dir" in diagnostic["message"]
    assert [model["status"] for model in run.report["models"]] == ["probed"]
