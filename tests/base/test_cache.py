"""The cache: what changed is seen wherever it matters, the rest is taken over, and broken entries are no entries."""

from __future__ import annotations

import os
import stat
import textwrap
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import onnxlint
from onnxlint.base import cache
from onnxlint.base.cache import Store, digest
from onnxlint.base.records import Finding, Report
from onnxlint.config.declared_models import ModelConfig
from onnxlint.config.settings import Settings
from onnxlint.flow import analysis, entry_points
from onnxlint.flow.state import partitions
from onnxlint.project import index
from onnxlint.rules.engine import findings as rule_findings
from onnxlint.run import pipeline

PRELUDE = "import torch\nfrom torch import nn\n"
GATE = """
import torch
from torch import nn
from helpers import score
from blocks import Block


class Gate(Block):
    def __init__(self):
        super().__init__()
        self.block = Block()

    def forward(self, x):
        if score(x) > 0:
            return self.block(x)
        return -x
"""
HELPERS = """
import torch


def unused(x):
    return x


def score(x):
    return x.sum()
"""
BLOCKS = """
import torch
from torch import nn


class Block(nn.Module):
    def forward(self, x):
        return x * 2
"""
OTHER = """
import torch
from torch import nn


class Other(nn.Module):
    def forward(self, x):
        while x.max() > 1:
            x = x / 2
        return x
"""
FILES = {"gate.py": GATE, "helpers.py": HELPERS, "blocks.py": BLOCKS, "other.py": OTHER}


