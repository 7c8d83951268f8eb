"""The configuration: what is found, what is read, and one message with file, line and key for every mistake."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from onnxlint.base.globs import Glob
from onnxlint.base.probe_records import DimSpec, TensorSpec, Tolerance
from onnxlint.config.rule_selectors import Selection
from onnxlint.config.settings import Settings, load_settings
from onnxlint.config.toml_positions import Key, key_lines
from onnxlint.config.typed_values import MOST, parse_memory

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
    assert settings.selection == Selection(("ONX1", "literal-batch"), ("ONX201",), ("ONX102",))
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


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("opset = 18\nselect = [1\n", 2, "this is not valid TOML: Unclosed array; nothing of this file is used"),
        ("opset = 18\njobs 3\n", 2, "this is not valid TOML at column 6: Expected '=' after a key in a key/value pair"),
        ("jobs = 1\njobs = 2\n", 2, "this is not valid TOML at column 9: Cannot overwrite a value"),
    ],
)
def test_broken_toml_is_one_message(text: str, line: int, message: str) -> None:
    settings, mistakes = read(text)
    assert [line for line, _ in mistakes] == [line]
    assert mistakes[0][1].startswith(message)
    assert settings.opset == Settings(Path()).opset != 18


def test_bytes_that_are_not_utf8_are_one_message_with_the_line() -> None:
    Path("onnxlint.toml").write_bytes(b'opset = 18\n# caf\xe9\nselect = ["ONX"]\n')
    _, (mistake,) = load_settings(Path.cwd())
    assert (mistake.path, mistake.line) == ("onnxlint.toml", 2)
    assert mistake.message == "the configuration is not UTF-8; save it as UTF-8"


def test_a_byte_order_mark_and_windows_lines_are_fine() -> None:
    Path("onnxlint.toml").write_bytes(b"\xef\xbb\xbfopset = 19\r\njobs = 0\r\n")
    settings, (mistake,) = load_settings(Path.cwd())
    assert (settings.opset, mistake.line) == (19, 2)


class TestDiscovery:
    def test_the_nearest_file_above_is_taken(self, tmp_path: Path) -> None:
        deep = tmp_path / "a" / "b"
        deep.mkdir(parents=True)
        (tmp_path / "pyproject.toml").write_text("[tool.onnxlint]\nopset = 19\n")
        (tmp_path / "a" / "pyproject.toml").write_text("[project]\nname = 'a'\n")
        settings, _ = load_settings(deep)
        assert (settings.opset, settings.root) == (19, tmp_path.resolve())
        (tmp_path / "a" / "onnxlint.toml").write_text("opset = 20\n")
        settings, _ = load_settings(deep)
        assert (settings.opset, settings.root) == (20, (tmp_path / "a").resolve())

    def test_onnxlint_toml_wins_over_pyproject_beside_it(self, tmp_path: Path) -> None:
        (tmp_path / "pyproject.toml").write_text("[tool.onnxlint]\nopset = 19\n")
        (tmp_path / "onnxlint.toml").write_text("opset = 20\n")
        assert load_settings(tmp_path)[0].opset == 20

    def test_a_broken_pyproject_of_others_is_passed_over(self, tmp_path: Path) -> None:
        (tmp_path / "pyproject.toml").write_text("[tool.black\n")
        assert load_settings(tmp_path)[1] == ()

    def test_a_broken_pyproject_that_configures_us_is_reported(self, tmp_path: Path) -> None:
        (tmp_path / "pyproject.toml").write_text("[tool.onnxlint]\nopset = \n")
        _, (mistake,) = load_settings(tmp_path)
        assert (mistake.path, mistake.line) == ("pyproject.toml", 2)

    def test_lines_in_pyproject_count_from_its_top(self, tmp_path: Path) -> None:
        (tmp_path / "pyproject.toml").write_text("[project]\nname = 'a'\n\n[tool.onnxlint]\njobs = 0\n")
        _, (mistake,) = load_settings(tmp_path)
        assert (mistake.line, mistake.message[:5]) == (5, "jobs:")

    def test_an_explicit_file_that_is_missing_is_an_error(self, tmp_path: Path) -> None:
        _, (mistake,) = load_settings(tmp_path, tmp_path / "no.toml")
        assert mistake.level == "error"
        assert mistake.path == "no.toml"
        assert "the configuration cannot be read: No such file or directory" in mistake.message

    def test_an_explicit_pyproject_without_our_table_is_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "pyproject.toml").write_text("[project]\nname = 'a'\n")
        _, (mistake,) = load_settings(tmp_path, tmp_path / "pyproject.toml")
        assert "there is no [tool.onnxlint] table" in mistake.message

    def test_a_tool_that_is_no_table_is_passed_over(self, tmp_path: Path) -> None:
        (tmp_path / "pyproject.toml").write_text("tool = 3\n")
        assert load_settings(tmp_path)[1] == ()

    def test_our_table_that_is_no_table_is_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "pyproject.toml").write_text("[tool]\nonnxlint = 3\n")
        _, (mistake,) = load_settings(tmp_path)
        assert (mistake.line, mistake.message) == (2, "a table is expected, not `3`")


class TestCommandLine:
    def test_what_was_typed_wins_over_the_file(self) -> None:
        text = 'opset = 19\njobs = 2\n[[models]]\nfactory = "a:b"\nexporters = ["dynamo"]\ntimeout = 5\n'
        settings, _ = read(text, jobs=7, exporters=("torchscript",), timeout=9.0, static_only=True)
        assert (settings.opset, settings.jobs, settings.static_only) == (19, 7, True)
        assert (settings.models[0].exporters, settings.models[0].timeout) == (None, None)

    def test_select_replaces_what_the_file_selects_and_ignores(self) -> None:
        settings, _ = read('select = ["ONX2"]\nextend-select = ["ONX1"]\nignore = ["ONX101"]', select=("ONX101",))
        assert settings.selection == Selection(("ONX101",))

    def test_extend_select_and_ignore_add_to_the_file(self) -> None:
        settings, _ = read('select = ["ONX2"]\nignore = ["ONX101"]', extend_select=("ONX101",), ignore=("ONX201",))
        assert settings.selection == Selection(("ONX2",), ("ONX101",), ("ONX201",))


@pytest.mark.parametrize(
    ("selection", "chosen"),
    [
        (Selection(), {"ONX101", "ONX102", "ONX201"}),
        (Selection(("ONX1",)), {"ONX101", "ONX102"}),
        (Selection(("onx1",)), {"ONX101", "ONX102"}),
        (Selection(("literal-batch",)), {"ONX201"}),
        (Selection(ignore=("ONX1",)), {"ONX201"}),
        (Selection(("ONX101",), ignore=("ONX1",)), {"ONX101"}),
        (Selection(("ONX1",), ignore=("ONX101",)), {"ONX102"}),
        (Selection(("ONX101",), ignore=("tensor-branch",)), set()),
        (Selection(("ONX2",), ("ONX102",)), {"ONX201", "ONX102"}),
        (Selection((), ("ONX2",)), {"ONX201"}),
    ],
)
def test_the_more_specific_selector_wins(selection: Selection, chosen: set[str]) -> None:
    assert {code for code, name in RULES.items() if selection.matches(code, name)} == chosen


@pytest.mark.parametrize(
    ("text", "size"),
    [("4GiB", 4 * 1024**3), ("4 gb", 4 * 1000**3), ("512M", 512 * 1024**2), ("1.5KiB", 1536), ("1024", 1024)],
)
def test_memory_is_read_with_its_unit(text: str, size: int) -> None:
    assert parse_memory(text) == size


@pytest.mark.parametrize("text", ["", "GiB", "-1", "0", "4 Gi B", "4XB"])
def test_memory_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="size"):
        parse_memory(text)


DOCUMENTS = [
    'a = 1\nb.c = "x # [y"\n[t]\n"q r".s = [1, [2,\n 3], {z = 4}]\n',
    "m = '''\n[no]\n'''\nd = 1979-05-27 07:32:00\nf = 1.5e-3\n[[l]]\nx = 1\n[l.sub]\ny = 2\n[[l]]\n[[l.in]]\nw = 0\n",
    'e = {}\nl = []\n"" = 1\n\'k"\' = {a.b = 1, "c" = [{d = 2}]}\n[a.b.c]\n[a]\nz = """\\""" """\n',
    '[[a.b]]\nc = 1\n[[a.b]]\nc = "\\u00e9"\n[a.d]\n',
]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_key_of_a_document_has_its_line(document: str) -> None:
    def keys(value: Any, at: Key = ()) -> Iterator[Key]:
        children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, child in children:
            yield (*at, key)
            yield from keys(child, (*at, key))

    lines = key_lines(document)
    assert set(lines) == set(keys(tomllib.loads(document)))
    written = document.splitlines()
    assert all(str(key[-1]) in written[line - 1] or isinstance(key[-1], int) for key, line in lines.items())


