"""Every contract, read and run through the static pass; rule, check and contract are one to one to one."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from contracts import HEADER_KEYS, LINK_KEYS, RULES, SECTIONS, Contract, contracts, probe_options, write_case

from onnxlint.base.catalogue import load_catalogue
from onnxlint.base.records import Finding, Outcome, Safety, Severity
from onnxlint.config.declared_models import ModelConfig
from onnxlint.config.settings import Settings
from onnxlint.rules.engine.registry import all_rules
from onnxlint.run.pipeline import run_check
from onnxlint.testing import marks

FOUND_BY_RUNNING = ("ONX7",)  # dynamic evidence: a contract, and no check
ABOUT_THE_SIZE = ("ONX711", "ONX712", "ONX713")  # the export is right, and larger than it had to be
ABOUT_THE_RUN = ("ONX9",)  # found by the machinery itself: a contract, and no check
ALL = contracts()
IDS = [f"{c.code}-{c.header['name']}" for c in ALL]
BOTH = [(contract, which) for contract in ALL for which in ("bad", "good")]
every_contract = pytest.mark.parametrize("contract", ALL, ids=IDS)


def lint(contract: Contract, which: str, folder: Path) -> tuple[Finding, ...]:
    """Lint Bad or Good as a user's only file, statically.

    There is no configuration, unless it has `example_inputs`: these, and the dynamic axes that the contract declares.
    """
    module = f"{contract.code.lower()}_{which}"
    source = contract.source(which)
    (folder / f"{module}.py").write_text(source, encoding="utf-8")
    models = ()
    if "def example_inputs()" in source:
        dynamic = probe_options(contract, which)["dynamic"]
        models = (ModelConfig(factory=f"{module}:Model", inputs=f"{module}:example_inputs", dynamic=dynamic),)
    report = run_check([folder], Settings(root=folder, static_only=True, models=models))
    assert report.diagnostics == ()
    return report.findings


@every_contract
def test_bad_is_found_at_the_marked_lines_and_nowhere_else(contract: Contract, tmp_path: Path) -> None:
    found = {(f.code, f.span.line) for f in lint(contract, "bad", tmp_path)}
    assert found == marks(contract.source("bad"))


@every_contract
def test_good_is_silent(contract: Contract, tmp_path: Path) -> None:
    loud = [(f.code, f.span.line, f.message) for f in lint(contract, "good", tmp_path) if f.severity != Severity.NOTE]
    assert loud == []


@every_contract
def test_bad_marks_its_own_rule(contract: Contract) -> None:
    source = contract.source("bad")
    dynamic = contract.code.startswith(FOUND_BY_RUNNING)
    assert contract.code in {code for code, _ in marks(source, "dynamic" if dynamic else "expect")}
    if dynamic:
        assert marks(source) == set()


@every_contract
def test_good_marks_nothing(contract: Contract) -> None:
    assert marks(contract.source("good")) | marks(contract.source("good"), "dynamic") == set()


def test_codes_checks_and_contracts_are_one_to_one() -> None:
    codes = [c.code for c in ALL]
    assert len(codes) == len(set(codes))
    assert sorted(load_catalogue()) == sorted(codes)
    static = [code for code in codes if not code.startswith(FOUND_BY_RUNNING + ABOUT_THE_RUN)]
    assert sorted(code for code, rule in all_rules().items() if rule.handlers) == sorted(static)


@pytest.mark.parametrize("code", sorted(all_rules()))
def test_a_rule_stands_in_a_file_of_its_rule_s_name(code: str) -> None:
    contract = next(c for c in ALL if c.code == code)
    name = contract.header["name"]
    module = all_rules()[code].__module__
    assert module == f"onnxlint.rules.{code.lower()}_{name.replace('-', '_')}"


def test_the_folder_holds_contracts_only() -> None:
    assert {path.name for path in RULES.iterdir()} == {c.path.name for c in ALL}


@every_contract
def test_the_file_is_named_for_its_rule_and_is_complete(contract: Contract) -> None:
    assert contract.path.name == f"{contract.code}-{contract.header['name']}.md"
    assert tuple(contract.header) == (*HEADER_KEYS, *(key for key in LINK_KEYS if key in contract.header))
    assert tuple(contract.sections) == SECTIONS
    assert contract.header["severity"] in set(Severity)
    assert contract.header["fix"] in {*Safety, "none"}
    assert set(contract.effects.values()) <= set(Outcome)


@every_contract
def test_severity_fits_the_effects(contract: Contract) -> None:
    """A rule that no exporter trips over is about the run, not about the model."""
    harmless = all(effect == Outcome.OK for effect in contract.effects.values())
    assert harmless == contract.code.startswith(ABOUT_THE_RUN + ABOUT_THE_SIZE)
    if harmless:
        assert contract.header["severity"] != Severity.ERROR


@every_contract
def test_the_title_names_the_fault(contract: Contract) -> None:
    title = contract.title
    assert not title.endswith((".", "!", ":"))
    assert not re.match(r"(use|avoid|do not|don't|never|call|pass|prefer|remove|replace)\b", title, re.IGNORECASE)
    assert "should" not in title.lower()
    assert len(title) <= 60


@every_contract
def test_the_prose_is_plain(contract: Contract) -> None:
    for heading in ("What it does", "Why is this bad?", "Fix"):
        text = contract.sections[heading].strip()
        assert text
        assert text.endswith((".", "`"))
        assert not re.search(r"\b(should|simply|just|obviously|easily)\b", text), heading
    assert contract.sections["What it does"].strip().startswith(("Flags ", "Reports "))
    why = contract.sections["Why is this bad?"].strip()
    assert len(re.findall(r"[.!?](?:\s|$)", why)) <= 6


@every_contract
@pytest.mark.parametrize("which", ["bad", "good"])
def test_examples_are_small_and_speak_for_themselves(contract: Contract, which: str) -> None:
    block = contract.block(which.capitalize())
    assert len(block.splitlines()) <= 45
    assert max(map(len, block.splitlines())) <= 120
    tree = ast.parse(block)
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    assert any(c.name == "Model" for c in classes)
    assert all(ast.get_docstring(c) for c in classes)


@every_contract
def test_it_says_how_it_is_confirmed(contract: Contract) -> None:
    tree = ast.parse(contract.block("How it is confirmed"))
    names = {
        t.id for node in tree.body if isinstance(node, ast.Assign) for t in node.targets if isinstance(t, ast.Name)
    }
    assert {"example", "witness"} <= names


@pytest.mark.parametrize(("contract", "which"), BOTH, ids=[f"{c.code}-{which}" for c, which in BOTH])
def test_the_files_made_from_it_compile(contract: Contract, which: str, tmp_path: Path) -> None:
    case = write_case(contract, which, tmp_path)
    for name in (case.module, case.probe):
        compile((tmp_path / f"{name}.py").read_text(encoding="utf-8"), f"{name}.py", "exec")
