"""Edits of a call's arguments: commas, comments and line breaks around them stay as they are."""

from __future__ import annotations

import ast

from onnxlint.fix.site import Site
from onnxlint.records import Edit


def argument(call: ast.Call, name: str, position: int | None = None) -> ast.expr | None:
    """The argument of a call by name, or by position from 0."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    if position is None or position >= len(call.args):
        return None
    return None if any(isinstance(a, ast.Starred) for a in call.args[: position + 1]) else call.args[position]


def set_argument(
    site: Site, call: ast.Call, name: str, value: str, position: int | None = None
) -> tuple[Edit, ...] | None:
    """Give an argument the value, in the place of the one that is there, or as a new keyword at the end.

    None where `**` or `*` may give it already.
    """
    given = argument(call, name, position)
    if given is not None:
        return (site.replace(given, value),)
    if any(keyword.arg is None for keyword in call.keywords):
        return None
    if position is not None and any(isinstance(a, ast.Starred) for a in call.args):
        return None
    return add_argument(site, call, f"{name}={value}")


def add_argument(site: Site, call: ast.Call, text: str) -> tuple[Edit, ...] | None:
    """Write one more argument behind the others; None behind a generator that has no parentheses of its own."""
    close = site.page.range(call)[1] - 1
    last = _last(site, call)
    if last is None:
        return (site.splice(close, close, text),)
    if isinstance(last, ast.GeneratorExp) and len(call.args) == 1 and not call.keywords:
        return None
    end, comma = _after(site, site.page.range(last)[1], close)
    rest = site.page.text[comma or end : close]
    if "\n" not in rest:
        return (site.splice(comma or end, comma or end, f" {text}" if comma else f", {text}"),)
    row = site.page.lines.start(site.page.lines.place(close)[0])
    first = site.page.lines.start(site.page.lines.place(_start(site, call, last))[0])
    indent = _indent(site.page.text[first:])
    if site.page.text[row:close].strip():  # something stands in front of the parenthesis
        return (site.splice(comma or end, comma or end, f"\n{indent}{text}," if comma else f",\n{indent}{text}"),)
    edits = [site.splice(row, row, f"{indent}{text},\n")]
    return (*edits,) if comma else (site.splice(end, end, ","), *edits)


def drop_argument(site: Site, call: ast.Call, name: str) -> tuple[Edit, ...] | None:
    """Take a keyword argument out, with its line if it stands there alone; None where the call does not give it."""
    given = next((k for k in call.keywords if k.arg == name), None)
    if given is None:
        return None
    text = site.page.text
    start = site.page.offset(given.lineno, given.col_offset)
    close = site.page.range(call)[1] - 1
    others = [_start(site, call, a) for a in (*call.args, *(k.value for k in call.keywords)) if a is not given.value]
    following = min((at for at in others if at > start), default=close)
    end, comma = _after(site, site.page.range(given.value)[1], following)
    stop = comma or end
    first = site.page.lines.start(site.page.lines.place(start)[0])
    after = site.page.lines.start(site.page.lines.place(stop)[0] + 1)
    rest = text[stop:after].strip()
    if not text[first:start].strip() and (not rest or rest.startswith("#")):
        return (site.splice(first, after, ""),)
    if following != close:
        return (site.splice(start, following, ""),)
    before = max(
        (
            site.page.range(a)[1]
            for a in (*call.args, *(k.value for k in call.keywords))
            if _start(site, call, a) < start
        ),
        default=None,
    )
    if before is None:
        return (site.splice(start, stop, ""),)
    return (site.splice(_after(site, before, start)[0], stop, ""),)


def _last(site: Site, call: ast.Call) -> ast.expr | None:
    values = [*call.args, *(k.value for k in call.keywords)]
    return max(values, key=lambda a: site.page.range(a)[1], default=None)


def _start(site: Site, call: ast.Call, value: ast.expr) -> int:
    """Where an argument begins: at its name if it has one."""
    keyword = next((k for k in call.keywords if k.value is value), None)
    return site.page.offset(keyword.lineno, keyword.col_offset) if keyword else site.page.range(value)[0]


def _after(site: Site, end: int, limit: int) -> tuple[int, int | None]:
    """Behind an argument that ends at `end`: the offset after its own parentheses, and that after its comma."""
    text = site.page.text
    at = end
    while at < limit:
        if text[at] == "#":
            at = text.find("\n", at)
            at = limit if at < 0 else at
        elif text[at] == ")":
            end = at + 1
        elif text[at] == ",":
            return end, at + 1
        at += 1
    return end, None


def _indent(row: str) -> str:
    row = row.split("\n", 1)[0]
    return row[: len(row) - len(row.lstrip())]
