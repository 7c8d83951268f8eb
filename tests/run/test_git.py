"""Nothing in a checked tree, and nothing in a repository, starts a process: every setting of git names a canary here.

What runs is seen three ways: an audit hook in our processes, git's own trace of the processes that it starts, and the
canary, which leaves a file.
"""

from __future__ import annotations

import ast
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from lsp_editor import Editor

ROOT = Path(__file__).resolve().parents[2]
GIT = shutil.which("git") or ""
pytestmark = pytest.mark.skipif(not GIT, reason="there is no git")

CLEAN = "import torch\n\n\nclass Gate(torch.nn.Module):\n    def forward(self, x):\n        return x * 2\n"
GATE = CLEAN.replace("        return x * 2\n", "        if x.sum() > 0:\n            return x * 2\n        return x\n")

AUDIT = """
import os, sys

def note(event, arguments):
    if event in ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "pty.spawn"):
        with open(os.environ["AUDIT_LOG"], "a") as log:
            print(event, *arguments[:2], file=log)

sys.addaudithook(note)
"""

# Settings whose value is a command, a script, or the place of one, in the words of `git help --config`.
COMMANDS = """
alias.rev-parse alias.diff core.alternateRefsCommand core.askPass core.editor core.fsmonitor core.gitProxy
core.hooksPath core.pager core.sshCommand credential.helper credential.https://x.helper diff.x.command diff.x.textconv
diff.external diff.default.command difftool.x.cmd difftool.x.path browser.x.cmd browser.x.path filter.x.clean
filter.x.smudge filter.x.process gpg.program gpg.openpgp.program gpg.ssh.program gpg.x509.program
gpg.ssh.defaultKeyCommand guitool.x.cmd help.browser init.templateDir
instaweb.browser interactive.diffFilter man.x.cmd man.x.path man.viewer merge.x.driver mergetool.x.cmd mergetool.x.path
pager.diff pager.rev-parse pager.cat-file remote.origin.receivepack remote.origin.uploadpack remote.origin.vcs
sendemail.ccCmd sendemail.headerCmd sendemail.sendmailCmd sendemail.smtpServer sendemail.tocmd sequence.editor
submodule.x.update tar.x.command trailer.x.cmd trailer.x.command uploadpack.packObjectsHook web.browser
"""
# Settings that switch such a command on, or make git look for what it has not got.
SWITCHES = {
    "core.commitGraph": "false",
    "core.worktree": ".",
    "diff.x.cachetextconv": "true",
    "diff.ignoreSubmodules": "none",
    "extensions.partialClone": "origin",
    "filter.x.required": "true",
    "log.showSignature": "true",
    "protocol.allow": "always",
    "protocol.ext.allow": "always",
    "protocol.file.allow": "always",
    "remote.origin.promisor": "true",
    "submodule.recurse": "true",
}
ATTRIBUTES = "* filter=x diff=x merge=x\n"
HOOKS = "fsmonitor-watchman post-index-change reference-transaction post-checkout pre-auto-gc pre-commit"
VARIABLES = """
GIT_ASKPASS GIT_EDITOR GIT_EXTERNAL_DIFF GIT_PAGER GIT_PROXY_COMMAND GIT_SEQUENCE_EDITOR GIT_SSH GIT_SSH_COMMAND
GIT_MAN_VIEWER GIT_TEMPLATE_DIR EDITOR PAGER SSH_ASKPASS VISUAL
"""


def git(folder: Path, *arguments: str) -> str:
    """The real git, without settings of the user."""
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "commit.gpgsign=false"]
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run([GIT, *identity, *arguments], cwd=folder, env=env, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(folder: Path, **files: str) -> str:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "All of it")
    return git(folder, "rev-parse", "HEAD")


