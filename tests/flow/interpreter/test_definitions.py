"""What names, defaults and expressions outside of functions stand for."""

import ast

from analysing import running

from onnxlint.flow.values.domain import UNKNOWN, Const, External, Tuple

SOURCE = """import torch
SIZE = 3
PAIR = SIZE, "a"
ROUND = AGAIN
AGAIN = ROUND
class C:
    width = SIZE
def f(x, n=SIZE): return x
"""


def test_a_name_of_a_module_is_what_it_assigns() -> None:
    engine, info = running(SOURCE)
    assert engine.global_value(info, "PAIR") == Tuple((Const(3), Const("a")))
    assert engine.global_value(info, "torch") == External("torch")


def test_a_builtin_counts_where_a_name_is_read_and_not_where_it_is_imported() -> None:
    engine, info = running(SOURCE)
    assert engine.global_value(info, "len") == External("builtins.len")
    assert engine.global_value(info, "range", strict=True) == UNKNOWN


def test_names_that_stand_for_each_other_are_unknown() -> None:
    engine, info = running(SOURCE)
    assert engine.global_value(info, "ROUND") == UNKNOWN


def test_a_default_and_an_assignment_of_a_class_are_evaluated_in_their_module() -> None:
    engine, info = running(SOURCE)
    unit = info.functions["f"]
    (_, (_, default)) = unit.positional
    assert default is not None
    assert engine.evaluate_default(unit, default) == Const(3)
    assert engine.evaluate_in_class(info.classes["C"], ast.Name("SIZE", ast.Load())) == Const(3)
