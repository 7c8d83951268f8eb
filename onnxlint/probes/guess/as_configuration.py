"""What was assumed of a model, as the configuration that would declare it, with comments to check it by."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from onnxlint.base.records import Assumed
from onnxlint.probes.common.nested import nested
from onnxlint.probes.guess.axes import Shaped


def configuration(factory: str, assumed: Assumed) -> str:
    """The lines that declare all this."""
    tables = {
        "eval": assumed.eval,
        "arguments": assumed.arguments,
        "inputs": nested(assumed.inputs),
        "values": nested(assumed.values),
        "sizes": assumed.sizes,
        "ranges": assumed.ranges,
    }
    head = (*(f"# {note}" for note in assumed.notes), "[[tool.onnxlint.models]]", f"factory = {_toml(factory)}")
    return "\n".join((*head, *(f"{key} = {_toml(value)}" for key, value in tables.items() if value)))


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
        lines.append(f"{name}: {_listed([f'axis {axis} of {p}' for p, axis in axes])} moved together")
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
        keys = {k: k if k.isascii() and k.replace("_", "").isalnum() else json.dumps(k) for k in value}
        return "{ " + ", ".join(f"{keys[k]} = {_toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(v) for v in value) + "]"
    return json.dumps(value)
