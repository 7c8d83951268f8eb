"""Which configuration governs which file, and the settings that layers of files and flags make."""

from __future__ import annotations

import json
import re
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from onnxlint import __version__
from onnxlint.base.globs import Glob
from onnxlint.config.declared_models import _MODEL
from onnxlint.config.rule_selectors import FileIgnore
from onnxlint.config.schema_keys import converters
from onnxlint.config.settings import Settings, load_settings
from onnxlint.run.scopes import Request, Scope, scopes

ROOT = Path(__file__).resolve().parents[2]
RULES = {"ONX101": "tensor-branch", "ONX102": "tensor-bool-operator", "ONX201": "literal-batch"}
SCHEMA = json.loads(files("onnxlint.config").joinpath("schema.json").read_text("utf-8"))


@pytest.fixture(autouse=True)
def _in_a_folder(here: Path) -> None:
    """Before the fixtures of a class."""


def make(**texts: str) -> None:
    for name, text in texts.items():
        write(name.replace("__", "/") + ".py", text)


def write(name: str, text: str = "") -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def parted(*paths: str, **request: Any) -> dict[str, list[str]]:
    """Return the files of every scope by the folder of its configuration, all relative to here."""
    found = scopes([Path(path) for path in paths or (".",)], Request(rules=RULES, **request))
    return {relative(scope.settings.root): [relative(file) for file in scope.discovery.files] for scope in found}


def relative(path: Path) -> str:
    return path.resolve().relative_to(Path.cwd().resolve()).as_posix()


def only(*paths: str, **request: Any) -> Scope:
    (scope,) = scopes([Path(path) for path in paths or (".",)], Request(rules=RULES, **request))
    return scope


