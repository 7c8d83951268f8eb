"""What a file defines, as a small record: names with their lines, and what imports bind."""

from __future__ import annotations

import ast

import msgspec
import pytest

from onnxlint.project.outline import ImportOutline, ModuleOutline, dotted, full_name, outline_of


def outlined(text: str) -> ModuleOutline:
    return outline_of(ast.parse(text), text, tuple(text.split("\n")))


CLASS = """\
import torch


@register("größe")
@torch.no_grad
class Größe(Base[int], torch.nn.Module, metaclass=Meta):
    size: int = 3
    mode: str
    act = torch.nn.ReLU()

    class Inner:
        def forward(self, x): return x

    def __init__(self):
        self.weight = 1

    @property
    def on(self): return self._on

    @on.setter
    def on(self, value):
        self._on = value

    def enable_tiling(self):
        self.tiling = True

    def reset(self):
        self.cache += 1
        self.bias: torch.Tensor = None
        if self.state == 1: pass
        self.table[0] = 2
"""


def test_a_class_has_its_lines_bases_fields_and_what_it_writes_late() -> None:
    cls, inner = outlined(CLASS).classes
    assert (cls.qualname, cls.first, cls.line, cls.last) == ("Größe", 4, 6, 31)
    assert cls.decorators == ("register", "torch.no_grad")
    assert cls.bases == ("Base", "torch.nn.Module")
    assert cls.fields == ("size", "mode")
    assert {name: value.alias for name, value in cls.attributes.items()} == {"size": "", "act": "torch.nn.ReLU"}
    methods = {method.name: (method.first, method.line, method.last) for method in cls.methods}
    assert methods["on"] == (17, 18, 18), "the one that is read, not the one that is set"
    assert methods["__init__"] == (14, 14, 15)
    assert cls.late == ("bias", "cache"), "neither by a switch that nobody throws, nor in `__init__`"
    assert (inner.qualname, inner.methods[0].line) == ("Größe.Inner", 12)


def test_a_switch_that_the_class_itself_throws_counts() -> None:
    thrown = CLASS.replace("    def reset(self):\n", "    def reset(self):\n        self.enable_tiling()\n")
    assert outlined(thrown).classes[0].late == ("bias", "cache", "tiling")
    fairseq = CLASS.replace("enable_tiling", "prepare_for_onnx_export_")
    assert outlined(fairseq).classes[0].late == ("bias", "cache")


def test_every_branch_binds_and_the_last_binding_counts() -> None:
    outline = outlined(
        "if FLAG:\n    def f(x): pass\nelse:\n    def f(y): pass\n"
        "try:\n    import fast as impl\nexcept ImportError:\n    import slow as impl\n"
        "with guard():\n    a = b = torch.float16\n"
        "for i in range(3):\n    unseen = i\n"
        "c: int\nd, e = 1, 2\nf.attribute = 1\n"
    )
    assert [(f.name, f.line) for f in outline.functions] == [("f", 4)]
    assert [(i.name, i.module, i.fallback) for i in outline.imports] == [
        ("impl", "fast", False),
        ("impl", "slow", True),
    ]
    assert {name: (value.first, value.alias) for name, value in outline.values.items()} == {
        "a": (10, "torch.float16"),
        "b": (10, "torch.float16"),
    }


@pytest.mark.parametrize(
    ("statement", "module", "is_package", "names"),
    [
        ("import a.b", "m", False, {"a": "a"}),
        ("import a.b as c", "m", False, {"c": "a.b"}),
        ("from a.b import c as d, e", "m", False, {"d": "a.b.c", "e": "a.b.e"}),
        ("from . import x", "pkg.mod", False, {"x": "pkg.x"}),
        ("from .ops import x", "pkg", True, {"x": "pkg.ops.x"}),
        ("from ..ops import x", "pkg.sub.mod", False, {"x": "pkg.ops.x"}),
        ("from größe import *", "m", False, {"*": "größe"}),
        ("from . import *", "pkg.mod", False, {"*": "pkg"}),
        ("from ... import x", "m", False, {"x": "x"}),
    ],
)
def test_an_import_binds_full_names(statement: str, module: str, is_package: bool, names: dict[str, str]) -> None:
    imports = outlined(statement).imports
    assert {item.name: full_name(item, module, is_package) for item in imports} == names


def test_names_with_a_capital_that_are_used_are_mentioned() -> None:
    text = "from a import Net, Unused, Default, Given, small\nfrom torch import Tensor\n"
    text += "small()\nTensor(1)\nnet = Net()\ndef f(x=Default, y= Given): pass\nUnused\n"
    text += "def g():\n    from b.c import (Part,\n        Rest)\n    from torch import Size\n    return Part()\n"
    assert outlined(text).mentions == ("Default", "Given", "Net", "b.c.Part")


def test_a_name_is_dotted_where_it_is_one() -> None:
    texts = ("a", "a.b.c", "a.b(1).c", "a[0].b", "f()()", "1", "(a + b).c")
    assert [dotted(ast.parse(text, mode="eval").body) for text in texts] == ["a", "a.b.c", "a.b.c", "", "f", "", ""]


def test_an_outline_survives_the_way_into_the_cache() -> None:
    outline = outlined(CLASS)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(outline), type=ModuleOutline) == outline
    assert outlined("") == ModuleOutline((), (), {}, (), ())
    assert outlined("from x import y").imports == (ImportOutline("y", 0, "x", "y"),)
