"""Which file is which module, and where an imported name leads: in packages, beside scripts, read on demand."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from small_projects import module, read

from onnxlint.project.classes import ClassInfo, Reads
from onnxlint.project.modules import imported, module_name, moved

NET = "import torch\n\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return x\n"


def test_a_file_is_named_from_the_folder_that_is_no_package(tmp_path: Path) -> None:
    for name in ("src/größe/__init__.py", "src/größe/layers/__init__.py", "src/größe/layers/ops.py", "tools/run it.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert module_name(tmp_path / "src/größe/layers/ops.py") == ("größe.layers.ops", tmp_path / "src")
    assert module_name(tmp_path / "src/größe/__init__.py") == ("größe", tmp_path / "src")
    assert module_name(tmp_path / "tools/run it.py") == ("run it", tmp_path / "tools")


def test_modules_are_found_by_name_and_libraries_are_not(tmp_path: Path) -> None:
    project = read(
        tmp_path,
        {"pkg/__init__.py": "", "pkg/net.py": NET, "torch/__init__.py": NET, "main.py": "import torch, pkg.net"},
    )
    assert module(project, "pkg.net").path.endswith("pkg/net.py")
    assert module(project, "pkg").is_package
    assert project.module("pkg.gone") is project.module("torch") is project.module("") is None


def test_a_module_that_a_run_was_not_asked_for_is_read_when_it_is_imported(tmp_path: Path) -> None:
    (tmp_path / "late.py").write_text("def f(x):\n    return x\n")
    project = read(tmp_path, {"main.py": "import torch\nfrom late import f\n"})
    assert [info.name for info in project.modules.values()] == ["main"]
    assert list(module(project, "late").functions) == ["f"]
    assert project.late == {tmp_path / "late.py"}


def test_beside_a_script_its_own_folder_comes_first(tmp_path: Path) -> None:
    files = {"a/main.py": "import torch, util", "b/main.py": "import torch, util", "a/util.py": NET, "b/util.py": NET}
    project = read(tmp_path, files)
    for folder in ("a", "b"):
        found = project.find("util", str(tmp_path / folder))
        assert found is not None
        assert found.source.path == tmp_path / folder / "util.py"


def test_packages_without_an_init_file_are_found_from_the_folders_above_a_script(tmp_path: Path) -> None:
    project = read(
        tmp_path,
        {
            "repo/nets/small.py": NET,
            "repo/tools/nets/large.py": NET,
            "repo/tools/deep/export.py": "import sys\nsys.path.append('../..')\nfrom nets.small import Net\n",
        },
    )
    for name, path in (("nets.small", "nets/small.py"), ("nets.large", "tools/nets/large.py")):
        found = project.find(name, str(tmp_path / "repo/tools/deep"))
        assert found is not None
        assert found.source.path == tmp_path / "repo" / path
    assert project.find("nets.small", str(tmp_path / "elsewhere")) is None
    assert project.find("repo.nets.small", str(tmp_path / "repo/tools/deep")) is None  # above all of the run
    (tmp_path / "repo/stranger").mkdir()
    (tmp_path / "repo/stranger/net.py").write_text(NET)  # there, but no file of the run
    assert project.find("stranger.net", str(tmp_path / "repo/tools/deep")) is None


def test_of_packages_of_one_name_the_one_below_the_own_source_root_is_meant(tmp_path: Path) -> None:
    package = {
        "model/__init__.py": "",
        "model/net.py": "import torch\nfrom model.parts import Net\n",
        "model/parts.py": NET,
    }
    files = {f"{folder}/{path}": text for folder in ("a", "b") for path, text in package.items()}
    project = read(tmp_path, files)
    for folder in ("a", "b"):
        net = project.modules[tmp_path / folder / "model/net.py"].lookup("Net")
        assert isinstance(net, ClassInfo)
        assert net.module.source.path == tmp_path / folder / "model/parts.py"


@pytest.mark.parametrize(
    ("imports", "name"),
    [
        ("from pkg.net import Net", "Net"),
        ("import pkg.net", "pkg.net.Net"),
        ("from pkg import net as n", "n.Net"),
        ("from pkg import Net as Other", "Other"),
        ("from pkg import *", "Net"),
        ("try:\n    from fast_größe import Net\nexcept ImportError:\n    from pkg import Net", "Net"),
    ],
)
def test_a_class_is_found_through_every_form_of_import(tmp_path: Path, imports: str, name: str) -> None:
    files = {"pkg/__init__.py": "from .net import Net\n", "pkg/net.py": NET, "main.py": f"import torch\n{imports}\n"}
    project = read(tmp_path, files)
    cls = module(project, "main").lookup(name)
    assert isinstance(cls, ClassInfo)
    assert (cls.module.name, cls.qualname) == ("pkg.net", "Net")


def test_a_class_of_a_library_is_its_dotted_name(tmp_path: Path) -> None:
    project = read(tmp_path, {"main.py": "import torch.nn as nn\nfrom timm.layers import Mlp as M\n"})
    main = module(project, "main")
    assert (main.lookup("nn.Linear"), main.lookup("M"), main.lookup("gone")) == (
        "torch.nn.Linear",
        "timm.layers.Mlp",
        None,
    )


def test_what_is_looked_at_is_recorded(tmp_path: Path) -> None:
    project = read(tmp_path, {"main.py": "import torch, pkg.gone", "pkg/__init__.py": "", "pkg/net.py": NET})
    reads = Reads()
    project.record(reads)
    assert project.module("pkg.net") is not None
    assert project.module("pkg.gone") is None
    assert reads.modules == {("pkg.net", ""): tmp_path / "pkg/net.py", ("pkg.gone", ""): None}
    assert str(tmp_path / "pkg/gone.py") in reads.probed
    project.record(None)
    project.module("pkg.other")
    assert ("pkg.other", "") not in reads.modules


def test_modules_are_found_by_a_word_with_a_capital(tmp_path: Path) -> None:
    project = read(
        tmp_path,
        {"a.py": "import torch\nx = Net_2(Größe)", "b.py": "import torch  # subNet_2", "c.py": "import torch\nNet_2"},
    )
    assert [info.name for info in project.naming("Net_2")] == ["a", "b", "c"]
    assert [info.name for info in project.naming("Größe")] == ["a"]
    assert list(project.naming("Net")) == []


def test_the_tree_of_a_function_has_its_lines_wherever_it_stands(tmp_path: Path) -> None:
    text = NET + "\n\n@torch.no_grad()\ndef late(\n    x,  # größe\n):\n    return '''\nx'''\n"
    project = read(tmp_path, {"m.py": text, "n.py": text})
    for name in ("m", "n"):
        info = module(project, name)
        info.parsed = False
        for unit in (info.functions["late"], info.classes["Net"].methods["forward"]):
            node = project.definition(unit)
            assert node.name == unit.name
            assert node.lineno + unit.shift == unit.line
            assert ast.unparse(node.body[-1]) == text.split("\n")[unit.last - 1].strip() or unit.name == "late"


def test_what_an_import_statement_binds_is_told_with_full_names() -> None:
    node = ast.parse("from ..ops import a as b, c").body[0]
    assert isinstance(node, ast.ImportFrom)
    assert list(imported(node, "pkg.sub.mod", False)) == [("b", "pkg.ops.a"), ("c", "pkg.ops.c")]


def test_a_tree_further_down_is_a_copy() -> None:
    tree = ast.parse("x = 1\ny = 2")
    assert [node.lineno for node in moved(tree, 10).body] == [11, 12]
    assert [node.lineno for node in tree.body] == [1, 2]
