"""Run a model once in eager mode and see what an export cannot keep: its path, its tensor → Python reads, its draws."""

import linecache
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch.utils import _pytree as pytree

from onnxlint.base.records import Location, grouped, text_of
from onnxlint.probes.common.userspace import error_frames, relative
from onnxlint.probes.examples.examples import ProbeFailure, seed_everything
from onnxlint.probes.exporters import Args, Kwargs
from onnxlint.probes.observe.escapes import Draw, Escape, recording
from onnxlint.probes.observe.execution_paths import Activation, Parting, PathTracer, frames, partings


@dataclass(frozen=True, slots=True)
class Observation:
    """One eager run. `error` is what it raised, `steps` are the lines that ran, by path and number, in their order."""

    outputs: Any
    error: Exception | None
    error_frames: tuple[Location, ...]
    escapes: tuple[Escape, ...]
    draws: tuple[Draw, ...]
    path: Activation
    steps: Mapping[tuple[str, int], int]
    root: str | None


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where runs differ: `variation` is the first that shows it, `read` the kind of an escape (`len`, `item` …)."""

    location: Location
    frames: tuple[Location, ...]
    kind: Literal["branch", "escape"]
    detail: str
    variation: int
    variations: tuple[int, ...] = ()
    read: str = ""


def observe(
    model: torch.nn.Module, args: Args, kwargs: Kwargs | None = None, *, root: str | None = None, seed: int = 0
) -> Observation:
    """Run a model on copies, seeded, without gradients. Raises ProbeFailure where its tensors cannot be read."""
    args, kwargs = clone((args, dict(kwargs or {})))
    outputs: Any = None
    error: Exception | None = None
    tracer = PathTracer()
    seed_everything(seed)
    with torch.no_grad(), recording(root) as records, tracer:
        try:
            outputs = model(*args, **kwargs)
        except Exception as raised:  # noqa: BLE001 - user code raises anything, and it is the result
            error = raised
    _require_readable(outputs)
    steps = {(relative(path, root), line): number for (path, line), number in tracer.steps.items()}
    seen = tuple(records.escapes), tuple(records.draws), tracer.root, steps
    return Observation(outputs, error, error_frames(error, root), *seen, root)


def _require_readable(outputs: Any) -> None:
    """Read a value of each tensor of a class of the user's: what cannot be compared is not for us to stumble over."""
    for leaf in pytree.tree_leaves(outputs):
        if isinstance(leaf, torch.Tensor) and type(leaf) not in (torch.Tensor, torch.nn.Parameter):
            try:
                leaf.detach().clone().reshape(-1)[:1].tolist()
            except Exception as error:
                name = f"`{type(leaf).__qualname__}`, a subclass of torch.Tensor"
                detail = f"{type(error).__name__}: {(text_of(error).splitlines() or [''])[0]}"
                remedy = "return plain tensors from forward"
                raise ProbeFailure(f"forward returns {name}, whose values cannot be read: {detail}", remedy) from error


def clone(value: Any, copies: dict[int, torch.Tensor] | None = None) -> Any:
    """A copy that in-place writes cannot reach; a tensor that is passed twice stays one: models ask `query is key`."""
    copies = {} if copies is None else copies
    if isinstance(value, torch.Tensor):
        if id(value) not in copies:
            copies[id(value)] = _copy(value.detach())
        return copies[id(value)]
    if type(value) is dict:
        return {key: clone(item, copies) for key, item in value.items()}
    return type(value)(clone(item, copies) for item in value) if type(value) in (list, tuple) else value


def _copy(value: torch.Tensor) -> torch.Tensor:
    """A clone; rows that a tensor shows several times stay one row in memory."""
    if value.layout == torch.strided and value.dim() and value.stride(0) == 0 and value.shape[0] > 1:
        return value[:1].clone().expand(value.shape)
    return value.clone()


def divergences(base: Observation, others: Sequence[Observation]) -> list[Divergence]:
    """The branches that other runs took and the reads that gave them other values, each place once."""
    seen = (d for i, other in enumerate(others) for d in (*_branches(base, other, i), *_reads(base, other, i)))
    by_place = grouped(seen, lambda d: (d.kind, d.location.path, d.location.line))
    return [replace(s[0], variations=tuple(dict.fromkeys(d.variation for d in s))) for s in by_place.values()]


def _branches(base: Observation, other: Observation, index: int) -> Iterator[Divergence]:
    raising = {(frame.path, frame.function): frame.line for frame in error_frames(other.error, base.root, sys.maxsize)}
    for parting in partings(base.path, other.path):
        its = frames(parting.other, parting.second, base.root)[0]
        if raising.get((its.path, its.function)) in parting.other.lines[: parting.second + 1]:
            continue  # from there on it did not take another branch, it raised and cleaned up
        places = frames(parting.one, parting.first, base.root)
        yield Divergence(places[0], places, "branch", _describe(parting), index)


def _describe(parting: Parting) -> str:
    assert parting.one.code is not None
    text = linecache.getline(parting.one.code.co_filename, parting.one.lines[parting.first]).strip()
    after = parting.one.lines[parting.first + 1 :][:1], parting.other.lines[parting.second + 1 :][:1]
    one, other = (f"goes to line {line[0]}" if line else "leaves the function" for line in after)
    return f"after `{text}` the example {one}, this input {other}"


def _reads(base: Observation, other: Observation, index: int) -> Iterator[Divergence]:
    """Reads at the same site (line, callers and kind), compared in order."""
    base_reads = _by_site(base.escapes)
    for site, values in _by_site(other.escapes).items():
        for before, after in zip(base_reads.get(site, ()), values, strict=False):
            if before.value != after.value:
                detail = f"`{before.kind}` gives {before.value} on the example and {after.value} on this input"
                yield Divergence(before.frames[0], before.frames, "escape", detail, index, read=before.kind)
                break


def _by_site(escapes: Sequence[Escape]) -> dict[tuple[Any, ...], list[Escape]]:
    return grouped((escape for escape in escapes if escape.frames), lambda escape: (escape.kind, escape.frames))
