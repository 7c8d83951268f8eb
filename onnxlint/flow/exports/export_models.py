"""An exported model as something to probe: built as the script builds it, fed what the call feeds it."""

import ast
import math
from typing import Any

from onnxlint.base.probe_records import TARGET, DimSpec, TensorSpec
from onnxlint.flow.state.candidates import Candidate, forward_parameters
from onnxlint.flow.state.protocols import Exporting
from onnxlint.flow.values.domain import NUMBERS, Const, Dict, Instance, Object, Tensor, Tuple, Value, as_int, is_none
from onnxlint.flow.values.node_places import last_name
from onnxlint.project.classes import ClassInfo, FunctionUnit
from onnxlint.project.modules import module_name

_WRITTEN_OUT = 256  # numbers of one input that are taken over as the script writes them
_DTYPES = {"int": "int64", "index": "int64", "bool": "bool"}


def candidate(engine: Exporting, model: Value, inputs: Value, options: dict[str, Value]) -> Candidate | None:
    """The model of an export call, with the shapes, the plain values and the axes of the arguments that it gives."""
    if not isinstance(model, Instance):
        return None
    cls = model.object.cls
    unit = cls.find_method("forward")
    if unit is None:
        return None
    parameters = forward_parameters(cls)
    factory = engine.factories.get(id(model.object))
    arguments = _arguments(engine, model.object) if factory is None else {}
    passed = list(inputs.items) if isinstance(inputs, Tuple) else [inputs]
    fed = list(zip(_inputs_of(unit), passed, strict=False))
    named = {n: _named_axes(n, options, i) for i, (n, _) in enumerate(fed)}
    told = {n: spec for n, v in fed if (spec := _spec(v, named[n])) is not None}
    specs = {n: spec for n, spec in told.items() if all(d.size is not None for d in spec.dims)}
    values = {n: v.literal for n, v in fed if isinstance(v, Const) and _writable(v.literal)}
    reason = None
    if "forward" in model.object.attrs:
        reason = "the script replaces its forward"
    elif arguments is None:
        reason = "its constructor is given arguments that the source does not tell"
    elif len(specs) + len(values) < len(passed) or len(passed) < len(parameters):
        reason = "the shapes of the export's example inputs cannot be told from the source"
    return Candidate(
        factory=factory or _named(cls),
        path=cls.module.path,
        line=cls.line,
        source="call-site",
        root=str(module_name(engine.frames[-1].module.file.path)[1]),
        inputs=specs,
        parameters=parameters,
        reason=reason,
        eval=model.mode == "eval",
        arguments=arguments or {},
        values=values,
        outlined={n: spec for n, spec in told.items() if n not in specs},
        axes=tuple(pair for n, _ in fed if n not in told and n not in values for pair in named[n].items()),
    )


def names_of(v: Value | None) -> tuple[str, ...] | None:
    """The strings of a list of strings."""
    if isinstance(v, Tuple) and all(isinstance(i, Const) and isinstance(i.literal, str) for i in v.items):
        return tuple(i.literal for i in v.items if isinstance(i, Const))
    return None


def _named(cls: ClassInfo) -> str:
    return f"{cls.module.name}:{cls.qualname}"


def _arguments(engine: Exporting, obj: Object) -> dict[str, Any] | None:
    """What an object was built with, as configuration writes it; None where that has no such spelling."""
    built = next((key for key, other in engine.instances.items() if other is obj), None)
    if built is None or len(built) != 3 or "." in obj.cls.qualname:
        return None
    _, args, kwargs = built
    unit = obj.cls.find_method("__init__")
    names = _inputs_of(unit) if unit is not None else [name for c in reversed(obj.cls.mro()) for name in c.fields]
    if len(args) > len(names):
        return None
    arguments: dict[str, Any] = {}
    for name, v in (*zip(names, args, strict=False), *kwargs):
        try:
            arguments[name] = _plain(engine, v)
        except _Untold:
            return None
    return arguments


class _Untold(Exception):
    """A value that the source does not tell."""


def _plain(engine: Exporting, v: Value) -> Any:
    if isinstance(v, Const) and (v.literal is None or _writable(v.literal)):
        return v.literal
    if isinstance(v, Tuple):
        return [_plain(engine, i) for i in v.items]
    if isinstance(v, Dict) and v.rest is None:
        return {str(k): _plain(engine, i) for k, i in v.items}
    if isinstance(v, Instance):
        inner = _arguments(engine, v.object)
        if inner is not None:
            return {TARGET: _named(v.object.cls), **inner}
    raise _Untold


def _writable(literal: object) -> bool:
    """Whether configuration and scripts can spell it: `1e999` is infinity, which neither JSON nor Python can."""
    if isinstance(literal, float):
        return math.isfinite(literal)
    return isinstance(literal, str) or (isinstance(literal, int) and literal in NUMBERS)


def _inputs_of(unit: FunctionUnit) -> list[str]:
    return [p.arg for p, _ in unit.positional[1:]]


def _named_axes(parameter: str, options: dict[str, Value], position: int) -> dict[int, str]:
    """The axes of one input that the call names, and how."""
    names = names_of(options.get("input_names"))
    label = names[position] if names is not None and position < len(names) else parameter
    axes: dict[int, str] = {}
    for source, key in (("dynamic_axes", label), ("dynamic_shapes", parameter)):
        table = options.get(source)
        entry = table.get(key) if isinstance(table, Dict) else None
        if isinstance(entry, Dict):
            for k, name in entry.items:
                text = name.literal if isinstance(name, Const) else None
                if isinstance(k, int) and not is_none(name):
                    axes[k] = text if isinstance(text, str) and text.isidentifier() else f"{parameter}_{k}"
        elif isinstance(entry, Tuple):
            axes.update({n: f"{parameter}_{n}" for i in entry.items if (n := as_int(i)) is not None})
    return axes


def _spec(v: Value, axes: dict[int, str]) -> TensorSpec | None:
    """The spec of one example input, its dynamic dims named as the call names them; None for one of unknown rank."""
    if not isinstance(v, Tensor) or v.dims is None:
        return None
    sizes = [as_int(d) for d in v.dims]
    dims = tuple(DimSpec(axes.get(i, axes.get(i - len(sizes))), size) for i, size in enumerate(sizes))
    written = _written_out(v)
    known = [size for size in sizes if size is not None]
    whole = len(known) == len(sizes) and len(written) == math.prod(known)
    return TensorSpec(_DTYPES.get(v.kind or "", "float32"), dims, written if whole else ())


def _written_out(t: Tensor) -> tuple[int | float, ...]:
    """The numbers of `torch.tensor([[5, 2], [7, 1]])`, row by row; none where the call is another."""
    call = t.made_at.node if t.made_at is not None else None
    if not isinstance(call, ast.Call) or not call.args or last_name(call.func) not in ("tensor", "as_tensor"):
        return ()
    try:
        return tuple(_numbers(ast.literal_eval(call.args[0])))[: _WRITTEN_OUT + 1]
    except (ValueError, TypeError):  # names in it, or no numbers
        return ()


def _numbers(literal: Any) -> list[int | float]:
    if isinstance(literal, (list, tuple)):
        return [number for item in literal for number in _numbers(item)]
    if not isinstance(literal, (int, float)) or not _writable(literal):
        raise TypeError(literal)
    return [literal]