@dataclass(frozen=True)
class Place:
    """A repository at `tree`, and beside it the canary, and the logs of what was started."""

    tree: Path
    side: Path

    @property
    def canary(self) -> Path:
        return self.side / "canary"

    @property
    def environment(self) -> dict[str, str]:
        path = f"{self.side / 'programs'}{os.pathsep}{os.environ['PATH']}"
        python = os.pathsep.join([str(self.side / "audit"), str(ROOT)])
        return {"PATH": path, "PYTHONPATH": python, "AUDIT_LOG": str(self.side / "started")}

    def started(self) -> list[str]:
        """The processes that onnxlint started."""
        log = self.side / "started"
        return log.read_text().splitlines() if log.exists() else []

    def unasked(self) -> list[str]:
        """What git started in its turn, and whatever ran the canary."""
        trace, ran = self.side / "trace", self.side / "ran"
        events = [json.loads(line) for line in trace.read_text().splitlines()] if trace.exists() else []
        told = [f"git: {e['argv']}" for e in events if e["event"] in ("child_start", "exec", "alias")]
        return told + (ran.read_text().splitlines() if ran.exists() else [])

    def configure(self, file: Path, settings: Mapping[str, str]) -> None:
        for key, value in settings.items():
            git(self.side, "config", "--file", str(file), key, value)

    def bait(self, folder: Path, keys: Mapping[str, str] | None = None) -> None:
        """Let every setting of a repository's folder name the canary."""
        included = dict.fromkeys(("include.path", "includeIf.gitdir:/**.path"), str(self.side / "included"))
        self.configure(self.side / "included", {"filter.x.clean": str(self.canary)})
        commands = dict.fromkeys(COMMANDS.split(), str(self.canary))
        self.configure(folder / "config", keys or {**commands, **included, **SWITCHES})
        for hook in HOOKS.split():
            (folder / "hooks").mkdir(exist_ok=True)
            shutil.copy(self.canary, folder / "hooks" / hook)
        (folder / "info").mkdir(exist_ok=True)
        (folder / "info" / "attributes").write_text(ATTRIBUTES)

    def run(self, *arguments: str, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "onnxlint", *arguments],
            cwd=cwd or self.tree,
            env={**os.environ, **self.environment, **environment},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def check(self, *arguments: str, cwd: Path | None = None, **environment: str) -> list[str]:
        """Check by the lines that changed since `main`: where something was found, in short."""
        flags = ("--static-only", "--isolated", "--no-cache", "--output-format", "json")
        done = self.run("check", *flags, "--changed-since", "main", *arguments, cwd=cwd, **environment)
        assert done.returncode in (0, 1), done.stderr + done.stdout
        return [f"{f['path']}:{f['line']}" for f in json.loads(done.stdout)["findings"]]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """`main` has a model without fault in src, the branch that is checked out gives it one."""
    made = Place(tmp_path / "tree", tmp_path / "side")
    for folder in (made.tree / "src", made.side / "audit", made.side / "programs"):
        folder.mkdir(parents=True)
    (made.side / "audit" / "sitecustomize.py").write_text(AUDIT)
    for program, script in {
        made.canary: f'echo "$0 $*" >> {made.side / "ran"}; cat; exit 1\n',
        made.side / "programs" / "git": f'export GIT_TRACE2_EVENT={made.side / "trace"}\nexec {GIT} "$@"\n',
    }.items():
        program.write_text(f"#!/bin/sh\n{script}")
        program.chmod(0o755)
    git(made.tree, "init", "-q", "-b", "main")
    commit(made.tree / "src", gate=CLEAN, old=GATE)
    git(made.tree, "checkout", "-q", "-b", "topic")
    commit(made.tree / "src", gate=GATE)
    return made


def embed(place: Place) -> None:
    """Commit a bare repository as plain files of src: git takes that for the repository, with src as its tree."""
    inner = place.tree / "src" / "inner"
    git(place.tree, "init", "-q", "-b", "main", str(inner))
    shutil.copy(place.tree / "src" / "gate.py", inner)
    commit(inner)
    shutil.rmtree(inner / ".git" / "hooks")
    for entry in (inner / ".git").iterdir():
        entry.rename(place.tree / "src" / entry.name)
    shutil.rmtree(inner)
    place.configure(place.tree / "src" / "config", {"core.bare": "false"})
    place.bait(place.tree / "src")
    (place.tree / "src" / ".gitattributes").write_text(ATTRIBUTES)
    commit(place.tree)
    git(place.tree, "clone", "-q", str(place.tree), str(place.side / "clone"))
    git(place.side / "clone", "branch", "-q", "main", "origin/main")


