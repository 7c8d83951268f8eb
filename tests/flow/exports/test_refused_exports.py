"""Classes that refuse to be exported, and models that only these use, are outside of every export."""

from __future__ import annotations

import pytest

from tests.flow.analysing import PRELUDE, analysed, project_of

EXPORTING = """
import torch
from models import *

class Base:
    model_class = None
    def __init__(self):
        self.model = self.model_class()
    def _run(self, x):
        torch.onnx.export(self.model.eval(), x, "m.onnx")
    def to_file(self, x):
        self._run(x)

class Span(Base):
    model_class = SpanModel

class Decoding(Base):
    model_class = DecodingModel
    def {method}(self, x):
        {body}

class TokenDecoding(Decoding):
    model_class = TokenModel
    {again}

KINDS = {{"span": Span, "decoding": Decoding, "token": TokenDecoding}}
"""
MODEL = """
class {name}({base}):
    {held}
    def forward(self, x):
        if x.{read}() > 0:
            return x
        return -x
"""
RAISE = "raise NotImplementedError('decoders are not exported')"
PART = "def __init__(self):\n        super().__init__()\n        self.part = Part()\n"


def _outside(method: str = "to_file", body: str = RAISE, again: str = "pass", more: str = "") -> dict[str, str]:
    """For each model, by the method that its branch reads, why no export comes to it."""
    models = [
        MODEL.format(name="Part", base="nn.Module", held="", read="amin"),
        MODEL.format(name="SpanModel", base="nn.Module", held="", read="sum"),
        MODEL.format(name="DecodingModel", base="SpanModel", held=PART, read="mean"),
        MODEL.format(name="TokenModel", base="DecodingModel", held="", read="amax"),
    ]
    offered = "__all__ = ['SpanModel', 'DecodingModel', 'TokenModel', 'Part']\n"
    files = {
        "models.py": PRELUDE + offered + "".join(models),
        "exporting.py": EXPORTING.format(method=method, body=body, again=again) + more,
        "tests/test_models.py": "from models import *\n\ndef test_it():\n    assert DecodingModel()\n",
    }
    branches = [o for o in analysed(project_of(files)).observations if type(o).__name__ == "Branch"]
    return {o.text.partition(".")[2].partition("(")[0]: o.outside for o in branches}


@pytest.mark.parametrize("method", ["to_file", "_run"])
def test_what_only_a_class_uses_that_refuses_its_export_is_outside(method: str) -> None:
    """So are its parts, and what only a class uses that inherits the refusal; the reason names the method."""
    outside = _outside(method)
    reason = f"`Decoding.{method}` raises NotImplementedError"
    assert outside.pop("sum") == ""
    assert set(outside) == {"mean", "amax", "amin"}
    assert all(why.endswith(reason) for why in outside.values())


@pytest.mark.parametrize(
    ("body", "method"),
    [
        ("if x is None:\n            raise NotImplementedError\n        super().to_file(x)", "to_file"),
        ("raise ValueError(x)", "to_file"),
        (RAISE, "to_another_file"),
    ],
    ids=["sometimes", "for another reason", "another method"],
)
def test_an_export_that_may_work_is_not_refused(body: str, method: str) -> None:
    """Only a method that always says that it is not there counts, and only one on the way to the export."""
    assert set(_outside(method, body).values()) == {""}


def test_a_class_below_may_export_again() -> None:
    """Its own method is no refusal, and its model uses what the one above does."""
    again = "def to_file(self, x):\n        self._run(x)\n"
    assert set(_outside(again=again).values()) == {""}


def test_what_anything_else_names_may_be_exported() -> None:
    """A function of the project builds the model of the class that refuses."""
    outside = _outside(more="\ndef build():\n    return DecodingModel()\n")
    assert outside["mean"] == outside["amin"] == ""
    assert outside["amax"] != ""
