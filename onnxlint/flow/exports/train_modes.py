"""Whether a model answers otherwise in training mode, and where the mode is left out of a call."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from onnxlint.flow.state.protocols import Running
from onnxlint.flow.values.domain import (
    ClassRef,
    Config,
    Const,
    Dict,
    Dim,
    External,
    Function,
    Instance,
    Layer,
    Object,
    Seq,
    Shape,
    Tensor,
    Tuple,
    Value,
)
from onnxlint.flow.values.node_places import Place

_SPEAKS_OF_MODE = re.compile(r"\btraining\b|[dD]rop|[bB]atch_?[nN]orm|[iI]nstance_?[nN]orm|[rR]relu|RReLU")
# Layers of torch.nn that are the same in both modes, by how their names begin.
_INERT = re.compile(
    r"torch\.nn\.(?:modules\.\w+\.)?(?:Linear|Bilinear|Identity|Conv|Embedding|LayerNorm|RMSNorm|GroupNorm|LocalResponse"
    r"|ReLU|GELU|SiLU|ELU|SELU|CELU|GLU|Mish|Hard|Leaky|PReLU|LogSigmoid|Sigmoid|Soft|Tanh|Threshold|LogSoftmax"
    r"|MaxPool|AvgPool|Adaptive|LPPool|MaxUnpool|Upsampl|Pixel|Fold|Unfold|Flatten|Unflatten|ChannelShuffle"
    r"|\w*Pad[123]d|ZeroPad|CosineSimilarity|PairwiseDistance|Sequential|Module|Parameter)\w*$"
)
_PLAIN = (Const, Config, Tensor, Dim, Shape, External, ClassRef)


def heeds_mode(model: Value) -> bool:
    """False where everything that the model is made of is known, and is the same in both modes."""
    return _heeds(model, set())


def _heeds(v: Value, seen: set[Object]) -> bool:
    if isinstance(v, Instance):
        if v.object in seen:
            return False
        seen.add(v.object)
        cls = v.object.cls
        known = all(base in ("torch.nn.Module", "torch.nn.modules.module.Module") for base in cls.external_bases())
        if not known or any(_SPEAKS_OF_MODE.search(c.text) for c in cls.mro()):
            return True
        return any(_heeds(inner, seen) for inner in v.object.attrs.values())
    if isinstance(v, Layer):
        inner = [v.items] if v.items is not None else [value for _, value in v.args]
        return not _INERT.match(v.name) or any(_heeds(i, seen) for i in inner)
    if isinstance(v, Tuple):
        return any(_heeds(i, seen) for i in v.items)
    if isinstance(v, Dict):
        return v.rest is not None or any(_heeds(i, seen) for _, i in v.items)
    if isinstance(v, Seq):
        return _heeds(v.item, seen)
    if isinstance(v, Function):
        return _SPEAKS_OF_MODE.search(v.unit.text) is not None
    return not isinstance(v, _PLAIN)


def without_mode(frames: Sequence[Running]) -> Place | None:
    """The call of the function that runs, where its parameter `training`, which is True by default, is left out."""
    unit = frames[-1].unit if len(frames) > 1 else None
    if unit is None:
        return None
    a = unit.args
    positional = [*a.posonlyargs, *a.args][frames[-1].bound is not None :]
    defaults = dict(zip([p.arg for p in reversed(positional)], reversed(a.defaults), strict=False))
    defaults |= {p.arg: d for p, d in zip(a.kwonlyargs, a.kw_defaults, strict=True) if d is not None}
    default = defaults.get("training")
    if not isinstance(default, ast.Constant) or default.value is not True:
        return None
    at = next((i for i, p in enumerate(positional) if p.arg == "training"), len(positional))
    caller = frames[-2]
    for node in ast.walk(caller.statement_node) if caller.statement_node is not None else ():
        if not isinstance(node, ast.Call) or _last(node.func) != unit.name:
            continue
        spread = any(isinstance(v, ast.Starred) for v in node.args) or any(k.arg is None for k in node.keywords)
        if not spread and len(node.args) <= at and all(k.arg != "training" for k in node.keywords):
            return Place(caller.body, node, caller.line, caller.symbol)
    return None


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
