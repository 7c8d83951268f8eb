"""Arguments by the names of parameters: by position, by name, by star, by default, and what nobody gives."""

from __future__ import annotations

import pytest
from analysing import BATCH, PRELUDE, analysed, project_of, running

from onnxlint.flow.python.call_arguments import STARRED, bind, handed_over, is_starred, names_passed, without_stars
from onnxlint.flow.values.domain import UNKNOWN, Config, Const, Dict, Seq, Tensor, Tuple, Value
from onnxlint.project.classes import FunctionUnit

X, MASK = Tensor((BATCH,)), Tensor((BATCH,), kind="bool")
STAR = Seq(X, None, STARRED)


def bound(signature: str, *args: Value, **kwargs: Value) -> dict[str, Value]:
    """What a call gives to the parameters of a function of this signature."""
    engine, info = running(f"def f({signature}):\n    return 0\n")
    return bind(engine, info.functions["f"], args, kwargs)


def unit_of(signature: str) -> FunctionUnit:
    (info,) = project_of(f"def f({signature}):\n    return 0\n").modules.values()
    return info.functions["f"]


def test_positions_names_and_defaults() -> None:
    assert bound("x, mask, scale=2", X, mask=MASK) == {"x": X, "mask": MASK, "scale": Const(2)}
    assert bound("x, *, mask=None, scale", X, scale=Const(3)) == {"x": X, "mask": Const(None), "scale": Const(3)}


def test_what_nobody_gives_is_unknown() -> None:
    assert bound("x, mask", X) == {"x": X, "mask": UNKNOWN}


def test_the_rest_is_in_the_star_and_in_the_double_star() -> None:
    values = bound("x, *more, **named", X, MASK, Const(1), b=Const(2), a=Const(3))
    assert values["more"] == Tuple((MASK, Const(1)))
    assert values["named"] == Dict((("a", Const(3)), ("b", Const(2))))
    assert bound("*more") == {"more": Tuple(())}


def test_a_star_of_unknown_length_fills_what_is_left() -> None:
    assert bound("x, y, *more", MASK, STAR) == {"x": MASK, "y": X, "more": Seq(X)}
    assert is_starred(STAR)
    (plain,) = without_stars([STAR])
    assert not is_starred(plain)
    assert plain == Seq(X)


def test_a_default_that_names_a_constant_of_its_file_is_evaluated() -> None:
    engine, info = running("WIDTH = 8\ndef f(x, width=WIDTH * 2):\n    return 0\n")
    assert bind(engine, info.functions["f"], [X], {})["width"] == Const(16)


def test_the_parameters_for_which_a_call_may_give_something() -> None:
    unit = unit_of("x, mask=None, *, scale=1")
    assert names_passed(unit, [X], ["scale"]) == {"x", "scale"}
    assert names_passed(unit, [X], ["**"]) == {"x", "mask", "scale"}
    assert names_passed(unit, [STAR], []) == {"x", "mask", "scale"}


def test_outside_of_traced_calls_no_step_is_added() -> None:
    engine, _ = running("pass")
    scope: dict[str, Value] = {"x": X}
    assert handed_over(engine, unit_of("x"), scope) is scope


@pytest.mark.parametrize(("asks", "seen"), [("pass", []), ("assert isinstance(x, (list, Tensor))", ["Loop"])])
def test_an_input_is_the_list_that_a_function_asks_for_unless_the_caller_may_pass_a_tensor(
    asks: str, seen: list[str]
) -> None:
    net = f"""
def total(parts: Optional[List[Tensor]] = None):
    return sum(part.mean() for part in parts)

class Net(nn.Module):
    def forward(self, x):
        {asks}
        return total(x)
"""
    assert [type(o).__name__ for o in analysed(project_of(PRELUDE + net)).observations] == seen


def test_what_more_arguments_of_forward_may_give_leaves_a_flag_as_off_as_it_is_by_default() -> None:
    star = Seq(Tensor(guessed=True), None, STARRED)
    assert bound("x, profile=False, mask=None", X, star)["profile"] == Config(default=Const(False))
    assert bound("x, profile=True", X, star)["profile"] == Config()
