"""What keeps the analysis from a class or an entry point costs that alone, and says where and why."""

from __future__ import annotations

import pytest
from analysing import project_of

from onnxlint.flow.state.budget import Exhausted
from onnxlint.flow.state.problems import Guard, Problem, place_of
from onnxlint.project.classes import ClassInfo


def caught(error: Exception, path: str = "model.py") -> Problem:
    guard = Guard([], debug=False)
    with guard.over(path, "M.forward", 7, 1000):
        raise error
    (problem,) = guard.problems
    return problem


def out_of_steps(at: tuple[str, int] | None) -> Exhausted:
    error = Exhausted()
    error.at = at
    return error


def test_steps_that_ran_out_are_told_at_the_line_where_they_did() -> None:
    problem = caught(out_of_steps(("model.py", 12)))
    assert (problem.line, problem.internal) == (12, False)
    assert "past the first 1,000, at line 12, is not seen" in problem.message


def test_steps_that_ran_out_in_another_file_stand_at_the_entry_point_and_name_that_file() -> None:
    problem = caught(out_of_steps(("layers.py", 12)))
    assert (problem.path, problem.line) == ("model.py", 7)
    assert "at line 12 of layers.py" in problem.message
    assert caught(out_of_steps(None)).line == 7


def test_an_error_of_our_own_is_internal_and_deep_nesting_is_not() -> None:
    problem = caught(KeyError("width"))
    assert (problem.line, problem.internal) == (7, True)
    assert "internal error in M.forward: KeyError" in problem.message
    assert caught(RecursionError("too deep")).internal is False


def test_who_debugs_sees_the_error_itself_but_not_the_limits() -> None:
    guard = Guard([], debug=True)
    with pytest.raises(KeyError), guard.over("model.py", "M", 1):
        raise KeyError
    with guard.over("model.py", "M", 1):
        raise Exhausted
    assert len(guard.problems) == 1


def test_a_class_that_fails_is_left_out_and_named_and_the_others_are_not() -> None:
    (info,) = project_of("class A: ...\nclass Bad: ...\nclass C: ...\n").modules.values()
    guard = Guard([], debug=False)

    def test(cls: ClassInfo) -> bool:
        if cls.name == "Bad":
            raise ZeroDivisionError
        return cls.name != "C"

    assert [cls.name for cls in guard.those(info.classes.values(), test)] == ["A"]
    assert [(problem.path, problem.line) for problem in guard.problems] == [(info.path, 2)]
    assert place_of(info.classes["Bad"]) == (info.path, "Bad", 2)
