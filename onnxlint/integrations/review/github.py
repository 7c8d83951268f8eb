"""A pull request on GitHub, through its REST interface."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from githubkit import GitHub
from githubkit.exception import GitHubException, RequestError, RequestFailed, RequestTimeout

from onnxlint.integrations.review import ReviewError

_ACCEPT = {"Accept": "application/vnd.github+json, application/json;q=0.9"}
_PAGE = 100  # items, the most that GitHub gives at a time
_PAGES = 40  # it ends a list of files after 3,000
_SECONDS = 30.0

logging.getLogger("githubkit").addHandler(logging.NullHandler())  # it logs what it tries again, with a traceback


class Pull:
    """One pull request. Every method raises ReviewError."""

    def __init__(self, repository: str, number: int, token: str, api: str) -> None:
        self.repository = repository
        self.number = number
        self._owner, _, self._name = repository.partition("/")
        self._github = GitHub(token, base_url=api, timeout=_SECONDS, http_cache=False, user_agent="onnxlint")

    def head(self) -> str:
        """The commit that its branch stands at."""
        return str(self._ask("read the pull request", "GET", "")["head"]["sha"])

    def files(self) -> list[dict[str, Any]]:
        """The files that it changes, with what GitHub shows of each change."""
        return list(self._pages("list its files", "/files"))

    def comments(self) -> list[str]:
        """The text of every comment on a line, whoever wrote it and whether or not it was resolved."""
        return [str(item.get("body") or "") for item in self._pages("list its comments", "/comments")]

    def reviews(self) -> list[tuple[int, str]]:
        """Number and text of every review."""
        return [(int(item["id"]), str(item.get("body") or "")) for item in self._pages("list its reviews", "/reviews")]

    def create_review(self, payload: Mapping[str, Any]) -> str:
        """Post a review with all its comments, and return its address."""
        return str(self._ask("post a review", "POST", "/reviews", json=dict(payload)).get("html_url", ""))

    def update_review(self, review: int, body: str) -> None:
        """Put another text in the place of a review's."""
        self._ask("change a review", "PUT", f"/reviews/{review}", json={"body": body})

    def _pages(self, what: str, path: str) -> Iterator[dict[str, Any]]:
        for page in range(1, _PAGES + 1):
            items = self._ask(what, "GET", path, params={"per_page": _PAGE, "page": page})
            yield from items
            if len(items) < _PAGE:
                return

    def _ask(self, what: str, method: str, path: str, **sent: Any) -> Any:
        url = f"/repos/{self._owner}/{self._name}/pulls/{self.number}{path}"
        return _answer(what, lambda: self._github.request(method, url, headers=_ACCEPT, **sent).json())


def _answer(what: str, ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except RequestFailed as error:
        status = error.response.status_code
        raise ReviewError(f"GitHub does not let us {what}: {status} {_reason(error)}", status=status) from None
    except RequestTimeout:
        raise ReviewError(f"GitHub did not answer in {_SECONDS:.0f} s when asked to {what}") from None
    except (RequestError, GitHubException) as error:
        raise ReviewError(f"GitHub cannot be asked to {what}: {type(error).__name__}: {error}") from None
    except ValueError as error:
        raise ReviewError(f"GitHub's answer cannot be read when asked to {what}: {error}") from None


def _reason(error: RequestFailed) -> str:
    """The message in the answer, and what it says of each field."""
    try:
        answer = error.response.json()
    except ValueError:
        return ""
    if not isinstance(answer, dict):
        return ""
    details = answer.get("errors")
    told = [str(detail) for detail in details] if isinstance(details, list) else []
    return "; ".join([str(answer.get("message", "")), *told])[:500]