class Tree:
    """A folder of sources that is checked again and again, with a cache beside it. `ran` are the files run last."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder / "tree"
        self.folder.mkdir()
        self.cache = folder / "cache"
        self.ran: list[str] = []
        monkeypatch.chdir(self.folder)
        monkeypatch.setattr(entry_points, "run_part", self._spy(entry_points.run_part))

    def _spy(self, run: Callable[..., entry_points.Run]) -> Callable[..., entry_points.Run]:
        def spy(engine: object, part: partitions.Part) -> entry_points.Run:
            self.ran += [info.source.path.name for info in part.modules]
            return run(engine, part)

        return spy

    def write(self, files: Mapping[str, str | None]) -> None:
        for name, text in files.items():
            path = self.folder / name
            if text is None:
                path.unlink()
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(textwrap.dedent(text), encoding="utf-8")

    def settings(self, **changes: object) -> Settings:
        return replace(Settings(self.folder, static_only=True, cache_dir=self.cache), **changes)  # type: ignore[arg-type]

    def report(self, *paths: str, **changes: object) -> Report:
        self.ran.clear()
        asked = [self.folder / p for p in paths] or [self.folder]
        return pipeline.run_check(asked, self.settings(**changes))

    def check(self, *paths: str, **changes: object) -> list[str]:
        """Check with the cache; hold it against a run without one; return the findings in short."""
        known = self.report(*paths, **changes)
        ran = list(self.ran)
        fresh = self.report(*paths, **{**changes, "cache": False})
        assert known.findings == fresh.findings
        assert known.diagnostics == fresh.diagnostics
        self.ran = ran
        return [short(f) for f in known.findings]


def short(finding: Finding) -> str:
    return f"{Path(finding.span.path).name}:{finding.span.line} {finding.code}"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    """A tree in which every file is a part of its own."""
    for name in ("WHOLE", "LEAST", "MOST", "ONE_IN"):
        monkeypatch.setattr(partitions, name, 1)
    made = Tree(tmp_path, monkeypatch)
    made.write(FILES)
    return made


@pytest.fixture
def one_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    """A small tree as it is."""
    made = Tree(tmp_path, monkeypatch)
    made.write(FILES)
    return made


def lines_above(text: str) -> str:
    """The text with three lines more above its first definition."""
    at = min(text.index(word) for word in ("\ndef ", "\nclass ") if word in text)
    return text[:at] + "\n# one\n# two\n# three\n" + text[at:]


class TestTakingOver:
    def test_an_unchanged_tree_runs_nothing(self, tree: Tree) -> None:
        first = tree.check()
        assert first == ["gate.py:14 ONX101", "other.py:8 ONX101"]
        assert sorted(tree.ran) == sorted(FILES)
        assert tree.check() == first
        assert tree.ran == []

    def test_one_changed_file_runs_alone_where_nothing_reads_it(self, tree: Tree) -> None:
        tree.check()
        tree.write({"other.py": OTHER.replace("> 1", "> 2")})
        tree.check()
        assert tree.ran == ["other.py"]

    def test_a_comment_runs_the_file_alone(self, tree: Tree) -> None:
        tree.check()
        tree.write({"helpers.py": HELPERS.replace("def unused", "# a comment\ndef unused")})
        tree.check()
        assert tree.ran == ["helpers.py"]

    def test_another_function_of_a_file_that_is_read_matters_to_nobody(self, tree: Tree) -> None:
        tree.check()
        tree.write({"helpers.py": HELPERS.replace("    return x\n", "    return x + 1\n", 1)})
        tree.check()
        assert tree.ran == ["helpers.py"]

    def test_an_old_state_is_remembered(self, tree: Tree) -> None:
        tree.check()
        tree.write({"other.py": OTHER.replace("> 1", "> 2")})
        tree.check()
        tree.write({"other.py": OTHER})
        tree.check()
        assert tree.ran == []

    def test_what_rules_run_is_not_a_part_of_it(self, tree: Tree) -> None:
        tree.check()
        assert tree.check(ignore=("ONX101",)) == []
        assert tree.ran == []

    def test_a_suppression_counts_at_once(self, tree: Tree) -> None:
        tree.check()
        tree.write({"gate.py": GATE.replace("> 0:", "> 0:  # noqa: ONX101")})
        assert tree.check() == ["other.py:8 ONX101"]

    def test_a_small_project_is_taken_over_too(self, one_part: Tree) -> None:
        first = one_part.check()
        assert one_part.check() == first
        assert one_part.ran == []

    def test_the_models_to_probe_are_found_though_nobody_asked_before(self, tree: Tree) -> None:
        tree.write({"gate.py": GATE + "\n\ntorch.onnx.export(Gate(), (torch.ones(2, 3),), 'gate.onnx')\n"})
        tree.report()
        store = Store(tree.cache)

        def models(kept: Store) -> object:
            files = index.Index(kept, {})
            files.read(sorted(tree.folder.glob("*.py")))
            return analysis.analyse_files(files, analysis.Request(opset=20, probing=True), kept).candidates

        assert models(store) == models(store) == models(Store(None)) != ()


class TestInvalidation:
    def test_a_helper_in_another_file(self, tree: Tree) -> None:
        tree.check()
        tree.write({"helpers.py": HELPERS.replace("return x.sum()", "return x.dim()")})
        assert tree.check() == ["other.py:8 ONX101"]
        assert sorted(tree.ran) == ["gate.py", "helpers.py"]

    def test_a_base_class(self, tree: Tree) -> None:
        tree.write({"gate.py": GATE.replace("score(x) > 0", "self.flag(x)")})
        flag = BLOCKS + "\n    def flag(self, x):\n        return x.{}()\n"
        tree.write({"blocks.py": flag.format("is_floating_point")})
        assert tree.check() == ["other.py:8 ONX101"]
        tree.write({"blocks.py": flag.format("any")})
        assert tree.check() == ["gate.py:14 ONX101", "other.py:8 ONX101"]
        tree.write({"blocks.py": flag.format("any").replace("nn.Module", "object")})
        assert tree.check() == ["other.py:8 ONX101"]

    def test_a_file_that_was_missing(self, tree: Tree) -> None:
        tree.write({"helpers.py": None})
        missing = tree.check()
        tree.write({"helpers.py": HELPERS.replace("return x.sum()", "return x.dim()")})
        assert tree.check() == ["other.py:8 ONX101"]
        tree.write({"helpers.py": None})
        assert tree.check() == missing

    def test_a_file_that_shadows_an_import(self, tree: Tree) -> None:
        tree.write({"helpers.py": None, "helpers/__init__.py": HELPERS})
        assert "gate.py:14 ONX101" in tree.check()
        tree.write({"helpers/__init__.py": "from helpers.inner import *\n", "helpers/inner.py": HELPERS})
        assert "gate.py:14 ONX101" in tree.check()
        tree.write({"helpers/inner.py": HELPERS.replace("return x.sum()", "return x.dim()")})
        assert "gate.py:14 ONX101" not in tree.check()
        tree.write({"helpers/__init__.py": "from helpers.inner import *\n\n\ndef score(x):\n    return x.sum()\n"})
        assert "gate.py:14 ONX101" in tree.check()

    def test_a_name_that_is_bound_anew(self, tree: Tree) -> None:
        tree.check()
        tree.write({"helpers.py": HELPERS + "\n\nscore = len\n"})
        tree.check()
        assert sorted(tree.ran) == ["gate.py", "helpers.py"]

    def test_a_rename(self, tree: Tree) -> None:
        tree.check()
        tree.write({"other.py": None, "another.py": OTHER})
        assert tree.check() == ["another.py:8 ONX101", "gate.py:14 ONX101"]

    def test_a_file_beside_those_that_are_checked(self, tree: Tree) -> None:
        assert tree.check("gate.py") == ["gate.py:14 ONX101"]
        tree.write({"helpers.py": HELPERS.replace("return x.sum()", "return x.dim()")})
        assert tree.check("gate.py") == []
        tree.write({"helpers.py": None})
        tree.check("gate.py")
        tree.write({"helpers.py": "def\n"})
        assert "helpers.py" in {d.path for d in tree.report("gate.py").diagnostics}
        assert "helpers.py" in {d.path for d in tree.report("gate.py").diagnostics}
        tree.check("gate.py")

    def test_a_file_that_does_not_parse_any_more(self, tree: Tree) -> None:
        tree.check()
        tree.write({"helpers.py": HELPERS + "def\n"})
        tree.check()
        assert [d.path for d in tree.report().diagnostics] == ["helpers.py"]

    def test_a_module_that_becomes_a_part_of_a_package(self, tree: Tree) -> None:
        model = GATE.replace("from helpers", "from pack.helpers").replace("from blocks", "from pack.blocks")
        tree.write({"pack/model.py": model, "pack/helpers.py": HELPERS, "pack/blocks.py": BLOCKS})
        tree.check("pack")
        tree.write({"pack/__init__.py": ""})
        tree.check("pack")

    @pytest.mark.parametrize(
        "changes",
        [
            pytest.param({"opset": 9}, id="opset"),
            pytest.param({"exporters": ("dynamo",)}, id="exporters"),
            pytest.param({"models": (ModelConfig("gate:Gate"),)}, id="declared models"),
        ],
    )
    def test_a_setting(self, tree: Tree, changes: dict[str, object]) -> None:
        tree.check()
        tree.check(**changes)
        assert "gate.py" in tree.ran

    def test_axes_of_a_declared_model(self, tree: Tree) -> None:
        shaped = PRELUDE + "\n\nclass M(nn.Module):\n    def forward(self, x):\n        return x * len(x)\n"
        tree.write({"shaped.py": shaped})
        model = ModelConfig("shaped:M", inputs="shaped:example")
        tree.write({"shaped.py": shaped + "\n\ndef example():\n    return (torch.ones(2, 3),)\n"})
        axes = [{"x": {0: "batch"}}, {"x": {1: "width"}}]
        found = [tree.check(models=(replace(model, dynamic=dynamic),)) for dynamic in axes]
        assert found[0] != found[1]

    def test_another_version(self, tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
        tree.check()
        monkeypatch.setattr(onnxlint, "__version__", "0.0.0")
        cache.version.cache_clear()
        tree.check()
        assert sorted(tree.ran) == sorted(FILES)
        monkeypatch.undo()
        cache.version.cache_clear()


class TestMoving:
    def test_places_follow_their_lines(self, tree: Tree) -> None:
        tree.write({"helpers.py": HELPERS.replace("return x.sum()", "return x * int(x.sum())")})
        assert tree.check() == ["gate.py:14 ONX101", "helpers.py:10 ONX401", "other.py:8 ONX101"]
        text = (tree.folder / "helpers.py").read_text()
        tree.write({"helpers.py": lines_above(text)})
        assert tree.check() == ["gate.py:14 ONX101", "helpers.py:14 ONX401", "other.py:8 ONX101"]
        assert tree.ran == ["helpers.py"]

    def test_definitions_may_change_places(self, tree: Tree) -> None:
        helper = "def {}(x):\n    return x * int(x.sum())\n"
        first = "import torch\n\n\n" + helper.format("score") + "\n\n" + helper.format("unused")
        swapped = "import torch\n\n\n" + helper.format("unused") + "\n\n" + helper.format("score")
        tree.write({"helpers.py": first})
        before = tree.check()
        tree.write({"helpers.py": swapped})
        assert tree.check() != before
        assert tree.ran == ["helpers.py"]

    def test_models_follow_too(self, tree: Tree) -> None:
        tree.write({"export.py": "import torch\nfrom blocks import Block\n\n"
                    "torch.onnx.export(Block(), (torch.ones(2, 3),), 'block.onnx')\n"})  # fmt: skip
        request = analysis.Request(opset=20, probing=True)

        def line(store: Store) -> int:
            files = index.Index(store, {})
            files.read(sorted(tree.folder.glob("*.py")))
            found = analysis.analyse_files(files, request, store).candidates
            return next(c.line for c in found if c.factory == "blocks:Block")

        assert line(Store(tree.cache)) == 6
        tree.write({"blocks.py": lines_above(BLOCKS)})
        assert line(Store(tree.cache)) == line(Store(None)) == 10


class TestParts:
    def test_findings_are_the_same_in_any_number_of_processes(
        self, tree: Tree, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for module in (analysis, index, rule_findings):
            monkeypatch.setattr(module, "WORTH_PROCESSES", 0)
        reports = [tree.report(cache=False, jobs=jobs) for jobs in (1, 2, 3)]
        assert tree.ran == [], "the last ran in other processes"
        assert reports[0].findings == reports[1].findings == reports[2].findings != ()

    def test_a_process_that_dies_costs_nothing(self, tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
        expected = tree.report(cache=False).findings
        here = os.getpid()
        run = entry_points.run_part

        def dying(engine: entry_points.Interpreter, part: partitions.Part) -> entry_points.Run:
            if os.getpid() != here:
                os._exit(1)
            return run(engine, part)

        monkeypatch.setattr(entry_points, "run_part", dying)
        monkeypatch.setattr(analysis, "WORTH_PROCESSES", 0)
        assert tree.report(cache=False, jobs=2).findings == expected

    def test_a_class_that_another_part_runs_is_not_run_on_unknown_inputs(self, tree: Tree) -> None:
        tree.write({
            "inner.py": PRELUDE + "\n\nclass Inner(nn.Module):\n    def forward(self, x):\n"
            "        if x > 0:\n            return 1\n        return 2\n",
            "outer.py": PRELUDE + "from inner import Inner\n\n\nclass Outer(nn.Module):\n    def __init__(self):\n"
            "        super().__init__()\n        self.inner = Inner()\n\n    def forward(self, x):\n"
            "        return x * self.inner(x.dim() > 2)\n",
        })  # fmt: skip
        assert not [f for f in tree.check() if f.startswith("inner.py")]
        tree.write({"outer.py": PRELUDE + "from inner import Inner\n\nlayers = [Inner()]\n"})
        assert "inner.py:7 ONX101" in tree.check()
        tree.write({"outer.py": None})
        assert "inner.py:7 ONX101" in tree.check()

    def test_parts_stay_as_they_are_when_a_file_comes_or_goes(self, tmp_path: Path) -> None:
        project = index.Project(lambda _: None)
        for number in range(2400):
            source = index.decode_source(tmp_path / f"m{number:04}.py", b"", f"m{number:04}.py")
            assert isinstance(source, index.SourceFile)
            project.add(source)
        every = list(project.modules.values())
        before, after = (set(partitions.partition(modules)) for modules in (every, every[:100] + every[101:]))
        assert len(before) > 8
        assert len(before - after) <= 3
        assert sum(map(len, before)) == 2400


def entries_of(folder: Path) -> list[Path]:
    """The files of entries in a cache."""
    return [p for p in folder.rglob("*") if p.is_file() and len(p.relative_to(folder).parts) == 4]


def rewritten(path: Path, payload: bytes) -> None:
    """Give an entry another payload, with the right sum."""
    key = bytes.fromhex(path.parent.name + path.name)
    path.write_bytes(cache._MAGIC + digest(path.parent.parent.name, key, payload) + payload)


NOWHERE = {"path": "gate.py", "line": -5, "column": 1, "end_line": 0, "end_column": 1}
BEFORE = {"span": NOWHERE, "text": "", "symbol": ""}
HOSTILE_PAYLOADS = {
    "nothing": b"",
    "no message": b"\xc1",
    "a huge string": b"\xdb\xff\xff\xff\xffx",
    "a huge array": b"\xdd\xff\xff\xff\xff",
    "deep nesting": b"\x91" * 100_000,
    "deep maps": b"\x81\xa1a" * 50_000,
    "another type": msgspec.msgpack.encode({"observations": 1}),
    "an unknown observation": msgspec.msgpack.encode([[["Popen", {"args": ["true"]}]], [], None, {}, {}]),
    "a line before the first": msgspec.msgpack.encode([[["Branch", BEFORE]], [], None, {}, {}]),
    "a pickle": b"cos\nsystem\n(S'true'\ntR.",
}

SPOILT: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda data: data[:-1],
    "cut short": lambda data: data[:20],
    "empty": lambda data: b"",
    "altered": lambda data: data[:-1] + bytes([data[-1] ^ 1]),
    "longer": lambda data: data + b"x",
}


class TestBrokenEntries:
    @pytest.mark.parametrize("payload", HOSTILE_PAYLOADS.values(), ids=HOSTILE_PAYLOADS.keys())
    def test_a_hostile_entry_is_no_entry(self, tree: Tree, payload: bytes) -> None:
        first = tree.check()
        for path in entries_of(tree.cache):
            rewritten(path, payload)
        assert tree.check() == first
        assert sorted(tree.ran) == sorted(FILES)

    @pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT.keys())
    def test_a_spoilt_entry_is_no_entry(self, tree: Tree, spoil: Callable[[bytes], bytes]) -> None:
        first = tree.check()
        for path in entries_of(tree.cache):
            path.write_bytes(spoil(path.read_bytes()))
        assert tree.check() == first

    def test_an_entry_of_another_name_is_no_entry(self, tmp_path: Path) -> None:
        store = Store(tmp_path)
        one, two = digest("one"), digest("two")
        store.put("part", one, b"payload")
        store.put("part", two, b"payload of two")
        first, second = sorted(entries_of(tmp_path), key=lambda p: p.stat().st_size)
        first.write_bytes(second.read_bytes())
        assert store.get("part", one) is None
        assert store.get("part", two) == b"payload of two"
        assert store.get("run", two) is None

    def test_a_folder_in_the_place_of_an_entry_is_no_entry(self, tree: Tree) -> None:
        first = tree.check()
        for path in entries_of(tree.cache):
            path.unlink()
            path.mkdir()
        report = tree.report()
        assert [short(f) for f in report.findings] == first
        assert [d.level for d in report.diagnostics] == ["warning"]


class TestFolder:
    def test_two_runs_at_once(self, tree: Tree) -> None:
        expected = tree.report(cache=False).findings
        found: list[Report] = []
        runs = [threading.Thread(target=lambda: found.append(tree.report())) for _ in range(4)]
        for run in runs:
            run.start()
        for run in runs:
            run.join()
        assert [r.findings for r in found] == [expected] * 4
        assert not [d for r in found for d in r.diagnostics]
        assert not list(tree.cache.rglob(".new-*"))

    def test_one_that_cannot_be_written_is_one_warning(self, tree: Tree) -> None:
        tree.cache.write_text("a file where the folder should be")
        report = tree.report()
        assert [f.code for f in report.findings] == ["ONX101", "ONX101"]
        [told] = report.diagnostics
        assert (told.level, str(tree.cache) in told.message) == ("warning", True)

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
    def test_a_folder_without_the_right_to_write_is_one_warning(self, tree: Tree) -> None:
        tree.cache.mkdir()
        tree.cache.chmod(stat.S_IRUSR | stat.S_IXUSR)
        assert [d.level for d in tree.report().diagnostics] == ["warning"]

    def test_without_a_cache_nothing_is_written(self, tree: Tree) -> None:
        tree.report(cache=False)
        assert not tree.cache.exists()

    @pytest.mark.parametrize(("flags", "made"), [([], True), (["--no-cache"], False)], ids=["by default", "--no-cache"])
    def test_the_command_line_keeps_results_unless_told_not_to(self, tree: Tree, flags: list[str], made: bool) -> None:
        from onnxlint.cli.commands.check import command

        done = CliRunner().invoke(command, ["--static-only", "--cache-dir", str(tree.cache), *flags])
        assert "2 suspected" in done.output
        assert tree.cache.exists() == made

    def test_it_is_left_out_of_version_control_and_of_backups(self, tree: Tree) -> None:
        tree.report()
        assert (tree.cache / ".gitignore").read_text() == "*\n"
        assert (tree.cache / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")

    def test_it_stays_within_its_limit(self, tmp_path: Path) -> None:
        store = Store(tmp_path)
        for number in range(50):
            store.put("part", digest(str(number)), bytes(1000))
            os.utime(max(entries_of(tmp_path), key=lambda p: p.stat().st_mtime_ns), (number, number))
        cache.prune(tmp_path, 20_000)
        left, size = cache.usage(tmp_path)
        assert 15 <= left < 20
        assert size <= 20_000

    def test_it_is_brought_back_to_its_limit_once_for_each_share_that_runs_have_written(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        limits: list[int] = []
        monkeypatch.setattr(cache, "SHARE", 2500)
        monkeypatch.setattr(cache, "prune", lambda _, limit: limits.append(limit))
        pruned = []
        for number in range(7):
            store = Store(tmp_path)
            store.put("part", digest(str(number)), bytes(1000))
            store.close()
            Store(tmp_path).close()  # a run that knows all
            pruned.append(len(limits))
        assert pruned == [0, 0, 1, 1, 1, 2, 2]
        (tmp_path / "written").write_text("-1e9")
        store.put("part", digest("last"), bytes(10))
        store.close()
        assert limits == [cache.LIMIT] * 3

    def test_cleaning_deletes_entries_and_nothing_else(self, tree: Tree) -> None:
        tree.report()
        (tree.cache / "notes.txt").write_text("mine")
        assert cache.clean(tree.cache) > 0
        assert cache.usage(tree.cache) == (0, 0)
        assert (tree.cache / "notes.txt").exists()


class TestCommand:
    @pytest.fixture
    def run(self, tree: Tree) -> Callable[..., str]:
        from onnxlint.cli.commands.cache import command

        def call(*words: str) -> str:
            done = CliRunner().invoke(command, ["--cache-dir", str(tree.cache), *words])
            assert done.exit_code == 0, done.output
            return done.output

        tree.report()
        return call

    def test_it_says_where_the_folder_is(self, tree: Tree, run: Callable[..., str]) -> None:
        assert run("dir").strip() == str(tree.cache)

    def test_it_counts_and_cleans(self, tree: Tree, run: Callable[..., str]) -> None:
        count = len(entries_of(tree.cache))
        assert run("usage").startswith(f"{count} entries, ")
        assert run("clean").startswith(f"{count} entries deleted")
        assert run("usage").startswith("0 entries, ")


NAMES = ("a.py", "b.py", "c.py", "pack/__init__.py", "pack/d.py")
BODIES = (
    "x.sum()", "x.dim()", "x.shape[0]", "int(x.max())", "other(x)", "x", "helper(x)", "Net().forward(x)",
)  # fmt: skip
IMPORTS = (
    "from a import helper as other", "from b import helper as other", "from pack.d import Net as Base",
    "from c import *", "import pack", "from pack import *", "from a import Net as Base", "import b as other",
)  # fmt: skip


@st.composite
def sources(draw: st.DrawFn) -> str | None:
    """A file of a project whose files use each other; None for no file."""
    if draw(st.integers(0, 9)) == 0:
        return None
    imports = draw(st.lists(st.sampled_from(IMPORTS), max_size=3, unique=True))
    base = draw(st.sampled_from(["nn.Module", "Base"]))
    blank = "\n" * draw(st.integers(0, 2))
    helper, body, told = (draw(st.sampled_from(BODIES)) for _ in range(3))
    value = draw(st.sampled_from(["1", "helper", "Net", "nn.ReLU()", "torch.ones(2)"]))
    return (
        PRELUDE + "\n".join(imports) + f"\n{blank}VALUE = {value}\n\n\ndef helper(x):\n    return {helper}\n{blank}\n\n"
        f"class Net({base}):\n    scale = VALUE\n\n    def __init__(self):\n        super().__init__()\n"
        f"        self.inner = VALUE\n\n    def forward(self, x):\n        if {body} > 0:\n"
        f"            x = x * self.step(x)\n        return self.inner(x) if {told} else -x\n\n"
        f"    def step(self, x):\n        return {told}\n"
    )


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_is_edited_a_run_with_the_cache_finds_what_a_fresh_one_does(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name in ("WHOLE", "LEAST", "MOST", "ONE_IN"):
            monkeypatch.setattr(partitions, name, 1)
        tree = Tree(tmp_path_factory.mktemp("edits"), monkeypatch)
        for _ in range(4):
            for name in data.draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True)):
                text = data.draw(sources())
                if text is not None or (tree.folder / name).exists():
                    tree.write({name: text})
            tree.check()
