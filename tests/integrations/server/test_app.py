"""The language server, spoken to by pygls' own client over standard input and output."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from lsp_editor import Editor, applied
from lsprotocol import types
from pygls.exceptions import JsonRpcException

ROOT = Path(__file__).resolve().parents[3]
GATE = """import torch


class Gate(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x
"""
FLAG = GATE.replace("x.sum() > 0", "x.dim() > 2")
EVERYWHERE = types.Range(types.Position(0, 0), types.Position(9999, 0))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("workspace")


@pytest.fixture(scope="module")
def editor(folder: Path, store: Path) -> Iterator[Editor]:
    found = Editor(folder, ONNXLINT_CACHE_DIR=str(store))
    yield found
    assert found.end() == 0
    assert found.stderr == b""
    assert found.logged == []


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory, store: Path) -> Iterator[tuple[Editor, Path]]:
    """An editor that tells of no files on the disk, and asks for what an action does when it is chosen."""
    folder = tmp_path_factory.mktemp("other")
    (folder / "onnxlint.toml").write_text("")
    found = Editor(folder, watching=False, resolving=True, ONNXLINT_CACHE_DIR=str(store))
    yield found, folder
    assert found.end() == 0
    assert found.stderr == b""
    assert found.logged == []


@pytest.fixture
def project(editor: Editor, folder: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A workspace folder of its own in the editor."""
    made = folder / request.node.name
    made.mkdir()
    (made / "onnxlint.toml").write_text("")
    editor.folders([made], [])
    yield made
    editor.folders([], [made])


def test_what_is_typed_is_checked_before_it_is_saved(editor: Editor, project: Path) -> None:
    file = project / "gate.py"
    file.write_text(FLAG)
    editor.open(file)
    assert editor.wait(file) == []
    version = editor.change(file, GATE)
    (found,) = editor.wait(file, version=version)
    assert found.code == "ONX101"
    assert found.source == "onnxlint"
    assert found.code_description is not None
    assert found.code_description.href.endswith("ONX101-tensor-branch.md")
    assert found.severity == types.DiagnosticSeverity.Error
    assert found.range == types.Range(types.Position(5, 11), types.Position(5, 22))
    assert "branches on the value of a tensor" in found.message
    assert "dynamo (expected): refuses to export" in found.message
    (related,) = found.related_information or ()
    assert related.location.uri == file.as_uri()
    assert related.location.range.start.line == 4
    assert editor.wait(file, lambda d: not d, version=editor.change(file, FLAG)) == []
    assert file.read_text() == FLAG


def test_only_the_last_of_many_changes_is_shown(editor: Editor, project: Path) -> None:
    file = project / "gate.py"
    file.write_text(FLAG)
    editor.open(file)
    editor.wait(file)
    before = len(editor.published)
    for number in range(10):
        version = editor.change(file, GATE + f"# {number}\n")
    editor.wait(file, lambda found: bool(found), version=version)
    told = [p.version for p in editor.published[before:] if p.uri == file.as_uri()]
    assert set(told) == {version}


def test_positions_are_utf16(editor: Editor, project: Path) -> None:
    file = project / "gate.py"
    text = GATE.replace("        if x", '        "🦊é";  y = [x for 𝒳 in "😀" if x').replace("> 0:", "> 0]; x = y[0]")
    text = text.replace("            return x * 2\n", "")
    file.write_text(text, encoding="utf-8")
    editor.open(file)
    found = editor.wait(file, lambda d: bool(d))[0]
    line = text.split("\n")[found.range.start.line]
    units = line.encode("utf-16-le")
    told = units[2 * found.range.start.character : 2 * found.range.end.character].decode("utf-16-le")
    assert told == "x.sum() > 0"
    hovered = editor.hover(file, found.range.start.line, found.range.end.character)
    assert "ONX101" in hovered
    assert editor.hover(file, found.range.start.line, found.range.start.character - 1) == ""
    (silence,) = [a for a in editor.actions(file, found.range) if "noqa" in a.title]
    assert silence.edit is not None
    (change,) = silence.edit.document_changes or ()
    assert isinstance(change, types.TextDocumentEdit)
    after = applied(text, list(change.edits))  # type: ignore[arg-type]
    assert after == text.replace(line, f"{line}  # noqa: ONX101")


def test_hover_tells_the_rule_of_a_finding_and_of_a_code_in_a_comment(editor: Editor, project: Path) -> None:
    file = project / "gate.py"
    text = GATE.replace("return x * 2", "return x * 2 if x.max() else x  # noqa: ONX101")
    file.write_text(text)
    editor.open(file)
    editor.wait(file, lambda d: len(d) == 1)
    told = editor.hover(file, 5, 15)
    assert told.startswith("**ONX101** tensor-branch")
    assert "torch.where" in told
    assert "onnxlint explain ONX101" in told
    assert editor.hover(file, 6, text.split("\n")[6].index("ONX101") + 2) == told
    assert editor.hover(file, 6, text.split("\n")[6].index("# noqa")) == ""
    assert editor.hover(file, 0, 2) == ""


def test_code_actions_fix_and_suppress(editor: Editor, project: Path) -> None:
    file = project / "gate.py"
    text = GATE
    file.write_text(text)
    editor.open(file)
    (found,) = editor.wait(file, lambda d: bool(d))
    fix, silence = editor.actions(file, found.range)
    assert "unsafe" in fix.title
    assert not fix.is_preferred
    assert _after(text, fix).count("torch.where(x.sum() > 0, x * 2, x)") == 1
    assert "> 0:  # noqa: ONX101\n" in _after(text, silence)
    assert editor.actions(file, types.Range(types.Position(0, 0), types.Position(0, 1))) == []
    assert editor.actions(file, EVERYWHERE, ["source.fixAll"]) == []  # the only fix is not safe
    assert editor.wait(file, lambda d: not d, version=editor.change(file, _after(text, silence))) == []


def test_a_suppression_is_written_when_it_is_chosen(other: tuple[Editor, Path]) -> None:
    editor, folder = other
    file = folder / "gates.py"
    text = "import torch\n\n\n" + "\n\n".join(
        GATE.partition("\n\n\n")[2].replace("Gate", f"Gate{number}") for number in range(60)
    )
    file.write_text(text)
    editor.open(file)
    shown = editor.wait(file, lambda d: len(d) == 60)
    found = [action for action in editor.actions(file, EVERYWHERE) if "noqa" in action.title]
    assert len(found) == 60
    assert all(action.edit is None for action in found)
    (chosen,) = [action for action in editor.actions(file, shown[30].range) if "noqa" in action.title]
    after = _after(text, editor.resolved(chosen))
    line = text.split("\n")[shown[30].range.start.line]
    assert after.split("\n")[shown[30].range.start.line] == f"{line}  # noqa: ONX101"
    assert len(after) == len(text) + len("  # noqa: ONX101")
    version = editor.change(file, after)
    with pytest.raises(JsonRpcException, match="changed"):
        editor.resolved(chosen)
    assert len(editor.wait(file, version=version)) == 59


def test_a_suppression_that_cannot_be_written_says_why(other: tuple[Editor, Path]) -> None:
    editor, folder = other
    file = folder / "new.py"
    editor.open(file, GATE)
    editor.wait(file, lambda d: bool(d))
    (chosen,) = [action for action in editor.actions(file, EVERYWHERE) if "noqa" in action.title]
    assert isinstance(chosen.data, dict)
    chosen.data["line"] = 3  # which is empty
    with pytest.raises(JsonRpcException, match="part of no statement"):
        editor.resolved(chosen)


def test_files_that_change_are_noticed_by_a_server_that_nobody_tells(other: tuple[Editor, Path]) -> None:
    editor, folder = other
    file, helper, config = folder / "gate.py", folder / "helper.py", folder / "onnxlint.toml"
    helper.write_text("def chosen(value):\n    return value > 0\n")
    file.write_text(
        GATE.replace("import torch", "import torch\n\nfrom helper import chosen").replace("x.sum() > 0", "chosen(x)")
    )
    editor.open(file)
    editor.wait(file, lambda d: len(d) == 1)
    helper.write_text("def chosen(value):\n    return value is None\n")
    editor.wait(file, lambda d: not d)
    helper.write_text("def chosen(value):\n    return value.sum() > 0\n")
    editor.wait(file, lambda d: len(d) == 1)
    config.write_text('ignore = ["ONX101"]\n')
    editor.wait(file, lambda d: not d)
    config.write_text("")
    editor.wait(file, lambda d: len(d) == 1)


def test_fix_all_takes_the_safe_ones(editor: Editor, project: Path) -> None:
    file = project / "gate.py"
    text = GATE.replace("class Gate", "# \U0001f600\nclass Gate")
    call = "torch.onnx.export(Gate(), (torch.rand(2, 3),), 'm.onnx', example_outputs=None)"
    text += f"\n\nname = '😀'; {call}  # noqa: ONX205\n"
    file.write_text(text)
    editor.open(file)
    editor.wait(file, lambda d: bool(d))
    (action,) = editor.actions(file, EVERYWHERE, ["source.fixAll"])
    assert action.kind == "source.fixAll.onnxlint"
    after = _after(text, action)
    assert after == text.replace(", example_outputs=None", "").replace("  # noqa: ONX205", "")
    quick = editor.actions(file, EVERYWHERE, ["quickfix"])
    assert {a.title[:6] for a in quick if a.is_preferred} == {"ONX507", "ONX901"}
    assert all(not a.is_preferred for a in quick if "unsafe" in a.title)
    editor.wait(file, lambda d: "ONX101" in [x.code for x in d], version=editor.change(file, after))
    assert editor.actions(file, EVERYWHERE, ["source.fixAll"]) == []  # what is left is not safe


def test_a_change_of_the_configuration_takes_effect(editor: Editor, project: Path) -> None:
    file = project / "gate.py"
    file.write_text(GATE)
    editor.open(file)
    editor.wait(file, lambda d: [x.code for x in d] == ["ONX101"])
    config = project / "onnxlint.toml"
    config.write_text('ignore = ["ONX101"]\n')
    editor.changed_outside(config)
    editor.wait(file, lambda d: not d)
    config.write_text('ignroe = ["ONX101"]\n')
    editor.changed_outside(config)
    editor.wait(file, lambda d: [x.code for x in d] == ["ONX101"])
    (told,) = editor.wait(config, lambda d: bool(d))
    assert "ignore" in told.message
    config.write_text("")
    editor.changed_outside(config)
    assert editor.wait(config, lambda d: not d) == []
    assert "**/pyproject.toml" in editor.watched


def test_each_workspace_folder_has_its_own_configuration(editor: Editor, project: Path) -> None:
    for name, config in (("first", 'ignore = ["ONX101"]\n'), ("second", "")):
        (project / name).mkdir()
        (project / name / "onnxlint.toml").write_text(config)
        (project / name / "gate.py").write_text(GATE)
    first, second = project / "first", project / "second"
    editor.folders([first, second], [])
    editor.open(second / "gate.py")
    editor.open(first / "gate.py")
    assert [d.code for d in editor.wait(second / "gate.py", lambda d: bool(d))] == ["ONX101"]
    assert editor.wait(first / "gate.py") == []
    editor.folders([], [first, second])


def test_a_file_outside_of_every_workspace_is_checked(editor: Editor, tmp_path: Path) -> None:
    file = tmp_path / "gate.py"
    file.write_text(GATE)
    editor.open(file)
    assert [d.code for d in editor.wait(file, lambda d: bool(d))] == ["ONX101"]
    new = tmp_path / "new.py"  # on no disk yet
    editor.open(new, GATE)
    assert [d.code for d in editor.wait(new, lambda d: bool(d))] == ["ONX101"]
    editor.close(file)
    assert editor.wait(file, lambda d: not d) == []


def test_what_is_excluded_is_not_checked(editor: Editor, project: Path) -> None:
    (project / "onnxlint.toml").write_text('extend-exclude = ["made.py"]\n')
    (project / ".gitignore").write_text("ignored.py\n")
    for name in ("made.py", "ignored.py", "gate.py"):
        (project / name).write_text(GATE)
        editor.open(project / name)
    editor.wait(project / "gate.py", lambda d: bool(d))
    editor.wait(project / "made.py", lambda d: not d)
    editor.wait(project / "ignored.py", lambda d: not d)
    time.sleep(0.5)
    assert editor.codes(project / "gate.py") == ["ONX101"]
    assert editor.codes(project / "made.py") == []
    assert editor.codes(project / "ignored.py") == []


def test_a_helper_is_judged_by_those_who_call_it_in_other_files(editor: Editor, project: Path) -> None:
    helper = project / "helper.py"
    helper.write_text("import torch\n\n\ndef chosen(value):\n    if value > 0:\n        return 1\n    return 2\n")
    (project / "gate.py").write_text(
        GATE.replace("import torch\n", "import torch\n\nfrom helper import chosen\n").replace(
            "        if x.sum() > 0:\n            return x * 2\n        return x\n",
            "        return x * chosen(x.sum())\n",
        )
    )
    editor.open(helper)
    (found,) = editor.wait(helper, lambda d: bool(d))
    assert found.code == "ONX101"
    version = editor.change(helper, "# one more line\n" + helper.read_text())
    (moved,) = editor.wait(helper, version=version)
    assert moved.range.start.line == found.range.start.line + 1
    version = editor.change(helper, helper.read_text().replace("value > 0", "value is None"))
    assert editor.wait(helper, lambda d: not d, version=version) == []


def test_what_does_not_parse_yet_keeps_what_is_known(editor: Editor, project: Path) -> None:
    file = project / "gate.py"
    file.write_text(GATE)
    editor.open(file)
    editor.wait(file, lambda d: len(d) == 1)
    version = editor.change(file, GATE + "\n\n    def f(:  \n")
    shown = editor.wait(file, lambda d: len(d) == 2, version=version)
    assert shown[0].code == "ONX101"
    assert "does not parse" in shown[1].message
    assert shown[1].range == types.Range(types.Position(10, 4), types.Position(10, 11))
    version = editor.change(file, GATE + "\ndef f():\n    pass\n")
    assert [d.code for d in editor.wait(file, lambda d: len(d) == 1, version=version)] == ["ONX101"]


def test_hostile_text_does_no_harm(editor: Editor, project: Path) -> None:
    file = project / "gate.py"
    for text in (
        "",
        "\ufeff" + GATE,
        GATE.replace("\n", "\r\n"),
        "# coding: latin-1\n# é\n" + GATE,
        "\x0c" + GATE,
        GATE + "\0",
    ):
        file.write_bytes(text.encode("utf-8"))
        editor.open(file, text)
        shown = editor.wait(file, lambda d, text=text: bool(d) == bool(text))
        assert [d.code for d in shown][:1] == ([None] if "\0" in text else ["ONX101"] if text else [])
        editor.close(file)
        editor.wait(file, lambda d: not d)


def test_a_folder_behind_a_symbolic_link_is_a_folder(editor: Editor, project: Path, tmp_path: Path) -> None:
    (project / "gate.py").write_text(GATE)
    link = tmp_path / "link"
    link.symlink_to(project)
    editor.open(link / "gate.py")
    assert [d.code for d in editor.wait(link / "gate.py", lambda d: bool(d))] == ["ONX101"]


def test_files_are_named_as_the_editor_names_them(editor: Editor, project: Path, tmp_path: Path) -> None:
    (project / "gate.py").write_text(GATE)
    (project / "onnxlint.toml").write_text('ignroe = ["ONX101"]\n')
    link = tmp_path / "link"
    link.symlink_to(project)
    editor.folders([link], [project])
    editor.open(link / "gate.py")
    (found,) = editor.wait(link / "gate.py", lambda d: bool(d))
    (related,) = found.related_information or ()
    assert related.location.uri == (link / "gate.py").as_uri()
    (told,) = editor.wait(link / "onnxlint.toml", lambda d: bool(d))
    assert "ignore" in told.message
    editor.folders([], [link])
    editor.wait(link / "onnxlint.toml", lambda d: not d)


def test_one_file_may_be_open_under_two_names(editor: Editor, project: Path) -> None:
    file, alias = project / "gate.py", project / "alias.py"
    file.write_text(GATE)
    alias.symlink_to(file)
    editor.open(file)
    editor.open(alias)
    for name in (file, alias):
        assert [d.code for d in editor.wait(name, lambda d: bool(d))] == ["ONX101"]
    (found,) = editor.wait(file, lambda d: bool(d), version=editor.change(file, "# one more line\n" + GATE))
    assert found.range.start.line == 6
    assert _edited(editor.actions(file, found.range)[0]) == file.as_uri()
    editor.close(alias)
    assert editor.wait(alias, lambda d: not d) == []
    assert editor.wait(file, lambda d: not d, version=editor.change(file, FLAG)) == []


def test_a_file_may_lie_in_a_folder_that_is_still_to_be_made(editor: Editor, tmp_path: Path) -> None:
    file = tmp_path / "new" / "deep" / "gate.py"
    editor.open(file, GATE)
    (found,) = editor.wait(file, lambda d: bool(d))
    (related,) = found.related_information or ()
    assert (found.code, related.location.uri) == ("ONX101", file.as_uri())
    file.parent.mkdir(parents=True)
    editor.save(file, FLAG)
    assert editor.wait(file, lambda d: not d, version=editor.change(file, FLAG)) == []


def test_a_folder_without_code_has_no_fault(editor: Editor, project: Path) -> None:
    file = project / "gate.py"  # on no disk yet
    editor.open(file, GATE)
    editor.wait(file, lambda d: bool(d))
    editor.save(file, GATE)
    editor.wait(file, lambda d: not d, version=editor.change(file, FLAG))
    assert {p.uri for p in editor.published if p.diagnostics and str(project) in p.uri} == {file.as_uri()}


def test_what_was_never_saved_is_checked_and_what_is_no_file_is_not(editor: Editor, project: Path) -> None:
    new = "untitled:Untitled-1"
    others = [f"git:{project}/gate.py?%7B%7D", f"vscode-notebook-cell:{project}/book.ipynb#W0"]
    for uri in (*others, new):
        editor.open(uri, GATE)
    assert [d.code for d in editor.wait(new, lambda d: bool(d))] == ["ONX101"]
    editor.close(new)
    editor.wait(new, lambda d: not d)
    assert not [p for p in editor.published if p.uri in others]


def test_what_is_installed_is_nobody_s_to_mend(editor: Editor, tmp_path: Path) -> None:
    file = tmp_path / "site-packages" / "gate.py"
    file.parent.mkdir()
    file.write_text(GATE)
    editor.open(file)
    assert editor.wait(file) == []


@pytest.mark.slow
def test_what_a_check_proved_is_shown_until_the_model_changes(editor: Editor, project: Path, store: Path) -> None:
    file = project / "gate.py"
    file.write_text((ROOT / "fixtures" / "readme" / "gate.py").read_text())
    editor.open(file)
    editor.wait(file, lambda d: bool(d) and "\nconfirmed\n" not in d[0].message)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "ONNXLINT_CACHE_DIR": str(store)}
    done = subprocess.run(
        [sys.executable, "-m", "onnxlint", "check", "--output-format", "json"],
        cwd=project,
        env=environment,
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    editor.changed_outside(project / ".onnxlint" / "repro" / "index.json")
    (found,) = editor.wait(file, lambda d: "\nconfirmed\n" in d[0].message if d else False)
    assert "max abs error" in found.message
    hovered = editor.hover(file, found.range.start.line, found.range.start.character)
    assert "python .onnxlint/repro/" in hovered
    text = file.read_text()
    (stale,) = editor.wait(file, lambda d: bool(d), version=editor.change(file, "# changed\n" + text))
    assert "\nconfirmed\n" not in stale.message
    assert "confirmed before the last change" in stale.message
    editor.wait(file, lambda d: "\nconfirmed\n" in d[0].message if d else False, version=editor.change(file, text))


def _edited(action: types.CodeAction) -> str:
    assert action.edit is not None
    (change,) = action.edit.document_changes or ()
    assert isinstance(change, types.TextDocumentEdit)
    return change.text_document.uri


def _after(text: str, action: types.CodeAction) -> str:
    assert action.edit is not None
    (change,) = action.edit.document_changes or ()
    assert isinstance(change, types.TextDocumentEdit)
    return applied(text, list(change.edits))  # type: ignore[arg-type]
