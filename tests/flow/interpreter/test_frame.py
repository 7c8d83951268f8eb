"""Statements, one by one: what runs after which, and what names mean then."""

import pytest
from analysing import PRELUDE, analysed, result_of

from onnxlint.flow.values.domain import Const, Tensor

GIVES = {
    "if True:\n        a = 1\n    else:\n        a = 2\n    return a": Const(1),
    "a = 0\n    for i in (1, 2):\n        a = i\n    return 3": Const(3),
    "try:\n        a = 1\n    finally:\n        b = 2\n    return b": Const(2),
    "with torch.no_grad() as c:\n        a = 1\n    return a": Const(1),
    "while True:\n        break\n    return 1": Const(1),
    "def g():\n        return 4\n    return g()": Const(4),
    "class G:\n        n = 5\n    return G.n": Const(5),
    "match 3:\n        case 3:\n            return 6\n    return 6": Const(6),
    "import math as m\n    return m.floor(1.5) * 0 + 7 if False else 7": Const(7),
    "a = 1\n    a += 1\n    return a": Const(2),
    "a: int = 8\n    return a": Const(8),
}


@pytest.mark.parametrize(("body", "value"), GIVES.items())
def test_what_a_body_returns(body: str, value: Const) -> None:
    assert result_of(f"{PRELUDE}def f(x):\n    {body}\n", Tensor()) == value


def test_what_comes_after_a_return_does_not_run() -> None:
    assert result_of(f"{PRELUDE}def f(x):\n    return 1\n    return 2\n", Tensor()) == Const(1)


@pytest.mark.parametrize(("warning", "sure"), [("warnings.warn('one for all')\n            ", False), ("", True)])
def test_an_arm_that_warns_of_what_it_was_passed_is_not_the_usual_one(warning: str, sure: bool) -> None:
    source = f"""
import copy
class M(nn.Module):
    def forward(self, x, masks=None):
        if masks is None:
            masks = [None] * 2
        elif isinstance(masks, torch.Tensor):
            {warning}masks = [copy.deepcopy(masks) for _ in range(2)]
        return x, masks
"""
    assert [o.sure for o in analysed(source).observations if "deepcopy" in o.text] == [sure]
