"""What a forward does with a parameter that is no single tensor: the keys it reads, the items it unpacks."""

from __future__ import annotations

import ast
import inspect
import textwrap
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from onnxlint.probes.common import containers

USUAL = 3  # items of a list that nothing counts
_MOST = 12
_ANY = ("first", "second")  # the keys of a dict that is asked for none by name


@dataclass(frozen=True, slots=True)
class Use:
    """A parameter that holds others: by `keys`, or `count` of them in order; `layers` each take one of these."""

    keys: tuple[str, ...] = ()
    count: int = 0
    layers: tuple[nn.Module, ...] = ()


def uses(model: nn.Module) -> dict[str, Use]:
    """The parameters of a model's forward that are lists, tuples or dicts, by what its source does with them."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(type(model).forward)))
        parameters = inspect.signature(model.forward).parameters
    except (OSError, TypeError, SyntaxError, ValueError):
        return {}
    notes = containers.noted(model)
    result = {name: _use(name, notes.get(name, p.annotation), tree, model) for name, p in parameters.items()}
    return {name: use for name, use in result.items() if use is not None}


def _use(name: str, annotation: Any, tree: ast.Module, model: nn.Module) -> Use | None:
    fields = containers.fields_of(annotation)
    if fields:
        return Use(keys=tuple(fields))
    asked = list(_asked(name, tree))
    keys = tuple(dict.fromkeys(key for key in asked if isinstance(key, str)))
    if keys:
        return Use(keys=keys)
    origin = typing.get_origin(annotation)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return Use(keys=_ANY)
    if _comes_as_tensor(name, tree):
        return None
    layers = next(_walked(name, tree, model), ())
    pieces = str(annotation).replace("typing.", "").lower()
    listed = "tensor" in pieces and pieces.split("[")[0].rpartition(".")[2] in ("list", "sequence", "tuple", "iterable")
    if layers:
        return Use(count=len(layers), layers=layers)
    unpacked = max(_unpacked(name, tree), default=0)
    if unpacked > 1:
        return Use(count=unpacked)
    if listed:
        inside = pieces.partition("[")[2]
        count = inside.count("tensor") if "tuple" in pieces and "..." not in inside else 0
        return Use(count=max([count, *(min(key, _MOST) + 1 for key in asked if isinstance(key, int))]) or USUAL)
    return None


def _comes_as_tensor(name: str, tree: ast.Module) -> bool:
    """Whether a parameter is asked, before the name gets another value, for what tensors have and lists have not."""
    bound = [
        n.lineno for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)
    ]
    return any(
        isinstance(node, ast.Attribute)
        and _is(name, node.value)
        and node.lineno <= min(bound, default=node.lineno)
        and hasattr(torch.Tensor, node.attr)
        and not hasattr(list, node.attr)
        for node in ast.walk(tree)
    )


def _asked(name: str, tree: ast.Module) -> Iterator[str | int]:
    """The keys and indices that a parameter is subscripted with."""
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(value=ast.Name(id=owner), slice=ast.Constant(value=str(key) | int(key))) if (
                owner == name
            ):
                yield key
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=owner), attr="get" | "pop"),
                args=[ast.Constant(value=str(key)), *_],
            ) if owner == name:
                yield key


def _unpacked(name: str, tree: ast.Module) -> Iterator[int]:
    """How many names a parameter is unpacked into."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=parts)], value=ast.Name(id=owner)) if owner == name:
                yield len(parts)


def _walked(name: str, tree: ast.Module, model: nn.Module) -> Iterator[tuple[nn.Module, ...]]:
    """The layers that a loop over `zip(self.layers, parameter)` gives one item each."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="zip"), args=parts) if any(_is(name, part) for part in parts):
                for part in parts:
                    match part:
                        case ast.Attribute(value=ast.Name(id="self"), attr=attribute):
                            layers = getattr(model, attribute, None)
                            if isinstance(layers, nn.ModuleList):
                                yield tuple(layers)


def _is(name: str, node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == name
