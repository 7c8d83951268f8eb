"""The static half of a run: what its calls cost."""

import resource
import sys

import pytest

from onnxlint.run.static_pass import with_room_for_calls

DEPTHS = range(300)  # more than one chunk of 16 KiB is filled by the frames of so many calls


def _nothing() -> None:
    """Do nothing, in a frame that is larger than the step from one depth to the next: at an edge it has no room."""


_nothing.__code__ = _nothing.__code__.replace(co_stacksize=100)


def _calls_at(depth: int) -> None:
    """Go down, and call something a thousand times there."""
    for _ in range(1000 if depth == 0 else 0):
        _nothing()
    if depth:
        _calls_at(depth - 1)


def _faults_at_each_depth() -> list[int]:
    """The pages that each depth had the system map anew."""
    faults = []
    for depth in DEPTHS:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        _calls_at(depth)
        faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    return faults


@with_room_for_calls
def _with_room() -> list[int]:
    return _faults_at_each_depth()


@pytest.mark.skipif(sys.platform != "linux" or sys.version_info < (3, 11), reason="counts the page faults of a stack")
def test_no_call_has_the_system_map_memory_again() -> None:
    assert max(_faults_at_each_depth()) >= 1000  # what it is there for: at an edge each call costs one
    assert max(_with_room()) < 100
