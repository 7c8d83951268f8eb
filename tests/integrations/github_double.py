"""GitHub as far as a review goes: a pull request with a memory, behind GitHub's published OpenAPI description.

Requests go through Stoplight's Prism, which holds them against the description and answers 422 to a wrong one; so do
our answers, which are made of the description's own examples.
"""

from __future__ import annotations

import copy
import json
import re
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

PACKAGES = ("@stoplight/prism-cli@5.14.2", "@octokit/openapi@23.0.2")
PULL = "/repos/{owner}/{repo}/pulls/{pull_number}"
USER = "private-user-response-with-public-profile-information"
BOT = {"login": "github-actions[bot]", "type": "Bot"}
Answer = tuple[int, Any] | tuple[int, Any, dict[str, str]]


class PullRequest:
    """What the pull request is, and what became of it. `refuses` and `rejects` are how GitHub declines a review."""

    def __init__(self, examples: dict[str, Any]) -> None:
        self.examples = examples
        self.files: list[dict[str, Any]] = []
        self.comments: list[dict[str, Any]] = []
        self.reviews: list[dict[str, Any]] = []
        self.head = "a" * 40
        self.refuses = 0  # the status that every attempt to write gets
        self.answers: list[Callable[[str, str], Answer | None]] = []  # what a request by method and name gets instead
        self.sent: dict[str, Any] = {}
        self.login: str | None = None  # whose the token is; that of a workflow is nobody's
        self.rejects: set[tuple[str, int]] = set()  # places that are not part of the diff any more
        self.asked: list[tuple[str, str]] = []
        self.tokens: set[str] = set()

    def answer(self, method: str, path: str, query: str, sent: dict[str, Any], token: str) -> Answer:
        self.tokens.add(token)
        self.asked.append((method, path))
        if method != "GET" and self.refuses:
            return self.refuses, {"message": "Resource not accessible by integration", "documentation_url": "x"}
        if path == "/user":
            known = self.login is not None
            return (200, self.example(USER, login=self.login)) if known else (403, {"message": "Not for you"})
        name = path.partition("/pulls/1")[2]
        self.sent = sent
        for other in self.answers:
            answer = other(method, name)
            if answer is not None:
                return answer
        if (method, name) == ("GET", ""):
            return 200, self.example("pull-request", head=self.head, requested_teams=[])  # that of the example is wrong
        if method == "GET":
            page = int(re.search(r"[?&]page=(\d+)", query)[1])  # type: ignore[index]
            items = {"/files": self.files, "/comments": self.comments, "/reviews": self.reviews}[name]
            return 200, items[100 * (page - 1) : 100 * page]
        if (method, name) == ("POST", "/reviews"):
            return self.post()
        (review,) = [r for r in self.reviews if name == f"/reviews/{r['id']}" and method == "PUT"]
        review["body"] = sent["body"]
        return 200, review

    def post(self) -> Answer:
        """Do what the request at hand asks for: post a review."""
        sent = self.sent
        if any((c["path"], c["line"]) in self.rejects for c in sent["comments"]):
            told = {
                "resource": "PullRequestReviewComment",
                "code": "custom",
                "message": "line must be part of the diff",
            }
            return 422, {"message": "Unprocessable Entity", "errors": [json.dumps(told)], "documentation_url": "x"}
        review = self.said("pull-request-review", body=sent["body"], id=len(self.reviews) + 1)
        self.reviews.append(review)
        for comment in sent["comments"]:
            unset = {"start_line": None, "start_side": None}
            self.comments.append(self.said("pull-request-review-comment-items", **(unset | comment)))
        return 200, review

    def comment(self, body: str, **changes: Any) -> dict[str, Any]:
        """A comment on a line that somebody wrote."""
        return self.example("pull-request-review-comment-items", body=body, **changes)

    def said(self, name: str, user: dict[str, str] = BOT, **changes: Any) -> dict[str, Any]:
        """A comment or a review, as a workflow makes it."""
        made = self.example(name, author_association="NONE", **changes)
        made["user"] |= user
        return made

    def example(self, name: str, **changes: Any) -> dict[str, Any]:
        """An example of the description, with other values in some fields."""
        value = copy.deepcopy(self.examples[name]["value"])
        made: dict[str, Any] = value[0] if isinstance(value, list) else value
        if "head" in changes:
            made["head"]["sha"] = changes.pop("head")
        return made | changes

    def file(self, name: str, patch: str | None, **changes: Any) -> None:
        """Add a file that it changes."""
        made = self.example("diff-entry-items", filename=name, **changes)
        del made["patch"]
        self.files.append(made | ({} if patch is None else {"patch": patch}))


class Double:
    """The pull request, and the address at which it is asked through Prism."""

    def __init__(self, pull: PullRequest, api: str) -> None:
        self.pull = pull
        self.api = api

    def ask(self, method: str, path: str, sent: dict[str, Any]) -> Answer:
        """What a request gets, as it is."""
        request = urllib.request.Request(
            self.api + path,
            json.dumps(sent).encode(),
            {"content-type": "application/json", "accept": "application/json"},
            method=method,
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)


@contextmanager
def serving(answer: Callable[[str, str, str, dict[str, Any], str], Answer]) -> Iterator[str]:
    """Serve what follows from method, path, query, body and token, and give the address."""

    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            sent = json.loads(self.rfile.read(length)) if length else {}
            path, mark, query = self.path.partition("?")
            status, told, *headers = answer(
                self.command, path, mark + query, sent, str(self.headers.get("authorization"))
            )
            data = json.dumps(told).encode()
            self.send_response(status)
            for name, value in headers[0].items() if headers else ():
                self.send_header(name, value)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PUT = _serve

        def log_message(self, format: str, *args: Any) -> None:
            """Keep the test's output clean."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()


@contextmanager
def github(modules: Path, folder: Path) -> Iterator[Double]:
    """Run both; the description is cut to what is below a pull request, since Prism takes long to read all of it."""
    description = json.loads((modules / "@octokit/openapi/generated/api.github.com.json").read_text(encoding="utf-8"))
    paths = {path: item for path, item in description["paths"].items() if path.startswith(PULL) or path == "/user"}
    description["paths"] = paths
    cut = folder / "description.json"
    cut.write_text(json.dumps(description), encoding="utf-8")
    pull = PullRequest(description["components"]["examples"])
    port = _free_port()
    log = folder / "prism.log"
    with serving(pull.answer) as upstream, log.open("w") as written:
        command = [str(modules / ".bin/prism"), "proxy", "--errors", "-p", str(port), str(cut), upstream]
        prism = subprocess.Popen(command, stdout=written, stderr=subprocess.STDOUT)
        try:
            _wait_for(port, prism, log)
            yield Double(pull, f"http://127.0.0.1:{port}")
        finally:
            prism.terminate()
            prism.wait(30)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(600):
        assert process.poll() is None, log.read_text()
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"Prism did not start: {log.read_text()}")
