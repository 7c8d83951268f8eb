"""What a call returned is recalled where an equal call would return the same."""

from onnxlint.flow.state.summaries import DEPTH, CallKey, Summaries
from onnxlint.flow.values import domain as dom
from tests.flow.analysing import project_of

(MODULE,) = project_of({"a.py": "class Thing: pass\n"}).modules.values()
PLACE = ("function",)
KEY = CallKey(("function", (dom.Const(1),)))
RESULT = dom.Const(2)


def test_a_result_is_recalled_in_other_entry_points() -> None:
    store = Summaries()
    with store.entry(), store.running(PLACE, KEY, None) as results:
        results.append(RESULT)
    with store.entry():
        assert store.recall([PLACE], KEY, 0) == RESULT


def test_a_call_that_assigns_is_recalled_in_its_entry_point_only_and_undone_at_its_end() -> None:
    store, obj = Summaries(), dom.Object(next(iter(MODULE.classes.values())))
    with store.entry():
        with store.running(PLACE, KEY, None) as results:
            store.assigns(obj, "last")
            obj.attrs["last"] = RESULT
            results.append(RESULT)
        assert store.recall([PLACE], KEY, 0) == RESULT
    assert not obj.attrs
    with store.entry():
        assert store.recall([PLACE], KEY, 0) is None


def test_a_call_that_read_what_has_been_assigned_since_runs_again() -> None:
    store, obj = Summaries(), dom.Object(next(iter(MODULE.classes.values())))
    with store.entry():
        with store.running(PLACE, KEY, None) as results:
            store.reads(obj, "last")
            results.append(RESULT)
        store.assigns(obj, "last")
        assert store.recall([PLACE], KEY, 0) is None


def test_a_call_within_a_recursion_is_forgotten_with_it() -> None:
    store, inner = Summaries(), CallKey(("inner", ()))
    with store.entry():
        with store.running(PLACE, KEY, None) as results:
            with store.running(("inner",), inner, None) as nested:
                nested.append(store.recall([PLACE], KEY, 2) or RESULT)
            assert store.recall([("inner",)], inner, 1) == dom.UNKNOWN
            results.append(RESULT)
        assert store.recall([("inner",)], inner, 0) is None
        assert store.recall([PLACE], KEY, 0) == RESULT


def test_what_is_too_deep_is_unknown() -> None:
    assert Summaries().recall([PLACE], KEY, DEPTH) == dom.UNKNOWN


def test_what_was_cut_within_a_call_costs_the_calls_inside_alone() -> None:
    """A closure that calls itself is cut: that depends on where it began, and on nothing around that."""
    store, inner = Summaries(), CallKey(("inner", ()))
    with store.entry(), store.running(PLACE, KEY, None) as results:
        around = store.depth
        with store.running(("inner",), inner, None) as nested:
            nested.append(store.too_deep(around))
        results.append(RESULT)
    with store.entry():
        assert store.recall([("inner",)], inner, 0) is None
        assert store.recall([PLACE], KEY, 0) == RESULT
