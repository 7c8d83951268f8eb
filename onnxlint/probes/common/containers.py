"""Containers of tensors as forward annotates them: tuples, named tuples and dataclasses out of lists and dicts."""

import dataclasses
import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Union

from torch import nn


def noted(model: nn.Module) -> Mapping[str, Any]:
    """The annotations of forward's parameters; as text where they cannot be resolved."""
    try:
        return {name: present(note) for name, note in typing.get_type_hints(model.forward).items()}
    except Exception:  # noqa: BLE001 - what an annotation says when it is evaluated is the user's
        return dict(getattr(model.forward, "__annotations__", {}))


def signature_of(function: Any) -> list[inspect.Parameter] | None:
    """The parameters of a callable; None where Python cannot tell them, as of some C functions and scripted models."""
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None


def needed(function: Any) -> list[inspect.Parameter]:
    """The parameters of a callable without which it cannot be called."""
    every = signature_of(function) or ()
    return [p for p in every if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


def parameters(model: nn.Module) -> list[inspect.Parameter] | None:
    """The parameters of forward with their annotations; None where it has no signature."""
    every, notes = signature_of(model.forward), noted(model)
    return None if every is None else [p.replace(annotation=notes.get(p.name, p.annotation)) for p in every]


def present(annotation: Any) -> Any:
    """An annotation without its None: `State` of `State | None`."""
    if typing.get_origin(annotation) in (Union, UnionType):
        kind, *more = (kind for kind in typing.get_args(annotation) if kind is not NoneType)
        return annotation if more else kind
    return annotation


def fields_of(annotation: Any) -> Mapping[str, Any]:
    """The required fields of a named tuple or a dataclass, each with its annotation."""
    if not isinstance(annotation, type):
        return {}
    missing = dataclasses.MISSING
    if dataclasses.is_dataclass(annotation):
        fields = [f for f in dataclasses.fields(annotation) if f.init and f.default is f.default_factory is missing]
        return {f.name: f.type for f in fields}
    names = getattr(annotation, "_fields", None)
    if issubclass(annotation, tuple) and isinstance(names, tuple):
        defaults = getattr(annotation, "_field_defaults", {})
        return {name: annotation.__annotations__.get(name, Any) for name in names if name not in defaults}
    return {}


def as_annotated(model: nn.Module, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of forward, lists and dicts converted to the type that their parameter is annotated with."""
    if not any(isinstance(value, (list, dict)) for value in arguments.values()):
        return dict(arguments)
    notes = noted(model)
    return {name: _made(present(notes.get(name)), value) for name, value in arguments.items()}


def _made(annotation: Any, value: Any) -> Any:
    if not isinstance(value, (list, dict)):
        return value
    if fields := fields_of(annotation):
        if isinstance(value, list):
            return _built(annotation, value, {}, value)
        return _built(annotation, (), {k: _made(present(fields.get(k)), v) for k, v in value.items()}, value)
    origin, inner = typing.get_origin(annotation) or annotation, typing.get_args(annotation)
    if isinstance(value, list):
        kinds = [kind for kind in inner if kind is not Ellipsis] or [None]
        items = [_made(present(kinds[min(n, len(kinds) - 1)]), item) for n, item in enumerate(value)]
        return tuple(items) if origin is tuple else items
    items_by_key = {k: _made(present(inner[-1]) if inner else None, v) for k, v in value.items()}
    if isinstance(origin, type) and issubclass(origin, dict) and origin is not dict:
        return _built(origin, (items_by_key,), {}, value)
    return items_by_key


def _built(kind: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], plain: Any) -> Any:
    """An object of the user's class; the plain value where its constructor raises."""
    try:
        return kind(*args, **kwargs)
    except Exception:  # noqa: BLE001 - the constructor is the user's; forward then says what is wrong
        return plain
