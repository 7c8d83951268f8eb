"""Objects of classes of the project: built once for equal arguments, with what their constructors assign."""

import pytest
from analysing import PRELUDE, facts_of, result_of, running

from onnxlint.flow.values.domain import CONFIG, Const, Instance, Tensor

CLASS = "class C:\n    def __init__(self, n=3):\n        self.n = n\n    def get(self):\n        return self.n\n"


def test_a_constructor_assigns_attributes() -> None:
    assert result_of(f"{PRELUDE}{CLASS}def f(x):\n    return C(4).get()\n", Tensor()) == Const(4)


def test_equal_arguments_give_the_same_object() -> None:
    engine, info = running(f"{PRELUDE}{CLASS}")
    one, other, third = (engine.instantiate(info.classes["C"], [Const(n)], {}, None) for n in (4, 4, 5))
    assert isinstance(one, Instance)
    assert isinstance(other, Instance)
    assert isinstance(third, Instance)
    assert one.object is other.object
    assert one.object is not third.object


def test_an_attribute_that_is_set_later_is_a_setting() -> None:
    source = "def f(x):\n    c = C()\n    c.n = 5\n    return c.n\n"
    assert result_of(f"{PRELUDE}{CLASS}{source}", Tensor()) == CONFIG


def test_a_class_builds_on_its_base() -> None:
    source = "class D(C):\n    def __init__(self):\n        super().__init__(n=7)\ndef f(x):\n    return D().get()\n"
    assert result_of(f"{PRELUDE}{CLASS}{source}", Tensor()) == Const(7)


@pytest.mark.parametrize(("flag", "sure"), [("dynamic_training", False), ("dynamic", True), ("training_free", True)])
def test_what_a_flag_of_training_turns_on_is_off_whoever_builds_the_model(flag: str, sure: bool) -> None:
    source = f"""
class M(nn.Module):
    def __init__(self, {flag}=False):
        super().__init__()
        self.flag = {flag}
    def forward(self, x: Tensor):
        return x * x.max().item() if self.flag else x
def build(settings):
    return M({flag}=settings.flag)
"""
    assert [o.sure for o in facts_of(source)] == [sure]
