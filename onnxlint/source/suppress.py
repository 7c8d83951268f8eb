"""`# noqa` and `# onnxlint: ignore` comments: which findings they silence, and which of them silence nothing."""

import re
import tokenize
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from onnxlint.base.catalogue import is_of_package
from onnxlint.base.records import Finding, Severity, Span, grouped
from onnxlint.source.parse import SourceFile, logical_lines

UNUSED = "ONX901"  # a suppression that is not needed: one is not silenced by another
CODES = r"[A-Z]+[0-9]+(?:[\s,]+[A-Z]+[0-9]+)*"
NOQA = re.compile(rf"#\s*noqa(?:\s*:\s*(?P<codes>{CODES}))?(?![\w-])", re.IGNORECASE)
_IGNORE = re.compile(r"#\s*onnxlint:\s*(?P<kind>ignore-file|ignore)\s*(?:\[(?P<codes>[^\]#]*)\]|(?![\w\[(-]))")


@dataclass(frozen=True, slots=True)
class Suppression:
    """One comment. `codes` are codes, prefixes or names (empty: every rule); it covers the lines `first` to `last`."""

    span: Span
    text: str
    codes: tuple[str, ...]
    first: int
    last: int

    def silences(self, finding: Finding) -> bool:
        """Tell whether the finding starts on a covered line and its rule is meant."""
        if not self.first <= finding.span.line <= self.last:
            return False
        return not self.codes or any(names(code, finding.code, finding.rule) for code in self.codes)


def names(selector: str, code: str, name: str) -> bool:
    """Tell whether a selector in a comment (a code, a prefix of one, or a name) means this rule."""
    return code.startswith(selector.upper()) or selector.lower() == name


def find(source: SourceFile) -> tuple[Suppression, ...]:
    """Return the suppressions of a file; it is tokenized only if its text holds a marker at all."""
    return tuple(_scan(source)) if any(_may_concern_us(source.text)) else ()


def _may_concern_us(text: str) -> Iterator[bool]:
    """Yield True for what looks like a marker of ours; most of the `noqa` in a library name rules of other tools."""
    if "onnxlint:" in text:
        yield _IGNORE.search(text) is not None
    yield from (not match["codes"] or "ONX" in match["codes"].upper() for match in NOQA.finditer(text))


def apply(
    findings: Sequence[Finding],
    files: Mapping[str, SourceFile],
    rules: Mapping[str, str] | None = None,
    ran: Callable[[str, str], bool] = lambda code, name: True,
) -> tuple[tuple[Finding, ...], tuple[Finding, ...], tuple[Finding, ...]]:
    """Split findings into kept and suppressed, and find the suppressions that were not needed, as a whole or in part.

    `files` maps the path of a span to its file. `rules` maps every code to its name; `ran(code, name)` tells whether
    that rule could speak in this run: a comment that names only rules that could not is not called unused.
    """
    by_path = grouped(findings, lambda finding: finding.span.path)
    silenced: set[int] = set()
    unused: list[Finding] = []
    head = UNUSED, (rules or {}).get(UNUSED, ""), Severity.WARNING
    for path, source in files.items():
        here = by_path.get(path, [])
        if not here and "ONX" not in source.text and "onnxlint:" not in source.text:
            continue  # no finding to silence, and no comment that could be called unused
        here.sort(key=_line)
        silent: dict[tuple[int, int, tuple[str, ...]], list[Finding]] = {}
        for suppression in find(source):
            key = suppression.first, suppression.last, suppression.codes  # many comments may say the same of a file
            if key not in silent:
                low = bisect_left(here, suppression.first, key=_line)
                high = bisect_right(here, suppression.last, key=_line)
                silent[key] = [finding for finding in here[low:high] if suppression.silences(finding)]
                silenced |= {id(finding) for finding in silent[key]}
            message, needless = _needless(suppression, silent[key], rules, ran)
            if message:
                hints = {"left": _left(suppression.text, needless)}
                unused.append(Finding(*head, message, suppression.span, text=suppression.text, hints=hints))
    remaining = tuple(finding for finding in findings if id(finding) not in silenced)
    return remaining, tuple(finding for finding in findings if id(finding) in silenced), tuple(unused)


def _line(finding: Finding) -> int:
    return finding.span.line


def _needless(
    suppression: Suppression, hits: Sequence[Finding], rules: Mapping[str, str] | None, ran: Callable[[str, str], bool]
) -> tuple[str, Sequence[str]]:
    """Say what is needless about a suppression, and its codes that are. A bare `# noqa` may serve another tool."""
    if not suppression.codes:
        bare = "onnxlint:" in suppression.text
        return f"`{suppression.text}` silences no finding" if bare and not hits else "", ()
    idle, unknown = [], []
    for code in suppression.codes:
        if any(names(code, hit.code, hit.rule) for hit in hits):
            continue
        meant = [rule for rule in (rules or {}).items() if names(code, *rule)]
        if rules is not None and not meant:
            unknown += [] if is_of_package(code) else [code]  # the package may be installed elsewhere
        elif rules is None or any(ran(*rule) for rule in meant):
            idle.append(code)
    parts = [f"{', '.join(f'`{code}`' for code in idle)} silences no finding here"] if idle else []
    parts += [f"{', '.join(f'`{code}`' for code in unknown)} names no rule"] if unknown else []
    return "; ".join(parts), (*idle, *unknown)


def _left(text: str, needless: Sequence[str]) -> str:
    """A comment without the codes that are needless; empty where it lists no others."""
    match = _IGNORE.match(text) or NOQA.match(text)
    codes = re.split(r"[\s,]+", match["codes"]) if match and match["codes"] else []
    remaining = ", ".join(code for code in codes if code and code not in needless)
    return f"{text[: match.start('codes')]}{remaining}{text[match.end('codes') :]}" if match and remaining else ""


def _scan(source: SourceFile) -> Iterator[Suppression]:
    """Yield the suppressions with the lines of the logical line that each stands in."""
    with suppress(tokenize.TokenError, SyntaxError):  # the comments behind what tokenize does not read do not count
        for first, tokens in logical_lines(source):
            for token in (token for token in tokens if token.type == tokenize.COMMENT):
                for match in (match for pattern in (_IGNORE, NOQA) for match in pattern.finditer(token.string)):
                    noqa = match.re is NOQA
                    codes = tuple(code for code in re.split(r"[\s,]+", match["codes"] or "") if code)
                    ours = tuple(code for code in codes if not noqa or code.upper().startswith("ONX"))
                    if codes and not ours:
                        continue  # the comment is for another tool
                    row, column = token.start
                    span = Span(source.display, row, column + match.start() + 1, row, column + match.end() + 1)
                    whole = not noqa and match["kind"] == "ignore-file"
                    low, high = (1, len(source.lines)) if whole else (first, tokens[-1].start[0])
                    yield Suppression(span, match.group().strip(), ours, low, high)
