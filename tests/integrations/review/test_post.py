"""One review for each state of a pull request, posted through HTTP to a GitHub that remembers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from github_double import Answer, serving

from onnxlint.base.records import Finding, Report, Severity, Span, VerdictKind
from onnxlint.integrations.review import ReviewError
from onnxlint.integrations.review.post import Reviewer
from onnxlint.integrations.review.pull_request import Pull

LINES = [f"x{number} = {number}" for number in range(1, 9)]
PATCH = "@@ -1,2 +1,6 @@\n x1 = 1\n+x2 = 2\n+x3 = 3\n+x4 = 4\n+x5 = 5\n x6 = 6"
BOT = {"user": {"login": "github-actions[bot]", "type": "Bot"}}


class Service:
    """What a pull request's page shows, as far as a review needs it."""

    def __init__(self) -> None:
        self.reviews: list[dict[str, Any]] = []
        self.comments: list[dict[str, Any]] = []
        self.files = [{"filename": "m.py", "status": "modified", "changes": 4, "patch": PATCH}]
        self.refuses: Callable[[dict[str, Any]], int] = lambda sent: 0

    def answer(self, method: str, path: str, query: str, sent: dict[str, Any], token: str) -> Answer:
        name = path.rpartition("/")[2]
        if method == "POST":
            if status := self.refuses(sent):
                return status, {"message": "no"}
            number = len(self.reviews) + 1
            self.reviews.append({"id": number, "body": sent["body"], **BOT})
            self.comments += [{"id": 100 + i, **one, **BOT} for i, one in enumerate(sent["comments"])]
            return 200, {"html_url": f"https://github.test/review/{number}"}
        if method == "PUT":
            self.reviews[int(name) - 1]["body"] = sent["body"]
            return 200, {}
        return 200, {"files": self.files, "comments": self.comments, "reviews": self.reviews}[name]


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Service, Reviewer]]:
    """The page, and who writes on it; the file in question is in the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.py").write_text("\n".join([*LINES, ""]))
    made = Service()

    def sources(path: str) -> list[str]:
        return Path(path).read_text().splitlines(keepends=True) if Path(path).is_file() else []

    with serving(made.answer) as address:
        pull = Pull("octo/models", 1, "ghs_x", address)
        yield made, Reviewer(pull, tmp_path, "abc", "https://github.test", 2, sources, lambda message: None)


def at(line: int, **changes: Any) -> Finding:
    text = LINES[line - 1] if line <= len(LINES) else ""
    whole = {"symbol": f"m.f{line}", "text": text, "span": Span("m.py", line, 1, line, 3)} | changes
    return Finding("ONX101", "tensor-branch", whole.pop("severity", Severity.ERROR), f"line {line}", **whole)


def lines(service: Service) -> list[int]:
    return [comment["line"] for comment in service.comments]


def test_the_worst_get_the_comments_and_the_others_stand_in_the_summary(service: tuple[Service, Reviewer]) -> None:
    page, reviewer = service
    proved = at(5, verdict=VerdictKind.CONFIRMED)
    told = reviewer.post(Report((at(2, severity=Severity.WARNING), at(3), at(4), proved, at(8))))
    assert told == "a review with 2 new comments: https://github.test/review/1"
    assert lines(page) == [5, 3]
    assert all(comment["side"] == "RIGHT" for comment in page.comments)
    body = page.reviews[0]["body"]
    assert "2 beyond the limit of comments" in body
    assert "1 not on lines that this pull request shows" in body
    assert "https://github.test/octo/models/blob/abc/m.py#L8" in body


def test_what_was_said_is_not_said_again_and_the_summary_follows(service: tuple[Service, Reviewer]) -> None:
    page, reviewer = service
    reviewer.post(Report((at(2), at(3)), files=1))
    before = page.reviews[0]["body"]
    assert reviewer.post(Report((at(2), at(3)), files=1)) == "nothing new to say"
    assert reviewer.post(Report((at(2), at(3), at(4)), files=1)) == "a summary that changed"
    assert lines(page) == [2, 3], "no more than two stand at a time"
    assert len(page.reviews) == 1
    assert page.reviews[0]["body"] != before
    assert "1 beyond the limit" in page.reviews[0]["body"]


def test_a_pull_request_without_a_finding_hears_nothing(service: tuple[Service, Reviewer]) -> None:
    page, reviewer = service
    hidden = at(2, severity=Severity.NOTE)
    far = at(8)  # the file is theirs, the line is not
    assert reviewer.post(Report()) == reviewer.post(Report((hidden, far))) == "nothing new to say"
    assert page.reviews == []
    shown = dataclasses.replace(reviewer, show_all=True)
    assert shown.post(Report((hidden,))).startswith("a review with 1 new comment: ")


def test_a_file_outside_of_the_repository_is_named_and_not_commented_on(service: tuple[Service, Reviewer]) -> None:
    page, reviewer = service
    far = at(2, span=Span("/opt/models/m.py", 2, 1, 2, 3))
    reviewer.post(Report((at(3), far)))
    assert lines(page) == [3]
    assert "`/opt/models/m.py:2`" in page.reviews[0]["body"]


def test_what_github_refuses_as_a_comment_goes_into_the_summary(service: tuple[Service, Reviewer]) -> None:
    page, reviewer = service
    warned: list[str] = []
    page.refuses = lambda sent: 422 if sent["comments"] else 0
    dataclasses.replace(reviewer, warn=warned.append).post(Report((at(3),)))
    assert lines(page) == []
    assert "m.py:3" in page.reviews[0]["body"]
    assert len(warned) == 1
    assert warned[0].startswith("the findings go into the summary instead: ")


def test_a_refusal_that_nothing_helps_against_is_an_error(service: tuple[Service, Reviewer]) -> None:
    page, reviewer = service
    page.refuses = lambda sent: 403
    with pytest.raises(ReviewError, match="does not let us post a review: 403 no"):
        reviewer.post(Report((at(3),)))


def test_the_file_that_was_checked_has_to_be_the_one_that_is_shown(
    service: tuple[Service, Reviewer], tmp_path: Path
) -> None:
    page, reviewer = service
    (tmp_path / "m.py").write_text("\n".join(["x1 = 1", "y = 2", "z = 3"]))
    warned: list[str] = []
    dataclasses.replace(reviewer, warn=warned.append).post(Report((at(2), at(3))))
    assert lines(page) == []
    assert [message.partition(":")[0] for message in warned] == ["m.py"]


def test_windows_line_ends_make_no_difference(service: tuple[Service, Reviewer], tmp_path: Path) -> None:
    page, reviewer = service
    (tmp_path / "m.py").write_bytes("\r\n".join([*LINES, ""]).encode())
    reviewer.post(Report((at(3),)))
    assert lines(page) == [3]
