"""What joins take another value for is noted for the run that they belong to, and for no other."""

from onnxlint.flow.values import domain as dom
from onnxlint.flow.values.joins import join, noting_passed_over
from tests.flow.analysing import project_of

PROJECT = project_of({"a.py": "def first(): pass\ndef second(): pass\ndef third(): pass\n"})
FIRST, SECOND, THIRD = (dom.Function(unit) for unit in next(iter(PROJECT.modules.values())).functions.values())


def test_a_run_inside_another_notes_its_own_joins_only() -> None:
    outer: dict[dom.Value, None] = {}
    inner: dict[dom.Value, None] = {}
    with noting_passed_over(outer):
        with noting_passed_over(inner):
            assert join(SECOND, THIRD) == SECOND
        assert join(FIRST, SECOND) == FIRST
    assert ([*inner], [*outer]) == ([THIRD], [SECOND])


def test_a_join_outside_of_any_run_is_noted_nowhere() -> None:
    noted: dict[dom.Value, None] = {}
    with noting_passed_over(noted):
        pass
    assert join(THIRD, FIRST) == FIRST
    assert not noted
