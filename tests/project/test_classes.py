"""Classes across files: their bases, the method that a name means, and which of them are models."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from small_projects import module, read

from onnxlint.project.classes import MOST, STARS, WHOLE, ClassInfo, Reads


def one(tmp_path: Path, body: str) -> ClassInfo:
    """The class `A` of a file."""
    return module(read(tmp_path, {"m.py": f"import torch\nfrom torch import nn\n{body}"}), "m").classes["A"]


DIAMOND = {
    "base.py": """\
        import torch
        class Root(torch.nn.Module):
            def forward(self, x): return x
            def size(self): return 1
        """,
    "left.py": """\
        import torch, base
        class Left(base.Root):
            def size(self): return 2
            act = torch.relu
        """,
    "right.py": """\
        import torch
        from base import Root as R
        class Right(R):
            def size(self): return 3
        """,
    "m.py": """\
        import torch
        from left import *
        from right import Right
        class A(Left, Right):
            pass
        """,
}


def test_bases_come_nearest_first_and_a_shared_one_last(tmp_path: Path) -> None:
    cls = module(read(tmp_path, DIAMOND), "m").classes["A"]
    assert [c.name for c in cls.mro()] == ["A", "Left", "Right", "Root"]
    assert cls.external_bases() == {"torch.nn.Module"}
    size = cls.find_method("size")
    assert size is not None
    assert size.cls is cls.mro()[1]
    beyond = cls.find_method("size", after=cls.mro()[1])
    assert beyond is not None
    assert beyond.cls is cls.mro()[2]
    assert cls.find_method("gone") is None
    found = cls.find_attribute("act")
    assert found is not None
    assert (found[0].name, ast.unparse(found[1])) == ("Left", "torch.relu")


def test_a_circle_of_bases_is_cut(tmp_path: Path) -> None:
    project = read(
        tmp_path, {"m.py": "import torch, n\nclass A(n.B): pass\n", "n.py": "import torch, m\nclass B(m.A): pass\n"}
    )
    assert [c.name for c in module(project, "m").classes["A"].mro()] == ["A", "B"]
    assert [c.name for c in module(project, "n").classes["B"].mro()] == ["B", "A"]
    assert not module(project, "m").classes["A"].is_module()


def test_a_very_long_chain_of_bases_is_cut_and_noted(tmp_path: Path) -> None:
    chain = "class C0: pass\n" + "".join(f"class C{n}(C{n - 1}): pass\n" for n in range(1, 3 * MOST))
    project = read(tmp_path, {"m.py": f"import torch\n{chain}"})
    last = module(project, "m").classes[f"C{3 * MOST - 1}"]
    assert len(last.mro()) == MOST
    assert list(project.session.deep) == [last.module.path]


@pytest.mark.parametrize(
    ("body", "model"),
    [
        ("class A(torch.nn.Module): pass", True),
        ("class A(nn.Sequential): pass", True),
        ("class B(nn.Module): pass\nclass A(B): pass", True),
        ("from größe import BaseModel\nclass A(BaseModel):\n    def forward(self, x): return x", True),
        ("from größe import BaseModel\nclass A(BaseModel): pass", False),
        ("from timm.models.vit import Vit\nclass A(Vit):\n    def forward(self, x): return x", True),
        ("import paddle.nn as pd\nclass A(pd.Layer):\n    def forward(self, x): return x", False),
        ("import megengine.module as M\nclass A(M.Module):\n    def forward(self, x): return x", False),
        ("from flax.linen import Module\nclass A(Module):\n    def forward(self, x): return x", False),
        ("class A:\n    def forward(self, x): return x", False),
        ("class A(torch.autograd.Function):\n    def forward(self, x): return x", False),
    ],
)
def test_a_model_is_one_by_its_bases_or_by_its_look(tmp_path: Path, body: str, model: bool) -> None:
    assert one(tmp_path, body).is_module() is model


def test_what_methods_write_is_gathered_from_all_bases(tmp_path: Path) -> None:
    body = "class B:\n    def step(self):\n        self.count = 1\n"
    body += "class A(B):\n    def __init__(self):\n        self.own = 1\n"
    assert one(tmp_path, body).written_outside_init() == {"count"}


def test_a_function_has_its_text_decorators_and_parameters(tmp_path: Path) -> None:
    body = "class A:\n    @torch.no_grad()\n    @other\n    def f(self, a, /, größe=2, *, c=3):\n        return größe\n"
    unit = one(tmp_path, body).methods["f"]
    assert (unit.first, unit.line, unit.last) == (4, 6, 7)
    assert unit.text == "    def f(self, a, /, größe=2, *, c=3):\n        return größe"
    assert (unit.has_decorator("no_grad"), unit.has_decorator("grad", "torch.no")) == (True, False)
    assert [(a.arg, d and ast.unparse(d)) for a, d in unit.positional] == [("self", None), ("a", None), ("größe", "2")]
    assert unit.node.lineno + unit.shift == unit.line


def test_what_is_asked_for_is_noted_and_nothing_else(tmp_path: Path) -> None:
    project = read(
        tmp_path, {"m.py": "import torch\nX = 1\nclass A:\n    y = 2\n    def f(self): return self.y\ndef g(): pass\n"}
    )
    info = module(project, "m")

    def noted(ask: object) -> set[str]:
        reads = Reads()
        project.record(reads)
        ask()  # type: ignore[operator]
        return {key for _, key in reads.keys}

    assert noted(lambda: info.functions.get("gone")) == {"name:gone"}
    assert noted(lambda: "g" in info.functions) == {"name:g"}
    assert noted(lambda: info.assigns["X"]) == {"value:X"}
    assert noted(lambda: info.classes["A"].methods["f"].text) == {"name:A", "text:A.f"}
    assert noted(lambda: info.classes["A"].find_attribute("y")) == {"name:A", "value:A.y"}
    assert noted(lambda: info.classes["A"].text) == {"name:A", "class:A"}
    assert noted(lambda: list(info.functions)) == noted(lambda: info.file) == {WHOLE}
    assert noted(lambda: info.source) == set()


def test_an_assignment_is_the_one_of_that_name_on_its_line(tmp_path: Path) -> None:
    info = module(read(tmp_path, {"m.py": "import torch\na = 1; b = 'größe'; c: int = 3\n"}), "m")
    assert [ast.unparse(info.assigns[name]) for name in "abc"] == ["a = 1", "b = 'größe'", "c: int = 3"]
    with pytest.raises(KeyError):
        info.assigns["d"]


def test_a_name_that_goes_round_in_star_imports_is_no_class(tmp_path: Path) -> None:
    project = read(
        tmp_path, {"a.py": "import torch\nfrom b import *\n", "b.py": "import torch\nfrom a import *\nclass B: pass\n"}
    )
    assert module(project, "a").lookup("Gone") is None
    found = module(project, "a").lookup("B")
    assert isinstance(found, ClassInfo)
    assert found.module.name == "b"


def test_of_very_many_star_imports_the_right_one_is_found(tmp_path: Path) -> None:
    files = {f"m{n}.py": f"import torch\nclass C{n}: pass\n" for n in range(STARS + 1)}
    files["all.py"] = "import torch\n" + "".join(f"from m{n} import *\n" for n in range(STARS + 1))
    info = module(read(tmp_path, files), "all")
    found = info.lookup(f"C{STARS}")
    assert isinstance(found, ClassInfo)
    assert found.module.name == f"m{STARS}"
    assert info.lookup("Gone") is None


def test_the_fallback_of_an_import_counts_where_nothing_else_is_found(tmp_path: Path) -> None:
    text = "import torch\ntry:\n    from fast import Net\nexcept ImportError:\n    from slow import Net\n"
    net = "import torch\nclass Net(torch.nn.Module): pass\n"
    assert module(read(tmp_path / "a", {"m.py": text, "slow.py": net}), "m").target("Net") == "slow.Net"
    assert module(read(tmp_path / "b", {"m.py": text, "slow.py": net, "fast.py": net}), "m").target("Net") == "fast.Net"
    library = text.replace("from fast", "from torch.nn")
    assert module(read(tmp_path / "c", {"m.py": library, "slow.py": net}), "m").target("Net") == "torch.nn.Net"


def test_a_class_for_which_a_layer_of_torch_may_stand_in_is_one(tmp_path: Path) -> None:
    forward = "def forward(self, x): return super().forward(x)"
    text = f"try:\n    from apex import Fused\n    class A(Fused):\n        {forward}\n"
    with_layer = one(tmp_path / "a", f"{text}except ImportError:\n    from torch.nn import LayerNorm as A\n")
    assert with_layer.external_bases() == {"apex.Fused", "torch.nn.LayerNorm"}
    assert with_layer.is_module()
    assert not one(tmp_path / "b", f"{text}except ImportError:\n    from other import LayerNorm as A\n").is_module()
