"""One review for each state of a pull request: what is new gets a comment, the summary is kept current."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxlint.integrations.review import ReviewError
from onnxlint.integrations.review.comments import (
    Comment,
    Sources,
    Summary,
    comment,
    fingerprint_of,
    is_summary,
    summary,
)
from onnxlint.integrations.review.places import PullDiff, read_files
from onnxlint.records import Finding, Report, Severity, VerdictKind
from onnxlint.report.fingerprints import distinct
from onnxlint.report.words import hidden

if TYPE_CHECKING:
    from onnxlint.integrations.review.github import Pull

_SEVERITIES = (Severity.ERROR, Severity.WARNING, Severity.NOTE)
_AGAIN = "More of what onnxlint finds; the summary is in its first review."


@dataclass(frozen=True, slots=True)
class Draft:
    """What is to be posted: a review (None: none), and the text of an earlier one that changes (number, text)."""

    payload: dict[str, Any] | None
    changed: tuple[int, str] | None
    told: str  # in one sentence


@dataclass(frozen=True, slots=True)
class Reviewer:
    """Makes a review of a report.

    `root` is the top of the repository in which `sources` reads files, `head` the commit of the pull request that was
    checked, `server` the address of GitHub's pages. At most `most` comments are made in all, the worst findings first.
    """

    pull: Pull
    root: Path
    head: str
    server: str
    most: int
    sources: Sources
    warn: Callable[[str], None]
    show_all: bool = False

    def draft(self, report: Report, *, inline: bool = True) -> Draft:
        """What a review of the report says now, after what earlier ones said; without comments unless `inline`."""
        diff = read_files(self.pull.files(), self.warn)
        known = [found for found in map(fingerprint_of, self.pull.comments()) if found is not None]
        earlier = [(number, body) for number, body in self.pull.reviews() if is_summary(body)]
        shown = sorted((f for f in report.findings if self.show_all or not hidden(f)), key=_in_source)
        paths = {f.span.path: self._path(f.span.path) for f in shown}
        made: dict[str, Comment] = {}
        elsewhere: list[Finding] = []
        for finding, fingerprint in zip(shown, distinct([f.fingerprint for f in shown]), strict=True):
            its = paths[finding.span.path]
            found = comment(finding, fingerprint, its, diff, self.sources) if inline and its is not None else None
            if found is None:
                elsewhere.append(finding)
            else:
                made[fingerprint] = found
        new = sorted((c for key, c in made.items() if key not in known), key=lambda c: _badness(c.finding))
        posted = new[: max(0, self.most - len(set(known)))]
        elsewhere += [c.finding for c in new[len(posted) :]]
        elsewhere.sort(key=lambda f: (not self._concerns(diff, f), _badness(f)))
        body = summary(
            report,
            Summary(
                len(made) - len(new) + len(posted),
                [(paths[f.span.path] or f.span.path, f) for f in elsewhere],
                sorted(diff.unshown),
                f"{self.server.rstrip('/')}/{self.pull.repository}/blob/{self.head}/",
            ),
            show_all=self.show_all,
        )
        return self._drafted(body, posted, earlier, bool(elsewhere) and self._concerns(diff, elsewhere[0]))

    def _drafted(
        self, body: str, posted: Sequence[Comment], earlier: Sequence[tuple[int, str]], concerned: bool
    ) -> Draft:
        changed = None
        if earlier:
            number, before = earlier[0]
            changed = (number, body) if before.split() != body.split() else None
        payload = None
        if posted or (concerned and not earlier):
            payload = {
                "commit_id": self.head,
                "event": "COMMENT",
                "body": _AGAIN if earlier else body,
                "comments": [_placed(c) for c in posted],
            }
        if payload is not None:
            told = f"a review with {len(posted)} new comment{'s' * (len(posted) != 1)}"
        else:
            told = "a summary that changed" if changed is not None else "nothing new to say"
        return Draft(payload, changed, told)

    def post(self, report: Report) -> str:
        """Post what is new, and tell what was done. Raises ReviewError.

        Comments that GitHub does not take, since the branch moved on meanwhile, go into the summary instead.
        """
        draft = self.draft(report)
        address = ""
        if draft.payload is not None:
            try:
                address = self.pull.create_review(draft.payload)
            except ReviewError as error:
                if not error.rejected or not draft.payload["comments"]:
                    raise
                self.warn(f"the findings go into the summary instead: {error}")
                draft = self.draft(report, inline=False)
                payload = draft.payload
                address = self.pull.create_review(payload) if payload is not None else ""
        if draft.changed is not None:
            self.pull.update_review(*draft.changed)
        return f"{draft.told}{': ' + address if address else ''}"

    def _path(self, path: str) -> str | None:
        """What the repository calls a file; None for one outside of it."""
        inside = os.path.relpath(os.path.realpath(path), os.path.realpath(self.root)).replace(os.sep, "/")
        return None if inside.startswith("../") or os.path.isabs(inside) else inside

    def _concerns(self, diff: PullDiff, finding: Finding) -> bool:
        """Whether the pull request adds the line, or one that the value came by."""
        span = finding.span
        places = [(span.path, span.line, max(span.line, span.end_line))]
        places += [(step.path, step.line, step.line) for step in finding.trace]
        return any(diff.adds(self._path(path) or "", first, last) for path, first, last in places)


def _placed(c: Comment) -> dict[str, Any]:
    """A comment as GitHub takes it: on one line, or from a first to a last."""
    lines: dict[str, Any] = {"line": c.place.last, "side": "RIGHT"}
    if c.place.first != c.place.last:
        lines |= {"start_line": c.place.first, "start_side": "RIGHT"}
    return {"path": c.place.path, "body": c.body, **lines}


def _in_source(finding: Finding) -> tuple[str, int, int, str]:
    return finding.span.path, finding.span.line, finding.span.column, finding.code


def _badness(finding: Finding) -> tuple[bool, int, tuple[str, int, int, str]]:
    """The worst first: what is confirmed, then by severity, then in source order."""
    confirmed = finding.verdict is VerdictKind.CONFIRMED
    return not confirmed, _SEVERITIES.index(finding.severity), _in_source(finding)
