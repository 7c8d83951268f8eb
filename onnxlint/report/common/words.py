"""The words that several formats share: outcomes, amounts, the summary sentence; and text made safe to print."""

import math
import re
import tomllib
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath

from onnxlint.base import records
from onnxlint.base.files import own_text
from onnxlint.base.records import EXPORTERS, Evidence, Finding, ModelReport, ModelStatus, Outcome, Report, VerdictKind

NO_REASON = "no reason was recorded"
LONGEST_DETAIL = 300  # characters of an exporter's own message
_MOST_PLACES = 5  # of other files that a finding names

_WORDS = tomllib.loads(own_text(__file__, "words.toml"))
OUTCOME_LABELS: Mapping[Outcome, str] = {Outcome(outcome): label for outcome, (label, _) in _WORDS["outcomes"].items()}
OUTCOME_SENTENCES: Mapping[Outcome, str] = {Outcome(outcome): told for outcome, (_, told) in _WORDS["outcomes"].items()}
VERDICT_WORDS = {kind: kind.value.replace("-", " ") for kind in VerdictKind}
_SEARCH_SENTENCES: Mapping[str, str] = _WORDS["search"]
MODES: Mapping[str, str] = _WORDS["modes"]
FAMILIES: Mapping[str, str] = _WORDS["families"]
_MODE = re.compile(r"values\[(\w+)#\d+\]")
_LAYOUT = re.compile(r"layout\[(\w+)\]")
_SEARCHED = re.compile(r"search\[([^\]]*)\]\S*")
_DIGEST = re.compile(r",? sha1 [0-9a-f]{12}|(?<=…) \(-?[0-9a-f]+\)")  # tells long values apart, and nothing to a reader
_TWICE = re.compile(r"gives (?P<value>.+) on the example and (?P=value) on this input")
_LONG_NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d{6,}(?:e[+-]?\d+)?")
_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0")  # no width, or none to see


def hidden(finding: Finding) -> bool:
    """Whether the finding shows only with `--show all`."""
    return finding.severity is records.Severity.NOTE or finding.verdict is VerdictKind.NOT_REPRODUCED


def badness(finding: Finding) -> tuple[bool, int, str, int, int, str]:
    """A key that sorts the worst first: what is confirmed, then by severity, then in source order."""
    span, severity = finding.span, tuple(records.Severity).index(finding.severity)
    return finding.verdict is not VerdictKind.CONFIRMED, severity, span.path, span.line, span.column, finding.code


def also(finding: Finding) -> str:
    """Where else the cause of a finding shows: `lines 12, 15 and 30`, once each; `lib/copy.py:7` in others."""
    own = {span.line for span in finding.also if span.path == finding.span.path}
    lines = [str(line) for line in sorted(own - {finding.span.line}) or sorted(own)]
    others = [f"{visible(span.path)}:{span.line}" for span in finding.also if span.path != finding.span.path]
    if len(others) > _MOST_PLACES:
        others[_MOST_PLACES - 1 :] = [f"{len(others) - _MOST_PLACES + 1} more places"]
    here = f"line{'s' * (len(lines) > 1)} {records.listed(lines)}" if lines else ""
    return ", ".join(filter(None, (here, records.listed(others))))


def exporters_of(finding: Finding) -> list[str]:
    """Every exporter that the finding says something about, in the order of the tables."""
    named = {*finding.effects, *(evidence.exporter for evidence in finding.evidence)}
    return [name for name in (*EXPORTERS, "eager") if name in named] + sorted(named - {*EXPORTERS, "eager"})


def exporter_name(exporter: str) -> str:
    """How an exporter is written in a sentence."""
    return records.EXPORTER_NAMES.get(exporter, clean(exporter))


def outcome_of(finding: Finding, exporter: str) -> tuple[Outcome | None, bool]:
    """The outcome in one exporter, and whether it was measured (else it is what the rule says)."""
    measured = [evidence.symptom for evidence in finding.evidence if evidence.exporter == exporter]
    if measured:
        return next((symptom for symptom in measured if symptom is not Outcome.OK), measured[0]), True
    return finding.effects.get(exporter), False


def effect(finding: Finding, exporter: str) -> str:
    """The outcome in one exporter as a predicate; wrong values on the example itself are said to be so."""
    outcome, _ = outcome_of(finding, exporter)
    if outcome is None:
        return ""
    if exporter == "eager" and outcome in _SEARCH_SENTENCES:
        return _SEARCH_SENTENCES[outcome]
    seen = [e for e in finding.evidence if e.exporter == exporter and e.symptom is outcome]
    if outcome is Outcome.WRONG_VALUES and any(e.variation == "example" for e in seen):
        return "exports, wrong values on the example itself"
    values = [bool(_MODE.search(e.variation) or _SEARCHED.search(e.variation)) for e in seen]
    if outcome is Outcome.SHAPE_ERROR and values and all(values):
        return "exports, fails on other values"
    runtimes = {e.runtime for e in seen}
    named = runtimes.pop() if len(runtimes) == 1 else ""
    return OUTCOME_SENTENCES[outcome].replace("ONNX Runtime", named or "ONNX Runtime")


def unexplained(report: Report) -> list[tuple[ModelReport, str, records.ExporterResult]]:
    """The failures of exporters that no finding accounts for: (model, exporter, result)."""
    harmless = (Outcome.OK, Outcome.SKIPPED)
    explained = {(e.model, e.exporter) for f in report.findings for e in f.evidence if e.symptom not in harmless}
    probed = (model for model in report.models if model.status is ModelStatus.PROBED)
    results = ((model, exporter, result) for model in probed for exporter, result in model.exporters.items())
    failed = (one for one in results if one[2].outcome not in harmless)
    return [(m, exporter, r) for m, exporter, r in failed if not explained & {(m.name, exporter), (m.name, "eager")}]


def model_name(model: ModelReport) -> str:
    """The name of a model, and in which way it is called where there is more than one."""
    return clean(f"{model.name} ({model.way})" if model.way else model.name)


def failed(report: Report) -> bool:
    """Whether the run could not do all that was asked."""
    return any(diagnostic.level == "error" for diagnostic in report.diagnostics)


def failures(report: Report) -> Iterator[tuple[records.Location, str]]:
    """Where each of the unexplained failures shows, and a sentence about it."""
    for model, exporter, result in unexplained(report):
        yield result.location or records.Location(model.path, model.line), failure_sentence(model, exporter, result)


def unprobed_sentence(model: ModelReport) -> str:
    """That a model was not probed, and why."""
    return f"{clean(model.name)} was not probed: {clean(model.reason or '')}"


def failure_sentence(model: ModelReport, exporter: str, result: records.ExporterResult) -> str:
    """What happened to a model in an exporter, in one sentence of plain text."""
    reason = cut(plain(result.detail), LONGEST_DETAIL) or OUTCOME_SENTENCES[result.outcome]
    return f"{model_name(model)}, {exporter_name(exporter)}: {OUTCOME_LABELS[result.outcome]}: {reason}"


def steps_before(finding: Finding) -> tuple[records.Step, ...]:
    """The steps of the trace but for a last one that is the finding's own place."""
    span, steps = finding.span, finding.trace
    own = bool(steps) and steps[-1].path == span.path and span.line <= steps[-1].line <= span.end_line
    return steps[:-1] if own else steps


def short_place(location: records.Location | None) -> str:
    """The name of a file, and the line; empty where there is none."""
    return f"{PurePath(location.path).name}:{location.line}" if location is not None and location.path else ""


def slowness(result: records.ExporterResult) -> str:
    """How much slower than eager PyTorch an export is, and what takes the time; empty where it is not."""
    if result.latency is None or not result.latency.slowest:
        return ""
    placed = ((nodes, short_place(nodes.location)) for nodes in result.latency.slowest)
    parts = [f"{nodes.operator} {nodes.share:.0%}" + (f" ({place})" if place else "") for nodes, place in placed]
    return f"takes {result.latency.ratio:.2g} times as long as eager PyTorch: {', '.join(parts)}"


def assumed_inputs(model: ModelReport) -> dict[str, str]:
    """The inputs that nobody declared, as configuration would declare them."""
    assumed = model.assumed
    return {} if assumed is None else {**assumed.inputs, **{name: repr(v) for name, v in assumed.values.items()}}


def assumed_sizes(model: ModelReport) -> str:
    """The other sizes of those inputs that PyTorch takes."""
    sizes = model.assumed.sizes if model.assumed is not None else {}
    return "; ".join(f"{dim} {', '.join(map(str, values))}" for dim, values in sizes.items())


def error_size(evidence: Evidence) -> str:
    """How far off the export was, or an empty string where no values were compared."""
    sizes = {"max abs error": evidence.max_abs, "relative": evidence.max_rel}
    return ", ".join(f"{name} {number(size)}" for name, size in sizes.items() if size is not None)


def variation(evidence: Evidence) -> str:
    """On which input it was seen, in words; empty where that does not matter."""
    label = re.sub(r"^example\b", "the example", _WORDS["sizes"].get(evidence.variation, evidence.variation))
    label = _LAYOUT.sub(lambda match: _WORDS["layouts"].get(match[1], match[0]), label)
    label = _SEARCHED.sub(r"an input that the search found for \1", label)
    label = clean(_MODE.sub(lambda match: MODES.get(match[1], match[0]), label))
    label = f"{label} (reduced)" if evidence.reduced else label
    return f"{label} in {evidence.runtime}" if evidence.runtime and label else label


