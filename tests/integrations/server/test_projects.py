"""The folders that are open: which document belongs to which, what it is called, and what becomes of its analysis."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from onnxlint.integrations.server.projects import Document, Project, Projects

GATE = """\
import torch


class Gate(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x
"""


class Session:
    """Projects with what they published and told."""

    def __init__(self) -> None:
        self.published: list[tuple[str, int | None, list[str]]] = []
        self.messages: list[str] = []
        self.projects = Projects(self.publish, lambda project: None, self.messages.append)

    def publish(self, project: Project, document: Document) -> None:
        codes = [finding.code for finding in document.shown.findings]
        self.published.append((os.path.basename(document.path), document.version, codes))

    def home(self, path: Path) -> Path | None:
        """The folder of the project that a document belongs to."""
        match = self.projects.find(path.as_uri())
        return None if match is None else Path(match[0].root)

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(60):
            while not condition():
                await asyncio.sleep(0.02)


def document(path: Path, text: str = "x = 1\n") -> Document:
    return Document(os.path.realpath(path), path.as_uri(), 1, text)


def run(steps: Callable[[Session], Awaitable[None]]) -> Session:
    """A session in a loop of its own, all of whose analyses end with it."""
    session = Session()

    async def whole() -> None:
        try:
            await steps(session)
        finally:
            await session.projects.end()

    asyncio.run(whole())
    return session


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "two words" / "inner").mkdir(parents=True)
    return tmp_path / "two words"


def test_a_document_belongs_to_the_innermost_folder_around_it(folder: Path) -> None:
    outer, inner, far = folder / "a.py", folder / "inner" / "größe.py", folder.parent / "far.py"

    async def steps(session: Session) -> None:
        session.projects.add(str(folder))
        for path in (outer, inner, far):
            session.projects.open(document(path))
        assert [session.home(path) for path in (outer, inner, far)] == [folder, folder, folder.parent]
        session.projects.add(str(folder / "inner"))
        assert [session.home(path) for path in (outer, inner)] == [folder, folder / "inner"]
        (left,) = session.projects.remove(str(folder / "inner"))
        assert left.uri == inner.as_uri()
        assert session.home(inner) is None
        session.projects.open(left)
        assert session.home(inner) == folder

    run(steps)


def test_a_closed_document_is_known_no_more(folder: Path) -> None:
    file = folder / "a.py"

    async def steps(session: Session) -> None:
        session.projects.open(document(file))
        assert session.projects.close(file.as_uri())
        assert not session.projects.close(file.as_uri())
        assert session.projects.find(file.as_uri()) is None
        session.projects.change(file.as_uri(), "y = 2\n", 2)
        assert session.projects.remove(str(folder)) == []

    run(steps)


def test_what_was_never_saved_has_a_place_in_the_first_folder(folder: Path) -> None:
    async def steps(session: Session) -> None:
        session.projects.add(str(folder))
        assert session.projects.place_of("untitled:Untitled-1") == str(folder / "Untitled-1.py")
        assert session.projects.place_of("untitled:a%20b.py") == str(folder / "a b.py")
        assert session.projects.place_of("https://host/x.py") is None
        assert session.projects.place_of("untitled:") is None

    run(steps)


def test_a_file_is_called_what_the_editor_calls_it(tmp_path: Path) -> None:
    real, named = tmp_path / "real", tmp_path / "by name"
    real.mkdir()
    named.symlink_to(real)
    opened = Document(str(real / "a.py"), "file:///x/a.py", 1, "")
    project = Project(str(real), str(named), documents={opened.uri: opened})
    assert project.uri("a.py") == "file:///x/a.py"
    assert project.uri("größe/b.py") == (named / "größe" / "b.py").as_uri()


def test_what_is_typed_is_analysed_and_the_last_text_is_what_is_shown(folder: Path) -> None:
    file = folder / "gate.py"
    file.write_text("x = 1\n")

    async def steps(session: Session) -> None:
        session.projects.open(document(file))
        session.projects.change(file.as_uri(), "x = 2\n", 2)
        session.projects.change(file.as_uri(), GATE, 3)
        await session.until(lambda: bool(session.published))
        session.projects.change(file.as_uri(), "# new\n" + GATE, 4)
        await session.until(lambda: session.published[-1][1] == 4)
        match = session.projects.find(file.as_uri())
        assert match is not None
        assert [finding.span.line for finding in match[1].shown.findings] == [7]

    session = run(steps)
    assert session.published == [("gate.py", 3, ["ONX101"]), ("gate.py", 4, ["ONX101"])]
    assert session.messages == []
    assert file.read_text() == "x = 1\n"


def test_an_analysis_that_fails_is_told_and_publishes_nothing(folder: Path) -> None:
    file = folder / "inner" / "gate.py"

    async def steps(session: Session) -> None:
        session.projects.add(str(folder / "inner"))
        (folder / "inner").rmdir()
        session.projects.open(document(file, GATE))
        await session.until(lambda: bool(session.messages))

    session = run(steps)
    assert session.messages[0] == f"there is no folder {folder / 'inner'} any more"
    assert session.published == []
