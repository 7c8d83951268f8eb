"""A pull request on GitHub, through its REST interface."""

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from githubkit import GitHub
from githubkit.exception import GitHubException, RateLimitExceeded, RequestError, RequestFailed, RequestTimeout
from githubkit.retry import RetryOption

from onnxlint.integrations.review import ReviewError

_ACCEPT = {"Accept": "application/vnd.github+json, application/json;q=0.9"}
_PAGE = 100  # items, the most that GitHub gives at a time
_PAGES = 40  # it ends a list of files after 3,000
_SECONDS = 30.0
_PATIENCE = timedelta(minutes=2)  # the longest that is waited for a limit to pass; GitHub may ask for an hour
_TRIES = 3
_ODD = "GitHub's answer cannot be read when asked to"
_INSIDERS = frozenset({"OWNER", "MEMBER", "COLLABORATOR"})

logging.getLogger("githubkit").addHandler(logging.NullHandler())  # it logs what it tries again, with a traceback


@dataclass(frozen=True, slots=True)
class Said:
    """A comment or a review: `lines` are those that it stands at now, empty where they are not shown any more."""

    number: int
    body: str
    path: str = ""
    lines: range = range(0)
    address: str = ""


class Pull:
    """One pull request. Every method raises ReviewError."""

    def __init__(self, repository: str, number: int, token: str, api: str) -> None:
        self.repository = repository
        self.number = number
        self._owner, _, self._name = repository.partition("/")
        self._github = GitHub(
            token, base_url=api, timeout=_SECONDS, http_cache=False, user_agent="onnxlint", auto_retry=_again
        )
        self._own: str | None = None

    def head(self) -> str:
        """The commit that its branch stands at."""
        what = "read the pull request"
        head = self._ask(what, "GET", "").get("head")
        if not isinstance(head, dict) or not isinstance(head.get("sha"), str):
            raise ReviewError(f"{_ODD} {what}: it names no commit")
        return str(head["sha"])

    def files(self) -> list[dict[str, Any]]:
        """The files that it changes, with what GitHub shows of each change."""
        return list(self._pages("list its files", "/files"))

    def comments(self, ours: Callable[[str], object]) -> list[Said]:
        """The comments on lines whose text is ours, resolved or not, as far as somebody wrote them whom we believe."""
        return self._said("list its comments", "/comments", ours)

    def reviews(self, ours: Callable[[str], object]) -> list[Said]:
        """The reviews whose text is ours, likewise."""
        return self._said("list its reviews", "/reviews", ours)

    def create_review(self, payload: Mapping[str, Any]) -> str:
        """Post a review with all its comments, and return its address."""
        return str(self._ask("post a review", "POST", "/reviews", json=dict(payload)).get("html_url", ""))

    def update_review(self, review: int, body: str) -> None:
        """Put another text in the place of a review's."""
        self._ask("change a review", "PUT", f"/reviews/{review}", json={"body": body})

    def _said(self, what: str, path: str, ours: Callable[[str], object]) -> list[Said]:
        items = (item for item in self._pages(what, path) if ours(str(item.get("body") or "")))
        return [_read(item) for item in items if self._believed(item)]

    def _believed(self, item: Mapping[str, Any]) -> bool:
        """Whether it is a program's, an insider's or ours: an outsider who writes as we do may want us to be silent."""
        user = item.get("user") or {}
        if user.get("type") == "Bot" or item.get("author_association") in _INSIDERS:
            return True
        if self._own is None:
            try:
                self._own = str(_answer("say whose the token is", lambda: self._send("GET", "/user")).get("login", ""))
            except ReviewError as error:
                if not error.forbidden:
                    raise
                self._own = ""  # the token of a workflow is no user's
        return bool(self._own) and user.get("login") == self._own

    def _pages(self, what: str, path: str) -> Iterator[dict[str, Any]]:
        for page in range(1, _PAGES + 1):
            items = self._ask(what, "GET", path, list, params={"per_page": _PAGE, "page": page})
            yield from items
            if len(items) < _PAGE:
                return

    def _ask(self, what: str, method: str, path: str, kind: type = dict, **sent: Any) -> Any:
        url = f"/repos/{self._owner}/{self._name}/pulls/{self.number}{path}"
        answer = _answer(what, lambda: self._send(method, url, **sent))
        if not isinstance(answer, kind):
            raise ReviewError(f"{_ODD} {what}: it is no {kind.__name__}")
        return answer

    def _send(self, method: str, url: str, **sent: Any) -> Any:
        return self._github.request(method, url, headers=_ACCEPT, **sent).json()


def _read(item: Mapping[str, Any]) -> Said:
    last = item.get("line") or 0
    first = item.get("start_line") or last
    body, path, address = (str(item.get(key) or "") for key in ("body", "path", "html_url"))
    return Said(int(item["id"]), body, path, range(first, last + 1) if last else range(0), address)


def _again(error: GitHubException, tried: int) -> RetryOption:
    """Try again what GitHub was too busy for. A review is not sent again blindly: it may be there all the same."""
    if tried >= _TRIES or not isinstance(error, RequestFailed):
        return RetryOption(False)
    if isinstance(error, RateLimitExceeded):
        return RetryOption(error.retry_after <= _PATIENCE, error.retry_after)
    failed = error.response.status_code >= 500 and error.request.method != "POST"
    return RetryOption(failed, timedelta(seconds=(tried + 1) ** 2))


def _answer(what: str, ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except RateLimitExceeded as error:
        wait = f"its limit of requests is reached; it opens in {error.retry_after.total_seconds() / 60:.0f} min"
        raise ReviewError(f"GitHub cannot be asked to {what}: {wait}", status=429) from None
    except RequestFailed as error:
        status = error.response.status_code
        raise ReviewError(f"GitHub does not let us {what}: {status} {_reason(error)}", status=status) from None
    except RequestTimeout:
        raise ReviewError(f"GitHub did not answer in {_SECONDS:.0f} s when asked to {what}") from None
    except (RequestError, GitHubException) as error:
        raise ReviewError(f"GitHub cannot be asked to {what}: {type(error).__name__}: {error}") from None
    except ValueError as error:
        raise ReviewError(f"{_ODD} {what}: {error}") from None


def _reason(error: RequestFailed) -> str:
    """The message in the answer, and what it says of each field."""
    try:
        answer = error.response.json()
    except ValueError:
        return ""
    if not isinstance(answer, dict):
        return ""
    details = answer.get("errors")
    fields = map(str, details) if isinstance(details, list) else ()
    return "; ".join([str(answer.get("message", "")), *fields])[:500]
