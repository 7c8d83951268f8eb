"""What torch's functions, Tensor methods and modules return, read, draw and lower to: a table for each torch version.

`ops-VERSION.json` is generated: the newest whole, the others by what differs from it. `overlay.json` is curated: what
an exporter makes of a call for reasons that no table of operators shows, with source and versions of each entry.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any

from onnxlint.base.records import EXPORTERS, Outcome
from onnxlint.flow.tables.torch_versions import shipped

_NOTHING: Mapping[str, Any] = MappingProxyType({})
WRITES_FROM = {"dynamo": 18}  # the opset of what is translated; an older one is converted from it afterwards


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

    def refusals(self, opset: int) -> dict[str, Outcome]:
        """The exporters that cannot lower the operator at `opset`, its conditions aside."""
        return {e: Outcome.EXPORT_ERROR for e in EXPORTERS if self.lowers(e, opset) is False}


def _read(name: str) -> Any:
    return json.loads(resources.files("onnxlint.flow.tables").joinpath(name).read_bytes())


@dataclass(frozen=True, slots=True)
class Curated:
    """An entry of the overlay: what those exporters that fail make of a call, and the arguments that it is about."""

    outcomes: Mapping[str, Outcome]
    arguments: tuple[tuple[int, str], ...] = ()
    limit: int = 0


class OpTable:
    """The operators by public name: `torch.nonzero`, `torch.Tensor.item`, `torch.nn.ReLU`.

    `curated` holds the overlay by form of a call and by name, `named` its names.
    """

    def __init__(self, data: Mapping[str, Any], overlay: Iterable[Mapping[str, Any]] = ()) -> None:
        self.versions: Mapping[str, str] = data["versions"]
        self.curated: dict[str, dict[str, Curated]] = {}
        for row in overlay:
            places = tuple((position, name) for name, position in row.get("arguments", _NOTHING).items())
            outcomes = {exporter: Outcome(outcome) for exporter, outcome in row["outcomes"].items()}
            entry = Curated(outcomes, places, row.get("limit", 0))
            here = self.curated.setdefault(row["form"], {})
            versions = (*row["measured"], *row.get("assumed", ()))
            if not versions or data["versions"]["torch"] in versions:
                here.update(dict.fromkeys(row["names"], entry))
        self.named = frozenset(name for entries in self.curated.values() for name in entries)
        self._rows: Mapping[str, Mapping[str, Any]] = data["ops"]
        self._names: Mapping[str, str] = data["names"]
        self._made: dict[str, Op] = {}

    @staticmethod
    @cache
    def load(torch: str = "") -> "OpTable":
        """Read the table of a version in `shipped()`, by default the newest, once per process."""
        newest = shipped()[-1]
        data = _read(f"ops-{newest}.json")
        if torch not in ("", newest):
            other = _read(f"ops-{torch}.json")
            for section in ("ops", "names"):
                data[section] |= other[section]
                for gone in [key for key, row in other[section].items() if row is None]:
                    del data[section][gone]
            data["versions"] = other["versions"]
        return OpTable(data, _read("overlay.json"))

    def outcomes(self, form: str, name: str) -> Mapping[str, Outcome]:
        """What the exporters that fail make of `name` under `form`; an entry `*` is about any name."""
        entries = self.curated[form]
        entry = entries.get(name) or entries.get("*")
        return _NOTHING if entry is None else entry.outcomes

    def get(self, name: str) -> Op | None:
        """The operator of a public name (also `torch.functional.x`); None if torch has no such name."""
        key = self._names.get(name)
        if key is None and name.startswith("torch.functional."):
            key = self._names.get("torch." + name.removeprefix("torch.functional."))
        if key is not None and key not in self._made:
            row = self._rows[key]
            fields: dict[str, Any] = dict.fromkeys(row.get("flags", ()), True)
            fields |= {name: row.get(name, _NOTHING) for name in ("only_if", "returns_if", "lowering")}
            unless = tuple(Condition(*c) for c in row.get("unless", ()))
            wrong = tuple(e for e in EXPORTERS if e in row.get("wrong", ()))
            self._made[key] = Op(key, row["returns"], unless=unless, wrong=wrong, **fields)
        return None if key is None else self._made[key]

    def method(self, name: str) -> Op | None:
        """The method or property `name` of torch.Tensor."""
        return self.get(f"torch.Tensor.{name}")

    def names(self) -> tuple[str, ...]:
        """Every public name, sorted."""
        return tuple(sorted(self._names))
