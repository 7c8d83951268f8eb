"""What names mean by convention: parameters of `forward` and of constructors, axes, keys of a configuration."""

import re
import tomllib
from collections.abc import Mapping
from typing import Any

from onnxlint.base.files import own_text

BATCH = 2
LENGTH = 8
LENGTHS = (LENGTH, 16, 12, 7, 32, 64)
SIDES = ((64, 64), (32, 32), (16, 16), (224, 224), (8, 8), (7, 7), (14, 14), (128, 128), (256, 256))
SAMPLES = 4000

FIRST = ("input_ids", "pixel_values", "input_values", "input_features", "inputs_embeds", "hidden_states", "x", "input")
FIXED = {"use_cache": False}  # a cache in the output is no tensor: what is exported leaves it out


def _by_name(table: Mapping[str, Any]) -> dict[str, Any]:
    values = {names: tuple(value) if isinstance(value, list) else value for names, value in table.items()}
    return {name: value for names, value in values.items() for name in names.split()}


_TABLES = tomllib.loads(own_text(__file__, "values_by_name.toml"))
ARGUMENTS = _by_name(_TABLES["arguments"])  # of constructors: small, and such that they fit each other
TINY: dict[str, int] = _by_name(_TABLES["tiny"])  # the keys of a configuration class that make a model small
KEYS = {what: tuple(names.split()) for what, names in _TABLES["keys"].items()}  # by which a model tells its sizes


def named_like(parameter: str, what: str) -> bool:
    """Whether a parameter is called what a mask, an image … usually is, by the patterns of that."""
    return re.search(_TABLES["patterns"][what], parameter) is not None


def axis_name(parameter: str, rank: int, axis: int, feature: int | None) -> str:
    """Return what an axis is called by convention; `feature` is the axis that holds channels or features."""
    if axis == 0:
        return "batch"
    if named_like(parameter, "past"):
        return "past"
    other = f"{parameter}_{axis}"
    if rank == 5 or (rank == 4 and feature is not None and not named_like(parameter, "mask")):
        names = ("frames", "height", "width")[5 - rank :]
        free = [a for a in range(1, rank) if a != feature]
        return dict(zip(free, names, strict=True)).get(axis, other) if len(free) == len(names) else other
    if rank <= 3 and named_like(parameter, "audio"):
        return "samples"
    return "sequence" if rank <= 3 or named_like(parameter, "mask") else other


def suggestion(parameter: str) -> str:
    """The spec that most likely needs the least correction, for a parameter of which only the name is available."""
    specs: dict[str, str] = _TABLES["suggested"]
    return next((spec for what, spec in specs.items() if named_like(parameter.lower(), what)), "float32[batch, 16]")
