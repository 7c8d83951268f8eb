"""Which files are a user's, how their paths are written, and how stacks are read from each exporter's records."""

from __future__ import annotations

import collections
import subprocess
import sys
from pathlib import Path

import numpy
import onnx
import pytest
import torch

from onnxlint.base.records import Location
from onnxlint.probes.common import userspace
from onnxlint.probes.common.userspace import (
    error_frames,
    is_user_code,
    nearest,
    python_frames,
    relative,
    torchscript_frames,
    user_frames,
)


@pytest.mark.parametrize(
    "filename",
    [
        torch.nn.__file__,
        numpy.__file__,
        onnx.__file__,
        collections.__file__,
        userspace.__file__,
        "<string>",
        "<frozen importlib._bootstrap>",
        "",
    ],
)
def test_machinery_is_not_user_code(filename: str | None) -> None:
    assert filename is not None
    assert not is_user_code(filename)


def test_what_spells_a_model_s_operations_is_not_user_code() -> None:
    einx = pytest.importorskip("einx", reason="of x-transformers")
    assert not is_user_code(einx.__file__)


def test_own_files_and_modelling_libraries_are_user_code(tmp_path: Path) -> None:
    assert is_user_code(str(tmp_path / "model.py"))
    assert is_user_code(pytest.__file__)  # any installed library that is not machinery
    assert is_user_code(str(tmp_path / "torch" / "model.py"))  # a folder that happens to be called so


def test_paths_are_relative_below_the_root_and_absolute_elsewhere(tmp_path: Path) -> None:
    root = tmp_path / "project"
    (root / "pkg").mkdir(parents=True)
    assert relative(str(root / "pkg" / "m.py"), str(root)) == "pkg/m.py"
    assert relative(str(tmp_path / "projects" / "m.py"), str(root)) == (tmp_path / "projects" / "m.py").as_posix()
    assert relative(str(root / "m.py"), None) == (root / "m.py").as_posix()
    link = tmp_path / "link"
    link.symlink_to(root)
    assert relative(str(link / "pkg" / "m.py"), str(root)) == "pkg/m.py"


def test_the_callers_stack_and_a_traceback_are_read_innermost_first() -> None:
    def inner() -> tuple[Location, ...]:
        return user_frames(limit=2)

    here = Path(__file__).as_posix()
    start = inner.__code__.co_firstlineno
    name = test_the_callers_stack_and_a_traceback_are_read_innermost_first.__name__
    assert inner()[0] == Location(here, start + 1, f"{name}.<locals>.inner")
    with pytest.raises(RuntimeError) as caught:
        torch.ones(2) @ torch.ones(3, 3)
    assert error_frames(caught.value)[0].path == here
    assert error_frames(None) == ()


def test_a_torchscript_stack_is_read_innermost_first_without_torch() -> None:
    text = (
        f"{torch.nn.__file__}(134): forward\n"
        "/src/models/gate.py(12): helper\n"
        f"{torch.nn.__file__}(1779): _call_impl\n"
        "/src/models/gate.py(30): forward\n"
    )
    assert torchscript_frames(text, "/src") == (
        Location("models/gate.py", 12, "helper"),
        Location("models/gate.py", 30, "forward"),
    )
    assert torchscript_frames("") == ()


def test_a_python_stack_is_read_from_its_end() -> None:
    text = (
        'File "/src/models/gate.py", line 30, in forward\n    x = self.helper(x)\n'
        f'File "{torch.nn.__file__}", line 134, in forward\n    return 1\n'
        'File "/src/models/gate.py", line 12, in helper\n    return x\n'
    )
    assert [frame.line for frame in python_frames(text, "/src")] == [12, 30]
    assert python_frames(None) == ()


def test_what_is_user_code_is_known_without_importing_torch() -> None:
    code = (
        "import sys; from onnxlint.probes.common.userspace import is_user_code; assert is_user_code('/x/m.py'); "
        "assert not {'torch', 'numpy', 'onnx'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_deep_in_a_library_the_line_that_called_it_is_kept() -> None:
    library = [Location(f"/env/site-packages/zoo/{n}.py", n) for n in range(5)]
    inside = Location("env/site-packages/zoo/9.py", 9)
    mine = [Location("models/a.py", 3), Location("models/b.py", 4)]
    stack = [*library, inside, *mine]
    assert nearest(stack, "/home/me", 2) == (*library[:2], mine[0])
    assert nearest(stack, None, 2) == tuple(library[:2])
    assert nearest([mine[0], *stack], "/home/me", 2) == (mine[0], library[0])
    assert nearest(library, "/home/me", 2) == tuple(library[:2])


def test_formatted_stacks_name_functions_as_code_objects_do(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text(
        "class Net:\n    def forward(self):\n        def inner():\n            pass\n        return inner()\n"
    )
    stack = f'File "{file}", line 4, in inner\nFile "{file}", line 5, in forward\n'
    assert [f.function for f in python_frames(stack)] == ["Net.forward", "Net.forward.<locals>.inner"]
    assert python_frames('File "/no/model.py", line 4, in inner\n')[0].function == "inner"
