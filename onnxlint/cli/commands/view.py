"""`onnxlint view`: look at an exported graph in Netron, at the nodes of a line."""

import importlib.util
import json
import os
import re
import socket
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import click

from onnxlint.base.lifetimes import end_with, temporary_folder
from onnxlint.cli import FAILED
from onnxlint.cli.commands.repro import chosen, configured
from onnxlint.cli.output import tell

_LINE = re.compile(r".+:[1-9]\d*")
_NETRON = "Netron is not installed; pip install 'onnxlint[view]'"


@click.command("view")
@click.argument("target", metavar="MODEL")
@click.option("--line", "lines", multiple=True, metavar="FILE:LINE", help="Mark the nodes that this line produced.")
@click.option("--node", "nodes", multiple=True, metavar="NAME", help="Mark this node.")
@click.option("--whole", is_flag=True, help="Show the whole graph, not only the neighbourhood of the marked nodes.")
@click.option("--open/--no-open", "opened", default=True, help="Open a browser [yes].")
@click.option("--port", type=click.IntRange(1, 65535), help="Port for Netron [a free one].")
@click.option("--repro-dir", type=click.Path(path_type=Path), help="Directory of counterexamples [.onnxlint/repro].")
def command(
    target: str,
    lines: tuple[str, ...],
    nodes: tuple[str, ...],
    whole: bool,
    opened: bool,
    port: int | None,
    repro_dir: Path | None,
) -> int:
    """Show an exported graph in Netron, until Ctrl-C.

    MODEL is an ONNX file, or the ID of a counterexample (see `onnxlint repro`): that one is exported again, and the
    nodes of the finding's line are marked. With marked nodes, only what stands around them is shown. The lines of a
    file are known where dynamo exported it, or TorchScript with `verbose=True`.
    """
    wrong = next((line for line in lines if not _LINE.fullmatch(line)), None)
    if wrong is not None:
        raise click.BadParameter(f"`{wrong}` is not of the form FILE:LINE", param_hint="--line")
    if importlib.util.find_spec("netron") is None:
        raise click.UsageError(_NETRON)
    if port is not None and not _free(port):
        raise click.BadParameter(f"port {port} is in use", param_hint="--port")
    source, title, places = _target(target, repro_dir)
    if source.suffix == ".py":
        tell(f"onnxlint: exporting {title} again")
    with temporary_folder("onnxlint-view-") as folder:
        out = Path(folder) / f"{title}.onnx"
        made = _made(source, out, [*places, *lines], nodes, whole)
        if "fault" in made:
            tell(f"onnxlint: {made['fault']}")
            return FAILED
        marked = made["nodes"]
        if (places or lines or nodes) and not marked:
            tell("onnxlint: no node of the graph names that line (a constant leaves none), so all of it is shown")
        elif marked:
            more = f", {made['shown']} of {made['all']} nodes are shown" if made["shown"] < made["all"] else ""
            tell(f"onnxlint: {len(marked)} node{'s' * (len(marked) > 1)} marked{more}: {'; '.join(marked[:5])}")
        import netron

        netron.start(str(out), address=("localhost", port), browse=opened)
        netron.wait()
    return 0


def _free(port: int) -> bool:
    with socket.socket() as probe:
        # As Netron does: a server that just ended is no hindrance.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("localhost", port))
        except OSError:
            return False
    return True


def _target(target: str, repro_dir: Path | None) -> tuple[Path, str, tuple[str, ...]]:
    if target.endswith(".onnx") or Path(target).is_file():
        if not Path(target).is_file():
            raise click.BadParameter(f"there is no file `{target}`", param_hint="MODEL")
        return Path(target), Path(target).stem, ()
    folder = (repro_dir or configured((None, ()), False)).absolute()
    one = chosen(target, folder, "file and no counterexample", "MODEL")[0]
    return min(one.script.parent.glob("*.onnx"), default=one.script), one.name, one.places


def _made(source: Path, out: Path, places: list[str], nodes: tuple[str, ...], whole: bool) -> dict[str, Any]:
    """Have the graph prepared by a process that has torch and onnx."""
    # -P: nothing is imported from where we are.
    command = [sys.executable, "-P", "-m", "onnxlint.probes.proof.graph_view", str(source), str(out)]
    command += ["--whole"] if whole else []
    command += [part for place in places for part in ("--place", place)]
    command += [part for node in nodes for part in ("--node", node)]
    bind = partial(end_with, os.getpid())
    done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=bind)
    try:
        made = json.loads(done.stdout.strip().splitlines()[-1])
    except (IndexError, ValueError):
        last = [f"exit code {done.returncode}", *done.stderr.strip().splitlines()][-1]
        return {"fault": f"{source} cannot be shown: {last}"}
    return dict(made)
