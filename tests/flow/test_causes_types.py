"""Tests of a type: which arms a tensor, a list or a dict takes."""

from __future__ import annotations

import pytest
from analysing import findings_of

SOURCE = """
class M(nn.Module):
    def nested(self, xs):
        return [x if x.sum() > 0 else -x for x in xs]
    def forward(self, x):
        return self.any(x if {tensor} else [x, x])
    def any(self, v):
        if {test}:
            return self.nested(v)
        return v
"""


@pytest.mark.parametrize(
    ("tensor", "test", "runs"),
    [
        (True, "isinstance(v, list)", False),
        (True, "isinstance(v, (list, tuple))", False),
        (True, "isinstance(v, dict)", False),
        (True, "not isinstance(v, torch.Tensor)", False),
        (True, "isinstance(v, torch.Tensor)", True),
        (False, "isinstance(v, (list, tuple))", True),
        (False, "isinstance(v, torch.Tensor)", False),
        (False, "isinstance(v, list)", True),
    ],
)
def test_the_arm_of(tensor: bool, test: str, runs: bool) -> None:
    source = SOURCE.format(tensor=tensor, test=test)
    assert bool(findings_of(source)) == runs
