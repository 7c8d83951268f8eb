"""Whether a model differs in training mode, and where the mode is left out of a call."""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence

from onnxlint.flow.state.observations import ModeReader
from onnxlint.flow.state.protocols import Running
from onnxlint.flow.values import domain as dom
from onnxlint.flow.values.node_places import Place, last_name

_ASKS = re.compile(r"\bself\.training\b")
_NAME = re.compile(r"torch\.nn\.(?:modules\.\w+\.)?(?:Lazy)?(\w+?)(?:[123]d)?$")
_WRITTEN_ALIKE = "BatchNorm"  # measured: dynamo writes it as in eval mode
_RECURRENT = ("RNN", "LSTM", "GRU")
_DROPPING = ("Transformer", "TransformerEncoderLayer", "TransformerDecoderLayer")  # dropout=0.1


def heeds_mode(model: dom.Value) -> tuple[ModeReader, ...]:
    """What the model is made of that is known to differ in training mode, and is in that mode."""
    return tuple(dict.fromkeys(_heeding(model, set())))


def differs_in_file(model: dom.Value) -> tuple[ModeReader, ...]:
    """What of that dynamo writes otherwise than in eval mode; TorchScript turns that mode on."""
    return tuple(part for part in heeds_mode(model) if not part.layer or _WRITTEN_ALIKE not in part.name)


def _heeding(v: dom.Value, seen: set[dom.Object]) -> Iterator[ModeReader]:
    if isinstance(v, (dom.Instance, dom.Layer)) and v.mode != "train":
        return
    if isinstance(v, dom.Instance):
        if v.object in seen:
            return
        seen.add(v.object)
        yield from (ModeReader(c.name) for c in v.object.cls.mro() if _ASKS.search(c.text))
        inner: Iterable[dom.Value] = v.object.attrs.values()
    elif isinstance(v, dom.Layer):
        if _layer_heeds(v):
            yield ModeReader(v.name.rpartition(".")[2], layer=True)
        inner = [v.items] if v.items is not None else [value for _, value in v.args]
    else:
        inner = dom.contents(v)
    for value in inner:
        yield from _heeding(value, seen)


def _layer_heeds(layer: dom.Layer) -> bool:
    """Whether a layer of torch.nn drops at random, or keeps statistics of the batches that it sees."""
    match = _NAME.match(layer.name)
    name, args = match[1] if match else "", dict(layer.args)

    def number(default: float, *keys: str | int) -> object:
        v = next((args[k] for k in keys if k in args), dom.Const(default))
        return v.literal if isinstance(v, dom.Const) else None  # a setting

    if name in ("BatchNorm", "SyncBatchNorm"):
        return number(True, 4, "track_running_stats") is not False
    if name == "InstanceNorm":
        return number(False, 4, "track_running_stats") is True
    if name.endswith("Dropout"):
        return number(0.5, 0, "p") != 0
    if name in _RECURRENT:
        layers, rate = number(1, 2, "num_layers"), number(0, 5, "dropout")
        return layers != 1 and rate != 0 and not (layers is None and rate is None)
    if name == "MultiheadAttention":
        return number(0, 2, "dropout") not in (0, None)
    return name == "RReLU" or (name in _DROPPING and number(0.1, "dropout") != 0)


def without_mode(frames: Sequence[Running]) -> Place | None:
    """The call of the function that runs, where its parameter `training`, which is True by default, is left out."""
    unit = frames[-1].unit if len(frames) > 1 else None
    if unit is None:
        return None
    a = unit.args
    positional = [p for p, _ in unit.positional[frames[-1].bound is not None :]]
    defaults = {p.arg: d for p, d in (*unit.positional, *zip(a.kwonlyargs, a.kw_defaults, strict=True))}
    default = defaults.get("training")
    if not isinstance(default, ast.Constant) or default.value is not True:
        return None
    at = next((i for i, p in enumerate(positional) if p.arg == "training"), len(positional))
    caller = frames[-2]
    for node in ast.walk(caller.statement_node) if caller.statement_node is not None else ():
        if not isinstance(node, ast.Call) or last_name(node.func) != unit.name:
            continue
        spread = any(isinstance(v, ast.Starred) for v in node.args) or any(k.arg is None for k in node.keywords)
        if not spread and len(node.args) <= at and all(k.arg != "training" for k in node.keywords):
            return Place(caller.body, node, caller.line, caller.symbol)
    return None