def test_a_bare_repository_among_the_files_runs_nothing_and_hides_nothing(place: Place) -> None:
    embed(place)
    clone = place.side / "clone"
    os.utime(clone / "src" / "gate.py")
    assert place.check("src", cwd=clone) == ["src/gate.py:6"]
    assert place.unasked() == []
    assert place.check(cwd=clone / "src") == ["gate.py:6"]
    assert place.unasked() == []


def test_the_baits_of_this_file_would_be_taken(place: Place) -> None:
    place.bait(place.tree / ".git", {"filter.x.clean": str(place.canary), **{"core.fsmonitor": str(place.canary)}})
    os.utime(place.tree / "src" / "gate.py", (1, 1))
    env = {**os.environ, **place.environment}
    subprocess.run(["git", "diff"], cwd=place.tree, env=env, capture_output=True, check=False)
    ran = place.unasked()
    assert any(line.startswith("git: ") for line in ran), "the trace"
    assert any(line.startswith(str(place.canary)) for line in ran), "the canary"


def _check(place: Place) -> None:
    assert place.check() == ["src/gate.py:6"]
    assert place.check("--fix", "--unsafe-fixes") == []


def _hook(place: Place) -> None:
    (entry,) = [
        h["entry"] for h in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text()) if h["id"] == "onnxlint"
    ]
    program, *arguments = shlex.split(entry)
    assert program == "onnxlint"
    for flags in ((), ("--changed-since", "main")):
        done = place.run(*arguments, *flags, "--output-format", "concise", "src/gate.py", "src/old.py")
        assert done.returncode == 1, done.stderr
        assert ("old.py" in done.stdout) is (not flags)


def _review(place: Place) -> None:
    """As far as GitHub, which is not there."""
    env = {"GITHUB_TOKEN": "x", "GITHUB_API_URL": "http://127.0.0.1:1"}
    done = place.run("review", "--static-only", "--repo", "a/b", "--pull", "1", "src", **env)
    assert done.returncode == 2
    assert "GitHub" in done.stderr


def _server(place: Place) -> None:
    editor = Editor(place.tree, **place.environment)
    file = place.tree / "src" / "gate.py"
    editor.open(file)
    assert editor.wait(file)
    assert editor.end() == 0


@pytest.mark.parametrize("use", [_check, _hook, _review, _server])
def test_no_setting_of_the_repository_starts_a_process(use: Callable[[Place], None], place: Place) -> None:
    (place.tree / ".gitattributes").write_text(ATTRIBUTES)
    commit(place.tree)
    place.bait(place.tree / ".git")
    os.utime(place.tree / "src" / "gate.py", (1, 1))
    use(place)
    assert place.unasked() == []
    git = str(place.side / "programs" / "git")
    started = [(line.split(" ")[1], line) for line in place.started()]
    remover = "'-I', '-S', '-c'"  # of the temporary folder
    assert all(program == git or (program == sys.executable and remover in line) for program, line in started)
    assert any(program == git for program, _ in started) is (use in (_check, _hook))


def test_no_setting_that_git_knows_of_starts_a_process(place: Place) -> None:
    """All of its documentation names, each with the canary as its value; it would fail at most of them."""
    listed = subprocess.run([GIT, "help", "--config"], capture_output=True, text=True, check=True).stdout.split()
    keys = {key.replace("*", "x").replace("<", "").replace(">", "") for key in listed if "." in key}
    assert len(keys) > 500
    config = place.tree / ".git" / "config"
    rows = []
    for key in sorted(keys - {"extensions.objectFormat", "extensions.refStorage"}):  # these say how to read objects
        section, *between, name = key.split(".", 1)[:1] + key.split(".", 1)[1].rsplit(".", 1)
        name = name.replace("_", "")  # one is documented so, and cannot be set
        rows.append(f"[{section}{''.join(f' {json.dumps(part)}' for part in between)}]\n{name} = {place.canary}\n")
    config.write_text("".join(rows))
    assert place.check() == ["src/gate.py:6"]
    assert place.unasked() == []


def test_no_variable_starts_a_process_or_turns_git_to_another_repository(place: Place) -> None:
    embed(place)
    bare = str(place.tree / "src")
    settings = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": str(place.canary)}
    places = {"GIT_DIR": bare, "GIT_WORK_TREE": bare, "GIT_INDEX_FILE": bare, "GIT_EXEC_PATH": str(place.side)}
    commands = dict.fromkeys(VARIABLES.split(), str(place.canary))
    assert place.check(**commands, **settings, **places) == ["src/gate.py:6"]
    assert place.unasked() == []


