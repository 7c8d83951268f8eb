"""Attributes: of tensors, of objects through their classes and bases, of layers, of modules of the project."""

from __future__ import annotations

import pytest
from analysing import BATCH, LENGTH, told, words_of

from onnxlint.flow.values.domain import Const, Tensor

X = Tensor((BATCH, LENGTH, Const(4)), kind="float")


@pytest.mark.parametrize(
    ("attribute", "words"),
    [
        ("x.shape[0]", "dim:batch"),
        ("x.shape[-1]", "4"),
        ("x.ndim", "3"),
        ("x.mT", "tensor/float:batch,4,length"),
        ("x[0].T", "tensor/float:4,length"),
        ("x.real", "tensor/float:batch,length,4"),
        ("x.dtype", "config"),
        ("x.topk(3).values", "tensor/float:batch,length,3"),
        ("x.max(1).indices", "tensor/index:batch,4"),
        ("nn.Linear(4, 8).out_features", "8"),
        ("nn.Linear(4, 8).weight", "weight/float:8,4"),
    ],
)
def test_the_attribute_gives(attribute: str, words: str) -> None:
    assert words_of(attribute, X) == words


def test_of_an_unknown_rank_the_first_size_is_known_and_the_last_is_not() -> None:
    assert words_of("x.shape[0]", Tensor(None, BATCH)) == "dim:batch"
    assert words_of("x.shape[-1]", Tensor(None, BATCH)) == "config"
    assert words_of("x.ndim", Tensor(None, BATCH)) == "config"


MODEL = """
class Base(nn.Module):
    deep = False
    @property
    def chosen(self):
        return self.choose
    @staticmethod
    def plainly(x):
        return x if x.sum() > 0 else -x
    @classmethod
    def by_class(cls, x):
        return cls.plainly(x)
    def choose(self, x):
        return self.plainly(x)
class M(Base):
    def forward(self, x: Tensor):
        return {way}
"""


@pytest.mark.parametrize(
    "way",
    [
        "self.choose(x)",
        "self.chosen(x)",
        "self.plainly(x)",
        "self.by_class(x)",
        "M.plainly(x)",
        "M.choose(self, x)",
        "Base.by_class(x)",
        "super().choose(x)",
        "getattr(self, 'choose')(x)",
        "type(self).plainly(x) if self.deep else self.plainly(x)",
    ],
)
def test_a_method_of_a_base_is_reached_by(way: str) -> None:
    assert told(MODEL.format(way=way)) == ["Branch data: x.sum() > 0"]


def test_an_attribute_that_a_method_sets_later_is_no_constant() -> None:
    later = "\n    def deepen(self):\n        self.deep = True\n"
    way = "x if not self.deep else self.choose(x)"
    assert told(MODEL.format(way=way)) == []
    assert told(MODEL.format(way=way) + later) != []
