"""The configuration: what is found, what is read, and one message with file, line and key for every mistake."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from onnxlint.base.globs import Glob
from onnxlint.base.probe_records import DimSpec, TensorSpec, Tolerance
from onnxlint.config.settings import Settings, load_settings
from onnxlint.config.typed_values import MOST

RULES = {"ONX101": "tensor-branch", "ONX102": "tensor-bool-operator", "ONX201": "literal-batch"}


@pytest.fixture(autouse=True)
def _in_a_folder(here: Path) -> None:
    """Before the fixtures of a class."""


def read(text: str, **overrides: Any) -> tuple[Settings, list[tuple[int | None, str]]]:
    Path("onnxlint.toml").write_text(text, encoding="utf-8")
    settings, diagnostics = load_settings(Path.cwd(), None, overrides, RULES)
    assert all(d.level == "error" and d.path == "onnxlint.toml" for d in diagnostics)
    return settings, [(d.line, d.message) for d in diagnostics]


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    settings, diagnostics = load_settings(tmp_path)
    assert (settings, diagnostics) == (Settings(root=tmp_path.resolve()), ())


def test_every_key_is_read(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    settings, mistakes = read(
        """
opset = 20
exporters = ["dynamo"]
select = ["ONX1", "literal-batch"]
extend-select = ["ONX201"]
ignore = ["ONX102"]
exclude = ["generated/", "*_pb2.py"]
fail-on = "confirmed"
timeout = 12.5
memory = "4GiB"
jobs = 3
source-roots = ["src"]

[[models]]
factory = "models.vit:build"
inputs = { image = "float32[batch, 3, height=224, width=224]", mask = "bool[batch, 196]" }
dynamic = { image = { -1 = "width" } }
sizes = { batch = [1, 2, 5] }
vary = "models.vit:vary"
tolerance = { absolute = 1e-3, relative = 0 }
ranges = { image = [0, 1.5] }
timeout = 120
exporters = ["torchscript"]

