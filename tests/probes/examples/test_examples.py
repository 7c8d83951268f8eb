"""From a probe to a model and its inputs: every way to declare them, and every way to get it wrong."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from onnxlint.base.probe_records import Probe
from onnxlint.base.records import EXPORTERS
from onnxlint.base.specs import parse_spec
from onnxlint.probes.examples.examples import ProbeFailure, build_model, example_inputs

Write = Callable[..., Probe]


@pytest.fixture
def write(tmp_path: Path) -> Iterator[Write]:
    """Write a module `declared` and make a probe of it; sys.path and sys.modules are restored."""
    path, modules = list(sys.path), set(sys.modules)

    def make(text: str, factory: str = "declared:Net", **changes: object) -> Probe:
        head = "import torch\nfrom torch import nn\n"
        (tmp_path / "declared.py").write_text(head + textwrap.dedent(text), encoding="utf-8")
        probe = Probe(
            name=factory,
            factory=factory,
            path="onnxlint.toml",
            line=7,
            source="config",
            inputs=None,
            dynamic={},
            sizes={},
            vary=None,
            exporters=EXPORTERS,
            opset=18,
            search_path=(str(tmp_path),),
            root=str(tmp_path),
            repro_dir=str(tmp_path / "repro"),
        )
        return replace(probe, **changes)  # type: ignore[arg-type]

    yield make
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(50, 4)
        self.user_embeddings = nn.Embedding(7, 4)

    def forward(self, x, mask=None, *, scale=1.0):
        return x * scale
"""


def refused(probe: Probe, feed: bool = False) -> ProbeFailure:
    model = build_model(probe) if feed else None
    with pytest.raises(ProbeFailure) as caught:
        example_inputs(probe, model) if model is not None else build_model(probe)
    return caught.value


def place(failure: ProbeFailure) -> tuple[str, int] | None:
    return failure.location and (failure.location.path, failure.location.line)


# Building ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("factory", ["Net", "build", "ready", "Holder.make"])
def test_a_class_a_function_a_method_and_a_module_are_factories(write: Write, factory: str) -> None:
    source = NET + textwrap.dedent(
        """
        def build(): return Net()
        ready = Net()
        class Holder:
            @staticmethod
            def make(): return Net()
        """
    )
    assert type(build_model(write(source, f"declared:{factory}"))).__name__ == "Net"


def test_a_model_is_built_with_the_same_weights_every_time(write: Write) -> None:
    probe = write(NET)
    one, two = (build_model(probe).state_dict()["words.weight"] for _ in range(2))
    assert torch.equal(one, two)


@pytest.mark.parametrize(
    ("source", "factory", "words", "where"),
    [
        (NET, "nowhere:Net", "there is no module `nowhere`", None),
        (NET, "declared", "names no attribute", None),
        (NET, "declared:Nett", "module `declared` has no attribute `Nett`", None),
        (
            "import nothing_of_that_name\n",
            "declared:Net",
            "cannot be imported: ModuleNotFoundError",
            ("declared.py", 3),
        ),
        ("x = (\n", "declared:Net", "cannot be imported: SyntaxError", ("declared.py", 3)),
        ("import sys\nsys.exit(4)\n", "declared:Net", "cannot be imported: it called sys.exit(4)", ("declared.py", 4)),
        ("def f():\n    raise KeyError('w')\n", "declared:f", "`declared:f` raised: KeyError: 'w'", ("declared.py", 4)),
        ("def f():\n    return 3\n", "declared:f", "returned an `int`, not an nn.Module", ("declared.py", 3)),
        ("def f(n, m=1):\n    pass\n", "declared:f", "needs arguments: n", ("declared.py", 3)),
        ("f = 3\n", "declared:f", "is an `int`, which cannot be called", None),
    ],
)
def test_what_cannot_be_built_is_said_with_the_users_line(
    write: Write, source: str, factory: str, words: str, where: tuple[str, int] | None
) -> None:
    failure = refused(write(source, factory))
    assert words in failure.reason
    assert place(failure) == where


def test_a_misspelt_attribute_gets_the_nearest_spelling(write: Write) -> None:
    assert refused(write(NET, "declared:Nett")).remedy == "did you mean `Net`?"


def test_a_missing_package_is_named(write: Write) -> None:
    assert "install `absent_thing`" in (refused(write("import absent_thing.part\n")).remedy or "")


# Feeding -------------------------------------------------------------------------------------------------------------


