"""`onnxlint view`, in the real Netron: which nodes are marked, and how much of the graph is shown."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

pytest.importorskip("netron")
onnx = pytest.importorskip("onnx")
pytest.importorskip("torch")

from onnxlint.probes.proof.graph_view import MARK  # noqa: E402 - after what it needs

pytestmark = pytest.mark.slow
CHAIN = """
import torch
from torch import nn

class Chain(nn.Module):
    def forward(self, x):
        for _ in range(6):
            x = torch.sin(x)
        x = torch.relu(x)  # here
        for _ in range(6):
            x = torch.cos(x)
        return x.sum(1) / float(x.shape[1])
"""
LINE = 9


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a file that dynamo exported."""
    made = tmp_path_factory.mktemp("view")
    (made / "chain.py").write_text(CHAIN)
    export = "import torch, chain; torch.onnx.export(chain.Chain(), (torch.rand(2, 5),), 'chain.onnx', dynamo=True)"
    subprocess.run([sys.executable, "-c", export], cwd=made, check=True, capture_output=True)
    return made


def view(folder: Path, *arguments: str) -> tuple[str, dict[str, list[str]]]:
    """What is told, and the nodes of the file that Netron serves, by the kind of operator."""
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "onnxlint", "view", *arguments, "--no-open", "--port", str(port)]
    running = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        for _ in range(600):
            assert running.poll() is None, running.communicate()
            try:
                page = urllib.request.urlopen(f"http://localhost:{port}/", timeout=5).read().decode()
                break
            except OSError:
                time.sleep(0.1)
        file = re.search(r'content="(/data/[^"]+)"', page)
        assert file is not None
        served = onnx.load_from_string(urllib.request.urlopen(f"http://localhost:{port}{file[1]}", timeout=5).read())
    finally:
        running.send_signal(signal.SIGINT)
        _, told = running.communicate(timeout=30)
    nodes: dict[str, list[str]] = {}
    for node in served.graph.node:
        nodes.setdefault(node.op_type, []).append(node.name)
    return told, nodes


def test_netron_shows_the_nodes_of_a_line(folder: Path) -> None:
    told, nodes = view(folder, "chain.onnx", "--line", f"./chain.py:{LINE}")
    assert "1 node marked, 7 of " in told
    assert nodes["Relu"][0].startswith(MARK)
    assert (len(nodes["Sin"]), len(nodes["Cos"])) == (3, 3)
    _, nodes = view(folder, "chain.onnx", "--line", f"{folder}/chain.py:{LINE}", "--whole")
    assert len(nodes["Sin"]) == 6


def test_a_counterexample_is_exported_again_with_the_lines_of_its_nodes(folder: Path) -> None:
    model = '[[models]]\nfactory = "chain:Chain"\ninputs = { x = "float32[batch, length=5]" }\n'
    (folder / "onnxlint.toml").write_text(f'exporters = ["torchscript"]\n{model}')
    check = [sys.executable, "-m", "onnxlint", "check", "--output-format", "json", "."]
    report = json.loads(subprocess.run(check, cwd=folder, capture_output=True, text=True, check=False).stdout)
    (evidence,) = [e for f in report["findings"] for e in f["evidence"] if e["repro"]]
    told, nodes = view(folder, Path(evidence["repro"]).parent.name)
    assert re.match("onnxlint: exporting .* again\n.* marked", told)
    assert any(name.startswith(f"{MARK}chain.py:12 ") for names in nodes.values() for name in names)


def test_an_export_script_in_another_folder_leaves_no_file_there(folder: Path) -> None:
    script = folder / "scripts" / "export.py"
    script.parent.mkdir()
    script.write_text(
        "import io, sys, torch\nsys.path.insert(0, '.')\nimport chain\n"
        "torch.onnx.export(chain.Chain(), (torch.rand(2, 5),), io.BytesIO(), dynamo=True)\n"
    )
    _, nodes = view(folder, str(script), "--whole")
    assert len(nodes["Sin"]) == 6
    assert [file.name for file in script.parent.iterdir() if file.is_file()] == ["export.py"]


def test_a_port_that_is_taken_is_no_internal_error(folder: Path) -> None:
    with socket.socket() as other:
        other.bind(("localhost", 0))
        other.listen()
        port = other.getsockname()[1]
        command = [sys.executable, "-m", "onnxlint", "view", "chain.onnx", "--no-open", "--port", str(port)]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"port {port} is in use" in done.stderr
    assert "internal error" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("nothing",), "there is no file and no counterexample `nothing`"),
        (("gone.onnx",), "there is no file `gone.onnx`"),
        (("chain.onnx", "--line", "chain.py"), "`chain.py` is not of the form FILE:LINE"),
        (("chain.py",), "exports no file"),
    ],
)
def test_what_cannot_be_shown_is_told_in_a_line(folder: Path, arguments: tuple[str, ...], told: str) -> None:
    command = [sys.executable, "-m", "onnxlint", "view", *arguments, "--no-open"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr
