"""A report to paste into the tracker of the project that is at fault: what was seen, with what, and how to see it."""

import inspect
import platform
from collections.abc import Mapping
from pathlib import Path

import onnx
import onnxruntime
import torch

from onnxlint.base.probe_records import Probe
from onnxlint.base.records import Fault, Sides
from onnxlint.probes.common.userspace import relative
from onnxlint.probes.proof.counterexample import Counterexample, template
from onnxlint.probes.proof.repro_script import ISSUE

UPSTREAM = frozenset({Fault.EXPORTER, Fault.RUNTIME, Fault.OPTIMIZER})
_LONGEST = 150  # lines of the model's class that are put into it


def write_issue(
    probe: Probe, model: torch.nn.Module, case: Counterexample, sides: Sides, script: str, versions: Mapping[str, str]
) -> str:
    """Write the report beside the script, and return its path as records hold it."""
    path = Path(probe.root, script).with_name(ISSUE)
    title = {
        Fault.EXPORTER: f"The {case.exporter} ONNX exporter writes a graph that differs from the model",
        Fault.OPTIMIZER: "Graph optimizations change the result of a model",
    }.get(sides.fault, "A valid ONNX model gives another result than ONNX's reference and PyTorch")
    ours = {"torch": torch.__version__, "onnx": onnx.__version__, "onnxruntime": onnxruntime.__version__, **versions}
    ours |= {"Python": platform.python_version(), "on": platform.platform()}
    parts = {"claim": case.claim, "advice": sides.advice[:1].upper() + sides.advice[1:], "model": _source(model)}
    parts["rows"] = "\n".join(f"| {side} | {answer} |" for side, answer in _rows(sides))
    parts["versions"] = "\n".join(f"- {name} {version}" for name, version in ours.items())
    parts["script"] = Path(probe.root, script).read_text(encoding="utf-8").rstrip()
    path.write_text(template("issue").format(title=title, **parts), encoding="utf-8")
    return relative(str(path), probe.root)


def _rows(sides: Sides) -> list[tuple[str, str]]:
    rows = [(side, "the answer of PyTorch") for side in sides.groups[0]]
    for number, group in enumerate(sides.groups[1:], 1):
        rows += [(side, "another answer" if number == 1 else f"another answer ({number})") for side in group]
    rows += [(side, f"refuses: {message}") for side, message in sides.refused.items()]
    rows += [(side, f"not known: {reason}") for side, reason in sides.unknown.items()]
    return [(side, answer.replace("|", "\\|")) for side, answer in rows]


def _source(model: torch.nn.Module) -> str:
    """The class of the model, where it is short enough to be read."""
    try:
        source = inspect.getsource(type(model)).rstrip()
    except (OSError, TypeError):
        return ""
    return f"\nThe model:\n\n```python\n{source}\n```\n" if source.count("\n") < _LONGEST else ""
