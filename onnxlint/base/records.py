"""The vocabulary of onnxlint as frozen records, without tree nodes, that go to JSON and back."""

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar

import msgspec

ESCAPES = re.compile(r"\x1b\[[0-9;:?]*[ -/]*[@-~]")  # by which a program steers a terminal
_ASIDE = re.compile(r" \(unhinted: .*\)\. +\(Size-like symbols: [^()\n]*\)")  # of torch 2.13: words for its own authors
K = TypeVar("K")
T = TypeVar("T")
Sources = Callable[[str], list[str]]  # the lines of a file by its path; none where there is no such file

EXPORTERS = ("torchscript", "dynamo")
EXPORTER_NAMES = {"torchscript": "TorchScript", "dynamo": "dynamo", "eager": "eager"}  # as sentences have them
ONNX_RUNTIME = "onnxruntime"  # on the CPU; its other execution providers have names of their own
OPENVINO = "openvino"


class Severity(StrEnum):
    """How bad a finding is; a confirmed finding is always an error."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class VerdictKind(StrEnum):
    """What the static and the dynamic evidence say together about one finding; the most certain first."""

    CONFIRMED = "confirmed"
    SUSPECTED = "suspected"
    NOT_REPRODUCED = "not-reproduced"


class Outcome(StrEnum):
    """What one exporter made of one model. `OK` means: exported, and ONNX Runtime agreed with eager everywhere."""

    OK = "ok"
    WRONG_VALUES = "wrong-values"
    SHAPE_ERROR = "shape-error"
    STATIC_DIM = "static-dim"
    EXPORT_ERROR = "export-error"
    RUNTIME_ERROR = "runtime-error"
    NONDETERMINISTIC = "nondeterministic"
    TIMEOUT = "timeout"
    CRASH = "crash"
    EAGER_ERROR = "eager-error"
    SKIPPED = "skipped"


class Cause(StrEnum):
    """What was observed at a source line; the key by which evidence without a finding picks its ONX7xx rule."""

    REFUSED = "refused"  # the exporter raised here
    ESCAPE = "escape"  # a tensor became a Python value here, and the value changed across variations
    BRANCH = "branch"  # the path through user code diverged here across variations
    GUARD = "guard"  # a guard or specialization was made here, tighter than the declared dims
    CONSTANT = "constant"  # the graphs of two variations differ in a constant that was made here
    MISMATCH = "mismatch"  # the first diverging value was computed here
    RUNTIME = "runtime"  # ONNX checker or ONNX Runtime refused the node that was made here
    RANDOM = "random"  # two runs of the same input differ because of a draw here
    MUTATION = "mutation"  # the forward changed a parameter, buffer or attribute here
    INPUT_VANISHED = "input-vanished"  # an input is not in the graph; the export may be right all the same
    UNROLLED = "unrolled"  # the export is right, and a loop over an input's axis is written out here
    WEIGHTS = "weights"  # the export is right, and has a second copy of the weight that is used here
    TABLE = "table"  # the export is right, and holds a large table that a fixed size of an input decided here
    EAGER = "eager"  # eager PyTorch itself raised here on a declared size


@dataclass(frozen=True, slots=True)
class Location:
    """A line of a file. `path` is relative to the working directory where possible; lines count from 1."""

    path: str
    line: int
    function: str = ""


@dataclass(frozen=True, slots=True)
class Span:
    """A range of source text. Lines and columns count from 1, the end column is exclusive."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a trace: how a value came to be what it is."""

    path: str
    line: int
    message: str


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the text from `start` to `end` (line and column from 1, end exclusive) by `text`. `node` are the places
    of the whole node that is replaced, of which the text is what changes; without it, the same."""

    path: str
    start: tuple[int, int]
    end: tuple[int, int]
    text: str
    node: tuple[tuple[int, int], tuple[int, int]] | None = field(default=None, compare=False)


class Safety(StrEnum):
    """What a fix promises: SAFE keeps eager's output, UNSAFE may not, MANUAL only tells what to write."""

    SAFE = "safe"
    UNSAFE = "unsafe"
    MANUAL = "manual"


@dataclass(frozen=True, slots=True)
class Fix:
    """What to write instead: edits and a promise. A MANUAL fix has no edits, its title is the advice."""

    title: str
    safety: Safety = Safety.MANUAL
    edits: tuple[Edit, ...] = ()


class Fault(StrEnum):
    """Who is at fault for a disagreement."""

    MODEL = "model"
    USE = "use"  # of the exporter: it was not asked for what the model is used for
    EXPORTER = "exporter"
    RUNTIME = "runtime"
    OPTIMIZER = "optimizer"  # of the runtime: without optimizations it is right
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Sides:
    """Who agrees with whom on one input, from eager PyTorch to the runtimes. `groups` are the sides that gave the same
    answer, PyTorch's first; `refused` maps others to their message, `unknown` those that could not be asked to the
    reason. `advice` is one sentence; `issue` is the path of a report to paste."""

    groups: tuple[tuple[str, ...], ...]
    refused: Mapping[str, str] = field(default_factory=dict, hash=False)
    unknown: Mapping[str, str] = field(default_factory=dict, hash=False)
    fault: Fault = Fault.UNKNOWN
    advice: str = ""
    issue: str | None = None


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A node of a graph that is drawn: `detail` are its constants, `sources` the rows that it takes its inputs from."""

    operator: str
    detail: str = ""
    sources: tuple[int, ...] = ()
    location: Location | None = None


@dataclass(frozen=True, slots=True)
class GraphRow:
    """The same place of two graphs; a side that has nothing there is None. `skipped` rows before it were left out."""

    left: GraphNode | None
    right: GraphNode | None
    differs: bool = False
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class GraphDiff:
    """Two graphs of one model side by side, around where they differ; `left` and `right` are the inputs they are of.
    `skipped` rows after the last one were left out."""

    left: str
    right: str
    rows: tuple[GraphRow, ...]
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one exporter (or `eager`) did at one place, under one variation, and how far off it was.

    `frames` are the user's frames, innermost first; the first is the line at fault. `symptom` is the outcome
    that this observation led to in that exporter; `max_abs` and `max_rel` are None where no values were compared.
    `repro` is the path of a stand-alone script that shows it again. `runtime` names the runtime it was seen in; empty
    where that is ONNX Runtime on the CPU, or none. `sides` tells who agrees with whom on that input. `reduced`: the
    input that `variation` names was made small, and detail and errors are those of what is left of it. `inputs` are the
    values that were fed, as text; `graphs` shows what the exporter's trace, or capture, of that input has otherwise
    than of the example. `proof` says what an intervention at this line alone showed; empty where none was tried.
    """

    model: str
    exporter: str
    cause: Cause
    symptom: Outcome
    frames: tuple[Location, ...]
    detail: str
    variation: str = ""
    max_abs: float | None = None
    max_rel: float | None = None
    repro: str | None = None
    runtime: str = ""
    sides: Sides | None = None
    reduced: bool = False
    inputs: Mapping[str, str] = field(default_factory=dict, hash=False)
    graphs: GraphDiff | None = None
    proof: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule objects to, at a span, with the trace that led there and, once probed, the verdict."""

    code: str
    rule: str
    severity: Severity
    message: str
    span: Span
    symbol: str = ""
    trace: tuple[Step, ...] = ()
    effects: Mapping[str, Outcome] = field(default_factory=dict)
    fix: Fix | None = None
    verdict: VerdictKind = VerdictKind.SUSPECTED
    evidence: tuple[Evidence, ...] = ()
    statement: int = 0  # first line of its statement; 0 where that is of another file
    text: str = ""  # the source text under the span, whitespace folded: what a fingerprint is made of
    hints: Mapping[str, str | int] = field(default_factory=dict)  # for the remedy; `$name` tells of a variable
    outside: str = ""  # why it affects no export
    doubt: str = ""  # why it is a note although one does: "axis", "flag" or "guess"
    about: str = ""  # the value or the decision that it stems from, as one word for all that stem from it
    exported: bool = False  # it is of an export call, or of a model that one is seen to be passed
    also: tuple[Span, ...] = ()  # where else the same cause shows

    @property
    def fingerprint(self) -> str:
        """Stable across edits elsewhere in the file: made of code, path, symbol and the text of the span."""
        return short_digest(self.code, self.span.path, self.symbol, self.text)


def short_digest(*parts: str) -> str:
    """16 hexadecimal digits that follow from the parts."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def number_frozen(at: Span) -> str:
    """What is said to be `about` a number that became a plain one there."""
    return f"number frozen at {at.line}:{at.column}"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """Something about the run itself: an unreadable file, a mistake in the configuration, an internal error."""

    level: str  # "error" makes the run exit 2, "warning" does not
    message: str
    path: str | None = None
    line: int | None = None


def listed(parts: Sequence[str]) -> str:
    """Several as one phrase: `a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def text_of(error: BaseException | None) -> str:
    """What an error says, without colours and asides, also where its own `__str__` fails: a model's may do anything."""
    try:
        return _ASIDE.sub("", ESCAPES.sub("", str(error)))
    except Exception as failure:  # noqa: BLE001 - whatever it raises is as good an answer as any
        return f"(its message cannot be read: __str__ raises {type(failure).__name__})"


def described(error: BaseException) -> str:
    """An error in few words."""
    text = " ".join(text_of(error).split())
    return f"{type(error).__name__}: {text if len(text) <= 200 else f'{text[:200]}...'}"


@dataclass(frozen=True, slots=True)
class SlowNodes:
    """The nodes of one operator and one line, with their share of the time of a run."""

    operator: str
    share: float
    location: Location | None = None


@dataclass(frozen=True, slots=True)
class Latency:
    """A runtime's median latency over eager's on the example, of so many runs; `slowest` where it is the slower one."""

    ratio: float
    runs: int = 1
    slowest: tuple[SlowNodes, ...] = ()


@dataclass(frozen=True, slots=True)
class Tried:
    """What an export made of one input: `agrees`, other `values`, another `shape`, or `refused`. `max_abs` is the error
    of output number `output`, the largest of all where it agrees, and `allowed` what would have passed. None where
    nothing was compared, or PyTorch itself jumps as far; `allowed` is that where it agrees too."""

    variation: str
    result: str
    max_abs: float | None = None
    allowed: float | None = None
    output: int | None = None
    runtime: str = ""


@dataclass(frozen=True, slots=True)
class ExporterResult:
    """One cell of the table models × exporters; `seconds` is the wall time of the export itself. `tried` are the inputs
    that the exported file was run on, in their order."""

    outcome: Outcome
    detail: str = ""
    location: Location | None = None
    seconds: float = 0.0
    latency: Latency | None = None
    tried: tuple[Tried, ...] = ()


class ModelStatus(StrEnum):
    """Whether a model could be probed."""

    PROBED = "probed"
    NOT_PROBED = "not-probed"


@dataclass(frozen=True, slots=True)
class Assumed:
    """What a probe was given though nobody declared it; `config` holds the lines that would declare it.

    `inputs` are specs by parameter, `sizes` those that eager took of each dynamic dim, `values` the inputs that are no
    tensors, `arguments` what the constructor was called with, `ranges` those of integers that are looked up in a table.
    `eval` tells that the model was built in training mode. `tries` counts the runs that it took to find inputs, and
    `notes` say what to check. Where an input holds several tensors, a label such as `states.0` names one.
    """

    inputs: Mapping[str, str] = field(default_factory=dict)
    sizes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    arguments: Mapping[str, Any] = field(default_factory=dict)
    tries: int = 0
    config: str = ""
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    eval: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelReport:
    """One model: what each exporter made of it, or why it was not probed and what would let us (`remedy`). `way` tells
    that it is called in a further way: `with mask`, where another report has it without."""

    name: str
    path: str
    line: int
    status: ModelStatus
    reason: str | None = None
    remedy: str | None = None
    exporters: Mapping[str, ExporterResult] = field(default_factory=dict)
    declared: bool = False
    assumed: Assumed | None = None
    way: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """The whole run. `tool` maps onnxlint, torch, onnx and onnxruntime to versions, as far as they were used.

    `fixed` counts what `--fix` mended, by code; `in_baseline` the findings that the baseline allows; `unchanged` the
    models of which an earlier run knew all. `interrupted`: it was ended before it was done. `captured`: its models are
    live objects, and what was checked is not what `onnxlint check` checks.
    """

    findings: tuple[Finding, ...] = ()
    models: tuple[ModelReport, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    files: int = 0
    tool: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    fixed: Mapping[str, int] = field(default_factory=dict)
    in_baseline: int = 0
    unchanged: int = 0
    interrupted: bool = False
    captured: bool = False


def grouped(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Findings, or what else is told one by one, by what they have in common; each group in its order."""
    groups: dict[K, list[T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def to_json(value: Any) -> Any:
    """Turn records into what `json.dumps` takes: dicts, sequences, strings, numbers, None."""
    return msgspec.to_builtins(value, str_keys=True, enc_hook=_plain)


def _plain(value: Any) -> str | int | float:
    for kind in (str, int, float):
        if isinstance(value, kind):
            return str.__str__(value) if kind is str else kind(value)
    raise TypeError(f"{type(value).__name__} is not data")


def from_json(kind: type[T], data: Any) -> T:
    """Rebuild a record of type `kind` from what `to_json` made; unknown keys are ignored. Raises ValueError."""
    try:
        return msgspec.convert(data, kind, str_keys=True)
    except msgspec.ValidationError as error:  # a ValueError only in newer versions of msgspec
        raise ValueError(str(error)) from error
