"""What listens for exports in a user's process: that it hears them, and that the process stays as it is."""

from __future__ import annotations

import ast
import os
import socket
import subprocess
import sys
import traceback
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from onnxlint.probes.live import capture
from onnxlint.probes.live.script import Ran, run_program
from onnxlint.probes.process import wire

pytest.importorskip("torch")
import torch.onnx

EXPORTER = '''\
"""An exporter."""
def export(model, args):
    """Documented."""
    raise ValueError(model)


def other(model):
    return model


def draft_export(model): return [model]
'''


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[ModuleType, list[Any]]:
    """A module with our statement in it, and what that has noticed."""
    noticed: list[Any] = []
    monkeypatch.setattr(capture, "notice", lambda *call: noticed.append(call))
    (tmp_path / "exporter.py").write_text(EXPORTER)
    loader = capture._Loader("exporter", str(tmp_path / "exporter.py"))
    spec = spec_from_loader("exporter", loader)
    assert spec is not None
    loaded = module_from_spec(spec)
    loader.exec_module(loaded)
    return loaded, noticed


def test_an_exporter_tells_of_its_calls_and_of_nothing_else(module: tuple[ModuleType, list[Any]]) -> None:
    loaded, noticed = module
    assert loaded.other(1) == 1
    assert noticed == []
    assert loaded.draft_export(2) == [2]
    with pytest.raises(ValueError, match="3"):
        loaded.export(3, args=4)
    assert noticed == [
        ("exporter", "draft_export", {"model": 2}),
        ("exporter", "export", {"model": 3, "args": 4}),
    ]


def test_an_exporter_keeps_its_lines_its_words_and_its_folder(
    module: tuple[ModuleType, list[Any]], tmp_path: Path
) -> None:
    loaded, _ = module
    assert (loaded.__doc__, loaded.export.__doc__) == ("An exporter.", "Documented.")
    with pytest.raises(ValueError, match="3") as raised:
        loaded.export(3, 4)
    (_, frame) = traceback.extract_tb(raised.tb)
    assert (frame.lineno, frame.line, frame.name) == (4, "raise ValueError(model)", "export")
    assert os.listdir(tmp_path) == ["exporter.py"], "no compiled code with our statement is left"


def test_python_that_is_watched_finds_our_folder_first_and_the_path_of_before_in_its_place() -> None:
    found = capture.variables("/tmp/calls", "/home/me", "/a:/b")
    assert found["PYTHONPATH"] == f"{capture.HOOK}:/a:/b"
    assert (found[capture.CHANNEL], found["ONNXLINT_ROOT"]) == ("/tmp/calls", "/home/me")
    assert found["ONNXLINT_PYTHONPATH"] == "/a:/b"
    assert capture.variables("", "", "")["PYTHONPATH"] == capture.HOOK, "an empty part would be the working directory"


CHILDREN = """\
import os, sys
from onnxlint.probes.live import capture
before, finders = dict(os.environ), len(sys.meta_path)
capture.listen(sys.argv[1], os.getcwd())
import subprocess
see = "import sys; print('onnxlint.probes.live.capture' in sys.modules, flush=True)"
def child(environment):
    subprocess.run([sys.executable, "-c", see], env=environment, check=True)
child(None)
child({"PATH": os.environ["PATH"]})
child({**os.environ, "PYTHONPATH": "/elsewhere"})
child({**os.environ, "ONNXLINT_CHANNEL": "another's"})
os.system(f'{sys.executable} -c "{see}"')
assert dict(os.environ) == before
print(len(sys.meta_path) - finders)
"""


def run_children(address: Path, folder: Path) -> list[str]:
    (folder / "mine.py").write_text(CHILDREN)
    root = str(Path(capture.__file__).parents[3])
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ONNXLINT_")}
    done = subprocess.run(
        [sys.executable, "mine.py", str(address)],
        cwd=folder,
        env={**environment, "PYTHONPATH": root},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


def test_processes_that_the_program_starts_are_watched_unless_another_does_and_all_tell_their_files(
    tmp_path: Path,
) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "calls"))
        listener.listen()
        listener.settimeout(60)
        assert run_children(tmp_path / "calls", tmp_path) == ["True", "True", "True", "False", "True", "1"]
        told = []
        for _ in range(5):
            with listener.accept()[0] as channel:
                assert channel.recv(1) == capture.FILES
                told.append(wire.read_message(channel.fileno())["files"])
    assert [files for files in told if files] == [[str(tmp_path / "mine.py")]]


