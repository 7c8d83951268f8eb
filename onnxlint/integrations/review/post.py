"""One review for each state of a pull request: what is new gets a comment, the summary is kept current."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxlint import verdicts
from onnxlint.base.records import Finding, Report, Sources, grouped
from onnxlint.integrations.review import ReviewError, comments
from onnxlint.integrations.review.diff_places import Place, PullDiff, read_files
from onnxlint.report.common.words import badness, hidden
from onnxlint.run.baseline import fingerprint

if TYPE_CHECKING:
    from onnxlint.integrations.review.pull_request import Pull, Said

_AGAIN = "More of what onnxlint finds; the summary is in an earlier review."
_PAUSE = 3.0  # seconds, for what GitHub has written to be there for readers


@dataclass(frozen=True, slots=True)
class Draft:
    """What is to be posted: a review (None: none), and the text of an earlier one that changes (number, text)."""

    payload: dict[str, Any] | None
    changed: tuple[int, str] | None
    outcome: str  # in one sentence


@dataclass(frozen=True, slots=True)
class Reviewer:
    """Makes a review of a report.

    `root` is the top of the repository in which `sources` reads files, `head` the commit that its branch stands at,
    `server` the address of GitHub's pages. At most `most` comments stand at a time, the worst findings come first.
    `part` names the folders that were checked, where that is not all: their summary is one of its own.
    """

    pull: Pull
    root: Path
    head: str
    server: str
    most: int
    sources: Sources
    warn: Callable[[str], None]
    part: str = ""
    show_all: bool = False

    def draft(self, report: Report, *, inline: bool = True) -> Draft:
        """What a review of the report says now, after what earlier ones said; without comments unless `inline`."""
        shown = sorted((f for f in report.findings if self.show_all or not hidden(f)), key=verdicts.place)
        diff = read_files(self.pull.files(), lambda path: self.sources(os.path.join(self.root, path)), self.warn)
        places = [self._placed(finding, diff, inline) for finding in shown]
        if inline:
            self._warn_of_others(places, diff)
        said = _matched(places, self.pull.comments(comments.fingerprint_of))
        new = sorted((t for i, t in enumerate(places) if t.comment and i not in said), key=lambda t: badness(t.finding))
        standing = sum(bool(comment.lines) for comment in said.values())
        posted = new[: max(0, self.most - standing)]
        elsewhere = [t for i, t in enumerate(places) if not t.comment and i not in said]
        elsewhere.sort(key=lambda t: (not self._concerns(diff, t.finding), badness(t.finding)))
        earlier = [(places[i].path, places[i].finding, s.address) for i, s in sorted(said.items()) if not s.lines]
        more, others = ([(t.path, t.finding) for t in some] for some in (new[len(posted) :], elsewhere))
        unshown = sorted(diff.unshown & {path for path, _ in others})
        web = f"{self.server.rstrip('/')}/{self.pull.repository}/blob/{self.head}/"
        summary = comments.Summary(standing + len(posted), earlier, more, others, unshown, web, self.part)
        body = comments.summary(report, summary, show_all=self.show_all)
        concerned = len(new) > len(posted) or any(self._concerns(diff, t.finding) for t in elsewhere[:1])
        return self._drafted(body, [t.comment for t in posted if t.comment], concerned)

    def _placed(self, finding: Finding, diff: PullDiff, inline: bool) -> _Placed:
        key = fingerprint(finding, self.root)
        path = self._path(finding.span.path)
        if path is None:
            return _Placed(finding, key, finding.span.path, None)
        return _Placed(finding, key, path, comments.comment(finding, key, path, diff, self.sources) if inline else None)

    def _warn_of_others(self, places: Sequence[_Placed], diff: PullDiff) -> None:
        """Say which files are not the ones that the pull request shows, where that costs a comment."""
        others = sorted({t.path for t in places if t.comment is None and t.path in diff.files and diff.differs(t.path)})
        if others:
            why = "what was checked is not what the pull request shows, so not all of it is commented on"
            self.warn(f"{', '.join(others)}: {why}; check out its head")

    def _drafted(self, body: str, posted: Sequence[comments.Comment], concerned: bool) -> Draft:
        earlier = self.pull.reviews(lambda body: comments.is_summary(body, self.part))
        outdated = [last for last in earlier[-1:] if last.body.split() != body.split()]
        changed = (outdated[0].number, body) if outdated else None
        outcome, payload = "a summary that changed" if changed is not None else "nothing new to say", None
        if posted or (concerned and not earlier):
            payload = self._review(_AGAIN if earlier else body, posted)
            outcome = f"a review with {len(posted)} new comment{'s' * (len(posted) != 1)}"
        return Draft(payload, changed, outcome)

    def _review(self, body: str, posted: Sequence[comments.Comment]) -> dict[str, Any]:
        made = [_payload_of(comment) for comment in posted]
        return {"commit_id": self.head, "event": "COMMENT", "body": body, "comments": made}

    def post(self, report: Report) -> str:
        """Post what is new, and tell what was done. Raises ReviewError.

        Comments that GitHub does not take, since the branch moved on meanwhile, go into the summary instead.
        """
        draft = self.draft(report)
        try:
            address = self._create(draft)
        except ReviewError as error:
            if error.unsure:  # it may be there nevertheless: then the second draft has nothing to post
                time.sleep(_PAUSE)
                draft = self.draft(report)
            elif error.rejected and draft.payload is not None and draft.payload["comments"]:
                self.warn(f"the findings go into the summary instead: {error}")
                draft = self.draft(report, inline=False)
            else:
                raise
            address = self._create(draft)
        if draft.changed is not None:
            self._update(*draft.changed)
        return f"{draft.outcome}{': ' + address if address else ''}"

    def _create(self, draft: Draft) -> str:
        return self.pull.create_review(draft.payload) if draft.payload is not None else ""

    def _update(self, review: int, body: str) -> None:
        """Bring the summary up to date; one that somebody else wrote, whose token it was then, is written anew."""
        try:
            self.pull.update_review(review, body)
        except ReviewError as error:
            if not (error.forbidden or error.rejected):
                raise
            self.pull.create_review(self._review(body, ()))

    def _path(self, path: str) -> str | None:
        """What the repository calls a file; None for one outside of it."""
        inside = os.path.relpath(os.path.realpath(path), os.path.realpath(self.root)).replace(os.sep, "/")
        return None if f"{inside}/".startswith("../") or os.path.isabs(inside) else inside

    def _concerns(self, diff: PullDiff, finding: Finding) -> bool:
        """Whether the pull request adds the line, or one that the value came by."""
        span = finding.span
        places = [(span.path, span.line, max(span.line, span.end_line))]
        places += [(step.path, step.line, step.line) for step in finding.trace]
        inside = ((self._path(path), first, last) for path, first, last in places)
        return any(path is not None and diff.adds(path, first, last) for path, first, last in inside)


def _payload_of(c: comments.Comment) -> dict[str, Any]:
    """A comment as GitHub takes it: on one line, or from a first to a last."""
    lines: dict[str, Any] = {"line": c.place.last, "side": "RIGHT"}
    if c.place.first != c.place.last:
        lines |= {"start_line": c.place.first, "start_side": "RIGHT"}
    return {"path": c.place.path, "body": c.body, **lines}


@dataclass(frozen=True, slots=True)
class _Placed:
    """A finding, what it is known by, its path in the repository, and the comment on it where one can be made."""

    finding: Finding
    fingerprint: str
    path: str
    comment: comments.Comment | None


def _matched(places: Sequence[_Placed], said: Sequence[Said]) -> dict[int, Said]:
    """The findings that were commented on, by number, each with its comment.

    Alike findings of a file have one fingerprint: a comment belongs to the one at its lines, else to any that is left,
    those first that would get a new comment, since nothing is to be said twice.
    """
    left = grouped(said, lambda one: comments.fingerprint_of(one.body))
    matches: dict[int, Said] = {}

    def match(number: int, at: Place | None) -> None:
        its = left.get(places[number].fingerprint, [])
        standing = (s for s in its if at is None or (s.path == at.path and at.first <= max(s.lines, default=-1)))
        one = next((s for s in standing if at is None or s.lines[0] <= at.last), None)
        if one is not None:
            matches[number] = one
            its.remove(one)

    made = [(i, t.comment.place) for i, t in enumerate(places) if t.comment is not None]
    for i, place in made:
        match(i, place)
    for i in (*(i for i, _ in made), *(i for i, t in enumerate(places) if t.comment is None)):
        if i not in matches:
            match(i, None)
    return matches
