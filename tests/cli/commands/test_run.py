"""`onnxlint run`: real scripts that export, with and without onnxlint."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytestmark = pytest.mark.slow

NETS = """\
import torch


class Gate(torch.nn.Module):
    open = True

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x):
        y = self.linear(x)
        if self.open and y.sum() > 0:  # the gate
            return y * 2
        return y - 1


class Good(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x, scale):
        return self.linear(x).relu() * scale
"""
GATE = next(number for number, line in enumerate(NETS.splitlines(), 1) if line.endswith("# the gate"))
HELPER = """\
from torch.onnx import export as onnx_export


def save(model, args, path, **options):
    onnx_export(model, args, path, **options)
"""
SCRIPT = """\
import argparse, os, sys
import torch
from helper import save
from nets import Gate, Good

parser = argparse.ArgumentParser()
parser.add_argument("--out", required=True)
out = parser.parse_args().out
torch.manual_seed(0)
gate, good = Gate().eval(), Good().eval()
x = torch.ones(2, 3)
save(gate, (x,), f"{out}/gate.onnx", dynamo=False, verbose=True, input_names=["in"], dynamic_axes={"in": {0: "n"}})
gate.open = False
batch = torch.export.Dim("batch", min=2, max=9)
torch.onnx.export(
    good, (x, {"scale": torch.ones(3)}), f"{out}/good.onnx", dynamo=True, verbose=False, opset_version=20,
    dynamic_shapes={"x": {0: batch}, "scale": None},
)
print("read", sys.stdin.read(), "as", __name__, sys.argv[0], sys.path[0], file=sys.stderr)
print(sorted(name for name in os.environ if "ONNXLINT" in name), os.environ.get("PYTHONPATH"), file=sys.stderr)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "nets.py").write_text(NETS)
    (tmp_path / "helper.py").write_text(HELPER)
    (tmp_path / "ex.py").write_text(SCRIPT)
    for name in ("with", "without"):
        (tmp_path / name).mkdir()
    return tmp_path


