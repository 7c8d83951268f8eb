"""Constructor arguments that nobody gave: from annotations, names and configuration classes, repaired from errors."""

import importlib
import inspect
import re
import types
import typing
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from torch import nn

from onnxlint.base.probe_records import TARGET
from onnxlint.base.records import text_of
from onnxlint.probes.common.containers import needed, signature_of
from onnxlint.probes.examples.examples import ProbeFailure, describe, seed_everything
from onnxlint.probes.examples.factory_arguments import build
from onnxlint.probes.guess import conventions as say
from onnxlint.probes.guess.error_repair import at_fault

TRIES = 12
_STAGES = ("depths", "hidden_sizes", "num_heads", "embed_dims", "layer_depths")
_QUOTED = re.compile(r"'(\w+)'")
_MISSING = re.compile(r"missing \d+ required [\w-]+ arguments?: (.*)")
_WRAPPED = ("fn", "func", "block", "module", "net")  # what a wrapper calls
_MODULES = ("model", "encoder", "decoder", "backbone", "vit", "transformer", "teacher", "student")
_NESTED = 2  # modules that take modules, which take modules


class Unbuilt(ProbeFailure):
    """A class for which no arguments were found; `arguments` is a start, with None where nothing says."""

    def __init__(self, reason: str, arguments: Mapping[str, Any]) -> None:
        super().__init__(reason)
        self.arguments = arguments


def find_arguments(cls: Any, nested: int = 0) -> dict[str, Any]:
    """Return arguments that build a class, as a configuration holds them. Raises Unbuilt with what was tried."""
    arguments = {p.name: _argument(p, cls, nested) for p in needed(cls)}
    if not arguments and not any(p.kind is p.VAR_KEYWORD for p in signature_of(cls) or ()):  # for a base with some
        return {}
    if unknown := [f"`{name}`" for name, value in arguments.items() if value is None]:
        raise Unbuilt(f"nothing says what to give its constructor for {', '.join(unknown)}", arguments)
    queue = deque([arguments])
    seen: list[dict[str, Any]] = []
    reason = ""
    while queue and len(seen) < TRIES:
        current = queue.popleft()
        if current in seen:
            continue
        seen.append(current)
        seed_everything()
        try:
            cls(**build(current))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - what it raises is what we learn from
            reason = reason or describe(error)
            queue.extend(_repaired(current, error, cls))
        else:
            return current
    tried = "one way was" if len(seen) == 1 else f"{len(seen)} ways were"
    shown = ", ".join(f"{k}={v.get(TARGET, v) if isinstance(v, dict) else v!r}" for k, v in seen[0].items())
    raise Unbuilt(f"its constructor raised {reason} with {shown or 'no arguments'}; {tried} tried", seen[-1])


def _argument(p: inspect.Parameter, cls: Any, nested: int) -> Any:
    """A value for one parameter; None where nothing says."""
    note = _resolved(p, cls)
    if inspect.isclass(note) and nested < _NESTED:
        if issubclass(note, nn.Module) and note is not nn.Module:
            return {TARGET: f"{note.__module__}:{note.__qualname__}", **find_arguments(note, nested + 1)}
        if _is_config(note):
            return _tiny_config(note)
    if p.name == "config" and _is_config(getattr(cls, "config_class", None)):
        return _tiny_config(cls.config_class)
    if p.name in say.ARGUMENTS:
        value = say.ARGUMENTS[p.name]
        return list(value) if isinstance(value, tuple) else value
    for name, value in say.ARGUMENTS.items():
        if isinstance(value, int) and (p.name.endswith("_" + name) or p.name.startswith(name + "_")):
            return value
    if p.name in _WRAPPED and note is p.empty:
        return {TARGET: "torch.nn:Identity"}
    if typing.get_origin(note) in (list, tuple, Sequence) and typing.get_args(note)[0] is int:
        return [8] * max(2, sum(a is int for a in typing.get_args(note)))
    if note is int or (note is p.empty and p.name not in (*_MODULES, "config", "cfg", "args")):
        return 8
    return {bool: False, float: 0.5, str: None}.get(note) if inspect.isclass(note) else None


