"""`onnxlint review`: check, and post what is found as a review of a pull request on GitHub."""

from __future__ import annotations

import importlib.util
import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from onnxlint.base import interrupts
from onnxlint.base.records import Report
from onnxlint.cli import FAILED
from onnxlint.cli.options import REVIEW_LACKS, check_options, config_options
from onnxlint.cli.output import deliver, tell
from onnxlint.cli.request import Asked
from onnxlint.cli.running import conclude, examine, rendered_as

if TYPE_CHECKING:
    from onnxlint.integrations.review.post import Reviewer

_TOKENS = ("GITHUB_TOKEN", "GH_TOKEN")
_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)
_ADDRESS = re.compile(r"https?://[\w.-]+(:\d{1,5})?(/[\w./~-]*)?", re.ASCII)
_PRINTABLE = re.compile(r"[!-~]*")
_NEEDED = ("githubkit", "unidiff")


@click.command("review")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path, readable=False))
@click.option("--repo", metavar="OWNER/NAME", help="Repository [GITHUB_REPOSITORY].")
@click.option("--pull", type=click.IntRange(min=1), metavar="N", help="Pull request [from the workflow's event].")
@click.option(
    "--max-comments",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="Maximum number of open comments; the worst findings come first, the summary lists the rest.",
)
@click.option("--dry-run", is_flag=True, help="Print the review as JSON instead of posting it.")
@config_options
@check_options(REVIEW_LACKS)
def command(
    paths: tuple[Path, ...], repo: str | None, pull: int | None, max_comments: int, dry_run: bool, **flags: Any
) -> int:
    """Check the models under PATHS, and post what is found as one review of a pull request on GitHub.

    What the pull request shows gets a comment at its line, with a suggestion where there is a fix; all else stands in
    the summary. Nothing is said twice. The token is read from GITHUB_TOKEN or GH_TOKEN; where it may not write, as in
    a workflow for a fork, the findings are printed as annotations instead.

    Exit code: as of `check`; 2 as well where GitHub does not take the review.
    """
    if not all(map(importlib.util.find_spec, _NEEDED)):
        raise click.UsageError("githubkit is not installed; pip install 'onnxlint[review]'")
    target = _target(repo, pull)
    asked = Asked(paths or (Path(),), {**dict.fromkeys(REVIEW_LACKS), **flags})
    if asked.stdin:
        raise click.UsageError("a review cannot check standard input")
    asked.require_sense()
    if dry_run and target.number and not target.token:
        raise click.UsageError("--dry-run has to read the pull request: there is no token in GITHUB_TOKEN or GH_TOKEN")
    scopes = asked.scopes()
    report = examine(asked, scopes).report
    code = conclude(report, asked, scopes, {}, aside=dry_run)
    if report.interrupted:
        tell("onnxlint: interrupted; an incomplete run is not posted")
        return interrupts.exit_code()
    return max(code, _post(report, asked, target, max_comments, dry_run))


@dataclass(frozen=True)
class _Target:
    """A pull request: number 0 where the workflow runs for none. `head` is its commit when the event came."""

    repository: str
    number: int
    head: str
    api: str
    token: str = field(repr=False)


def _target(repo: str | None, pull: int | None) -> _Target:
    repository = repo or os.environ.get("GITHUB_REPOSITORY", "")
    if not _REPOSITORY.fullmatch(repository):
        raise click.UsageError(f"--repo OWNER/NAME: {f'`{repository}` is none' if repository else 'it is not known'}")
    event = _event()
    number, head = _of_event(event)
    if pull is not None and pull != number:
        number, head = pull, ""
    if not number and not event:
        raise click.UsageError("--pull N: it is not known which pull request this is")
    api = os.environ.get("GITHUB_API_URL") or "https://api.github.com"
    if not _ADDRESS.fullmatch(api):
        raise click.UsageError(f"GITHUB_API_URL: `{api}` is no address")
    return _Target(repository, number, head, api, _token())


