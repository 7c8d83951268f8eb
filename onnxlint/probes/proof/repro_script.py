"""The proof: a counterexample as `inputs.npz` and a short script; of a live model, see `live_proof`."""

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from onnxlint.base.paths import make_untracked, remove_links
from onnxlint.base.probe_records import Probe
from onnxlint.probes.common.containers import fields_of
from onnxlint.probes.examples.factory_arguments import spell
from onnxlint.probes.exporters import Example, leaves
from onnxlint.probes.exporters.dynamo import call_form, dynamic_shapes
from onnxlint.probes.exporters.torchscript import arguments, inputs_and_axes
from onnxlint.probes.proof import live_proof
from onnxlint.probes.proof.counterexample import WHOLE, Counterexample, keep_script, session, template

ISSUE = "issue.md"  # beside a script, where others are at fault: see `issue`
_EXPORTED = '    "exported program": lambda: program.exported_program.module()(*args, **kwargs),\n'
_TRACED = '    "traced graph": lambda: torch.jit.trace(model, example, check_trace=False, strict=False)(*args),\n'
_REFERENCE = '__import__("onnx.reference").reference.ReferenceEvaluator(path)'
_EVALUATED = f'    "ONNX reference": lambda: {_REFERENCE}.run(None, feeds),'
_Arrays = dict[str, np.ndarray[Any, Any]]


class _Unwritable(Exception):
    """A value that has no spelling in a script."""


def write(probe: Probe, model: torch.nn.Module, example: Example, case: Counterexample, number: int) -> str | None:
    """Write script and inputs; return the script's path as records hold it, None where an input cannot be written."""
    folder = folder_of(probe, case.exporter, number)
    remove_links(folder)  # of the checked tree: they may lead anywhere
    (folder / ISSUE).unlink(missing_ok=True)  # of an earlier run, which may have found something else here
    if probe.live is not None and case.answered is not None:
        return live_proof.write_export(probe, case, case.answered, folder)
    arrays: _Arrays = {}
    try:
        if probe.live is not None:
            call = _call(model, example, case.exporter == "dynamo")
            return live_proof.write_model(probe, model, example, case, call, folder)
        text = _script(probe, model, example, case, arrays)
    except (TypeError, _Unwritable):  # inputs that forward does not take, or whose containers have no spelling
        return None
    make_untracked(folder)
    np.savez(folder / "inputs.npz", **arrays)  # type: ignore[arg-type]
    (folder / WHOLE).unlink(missing_ok=True)
    if case.whole is not None:
        arrays.clear()
        _spell((example.args, dict(example.kwargs)), "example", arrays)
        _spell((case.whole.args, dict(case.whole.kwargs)), "input", arrays)
        np.savez(folder / WHOLE, **arrays)  # type: ignore[arg-type]
    return keep_script(probe, folder, text)


def folder_of(probe: Probe, exporter: str, number: int) -> Path:
    """Where a counterexample is kept."""
    name = re.sub(r"[^\w.]+", "-", probe.name).strip("-")
    return Path(probe.repro_dir) / f"{name}-{exporter}-{number}"


def _script(probe: Probe, model: torch.nn.Module, example: Example, case: Counterexample, arrays: _Arrays) -> str:
    module, _, attribute = probe.factory.partition(":")
    places = [str(Path(place).resolve()) for place in probe.search_path or (probe.root,)]
    parts = {"module": module, "attribute": attribute, "arguments": spell(probe.arguments)}
    parts["whole"] = f" With `{WHOLE}`: on the input before it was made small." if case.whole else ""
    parts["preamble"] = f"\n{case.preamble}\n\n" if case.preamble else ""
    parts["mode"] = "model.eval()\n" if probe.eval else ""
    parts["example"] = _spell((example.args, dict(example.kwargs)), "example", arrays)
    parts["other"] = _spell((case.args, dict(case.kwargs)), "input", arrays)
    head = template("model_script_head").format(case=case, search_path=places, **parts)
    if case.exporter == "eager":
        return head + 'print("PyTorch accepts the input")\n'
    dynamo = case.exporter == "dynamo"
    parts = dict(zip(("packed", "options"), _call(model, example, dynamo), strict=True))
    parts["others"] = (_EXPORTED if dynamo else "" if example.kwargs else _TRACED) + _EVALUATED
    parts["leaves"] = _leaves(model, example, case, dynamo)
    # Lines that run PyTorch with what the conversions at the lines at fault gave on the example.
    parts["proof"] = template("model_script_held").format(held=dict(case.held), case=case) if case.held else ""
    parts["session"] = session(case.setup, template("model_onnxruntime"), template("model_openvino"))
    return head + template("model_script_tail").format(case=case, probe=probe, dynamo=dynamo, **parts)


