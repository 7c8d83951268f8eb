"""Calls of torch.onnx.export: what is exported, in which mode, with which axes."""

import ast
from bisect import bisect_left
from typing import Any

from onnxlint.base.records import Span
from onnxlint.flow.exports.export_inputs import around, fed, outputs, parameters_of, signature
from onnxlint.flow.exports.export_models import candidate, names_of
from onnxlint.flow.exports.export_scopes import dicts_by_keys
from onnxlint.flow.exports.train_modes import differs_in_file
from onnxlint.flow.state import observations
from onnxlint.flow.state.protocols import Defining, Exporting, InContext, Recording
from onnxlint.flow.values import domain as dom
from onnxlint.flow.values.domain import Args, Kwargs, Value
from onnxlint.flow.values.node_places import Body, argument, last_name

OLDEST, LATEST = 9, 20  # opsets at which the operator table knows what the TorchScript exporter lowers
_FUNCTIONS = ("export", "_export", "dynamo_export", "export_to_pretty_string", "utils.export", "utils._export")
APIS = frozenset(f"torch.onnx.{name}" for name in _FUNCTIONS)


def record(engine: Recording, name: str, args: Args, kwargs: Kwargs, node: ast.AST) -> None:
    """Emit an ExportCall for one call."""
    arguments: dict[str, Value] = {**dict(zip(observations.POSITIONS, args, strict=False)), **kwargs}
    unknown = "**" in arguments or _spreads_nothing(node, kwargs)
    if name == "torch.onnx.dynamo_export":
        unknown, arguments = unknown or "export_options" in kwargs, _of_dynamo_export(args, kwargs)
    model, inputs = arguments.get("model", dom.Unknown()), arguments.get("args", arguments.get("kwargs", dom.Unknown()))
    # mmcv 1 registers translations for TorchScript, and is of a time when that was the default.
    dynamo = _dynamo(name, arguments.get("dynamo"), unknown or "mmcv.onnx" in engine.frames[-1].module.source.text)
    axes_value = arguments.get("dynamic_axes", dom.NONE)
    axes, axes_known = _axes(arguments.get("dynamic_shapes", dom.NONE) if dom.is_none(axes_value) else axes_value)
    parameters = parameters_of(model)
    opset = dom.as_int(arguments.get("opset_version")) or _option_default(engine, node, "opset_version")
    fixed: tuple[tuple[str, int, str], ...] = ()
    if isinstance(model, dom.Instance) and axes_known and axes:
        fixed = fixed_axes(engine, model, inputs, axes, names_of(arguments.get("input_names")), parameters)
    exported = candidate(engine, model, inputs, arguments)
    engine.exports_here(exported is not None)
    if exported is not None and isinstance(model, dom.Instance):
        engine.is_exported(model, exported)
    _emit(
        engine,
        node,
        name,
        arguments,
        exporters=tuple(e for e in engine.all_exporters if dynamo in (None, e == "dynamo")),
        dynamo=dynamo,
        mode_matters=differs_in_file(model) if _mode(model) == "train" else (),
        has_dynamic_axes=unknown or not dom.is_none(axes_value),
        axes_known=axes_known,
        axes=axes,
        input_names=names_of(arguments.get("input_names")),
        output_names=names_of(arguments.get("output_names")),
        dict_argument=_dict_argument(arguments.get("args"), parameters),
        bare_dict=isinstance(arguments.get("args"), dom.Dict),
        training=_training(arguments.get("training")),
        opset=opset,
        too_new=_too_new(engine, model, inputs, opset) if dynamo is False else (),
        axes_spans=_axes_spans(engine, axes),
        fixed_axes=fixed,
        # A call that is given no inputs at all is one with a program, which brings inputs and their axes along.
        tensor_inputs=(unknown or bool({"args", "kwargs"} & arguments.keys())) and not dom.is_none(inputs),
        positional=len(args),
        settings={n: _setting(v) for n, v in arguments.items() if _setting(v) is not None},
        outputs=outputs(engine, model, inputs) if arguments.get("output_names") is not None else None,
    )


def _emit(engine: Recording, node: ast.AST, api: str, arguments: dict[str, Value], **more: Any) -> None:
    """Emit an ExportCall with what is told of every export, by `torch.onnx` or by `torch.export`, and `more`."""
    model = arguments.get("model", dom.Unknown())
    parameters = parameters_of(model)
    engine.emit(
        observations.ExportCall,
        node,
        None,
        always=True,
        api=api,
        mode=_mode(model),
        model=_label(model),
        has_dynamic_shapes=not dom.is_none(arguments.get("dynamic_shapes", dom.NONE)),
        parameters=parameters,
        arguments=tuple(n for n in arguments if n != "**"),
        **more,
        **signature(model),
        **fed(engine, arguments, node, parameters),
        **around(engine, arguments, node),
    )


