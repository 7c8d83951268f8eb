"""Remedies by rule: one function from a finding's site to a fix, registered by the rule's code."""

from __future__ import annotations

import importlib
import inspect
import logging
import pkgutil
import typing
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import libcst as cst

from onnxlint.fix.pieces import check
from onnxlint.fix.site import Site
from onnxlint.records import Diagnostic, Finding, Fix, Safety, described
from onnxlint.rules.page import LeftOut, Page
from onnxlint.rules.site import Site as TreeSite

log = logging.getLogger(__name__)

Write = Callable[[Any], Fix | None]  # its parameter is annotated with the kind of site that it takes


@dataclass(frozen=True, slots=True)
class Remedy:
    """How findings of one rule are fixed. `safety` is the most that its fixes promise; one may promise less.

    `changes_output`: what eager computes changes, and is meant to, as when dropout ends in eval mode.
    """

    code: str
    safety: Safety
    write: Write
    changes_output: bool = False
    site: type[Site] | type[TreeSite] = Site


_REMEDIES: dict[str, Remedy] = {}


def remedy(code: str, safety: Safety, *, changes_output: bool = False) -> Callable[[Write], Write]:
    """Register the remedy of a rule. Raises TypeError if it has one already, or if it would promise nothing."""

    def register(function: Write) -> Write:
        if code in _REMEDIES:
            raise TypeError(f"{code} has two remedies")
        if safety is Safety.MANUAL:
            raise TypeError(f"the remedy of {code} writes nothing: leave it out")
        if changes_output and safety is Safety.SAFE:
            raise TypeError(f"the remedy of {code} changes what eager computes: it is not safe")
        (site,) = (typing.get_type_hints(function)[name] for name in inspect.signature(function).parameters)
        _REMEDIES[code] = Remedy(code, safety, function, changes_output, site)
        return function

    return register


@cache
def all_remedies() -> Mapping[str, Remedy]:
    """Every remedy by code; a module beside this one that starts with `onx` holds one."""
    package = importlib.import_module("onnxlint.fix")
    for found in pkgutil.iter_modules(package.__path__):
        if found.name.startswith("onx"):
            importlib.import_module(f"onnxlint.fix.{found.name}")
    return dict(sorted(_REMEDIES.items()))


def with_fixes(
    findings: Iterable[Finding], text_of: Callable[[str], str | None], failures: list[Diagnostic] | None = None
) -> tuple[Finding, ...]:
    """The findings, each with the fix that its rule's remedy writes, if it writes one.

    `text_of(path)` is the text that was checked, without a BOM; None where it cannot be had. An error of a remedy is
    added to `failures` and costs that fix only; without `failures` it is raised.
    """
    pages: dict[str, Page | None] = {}
    remedies = all_remedies()
    told: list[Finding] = []
    left_out: Counter[str] = Counter()
    for finding in findings:
        path = finding.span.path
        known = remedies.get(finding.code)
        if known is not None and path not in pages:
            text = text_of(path)
            pages[path] = Page(path, text) if text is not None else None
        page = pages.get(path)
        fix = None
        if known is not None and page is not None:
            try:
                fix = _written(known, finding, page)
            except LeftOut:
                left_out[path] += 1
            except Exception as error:
                if failures is None:
                    raise
                message = f"internal error in the fix of {finding.code}: {described(error)}; it is left out"
                failures.append(Diagnostic("error", message, path, finding.span.line))
        told.append(replace(finding, fix=fix) if fix is not None else finding)
    for path, number in left_out.items():
        if failures is None:
            break
        many = f"{number} fixes are" if number > 1 else "1 fix is"
        message = f"{many} left out: the statements or functions to rewrite are too long"
        failures.append(Diagnostic("warning", message, path))
    return tuple(told)


def _written(known: Remedy, finding: Finding, page: Page) -> Fix | None:
    """The fix, if it fits and what it leaves parses; edits are of the finding's own file."""
    try:
        fix = known.write(known.site(finding, page))
        if fix is None or not fix.edits:
            return None
        check(page, fix, finding.span.line)
    except (SyntaxError, cst.ParserSyntaxError, cst.CSTValidationError, ValueError, RecursionError) as error:
        log.debug("no fix for %s at %s:%s: %s", finding.code, finding.span.path, finding.span.line, error)
        return None
    return fix