def _call(model: torch.nn.Module, example: Example, dynamo: bool) -> tuple[str, str]:
    """How the exporter is passed the inputs, and its options."""
    if not dynamo:
        ends_in_dict = bool(example.args) and isinstance(example.args[-1], dict)
        inputs, axes = inputs_and_axes(model, example)
        packed = "(*example, example_kwargs)" if example.kwargs or ends_in_dict else "example"
        return packed, f"input_names={list(inputs)!r}, dynamic_axes={axes!r}"
    called = call_form(example)
    shapes = _spell(dynamic_shapes(model, called), "", {})
    if called is not example:
        kwargs = f"kwargs={{{example.parameters[len(called.args)]!r}: example[-1]}}, "
        return "example[:-1]", f"{kwargs}dynamic_shapes={shapes}"
    return "example", f"{'kwargs=example_kwargs, ' if example.kwargs else ''}dynamic_shapes={shapes}"


def _leaves(model: torch.nn.Module, example: Example, case: Counterexample, dynamo: bool) -> str:
    """A dict display: every graph input with the place of its value in `args` and `kwargs`, or its default."""
    places: dict[str, str] = {}
    for index, (name, value) in enumerate(example.called_with(case.args, case.kwargs).named()):
        base = f"args[{index}]" if index < len(case.args) else f"kwargs[{name!r}]"
        places |= {label: base + place for label, _, place in _walk(name, value)}
    if not dynamo:
        values, names = arguments(model, example)
        for name, value in zip(names, values, strict=True):
            places = {**{label: repr(leaf) for label, leaf, _ in _walk(name, value)}, **places}
    items = [f"{graph!r}: {places[leaf]}" for graph, leaf in case.inputs.items() if leaf in places]
    return "{" + ", ".join(items) + "}"


def _walk(name: str, value: Any) -> list[tuple[str, Any, str]]:
    """Every leaf with its label and its place below the argument, as Python spells it."""
    places = [pytree.keystr(path) for path, leaf in pytree.tree_flatten_with_path(value)[0] if leaf is not None]
    return [(*item, place) for item, place in zip(leaves([name], (value,), {}).items(), places, strict=True)]


def _spell(value: Any, name: str, arrays: _Arrays) -> str:
    """Python's spelling of a value; tensors go to `arrays`. Raises _Unwritable."""
    if isinstance(value, torch.Tensor):
        key = f"{name}_{len(arrays)}"
        plain = value.detach().cpu().resolve_conj().resolve_neg()
        arrays[key] = (plain.float() if plain.dtype == torch.bfloat16 else plain).contiguous().numpy()
        return f'tensor("{key}", {value.dtype})'
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if value is None or type(value) in (bool, int, float, str, complex):
        return repr(value)
    if value is torch.export.Dim.DYNAMIC:
        return "torch.export.Dim.DYNAMIC"
    if type(value) is dict:
        return "{" + ", ".join(f"{k!r}: {_spell(v, name, arrays)}" for k, v in value.items()) + "}"
    if type(value) in (list, tuple):
        inner = ", ".join(_spell(v, name, arrays) for v in value)
        return f"[{inner}]" if type(value) is list else f"({inner}{',' * (len(value) == 1)})"
    kind = type(value)
    if fields_of(kind) and "<" not in kind.__qualname__:
        fields = ", ".join(f"{field}={_spell(getattr(value, field), name, arrays)}" for field in fields_of(kind))
        return f'importlib.import_module("{kind.__module__}").{kind.__qualname__}({fields})'
    raise _Unwritable(kind.__qualname__)