def _token() -> str:
    """Take the token out of the environment, which the models and the exporters that are run are to see without it."""
    values = [(name, os.environ.pop(name, "").strip()) for name in _TOKENS]
    name, token = next(((name, token) for name, token in values if token), ("", ""))
    if not _PRINTABLE.fullmatch(token):  # an error about it, of a library, would show it
        raise click.UsageError(f"{name} holds characters that no token has")
    return token


def _event() -> dict[str, Any]:
    path = os.environ.get("GITHUB_EVENT_PATH")
    if not path:
        return {}
    try:
        event = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise click.UsageError(f"GITHUB_EVENT_PATH: {path} cannot be read: {error}") from error
    return event if isinstance(event, dict) else {}


def _of_event(event: dict[str, Any]) -> tuple[int, str]:
    """Number and head of the pull request that an event tells of: its own, that of a comment, or of the run before."""
    try:
        issue = event.get("issue") or {}
        ran = (event.get("workflow_run") or {}).get("pull_requests") or [{}]
        pull = event.get("pull_request") or (issue if "pull_request" in issue else ran[0])
        number, sha = pull.get("number"), (pull.get("head") or {}).get("sha")
    except (AttributeError, LookupError, TypeError):  # it is no event of GitHub
        return 0, ""
    return (number if isinstance(number, int) else 0), (sha if isinstance(sha, str) else "")


def _post(report: Report, asked: Asked, target: _Target, most: int, dry_run: bool) -> int:
    """Post the review, or say why not; the exit code that follows from that."""
    from onnxlint.integrations.review import ReviewError

    if not target.number:
        return _annotate(report, asked, "this workflow runs for no pull request")
    if not target.token:
        return _annotate(report, asked, "there is no token in GITHUB_TOKEN or GH_TOKEN")
    try:
        reviewer = _reviewer(asked, target, most)
        if target.head and reviewer.head != target.head:
            moved = f"pull request {target.number} has moved on to {reviewer.head[:12]}"
            tell(f"onnxlint: nothing is posted: {moved}, and this run is for {target.head[:12]}")
            return 0
        if dry_run:
            draft = reviewer.draft(report)
            changed = None if draft.changed is None else dict(zip(("review", "body"), draft.changed, strict=True))
            return deliver(json.dumps({"review": draft.payload, "summary": changed}, indent=2) + "\n", "json")
        outcome = reviewer.post(report)
    except ReviewError as error:
        if error.forbidden:
            return _annotate(report, asked, str(error))
        tell(f"onnxlint: {error}")
        return FAILED
    tell(f"onnxlint: pull request {target.number} of {target.repository}: {outcome}")
    return 0


def _reviewer(asked: Asked, target: _Target, most: int) -> Reviewer:
    from onnxlint.integrations.review.post import Reviewer
    from onnxlint.integrations.review.pull_request import Pull
    from onnxlint.run.git import repository_of
    from onnxlint.source.parse import source_lines

    pull = Pull(target.repository, target.number, target.token, target.api)
    repository = repository_of(asked.paths)  # without one, the folder that GitHub Actions checked it out to
    root = Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd()) if repository is None else repository.top
    head, part = pull.head(), _part(asked.paths, root)
    server = os.environ.get("GITHUB_SERVER_URL") or "https://github.com"
    return Reviewer(
        pull, root, head, server, most, source_lines, lambda message: tell(f"onnxlint: {message}"), part, asked.show_all
    )


def _part(paths: Sequence[Path], root: Path) -> str:
    """Name the folders that are checked; empty for the whole repository, and for files, which are others each time."""
    folders = sorted({os.path.relpath(os.path.realpath(path), os.path.realpath(root)) for path in paths})
    return "" if "." in folders or not all(path.is_dir() for path in paths) else ", ".join(folders)


def _annotate(report: Report, asked: Asked, why: str) -> int:
    tell(f"onnxlint: no review is posted, the findings are annotations: {why}")
    if asked["output_format"] == "github" and asked["output_file"] is None:
        return 0  # they stand there already
    return deliver(rendered_as("github", report, asked, None), "github")
