"""What the page shows, as plain data: words, places and excerpts, in the order in which they stand there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from onnxlint.base.catalogue import Contract
from onnxlint.base.records import Finding
from onnxlint.report.html.code import Line, Piece
from onnxlint.report.html.drawing import Drawing
from onnxlint.report.html.plot import Plot


@dataclass(frozen=True, slots=True)
class StepView:
    """A step of a trace: where, what, and the line."""

    place: str
    message: str
    code: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class ObservationView:
    """One piece of evidence; `model` is empty where all of a finding is of one."""

    place: str
    variation: str
    size: str
    detail: str
    model: str
    command: str
    inputs: tuple[tuple[str, str], ...] = ()
    graphs: Drawing | None = None


@dataclass(frozen=True, slots=True)
class SidesView:
    """Who agrees with whom: the first group is PyTorch's."""

    groups: tuple[str, ...]
    refusing: tuple[str, ...]
    unknown: str
    advice: str
    issue: str


@dataclass(frozen=True, slots=True)
class ExporterView:
    """What became of a finding in one exporter: `state` is bad, good or open."""

    key: str
    name: str
    state: str
    told: str
    observations: tuple[ObservationView, ...]
    more: tuple[ObservationView, ...]
    sides: SidesView | None
    plots: tuple[tuple[str, Plot], ...] = ()


@dataclass(frozen=True, slots=True)
class FixView:
    """What to write instead; `rows` are (sign, number, text), `code` and `patch` are for the clipboard."""

    title: str
    promise: str
    rows: tuple[tuple[str, int, str], ...] = ()
    code: str = ""
    patch: str = ""


@dataclass(frozen=True, slots=True)
class FindingView:
    """One finding, `of` which the record tells the rest. `kind` is the first filter that it belongs to.

    `searched` is what the filter by text looks at, `shown` whether it is there before any filter.
    """

    of: Finding
    anchor: str
    kind: str
    verdict: str
    place: str
    excerpt: tuple[Line, ...]
    steps: tuple[StepView, ...]
    exporters: tuple[ExporterView, ...]
    remedy: FixView | None
    searched: str
    shown: bool


@dataclass(frozen=True, slots=True)
class Cell:
    """One model in one exporter: where it fails and how long it takes are `told`; `anchor` leads to a finding of it."""

    state: str
    label: str
    told: str = ""
    detail: str = ""
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class ModelView:
    """One row of the table."""

    name: str
    place: str
    cells: tuple[Cell, ...]
    assumed: tuple[tuple[str, str], ...] = ()
    sizes: str = ""
    slower: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UnprobedView:
    """A model that was not probed."""

    name: str
    place: str
    reason: str
    remedy: str


class Notice(NamedTuple):
    """Something to know about the run: `kind` is error or warning, `label` what it is called."""

    kind: str
    label: str
    place: str
    message: str


@dataclass(frozen=True, slots=True)
class Choice:
    """Something that the findings can be filtered by; `on` is how it stands at first."""

    key: str
    name: str
    amount: int
    on: bool = True


@dataclass(frozen=True, slots=True)
class Overview:
    """The whole page. `nothing` is what it says where there is no finding."""

    state: str
    nothing: str
    headline: str
    sentence: str
    fixes: str
    versions: str
    exporters: tuple[str, ...]
    models: tuple[ModelView, ...]
    unprobed: tuple[UnprobedView, ...]
    findings: tuple[FindingView, ...]
    verdicts: tuple[Choice, ...]
    found_in: tuple[Choice, ...]
    rules: tuple[Choice, ...]
    notices: tuple[Notice, ...]
    contracts: tuple[Contract, ...]
