"""What a name means in a file, and a dotted one across files: the project first, then libraries, then builtins."""

from __future__ import annotations

import pytest
from analysing import project_of, running

from onnxlint.flow.python.name_lookup import of_a_library
from onnxlint.flow.values.domain import UNKNOWN, ClassRef, Const, External, Function, PyModule, Value

FILES = {
    "model.py": """
        import layers
        import torch.nn as nn
        from layers import Block, WIDTH as W
        from torch.nn import functional as F
        from collections import namedtuple
        from missing import thing
        TWICE = W * 2
        len = 3
        first, second = 1, 2
        Pair = namedtuple("Pair", "a b")
        def f(): ...
    """,
    "layers.py": "WIDTH = 8\nclass Block: ...\ndef g(): ...\n",
}


def meaning(name: str, strict: bool = False) -> Value:
    """What a name of `model.py` stands for."""
    engine, info = running(project_of(FILES))
    return engine.global_value(info, name, strict)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("nn", External("torch.nn")),
        ("F", External("torch.nn.functional")),
        ("thing", External("missing.thing")),
        ("W", Const(8)),
        ("TWICE", Const(16)),
        ("len", Const(3)),  # a name of the file hides the builtin
        ("max", External("builtins.max")),
        ("first", UNKNOWN),
        ("nowhere", UNKNOWN),
    ],
)
def test_a_name_means(name: str, value: Value) -> None:
    assert meaning(name) == value


def test_functions_classes_and_files_of_the_project() -> None:
    f, block, layers, pair = (meaning(name) for name in ("f", "Block", "layers", "Pair"))
    assert isinstance(f, Function)
    assert isinstance(block, ClassRef)
    assert block.info.module.name == "layers"
    assert isinstance(layers, PyModule)
    assert isinstance(pair, ClassRef)
    assert list(pair.info.fields) == ["a", "b"]


def test_a_builtin_does_not_count_where_a_file_itself_is_asked() -> None:
    assert meaning("max", strict=True) == UNKNOWN


def test_the_versions_of_torch_and_of_torchvision_are_those_of_the_table() -> None:
    engine, _ = running("pass")
    assert of_a_library(engine, "torch.__version__") == Const("2.13.0")
    assert of_a_library(engine, "torchvision.__version__") == Const("0.28.0")
    assert of_a_library(engine, "numpy.__version__") == External("numpy.__version__")


def test_what_a_package_binds_hides_its_module_of_the_same_name() -> None:
    files = {
        "model.py": "from ops import pool\nfrom ops.pool import pool as own\nfrom ops import act\n",
        "ops/__init__.py": "from .pool import pool\nfrom . import act\n",
        "ops/pool.py": "def pool(x): ...\n",
        "ops/act.py": "def act(x): ...\n",
    }
    engine, info = running(project_of(files))
    for name in ("pool", "own"):
        value = engine.global_value(info, name)
        assert isinstance(value, Function)
        assert value.unit.qualname == "pool"
    assert isinstance(engine.global_value(info, "act"), PyModule)
