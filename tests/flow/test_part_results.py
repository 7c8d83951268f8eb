"""What a part gave: as bytes and back, at the places of today, and merged with what the others gave."""

import dataclasses

import msgspec
import pytest
from analysing import PRELUDE, facts_of, project_of

from onnxlint.flow import part_results
from onnxlint.flow.state.observations import Observation

SOURCE = (
    PRELUDE
    + """
class M(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x
        return -x
"""
)


def seen() -> tuple[Observation, ...]:
    return facts_of(project_of(SOURCE))


def test_observations_are_the_same_from_fields() -> None:
    assert part_results.restored(part_results.plain(seen())) == list(seen())


@pytest.mark.parametrize("pairs", [[("Nothing", {})], [("Branch", {"span": 3})]])
def test_what_is_no_observation_is_refused(pairs: list[tuple[str, dict[str, object]]]) -> None:
    with pytest.raises(msgspec.ValidationError):
        part_results.restored(pairs)


@pytest.mark.parametrize("data", [b"", b"no outcome", b"\x91" * 5000])
def test_bytes_that_hold_no_outcome_are_none(data: bytes) -> None:
    assert part_results.decode(data) is None


def test_lines_move_with_what_they_are_in() -> None:
    (one, *_) = seen()
    (moved,) = part_results.moved([one], {one.span.path: [(1, 100, 5)]}) or []
    assert moved.span == dataclasses.replace(one.span, line=one.span.line + 5, end_line=one.span.end_line + 5)
    assert part_results.moved([one], {one.span.path: [(90, 100, 5)]}) is None
    assert part_results.moved([one], {}) == [one]


def test_one_observation_of_two_parts_is_one() -> None:
    assert len(part_results.merged([seen(), seen()])) == len(seen())
