"""Parts of a project: a small one is one part, a large one is cut where its paths say."""

from __future__ import annotations

from pathlib import Path

from analysing import project_of

from onnxlint.flow.state.partitions import (
    MODULE_LEVEL,
    MOST,
    WHOLE,
    common_folder,
    in_order,
    mentioned,
    name_of,
    partition,
    source_of,
)
from onnxlint.project.classes import ModuleInfo


def modules(names: list[str]) -> list[ModuleInfo]:
    return in_order(project_of(dict.fromkeys(names, "a = 1\n")).modules.values())


def test_a_small_project_is_one_part_and_no_project_one_without_files() -> None:
    few = modules([f"m{n:04}.py" for n in range(WHOLE)])
    assert list(partition(few)) == [tuple(few)]
    assert list(partition([])) == [()]


def test_every_file_is_in_one_part_and_no_part_is_too_large() -> None:
    many = modules([f"m{n:04}.py" for n in range(1000)])
    parts = list(partition(many))
    assert [info for part in parts for info in part] == many
    assert len(parts) > 2
    assert max(map(len, parts)) <= MOST


def test_a_file_more_leaves_most_parts_as_they_were() -> None:
    names = [f"m{n:04}.py" for n in range(1000)]
    before = {tuple(info.path for info in part) for part in partition(modules(names))}
    after = {tuple(info.path for info in part) for part in partition(modules([*names, "m0000_more.py"]))}
    assert len(before & after) >= len(before) - 2


def test_the_common_folder_is_the_deepest_that_holds_all() -> None:
    assert common_folder([Path("/a/b/c.py"), Path("/a/b/d/e.py")]) == Path("/a/b")
    assert common_folder([Path("/a/b/c.py")]) == Path("/a/b")
    assert common_folder([Path("/a/b.py"), Path("/c/d.py")]) == Path("/")


def test_of_two_parts_each_is_told_which_of_its_classes_the_other_calls() -> None:
    project = project_of(
        {
            "layers.py": "class Used: ...\nclass Unused: ...\nclass Late: ...\nmade = Unused()\n",
            "model.py": "from layers import Used, Unused\nclass Own: ...\npart = Used()\nowned = Own()\n"
            "def late():\n    from layers import Late\n    return Late()\n",
        }
    )
    layers, model = in_order(project.modules.values())
    used = frozenset(name_of(layers.classes[name]) for name in ("Used", "Late"))
    assert mentioned([[layers], [model]]) == [used, frozenset()]
    assert mentioned([[layers, model]]) == [frozenset()]


def test_what_a_test_builds_is_not_built_by_other_parts() -> None:
    use = "from layers import Used\nnet = Used(3)\n"
    project = project_of({"layers.py": "class Used:\n    pass\n", "tests/test_layers.py": use, "tool.py": use})
    by_name = {info.name: info for info in project.modules.values()}
    used = frozenset({name_of(by_name["layers"].classes["Used"])})
    assert mentioned([[by_name["layers"]], [by_name["test_layers"]]]) == [frozenset(), frozenset()]
    assert mentioned([[by_name["layers"]], [by_name["tool"]]]) == [used, frozenset()]


def test_the_source_of_a_definition_and_of_what_stands_outside_of_all() -> None:
    text = "import a\n\n\n@mark\ndef f():\n    return 1\n\n\nLIMIT = [\n    2,\n]\n\n\nclass C:\n    n = 3\nf()\n"
    (info,) = project_of(text).modules.values()
    assert source_of(info, "f") == "def f():\n    return 1"
    assert source_of(info, "C") == "class C:\n    n = 3"
    assert source_of(info, "LIMIT") == "LIMIT = [\n    2,\n]"
    assert source_of(info, "alias") == "alias"
    outside = source_of(info, MODULE_LEVEL)
    assert outside.split() == ["import", "a", "LIMIT", "=", "[", "2,", "]", "f()"]