@pytest.mark.parametrize("key", ["opset", "timeout", "memory", "models = [{ factory = 'a:b', timeout", "jobs"])
def test_a_number_beyond_64_bits_is_one_message(key: str) -> None:
    settings, mistakes = read(f"select = ['ONX1']\n{key} = 0x{'f' * 5000}{' }]' * ('[' in key)}\n")
    assert [message for _, message in mistakes] == [
        "this is not valid TOML: a whole number has more than 64 bits; nothing of this file is used"
    ]
    assert settings.select == ("ONX",)
    assert load_settings(Path.cwd(), inline=[f"opset = 0x{'f' * 5000}"], isolated=True)[1][0].level == "error"


def test_memory_beyond_any_machine_is_one_message() -> None:
    assert [m for _, m in read(f"memory = '{'9' * 5000}GB'")[1]] == ["memory: this is more memory than there is"]


@pytest.mark.parametrize("row", ["key{} = 1", "[table{}]", "[[models]]\nname{} = 1"])
def test_of_very_many_mistakes_the_first_are_told(row: str) -> None:
    _, mistakes = read("".join(f"{row.format(n)}\n" for n in range(20_000)))
    assert len(mistakes) == MOST + 1
    assert "there are more mistakes" in mistakes[0][1] + mistakes[-1][1]


def test_many_words_that_mean_nothing_are_not_held_against_every_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr("onnxlint.config.rule_selectors.nearest", lambda word, _: asked.append(word))
    _, mistakes = read(f"select = [{','.join(repr(f'ONX{n}') for n in range(1000, 90_000))}]")
    assert len(mistakes) == MOST + 1
    assert len(asked) <= MOST + 1


@pytest.mark.parametrize("text", ["select = ['{}']", "{} = 1", "extend = '{}'", "opset = '{}'"])
def test_a_long_value_is_cut(text: str) -> None:
    _, mistakes = read(text.format("k" * 900_000))
    assert all(len(message) < 1200 for _, message in mistakes)
    assert mistakes