def observed(evidence: Evidence) -> str:
    """What was seen, without terminal escapes; long numbers are rounded."""
    shown = _DIGEST.sub("", evidence.detail)
    shown = _TWICE.sub(r"gives \g<value> on the example and other values on this input", shown)
    detail = cut(_LONG_NUMBER.sub(lambda match: f"{float(match[0]):.5g}", plain(shown)), LONGEST_DETAIL)
    return f"{detail}; {plain(evidence.proof)}" if evidence.proof else detail


def sides(agreement: records.Sides) -> str:
    """Who agrees with whom: `PyTorch | traced graph, ONNX Runtime`; those that refuse come last."""
    groups = [clean(", ".join(folded(group))) for group in agreement.groups]
    return " | ".join([*groups, *(f"{side} refuses" for side in folded(list(agreement.refused)))])


def unknown_sides(agreement: records.Sides) -> str:
    """Which sides could not be asked, and why."""
    return "; ".join(f"{clean(side)} ({cut(plain(reason), 120)})" for side, reason in agreement.unknown.items())


def folded(names: Sequence[str]) -> list[str]:
    """Both ways to run one runtime as one."""
    plainly = " without optimizations"
    both = {name for name in names if f"{name}{plainly}" in names}
    told = (name for name in names if name.removesuffix(plainly) not in both or name in both)
    return [f"{name} with and{plainly}" if name in both else name for name in told]


def number(value: float) -> str:
    """Three significant digits."""
    return f"{value:.3g}" if math.isfinite(value) else str(value)


def seconds(value: float) -> str:
    """A duration as a person says it: 0.4 s, 41 s, 2 min 5 s."""
    if value < 9.95:
        return f"{value:.1f} s"
    whole = round(value)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60} s"


def count(amount: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{amount} {noun}" if amount == 1 else f"{amount} {noun}s"


def capitalized(sentence: str) -> str:
    """The sentence with a capital at its beginning."""
    return sentence[:1].upper() + sentence[1:]


def clean(text: str) -> str:
    """One line that is safe on a terminal: white space folded, escape sequences and control characters made visible."""
    return visible(" ".join(text.split()))


def visible(text: str) -> str:
    """The text with every character that could steer a terminal, or turn the line around, replaced by a visible one."""
    return text if text.isascii() and text.isprintable() else "".join(c if _harmless(c) else _picture(c) for c in text)


def plain(text: str) -> str:
    """One line without terminal escape sequences: for messages of other programs, which colour their output."""
    return clean(records.ESCAPES.sub("", text))


def cut(text: str, limit: int) -> str:
    """The text, at most `limit` characters long."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def sentence_of(finding: Finding) -> str:
    """The finding in one paragraph of plain text, for formats that have no room for a frame."""
    sentences = [f"{name}: {what}." for name, what in effects_of(finding)]
    sentences += [f"Also at {also(finding)}."] if finding.also else []
    return " ".join([clean(finding.message).rstrip(".") + ".", *sentences])


def effects_of(finding: Finding) -> Iterator[tuple[str, str]]:
    """What became of it in each exporter of which something is known: the exporter's name, and a predicate."""
    for exporter in exporters_of(finding):
        outcome, measured = outcome_of(finding, exporter)
        if outcome is None or (outcome is Outcome.OK and not measured):
            continue
        name = exporter_name(exporter) + ("" if measured else " (expected)")
        yield name, effect(finding, exporter) + _measure(finding, exporter)


def _measure(finding: Finding, exporter: str) -> str:
    of_exporter = [evidence for evidence in finding.evidence if evidence.exporter == exporter]
    if not of_exporter:
        return ""
    worst = most_telling(of_exporter)[0]
    parts = [f"on {variation(worst)}" if worst.variation else "", error_size(worst)]
    measure = ", ".join(part for part in parts if part)
    return f" ({measure}, {clean(worst.model)})" if measure else f" ({clean(worst.model)})"


def most_telling(evidence: Sequence[Evidence]) -> list[Evidence]:
    """Failures first; among them what the exporter itself says, then the largest error, then what can be re-run."""

    def rank(e: Evidence) -> tuple[bool, bool, float, bool]:
        size = -1.0 if e.max_abs is None or math.isnan(e.max_abs) else e.max_abs
        return e.symptom is Outcome.OK, e.cause is not records.Cause.REFUSED, -size, e.repro is None

    return sorted(evidence, key=rank)


def _harmless(char: str) -> bool:
    # Some code points are for no character, ever; XML has no place for the last two of a plane.
    if char >= "\ufdd0" and (ord(char) & 0xFFFE == 0xFFFE or char <= "\ufdef"):
        return False
    return unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Zl", "Zp"} and char not in _UNSEEN


def _picture(char: str) -> str:
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