def _resolved(p: inspect.Parameter, cls: Any) -> Any:
    """The annotation of a parameter, looked up where it is written as text."""
    if not isinstance(p.annotation, str):
        if typing.get_origin(p.annotation) not in (typing.Union, types.UnionType):
            return p.annotation
        options = [a for a in typing.get_args(p.annotation) if a is not type(None)]
        return int if int in options else options[0]
    name = p.annotation.partition("|")[0].strip()
    if re.fullmatch(r"(?:typing\.)?(?:list|tuple|sequence)\[int\b.*\]", name, re.IGNORECASE):
        return list[int]
    plain = {"int": int, "float": float, "bool": bool, "str": str}
    return plain.get(name) or getattr(importlib.import_module(cls.__module__), name, p.annotation)


def _is_config(note: Any) -> bool:
    plain = inspect.isclass(note) and not issubclass(note, nn.Module)
    return plain and note.__name__.lower().endswith(("config", "args", "configuration"))


def _tiny_config(cls: Any) -> dict[str, Any]:
    """A small instance of a configuration class, as the arguments that make it."""
    target = {TARGET: f"{cls.__module__}:{cls.__qualname__}"}
    missing = {p.name: _argument(p, cls, _NESTED) for p in needed(cls)}
    seed_everything()
    try:
        default = cls(**missing)
    except Exception as error:
        raise ProbeFailure(f"`{cls.__name__}`, which its constructor needs, raised {describe(error)}") from error
    staged = any(isinstance(getattr(default, name, None), (list, tuple)) for name in _STAGES)  # have to fit each other
    names = ("vocab_size", "image_size") if staged else say.TINY
    settable = {**missing, **{k: say.TINY[k] for k in names if type(getattr(default, k, None)) is int}}
    vocabulary = say.TINY["vocab_size"] if type(getattr(default, "vocab_size", None)) is int else 0
    for name, value in vars(default).items():
        if name.endswith("_token_id") and type(value) is int and value >= vocabulary > 0:
            settable[name] = 1
        elif name == "pad_token_id" and value is None and vocabulary:
            settable[name] = 0
    accepted = inspect.signature(cls).parameters
    for attempt in (settable, {k: v for k, v in settable.items() if k in accepted}):
        try:
            cls(**attempt)
        except Exception:  # noqa: BLE001 - the next is tried; the defaults at last
            continue
        return {**target, **attempt}
    return {**target, **missing}


def _repaired(arguments: Mapping[str, Any], error: BaseException, cls: Any) -> list[dict[str, Any]]:
    text = text_of(error)
    result: list[dict[str, Any]] = []
    named = [n for n in arguments if re.search(rf"\b{re.escape(n)}\b", text)] or at_fault(error, list(arguments))
    if re.search(r"not (iterable|subscriptable)|has no len|cannot unpack|must be (a )?sequence|list|tuple", text):
        for name, value in arguments.items() if not named else ((name, arguments[name]) for name in named):
            if type(value) is int:
                result += [{**arguments, name: [value] * count} for count in (2, 3)]
    if re.search(r"divisible|multiple", text) or isinstance(error, AssertionError):
        for name in named:
            if type(arguments[name]) is int:
                result += [{**arguments, name: other} for other in (arguments[name] * 2, 4, 8, 16, 64, 1)]
    names = [p.name for p in inspect.signature(cls).parameters.values() if p.default is None] + _QUOTED.findall(text)
    absent = (n for n in names if n in say.ARGUMENTS and n not in arguments and re.search(rf"\b{n}\b", text))
    more = {n: say.ARGUMENTS[n] for n in absent}
    missing = _MISSING.search(text)  # by a base, say, that gets them by `**kwargs`
    if missing:
        required = [inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY) for n in _QUOTED.findall(missing[1])]
        more = {p.name: _argument(p, cls, _NESTED) for p in required if p.name not in arguments}
        more = {} if None in more.values() else more
    if more:
        result.append({**arguments, **more})
    return result + [{**arguments, name: True} for name in named if arguments[name] is False]
