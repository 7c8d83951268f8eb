"""Text on its way into the page: escaped always, and every character that could turn or hide a line made visible."""

import re
from typing import Any

from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from onnxlint.report.common.words import plain, visible

_CODE = re.compile(r"`([^`]+)`")


def visibly(value: Any) -> Any:
    """What the template does to each value that it prints; that of markup was done when it was made."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def prose(text: str) -> Markup:
    """A message on one line, with what stands in backticks as code."""
    parts = enumerate(_CODE.split(plain(text)))
    return Markup("").join(Markup("<code>{}</code>").format(part) if n % 2 else escape(part) for n, part in parts)


def markdown(text: str) -> Markup:
    """A section of a rule's contract; HTML in it stays text, and it holds no images."""
    return Markup(MarkdownIt("commonmark", {"html": False}).enable("table").disable("image").render(text))
