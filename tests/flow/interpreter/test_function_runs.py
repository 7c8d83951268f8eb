"""Calls of functions: arguments, recursion, generators, and results that are recalled."""

from collections import Counter

import pytest
from analysing import PRELUDE, result_of

from onnxlint.flow.interpreter.function_runs import FunctionRuns
from onnxlint.flow.state.variable_kinds import describe
from onnxlint.flow.values.domain import Const, Scope, Seq, Tensor, Value
from onnxlint.project.classes import FunctionUnit

X = Tensor((Const(2), Const(3)))
GIVES: dict[str, Value] = {
    "def g(a, b=2, *c, d=4, **e):\n    return b\ndef f(x):\n    return g(1)": Const(2),
    "def g(a, *, d=4):\n    return d\ndef f(x):\n    return g(1, d=5)": Const(5),
    "def f(x):\n    return (lambda n: n)(3)": Const(3),
}


@pytest.mark.parametrize(("source", "value"), GIVES.items())
def test_what_a_call_gives(source: str, value: Value) -> None:
    assert result_of(f"{PRELUDE}{source}\n", X) == value


def test_a_function_that_yields_gives_a_sequence_of_what_it_yields() -> None:
    made = result_of(f"{PRELUDE}def g(x):\n    yield x\ndef f(x):\n    return g(x)\n", X)
    assert isinstance(made, Seq)
    assert describe(made.item) == "tensor:2,3"


def test_a_function_that_calls_itself_without_end_gives_nothing_known() -> None:
    made = result_of(f"{PRELUDE}def f(x):\n    return f(x)\n", X)
    assert describe(made) in ("", "tensor:2,3")


def test_a_nested_function_that_uses_nothing_around_it_is_recalled_like_any_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs: Counter[str] = Counter()
    run = FunctionRuns.run

    def counting(engine: FunctionRuns, unit: FunctionUnit, scope: Scope, bound: Value | None) -> Value:
        runs[unit.name] += 1
        return run(engine, unit, scope, bound)

    monkeypatch.setattr(FunctionRuns, "run", counting)
    inner = "    def own(y):\n        z = y\n        return z\n    def closed(y):\n        return k\n"
    body = "    k = 1\n    own(x)\n    own(x)\n    closed(x)\n    k = 2\n    return closed(x)\n"
    assert result_of(f"{PRELUDE}def f(x):\n{inner}{body}", X) == Const(2)
    assert runs == {"f": 1, "own": 1, "closed": 2}


def test_a_short_helper_is_run_for_each_of_its_callers_and_a_long_one_stands_for_the_rest() -> None:
    calls = "".join(f"    g({n})\n" for n in range(20))
    short = "def g(n):\n    return n + 1\n"
    long = "def g(n):\n" + "    m = n\n" * 20 + "    return m + 1\n"
    assert result_of(f"{PRELUDE}{short}def f(x):\n{calls}    return g(20)\n", X) == Const(21)
    assert result_of(f"{PRELUDE}{long}def f(x):\n{calls}    return g(20)\n", X) != Const(21)