def test_where_nobody_listens_nothing_is_changed(tmp_path: Path) -> None:
    assert run_children(tmp_path / "nobody", tmp_path) == ["False"] * 5 + ["0"]


def exported(module: str = "torch.onnx", **arguments: Any) -> dict[str, Any]:
    return capture._read(module, {"model": 1, "mod": 1, "args": (), **arguments})


def test_what_a_call_says_is_read_by_the_exporter_that_it_is_for() -> None:
    script, dynamo, program = exported(dynamo=False), exported(dynamo=True), exported("torch.export", kwargs={"y": 2})
    assert [call["exporters"] for call in (script, dynamo, program)] == [("torchscript",), ("dynamo",), ("dynamo",)]
    assert exported(torch.onnx.utils.export.__module__, dynamo=True)["exporters"] == ("torchscript",)
    shapes = {"dynamic_shapes": {"x": {0: "n"}}, "dynamic_axes": {"x": [0]}, "input_names": ["x"]}
    assert exported(dynamo=False, **shapes)["dynamic_shapes"] is None
    assert exported(dynamo=True, **shapes)["dynamic_shapes"] == {"x": {0: "n"}}
    assert exported(dynamo=False, **shapes)["input_names"] == ("x",)
    assert (program["kwargs"], "onnx" in program) == ({"y": 2}, False)
    assert exported(opset_version=11)["opset"] == 11
    assert script["opset"] == torch.onnx._constants.ONNX_DEFAULT_OPSET


def test_options_that_are_the_defaults_are_not_handed_on() -> None:
    options = exported(dynamo=False, export_params=True, do_constant_folding=False, custom_opsets=None)["options"]
    assert options == {"do_constant_folding": False}
    assert exported(dynamo=True, optimize=False, do_constant_folding=False)["options"] == {"optimize": False}


SCRIPT = """\
import torch
from torch.export import Dim

class Net(torch.nn.Module):
    def forward(self, x):
        return x * 2

net, x = Net(), torch.ones(2, 3)
torch.onnx.export(net, (x,), "a.onnx", dynamo=True, verbose=False)
program = torch.export.export(net, (x,), dynamic_shapes=({0: Dim("n")},))
torch.onnx.export(program, f="b.onnx", verbose=False)
try:
    torch.onnx.export(net, (x,), "c.onnx", kwargs=3, dynamo=False)
except Exception:
    print("the program's own error")
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    folder = tmp_path_factory.mktemp("captured")
    (folder / "ex.py").write_text(SCRIPT)
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        ran = run_program(["ex.py"], stdout=subprocess.DEVNULL)
    yield ran
    for snapshot in ran.snapshots:
        snapshot.close()


@pytest.mark.slow
def test_an_export_counts_once_and_a_program_goes_on_with_the_call_that_it_was_made_by(ran: Ran) -> None:
    assert ran.status == 0
    calls = [snapshot.capture for snapshot in ran.snapshots]
    lines = [number for number, line in enumerate(SCRIPT.splitlines(), 1) if "export(" in line]
    assert [(call.path, call.line, call.name) for call in calls] == [("ex.py", line, "ex:Net") for line in lines[:3]]
    assert all(ast.literal_eval(call.number) for call in calls)
    assert [call.replaces for call in calls] == ["", "", calls[1].number]
    assert [call.reason for call in calls] == [None] * 3


@pytest.mark.slow
def test_a_call_that_cannot_be_read_is_told_and_the_program_goes_on(ran: Ran) -> None:
    assert ran.faults == ["a call of torch.onnx.export could not be captured: TypeError: 'int' object is not iterable"]
    assert "ex.py" in map(os.path.basename, ran.files), "the program's files are told at its end"