@pytest.mark.parametrize("path", [".", "", "{tree}", "src/..", "{side}/link"])
def test_a_git_of_the_tree_is_not_run(path: str, place: Place) -> None:
    shutil.copy(place.canary, place.tree / "git")
    (place.side / "link").mkdir()
    (place.side / "link" / "git").symlink_to(place.tree / "git")
    path = path.format(tree=place.tree, side=place.side)
    assert place.check(PATH=f"{path}{os.pathsep}{place.environment['PATH']}") == ["src/gate.py:6"]
    assert place.unasked() == []
    done = place.run("check", "--static-only", "--changed-since", "main", PATH=path)
    assert done.returncode == 2
    assert "git is not installed" in done.stderr
    assert place.unasked() == []


def test_what_a_partial_clone_has_not_got_is_not_fetched(place: Place) -> None:
    git(place.tree, "config", "uploadpack.allowFilter", "true")
    clone = place.side / "clone"
    git(place.tree, "clone", "-q", "-b", "main", "--filter=blob:none", "--no-checkout", place.tree.as_uri(), str(clone))
    place.configure(clone / ".git" / "config", {"remote.origin.uploadpack": str(place.canary)})
    (clone / "src").mkdir()
    (clone / "src" / "gate.py").write_text(GATE)
    done = place.run("check", "--static-only", "--changed-since", "main", "--output-format", "concise", cwd=clone)
    assert done.returncode == 2
    assert ": error: the repository has not got this file" in done.stdout
    assert "src/gate.py:6" in done.stdout, "what cannot be compared counts as changed"
    assert place.unasked() == []


ENDLESS = (
    *("packed-refs", "shallow", "refs/heads/main", "refs/tags/aside", "logs/HEAD", "FETCH_HEAD", "objects/info/packs"),
    *("objects/pack/pack-1.idx", "objects/info/alternates", "../aside/pack/pack-1.idx", "a commit"),
)


@pytest.mark.parametrize("name", ENDLESS)
@pytest.mark.parametrize("kind", ["a named pipe", "a device"])
def test_a_pipe_or_a_device_among_the_files_of_git_is_not_waited_for(name: str, kind: str, place: Place) -> None:
    folder = place.tree / ".git"
    tip = git(place.tree, "rev-parse", "main")
    (folder / "objects" / "info" / "alternates").write_text('# of another\n"../../\\141side"\n')
    (place.tree / "aside").mkdir()
    file = folder / (f"objects/{tip[:2]}/{tip[2:]}" if name == "a commit" else name)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    os.mkfifo(file) if kind == "a named pipe" else file.symlink_to("/dev/zero")
    done = place.run("check", "--static-only", "--changed-since", "main")
    assert (done.returncode, done.stdout) == (2, "")
    [told] = [line for line in done.stderr.splitlines() if "error" in line.lower()]
    assert f"is no file but {kind}" in told
    assert file.name in told


def test_one_module_starts_git() -> None:
    naming = set()
    for file in sorted((ROOT / "onnxlint").rglob("*.py")):
        strings = {node.value for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Constant)}
        naming |= {file.name} if {"git", "git.exe", "/usr/bin/git"} & strings else set()
    assert naming == {"git.py"}


def test_the_modules_that_start_processes_are_known() -> None:
    """A further one is to be looked at: what it starts must not come from the tree."""
    starting = set()
    for file in sorted((ROOT / "onnxlint").rglob("*.py")):
        names = {node.attr for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Attribute)}
        if names & {"Popen", "check_output", "check_call", "system", "posix_spawn", "execv", "execve", "startfile"} or (
            "import subprocess" in file.read_text()
        ):
            starting.add(file.relative_to(ROOT / "onnxlint").as_posix())
    assert starting - {f for f in starting if f.startswith("probes/")} == {
        "run/git.py",
        "base/lifetimes.py",  # what removes a temporary folder, with this interpreter
        "cli/commands/repro.py",  # a counterexample that was named, with this interpreter
        "cli/commands/view.py",  # our own worker, on a graph that was named
        "cli/watch.py",  # onnxlint itself
    }
