"""ONX901: take out a suppression, or the codes of it, that silence nothing."""

from __future__ import annotations

import re

from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site
from onnxlint.records import Fix, Safety

_LIST = re.compile(r"(?<=[\[:])[^\]]*")
_QUOTED = re.compile(r"`([^`]+)`")


@remedy("ONX901", Safety.SAFE)
def take_it_out(site: Site) -> Fix | None:
    """Safe: no code changes."""
    span, text, lines = site.finding.span, site.page.text, site.page.lines
    start, end = lines.offset((span.line, span.column)), lines.offset((span.end_line, span.end_column))
    comment = text[start:end]
    needless = _QUOTED.findall(site.finding.message)
    listed = _LIST.search(comment, comment.find("noqa") if "noqa" in comment else comment.find("ignore"))
    codes = [code for code in re.split(r"[\s,]+", listed[0]) if code] if listed is not None else []
    kept = [code for code in codes if code not in needless]
    if listed is not None and kept:
        spaced = " " if listed[0].startswith(" ") else ""
        edit = site.splice(start + listed.start(), start + listed.end(), spaced + ", ".join(kept))
        site.page.sound.add(edit)  # it changes a comment alone
        return site.fix("take out the codes that silence nothing", Safety.SAFE, edit)
    stop = re.compile(r"$", re.MULTILINE).search(text, end)
    last = stop.start() if stop is not None else len(text)
    last -= text[last - 1 : last] == "\r"
    first = lines.start(span.line)
    if "#" in text[end:last]:
        last = text.index("#", end)
    elif not text[first:start].strip():
        start, last = first, lines.start(span.line + 1)
    else:
        start = first + len(text[first:start].rstrip())
    edit = site.splice(start, last, "")
    site.page.sound.add(edit)
    return site.fix("take out the comment", Safety.SAFE, edit)
