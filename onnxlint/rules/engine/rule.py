"""What a rule is: one class, which looks at observations on libcst nodes, objects to some, and mends them."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import libcst as cst

from onnxlint.base.records import Fix, Outcome, Safety, Severity, Span
from onnxlint.flow.state.observations import Observation
from onnxlint.rules.engine.site import Site

PREFIX = "on_"


@dataclass(frozen=True, slots=True)
class Objection:
    """What a rule has to say of an observation: the fault, and what to write instead. Its contract says the rest.

    `span`, `severity` and `effects` are given where they differ from the observation's or the contract's. `hints` tell
    the rule's fix what the source text alone does not. `ends` says that what is observed raises before anything else
    can go wrong there: what other rules object to is a note below it. Findings of one function `about` the same thing
    are shown as one.
    """

    message: str
    advice: str
    span: Span | None = None
    severity: Severity | None = None
    effects: Mapping[str, Outcome] | None = None
    hints: Mapping[str, str | int] = field(default_factory=dict)
    ends: bool = False
    about: str = ""


Handler = Callable[[Any, cst.CSTNode, Any], Iterator[Objection]]


class Rule:
    """A rule, by the code of its contract. Each method `on_...(self, node, seen)` yields Objections to observations.

    Which kind of observation it is called with says the annotation of `seen`; `node` is what that was made at: an
    expression or a statement, parsed without what is around it, and an empty module where libcst does not parse it.
    Every call of the contract's `operators` is observed, by canonical name (`torch.std`, which is the name of `x.std()`
    too); of others, those that the tables mark. `safety` is the most that `fix` promises; one fix may promise less.
    `changes_output`: what eager computes changes, and is meant to, as when dropout ends in eval mode.
    """

    code: ClassVar[str]
    safety: ClassVar[Safety] = Safety.MANUAL
    changes_output: ClassVar[bool] = False
    handlers: ClassVar[Mapping[type[Observation], Handler]] = {}

    def __init_subclass__(cls) -> None:
        """Find the handlers. Raises TypeError where the class contradicts itself, or one takes no observation."""
        super().__init_subclass__()
        if (cls.fix is not Rule.fix) != (cls.safety is not Safety.MANUAL):
            raise TypeError(f"{cls.__name__} needs a `safety` if and only if it has a `fix`")
        if cls.changes_output and cls.safety is Safety.SAFE:
            raise TypeError(f"the fix of {cls.__name__} changes what eager computes: it is not safe")
        handlers: dict[type[Observation], Handler] = {}
        for name, method in vars(cls).items():
            if name.startswith(PREFIX):
                *_, last = inspect.signature(method).parameters
                kind = typing.get_type_hints(method).get(last)
                if not (isinstance(kind, type) and issubclass(kind, Observation)):
                    raise TypeError(
                        f"`{last}` of {cls.__name__}.{name} is annotated with {kind}, no kind of observation"
                    )
                if kind in handlers:
                    raise TypeError(f"{cls.__name__} has two methods for {kind.__name__}")
                handlers[kind] = method
        cls.handlers = handlers

    def fix(self, site: Site) -> Fix | None:
        """Mend a finding of this rule; None where that cannot be done."""
        return None