def _of_dynamo_export(args: Args, kwargs: Kwargs) -> dict[str, Value]:
    """The arguments of `torch.onnx.dynamo_export`, where the inputs stand behind the model, as `export` takes them."""
    named = {n: v for n, v in kwargs.items() if n in ("model", "export_options")}
    model = dict(zip(("model",), args, strict=False))
    return {**model, "args": dom.Tuple(tuple(args[1:])), **named, "dynamo": dom.Const(True)}


def _option_default(engine: Defining, node: ast.AST, name: str) -> int | None:
    """The default of `--opset` for `opset_version=args.opset`, here or in the call of the function that has it as a
    parameter of that name, where the same file adds that option to its parser."""
    option, frame = argument(node, name), engine.frames[-1]
    if isinstance(option, ast.Name) and frame.unit is not None and len(engine.frames) > 1:
        unit, frame = frame.unit, engine.frames[-2]
        nodes = ast.walk(frame.statement_node) if frame.statement_node is not None else ()
        calls = (n for n in nodes if isinstance(n, ast.Call) and last_name(n.func) == unit.name)
        option = next((argument(call, option.id) for call in calls), None)
    module = frame.module
    if not isinstance(option, ast.Attribute) or "add_argument" not in module.file.text:
        return None
    for call in ast.walk(module.file.tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument":
            flags = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            default = argument(call, "default")
            if f"--{option.attr}" in (flag.replace("-", "_").replace("__", "--", 1) for flag in flags):
                if isinstance(default, ast.Name):
                    return dom.as_int(engine.global_value(module, default.id))
                return default.value if isinstance(default, ast.Constant) and type(default.value) is int else None
    return None


def _too_new(engine: Exporting, model: Value, inputs: Value, opset: int | None) -> tuple[observations.Call, ...]:
    """The operators of a model that the TorchScript exporter lowers, but not at this opset; the newest first."""
    if opset is None or not isinstance(model, dom.Instance) or not OLDEST <= opset < LATEST:
        return ()
    fed: list[Value] = list(inputs.items) if isinstance(inputs, dom.Tuple) else [inputs]
    _, _, seen = engine.rehearse(model, fed, opset)
    new = [f for f in seen if isinstance(f, observations.Call) and f.since > opset and f.sure and f.certain]
    return tuple(sorted(new, key=lambda f: (-f.since, f.span.path, f.span.line)))


def _spreads_nothing(node: ast.AST, kwargs: Kwargs) -> bool:
    """Whether `**options` gave no argument: nobody writes that for nothing, so who fills the dict is not seen here."""
    named = {keyword.arg for keyword in node.keywords} if isinstance(node, ast.Call) else set()
    return None in named and kwargs.keys() <= named


def _dynamo(name: str, flag: Value | None, unknown: bool) -> bool | None:
    """Whether a call exports with dynamo; None where that is not known."""
    if flag is None and not unknown:
        return not name.startswith("torch.onnx.utils.")
    return bool(flag.literal) if isinstance(flag, dom.Const) else None


def record_program(engine: Recording, args: Args, kwargs: Kwargs, node: ast.AST) -> None:
    """Emit an ExportCall for a call of torch.export.export."""
    arguments: dict[str, Value] = {**dict(zip(observations.PROGRAM_POSITIONS, args, strict=False)), **kwargs}
    arguments["model"] = arguments.pop("mod", dom.Unknown())
    engine.exports_here(False)
    exporters = tuple(e for e in engine.all_exporters if e == "dynamo")
    _emit(engine, node, "torch.export.export", arguments, exporters=exporters)


def record_lightning(engine: Recording, model: dom.Instance, args: Args, kwargs: Kwargs, node: ast.AST) -> None:
    """Emit an ExportCall for `model.to_onnx(file_path, input_sample, **options)`, which exports in eval mode."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return
    names = {"file_path": "f", "input_sample": "args"}
    options = {names.get(k, k): v for k, v in kwargs.items()}
    sample = {"args": engine.attribute(model, "example_input_array", node)}
    keywords = [ast.keyword(names.get(k.arg or "", k.arg), k.value) for k in node.keywords]
    keywords += [ast.keyword(n, a) for n, a in zip(names.values(), node.args, strict=False)]
    call = ast.copy_location(ast.Call(node.func, [node.func.value], keywords), node)
    for k in keywords:
        ast.copy_location(k, k.value)
    arguments = {**sample, **dict(zip(names.values(), args, strict=False)), **options}
    record(engine, "torch.onnx.export", [dom.Instance(model.object, model.trace, "eval")], arguments, call)


def _setting(v: Value) -> object:
    """The literal, or the name of the enum member, that an argument is."""
    if isinstance(v, dom.Const):
        return v.literal
    return v.name.rpartition(".")[2] if isinstance(v, dom.External) and v.name.startswith("torch.") else None


def _axes_spans(engine: InContext, axes: tuple[tuple[str, tuple[int, ...]], ...]) -> dict[str, Span]:
    """Where the axes of each name are written, in this file: the dict may stand far from the call."""
    info = engine.frames[-1].module
    dicts = dicts_by_keys(info.file.tree).get(tuple(name for name, _ in axes), []) if axes else []
    if not dicts:
        return {}
    call = engine.frames[-1].line
    at = bisect_left(dicts, call, key=lambda pair: pair[0])
    inside = dicts[at : at + 1] if at < len(dicts) and dicts[at][0] <= call + 40 else []
    _, keys = min(inside or dicts[max(at - 1, 0) : at + 1], key=lambda pair: abs(pair[0] - call))
    return {name: Body(info, "", 1).span(key) for name, key in keys.items()}


def _mode(model: Value) -> str | None:
    return model.mode or None if isinstance(model, dom.Instance) else None


def _label(model: Value) -> str:
    if isinstance(model, dom.Instance):
        return model.object.cls.qualname
    return model.name if isinstance(model, (dom.Layer, dom.External)) else ""


def _training(v: Value | None) -> str | None:
    if isinstance(v, dom.External):
        return v.name.rpartition(".")[2]
    return str(v.literal) if isinstance(v, dom.Const) and v.literal is not None else None


def _dict_argument(args: Value | None, parameters: tuple[str, ...] | None) -> bool:
    """True for a dict in the place of the last argument, unless its keys are keyword arguments of forward."""
    last = args.items[-1] if isinstance(args, dom.Tuple) and args.items else args
    if not isinstance(last, dom.Dict):
        return False
    if parameters is None or last.rest is not None:
        return False
    return not {k for k, _ in last.items} <= set(parameters)


def _axes(v: Value | None) -> tuple[tuple[tuple[str, tuple[int, ...]], ...], bool]:
    """`{"x": {0: "batch"}}` or `{"x": [0, 2]}` as pairs; False where a key or value is not known."""
    if not isinstance(v, dom.Dict) or v.rest is not None or v.merged:
        return (), False
    pairs: list[tuple[str, tuple[int, ...]]] = []
    for key, axes in v.items:
        if not isinstance(key, str):
            return (), False
        if isinstance(axes, dom.Dict):
            numbers = [k for k, _ in axes.items if isinstance(k, int)]
        elif isinstance(axes, dom.Tuple):
            numbers = [i.literal for i in axes.items if isinstance(i, dom.Const) and isinstance(i.literal, int)]
        elif dom.is_none(axes):
            numbers = []
        else:
            return (), False
        pairs.append((key, tuple(numbers)))
    return tuple(pairs), True


def fixed_axes(
    engine: Exporting,
    model: dom.Instance,
    inputs: Value,
    axes: tuple[tuple[str, tuple[int, ...]], ...],
    input_names: tuple[str, ...] | None,
    parameters: tuple[str, ...] | None,
) -> tuple[tuple[str, int, str], ...]:
    """Axes asked for as dynamic that a layer of the model takes at one size only: (input, axis, why)."""
    args = list(inputs.items) if isinstance(inputs, dom.Tuple) else [inputs] if isinstance(inputs, dom.Tensor) else []
    names = input_names or parameters
    tensors = [a for a in args if isinstance(a, dom.Tensor) and a.dims is not None]
    if not args or names is None or len(tensors) < len(args):
        return ()
    wanted = dict(axes)
    fed: list[Value] = []
    for t, name in zip(tensors, (*names, *[""] * len(tensors)), strict=False):
        asked = wanted.get(name, ())
        dims = (dom.Dim(frozenset((f"{name}\0{i}",))) if i in asked else d for i, d in enumerate(t.dims or ()))
        fed.append(dom.Tensor(tuple(dims), None, "input", t.kind))
    fixed, _, _ = engine.rehearse(model, fed)
    parts = ((*key.partition("\0"), why) for key, why in fixed.items())
    return tuple(sorted((name, int(axis), why) for name, _, axis, why in parts if axis))
