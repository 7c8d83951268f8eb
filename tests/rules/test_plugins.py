"""Rules of installed packages: the example package, what may be wrong with one, and what is never imported."""

from __future__ import annotations

import json
import os
import re
import shutil
import site
import subprocess
import sys
import textwrap
import venv
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "fixtures" / "rule_package"
MODEL = """\
import torch
from torch import nn


class M(nn.Module):
    def forward(self, x):
        y = torch.std(x)
        z = x.std(dim=1)  # noqa: ONXACME101
        if y > 0:
            return y
        return y + z.mean()
"""
RULE = """
from onnxlint.flow.state.observations import Call
from onnxlint.base.records import Fix, Safety
from onnxlint.rules.engine.rule import Objection, Rule

class Some(Rule):
    code = "{code}"
    {more}
    def on_call(self, node, call: Call):
        {body}
"""
SAYS = 'yield Objection("said by {code}", "advice")'


class Environment:
    """A virtual environment that shares what this one has, and a project to check in it."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder / "venv", symlinks=True)
        (self.site,) = (folder / "venv").glob("lib/python*/site-packages")
        shared = "; ".join(f"site.addsitedir({path!r})" for path in site.getsitepackages())
        (self.site / "shared.pth").write_text(f"import site; {shared}\n")
        self.python = folder / "venv" / "bin" / "python"
        self.project = folder / "project"
        self.project.mkdir()
        (self.project / "model.py").write_text(MODEL)
        self.cache = folder / "cache"

    def python_run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run Python in the project, with the folder of no script in `sys.path`."""
        environment = {**os.environ, "ONNXLINT_CACHE_DIR": str(self.cache), **variables}
        return subprocess.run(
            [str(self.python), *arguments],
            cwd=self.project,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run onnxlint in the project."""
        return self.python_run("-P", "-m", "onnxlint", *arguments, **variables)

    def check(self, *arguments: str, **variables: str) -> tuple[int, dict[str, list[int]], list[str]]:
        """The exit code, the lines by code, and the diagnostics of a static run."""
        done = self.run("check", "--static-only", "--show", "all", "--output-format", "json", *arguments, **variables)
        report = json.loads(done.stdout)
        lines: dict[str, list[int]] = {}
        for finding in report["findings"]:
            lines.setdefault(finding["code"], []).append(finding["line"])
        return done.returncode, lines, [diagnostic["message"] for diagnostic in report["diagnostics"]]

    def install(self, *packages: Path) -> None:
        """Install copies of packages with pip."""
        pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--no-index"]
        subprocess.run([*pip, "--target", str(self.site), *map(str, packages)], check=True, timeout=300)

    def put(
        self, name: str, entries: Mapping[str, str], files: Mapping[str, str], editable: Path | None = None
    ) -> None:
        """Put a distribution there as an installer does."""
        metadata = self.site / f"{name}-1.0.dist-info"
        metadata.mkdir()
        points = "".join(f"{code} = {target}\n" for code, target in entries.items())
        (metadata / "entry_points.txt").write_text(f"[console_scripts]\na = b:c\n\n[onnxlint.rules]\n{points}")
        if editable is not None:
            (self.site / f"{name}.pth").write_text(f"{editable}\n")
            origin = {"url": editable.as_uri(), "dir_info": {"editable": True}}
            (metadata / "direct_url.json").write_text(json.dumps(origin))
        for path, text in files.items():
            place = (editable or self.site) / name / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)

    def rule(
        self,
        code: str,
        body: str = SAYS,
        *,
        more: str = "",
        editable: Path | None = None,
        head: str = "",
        **contract: str | None,
    ) -> Path:
        """Put a distribution with one rule there, under a contract with other words; return the rule's file."""
        name = code.lower()
        text = head + RULE.format(code=code, more=more, body=body.format(code=code))
        files = {"__init__.py": "", "some.py": text, f"{code}-{name}-rule.md": contract_of(code, **contract)}
        self.put(name, {code: f"{name}.some:Some"}, files, editable)
        return (editable or self.site) / name / "some.py"


def contract_of(code: str, **other: str | None) -> str:
    """The contract of the example under another code, and with other front matter; None leaves a line out."""
    text = next(EXAMPLE.glob("src/*/*.md")).read_text()
    for key, value in {"code": code, "name": f"{code.lower()}-rule", "fix": "none", **other}.items():
        line = "" if value is None else f"{key.replace('_', '-')}: {value}\n"
        text, changed = re.subn(rf"^{key}: .*\n", line, text, count=1, flags=re.MULTILINE)
        text = text if changed else text.replace("---\n", f"---\n{line}", 1)
    return text.replace("# expect: ONXACME101", f"# expect: {code}")


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return Environment(tmp_path)


def test_the_example_package_is_selected_suppressed_explained_fixed_and_in_sarif(
    environment: Environment, tmp_path: Path
) -> None:
    environment.install(shutil.copytree(EXAMPLE, tmp_path / "package"))
    assert environment.check() == (1, {"ONXACME101": [7], "ONX101": [9]}, [])
    assert environment.check("--ignore", "ONXACME") == (1, {"ONX101": [9]}, [])
    assert environment.check("--ignore", "plain-std")[1] == {"ONX101": [9]}
    assert environment.check("--select", "ONXACME101,ONX901")[1] == {"ONXACME101": [7]}
    rows = {row["code"]: row for row in json.loads(environment.run("rules", "--output-format", "json").stdout)}
    assert rows["ONXACME101"]["title"] == "Standard deviation that our accelerator cannot compute"
    assert re.search(r"ONXACME1xx +acme-rules 1.0\n", environment.run("rules").stdout)
    for rule in ("ONXACME101", "plain-std"):
        assert "Take the square root of the variance." in environment.run("explain", rule).stdout
    log = json.loads(environment.run("check", "--static-only", "--output-format", "sarif").stdout)["runs"][0]
    assert "ONXACME101" in [rule["id"] for rule in log["tool"]["driver"]["rules"]]
    (result,) = [result for result in log["results"] if result["ruleId"] == "ONXACME101"]
    assert result["message"]["text"].startswith("the accelerator has no `std`: `torch.std(x)`")
    environment.run("check", "--static-only", "--fix", "--unsafe-fixes", "--select", "ONXACME101")
    assert "y = torch.sqrt(torch.var(x))\n" in (environment.project / "model.py").read_text()
    assert environment.check()[1] == {"ONX101": [9]}
    own = environment.python_run("-m", "pytest", "-q", "-p", "no:cacheprovider", str(EXAMPLE / "tests"))
    assert own.returncode == 0, own.stdout + own.stderr


def test_the_page_shows_the_example_package_as_it_is() -> None:
    page = (ROOT / ".docs" / "pages" / "own-rules.md").read_text()
    files = [path for path in EXAMPLE.rglob("*") if path.suffix in (".py", ".md", ".toml") and path.stat().st_size]
    assert len(files) == 4
    for path in files:
        assert f"\n{path.read_text()}```" in page, path
        assert f"`{path.relative_to(EXAMPLE).as_posix()}`" in page


def test_the_example_of_contributing_is_a_package_with_a_contract(environment: Environment) -> None:
    text = (ROOT / ".github" / "CONTRIBUTING.md").read_text()
    block, _ = [block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "(Rule)" in block]
    head = (
        "from onnxlint.flow.state.observations import Call\n"
        "from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule\n\n"
    )
    rule = head + textwrap.dedent(block).replace("ONX499", "ONXACME101")
    files = {"__init__.py": "", "rule.py": rule, "ONXACME101-some-name.md": contract_of("ONXACME101", name="some-name")}
    environment.put("acme", {"ONXACME101": "acme.rule:SomeName"}, files)
    assert environment.check() == (1, {"ONXACME101": [7], "ONX101": [9]}, [])


def test_what_is_wrong_with_a_rule_is_a_diagnostic_and_the_run_goes_on(environment: Environment) -> None:
    environment.rule("ONXGOOD101")
    environment.rule("ONXRAISES101", "raise RuntimeError('in the check')")
    environment.rule("ONXLEAVES101", "raise SystemExit(0)")
    environment.rule("ONXENDS101", "raise type('End', (BaseException,), {{}})('for good')")
    environment.rule("ONXNOTHING101", "yield Objection('said', 'advice', effects={{}})")
    environment.rule("ONXSILENT101", "yield Objection('said')")
    environment.rule("ONXFOREIGN101", "yield Objection('said', 'advice', effects={{'foo': 'bar'}})")
    environment.rule("ONXOUTCOME101", "yield Objection('said', 'advice', effects={{'dynamo': 'bar'}})")
    environment.rule("ONXTYPO101", "pass", operators="torch.stdd")
    environment.rule("ONXVOID101", "pass")
    environment.rule("ONXTEXT101", "yield 'text'")
    environment.rule("ONXTYPE101", "yield Objection(7, 'advice')")
    environment.rule("ONXIMPORT101", head="import no_such_module\n")
    environment.rule("ONXEXIT101", head="raise SystemExit\n")
    environment.rule("ONXCODE101", more="code = 'ONXOTHER101'")
    environment.rule("ONXFIX101", fix="safe")
    environment.rule("ONXKIND101", head="class Some: ...\n", more="", body=SAYS).write_text("class Some: ...\n")
    environment.rule("ONXMARK101", severity="terrible")
    environment.rule("ONXLINK101", spoken_for_by="ONXLINKED101")
    environment.rule("ONXNAME101", name="tensor-branch")
    environment.rule("ONXLONELY101")
    environment.put("absent", {"ONXABSENT101": "absent_module:Some"}, {})
    environment.put("bare", {"ONXBARE101": "bare.some:Some"}, {"__init__.py": "", "some.py": ""})
    environment.put("pointless", {"ONXPOINTLESS101": "pointless.some"}, {"__init__.py": ""})
    environment.put("ours", {"ONX101": "ours.some:Some"}, {"__init__.py": ""})
    environment.put("another", {"ONXLONELY101": "another.some:Some"}, {"__init__.py": ""})
    shutil.move(
        environment.site / "onxname101" / "ONXNAME101-onxname101-rule.md",
        environment.site / "onxname101" / "ONXNAME101-tensor-branch.md",
    )
    (environment.site / "single.py").write_text("")
    environment.put("alone", {"ONXALONE101": "single:Some"}, {})
    code, lines, messages = environment.check()
    assert (code, lines) == (2, {"ONXGOOD101": [7, 8], "ONX101": [9]})
    expected = {
        "ONX101 of ours 1.0 cannot be used: the code of a package's rule is ONX, two or more capital letters",
        "ONXABSENT101 of absent 1.0 cannot be used: no package `absent_module` is installed",
        "ONXALONE101 of alone 1.0 cannot be used: `single` is a single file",
        "ONXBARE101 of bare 1.0 cannot be used: one contract ONXBARE101-some-name.md has to be in",
        "ONXCODE101 of onxcode101 1.0 cannot be used: the `code` of Some is 'ONXOTHER101'",
        "ONXEXIT101 of onxexit101 1.0 cannot be used: onxexit101.some:Some: SystemExit",
        "ONXFIX101 of onxfix101 1.0 cannot be used: the contract says `fix: safe`, and Some says manual",
        "ONXIMPORT101 of onximport101 1.0 cannot be used: onximport101.some:Some: ModuleNotFoundError: No module named",
        "ONXKIND101 of onxkind101 1.0 cannot be used: `onxkind101.some:Some` is not a class derived from onnxlint.",
        "ONXLINK101 of onxlink101 1.0 cannot be used: ",
        "ONXLONELY101 of another 1.0 cannot be used: onxlonely101 1.0 brings a rule ONXLONELY101 too; uninstall one",
        "ONXMARK101 of onxmark101 1.0 cannot be used: ",
        "ONXNAME101 of onxname101 1.0 cannot be used: `tensor-branch` is the name of ONX101 already",
        "ONXPOINTLESS101 of pointless 1.0 cannot be used: `pointless.some` is not `module:Class`",
        "internal error in ONXRAISES101 of onxraises101 1.0: RuntimeError: in the check",
        "ONXTYPO101 of onxtypo101 1.0 watches `torch.stdd`, which is no operator of torch 2.13, 2.14",
        "internal error in ONXNOTHING101 of onxnothing101 1.0: ValueError: effects={}; it is an outcome for one or",
        "internal error in ONXSILENT101 of onxsilent101 1.0: ValueError: an objection without advice, and the contract",
        "internal error in ONXFOREIGN101 of onxforeign101 1.0: ValueError: effects={'foo': 'bar'}; it is an outcome",
        "internal error in ONXOUTCOME101 of onxoutcome101 1.0: ValidationError: Invalid enum value 'bar'",
        "internal error in ONXLEAVES101 of onxleaves101 1.0: SystemExit: 0",
        "internal error in ONXENDS101 of onxends101 1.0: End: for good",
        "internal error in ONXTEXT101 of onxtext101 1.0: AttributeError: 'str' object has no attribute",
        "internal error in ONXTYPE101 of onxtype101 1.0: ValidationError: Expected `str`, got `int`",
        "internal error in ONXVOID101 of onxvoid101 1.0: TypeError: 'NoneType' object is not iterable",
    }
    assert [m for m in messages if not any(m.startswith(start) for start in expected)] == []
    assert [start for start in expected if not any(m.startswith(start) for m in messages)] == []
    assert environment.check("--select", "ONX101,ONXGOOD")[::2] == (2, [m for m in messages if " of ours " in m])
    assert environment.check("--ignore", "ONX", "--select", "ONXGOOD101")[::2] == (1, [])
    listed = environment.run("rules")
    assert listed.returncode == 2
    assert "onnxlint: ONXBARE101 of bare 1.0 cannot be used" in listed.stderr
    explained = environment.run("explain", "ONXBARE101")
    assert (explained.returncode, explained.stdout) == (2, "")
    assert "ONXBARE101 of bare 1.0 cannot be used" in explained.stderr


def test_the_contract_has_the_advice_that_the_rule_does_not_give(environment: Environment) -> None:
    body = "yield Objection('said', 'something else' if call.text.startswith('torch') else '')"
    environment.rule("ONXGOOD101", body, instead="do: it")
    done = environment.run("check", "--static-only", "--select", "ONXGOOD101", "--output-format", "json")
    assert {f["fix"]["title"] for f in json.loads(done.stdout)["findings"]} == {"do: it", "something else"}


def test_an_error_in_a_fix_costs_that_fix_and_names_the_package(environment: Environment) -> None:
    fixes = {
        "ONXRAISES101": "raise ZeroDivisionError",
        "ONXTEXT101": "return 'text'",
        "ONXTYPE101": "return Fix('a', Safety.SAFE, (2,))",
        "ONXLEAVES101": "raise SystemExit(3)",
    }
    for code, body in fixes.items():
        environment.rule(code, fix="safe", more=f"safety = Safety.SAFE\n    def fix(self, site):\n        {body}\n")
    code, lines, messages = environment.check()
    assert (code, lines) == (2, {**{rule: [7, 8] for rule in fixes}, "ONX101": [9]})
    assert {message.partition(":")[0] for message in messages} == {
        f"internal error in the fix of {rule} of {rule.lower()} 1.0" for rule in fixes
    }


def test_a_rule_gets_the_calls_of_the_operators_that_it_watches_itself(environment: Environment) -> None:
    visits = """
    def visit_Call(self, node):
        for seen in self.observations(node, Call):
            self.report(node, f"seen {{seen.op}}", "advice")
    """
    environment.rule("ONXSTD101")
    environment.rule("ONXMEAN101", operators="torch.mean")
    environment.rule("ONXBOTH101", operators="torch.mean torch.std")
    environment.rule("ONXVISIT101", "yield from ()", more="import libcst\n" + visits.format(), operators="torch.mean")
    lines = environment.check()[1]
    assert lines == {
        "ONXSTD101": [7, 8],
        "ONXMEAN101": [11],
        "ONXBOTH101": [7, 8, 11],
        "ONXVISIT101": [11],
        "ONX101": [9],
    }


def test_a_rule_that_fails_or_is_not_installed_makes_no_comment_needless(environment: Environment) -> None:
    assert environment.check()[1] == {"ONX101": [9]}
    environment.rule("ONXACME101", "raise RuntimeError")
    assert environment.check()[1] == {"ONX101": [9]}


def test_results_are_not_reused_when_the_package_changes(environment: Environment) -> None:
    file = environment.rule("ONXTOLD101")
    assert environment.check()[1] == {"ONXTOLD101": [7, 8], "ONX101": [9]}
    file.write_text(file.read_text().replace("said by", "said now by"))
    assert "said now by ONXTOLD101" in environment.run("check", "--static-only").stdout
    contract = next(file.parent.glob("*.md"))
    contract.write_text(contract.read_text().replace("severity: warning", "severity: error"))
    assert "error[ONXTOLD101]" in environment.run("check", "--static-only").stdout


TAKEN = "import os; os.write(2, b'IMPORTED')\n"


def test_an_editable_installation_is_run_on_other_trees_and_not_on_its_own(
    environment: Environment, tmp_path: Path
) -> None:
    environment.rule("ONXFAR101", editable=tmp_path / "elsewhere")
    environment.rule("ONXOWN101", editable=environment.project / "tools", head=TAKEN)
    done = environment.run("check", "--static-only")
    assert "said by ONXFAR101" in done.stdout
    assert (
        "ONXOWN101 of onxown101 1.0 is not run: its installation is editable and leads into the checked" in done.stdout
    )
    assert done.returncode == 2
    assert "IMPORTED" not in done.stderr
    assert environment.check("--ignore", "ONXOWN")[::2] == (1, [])
    (environment.project / ".git").mkdir()  # a folder of the repository is checked, the rule lies in another
    (environment.project / "models").mkdir()
    shutil.move(environment.project / "model.py", environment.project / "models" / "model.py")
    (environment.project / "models" / "onnxlint.toml").write_text("")
    inner = environment.run("check", "--static-only", "models")
    assert "ONXOWN101 of onxown101 1.0 is not run" in inner.stdout
    assert "IMPORTED" not in inner.stderr


def test_nothing_of_the_working_directory_or_pythonpath_is_imported(environment: Environment) -> None:
    environment.rule("ONXACME101")
    false = environment.project / "onxacme101"
    false.mkdir()
    (false / "__init__.py").write_text(TAKEN)
    shutil.copytree(environment.site / "onxacme101-1.0.dist-info", environment.project / "false-1.0.dist-info")
    points = environment.project / "false-1.0.dist-info" / "entry_points.txt"
    points.write_text(points.read_text().replace("ONXACME101", "ONXFALSE101"))
    assert environment.check()[::2] == (1, [])
    for done in (
        environment.python_run("-m", "onnxlint", "check", "--static-only"),
        environment.run("check", "--static-only", PYTHONPATH=str(environment.project)),
    ):
        assert done.returncode == 2
        assert f"`onxacme101` would be imported from {false}, which is not where it is installed" in done.stdout
        assert "ONXFALSE101" not in done.stdout
        assert "IMPORTED" not in done.stderr


def test_the_test_of_the_author_names_what_the_examples_do_not_hold(environment: Environment) -> None:
    environment.rule("ONXBAD101", body="if call.text.startswith('torch'): yield Objection('said', 'advice')")
    environment.rule("ONXGOOD101", operators="torch.std, torch.sqrt", body="yield Objection('said', 'advice')")
    environment.put("bare", {"ONXBARE101": "bare.some:Some"}, {"__init__.py": "", "some.py": ""})
    for code, expected in {
        "ONXNONE101": ["no rule ONXNONE101 is installed"],
        "ONXBAD101": ["Bad line 5: ONXBAD101 is missing", "Bad line 5: ONXGOOD101: said"],
        "ONXGOOD101": ["Good line 5: ONXGOOD101: said"],
    }.items():
        done = environment.python_run("-P", "-c", f"from onnxlint.testing import mistakes; print(mistakes({code!r}))")
        assert set(expected) <= set(eval(done.stdout)), done.stderr
    done = environment.python_run("-P", "-c", "from onnxlint.testing import mistakes; print(mistakes('ONXBARE101'))")
    assert "ONXBARE101 of bare 1.0 cannot be used: one contract" in done.stdout
