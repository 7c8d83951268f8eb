"""Where the analysis is: for which exporters it runs, traced or not, under what. Replaced as a whole, never changed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from onnxlint.base.records import EXPORTERS
from onnxlint.flow.values.shapes import Axes


@dataclass(frozen=True, slots=True)
class Context:
    """What holds for what runs now. Equal ones of one run are the same object, so each is made once."""

    exporters: tuple[str, ...] = EXPORTERS  # those whose trace comes here
    axes: Axes = Axes()  # noqa: RUF009 - it is immutable
    opset: int = 18
    tracing: bool = False
    testing: bool = False  # the expression is a condition
    silent: bool = False  # in an arm that a fresh model does not take, or in a loss
    asked: bool = False  # a flag was turned on, on the way here, that is off by default
    unusual: bool = False  # in an arm of what builds a model that no setting takes unless it is changed
    for_exports: bool = False  # in an arm that is there for exports alone: what is constant there is meant to be
    outside: str = ""  # why no export comes through what runs
    replaced: bool = False  # in a forward that a decorator of its class may replace
    by_size: bool = False  # in an arm of this function that a size chooses
    looping: int = 0  # loops of this function around the statement
    over_modules: bool = False  # what a loop that turns once for each module runs over is being evaluated
    outermost: bool = False  # what runs first is a model that nothing else in the project holds
    set_length: bool = False  # the sequences that it gets are as long as a setting says
    switching: bool = False  # what runs first is an overridden `eval()` or `train()`
    example_batch: int | None = None
    describing: int = 0  # how deep in annotations of records
    aliases: frozenset[tuple[str, str]] = frozenset()  # those of types that are being followed
    _made: dict[Context, Context] = field(default_factory=dict, repr=False, compare=False)
    changed: dict[tuple[Any, ...], Context] = field(default_factory=dict, init=False, repr=False, compare=False)

    def but(self, **changes: Any) -> Context:
        """This context with other values. Raises TypeError for one that it does not have."""
        key = tuple(changes.items())
        other = self.changed.get(key)
        if other is None:
            made = replace(self, **changes)
            other = self.changed[key] = self._made.setdefault(made, made)
        return other


class Located:
    """What is somewhere. `context` is where; only `within` and `narrow` replace it."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self._around: list[tuple[Context, Context, dict[str, Any]]] = []

    def within(self, **changes: Any) -> Located:
        """A `with` block in which the context has other values; at its end these, and no others, are as before."""
        outer = self.context
        inner = outer.changed.get((*changes.items(),)) or outer.but(**changes)  # looked up here: every `if` opens three
        self._around.append((outer, inner, changes))
        self.context = inner
        return self

    def __enter__(self) -> None:
        """The block begins."""

    def __exit__(self, *_: object) -> None:
        outer, inner, changes = self._around.pop()
        if self.context is inner:
            self.context = outer
        else:  # what was narrowed meanwhile stays
            self.context = self.context.but(**{name: getattr(outer, name) for name in changes})

    def narrow(self, **changes: Any) -> None:
        """Other values for what follows, up to the end of the block around that names them."""
        self.context = self.context.but(**changes)
