"""Which attributes of `self` a method reads: what is only written, counted up or declared is read by nobody."""

from __future__ import annotations

import pytest
from analysing import project_of

from onnxlint.flow.state.self_reads import Attributes
from onnxlint.project.classes import ClassInfo

SOURCE = """\
class Base(nn.Module):
    def describe(self):
        return self.inherited
class Cache(Base):
    def __init__(self):
        self.early = self.setting
        self.calls = 0
    def forward(self, x):
        self.calls += 1
        self.seen.append(x)
        self.last: Tensor = x
        self.low, self.high = x.min(), x.max()
        return self.attend(x)
    def attend(self, x):
        if self.mask == 1:
            return x
        self.state = x
        return self.step(x) + self.scale
    def step(self, x):
        return x * self.gain
    def restart(self):
        return self.state
"""


def cache() -> ClassInfo:
    (info,) = project_of(SOURCE).modules.values()
    return info.classes["Cache"]


def test_the_first_line_that_reads_an_attribute() -> None:
    reads, attend = Attributes(), cache().methods["attend"]
    assert reads.first_read(attend, "mask") == 15
    assert reads.first_read(attend, "scale") == 18
    assert reads.first_read(attend, "state") is None
    assert reads.first_read(cache().methods["forward"], "low") is None


@pytest.mark.parametrize(
    ("name", "read"), [("state", True), ("inherited", True), ("setting", False), ("last", False), ("high", False)]
)
def test_what_a_method_of_the_class_or_of_a_base_reads_the_constructor_aside(name: str, read: bool) -> None:
    assert Attributes().read_elsewhere(cache(), name) is read


@pytest.mark.parametrize(
    ("name", "used"), [("gain", True), ("scale", True), ("calls", False), ("seen", False), ("inherited", False)]
)
def test_what_forward_or_a_method_that_it_comes_to_uses(name: str, used: bool) -> None:
    assert Attributes().read_by_forward(cache(), name, None) is used


def test_what_forward_writes_itself_or_through_its_methods() -> None:
    assert {"state", "last"} <= Attributes().written_by_forward(cache())
    assert not {"early", "gain", "mask"} & Attributes().written_by_forward(cache())


def test_only_what_is_read_down_to_the_line_is_read_on_the_way() -> None:
    cls = cache()
    attend = cls.methods["attend"]
    assert Attributes().read_on_the_way([(attend, 15)], cls, "mask")
    assert not Attributes().read_on_the_way([(attend, 16)], cls, "gain")
    assert Attributes().read_on_the_way([(attend, 18)], cls, "gain")  # in the method that this line calls


def test_what_forward_puts_under_a_key_of_an_attribute_is_no_use_of_it() -> None:
    source = "class Head(nn.Module):\n    def forward(self, x):\n        self.{0}['x'] = x\n        return x{1}\n"
    for more, used in (("", False), (" + self.kept['x']", True)):
        (info,) = project_of(source.format("kept", more)).modules.values()
        assert Attributes().read_by_forward(info.classes["Head"], "kept", None) is used
