"""The fixes of findings: each written by its rule, on the tree that the finding stands in."""

import logging
from collections.abc import Sequence
from dataclasses import replace

import libcst as cst
import msgspec

from onnxlint.base.catalogue import is_of_package
from onnxlint.base.records import Diagnostic, Finding, Fix, Safety, described
from onnxlint.rules.engine.cst_tree import BeyondStatement
from onnxlint.rules.engine.registry import ends_run, rules_of, titled
from onnxlint.rules.engine.reparsed_pieces import check
from onnxlint.rules.engine.rule import Rule
from onnxlint.rules.engine.site import Site
from onnxlint.rules.engine.source_page import LeftOut, Page

log = logging.getLogger(__name__)


def with_fixes(findings: Sequence[Finding], page: Page, faults: list[Diagnostic] | None = None) -> tuple[Finding, ...]:
    """The findings of one file, each with the fix that its rule writes, if it writes one.

    `page` has the text that was checked, without a BOM. An error of a rule is added to `faults` and costs that fix
    only; without `faults` it is raised.
    """
    rules, broken = rules_of({finding.code for finding in findings})
    if faults is not None:
        faults += broken
    fixed: list[Finding] = []
    left_out = 0
    for finding in findings:
        rule, fix = rules.get(finding.code), None
        if rule is not None and rule.safety is not Safety.MANUAL:
            try:
                written = _written(rule, finding, page)
                if is_of_package(finding.code):  # what its rule wrote may be anything; what is no fix ends in an error
                    written = msgspec.msgpack.decode(msgspec.msgpack.encode(written), type=Fix | None)
                fix = written
            except LeftOut:
                left_out += 1
            except BaseException as error:
                if faults is None or ends_run(error):
                    raise
                message = f"internal error in the fix of {titled(finding.code)}: {described(error)}; it is left out"
                faults.append(Diagnostic("error", message, page.path, finding.span.line))
        fixed.append(replace(finding, fix=fix) if fix is not None else finding)
    if left_out and faults is not None:
        many = f"{left_out} fixes are" if left_out > 1 else "1 fix is"
        message = f"{many} left out: the statements or functions to rewrite are too long"
        faults.append(Diagnostic("warning", message, page.path))
    return tuple(fixed)


def _written(rule: Rule, finding: Finding, page: Page) -> Fix | None:
    """The fix, if it fits and what it leaves parses; edits are of the finding's own file."""
    try:
        try:
            fix = rule.fix(Site(finding, page, whole=is_of_package(finding.code)))
        except BeyondStatement:
            fix = rule.fix(Site(finding, page))
        if fix is None or not fix.edits:
            return None
        check(page, fix, finding.span.line)
    except (SyntaxError, cst.ParserSyntaxError, cst.CSTValidationError, ValueError, RecursionError) as error:
        log.debug("no fix for %s at %s:%s: %s", finding.code, finding.span.path, finding.span.line, error)
        return None
    return fix
