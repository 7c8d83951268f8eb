"""What a part of the analysis gave, as bytes that can be kept, moved with their lines, and merged with the others'."""

import dataclasses
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, TypeVar

import msgspec

from onnxlint.base.records import Diagnostic, Span, Step
from onnxlint.flow.state import observations
from onnxlint.flow.state.candidates import Candidate
from onnxlint.flow.state.observations import Observation
from onnxlint.flow.state.problems import Problem
from onnxlint.project.fingerprints import Moves, Record

T = TypeVar("T", Observation, Candidate)


@dataclasses.dataclass(frozen=True, slots=True)
class Analysis:
    """What one run saw."""

    observations: tuple[Observation, ...]
    problems: tuple[Problem, ...]
    candidates: tuple[Candidate, ...] = ()


class Outcome(msgspec.Struct, frozen=True, array_like=True):
    """What a part gave, and what that hangs on.

    `observations` are pairs of kind and fields. `built` are classes that it built, `ran` the functions of other parts
    that it ran, `left` the functions of its own that another part may run, with the classes they are entered for.
    `probed` are files past those of the run that were looked at, with the hash of their bytes, or b"" where there was
    none, and `faulty` tells of those of them that cannot be read.
    """

    observations: list[tuple[str, dict[str, Any]]]
    problems: tuple[Problem, ...]
    exported: tuple[Candidate, ...]
    built: tuple[str, ...]
    ran: tuple[str, ...]
    left: dict[str, list[str]]
    faulty: dict[str, Diagnostic]
    probed: dict[str, bytes]
    record: Record


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Outcome)


def encode(record: msgspec.Struct) -> bytes:
    """The bytes of a record. Raises UnicodeEncodeError for a path that is no text."""
    return _encoder.encode(record)


def decode(data: bytes) -> Outcome | None:
    """The outcome that some bytes hold; None if they hold none."""
    try:
        outcome = _decoder.decode(data)
        restored(outcome.observations)
    except (msgspec.MsgspecError, RecursionError, OverflowError):
        return None
    return outcome


def plain(seen: Iterable[Observation]) -> list[tuple[str, dict[str, Any]]]:
    """Observations as kinds and fields."""
    return [(type(observation).__name__, msgspec.to_builtins(observation)) for observation in seen]


def restored(pairs: Iterable[tuple[str, dict[str, Any]]]) -> list[Observation]:
    """Observations of their kinds and fields. Raises msgspec.ValidationError for what is none."""
    kinds = _kinds()
    made = []
    for name, fields in pairs:
        if name not in kinds:
            raise msgspec.ValidationError(f"no kind of observation is called {name}")
        observation: Observation = msgspec.convert(fields, kinds[name])
        lines = [(observation.span.line, observation.span.end_line), *((s.line, s.line) for s in observation.trace)]
        if not all(1 <= line <= end for line, end in lines):
            raise msgspec.ValidationError("a line before the first")
        made.append(observation)
    return made


@cache
def _kinds() -> dict[str, type[Observation]]:
    kinds = (kind for kind in vars(observations).values() if isinstance(kind, type) and issubclass(kind, Observation))
    return {kind.__name__: kind for kind in kinds}


def moved(records: Sequence[T], moves: Moves) -> list[T] | None:
    """Observations or models at the places that their lines have by now; None for a line in nothing that was read."""
    try:
        return [_moved(record, moves) for record in records] if moves else list(records)
    except LookupError:
        return None


def _moved(value: Any, moves: Moves) -> Any:
    """A record with its lines moved, whatever records it holds."""
    if isinstance(value, Span):
        by = _shift(moves, value.path, value.line)
        return dataclasses.replace(value, line=value.line + by, end_line=value.end_line + by)
    if isinstance(value, (Step, Candidate)):
        return dataclasses.replace(value, line=value.line + _shift(moves, value.path, value.line))
    if isinstance(value, msgspec.Struct):
        changed = {name: _moved(getattr(value, name), moves) for name in value.__struct_fields__}
        if isinstance(value, Observation) and value.statement:
            changed["statement"] = value.statement + _shift(moves, value.span.path, value.statement)
        return msgspec.structs.replace(value, **changed)
    if isinstance(value, tuple):
        return tuple(_moved(item, moves) for item in value)
    return {key: _moved(item, moves) for key, item in value.items()} if isinstance(value, dict) else value


def _shift(moves: Moves, path: str, line: int) -> int:
    """How far a line of a file moved. Raises LookupError where nothing that was read holds it."""
    if path not in moves:
        return 0
    shifts = [(last - first, by) for first, last, by in moves[path] if first <= line <= last]
    if not shifts:
        raise LookupError(f"{path}:{line}")
    return min(shifts)[1]


def merged(groups: Iterable[Sequence[Observation]]) -> tuple[Observation, ...]:
    """The observations of all parts, those of one kind at one place as one."""
    merged_: dict[tuple[Any, ...], Observation] = {}
    for group in groups:
        for observation in group:
            before = merged_.get(observation.key)
            merged_[observation.key] = observation if before is None else before.and_also(observation)
    called = {o.span for o in merged_.values() if isinstance(o, observations.ExportCall) and o.caller}
    return tuple(o for o in merged_.values() if getattr(o, "caller", None) != "" or o.span not in called)
