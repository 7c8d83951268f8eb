"""What a forward does with a parameter that is no single tensor: the keys it reads, the items it unpacks."""

import ast
import inspect
import math
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
    asked = list(_asked(name, tree))
    if keys := containers.fields_of(annotation) or dict.fromkeys(key for key in asked if isinstance(key, str)):
        return Use(keys=tuple(keys))
    origin = typing.get_origin(annotation)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return Use(keys=_ANY)
    if _comes_as_tensor(name, tree):
        return None
    if layers := _walked(name, tree, model):
        return Use(count=len(layers), layers=layers)
    if (unpacked := _unpacked(name, tree)) > 1:
        return Use(count=unpacked)
    kind, _, inside = str(annotation).replace("typing.", "").lower().partition("[")
    if kind.rpartition(".")[2] not in ("list", "sequence", "tuple", "iterable") or "tensor" not in inside:
        return None
    count = inside.count("tensor") if "tuple" in f"{kind}{inside}" and "..." not in inside else 0
    return Use(count=max([count, *(min(key, _MOST) + 1 for key in asked if isinstance(key, int))]) or USUAL)


def _comes_as_tensor(name: str, tree: ast.Module) -> bool:
    """Whether a parameter is asked, before the name gets another value, for what tensors have and lists have not."""
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == name]
    bound = min((node.lineno for node in names if isinstance(node.ctx, ast.Store)), default=math.inf)
    read = [n for n in ast.walk(tree) if isinstance(n, ast.Attribute) and n.value in names and n.lineno <= bound]
    return any(hasattr(torch.Tensor, node.attr) and not hasattr(list, node.attr) for node in read)


def _asked(name: str, tree: ast.Module) -> Iterator[str | int]:
    """The keys and indices that a parameter is subscripted with."""
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(value=ast.Name(id=owner), slice=ast.Constant(value=str(key) | int(key))):
                if owner == name:
                    yield key
            case ast.Call(ast.Attribute(ast.Name(id=owner), "get" | "pop"), [ast.Constant(value=str(key)), *_]):
                if owner == name:
                    yield key


def _unpacked(name: str, tree: ast.Module) -> int:
    """How many names a parameter is unpacked into, at the most."""
    pairs = ((node.targets[0], node.value) for node in ast.walk(tree) if isinstance(node, ast.Assign))
    return max((len(to.elts) for to, value in pairs if isinstance(to, ast.Tuple) and _is(name, value)), default=0)


def _walked(name: str, tree: ast.Module, model: nn.Module) -> tuple[nn.Module, ...]:
    """The layers that a loop over `zip(self.layers, parameter)` gives one item each."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="zip"), args=parts) if any(_is(name, part) for part in parts):
                ours = (p.attr for p in parts if isinstance(p, ast.Attribute) and _is("self", p.value))
                for layers in (getattr(model, attribute, None) for attribute in ours):
                    if isinstance(layers, nn.ModuleList):
                        return tuple(layers)
    return ()


def _is(name: str, node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == name
