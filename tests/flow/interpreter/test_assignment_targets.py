"""Assignment: names, attributes, items, and several of them at once."""

import pytest
from analysing import PRELUDE, result_of, told

from onnxlint.flow.values.domain import Const, Tensor, Tuple

BOUND = {
    "a, b = 1, 2": "b",
    "a, *b = 1, 3, 2\n    b = b[1]": "b",
    "(a, b), c = (1, 2), 3": "b",
    "a = {}\n    a['k'] = 2": "a['k']",
    "a = b = 2": "a",
}


@pytest.mark.parametrize(("assignment", "read"), BOUND.items())
def test_what_is_bound(assignment: str, read: str) -> None:
    assert result_of(f"{PRELUDE}def f(x):\n    {assignment}\n    return {read}\n", Tensor()) == Const(2)


def test_the_sizes_of_a_shape_are_unpacked() -> None:
    made = result_of(f"{PRELUDE}def f(x):\n    a, b = x.shape\n    return b, a\n", Tensor((Const(3), Const(4))))
    assert made == Tuple((Const(4), Const(3)))


MODEL = """
LAST = None
class M(nn.Module):
    def forward(self, x: Tensor):
        {}LAST = x
        return x
"""


def test_a_tensor_in_a_global_is_a_write_to_state() -> None:
    assert any(line.startswith("StateWrite") for line in told(MODEL.format("global LAST; ")))
    assert not any(line.startswith("StateWrite") for line in told(MODEL.format("")))
