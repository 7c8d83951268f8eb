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


def assigning(store: Summaries, obj: dom.Object) -> None:
    with store.running(PLACE, KEY, None) as results:
        store.reads(obj, "first")
        store.assigns(obj, "last")
        obj.attrs["last"] = RESULT
        results.append(RESULT)


def test_a_call_that_assigns_is_undone_with_its_entry_point_and_done_again_where_another_recalls_it() -> None:
    store, obj = Summaries(), dom.Object(next(iter(MODULE.classes.values())))
    with store.entry():
        assigning(store, obj)
        assert store.recall([PLACE], KEY, 0) == RESULT
    assert not obj.attrs
    with store.entry():
        assert store.recall([PLACE], KEY, 0) == RESULT
        assert obj.attrs == {"last": RESULT}
    assert not obj.attrs


def test_a_call_that_assigns_runs_again_where_what_it_uses_was_assigned_before() -> None:
    store, obj = Summaries(), dom.Object(next(iter(MODULE.classes.values())))
    with store.entry():
        assigning(store, obj)
    for name, recalled in (("first", None), ("last", None), ("other", RESULT)):
        with store.entry():
            store.assigns(obj, name)
            obj.attrs[name] = dom.Const(3)
            assert store.recall([PLACE], KEY, 0) == recalled


def test_what_recalls_a_call_that_assigns_depends_on_that_too() -> None:
    store, obj, outer = Summaries(), dom.Object(next(iter(MODULE.classes.values()))), CallKey(("outer", ()))
    with store.entry():
        assigning(store, obj)
    with store.entry(), store.running(("outer",), outer, None) as results:
        results.append(store.recall([PLACE], KEY, 1) or dom.UNKNOWN)
    with store.entry():
        assert store.recall([("outer",)], outer, 0) == RESULT
        assert obj.attrs == {"last": RESULT}
    with store.entry():
        store.assigns(obj, "first")
        obj.attrs["first"] = dom.Const(3)
        assert store.recall([("outer",)], outer, 0) is None


def test_an_export_that_is_tried_within_an_entry_point_runs_for_itself() -> None:
    store, obj = Summaries(), dom.Object(next(iter(MODULE.classes.values())))
    with store.entry():
        assigning(store, obj)
    with store.entry():
        with store.entry():
            assert store.recall([PLACE], KEY, 0) is None
            assigning(store, obj)
        assert store.recall([PLACE], KEY, 0) == RESULT


def test_what_lasts_ends_what_was_assigned_before() -> None:
    store, obj = Summaries(), dom.Object(next(iter(MODULE.classes.values())))
    with store.entry():
        assigning(store, obj)
    with store.entry(lasting=True):
        store.assigns(obj, "other")
        obj.attrs["other"] = RESULT
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
