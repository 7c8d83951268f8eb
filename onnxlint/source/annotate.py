"""Write `# noqa` comments for findings: on their line, or at the next place of the statement that takes a comment."""

import ast
import re
import tokenize
from collections.abc import Mapping, Sequence

from onnxlint.base.records import Diagnostic
from onnxlint.source.parse import SourceFile, logical_lines, parse_source
from onnxlint.source.suppress import CODES, NOQA, find

_INSIDE_STRINGS = {
    (getattr(tokenize, f"{kind}_START"), getattr(tokenize, f"{kind}_END"))
    for kind in ("FSTRING", "TSTRING")
    if hasattr(tokenize, f"{kind}_START")
}


class AnnotateError(Exception):
    """The comments cannot be written; the message says why, and nothing is changed."""


def fault_in_reason(reason: str) -> str | None:
    """Return why a text cannot stand behind the codes of a `# noqa`, or None."""
    if not reason.isprintable():
        return "a reason is one line of printable characters"
    if re.match(CODES, reason, re.IGNORECASE):
        return f"a reason that begins like a code would be read as one: `{reason.split()[0]}`"
    if "noqa" in reason.lower() or "onnxlint:" in reason or "#" in reason:
        return "a reason cannot hold another comment"
    return None


def annotate(source: SourceFile, wanted: Mapping[int, Sequence[str]], reason: str = "") -> bytes:
    """Return the file with the codes that `wanted` asks for at its lines, in the encoding and newlines that it has.

    A `# noqa` that names codes is added to. Raises AnnotateError, so that no half of it is ever written.
    """
    places, comments = _layout(source)
    by_line: dict[int, list[str]] = {}
    for line, codes in wanted.items():
        if line not in places:
            raise AnnotateError(f"line {line} is part of no statement that a comment can be put behind")
        by_line.setdefault(places[line], []).extend(codes)
    pieces = re.split(r"(\r\n|\r|\n)", source.text)
    for line, codes in by_line.items():
        pieces[2 * (line - 1)] = _commented(pieces[2 * (line - 1)], comments.get(line), sorted(set(codes)), reason)
    return _checked(source, "".join(pieces), wanted)


def _checked(source: SourceFile, text: str, wanted: Mapping[int, Sequence[str]]) -> bytes:
    """Encode the text, and make sure that it is the same program, with every finding silenced."""
    try:
        data = text.encode(source.encoding)
    except UnicodeEncodeError as error:
        raise AnnotateError(f"the reason cannot be written in {source.encoding}, the encoding of the file") from error
    after = parse_source(source.path, data, source.display)
    if isinstance(after, Diagnostic) or ast.dump(after.tree) != ast.dump(source.tree):
        raise AnnotateError("a comment here would change the program; write it by hand")
    suppressions = find(after)
    for line, codes in wanted.items():
        covering = [s for s in suppressions if s.first <= line <= s.last]
        if any(all(s.codes and code not in s.codes for s in covering) for code in codes):
            raise AnnotateError(f"a comment for line {line} would not be read; write it by hand")
    return data


def _commented(line: str, start: int | None, codes: Sequence[str], reason: str) -> str:
    match = next((m for m in NOQA.finditer(line, start) if m["codes"]), None) if start is not None else None
    if match is None:
        return f"{line.rstrip()}  # noqa: {', '.join(codes)}" + (f" {reason}" if reason else "")
    present = re.split(r"[\s,]+", match["codes"].upper())
    added = "".join(f", {code}" for code in codes if code not in present)
    head, tail = line[: match.end()] + added, line[match.end() :]
    if not reason or reason in tail:
        return head + tail
    comment, sign, rest = tail.partition("#")
    comment = f"{comment.rstrip()}; {reason}" if comment.strip() else f" {reason}"
    return f"{head}{comment}  {sign}{rest}" if sign else head + comment


def _layout(source: SourceFile) -> tuple[dict[int, int], dict[int, int]]:
    """By line of a statement, the next line of it that takes a comment; by line, where its comment begins, from 0."""
    places: dict[int, int] = {}
    comments: dict[int, int] = {}
    starts, stops = {a for a, _ in _INSIDE_STRINGS}, {b for _, b in _INSIDE_STRINGS}
    try:
        for first, tokens in logical_lines(source):
            depth = 0
            ends: list[int] = []  # the lines that end outside of tokens
            for token in tokens:
                depth += (token.type in starts) - (token.type in stops)
                if token.type == tokenize.COMMENT:
                    comments[token.start[0]] = token.start[1]
                elif token.type in (tokenize.NL, tokenize.NEWLINE) and not depth:
                    ends.append(token.start[0])
            if tokens[-1].type == tokenize.NEWLINE:
                places |= {line: next(end for end in ends if end >= line) for line in range(first, ends[-1] + 1)}
    except (tokenize.TokenError, SyntaxError) as error:
        raise AnnotateError("the file cannot be parted into statements; write the comments by hand") from error
    return places, comments
