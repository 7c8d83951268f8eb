"""For tests of rules: the examples of a contract, held against what the static pass says of them."""

import re
from collections.abc import Iterable
from pathlib import Path

from onnxlint.base.catalogue import load_catalogue, plugin_faults
from onnxlint.base.edits import apply_edits, choose
from onnxlint.base.lifetimes import temporary_folder
from onnxlint.base.records import Finding, Severity
from onnxlint.config.settings import Settings
from onnxlint.run.pipeline import run_check

PRELUDE = """\
import math
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

"""
_MARK = re.compile(r"#\s*(expect|dynamic|ok|todo):\s*(ONX[A-Z]*\d{3}(?:\s*,\s*ONX[A-Z]*\d{3})*)")


def marks(source: str, kind: str = "expect") -> set[tuple[str, int]]:
    """The (code, line) pairs that comments of this `kind` (`expect`, `dynamic`, `ok`) promise in a file."""
    promised = set()
    for number, line in enumerate(source.splitlines(), start=1):
        for label, codes in _MARK.findall(line):
            if label == kind:
                promised |= {(code.strip(), number) for code in codes.split(",")}
    return promised


def mistakes(code: str) -> list[str]:
    """What is wrong with an installed rule, or with the examples in its contract; empty where nothing is.

    In Bad, exactly the lines marked `# expect: CODE` have findings, of these rules. Good has none but notes. After the
    fixes of Bad, if the rule writes any, it has no finding of the rule.
    """
    rule = load_catalogue().get(code)
    if rule is None:
        return [plugin_faults().get(code, f"no rule {code} is installed")]
    bad, good = PRELUDE + rule.bad, PRELUDE + rule.good
    findings, wrong = _findings(bad)
    wrong += _compared("Bad", findings, marks(bad))
    beside, more = _findings(good)
    wrong += more + _compared("Good", (f for f in beside if f.severity is not Severity.NOTE), set())
    fixable = [f for f in findings if f.code == code and f.fix is not None and f.fix.edits]
    if fixable:
        chosen = choose(fixable, {fixable[0].span.path: bad})
        fixed = apply_edits(bad, [edit for f in chosen if f.fix is not None for edit in f.fix.edits])
        wrong += _compared("Bad, fixed,", (f for f in _findings(fixed)[0] if f.code == code), set())
    elif marks(bad) and rule.fix is not None and rule.fix != "manual":
        wrong.append(f"the contract says `fix: {rule.fix}`, and no finding in Bad has one")
    return wrong


def _findings(source: str) -> tuple[tuple[Finding, ...], list[str]]:
    with temporary_folder() as folder:
        (Path(folder) / "example.py").write_text(source, encoding="utf-8")
        report = run_check([Path(folder)], Settings(root=Path(folder), static_only=True, cache=False))
    return report.findings, [diagnostic.message for diagnostic in report.diagnostics]


def _compared(name: str, findings: Iterable[Finding], expected: set[tuple[str, int]]) -> list[str]:
    matches = {(f.code, f.span.line): f.message for f in findings}
    head = PRELUDE.count("\n")
    return [
        *(f"{name} line {line - head}: {code} is missing" for code, line in sorted(expected - matches.keys())),
        *(f"{name} line {k[1] - head}: {k[0]}: {matches[k]}" for k in sorted(matches.keys() - expected)),
    ]
