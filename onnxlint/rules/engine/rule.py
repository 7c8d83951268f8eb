"""What a rule is: one class, which looks at observations on libcst nodes, objects to some, and mends them."""

import inspect
import typing
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeVar

import libcst as cst

from onnxlint.base.records import Fix, Outcome, Safety, Severity, Span
from onnxlint.flow.state.observations import Call, Observation
from onnxlint.rules.engine.observed_file import PROVIDERS, ObservationProvider, ObservedFile, ValueProvider
from onnxlint.rules.engine.site import Site

PREFIX, VISIT = "on_", "visit_"
O = TypeVar("O", bound=Observation)  # noqa: E741 - the kind of observation


@dataclass(frozen=True, slots=True)
class Objection:
    """What a rule has to say of an observation: the fault. Its contract says the rest.

    `advice`, which is what to write instead, `at`, `severity` and `effects` are passed where they differ from the
    contract's `instead`, the node observed, and the contract's: the place is a node of the statement, or a span
    elsewhere. `hints` tell the rule's fix what the source text alone does not.
    `ends` says that what is observed raises before anything else can go wrong there: what other rules object to is a
    note below it; `static_too`, that it goes wrong of an axis that is not dynamic as well. Findings `about` the same
    thing in one function, class or file (`among`) are shown as one.
    """

    message: str
    advice: str = ""
    at: cst.CSTNode | Span | None = None
    severity: Severity | None = None
    effects: Mapping[str, Outcome] | None = None
    hints: Mapping[str, str | int] = field(default_factory=dict)
    ends: bool = False
    about: str = ""
    among: Literal["function", "class", "file"] = "function"
    static_too: bool = False


Node = cst.CSTNode
Objections = Iterator[Objection]
Handler = Callable[[Any, Any, Any], Objections]


class Rule(cst.BatchableCSTVisitor):
    """A rule, by the code of its contract, written in either of two ways.

    Each method `on_...(self, node, seen)` yields Objections to observations of one kind, which the annotation of `seen`
    says; `node` is what was observed. One for `Call` gets every kind of call that no other method of the rule is for.
    Each `visit_...(self, node)` is libcst's, and is called for the nodes of every
    statement in which anything was observed, those of formatting aside; it objects by `report`. Of a compound
    statement only the header is parsed. An empty module stands for what libcst does not read.
    Every call of the contract's `operators` is observed, by canonical name (`torch.std`, which is the name of `x.std()`
    too), for that rule; of others, those that the tables mark.
    `safety` is the most that `fix` promises; one fix may promise less.
    Of our own rules, the name of the module says the `code`, and the contract the `safety`.
    `changes_output`: what eager computes changes, and is meant to, as when dropout ends in eval mode.
    """

    METADATA_DEPENDENCIES = PROVIDERS
    code: ClassVar[str]
    safety: ClassVar[Safety] = Safety.MANUAL
    changes_output: ClassVar[bool] = False
    mends: ClassVar[bool] = False
    handlers: ClassVar[Mapping[type[Observation], Handler]] = {}
    visitors: ClassVar[Mapping[type[cst.CSTNode], Callable[[Any, Any], None]]] = {}

    def __init_subclass__(cls) -> None:
        """Collect the handlers. Raises TypeError where the class contradicts itself, or one has nothing to look at."""
        super().__init_subclass__()
        cls.mends = cls.fix is not Rule.fix or cls.fix_call is not Rule.fix_call
        if hasattr(cls, "code") and cls.mends != (cls.safety is not Safety.MANUAL):
            raise TypeError(f"{cls.__name__} needs a `safety` if and only if it has a `fix`")
        if cls.changes_output and cls.safety is Safety.SAFE:
            raise TypeError(f"the fix of {cls.__name__} changes what eager computes: it is not safe")
        handlers: dict[type[Observation], Handler] = {}
        visitors: dict[type[cst.CSTNode], Callable[[Any, Any], None]] = {}
        for name, method in vars(cls).items():
            if name.startswith(PREFIX):
                *_, last = inspect.signature(method).parameters
                kind = typing.get_type_hints(method).get(last)
                if not (isinstance(kind, type) and issubclass(kind, Observation)):
                    annotated = f"`{last}` of {cls.__name__}.{name} is annotated with {kind}"
                    raise TypeError(f"{annotated}, no kind of observation")
                if kind in handlers:
                    raise TypeError(f"{cls.__name__} has two methods for {kind.__name__}")
                handlers[kind] = method
            elif name.startswith((VISIT, "leave_")):
                kind = getattr(cst, name.removeprefix(VISIT), None)
                if not (isinstance(kind, type) and issubclass(kind, cst.CSTNode)):
                    raise TypeError(f"{cls.__name__}.{name} visits no kind of node")
                visitors[kind] = method
        cls.handlers, cls.visitors = handlers, visitors

    def look_at(self, file: ObservedFile, others: Collection[str] = ()) -> None:
        """Begin with the nodes of a file; `others` are operators that only other rules watch."""
        self.file = file
        self.others = others
        self.metadata = file.metadata
        self.reports: list[Objection] = []

    def report(self, node: cst.CSTNode, message: str, advice: str = "", **more: Any) -> None:
        """Object to a node; `more` is what an Objection has besides."""
        self.reports.append(Objection(message, advice, node, **more))

    def observations(self, node: cst.CSTNode, kind: type[O]) -> Sequence[O]:
        """What was observed of a kind at a node."""
        return [o for o in self.get_metadata(ObservationProvider, node, ()) if isinstance(o, kind) and self.concerns(o)]

    def concerns(self, seen: object) -> bool:
        """Tell whether a node or an observation is for this rule: a call is not that only other rules watch."""
        return type(seen) is not Call or bool(seen.outcomes) or seen.op not in self.others

    def value(self, node: cst.CSTNode) -> str:
        """What the dataflow knew of the value of a variable, or of what was observed; see flow/state/variable_kinds."""
        return self.get_metadata(ValueProvider, node, "")

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The node that holds a node; None for a statement."""
        return self.file.parent(node)

    def source(self, node: cst.CSTNode) -> str:
        """The text of a node, white space folded."""
        return self.file.source(node)

    def fix(self, site: Site) -> Fix | None:
        """Mend a finding of this rule; None where that cannot be done."""
        call = site.at_span(cst.Call)
        return self.fix_call(site, call) if call is not None else None

    def fix_call(self, site: Site, call: cst.Call) -> Fix | None:
        """The same, for the call that the finding is at: a rule has this or `fix`."""
        return None