[[models]]
factory = "models.gate:Gate"
inputs = "models.gate:example_inputs"
"""
    )
    assert mistakes == []
    root = tmp_path.resolve()
    assert settings.root == root
    assert (settings.opset, settings.exporters, settings.jobs) == (20, ("dynamo",), 3)
    assert settings.select == ("ONX1", "literal-batch")
    assert (settings.extend_select, settings.ignore) == (("ONX201",), ("ONX102",))
    assert settings.exclude == (Glob("generated/", root), Glob("*_pb2.py", root))
    assert (settings.fail_on, settings.timeout, settings.memory) == ("confirmed", 12.5, 4 * 1024**3)
    assert settings.source_roots == (root / "src",)
    vit, gate = settings.models
    batch = DimSpec("batch", None)
    assert vit.inputs == {
        "image": TensorSpec("float32", (batch, DimSpec(None, 3), DimSpec("height", 224), DimSpec("width", 224))),
        "mask": TensorSpec("bool", (batch, DimSpec(None, 196))),
    }
    assert (vit.dynamic, vit.sizes) == ({"image": {-1: "width"}}, {"batch": (1, 2, 5)})
    assert (vit.vary, vit.timeout, vit.exporters) == ("models.vit:vary", 120.0, ("torchscript",))
    assert vit.tolerance == Tolerance(1e-3, 0.0)
    assert vit.ranges == {"image": (0.0, 1.5)}
    assert (vit.path, vit.line) == ("onnxlint.toml", 14)
    assert (gate.factory, gate.inputs, gate.line) == ("models.gate:Gate", "models.gate:example_inputs", 25)


def test_runtimes_are_read_however_they_are_spelt(tmp_path: Path) -> None:
    names = ["OpenVINO", "CPUExecutionProvider", "cudaexecutionprovider", "openvino", "NewExecutionProvider"]
    (tmp_path / "onnxlint.toml").write_text(f"runtimes = {names!r}")
    settings, mistakes = load_settings(tmp_path)
    assert mistakes == ()
    assert settings.runtimes == ("openvino", "onnxruntime", "CUDAExecutionProvider", "NewExecutionProvider")
    assert load_settings(tmp_path, isolated=True)[0].runtimes == ("onnxruntime",)


MISTAKES = {
    "an unknown key names the nearest": ("exporter = []", "exporter: unknown key; did you mean `exporters`?"),
    "underscores for dashes": ("fail_on = 'confirmed'", "fail_on: unknown key; did you mean `fail-on`?"),
    "a number as a string": ('opset = "18"', 'opset: a whole number from 7 is expected, not `"18"`'),
    "a truth value is no number": ("jobs = true", "jobs: a whole number from 1 is expected, not `true`"),
    "an exporter misspelt": ('exporters = ["dynmo"]', "exporters: `dynmo` is unknown; did you mean `dynamo`?"),
    "no exporter": ("exporters = []", "exporters: the list is empty; valid: torchscript, dynamo"),
    "a runtime misspelt": ('runtimes = ["openvno"]', "runtimes: `openvno` is no runtime; did you mean `openvino`?"),
    "a provider in short": (
        'runtimes = ["cuda"]',
        "runtimes: `cuda` is no runtime; did you mean `CUDAExecutionProvider`?",
    ),
    "no runtime": ("runtimes = []", "runtimes: the list is empty; valid: onnxruntime, openvino, or an execution"),
    "a rule misspelt": (
        'select = ["tensor-brnch"]',
        "select: no rule is called `tensor-brnch`; did you mean `tensor-branch`?",
    ),
    "a code of no family": ('ignore = ["W605"]', "ignore: no rule is called `W605`; see `onnxlint rules`"),
    "a code beside others": ('ignore = ["ONX103"]', "ignore: no rule is called `ONX103`; did you mean `ONX102`?"),
    "a code with a letter for a digit": (
        'ignore = ["ONX1O1"]',
        "ignore: no rule is called `ONX1O1`; did you mean `ONX101`?",
    ),
    "a code and more": ('ignore = ["onx201x"]', "ignore: no rule is called `onx201x`; did you mean `ONX201`?"),
    "a prefix of nothing": ('ignore = ["ONX8"]', "ignore: no rule is called `ONX8`; see `onnxlint rules`"),
    "a string for a list": ('select = "ONX1"', 'select: a list of rule codes or names is expected, not `"ONX1"`'),
    "a list with a number": ("exclude = ['a', 1]", "exclude: a string is expected, not `1`"),
    "a pattern that is none": ("exclude = ['!']", "exclude: `!` is not a pattern as .gitignore spells it"),
    "a threshold misspelt": ('fail-on = "confirm"', "fail-on: `confirm` is unknown; did you mean `confirmed`?"),
    "a time below zero": ("timeout = -1", "timeout: a positive number of seconds is expected, not `-1`"),
    "a time without end": ("timeout = inf", "timeout: a positive number of seconds is expected, not `inf`"),
    "memory in words": ('memory = "lots"', "memory: a size such as `4GiB` or a number of bytes is expected"),
    "a folder that is not there": ('source-roots = ["lib"]', "source-roots: there is no folder `lib` in ."),
    "models as one table": ("models = { factory = 'a:b' }", "models: each model is a table in double brackets"),
    "a model without a factory": ("[[models]]", "models: `factory` is missing"),
    "a factory as a path": (
        '[[models]]\nfactory = "models/vit.py:build"',
        "models.factory: `module:attribute` is expected, not `models/vit.py:build`; did you mean `models.vit:build`?",
    ),
    "a factory with dots alone": (
        '[[models]]\nfactory = "models.vit.build"',
        "models.factory: `module:attribute` is expected, not `models.vit.build`; did you mean `models.vit:build`?",
    ),
    "a model's key misspelt": (
        '[[models]]\nfactory = "a:b"\ninput = "a:c"',
        "models.input: unknown key; did you mean `inputs`?",
    ),
    "a dtype misspelt": (
        '[[models]]\nfactory = "a:b"\ninputs = { x = "float[2]" }',
        "models.inputs.x: `float` is not a dtype; did you mean `float32`? (at column 1 of `float[2]`)",
    ),
    "one dim with two sizes": (
        '[[models]]\nfactory = "a:b"\n[models.inputs]\nx = "bool[n=2]"\ny = "bool[n=3]"',
        "models.inputs.y: `n` is 3 here and 2 in `x`",
    ),
    "inputs of no kind": (
        '[[models]]\nfactory = "a:b"\ninputs = 3',
        "models.inputs: a table of spec strings, or `module:callable`, is expected, not `3`",
    ),
    "no inputs in the table": (
        '[[models]]\nfactory = "a:b"\ninputs = {}',
        "models.inputs: the table is empty; give one spec string",
    ),
    "an axis that Python takes for no number": (
        f'[[models]]\nfactory = "a:b"\ndynamic = {{ x = {{ {"9" * 5000} = "batch" }} }}',
        "models.dynamic.x.9999",
    ),
    "an axis that is no number": (
        '[[models]]\nfactory = "a:b"\ndynamic = { x = { batch = "batch" } }',
        "models.dynamic.x.batch: an axis number is expected as the key, not `batch`",
    ),
    "a dim's name that is none": (
        '[[models]]\nfactory = "a:b"\ndynamic = { x = { 0 = "the batch" } }',
        "models.dynamic.x.0: `the batch` is no name for a dim",
    ),
    "an axis past the rank": (
        '[[models]]\nfactory = "a:b"\ninputs = { x = "bool[n, 3]" }\ndynamic = { x = { -3 = "m" } }',
        "models.dynamic.x.-3: axis -3 is outside `x`, which has 2 axes",
    ),
    "a dynamic input that is none": (
        '[[models]]\nfactory = "a:b"\ninputs = { image = "bool[n]" }\ndynamic = { imgae = { 0 = "n" } }',
        "models.dynamic.imgae: `imgae` is no input of this model; did you mean `image`?",
    ),
    "sizes of an unknown dim": (
        '[[models]]\nfactory = "a:b"\ninputs = { x = "bool[batch]" }\nsizes = { bacth = [1] }',
        "models.sizes.bacth: `bacth` is no dynamic dim of this model; did you mean `batch`?",
    ),
    "a size of zero": (
        '[[models]]\nfactory = "a:b"\ninputs = { x = "bool[n]" }\nsizes = { n = [0] }',
        "models.sizes.n: a whole number from 1 is expected, not `0`",
    ),
    "a range of one number": (
        '[[models]]\nfactory = "a:b"\nranges = { x = [1] }',
        "models.ranges.x: the least and the greatest value, such as `[0, 1]`, is expected, not a list",
    ),
    "a range upside down": (
        '[[models]]\nfactory = "a:b"\nranges = { x = [1, 0] }',
        "models.ranges.x: the least and the greatest value, such as `[0, 1]`, is expected, not a list",
    ),
    "a range of no input": (
        '[[models]]\nfactory = "a:b"\ninputs = { image = "float32[n]" }\nranges = { imag = [0, 1] }',
        "models.ranges.imag: `imag` is no input of this model; did you mean `image`?",
    ),
    "a tolerance by another name": (
        '[[models]]\nfactory = "a:b"\ntolerance = { atol = 1 }',
        "models.tolerance.atol: unknown key; valid: absolute, relative",
    ),
    "keys under tool.onnxlint in onnxlint.toml": (
        "[tool.onnxlint]\nopset = 18",
        "tool: in this file the keys stand at the top level, without [tool.onnxlint]",
    ),
}


@pytest.mark.parametrize(("text", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_message_at_its_line(text: str, message: str) -> None:
    _, mistakes = read(f"# a comment\n\n{text}\n")
    assert len(mistakes) == 1
    line, found = mistakes[0]
    assert found.startswith(message)
    # The place is the last line of the text but for two mistakes that concern a whole table.
    whole = message.startswith(("models: each", "models: `factory`", "tool:"))
    assert line == (3 if whole else 2 + len(text.splitlines()))


def test_all_mistakes_come_at_once_and_the_rest_is_used() -> None:
    settings, mistakes = read(
        """opset = 7.5