class TestNearest:
    @pytest.fixture(autouse=True)
    def _tree(self) -> None:
        for name in ("a.py", "audio/b.py", "audio/deep/c.py", "audio/deep/down/d.py", "vision/e.py"):
            write(name)
        write("pyproject.toml", "[tool.onnxlint]\nopset = 18\n")
        write("audio/onnxlint.toml", "opset = 19\n")
        write("audio/deep/down/.onnxlint.toml", "opset = 21\n")
        write("vision/pyproject.toml", "[project]\nname = 'vision'\n")

    def test_every_file_is_governed_by_the_nearest_configuration_above(self) -> None:
        assert parted() == {
            ".": ["a.py", "vision/e.py"],
            "audio": ["audio/b.py", "audio/deep/c.py"],
            "audio/deep/down": ["audio/deep/down/d.py"],
        }

    def test_what_is_named_too(self) -> None:
        assert parted("audio/deep", "vision/e.py", "a.py") == {
            ".": ["a.py", "vision/e.py"],
            "audio": ["audio/deep/c.py"],
            "audio/deep/down": ["audio/deep/down/d.py"],
        }

    def test_a_file_that_is_named_governs_all(self) -> None:
        assert list(parted(explicit=Path("audio/onnxlint.toml"))) == ["audio"]
        assert len(only(explicit=Path("audio/onnxlint.toml")).discovery.files) == 5

    def test_isolated_reads_none(self) -> None:
        scope = only(isolated=True)
        assert (scope.settings.opset, len(scope.discovery.files)) == (Settings(Path()).opset, 5)

    def test_what_the_outer_one_excludes_is_not_entered(self) -> None:
        write("pyproject.toml", '[tool.onnxlint]\nextend-exclude = ["audio/"]\n')
        assert list(parted()) == ["."]

    def test_a_mistake_is_told_once_and_for_its_file(self) -> None:
        write("audio/onnxlint.toml", "opset = 1\n")
        found = [(d.path, d.line) for scope in scopes([Path()], Request(rules=RULES)) for d in scope.diagnostics]
        assert found == [("audio/onnxlint.toml", 1)]

    def test_files_without_one_have_that_of_the_working_directory(
        self, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        other = tmp_path_factory.mktemp("plain")
        write(str(other / "x.py"))
        scope = only(str(other))
        assert (scope.settings.root, scope.settings.config_file) == (Path.cwd(), Path.cwd() / "pyproject.toml")


class TestPrecedence:
    def test_dotted_wins_over_plain_over_pyproject(self) -> None:
        for opset, name in enumerate(("pyproject.toml", "onnxlint.toml", ".onnxlint.toml"), 18):
            write(name, f"[tool.onnxlint]\nopset = {opset}\n" if "py" in name else f"opset = {opset}\n")
            assert load_settings(Path.cwd())[0].opset == opset

    def test_the_users_own_file_holds_where_a_project_has_none(self) -> None:
        write("home/onnxlint/onnxlint.toml", 'opset = 19\nextend-exclude = ["/out/"]\n')
        settings, _ = load_settings(Path.cwd())
        assert (settings.opset, settings.root) == (19, Path.cwd().resolve())
        assert settings.extend_exclude == (Glob("/out/", Path.cwd().resolve()),), "relative to where it is run"
        assert load_settings(Path.cwd(), isolated=True)[0].opset != 19
        write("onnxlint.toml", "jobs = 1\n")
        assert load_settings(Path.cwd())[0].opset != 19

    def test_assignments_come_after_the_file_and_before_the_flags(self) -> None:
        write("onnxlint.toml", 'opset = 18\njobs = 2\nselect = ["ONX1"]\nignore = ["ONX101"]\n')
        inline = ["opset=19", "jobs = 3", 'select=["ONX2"]', 'per-file-ignores = { "tests/" = ["ONX201"] }']
        settings, mistakes = load_settings(Path.cwd(), None, {"jobs": 4}, RULES, inline=inline)
        assert mistakes == ()
        assert (settings.opset, settings.jobs, settings.select, settings.ignore) == (19, 4, ("ONX2",), ())
        assert [entry.pattern for entry in settings.per_file_ignores] == ["tests/"]

    def test_the_origin_of_every_setting_is_known(self) -> None:
        write("base.toml", "opset = 18\njobs = 2\n")
        write("onnxlint.toml", 'extend = "base.toml"\n\njobs = 3\n')
        settings, _ = load_settings(Path.cwd(), None, {"fail_on": "confirmed"}, inline=["timeout=3"])
        origins = {key: settings.origins[key] for key in ("opset", "jobs", "fail_on", "timeout")}
        assert origins == {
            "opset": "base.toml:1",
            "jobs": "onnxlint.toml:3",
            "fail_on": "command line",
            "timeout": "--config",
        }


class TestExtend:
    def test_the_file_wins_key_by_key_over_what_it_extends(self) -> None:
        write("base/onnxlint.toml", 'extend = "far/pyproject.toml"\nopset = 18\njobs = 2\nextend-exclude = ["/gen/"]\n')
        write("base/far/pyproject.toml", "[tool.onnxlint]\ntimeout = 5\nopset = 17\n")
        write("sub/onnxlint.toml", 'extend = "../base/onnxlint.toml"\njobs = 3\nextend-exclude = ["x.py"]\n')
        settings, mistakes = load_settings(Path("sub"))
        here = Path.cwd().resolve()
        assert mistakes == ()
        assert (settings.root, settings.opset, settings.jobs, settings.timeout) == (here / "sub", 18, 3, 5.0)
        assert settings.extend_exclude == (Glob("/gen/", here / "base"), Glob("x.py", here / "sub"))

    def test_a_selection_adds_to_the_one_below_unless_it_selects(self) -> None:
        write("base.toml", 'select = ["ONX1"]\nignore = ["ONX101"]\nextend-select = ["ONX201"]\n')
        write("onnxlint.toml", 'extend = "base.toml"\nignore = ["ONX102"]\n')
        settings, _ = load_settings(Path.cwd())
        assert settings.select == ("ONX1",)
        assert (settings.extend_select, settings.ignore) == (("ONX201",), ("ONX101", "ONX102"))
        write("onnxlint.toml", 'extend = "base.toml"\nselect = ["ONX2"]\n')
        settings, _ = load_settings(Path.cwd())
        assert (settings.select, settings.extend_select, settings.ignore) == (("ONX2",), (), ())

    def test_per_file_ignores_replace_and_extend_adds(self) -> None:
        write("base.toml", '[per-file-ignores]\n"a.py" = ["ONX1"]\n[extend-per-file-ignores]\n"b.py" = ["ONX1"]\n')
        write("onnxlint.toml", 'extend = "base.toml"\n[extend-per-file-ignores]\n"c.py" = ["ONX1"]\n')
        settings, _ = load_settings(Path.cwd())
        assert [e.pattern for e in settings.per_file_ignores] == ["a.py"]
        assert [e.pattern for e in settings.extend_per_file_ignores] == ["b.py", "c.py"]
        write("onnxlint.toml", 'extend = "base.toml"\n[per-file-ignores]\n"c.py" = ["ONX1"]\n')
        settings, _ = load_settings(Path.cwd())
        assert [e.pattern for e in settings.per_file_ignores] == ["c.py"]
        assert settings.extend_per_file_ignores == ()

    def test_models_are_not_taken_over(self) -> None:
        write("base.toml", '[[models]]\nfactory = "a:b"\n')
        write("onnxlint.toml", 'extend = "base.toml"\n')
        assert load_settings(Path.cwd())[0].models == ()

    def test_a_variable_and_the_home_are_followed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOME", str(Path.cwd() / "me"))
        monkeypatch.setenv("BASE", str(Path.cwd() / "base"))
        write("me/a.toml", 'extend = "$BASE/b.toml"\n')
        write("base/b.toml", "opset = 18\n")
        write("onnxlint.toml", 'extend = "~/a.toml"\n')
        assert load_settings(Path.cwd())[0].opset == 18

    @pytest.mark.parametrize(
        ("text", "line", "words"),
        [
            ('extend = "no.toml"', 1, "there is no file `no.toml`"),
            ('jobs = 1\nextend = "onnxlint.toml"', 2, "`onnxlint.toml` extends this file in turn"),
            ("extend = 3", 1, "the path of another configuration file is expected"),
            ('extend = "pyproject.toml"', 1, "there is no [tool.onnxlint] table in `pyproject.toml`"),
        ],
    )
    def test_a_mistake_is_told_at_its_line(self, text: str, line: int, words: str) -> None:
        write("pyproject.toml", "[project]\n")
        write("onnxlint.toml", f"{text}\n")
        _, (mistake,) = load_settings(Path.cwd())
        assert (mistake.path, mistake.line) == ("onnxlint.toml", line)
        assert words in mistake.message

    def test_a_mistake_in_what_is_extended_is_told_there(self) -> None:
        write("base.toml", "jobs = 1\nopset = 1\n")
        write("onnxlint.toml", 'extend = "base.toml"\n')
        _, (mistake,) = load_settings(Path.cwd())
        assert (mistake.path, mistake.line) == ("base.toml", 2)


class TestRequiredVersion:
    @pytest.mark.parametrize("version", [__version__, f">={__version__}", f">=0.0.1,<={__version__}", "!=99"])
    def test_one_that_fits(self, version: str) -> None:
        write("onnxlint.toml", f'required-version = "{version}"\n')
        assert load_settings(Path.cwd())[1] == ()

    @pytest.mark.parametrize(
        ("version", "words"), [(">=99", f"this is onnxlint {__version__}, and `>=99` is required"), ("new", "expected")]
    )
    def test_one_that_does_not(self, version: str, words: str) -> None:
        write("onnxlint.toml", f'required-version = "{version}"\n')
        _, (mistake,) = load_settings(Path.cwd())
        assert (mistake.level, mistake.line) == ("error", 1)
        assert words in mistake.message


class TestFileIgnores:
    @pytest.mark.parametrize(
        ("pattern", "meant"),
        [
            ("tests/", {"tests/a.py", "tests/deep/b.py", "src/tests/c.py"}),
            ("tests/**", {"tests/a.py", "tests/deep/b.py"}),
            ("/tests/*.py", {"tests/a.py"}),
            ("b.py", {"tests/deep/b.py"}),
            ("!src/", {"tests/a.py", "tests/deep/b.py"}),
            ("*", {"tests/a.py", "tests/deep/b.py", "src/tests/c.py", "src/d.py"}),
        ],
    )
    def test_a_pattern_means_files(self, pattern: str, meant: set[str]) -> None:
        ignores = Settings(
            Path.cwd(), per_file_ignores=(FileIgnore(pattern, Path.cwd(), ("ONX1", "literal-batch")),)
        ).file_ignores
        for name in ("tests/a.py", "tests/deep/b.py", "src/tests/c.py", "src/d.py"):
            path = str(Path.cwd() / name)
            assert ignores.ignores(path, "ONX101", "tensor-branch") is (name in meant)
            assert ignores.ignores(path, "ONX201", "literal-batch") is (name in meant)
            assert not ignores.ignores(path, "ONX301", "export-without-eval")

    TEXT = '[per-file-ignores]\n"used.py" = ["ONX1"]\n"idle/" = ["ONX1"]\n'

    def test_a_pattern_that_means_no_file_is_told_at_its_line(self) -> None:
        write("onnxlint.toml", self.TEXT)
        make(used="", other="")
        (diagnostic,) = only().diagnostics
        assert (diagnostic.level, diagnostic.path, diagnostic.line) == ("warning", "onnxlint.toml", 3)
        assert "`idle/` means no file" in diagnostic.message

    def test_but_not_where_only_a_part_of_the_project_is_checked(self) -> None:
        write("onnxlint.toml", self.TEXT)
        make(other="", sub__a="")
        assert only("other.py").diagnostics == ()
        assert only("sub").diagnostics == ()

    @pytest.mark.parametrize(
        ("row", "words"),
        [
            ('"a.py" = ["ONX110"]', "per-file-ignores.a.py: no rule is called `ONX110`; did you mean `ONX102`?"),
            ('"a.py" = "ONX101"', "a list of rule codes or names is expected"),
            ('"!" = ["ONX101"]', "is not a pattern"),
        ],
    )
    def test_a_mistake_is_told_at_its_line(self, row: str, words: str) -> None:
        write("onnxlint.toml", f"[per-file-ignores]\n{row}\n")
        make(a="")
        found = load_settings(Path.cwd(), rules=RULES)[1]
        assert [(d.path, d.line) for d in found] == [("onnxlint.toml", 2)]
        assert words in found[0].message

    def test_a_list_that_is_none_is_told(self) -> None:
        write("onnxlint.toml", 'per-file-ignores = ["a.py"]\n')
        _, (mistake,) = load_settings(Path.cwd(), rules=RULES)
        assert (mistake.line, mistake.message) == (1, "per-file-ignores: a table is expected, not a list")


class TestSchema:
    def test_it_is_one(self) -> None:
        jsonschema.Draft7Validator.check_schema(SCHEMA)

    def test_it_has_every_key_and_no_other_and_says_what_each_is(self) -> None:
        assert list(SCHEMA["properties"].keys() ^ converters(Path(), None).keys()) == []
        model = SCHEMA["definitions"]["model"]["properties"]
        assert model.keys() == _MODEL.keys()
        for key, entry in {**SCHEMA["properties"], **model}.items():
            if key != "models":
                assert entry["description"].endswith("."), key

    def test_its_defaults_are_those_of_the_settings(self) -> None:
        settings = Settings(Path())
        for key, entry in SCHEMA["properties"].items():
            default = entry.get("default")
            if default not in (None, [], {}, ["*.py"]):
                found = getattr(settings, key.replace("-", "_"))
                assert default == (list(found) if isinstance(found, tuple) else found), key

    @pytest.mark.parametrize(
        "file",
        [
            *sorted(ROOT.glob("fixtures/**/onnxlint.toml")),
            *(f for f in sorted(ROOT.glob("fixtures/**/pyproject.toml")) if "[tool.onnxlint" in f.read_text("utf-8")),
        ],
        ids=lambda file: file.relative_to(ROOT / "fixtures").as_posix(),
    )
    def test_real_configurations_fit_it(self, file: Path) -> None:
        table = tomllib.loads(file.read_text("utf-8"))
        jsonschema.validate(table["tool"]["onnxlint"] if file.name == "pyproject.toml" else table, SCHEMA)

    def test_those_of_the_readme_do(self) -> None:
        text = (ROOT / "README.md").read_text("utf-8")
        blocks = [tomllib.loads(block) for block in re.findall(r"^```toml\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)]
        assert len(blocks) >= 2
        for table in blocks:
            jsonschema.validate(table["tool"]["onnxlint"], SCHEMA)

    @pytest.mark.parametrize(
        "text",
        [
            "opsett = 18",
            "opset = 6",
            'exporters = ["dynmo"]',
            "exporters = []",
            'fail-on = "confirm"',
            "timeout = 0",
            "jobs = true",
            'memory = "lots"',
            'per-file-ignores = { "a.py" = "ONX1" }',
            'force-exclude = "yes"',
            "[[models]]\ninputs = 'a:b'",
            '[[models]]\nfactory = "models.py"',
            '[[models]]\nfactory = "a:b"\nextra = 1',
            '[[models]]\nfactory = "a:b"\ndynamic = { x = { batch = "b" } }',
            '[[models]]\nfactory = "a:b"\nsizes = { n = [0] }',
        ],
    )
    def test_it_refuses_what_the_reader_refuses(self, text: str) -> None:
        assert not jsonschema.Draft7Validator(SCHEMA).is_valid(tomllib.loads(text))
        write("onnxlint.toml", text + "\n")
        assert load_settings(Path.cwd(), rules=RULES)[1] != ()
