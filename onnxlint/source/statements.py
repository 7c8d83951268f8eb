"""Where each statement of a file begins and ends."""

import ast
from collections.abc import Iterator, Sequence


def statement_spans(tree: ast.Module) -> list[tuple[int, int]]:
    """Return first and last line of every statement; of a compound one, of its header."""
    return [_header(statement) for statement in _statements(tree.body)]


def statement_at(spans: Sequence[tuple[int, int]], line: int) -> tuple[int, int]:
    """Return the shortest of `spans` that holds a line; the line alone where none does."""
    best = (line, line)
    for first, last in spans:
        if first <= line <= last and (best == (line, line) or last - first < best[1] - best[0]):
            best = (first, last)
    return best


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Every statement of a block and of the blocks in it; expressions are not walked."""
    for s in body:
        yield s
        for name in ("body", "orelse", "finalbody"):
            inner = getattr(s, name, None)
            if isinstance(inner, list):
                yield from _statements(inner)
        for part in (*getattr(s, "handlers", ()), *getattr(s, "cases", ())):
            yield from _statements(part.body)


def _header(statement: ast.stmt) -> tuple[int, int]:
    last = statement.end_lineno or statement.lineno
    body = getattr(statement, "body", None)
    if isinstance(body, list) and body:
        last = max(statement.lineno, body[0].lineno - 1)
    first = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", ()))])
    return first, last