def test_a_callable_returns_a_tuple_by_position_or_a_dict_by_name(write: Write) -> None:
    source = NET + "def both(): return torch.ones(2, 3), None\ndef named(): return dict(scale=2.0, x=torch.ones(4))\n"
    probe = write(source, inputs="declared:both", dynamic={"x": {-2: "batch"}})
    example = example_inputs(probe, build_model(probe))
    assert (example.parameters, example.dynamic) == (("x", "mask"), {"x": {0: "batch"}})
    named = replace(probe, inputs="declared:named", dynamic={})
    example = example_inputs(named, build_model(named))
    assert ([list(value.shape) for value in example.args], example.kwargs) == ([[4]], {"scale": 2.0})
    assert example.parameters == ("x", "scale")


def test_specs_become_tensors_with_one_size_per_name_and_valid_values(write: Write) -> None:
    specs = {"x": parse_spec("int64[batch, seq]"), "mask": parse_spec("bool[batch, seq]")}
    probe = write(NET, inputs=specs, sizes={"seq": (1, 11)})
    example = example_inputs(probe, build_model(probe))
    x, mask = example.args
    assert (tuple(x.shape), x.dtype, mask.dtype) == ((2, 11), torch.int64, torch.bool)
    assert mask.shape == x.shape
    assert mask.any(-1).all()
    assert int(x.min()) >= 0
    assert 7 < int(x.max()) < 50
    assert example.dynamic == {"x": {0: "batch", 1: "seq"}, "mask": {0: "batch", 1: "seq"}}


@pytest.mark.parametrize(
    "mark",
    [
        "Net.__onnxlint_example__ = {'x': 'float32[batch, 3]'}",
        "Net.onnx_example = classmethod(lambda cls: {'x': 'float32[batch, 3]'})",
        "Net.onnx_example = staticmethod(lambda: (torch.ones(2, 3),))",
        "def onnx_example(): return {'x': torch.ones(2, 3)}",
    ],
)
def test_marks_in_the_source_are_read(write: Write, mark: str) -> None:
    probe = write(NET + mark + "\n", source="marked")
    example = example_inputs(probe, build_model(probe))
    assert [tuple(value.shape) for value in example.args] == [(2, 3)]
    assert example.dynamic == ({"x": {0: "batch"}} if "batch" in mark else {})


@pytest.mark.parametrize(
    ("source", "attribute"),
    [
        ("example_input_array", "Net.example_input_array = torch.ones(2, 3)"),
        ("dummy_inputs", "Net.dummy_inputs = property(lambda self: {'x': torch.ones(2, 3)})"),
        ("default_cfg", "Net.default_cfg = {'input_size': (3, 8, 8)}"),
    ],
)
def test_conventions_feed_the_model_and_mean_a_dynamic_batch(write: Write, source: str, attribute: str) -> None:
    probe = write(NET + attribute + "\n", source=source)
    example = example_inputs(probe, build_model(probe))
    assert example.args[0].shape[0] == 2
    assert example.dynamic == {"x": {0: "batch"}}


SIZED = "def sized(): return torch.ones(2, 3), torch.ones(4)\n"


@pytest.mark.parametrize(
    ("more", "changes", "words"),
    [
        ("", {"source": "dummy_inputs"}, "no example inputs"),
        ("", {"inputs": "declared:input"}, "has no attribute `input`"),
        ("def f(): return 3\n", {"inputs": "declared:f"}, "the example inputs are an `int`"),
        ("def f(): raise OSError('no file')\n", {"inputs": "declared:f"}, "raised: OSError: no file"),
        ("def f(): return 1, 2, 3, 4\n", {"inputs": "declared:f"}, "4 example inputs, but forward takes 2 by position"),
        ("", {"inputs": {"y": parse_spec("bool[2]")}}, "no parameter `y` that inputs names"),
        (SIZED, {"inputs": "declared:sized", "dynamic": {"y": {0: "n"}}}, "no parameter `y` that dynamic names"),
        (SIZED, {"inputs": "declared:sized", "dynamic": {"scale": {0: "n"}}}, "not among the example inputs"),
        (SIZED, {"inputs": "declared:sized", "dynamic": {"x": {2: "n"}}}, "`x` has 2 dims: there is no axis 2"),
        (
            SIZED,
            {"inputs": "declared:sized", "dynamic": {"x": {0: "n"}, "mask": {0: "n"}}},
            "`n` is 2 on axis 0 of `x`",
        ),
        (
            SIZED,
            {"inputs": "declared:sized", "dynamic": {"x": {0: "batch"}}, "sizes": {"bach": (1,)}},
            "sizes names `bach`",
        ),
        ("Net.__onnxlint_example__ = {'x': 'flaot32[2]'}\n", {"source": "marked"}, "did you mean `float32`"),
    ],
)
def test_what_cannot_be_fed_is_said(write: Write, more: str, changes: dict[str, object], words: str) -> None:
    failure = refused(write(NET + more, **changes), feed=True)
    assert words in failure.reason
