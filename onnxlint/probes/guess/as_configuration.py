"""What was assumed of a model, as the configuration that would declare it, with comments to check it by."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from onnxlint.base.records import Assumed
from onnxlint.probes.common.nested import nested
from onnxlint.probes.guess.axes import Shaped


def configuration(factory: str, assumed: Assumed) -> str:
    """The lines that declare all this."""
    lines = [f"# {note}" for note in assumed.notes]
    lines += ["[[tool.onnxlint.models]]", f"factory = {_toml(factory)}"]
    if assumed.eval:
        lines.append("eval = true")
    for key in ("arguments", "inputs", "values", "sizes", "ranges"):
        table = nested(getattr(assumed, key)) if key in ("inputs", "values") else getattr(assumed, key)
        if table:
            lines.append(f"{key} = {_toml(table)}")
    return "\n".join(lines)


def notes(assumed: Assumed, shaped: Shaped, way: str = "") -> tuple[str, ...]:
    """What a user should look at, a line each."""
    runs = f"{assumed.tries} runs" if assumed.tries > 1 else "one run"
    lines = [f"assumed by onnxlint after {runs} of the model; please check:"]
    if way:
        lines.append(f"this is a further way to call it: {way}")
    if assumed.eval:
        lines.append("eval: it is built in training mode, and exported in evaluation mode")
    if assumed.arguments:
        lines.append("arguments: the smallest with which it could be built; real ones may take other paths")
    for name, axes in shaped.together.items():
        places = _listed([f"axis {axis} of {parameter}" for parameter, axis in axes])
        lines.append(f"{name}: {places} moved together")
    fixed = [
        f"axis {axis} of {parameter} ({dim.size})"
        for parameter, spec in shaped.inputs.items()
        for axis, dim in enumerate(spec.dims)
        if dim.name is None
    ]
    if fixed:
        lines.append(f"fixed, since PyTorch takes no other size or they are features: {_listed(fixed)}")
    lines += [
        f"{name}: whole numbers up to {high:g}, the last row of the table they are looked up in"
        for name, (_, high) in assumed.ranges.items()
    ]
    return tuple(lines)


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(k)} = {_toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(v) for v in value) + "]"
    return json.dumps(value)


def _key(name: str) -> str:
    return name if name.isascii() and name.replace("_", "").isalnum() else json.dumps(name)
