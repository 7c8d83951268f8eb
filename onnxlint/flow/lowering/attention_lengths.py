"""torch.nn's attention over a dynamic length, which it reads after an `unflatten` of its own; and with a mask.

Where key and value are one tensor, `MultiheadAttention` projects both at once and unflattens what that gives, so the
TorchScript exporter writes the example's length into the reshape that follows. With tensors of their own, with `kdim`
or `vdim`, or with `add_bias_kv`, the length stays a symbol. The batch always does.

The stacks compare a square mask with the causal one to see whether it is that, unless they are told: dynamo cannot
branch on the answer.
"""

import ast
from collections.abc import Mapping, Sequence

from onnxlint.flow.lowering.exporter_support import bound
from onnxlint.flow.lowering.sizes_as_numbers import length_along, size_use
from onnxlint.flow.lowering.unexportable_calls import emit
from onnxlint.flow.state.observations import AttentionSize, Call
from onnxlint.flow.state.protocols import Lowering
from onnxlint.flow.values.domain import Const, Layer, Tensor, Value, is_none, is_true

_STACKS = ("TransformerEncoder", "TransformerDecoder")


def called(engine: Lowering, layer: Layer, args: Sequence[Value], kwargs: Mapping[str, Value], node: ast.AST) -> None:
    """Look at the call of an attention, or of a layer that holds one, in traced code."""
    short = layer.name.rpartition(".")[2]
    if short not in engine.table.curated["attention"]:
        return
    for form in ("causal", "causal: source"):
        if short in engine.table.curated[form]:
            _compared(engine, short, form, args, kwargs, node)
    names = ("src",) if "Encoder" in short else ("tgt", "memory")
    attended = [_argument(args, kwargs, i, name) for i, name in enumerate(names)]
    if short == "MultiheadAttention":
        attended = [_argument(args, kwargs, 1, "key")] if _projects_at_once(engine, layer, node) else []
    for t in attended:
        axis = 1 if _batch_first(engine, layer) else 0
        dim = length_along(engine, t, axis) if isinstance(t, Tensor) else None
        if dim is not None:
            size_use(engine, node, AttentionSize, "attention", f"nn.{short}", dim, name=short)
            return


def _compared(
    engine: Lowering, short: str, form: str, args: Sequence[Value], kwargs: Mapping[str, Value], node: ast.AST
) -> None:
    """A mask of two axes, where nobody says whether it is causal."""
    (at, name), (flag_at, flag) = engine.table.curated[form][short].arguments
    mask, told = _argument(args, kwargs, at, name), _argument(args, kwargs, flag_at, flag)
    if isinstance(mask, Tensor) and len(mask.dims or (0, 0)) == 2 and (told is None or is_none(told)):
        emit(engine, node, Call, f"nn.{short}", form, short, trace=mask.trace, detail=f"{name}=..., {flag}=None")


def _argument(args: Sequence[Value], kwargs: Mapping[str, Value], position: int, name: str) -> Value | None:
    return args[position] if position < len(args) else kwargs.get(name)


def _batch_first(engine: Lowering, layer: Layer) -> bool:
    short = layer.name.rpartition(".")[2]
    if short in _STACKS:
        inner = layer.arg(0, f"{short.removeprefix('Transformer').lower()}_layer")
        return isinstance(inner, Layer) and inner.name.rpartition(".")[2] not in _STACKS and _batch_first(engine, inner)
    entry = engine.table.curated["attention"].get(short)
    return entry is not None and any(is_true(layer.arg(*place)) for place in entry.arguments)


def _projects_at_once(engine: Lowering, layer: Layer, node: ast.AST) -> bool:
    """Whether key and value are one tensor of the width of the query."""
    own = [layer.arg(4, "add_bias_kv"), layer.arg(6, "kdim"), layer.arg(7, "vdim")]
    if any(v is not None and not is_none(v) and not (isinstance(v, Const) and v.literal is False) for v in own):
        return False
    if not isinstance(node, ast.Call) or any(isinstance(a, ast.Starred) for a in node.args):
        return False
    written = dict(zip(("query", "key", "value"), node.args, strict=False))
    written.update({k.arg: k.value for k in node.keywords if k.arg in ("key", "value")})
    key, value = written.get("key"), written.get("value")
    if key is None or value is None or isinstance(key, ast.Call):
        return False
    if ast.dump(key) == ast.dump(value):
        return True
    if not isinstance(key, ast.Name) or not isinstance(value, ast.Name):
        return False
    body = engine.frames[-1].body
    one, other = bound(body, key.id), bound(body, value.id)  # `k = v = memory`
    return bool(one) and len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))
