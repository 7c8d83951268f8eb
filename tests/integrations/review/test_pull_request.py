"""A pull request, asked through HTTP: what GitHub or a proxy in between may answer."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from github_double import Answer, serving

from onnxlint.integrations.review import ReviewError
from onnxlint.integrations.review.pull_request import Pull

TOKEN = "ghs_that_nobody_may_see"


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        ((200, {"head": None}), "head"),
        ((200, []), "head"),
        ((200, {}), "files"),
        ((401, []), "head"),
        ((500, 1), "files"),
    ],
)
def test_an_odd_answer_is_told_in_one_line(answer: Answer, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as that of a proxy in between; Prism would not let it through."""
    monkeypatch.setattr(time, "sleep", lambda seconds: None)  # before it asks again
    with serving(lambda *_: answer) as address:
        ask = getattr(Pull("octo/models", 1, TOKEN, address), name)
        with pytest.raises(ReviewError, match=r"^GitHub[^\n]*$") as caught:
            ask()
    assert TOKEN not in str(caught.value)


def asked(answer: Callable[[str, str, str, dict[str, Any], str], Answer], ask: Callable[[Pull], Any]) -> Any:
    """What a pull request gives where GitHub answers like that."""
    with serving(answer) as address:
        return ask(Pull("octo/models", 7, TOKEN, address))


def test_it_asks_for_its_own_pull_request_with_its_token() -> None:
    requests = []

    def answer(method: str, path: str, query: str, sent: dict[str, Any], token: str) -> Answer:
        requests.append((method, path, token))
        return 200, {"head": {"sha": "abc"}}

    assert asked(answer, Pull.head) == "abc"
    assert requests == [("GET", "/repos/octo/models/pulls/7", f"token {TOKEN}")]


def test_a_list_is_read_to_its_last_page() -> None:
    def answer(method: str, path: str, query: str, sent: dict[str, Any], token: str) -> Answer:
        page = int(re.findall(r"\bpage=(\d+)", query)[0])
        return 200, [{"filename": f"{page}-{n}.py"} for n in range(100 if page < 3 else 1)]

    names = [file["filename"] for file in asked(answer, Pull.files)]
    assert len(names) == 201
    assert (names[0], names[-1]) == ("1-0.py", "3-0.py")


def test_comments_of_outsiders_are_not_believed_and_lines_that_are_gone_are_empty() -> None:
    ours = {"path": "a b/größe.py", "html_url": "https://github.test/c"}
    comments = [
        {"id": 1, "body": "ours", "line": 9, "start_line": 7, "author_association": "MEMBER", **ours},
        {"id": 2, "body": "ours", "line": None, "user": {"type": "Bot"}, **ours},
        {"id": 3, "body": "ours", "line": 3, "user": {"login": "outsider"}, "author_association": "NONE", **ours},
        {"id": 4, "body": "ours", "line": 4, "user": {"login": "me"}, "author_association": "NONE", **ours},
        {"id": 5, "body": None, "line": 5, "author_association": "OWNER", **ours},
        {"id": 6, "body": "theirs", "line": 6, "author_association": "OWNER", **ours},
    ]

    def answer(method: str, path: str, query: str, sent: dict[str, Any], token: str) -> Answer:
        return 200, ({"login": "me"} if path == "/user" else comments)

    said = asked(answer, lambda pull: pull.comments(lambda body: body == "ours"))
    assert [(one.number, one.lines) for one in said] == [(1, range(7, 10)), (2, range(0)), (4, range(4, 5))]
    assert {(one.path, one.address) for one in said} == {("a b/größe.py", "https://github.test/c")}


def test_a_token_that_is_no_user_s_believes_no_outsider() -> None:
    def answer(method: str, path: str, query: str, sent: dict[str, Any], token: str) -> Answer:
        if path == "/user":
            return 403, {"message": "Resource not accessible by integration"}
        return 200, [{"id": 1, "body": "ours", "user": {"login": ""}, "author_association": "NONE"}]

    assert asked(answer, lambda pull: pull.reviews(lambda body: True)) == []


def test_a_refusal_says_what_was_refused_and_why() -> None:
    def answer(method: str, path: str, query: str, sent: dict[str, Any], token: str) -> Answer:
        return 422, {"message": "Unprocessable", "errors": ["line must be part of the diff"]}

    with pytest.raises(ReviewError) as caught:
        asked(answer, lambda pull: pull.create_review({"body": "größe"}))
    assert str(caught.value) == (
        "GitHub does not let us post a review: 422 Unprocessable; line must be part of the diff"
    )
    assert caught.value.rejected
    assert not caught.value.unsure


def test_a_limit_that_opens_in_an_hour_is_not_waited_for() -> None:
    limit = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(time.time()) + 3600)}

    def answer(method: str, path: str, query: str, sent: dict[str, Any], token: str) -> Answer:
        return 403, {"message": "API rate limit exceeded"}, limit

    before = time.monotonic()
    with pytest.raises(ReviewError, match="its limit of requests is reached; it opens in 60 min"):
        asked(answer, Pull.head)
    assert time.monotonic() - before < 30
