"""One analysis for the editor: what a process of its own runs, and what it sends back."""

import io
import os
import tokenize
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onnxlint.base.catalogue import load_catalogue
from onnxlint.base.records import Diagnostic, Finding, Report
from onnxlint.report.common.words import hidden
from onnxlint.run import session
from onnxlint.run.scopes import Request, Scope, scopes, single
from onnxlint.source.discover import excluded
from onnxlint.source.parse import read_bytes

_INSTALLED = frozenset({"site-packages", "dist-packages"})
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Job:
    """What to analyse: `files` alone, with what they import, or all of the folder `root` where there are none.

    Paths are reported relative to `root`. `unsaved` are the texts that the editor holds, by absolute path.
    """

    root: str
    files: tuple[str, ...] = ()
    unsaved: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What an analysis gave. `files` are those that were asked for, absolute; `fault` says why there is nothing."""

    findings: tuple[Finding, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    files: tuple[str, ...] = ()
    seconds: float = 0.0
    fault: str = ""


def answer_of(job: Job, **settings: Any) -> Answer:
    """Run one job in this process, whose working directory becomes the job's. Nothing of what is there is run.

    The settings come on top of those of its files. What goes wrong is told in a line.
    """
    if not os.path.isdir(job.root):
        return Answer(fault=f"there is no folder {job.root} any more")
    try:
        os.chdir(job.root)
        rules = {rule.code: rule.name for rule in load_catalogue().values()}
        # One process: this one can be ended at any moment, and its children could not.
        parts = _scopes(job, Request(overrides={"jobs": 1, **settings}, rules=rules))
        overlay = _overlay(job.unsaved or {})
        report = session.run(parts, overlay=overlay, recall=True, shown=_shown).report if parts else Report()
        findings = tuple(filter(_shown, report.findings))
        files = tuple(os.path.abspath(file) for scope in parts for file in scope.discovery.files)
        return Answer(findings, report.diagnostics, files, report.seconds)
    except Exception as error:  # noqa: BLE001 - the next text may be no trouble, and the editor shows no traceback
        frames = traceback.extract_tb(error.__traceback__)
        place = f" at {os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
        return Answer(fault=f"internal error{place}: {type(error).__name__}: {(str(error).splitlines() or [''])[0]}")


def _shown(finding: Finding) -> bool:
    return not hidden(finding)


def _scopes(job: Job, request: Request) -> tuple[Scope, ...]:
    if not job.files:
        return scopes([Path(job.root)], request)
    checked: list[Scope] = []
    for file in job.files:
        if _INSTALLED.isdisjoint(Path(file).parts):  # where "go to definition" leads is not the user's to mend
            checked += (s for s in single(Path(file), request) if not excluded(Path(file), s.settings))
    return tuple(checked)


def _overlay(unsaved: Mapping[str, str]) -> dict[Path, bytes]:
    """The bytes of the texts that are not on the disk as they are in the editor, by resolved path."""
    overlay = {}
    for path, text in unsaved.items():
        data = encoded(text)
        saved = read_bytes(Path(path)) if os.path.isfile(path) else None
        if not isinstance(saved, bytes) or saved.removeprefix(_BOM) != data:
            overlay[Path(path).resolve()] = data
    return overlay


def encoded(text: str) -> bytes:
    """The bytes that a text is saved as: in the encoding that its first lines name, or else in UTF-8."""
    data = text.encode("utf-8", "surrogatepass")
    try:
        return text.encode(tokenize.detect_encoding(io.BytesIO(data).readline)[0])
    except (SyntaxError, LookupError, UnicodeError):  # reading it will tell
        return data


def relevant(findings: Sequence[Finding], root: str, path: str) -> tuple[Finding, ...]:
    """The findings of one file, by its absolute path."""
    return tuple(finding for finding in findings if os.path.join(root, finding.span.path) == path)