def python(*arguments: str, cwd: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ONNXLINT")}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env=environment,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def run(*arguments: str, cwd: Path, stdin: str = "") -> tuple[int, dict[str, Any], str]:
    """Exit code, JSON report and standard error."""
    done = python("-m", "onnxlint", "run", "--output-format", "json", *arguments, cwd=cwd, stdin=stdin)
    assert done.stdout.startswith("{"), done.stdout + done.stderr
    return done.returncode, json.loads(done.stdout), done.stderr


def outcomes(report: dict[str, Any]) -> dict[str, dict[str, str]]:
    return {
        model["name"]: {name: cell["outcome"] for name, cell in model["exporters"].items()}
        for model in report["models"]
    }


def errors(report: dict[str, Any]) -> str:
    return "\n".join(d["message"] for d in report["diagnostics"] if d["level"] == "error")


def test_a_script_is_checked_as_written_and_writes_the_same_bytes(project: Path) -> None:
    plain = python("ex.py", "--out", "without", cwd=project, stdin="words")
    assert plain.returncode == 0, plain.stderr
    code, report, told = run("ex.py", "--out", "with", cwd=project, stdin="words")
    for name in ("gate.onnx", "good.onnx"):
        assert (project / "with" / name).read_bytes() == (project / "without" / name).read_bytes(), name
    assert [line for line in told.splitlines() if line in plain.stderr.splitlines()[-2:]] == (
        plain.stderr.splitlines()[-2:]
    ), "arguments, input, path and environment are what they are without onnxlint"
    assert outcomes(report) == {"nets:Gate": {"torchscript": "wrong-values"}, "nets:Good": {"dynamo": "ok"}}
    confirmed = [(f["code"], f["path"], f["line"]) for f in report["findings"] if f["verdict"] == "confirmed"]
    assert confirmed == [("ONX101", "nets.py", GATE)], "the model was captured while its gate was open"
    assert errors(report) == ""
    assert report["summary"]["files"] == 3
    assert code == 1


def test_a_script_that_fails_still_gets_its_report(project: Path) -> None:
    (project / "ex.py").write_text(
        "import torch\nfrom nets import Good\n"
        "torch.onnx.export(Good().eval(), (torch.ones(2, 3), torch.ones(3)), 'good.onnx', dynamo=False)\n"
        "raise SystemExit(7)\n"
    )
    code, report, _ = run("ex.py", cwd=project)
    assert (code, outcomes(report)) == (2, {"nets:Good": {"torchscript": "ok"}})
    assert "ended with exit status 7" in errors(report)
    text = (project / "ex.py").read_text().replace("raise SystemExit(7)", "import os; os.kill(os.getpid(), 11)")
    (project / "ex.py").write_text(text)
    code, report, _ = run("ex.py", cwd=project)
    assert (code, outcomes(report)) == (2, {"nets:Good": {"torchscript": "ok"}})
    assert "killed by SIGSEGV" in errors(report)
    assert report["summary"]["files"] == 2, "the snapshot told of the files"


def test_a_model_that_hangs_on_another_input_is_ended(project: Path) -> None:
    (project / "ex.py").write_text(
        "import torch\n\n\nclass Grow(torch.nn.Module):\n    def forward(self, x):\n"
        "        while x.abs().sum() < 10:\n            x = x * 2\n        return x\n\n\n"
        "torch.onnx.export(Grow().eval(), (torch.ones(2, 3),), 'grow.onnx', dynamo=False)\n"
    )
    code, report, _ = run("--timeout", "10", "ex.py", cwd=project)
    assert code in (1, 2)
    assert outcomes(report) == {"ex:Grow": {"torchscript": "timeout"}}
    assert (project / "grow.onnx").exists()


def test_a_module_is_run_and_torch_export_is_captured(project: Path) -> None:
    (project / "pack").mkdir()
    (project / "pack" / "__init__.py").write_text("")
    (project / "pack" / "job.py").write_text(
        "import sys\nimport torch\nfrom nets import Gate\n\n"
        "if __name__ == '__main__':\n"
        "    try:\n"
        "        torch.export.export(Gate().eval(), (torch.ones(int(sys.argv[1]), 3),))\n"
        "    except Exception as error:\n"
        "        print(type(error).__name__)\n"
    )
    code, report, told = run("-m", "pack.job", "2", cwd=project)
    assert code == 1
    assert outcomes(report) == {"nets:Gate": {"dynamo": "export-error"}}
    (script,) = {e["repro"] for f in report["findings"] for e in f["evidence"]}
    again = python(script, cwd=project)
    assert again.returncode == 1
    assert "dynamo refused: GuardOnDataDependentSymNode" in again.stderr
    assert "GuardOnDataDependentSymNode" in told, "the script goes on"


PROGRAMS = """\
import torch
from torch.export import Dim, export
from nets import Long

args, shapes = (torch.ones(2, 3, 3),), {"x": {0: Dim.AUTO, 1: Dim.AUTO}}
first, second = Long(4).eval(), Long(1000).eval()
programs = [export(model, args, dynamic_shapes=shapes) for model in (first, second)]
torch.onnx.export(programs[0].run_decompositions(), f="first.onnx", verbose=False)
torch.onnx.export(programs[1], f="second.onnx", verbose=False)
torch.export.save(programs[0], "first.pt2")
torch.onnx.export(torch.export.load("first.pt2"), f="loaded.onnx", verbose=False)
"""
LONG = """

class Long(torch.nn.Module):
    def __init__(self, most):
        super().__init__()
        self.linear, self.most = torch.nn.Linear(3, 3), most

    def forward(self, x):
        x = self.linear(x)
        if x.shape[1] > self.most:  # long
            return x * 2
        return x
"""


def test_a_program_is_checked_against_the_model_that_it_was_made_of(project: Path) -> None:
    (project / "nets.py").write_text(NETS + LONG)
    (project / "ex.py").write_text(PROGRAMS)
    code, report, _ = run("ex.py", cwd=project)
    assert outcomes(report) == {
        "nets:Long (ex.py:8)": {"dynamo": "wrong-values"},
        "nets:Long (ex.py:9)": {"dynamo": "ok"},  # no size that is tried is as long
        "nets:Long (ex.py:11)": {"dynamo": "ok"},  # nothing of the model is left but what the program computes
    }
    line = next(number for number, line in enumerate((NETS + LONG).splitlines(), 1) if line.endswith("# long"))
    confirmed = {(f["code"], f["path"], f["line"]) for f in report["findings"] if f["verdict"] == "confirmed"}
    assert confirmed == {("ONX106", "nets.py", line)}
    assert errors(report) == ""
    assert code == 1


CHILDREN = """\
import multiprocessing, os, subprocess, sys
from one import save

if __name__ == "__main__":
    subprocess.run([sys.executable, "one.py"], check=True)
    subprocess.run([sys.executable, "../one.py"], check=True, cwd="with", env={**os.environ, "PYTHONPATH": os.getcwd()})
    for kind in ("spawn", "fork"):
        child = multiprocessing.get_context(kind).Process(target=save)
        child.start()
        child.join()
    print(sorted(name for name in os.environ if "ONNXLINT" in name), os.environ.get("PYTHONPATH"), file=sys.stderr)
"""
ONE = """\
import os, sys
import torch
from nets import Good

def save():
    torch.onnx.export(Good().eval(), (torch.ones(2, 3), torch.ones(3)), f"{os.getpid()}.onnx", dynamo=False)

if __name__ == "__main__":
    save()
    print(sorted(name for name in os.environ if "ONNXLINT" in name), os.environ.get("PYTHONPATH"), file=sys.stderr)
"""


def test_what_processes_of_the_script_export_is_checked_too(project: Path) -> None:
    (project / "one.py").write_text(ONE)
    (project / "ex.py").write_text(CHILDREN)
    _, report, told = run("ex.py", cwd=project)
    at = "nets:Good (one.py:6)"
    assert outcomes(report) == {name: {"torchscript": "ok"} for name in (at, f"{at} #2", f"{at} #3", f"{at} #4")}
    assert errors(report) == ""
    seen = [line for line in told.splitlines() if line.startswith("[")]
    unchanged = f"[] {os.environ.get('PYTHONPATH')}"
    assert seen == [unchanged, f"[] {project}", unchanged], "the environment is what it is without onnxlint"


def test_a_traced_model_is_checked_and_each_exporter_may_have_its_own_call(project: Path) -> None:
    (project / "nets.py").write_text("import torch\n" + LONG.replace("x.shape[1]", "len(x.shape)"))
    (project / "ex.py").write_text(
        "import torch\nfrom nets import Long\nlong, x = Long(4).eval(), torch.ones(2, 3, 3)\n"
        "traced = torch.jit.trace(torch.nn.Sequential(long, torch.nn.Linear(3, 3)).eval(), x)\n"
        "torch.onnx.export(traced, (x,), 'a.onnx', dynamo=False, input_names=['x'], dynamic_axes={'x': {0: 'n'}})\n"
        "torch.onnx.export(long, (x,), 'b.onnx', dynamo=False, input_names=['x'], dynamic_axes={'x': {0: 'n'}})\n"
        "torch.onnx.export(long, (x,), 'c.onnx', verbose=False, dynamic_shapes={'x': {0: 'n'}})\n"
    )
    code, report, _ = run("ex.py", cwd=project)
    assert outcomes(report) == {
        "torch.jit:Sequential": {"torchscript": "ok"},
        "nets:Long (ex.py:6)": {"torchscript": "ok"},
        "nets:Long (ex.py:7)": {"dynamo": "ok"},
    }
    assert code == 0, report["findings"]


def test_a_script_without_an_export_and_one_that_is_not_there_are_told(project: Path) -> None:
    (project / "ex.py").write_text("import torch\n")
    code, report, _ = run("ex.py", cwd=project)
    assert code == 2
    assert "no call of torch.onnx.export" in errors(report)
    done = python("-m", "onnxlint", "run", "nothing.py", cwd=project)
    assert done.returncode == 2
    assert "there is no file `nothing.py`" in done.stderr


def test_what_the_script_prints_comes_before_the_report(project: Path) -> None:
    (project / "ex.py").write_text(
        "import torch\nfrom nets import Good\nprint('hello')\n"
        "torch.onnx.export(Good(), (torch.ones(2, 3), torch.ones(3)), 'good.onnx', dynamo=False)\n"
    )
    done = python("-m", "onnxlint", "run", "ex.py", cwd=project)
    assert done.stdout.startswith("hello\n")
    assert "nets:Good" in done.stdout


def test_two_exports_of_one_class_are_told_apart_by_their_lines(project: Path) -> None:
    (project / "ex.py").write_text(
        "import torch\nfrom nets import Good\n"
        "for _ in range(2):\n"
        "    torch.onnx.export(Good(), (torch.ones(2, 3), torch.ones(3)), 'good.onnx', dynamo=False)\n"
        "torch.onnx.export(Good(), (torch.ones(4, 3), torch.ones(3)), 'good.onnx', dynamo=False)\n"
    )
    _, report, _ = run("ex.py", cwd=project)
    assert list(outcomes(report)) == ["nets:Good (ex.py:4)", "nets:Good (ex.py:4) #2", "nets:Good (ex.py:5)"]


def interrupt(project: Path, marker: str, *, alone: bool = False) -> tuple[int, str, str]:
    """Run the script; Ctrl-C once it has written a file: exit code, and both outputs.

    `alone`: onnxlint gets it, and the script does not.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "onnxlint", "run", "--output-format", "json", "ex.py"],
        cwd=project,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        until = time.monotonic() + 120
        while not (project / marker).exists():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < until
            time.sleep(0.05)
        if alone:
            process.send_signal(signal.SIGINT)
        else:
            os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        said, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    return process.returncode, said, errors


@pytest.mark.parametrize("alone", [False, True])
def test_control_c_in_the_script_tells_what_was_not_checked(project: Path, alone: bool) -> None:
    (project / "ex.py").write_text(
        "import pathlib, time, torch\nfrom nets import Good\n"
        "torch.onnx.export(Good(), (torch.ones(2, 3), torch.ones(3)), 'good.onnx', dynamo=False)\n"
        "pathlib.Path('done').touch()\ntime.sleep(1000)\n"
    )
    code, said, errors = interrupt(project, "done", alone=alone)
    assert (code, said) == (130, "")
    assert errors.splitlines()[-1] == (
        "onnxlint: interrupted; the script had exported nets:Good at ex.py:3 by then, and nothing of it was checked"
    )


def test_a_program_that_catches_the_control_c_that_is_passed_on_is_checked(project: Path) -> None:
    (project / "ex.py").write_text(
        "import pathlib, time, torch\nfrom nets import Good\ntry:\n    pathlib.Path('done').touch()\n"
        "    time.sleep(1000)\nexcept KeyboardInterrupt:\n"
        "    torch.onnx.export(Good(), (torch.ones(2, 3), torch.ones(3)), 'good.onnx', dynamo=False)\n"
    )
    code, said, errors = interrupt(project, "done", alone=True)
    assert code == 1, errors  # for what the static pass has to say of the call
    assert [model["name"] for model in json.loads(said)["models"]] == ["nets:Good"]


def test_control_c_in_a_probe_leaves_the_report_of_what_is_known(project: Path) -> None:
    (project / "ex.py").write_text(
        "import os, pathlib, time\nimport torch\n\n\nclass Slow(torch.nn.Module):\n    def forward(self, x):\n"
        "        if os.getpid() != SCRIPT:\n            pathlib.Path('probing').touch()\n            time.sleep(1000)\n"
        "        return x + 1\n\n\nSCRIPT = os.getpid()\n"
        "torch.onnx.export(Slow().eval(), (torch.ones(2, 3),), 'slow.onnx', dynamo=False)\n"
    )
    code, said, errors = interrupt(project, "probing")
    assert code == 130, errors
    assert [model["name"] for model in json.loads(said)["models"]] == ["ex:Slow"]
    assert errors.splitlines()[-1] == "onnxlint: interrupted; the report says what was known by then"


def test_counterexamples_that_cannot_be_kept_where_they_should_be_are_elsewhere(project: Path) -> None:
    (project / ".onnxlint").write_text("a file stands in the way")
    code, report, _ = run("ex.py", "--out", "with", cwd=project)
    assert outcomes(report)["nets:Gate"] == {"torchscript": "wrong-values"}
    assert ".onnxlint is not a folder; they are in" in errors(report)
    assert code == 2


SILENT = """

class Pinned(torch.nn.Module):
    def forward(self, x):
        rows = int(x.shape[0])  # pinned
        return x.reshape(rows, -1) * 2


class Equal(torch.nn.Module):
    def forward(self, x):
        if x.shape[0] == 2:  # equal
            return x * 2
        return x * 3
"""


def test_a_range_that_automatic_dims_tighten_without_a_word_is_told_with_its_line(project: Path) -> None:
    """The graph's input still says that the axis is dynamic, and no check in the graph says otherwise."""
    (project / "nets.py").write_text(NETS + SILENT)
    (project / "ex.py").write_text(
        "import torch\nfrom torch.export import Dim\nfrom nets import Equal, Pinned\n"
        "for model in (Pinned(), Equal()):\n"
        "    torch.onnx.export(model.eval(), (torch.ones(2, 3, 3),), 'm.onnx', dynamo=True, verbose=False,\n"
        "        dynamic_shapes={'x': {0: Dim.AUTO}})\n"
    )
    _, report, _ = run("ex.py", cwd=project)
    assert outcomes(report) == {"nets:Pinned": {"dynamo": "shape-error"}, "nets:Equal": {"dynamo": "wrong-values"}}
    text = (NETS + SILENT).splitlines()
    marked = {("nets.py", n) for n, line in enumerate(text, 1) if line.endswith(("# pinned", "# equal"))}
    told = {(f["path"], f["line"]): f["evidence"] for f in report["findings"] if f["verdict"] == "confirmed"}
    assert told.keys() == marked
    assert all({e["cause"] for e in evidence} == {"guard"} for evidence in told.values())
