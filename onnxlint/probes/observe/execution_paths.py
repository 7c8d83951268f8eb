"""The path of one run through user code, line by line and call by call, and where two paths part."""

from __future__ import annotations

import ast
import functools
import linecache
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

from onnxlint.base.records import Location
from onnxlint.probes.common.userspace import is_user_code, nearest, relative

_MOST_LINES = 20_000  # per activation; a longer loop has shown what it does
_MOST_ACTIVATIONS = 100_000
_MOST_PARTINGS = 100  # per pair of activations; they repeat the same few lines


@dataclass(slots=True, eq=False)
class Activation:
    """One call of a user's function: the lines it ran, in order, and the calls it made at each of them."""

    code: CodeType | None = None
    parent: Activation | None = None
    at: int = -1  # index into the parent's lines
    lines: list[int] = field(default_factory=list)
    calls: dict[int, list[Activation]] = field(default_factory=lambda: defaultdict(list))


@dataclass(frozen=True, slots=True)
class Parting:
    """Two activations of one function ran on differently after index `first` (in one) and `second` (in the other)."""

    one: Activation
    other: Activation
    first: int
    second: int


class PathTracer:
    """Records the path through user code on this thread while it is entered. Other tracers are restored on exit."""

    def __init__(self) -> None:
        self.root = Activation()
        self._stack = [self.root]
        self.steps: dict[tuple[str, int], int] = {}  # by path and line: when it ran for the first time, 0 for the first
        self._count = 0
        self._previous: Callable[..., Any] | None = None

    def __enter__(self) -> PathTracer:
        self._previous = sys.gettrace()
        sys.settrace(self._call)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._previous)

    def _call(self, frame: FrameType, event: str, arg: Any) -> Callable[..., Any] | None:
        if not is_user_code(frame.f_code.co_filename):
            return None
        if frame.f_trace is not None:  # a generator goes on
            resumed = frame.f_trace
            resumed(frame, "resume", None)
            return resumed
        if self._count >= _MOST_ACTIVATIONS:
            return None
        self._count += 1
        code, stack, steps = frame.f_code, self._stack, self.steps
        parent = stack[-1]
        activation = Activation(code, parent, len(parent.lines) - 1)
        lines = activation.lines
        parent.calls[activation.at].append(activation)
        stack.append(activation)

        def step(frame: FrameType, event: str, arg: Any) -> Callable[..., Any]:
            if event == "line":
                steps.setdefault((code.co_filename, frame.f_lineno), len(steps))
                if len(lines) < _MOST_LINES:
                    lines.append(frame.f_lineno)
            elif event == "return":
                if activation in stack:
                    del stack[stack.index(activation) :]
            elif event == "resume":
                stack.append(activation)
            return step

        return step


def frames(activation: Activation, index: int, base: str | None, limit: int = 8) -> tuple[Location, ...]:
    """Where an activation stands at its line `index`, and who called it, innermost first."""
    return nearest(_outwards(activation, index, base), base, limit)


def _outwards(activation: Activation, index: int, base: str | None) -> Iterator[Location]:
    current: Activation | None = activation
    while current is not None and current.code is not None:
        line = current.lines[index] if 0 <= index < len(current.lines) else current.code.co_firstlineno
        yield Location(relative(current.code.co_filename, base), line, current.code.co_qualname)
        index, current = current.at, current.parent


def partings(one: Activation, other: Activation) -> list[Parting]:
    """Where two runs of the same code part: for every pair of matching activations, the branches that went apart."""
    result: list[Parting] = []
    waiting = [(one, other)]
    while waiting:
        left, right = waiting.pop()
        together, apart = _align(left, right)
        result.extend(Parting(left, right, i, j) for i, j in apart)
        for i, j in reversed(together):
            waiting.extend(reversed(list(_match(left.calls.get(i, ()), right.calls.get(j, ())))))
    return result


def _match(left: Sequence[Activation], right: Sequence[Activation]) -> Iterator[tuple[Activation, Activation]]:
    """Calls of the same function in the same order; a call that one run spared itself (a cache) is passed over."""
    position = 0
    for call in left:
        match = next((k for k in range(position, len(right)) if right[k].code == call.code), None)
        if match is not None:
            yield call, right[match]
            position = match + 1


def _align(left: Activation, right: Activation) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Indices that two line sequences have in common, and the index pairs after which they part."""
    a, b = left.lines, right.lines
    together = [(-1, -1)]
    apart: list[tuple[int, int]] = []
    i = j = 0
    while i < len(a) and j < len(b):
        if a[i] == b[j]:
            together.append((i, j))
            i, j = i + 1, j + 1
            continue
        if i == 0 or j == 0:
            return together, apart
        apart.append((i - 1, j - 1))
        assert left.code is not None
        again = _rejoin(a, b, i, j, left.code.co_filename)
        if again is None or len(apart) == _MOST_PARTINGS:
            return together, apart
        i, j = again
    unequal = (i < len(a)) != (j < len(b))
    if unequal and i and j and max(len(a), len(b)) < _MOST_LINES:
        apart.append((i - 1, j - 1))
    return together, apart


def _rejoin(a: list[int], b: list[int], i: int, j: int, path: str) -> tuple[int, int] | None:
    """Where both go on together after parting: behind the statement, at the next turn of a loop, or behind the loop."""
    line = a[i - 1]
    for block in [block for block in reversed(_blocks(path)) if block.start <= line <= block.end]:  # innermost first
        for whole in (True,) if line <= block.header_end or not block.loop else (False, True):
            k, m = _leave(a, i, block, whole), _leave(b, j, block, whole)
            if k < len(a) and m < len(b) and a[k] == b[m]:
                return k, m
    return None


def _leave(lines: list[int], index: int, block: Block, whole: bool) -> int:
    """The first index from `index` on that is outside the block, or (unless `whole`) in its header."""
    first = block.start if whole else max(block.start, block.header_end + 1)
    while index < len(lines) and first <= lines[index] <= block.end:
        index += 1
    return index


@dataclass(frozen=True, slots=True)
class Block:
    """A compound statement: its lines, and the last line of its header."""

    start: int
    header_end: int
    end: int
    loop: bool


@functools.lru_cache(maxsize=256)
def _blocks(path: str) -> tuple[Block, ...]:
    """The compound statements of a file, outer before inner; none where the source is not to be had."""
    try:
        tree = ast.parse("".join(linecache.getlines(path)))
    except (SyntaxError, ValueError):
        return ()
    blocks = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.If, ast.For, ast.While, ast.AsyncFor, ast.With, ast.AsyncWith, ast.Try, ast.Match)):
            inner = node.cases[0].pattern if isinstance(node, ast.Match) else node.body[0]
            header = max(node.lineno, inner.lineno - 1)
            loop = isinstance(node, (ast.For, ast.While, ast.AsyncFor))
            blocks.append(Block(node.lineno, header, node.end_lineno or node.lineno, loop))
    return tuple(sorted(blocks, key=lambda block: (block.start, -block.end)))
