"""A copy of a model whose hooks belong to the copy: `copy.deepcopy` shares closures and what they refer to."""

import copy
from types import CellType, FunctionType, MethodType
from typing import Any

import torch


def copied(model: torch.nn.Module) -> torch.nn.Module:
    """A deep copy, in which hooks and replaced methods work on the copy. Raises what `copy.deepcopy` raises."""
    memo: dict[int, Any] = {}
    made = copy.deepcopy(model, memo)
    for module in made.modules():
        attributes = vars(module)
        hooks = [table for name, table in attributes.items() if name.endswith("_hooks") and isinstance(table, dict)]
        for holder in (attributes, *hooks):
            for name, value in list(holder.items()):
                if isinstance(value, FunctionType):
                    holder[name] = _rebound(value, memo)
    return made


def _rebound(function: FunctionType, memo: dict[int, Any]) -> FunctionType:
    """The function with the copies of what it holds, where there are copies; itself where there are none."""
    if isinstance(cached := memo.get(id(function)), FunctionType):
        return cached
    memo[id(function)] = function  # it may hold itself
    cells = function.__closure__ or ()
    contents = [() if cell == CellType() else (cell.cell_contents,) for cell in cells]  # () for a name without a value
    mine = [tuple(_of_the_copy(value, memo) for value in content) for content in contents]
    if all(a is b for old, new in zip(contents, mine, strict=True) for a, b in zip(old, new, strict=True)):
        return function
    closure = tuple(CellType(*content) for content in mine)
    bound = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__, closure)
    bound.__kwdefaults__ = function.__kwdefaults__
    bound.__dict__.update(function.__dict__)
    memo[id(function)] = bound
    return bound


def _of_the_copy(value: Any, memo: dict[int, Any]) -> Any:
    if isinstance(value, FunctionType):
        return _rebound(value, memo)
    if isinstance(value, MethodType) and id(value.__self__) in memo:
        return MethodType(value.__func__, memo[id(value.__self__)])
    return memo.get(id(value), value)