jobs = 4
select = ["ONX1", "ONX9"]
[[models]]
factory = "a"
[[models]]
factory = "a:b"
timeout = "soon"
"""
    )
    assert [line for line, _ in mistakes] == [1, 3, 5, 8]
    assert (settings.opset, settings.jobs) == (Settings(Path()).opset, 4)
    assert [(model.factory, model.timeout) for model in settings.models] == [("a:b", None)]


class TestCommandLine:
    def test_what_was_typed_wins_over_the_file(self) -> None:
        text = 'opset = 19\njobs = 2\n[[models]]\nfactory = "a:b"\nexporters = ["dynamo"]\ntimeout = 5\n'
        settings, _ = read(text, jobs=7, exporters=("torchscript",), timeout=9.0, static_only=True)
        assert (settings.opset, settings.jobs, settings.static_only) == (19, 7, True)
        assert (settings.models[0].exporters, settings.models[0].timeout) == (None, None)

    def test_select_replaces_what_the_file_selects_and_ignores(self) -> None:
        settings, _ = read('select = ["ONX2"]\nextend-select = ["ONX1"]\nignore = ["ONX101"]', select=("ONX101",))
        assert (settings.select, settings.extend_select, settings.ignore) == (("ONX101",), (), ())

    def test_extend_select_and_ignore_add_to_the_file(self) -> None:
        settings, _ = read('select = ["ONX2"]\nignore = ["ONX101"]', extend_select=("ONX101",), ignore=("ONX201",))
        assert (settings.select, settings.extend_select, settings.ignore) == (("ONX2",), ("ONX101",), ("ONX201",))


def test_memory_beyond_any_machine_is_one_message() -> None:
    assert [m for _, m in read(f"memory = '{'9' * 5000}GB'")[1]] == ["memory: this is more memory than there is"]


@pytest.mark.parametrize("row", ["key{} = 1", "[table{}]", "[[models]]\nname{} = 1"])
def test_of_very_many_mistakes_the_first_are_told(row: str) -> None:
    _, mistakes = read("".join(f"{row.format(n)}\n" for n in range(20_000)))
    assert len(mistakes) == MOST + 1
    assert "there are more mistakes" in mistakes[0][1] + mistakes[-1][1]


@pytest.mark.parametrize("text", ["select = ['{}']", "{} = 1", "extend = '{}'", "opset = '{}'"])
def test_a_long_value_is_cut(text: str) -> None:
    _, mistakes = read(text.format("k" * 900_000))
    assert all(len(message) < 1200 for _, message in mistakes)
    assert mistakes
