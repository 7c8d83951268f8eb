"""What the exported forward gives back: inputs handed through, and values that are no tensors."""

import ast
import re
from collections.abc import Hashable, Sequence
from typing import Any

from onnxlint.flow.state import observations
from onnxlint.flow.state.protocols import Observing, Running
from onnxlint.flow.values.domain import Array, Const, Data, Dict, Instance, Seq, Tensor, Tuple, Value, is_none
from onnxlint.flow.values.node_places import Extra

# Bases of what an exporter takes apart into tensors.
_RECORDS = ("NamedTuple", "OrderedDict", "dict", "UserDict", "ModelOutput", "BaseOutput", "TypedDict", "tuple", "list")
_KEY = r"\b{}\[\(?[^()\[\]\n]*,[^()\[\]\n]*[^\s()\[\]'\"]\)?\] = "  # a tuple with a number in it
_REGISTERS = ("register_pytree_node", "register_dataclass", "tree_register")


def returned(frame: Running, node: ast.expr, v: Value) -> None:
    """Note what a `return` of the forward that is exported gives back."""
    engine = frame.engine
    # Who takes a registered class from its registry knows what to make of the outputs.
    registered = frame.owner is not None and any("regist" in d.lower() for d in frame.owner.decorators)
    if engine.context.tracing and engine.context.outermost and len(engine.frames) == 1 and not registered:
        outputs: list[Extra] = []
        parameters = [p.arg for p, _ in frame.unit.positional] if frame.unit is not None else []
        # A dict that a part adds to is for the next part; a tensor that comes out as it went in, a layer that is off.
        handed_on = isinstance(v, Dict) and isinstance(node, ast.Name) and node.id in parameters
        if not handed_on and not (isinstance(v, Tensor) and v.parameter):
            _look(frame, node, v, outputs)
        engine.gives_back(outputs)


def report(engine: Observing, exits: Sequence[list[Extra]]) -> None:
    """Emit what was noted. What one way out of forward gives back and another does not is not sure to be exported."""
    kinds = [{(g.what, g.name) for g in outputs} for outputs in exits]
    everywhere = set.intersection(*kinds) if kinds else set()
    for outputs in exits:
        for g in outputs:
            sure = (g.what, g.name) in everywhere
            fields: dict[str, Any] = {"what": g.what, "name": g.name, "inside": g.inside, "exporters": g.exporters}
            engine.emit(observations.Output, g.place, None, sure=sure, doubt="guess", **fields)


def _look(frame: Running, node: ast.expr, v: Value, outputs: list[Extra], holder: ast.expr | None = None) -> None:
    """Note what a value holds. `holder` is the expression that gave what holds the value."""
    if isinstance(v, Tensor):
        if v.parameter:
            _note(frame, node, "input", v.parameter, outputs, inside=node is holder)
    elif isinstance(v, Tuple):
        written = node.elts if isinstance(node, (ast.Tuple, ast.List)) else []
        nodes = written if len(written) == len(v.items) else [node] * len(v.items)
        for inner, item in zip(nodes, v.items, strict=True):
            _look(frame, inner, item, outputs, node)
    elif isinstance(v, Dict):
        _look_at_keys(frame, node, v, outputs)
        named = dict(zip(node.keys, node.values, strict=True)) if isinstance(node, ast.Dict) else {}
        places: dict[Hashable, ast.expr] = {k.value: n for k, n in named.items() if isinstance(k, ast.Constant)}
        for key, item in v.items:
            _look(frame, places.get(key, node), item, outputs, node)
    elif isinstance(v, Seq):
        _look(frame, node, v.item, outputs, node)
    elif isinstance(v, Const) and not is_none(v):
        _note(frame, node, "text" if isinstance(v.literal, str) else "number", repr(v.literal), outputs)
    elif isinstance(v, (Array, Data)) and not v.fixed and (v.site.how or isinstance(v, Array)):
        read = {".tolist()": "list"}.get(v.site.how, "scalar")
        _note(frame, node, "array" if isinstance(v, Array) else read, v.site.how, outputs)
    elif isinstance(v, Instance):
        _look_record(frame, node, v, outputs)


def _look_at_keys(frame: Running, node: ast.expr, v: Dict, outputs: list[Extra]) -> None:
    body = frame.unit.text if frame.unit is not None and v.rest is not None else ""
    tuples = re.search(_KEY.format(re.escape(ast.unparse(node))), body)
    if tuples is not None or any(isinstance(key, int) for key, _ in v.items):
        _note(frame, node, "keys", "", outputs)


def _look_record(frame: Running, node: ast.expr, v: Instance, outputs: list[Extra]) -> None:
    cls = v.object.cls
    if cls.is_module():
        return
    bases = [b.rpartition(".")[2] for b in cls.external_bases()]
    if any(b in _RECORDS or b.endswith("Output") for b in bases):
        for item in v.object.attrs.values():
            _look(frame, node, item, outputs, node)
    elif cls.base_names in ((), ("object",)) and not any(name in cls.module.source.text for name in _REGISTERS):
        text = frame.unit.text if frame.unit is not None else ""
        part = re.search(rf"(?::|isinstance\(\w+,) *{cls.name}\b", text)  # it takes such objects too
        if part is None:
            _note(frame, node, "object", cls.name, outputs)


def _note(frame: Running, node: ast.expr, what: str, name: str, outputs: list[Extra], *, inside: bool = False) -> None:
    outputs.append(Extra(what, name, frame.engine.place(node), frame.engine.context.exporters, inside))
