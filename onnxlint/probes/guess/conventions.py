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

TOKENS = re.compile(r"(^|_)(ids?|idx|tokens?|src|tgt|text|texts|words?|indices|captions?|prompts?|input_seq)$")
MASK = re.compile(r"(^|_)masks?$|^mask")
IMAGE = re.compile(r"(^|_)(images?|imgs?|pixel_values|pixels|picture|photo|rgb|depth_map)$")
VIDEO = re.compile(r"(^|_)(videos?|clips?|frames)$")
AUDIO = re.compile(r"(^|_)(audio|wave|waveforms?|wav|speech|input_values|samples)$")
SPECTRUM = re.compile(r"(^|_)(input_features|mels?|spectrograms?|spec)$")
LENGTH_OF = re.compile(r"(^|_)(len|lens|length|lengths)$")
TIME = re.compile(r"^(t|timesteps?|time|times|time_steps?|sigmas?|noise_levels?|log_snr)$")
CLASS = re.compile(r"(^|_)(class|classes|class_labels?|labels?|y|target|targets)$")
PAIR = re.compile(r"(^|_)(shape|size|hw|resolution|grid|spatial_shape|spatial_size)$")
HEIGHT = re.compile(r"^(h|height|patch_height)$", re.IGNORECASE)
WIDTH = re.compile(r"^(w|width|patch_width)$", re.IGNORECASE)
PAST = re.compile(
    r"^(past|prev(ious)?|cached?)_|_(cache|past)$|^(kv?|v|key|value)cache$|^(cache|past)([kv]|(key|value)s?)?$"
)
STATE = re.compile(r"^([hc](x|_?[0n]|_prev)?|hidden|cell|((hidden|cell|memory)_)?state)$")
POSITION = re.compile(r"(^|_)(position_ids|positions?|pos)$")

ANSWER = re.compile(r"^(?!class_)(\w*_)?(labels?|label_ids|targets?)$|^(start|end)_positions$")

FIRST = ("input_ids", "pixel_values", "input_values", "input_features", "inputs_embeds", "hidden_states", "x", "input")
FIXED = {"use_cache": False}  # a cache in the output is no tensor: what is exported leaves it out


def _by_name(table: Mapping[str, Any]) -> dict[str, Any]:
    values = {names: tuple(value) if isinstance(value, list) else value for names, value in table.items()}
    return {name: value for names, value in values.items() for name in names.split()}


_TABLES = tomllib.loads(own_text(__file__, "values_by_name.toml"))
ARGUMENTS = _by_name(_TABLES["arguments"])  # of constructors: small, and such that they fit each other
TINY: dict[str, int] = _by_name(_TABLES["tiny"])  # the keys of a configuration class that make a model small
KEYS = {what: tuple(names.split()) for what, names in _TABLES["keys"].items()}  # by which a model tells its sizes


def axis_name(parameter: str, rank: int, axis: int, feature: int | None) -> str:
    """Return what an axis is called by convention; `feature` is the axis that holds channels or features."""
    if axis == 0:
        return "batch"
    if PAST.search(parameter):
        return "past"
    other = f"{parameter}_{axis}"
    if rank == 5 or (rank == 4 and feature is not None and not MASK.search(parameter)):
        names = ("frames", "height", "width")[5 - rank :]
        free = [a for a in range(1, rank) if a != feature]
        return dict(zip(free, names, strict=True)).get(axis, other) if len(free) == len(names) else other
    if rank <= 3 and AUDIO.search(parameter):
        return "samples"
    return "sequence" if rank <= 3 or MASK.search(parameter) else other


def suggestion(parameter: str) -> str:
    """The spec that most likely needs the least correction, for a parameter of which only the name is available."""
    return next((spec for pattern, spec in _SUGGESTED if re.search(pattern, parameter.lower())), "float32[batch, 16]")


_ROWS = r"(^|_)(hidden_states|embeds|embeddings|context|memory|sequence|series|tokens_embed|feats|features)$"
_SUGGESTED: tuple[tuple[re.Pattern[str] | str, str], ...] = (
    (MASK, "bool[batch, sequence]"),
    (VIDEO, "float32[batch, 3, frames, 64, 64]"),
    (r"(^|_)(latents?|noise|z_t|x_t|noisy\w*)$", "float32[batch, 4, height, width]"),
    (IMAGE, "float32[batch, 3, height, width]"),
    (SPECTRUM, "float32[batch, 80, frames]"),
    (AUDIO, "float32[batch, samples]"),
    (PAST, "float32[batch, 4, past, 16]"),
    *((pattern, "int64[batch, sequence]") for pattern in (POSITION, TOKENS)),
    *((pattern, "int64[batch]") for pattern in (LENGTH_OF, TIME, CLASS)),
    (r"^edge_index$", "int64[2, edges]"),
    (r"^(points?|xyz|coords?|point_?cloud)$", "float32[batch, points, 3]"),
    (r"^(boxes|bboxes|rois)$", "float32[boxes, 4]"),
    (_ROWS, "float32[batch, sequence, 16]"),
)
