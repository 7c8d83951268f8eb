"""What torch's functions, Tensor methods and modules return, read, draw and lower to: the shipped table, torch-free."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any

from onnxlint.records import EXPORTERS

_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Condition:
    """One exporter fails on an operator `when` a call has this argument (`antialias=True`)."""

    exporter: str
    when: str
    outcome: str  # "refused", "wrong" or "runtime-error"


@dataclass(frozen=True, slots=True)
class Op:
    """What is known of one operator.

    `returns` is `tensor`, `tensors` (a tuple or list of them), `int`, `float`, `bool` (static where `reads_data` is
    false: rank, dtype tests), `scalar` (a Python number), `dim` (an int that depends on sizes), `shape`, `list`,
    `array` (numpy), `none` or `other`. `returns_if` maps an argument to what is returned when it is given and true.
    `only_if` maps a flag (`data_shape`, `random`) to the condition that it needs. `view` means: may alias the input.
    `lowering` maps an exporter to the lowest opset it can lower the operator at, None for never; an exporter is
    missing where that is not known, or where the result is a Python value. `wrong` names the exporters that lower
    it to something else than eager on a plain example.
    """

    name: str
    returns: str
    reads_data: bool = False
    data_shape: bool = False
    random: bool = False
    inplace: bool = False
    view: bool = False
    complex: bool = False
    only_if: Mapping[str, str] = field(default_factory=dict)
    returns_if: Mapping[str, str] = field(default_factory=dict)
    lowering: Mapping[str, int | None] = field(default_factory=dict)
    unless: tuple[Condition, ...] = ()
    wrong: tuple[str, ...] = ()

    def lowers(self, exporter: str, opset: int) -> bool | None:
        """Whether `exporter` lowers the operator at `opset`, its conditions aside; None where it is not known."""
        if exporter not in self.lowering:
            return None
        lowest = self.lowering[exporter]
        return lowest is not None and lowest <= max(opset, WRITES_FROM.get(exporter, 0))


WRITES_FROM = {"dynamo": 18}  # the opset of what is translated; an older one is converted from it afterwards


class OpTable:
    """The operators by public name: `torch.nonzero`, `torch.Tensor.item`, `torch.nn.ReLU`."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.versions: Mapping[str, str] = data["versions"]
        self._rows: Mapping[str, Mapping[str, Any]] = data["ops"]
        self._names: Mapping[str, str] = data["names"]
        self._made: dict[str, Op] = {}

    @staticmethod
    @cache
    def load() -> OpTable:
        """Read the shipped table, once per process."""
        return OpTable(json.loads(resources.files("onnxlint.flow").joinpath("ops.json").read_bytes()))

    def get(self, name: str) -> Op | None:
        """The operator of a public name (also `torch.functional.x`); None if torch has no such name."""
        key = self._names.get(name)
        if key is None and name.startswith("torch.functional."):
            key = self._names.get("torch." + name.removeprefix("torch.functional."))
        return None if key is None else self._op(key)

    def method(self, name: str) -> Op | None:
        """The method or property `name` of torch.Tensor."""
        return self.get(f"torch.Tensor.{name}")

    def names(self) -> tuple[str, ...]:
        """Every public name, sorted."""
        return tuple(self._names)

    def _op(self, key: str) -> Op:
        made = self._made.get(key)
        if made is None:
            row = self._rows[key]
            made = self._made[key] = Op(
                name=key,
                returns=row["returns"],
                **dict.fromkeys(row.get("flags", ()), True),
                only_if=row.get("only_if", _NOTHING),
                returns_if=row.get("returns_if", _NOTHING),
                lowering=row.get("lowering", _NOTHING),
                unless=tuple(Condition(*c) for c in row.get("unless", ())),
                wrong=tuple(e for e in EXPORTERS if e in row.get("wrong", ())),
            )
        return made
