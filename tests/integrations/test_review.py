"""`onnxlint review` against GitHub's published description of its interface, on the diffs of a real repository."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from github_double import PACKAGES, Answer, Double, PullRequest, github
from node_packages import node_modules

from onnxlint.integrations.review.comments import fingerprint_of, is_summary

pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")]
TOKEN = "ghs_that_nobody_may_see"

HEAD = "import torch\nfrom torch import nn\n\n\n"
GATE = HEAD + "class Gate(nn.Module):\n    def forward(self, x):\n        return x * 2\n"
BRANCH = GATE.replace("        return x * 2\n", "        if x.sum() > 0:\n            return x * 2\n        return x\n")
OLD = HEAD + "class Old(nn.Module):\n    def forward(self, x):\n        return x + float(x.sum())\n"
FAR = "".join(f"X{i} = {i}\n" for i in range(9))
SQUEEZE = (
    HEAD + "class Cut(nn.Module):\n    def forward(self, x):\n        y = x + 1\n        return y.squeeze().flip(0)\n"
)


@pytest.fixture(scope="module")
def double(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Double]:
    with github(node_modules(tmp_path_factory, *PACKAGES), tmp_path_factory.mktemp("github")) as running:
        yield running


@pytest.fixture
def service(double: Double) -> Double:
    """The same, as new."""
    double.pull.__init__(double.pull.examples)  # type: ignore[misc]
    return double


def git(folder: Path, *args: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "core.autocrlf=false"]
    done = subprocess.run(["git", *identity, *args], cwd=folder, check=True, capture_output=True)
    return done.stdout.decode("utf-8", "replace")


def commit(folder: Path, files: dict[str, str | bytes | None]) -> str:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            path.unlink()
        else:
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "x", "--allow-empty")
    return git(folder, "rev-parse", "HEAD").strip()


def show(folder: Path, base: str, pull: PullRequest) -> None:
    """Let the pull request show what git says of the change since `base`, as GitHub does."""
    pull.files.clear()
    pull.head = git(folder, "rev-parse", "HEAD").strip()
    told = git(folder, "diff", "-M", "--numstat", "-z", base).split("\0")
    while told[0]:
        added, removed, before = told.pop(0).split("\t")
        names = [before] if before else [told.pop(0), told.pop(0)]
        text = git(folder, "diff", "-M", base, "--", *names)
        at = text.find("@@ ")
        gone = "\ndeleted file mode " in text
        status = (
            "renamed"
            if len(names) > 1
            else "removed"
            if gone
            else "added"
            if "\nnew file mode " in text
            else "modified"
        )
        changes = 0 if added == "-" else int(added) + int(removed)
        pull.file(names[-1], text[at:].removesuffix("\n") if at >= 0 else None, status=status, changes=changes)


def repository(folder: Path, before: dict[str, str | bytes | None]) -> str:
    git(folder, "init", "-q")
    return commit(folder, before)


def review(
    folder: Path,
    service: Double,
    *flags: str,
    token: str | None = TOKEN,
    event: dict[str, Any] | None = None,
    static: bool = True,
) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("GITHUB_", "GH_"))}
    environment |= {"GITHUB_API_URL": service.api, "GITHUB_REPOSITORY": "octo/models"}
    environment |= {} if token is None else {"GITHUB_TOKEN": token}
    place = ["--pull", "1"]
    if event is not None:
        (folder.parent / "event.json").write_text(json.dumps(event))
        environment["GITHUB_EVENT_PATH"] = str(folder.parent / "event.json")
        place = []
    flags = ("--no-cache", *["--static-only"] * static, *place, *flags)
    command = [sys.executable, "-m", "onnxlint", "review", *flags, "."]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert TOKEN not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


def outdate(comment: dict[str, Any]) -> None:
    """Let a push change the lines that it stands at."""
    comment.pop("line", None)
    comment["start_line"] = None


def suggestion(body: str) -> list[str] | None:
    found = re.search(r"^```suggestion\n(.*?)\n?^```$", body, re.S | re.M)
    return found[1].split("\n") if found else None


def test_the_service_refuses_what_github_would(service: Double) -> None:
    wrong = {"event": "PRAISE", "body": "x", "comments": [{"path": "a.py"}]}
    status, answer = service.ask("POST", "/repos/octo/models/pulls/1/reviews", wrong)
    assert status == 422
    assert {fault["location"][-1] for fault in answer["validation"]} == {"event", "0"}
    assert service.pull.reviews == []


def test_a_comment_stands_at_its_line_with_what_to_write_instead(tmp_path: Path, service: Double) -> None:
    base = repository(tmp_path, {"src/gate.py": GATE})
    commit(tmp_path, {"src/gate.py": BRANCH})
    show(tmp_path, base, service.pull)
    done = review(tmp_path, service)
    assert done.returncode == 1, done.stderr
    (posted,) = service.pull.comments
    assert (posted["path"], posted["start_line"], posted["line"]) == ("src/gate.py", 7, 9)
    assert (posted["side"], posted["start_side"]) == ("RIGHT", "RIGHT")
    assert suggestion(posted["body"]) == ["        return torch.where(x.sum() > 0, x * 2, x)"]
    assert "ONNX" not in posted["body"].partition("\n")[0].replace("ONX101", "")
    (made,) = service.pull.reviews
    assert is_summary(made["body"])
    assert service.pull.tokens == {f"token {TOKEN}"} or service.pull.tokens == {f"Bearer {TOKEN}"}


def test_a_suggestion_does_what_the_fix_does(tmp_path: Path, service: Double) -> None:
    base = repository(tmp_path, {"cut.py": GATE})
    commit(tmp_path, {"cut.py": SQUEEZE + BRANCH.removeprefix(HEAD)})
    show(tmp_path, base, service.pull)
    review(tmp_path, service)
    lines = (tmp_path / "cut.py").read_text().split("\n")
    for posted in sorted(service.pull.comments, key=lambda c: -c["line"]):
        replaced = suggestion(posted["body"])
        if replaced is not None:
            first = posted.get("start_line") or posted["line"]
            lines[first - 1 : posted["line"]] = replaced
    fix = [sys.executable, "-m", "onnxlint", "check", "--static-only", "--fix", "--unsafe-fixes", "cut.py"]
    subprocess.run(fix, cwd=tmp_path, capture_output=True, check=False)
    assert "\n".join(lines) == (tmp_path / "cut.py").read_text() != SQUEEZE + BRANCH.removeprefix(HEAD)


def test_nothing_is_said_twice(tmp_path: Path, service: Double) -> None:
    base = repository(tmp_path, {"gate.py": GATE})
    commit(tmp_path, {"gate.py": BRANCH})
    show(tmp_path, base, service.pull)
    review(tmp_path, service)
    service.pull.asked.clear()
    again = review(tmp_path, service)
    assert "nothing new to say" in again.stderr
    assert {method for method, _ in service.pull.asked} == {"GET"}
    commit(tmp_path, {"gate.py": "# Lines that move the others.\n" * 9 + BRANCH, "cut.py": SQUEEZE})
    show(tmp_path, base, service.pull)
    review(tmp_path, service)
    assert [c["path"] for c in service.pull.comments] == ["gate.py", "cut.py"]
    first, second = service.pull.reviews
    assert is_summary(first["body"])
    assert not is_summary(second["body"])
    assert "2 are commented on" in first["body"]
    commit(tmp_path, {"gate.py": GATE, "cut.py": None})
    show(tmp_path, base, service.pull)
    done = review(tmp_path, service)
    assert done.returncode == 0
    assert len(service.pull.reviews) == 2
    assert "othing found" in service.pull.reviews[0]["body"]


def test_only_lines_that_the_diff_shows_are_commented_on(tmp_path: Path, service: Double) -> None:
    far = "".join(f"X{i} = {i}\n" for i in range(40))
    base = repository(tmp_path, {"a.py": OLD + far, "other.py": OLD})
    commit(tmp_path, {"a.py": OLD + far + BRANCH.removeprefix(HEAD)})
    show(tmp_path, base, service.pull)
    review(tmp_path, service)
    (posted,) = service.pull.comments
    assert posted["line"] > 40
    (made,) = service.pull.reviews
    assert "2 not on lines that this pull request shows" in made["body"]
    assert f"/octo/models/blob/{service.pull.head}/a.py#L7" in made["body"]


def test_a_pull_request_that_has_nothing_to_do_with_it_hears_nothing(tmp_path: Path, service: Double) -> None:
    base = repository(tmp_path, {"a.py": OLD, "notes.txt": "x\n"})
    commit(tmp_path, {"notes.txt": "y\n"})
    show(tmp_path, base, service.pull)
    done = review(tmp_path, service)
    assert done.returncode == 1
    assert (service.pull.reviews, service.pull.comments) == ([], [])


def test_renames_deletions_binary_files_and_carriage_returns(tmp_path: Path, service: Double) -> None:
    crlf = GATE.replace("\n", "\r\n").encode()
    before: dict[str, str | bytes | None] = {"old name.py": GATE, "gone.py": OLD, "win.py": crlf, "blob.bin": b"\0\1"}
    base = repository(tmp_path, before | {"moved.py": OLD})
    after: dict[str, str | bytes | None] = {"old name.py": None, "ñew/name.py": BRANCH, "gone.py": None}
    after |= {"blob.bin": b"\0\2", "win.py": BRANCH.replace("\n", "\r\n"), "moved.py": None, "there.py": OLD}
    commit(tmp_path, after)
    show(tmp_path, base, service.pull)
    done = review(tmp_path, service)
    assert {(c["path"], c.get("start_line"), c["line"]) for c in service.pull.comments} == {
        ("win.py", 7, 9),
        ("ñew/name.py", 7, 9),
    }, done.stderr
    assert "GitHub shows no lines" not in service.pull.reviews[0]["body"]


def test_names_modes_ends_of_files_and_odd_characters(tmp_path: Path, service: Double) -> None:
    """In the shallow clone, detached, that actions/checkout makes."""
    there, here = tmp_path / "there", tmp_path / "here"
    there.mkdir()
    quoted = "sp ace/q\"u'ö`[x](y).py"
    before: dict[str, str | bytes | None] = {
        quoted: GATE,
        "end.py": GATE.rstrip("\n"),
        "mode.py": GATE,
        "link.py": GATE,
    }
    base = repository(there, before)
    odd = BRANCH.replace("        if", "        # \x0c \u2028 \x85 \x1c x\n        if", 1)
    (there / "mode.py").chmod(0o755)
    (there / "link.py").unlink()
    (there / "link.py").symlink_to("end.py")
    git(there, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(there), "module")
    commit(there, {quoted: BRANCH, "end.py": BRANCH.rstrip("\n"), "odd.py": odd})
    show(there, base, service.pull)
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{there}", str(here))
    git(here, "checkout", "-q", "--detach")
    done = review(here, service)
    places = {(c["path"], c.get("start_line"), c["line"]) for c in service.pull.comments}
    assert places == {(quoted, 7, 9), ("end.py", 7, 9), ("odd.py", 8, 10)}, done.stderr
    assert "new comment" not in review(here / "sp ace", service).stderr  # though its name for the file is another


def test_a_change_that_is_too_large_for_github_to_show(tmp_path: Path, service: Double) -> None:
    repository(tmp_path, {"big.py": BRANCH, "lock.json": "{}"})
    for name in ("big.py", "lock.json"):
        service.pull.file(name, None, status="added", changes=9)
    service.pull.file("small.py", "@@ -0,0 +1 @@\n+x", status="added", changes=1)
    commit(tmp_path, {"small.py": "x", "cut.py": SQUEEZE})
    service.pull.file("cut.py", "@@ -7,0 +8 @@\n+        return y.squeeze().flip(0)", changes=1)
    review(tmp_path, service)
    assert "GitHub shows no lines of `big.py`: nothing" in service.pull.reviews[0]["body"]


@pytest.mark.parametrize("api", ["x", "https://[::1", "https://user@host/", "file:///etc"])
def test_an_address_that_is_none_is_told_before_any_check(tmp_path: Path, service: Double, api: str) -> None:
    repository(tmp_path, {"gate.py": BRANCH})
    done = review(tmp_path, Double(service.pull, api))
    assert (done.returncode, done.stdout) == (2, "")
    assert "GITHUB_API_URL" in done.stderr


def test_the_worst_come_first_and_the_others_stand_in_the_summary(tmp_path: Path, service: Double) -> None:
    base = repository(tmp_path, {"notes.txt": "x\n"})
    names = [f"m{i}.py" for i in range(6)]
    commit(tmp_path, dict.fromkeys(names, SQUEEZE) | {"z.py": BRANCH})
    show(tmp_path, base, service.pull)
    review(tmp_path, service, "--max-comments", "3")
    assert [c["path"] for c in service.pull.comments] == ["z.py", "m0.py", "m1.py"]
    assert "4 beyond the limit" in service.pull.reviews[0]["body"]
    assert "not on lines" not in service.pull.reviews[0]["body"]
    review(tmp_path, service, "--max-comments", "3")
    assert len(service.pull.comments) == 3
    commit(tmp_path, {"z.py": GATE, "m0.py": None})
    for gone in service.pull.comments[:2]:
        outdate(gone)
    show(tmp_path, base, service.pull)
    review(tmp_path, service, "--max-comments", "3")
    assert [c["path"] for c in service.pull.comments[3:]] == ["m2.py", "m3.py"]


@pytest.mark.parametrize("status", [403, 404])
def test_a_fork_gets_annotations(tmp_path: Path, service: Double, status: int) -> None:
    base = repository(tmp_path, {"gate.py": GATE})
    commit(tmp_path, {"gate.py": BRANCH})
    show(tmp_path, base, service.pull)
    service.pull.refuses = status
    done = review(tmp_path, service, "--output-format", "sarif", "--output-file", "o.sarif", "--debug")
    assert done.returncode == 1
    assert "::error file=gate.py,line=7" in done.stdout
    assert "no review is posted" in done.stderr
    assert json.loads((tmp_path / "o.sarif").read_text())["runs"][0]["results"]


def test_without_a_token_or_a_pull_request_there_are_annotations(tmp_path: Path, service: Double) -> None:
    repository(tmp_path, {"gate.py": BRANCH})
    for done in (review(tmp_path, service, token=None), review(tmp_path, service, event={"ref": "refs/heads/main"})):
        assert done.returncode == 1
        assert "::error file=gate.py,line=7" in done.stdout
    assert service.pull.asked == []


def test_a_wrong_token_is_told(tmp_path: Path, service: Double) -> None:
    base = repository(tmp_path, {"gate.py": GATE})
    commit(tmp_path, {"gate.py": BRANCH})
    show(tmp_path, base, service.pull)
    service.pull.refuses = 401
    done = review(tmp_path, service, "--debug")
    assert done.returncode == 2
    assert "401" in done.stderr


def test_the_event_of_the_workflow_says_which_pull_request(tmp_path: Path, service: Double) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    base = repository(folder, {"gate.py": GATE})
    head = commit(folder, {"gate.py": BRANCH})
    show(folder, base, service.pull)
    review(folder, service, event={"pull_request": {"number": 1, "head": {"sha": head}}})
    assert len(service.pull.comments) == 1
    (folder / "gate.py").write_text("# pushed meanwhile\n" + BRANCH)
    commit(folder, {"cut.py": SQUEEZE})
    show(folder, base, service.pull)
    done = review(folder, service, event={"pull_request": {"number": 1, "head": {"sha": head}}})
    assert f"has moved on to {service.pull.head[:12]}" in done.stderr
    assert len(service.pull.comments) == 1
    review(folder, service, event={"issue": {"number": 1, "pull_request": {}}, "comment": {"body": "/onnxlint"}})
    assert len(service.pull.comments) == 2


def test_lines_that_the_merge_with_the_base_moved_are_found(tmp_path: Path, service: Double) -> None:
    """As actions/checkout does it: the merge of both branches, detached."""
    base = repository(tmp_path, {"gate.py": FAR + GATE})
    commit(tmp_path, {"gate.py": FAR + BRANCH})
    show(tmp_path, base, service.pull)
    commit(tmp_path, {"gate.py": f"# what the base brought\n{FAR}{BRANCH}"})
    git(tmp_path, "checkout", "-q", "--detach")
    review(tmp_path, service)
    (posted,) = service.pull.comments
    assert (posted["start_line"], posted["line"]) == (FAR.count("\n") + 7, FAR.count("\n") + 9)
    assert suggestion(posted["body"]) == ["        return torch.where(x.sum() > 0, x * 2, x)"]
    assert "nothing new" in review(tmp_path, service).stderr


def test_another_text_on_the_disk_is_not_commented_on(tmp_path: Path, service: Double) -> None:
    base = repository(tmp_path, {"gate.py": GATE})
    commit(tmp_path, {"gate.py": BRANCH})
    show(tmp_path, base, service.pull)
    (tmp_path / "gate.py").write_text(BRANCH.replace("x.sum()", "x.mean()"))
    done = review(tmp_path, service)
    assert service.pull.comments == []
    assert "gate.py: what was checked is not what the pull request shows" in done.stderr
    assert "1 not on lines" in service.pull.reviews[0]["body"]


def test_comments_that_github_does_not_take_go_into_the_summary(tmp_path: Path, service: Double) -> None:
    base = repository(tmp_path, {"gate.py": GATE})
    commit(tmp_path, {"gate.py": BRANCH})
    show(tmp_path, base, service.pull)
    service.pull.rejects = {("gate.py", 9)}
    done = review(tmp_path, service)
    assert done.returncode == 1, done.stderr
    assert "must be part of the diff" in done.stderr
    assert service.pull.comments == []
    assert "1 not on lines" in service.pull.reviews[0]["body"]


def test_a_dry_run_posts_nothing(tmp_path: Path, service: Double) -> None:
    base = repository(tmp_path, {"gate.py": GATE})
    commit(tmp_path, {"gate.py": BRANCH})
    show(tmp_path, base, service.pull)
    done = review(tmp_path, service, "--dry-run")
    (comment,) = json.loads(done.stdout)["review"]["comments"]
    assert fingerprint_of(comment["body"]) is not None
    assert {method for method, _ in service.pull.asked} == {"GET"}


@pytest.mark.parametrize("flags", [("--repo", "x"), ("--repo", "a/b/c"), ("--pull", "0")])
def test_wrong_flags_are_told_before_any_check(tmp_path: Path, service: Double, flags: tuple[str, ...]) -> None:
    repository(tmp_path, {"gate.py": BRANCH})
    done = review(tmp_path, service, *flags)
    assert (done.returncode, done.stdout) == (2, "")
    assert flags[0] in done.stderr


@pytest.mark.parametrize("text", [b"{", b"\xff\xfe", b"[" * 100_000])
def test_an_event_that_cannot_be_read_is_told(tmp_path: Path, text: bytes) -> None:
    event = tmp_path / "event.json"
    event.write_bytes(text)
    environment = {**os.environ, "GITHUB_REPOSITORY": "octo/models", "GITHUB_EVENT_PATH": str(event)}
    command = [sys.executable, "-m", "onnxlint", "review", "--static-only", "."]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"GITHUB_EVENT_PATH: {event} cannot be read" in " ".join(done.stderr.split())


def test_a_comment_belongs_to_the_one_at_its_lines_among_alike(tmp_path: Path, service: Double) -> None:
    two = GATE.replace("x * 2\n", "x * 2 + float(x.sum())\n")
    base = repository(tmp_path, {"gate.py": GATE})
    commit(tmp_path, {"gate.py": two})
    show(tmp_path, base, service.pull)
    review(tmp_path, service)
    (posted,) = service.pull.comments
    commit(tmp_path, {"gate.py": two.replace("        return", "        x = x + float(x.sum())\n        return")})
    show(tmp_path, base, service.pull)
    posted["line"] = 8  # as GitHub says it after the push
    review(tmp_path, service)
    assert [c["line"] for c in service.pull.comments] == [8, 7]
    assert "nothing new" in review(tmp_path, service).stderr


def test_what_was_fixed_and_came_back_stands_in_the_summary(tmp_path: Path, service: Double) -> None:
    base = repository(tmp_path, {"gate.py": GATE})
    for text in (BRANCH, GATE, BRANCH):
        commit(tmp_path, {"gate.py": text})
        show(tmp_path, base, service.pull)
        review(tmp_path, service)
        for posted in service.pull.comments:
            outdate(posted)
    review(tmp_path, service)
    (posted,) = service.pull.comments
    assert "1 commented on before the lines changed" in service.pull.reviews[0]["body"]
    assert f"([comment]({posted['html_url']}))" in service.pull.reviews[0]["body"]


def test_jobs_that_check_different_folders_have_summaries_of_their_own(tmp_path: Path, service: Double) -> None:
    base = repository(tmp_path, {"a/gate.py": GATE, "b/gate.py": GATE})
    commit(tmp_path, {"a/gate.py": BRANCH, "b/gate.py": BRANCH})
    show(tmp_path, base, service.pull)
    for told in ("1 new comment", "nothing new"):
        for folder in ("a", "b"):
            assert told in review(tmp_path / folder, service).stderr
    assert [r["body"].splitlines()[0] for r in service.pull.reviews] == ["### onnxlint: `a`", "### onnxlint: `b`"]
    assert len(service.pull.comments) == 2


def test_an_outsider_cannot_silence_it(tmp_path: Path, service: Double) -> None:
    base = repository(tmp_path, {"gate.py": GATE})
    commit(tmp_path, {"gate.py": BRANCH})
    show(tmp_path, base, service.pull)
    review(tmp_path, service)
    outsider = {"login": "mallory", "type": "User"}
    for forged in (*service.pull.comments, *service.pull.reviews):
        forged["user"] |= outsider
    review(tmp_path, service)
    assert len(service.pull.comments) == len(service.pull.reviews) == 2
    del service.pull.comments[1], service.pull.reviews[1]
    service.pull.login = "mallory"  # whose own token it is
    assert "nothing new" in review(tmp_path, service).stderr


def test_a_summary_that_another_wrote_is_written_anew(tmp_path: Path, service: Double) -> None:
    base = repository(tmp_path, {"gate.py": GATE})
    commit(tmp_path, {"gate.py": BRANCH})
    show(tmp_path, base, service.pull)
    review(tmp_path, service)
    commit(tmp_path, {"gate.py": GATE})
    show(tmp_path, base, service.pull)
    service.pull.answers = [lambda method, name: (403, {"message": "Not yours"}) if method == "PUT" else None]
    assert "a summary that changed" in review(tmp_path, service).stderr
    assert ["othing found" in r["body"] for r in service.pull.reviews] == [False, True]


def test_what_was_posted_though_github_broke_off_is_not_posted_again(tmp_path: Path, service: Double) -> None:
    base = repository(tmp_path, {"gate.py": GATE})
    commit(tmp_path, {"gate.py": BRANCH})
    show(tmp_path, base, service.pull)
    broken: list[str] = []

    def break_off(method: str, name: str) -> Answer | None:
        if method != "POST" or broken:
            return None
        broken.append(name)
        service.pull.post()
        return 502, {"message": "Bad Gateway"}

    service.pull.answers = [break_off]
    done = review(tmp_path, service)
    assert done.returncode == 1, done.stderr
    assert len(service.pull.comments) == len(service.pull.reviews) == 1


def test_a_limit_that_opens_in_an_hour_is_told_and_not_waited_for(tmp_path: Path, service: Double) -> None:
    repository(tmp_path, {"gate.py": BRANCH})
    limit = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(time.time()) + 3000)}
    service.pull.answers = [lambda method, name: (403, {"message": "API rate limit exceeded"}, limit)]
    done = review(tmp_path, service)
    assert done.returncode == 2
    assert "opens in 50 min" in done.stderr


def test_more_comments_of_others_than_a_page_holds_and_many_findings(tmp_path: Path, service: Double) -> None:
    base = repository(tmp_path, {"notes.txt": "x\n"})
    forward = "    def forward(self, x):\n" + "".join(f"        x = x + float((x * {i}).sum())\n" for i in range(60))
    commit(tmp_path, {"big.py": f"{HEAD}class Big(nn.Module):\n{forward}        return x\n"})
    show(tmp_path, base, service.pull)
    service.pull.comments += [service.pull.comment(f"human {i}") for i in range(150)]
    review(tmp_path, service)
    assert len(service.pull.comments) == 170
    assert "40 beyond the limit" in service.pull.reviews[0]["body"]
    service.pull.asked.clear()
    assert "nothing new" in review(tmp_path, service).stderr
    assert service.pull.asked.count(("GET", "/repos/octo/models/pulls/1/comments")) == 2


def test_models_do_not_see_the_token(tmp_path: Path, service: Double) -> None:
    """Neither by accident nor in an error that goes into the review."""
    told = "        raise ValueError([os.environ.get(n) for n in ('GITHUB_TOKEN', 'GH_TOKEN')])\n"
    text = f"import os\n{HEAD}class Leak(nn.Module):\n    def forward(self, x):\n{told}"
    base = repository(tmp_path, {"notes.txt": "x\n"})
    declared = '[[tool.onnxlint.models]]\nfactory = "leak:Leak"\ninputs = { x = "float32[batch, 2]" }\n'
    commit(tmp_path, {"leak.py": text, "pyproject.toml": declared})
    show(tmp_path, base, service.pull)
    done = review(tmp_path, service, "--exporter", "dynamo", static=False)
    assert "None, None" in done.stdout, done.stderr
    assert TOKEN not in json.dumps([service.pull.reviews, service.pull.comments])


@pytest.mark.parametrize("token", ["ghs_x\n", "  ghs_x", "ghs\x01x", "ghs_\u00e9"])
def test_an_odd_token_is_not_shown(tmp_path: Path, service: Double, token: str) -> None:
    base = repository(tmp_path, {"gate.py": GATE})
    commit(tmp_path, {"gate.py": BRANCH})
    show(tmp_path, base, service.pull)
    done = review(tmp_path, service, "--debug", token=token)
    assert token.strip() not in done.stdout + done.stderr
    assert done.returncode == (1 if token.strip() == "ghs_x" else 2)
    assert service.pull.tokens <= {"token ghs_x", "Bearer ghs_x"}


def test_a_dry_run_without_a_token_says_so(tmp_path: Path, service: Double) -> None:
    repository(tmp_path, {"gate.py": BRANCH})
    done = review(tmp_path, service, "--dry-run", token=None)
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no token" in done.stderr
