"""Paths of generated programs: a branch that went the same way is never named, and a parting is never missed."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onnxlint.probes.observe.execution_paths import Activation, PathTracer, partings

Decide = Callable[[int], bool]

_SIMPLE = st.sampled_from(["step()", "continue", "break", "return"])


@st.composite
def blocks(draw: st.DrawFn, depth: int = 3, loop: bool = False) -> list[Any]:
    """Nested lists: ("if", body, else) and ("for", body) around simple statements."""
    results: list[Any] = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["if", "for", "simple"])) if depth else "simple"
        if kind == "if":
            other = draw(st.none() | blocks(depth - 1, loop))
            results.append(("if", draw(blocks(depth - 1, loop)), other))
        elif kind == "for":
            results.append(("for", draw(blocks(depth - 1, True))))
        else:
            statement = draw(_SIMPLE)
            results.append("step()" if statement in ("continue", "break") and not loop else statement)
    return results


def source(program: list[Any]) -> tuple[str, dict[int, int]]:
    """The program as a function of `decide` and `step`, and the line of each of its tests by number."""
    lines = ["def run(decide, step):"]
    tests: dict[int, int] = {}

    def write(block: list[Any], indent: str) -> None:
        for statement in block:
            if isinstance(statement, str):
                lines.append(indent + statement)
            elif statement[0] == "for":
                lines.append(f"{indent}for _ in range(3):")
                write(statement[1], indent + "    ")
            else:
                number = len(tests)
                lines.append(f"{indent}if decide({number}):")
                tests[number] = len(lines)
                write(statement[1], indent + "    ")
                if statement[2] is not None:
                    lines.append(f"{indent}else:")
                    write(statement[2], indent + "    ")

    write(program, "    ")
    return "\n".join(lines) + "\n", tests


def run(path: Path, text: str, decide: Decide) -> PathTracer:
    names: dict[str, Any] = {}
    exec(compile(text, str(path), "exec"), names)
    with PathTracer() as tracer:
        names["run"](decide, lambda: None)
    return tracer


def walk(activation: Activation) -> Iterator[Activation]:
    for made in activation.calls.values():
        for call in made:
            yield call
            yield from walk(call)


def lines_of(tracer: PathTracer, path: Path) -> list[int]:
    (activation,) = [a for a in walk(tracer.root) if a.code is not None and a.code.co_filename == str(path)]
    return activation.lines


@settings(max_examples=150, deadline=None)
@given(blocks(), st.lists(st.booleans(), min_size=40, max_size=40), st.sets(st.integers(0, 12), max_size=3))
def test_only_tests_that_were_decided_otherwise_are_named(
    program: list[Any], decisions: list[bool], flipped: set[int]
) -> None:
    text, tests = source(program)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.py"
        path.write_text(text)
        one = run(path, text, lambda k: decisions[k % 40])
        other = run(path, text, lambda k: decisions[k % 40] ^ (k in flipped))
        again = run(path, text, lambda k: decisions[k % 40])
        assert partings(one.root, again.root) == []
        results = partings(one.root, other.root)
        mine = [p for p in results if p.one.code is not None and p.one.code.co_filename == str(path)]
        named = {p.one.lines[p.first] for p in mine}
        assert named <= {tests[k] for k in flipped if k in tests}
        assert bool(named) == (lines_of(one, path) != lines_of(other, path))


def test_a_tracer_that_was_there_before_is_put_back() -> None:
    def before(*args: Any) -> None:
        return None

    previous = sys.gettrace()
    sys.settrace(before)
    try:
        with PathTracer():
            pass
        with pytest.raises(KeyError), PathTracer():
            raise KeyError
        assert sys.gettrace() is before
    finally:
        sys.settrace(previous)


def test_calls_hang_at_the_line_that_makes_them() -> None:
    def inner() -> int:
        return 1

    def outer() -> int:
        first = inner()
        return first + sum(inner() for _ in range(2))

    with PathTracer() as tracer:
        outer()
    start = outer.__code__.co_firstlineno
    names = [
        (a.code.co_name, a.parent.lines[a.at] - start) for a in walk(tracer.root) if a.code and a.at >= 0 and a.parent
    ]
    assert sorted(names) == [("<genexpr>", 2), ("inner", 1), ("inner", 2), ("inner", 2)]
    assert tracer.steps[__file__, start + 1] < tracer.steps[__file__, start + 2]
