"""What a call gives, by the names of the function's parameters."""

import ast
import re
from collections.abc import Iterable, Sequence
from typing import Any, TypeGuard

from onnxlint.flow.python.entry_parameters import FOR_EXPORTS, by_annotation, exported_value, lists_of_tensors
from onnxlint.flow.state.protocols import Defining, InContext
from onnxlint.flow.values import domain as dom
from onnxlint.flow.values.domain import replace
from onnxlint.flow.values.joins import join_all
from onnxlint.project.classes import FunctionUnit

STARRED = dom.Trace("", 0, "*")  # marks the Seq that stands for arguments given by `*` whose number is not known


def is_starred(v: dom.Value) -> TypeGuard[dom.Seq]:
    """Whether a value stands for any number of arguments."""
    return isinstance(v, dom.Seq) and v.trace is STARRED


def without_stars(args: dom.Args) -> list[dom.Value]:
    """Arguments for what does not tell a `*` from a list."""
    for v in args:
        if type(v) is dom.Seq and v.trace is STARRED:
            return [dom.Seq(v.item, v.size) if is_starred(v) else v for v in args]
    return args


def bind(engine: Defining, unit: FunctionUnit, args: Sequence[dom.Value], kwargs: dom.Kwargs) -> dict[str, dom.Value]:
    """Arguments by the names of the parameters; defaults for what was not given."""
    a = unit.args
    values: dict[str, dom.Value] = {}
    left: dict[str, Any] = dict(kwargs)
    loose = left.pop("**", None)
    flat = args
    filler: dom.Value | None = None
    if dom.Seq in map(type, args):
        flat = [v for v in args if not is_starred(v)]
        filler = next((v.item for v in reversed(args) if is_starred(v)), None)
    for i, (parameter, default) in enumerate(unit.positional):
        passed: dom.Value | None = flat[i] if i < len(flat) else left.pop(parameter.arg, None)
        if passed is not None:
            values[parameter.arg] = _argument(engine, unit, parameter, passed)
        elif isinstance(filler, dom.Tensor) and filler.guessed:
            values[parameter.arg] = exported_value(engine, unit, parameter, default)
        elif type(filler) is dom.Config:
            values[parameter.arg] = engine.constructor_value(unit, parameter, default)
        elif filler is not None:
            values[parameter.arg] = filler
        else:
            values[parameter.arg] = _missing(engine, unit, parameter, default, loose)
    if a.vararg is not None:
        rest = flat[len(unit.positional) :]
        values[a.vararg.arg] = (
            dom.Tuple(tuple(rest)) if filler is None else dom.Seq(join_all([*rest, filler]) or dom.UNKNOWN)
        )
    for parameter, default in zip(a.kwonlyargs, a.kw_defaults, strict=True):
        if parameter.arg in left:
            values[parameter.arg] = _argument(engine, unit, parameter, left.pop(parameter.arg))
        else:
            values[parameter.arg] = _missing(engine, unit, parameter, default, loose)
    if a.kwarg is not None:
        values[a.kwarg.arg] = dom.Dict(tuple(sorted(left.items())), loose)
    return values


def names_passed(unit: FunctionUnit, args: Sequence[dom.Value], kwargs: Iterable[str]) -> set[str]:
    """The parameters for which a call may give something."""
    names = [p.arg for p, _ in unit.positional]
    if "**" in kwargs or any(is_starred(v) for v in args):
        return {*names, *(p.arg for p in unit.args.kwonlyargs)}
    return {*names[: len(args)], *kwargs}


def _argument(engine: Defining, unit: FunctionUnit, parameter: ast.arg, v: dom.Value) -> dom.Value:
    """An argument as the function sees it; a dict by its annotation is no tensor, nor is an input that is a list."""
    if not isinstance(v, dom.Tensor):
        return _setting(engine, unit, parameter, v) if unit.name == "__init__" else v
    annotated: dom.Value | None = None
    unshaped = v.source == "input" and v.dims is None
    if parameter.annotation is not None and ((unshaped and v.parameter) or _names_a_dict(parameter.annotation)):
        trace = v.trace or dom.Trace(unit.module.path, parameter.lineno + unit.shift, f"`{parameter.arg}` is given")
        annotated = by_annotation(engine, parameter.annotation, trace, unit.module)
        if _names_a_dict(parameter.annotation):
            return annotated if isinstance(annotated, dom.Dict) else dom.UNKNOWN
    listed = isinstance(annotated, dom.Seq) and v.parameter and not _asks_for_a_tensor(engine)
    if unshaped and (listed or parameter.arg in lists_of_tensors(unit)):
        return dom.Seq(replace(v, lead=None, parameter=""), dom.CONFIG, optional=v.optional)
    # In another function it is no longer what the model was given.
    return replace(v, parameter="") if v.parameter and v.trace is not None and _is_called(engine) else v


def _setting(engine: Defining, unit: FunctionUnit, parameter: ast.arg, v: dom.Value) -> dom.Value:
    """An argument of a constructor, of which nobody may know more than what the configurations say."""
    if v == dom.Const(False) and FOR_EXPORTS.search(parameter.arg):
        return dom.Config(default=dom.Const(True))  # who exports the model turns it on
    told = parameter.arg in engine.settings and v in (dom.UNKNOWN, dom.CONFIG)
    return engine.constructor_value(unit, parameter, None) if told else v


def _asks_for_a_tensor(engine: InContext) -> bool:
    """True where the function that calls asks whether something is a tensor: it may pass one as a list of rows."""
    unit = engine.frames[-1].unit if engine.frames else None
    return unit is not None and re.search(r"\bisinstance\([^\n]*\bTensor\b", unit.text) is not None


def _is_called(engine: InContext) -> bool:
    return bool(engine.frames) and engine.context.tracing


def handed_over(engine: InContext, unit: FunctionUnit, scope: dict[str, dom.Value]) -> dict[str, dom.Value]:
    """What the parameters are bound to, with a step that says where: only a call that is run needs it."""
    if not _is_called(engine):
        return scope
    frame, name = engine.frames[-1], unit.name

    def passed(parameter: str, v: dom.Value) -> dom.Value:
        if not isinstance(v, (dom.Tensor, dom.Dim, dom.Data)) or v.trace is None:
            return v
        step = f"passed to `{name}` as `{parameter}`"
        return replace(v, trace=dom.Trace(frame.module.path, frame.line, step, v.trace))

    return {parameter: passed(parameter, v) for parameter, v in scope.items()}


def _missing(
    engine: Defining, unit: FunctionUnit, parameter: ast.arg, default: ast.expr | None, loose: dom.Value | None
) -> dom.Value:
    if loose is not None and default is not None and unit.name == "__init__":
        return engine.constructor_value(unit, parameter, default)
    if loose is not None or default is None:
        return loose if loose is not None and default is None else dom.UNKNOWN
    return dom.Const(default.value) if isinstance(default, ast.Constant) else engine.evaluate_default(unit, default)


def _names_a_dict(annotation: ast.expr) -> bool:
    """True for `dict[...]` and `dict[...] | None`."""
    if isinstance(annotation, ast.BinOp):
        return _names_a_dict(annotation.left)
    return isinstance(annotation, ast.Subscript) and getattr(annotation.value, "id", "") in ("dict", "Dict")
