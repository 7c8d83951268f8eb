"""What a review says cannot be steered by the code that was checked."""

from __future__ import annotations

import html

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from onnxlint.integrations.review.markdown import block, code, text
from onnxlint.report.common.words import clean


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ("`x @a` by @octocat", "`x @a` by @\u200boctocat"),
        ("mail@host.org", "mail@host.org"),
        ("&#64;octocat &lt;b&gt; $x$", "\\&\\#\u200b64;octocat \\&lt;b\\&gt; \\$x\\$"),
        ("é@octocat", "é@\u200boctocat"),
        ("see #12 and GH-3", "see \\#\u200b12 and GH-\u200b3"),
        ("<img src=x>![a](http://b)", "\\<img src=x\\>\\!\\[a\\]\\(http://\u200bb\\)"),
        ("one ` alone and _this_", "one \\` alone and \\_this\\_"),
        ("a\n\n# title", "a \\# title"),
        ("<!-- onnxlint:0123456789abcdef -->", "\\<\\!-- onnxlint:0123456789abcdef --\\>"),
        ("\x1b[31mred\u202e", "␛\\[31mred\\\\u202e"),
    ],
)
def test_text_is_shown_as_it_is(told: str, shown: str) -> None:
    assert text(told) == shown


MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])


@given(st.text(st.sampled_from("ab 1.)-=+*_~`#>|&;<!:[]($@\\/\"'\t"), max_size=14))
@example("- a")
@example("1. a")
@example("===")
def test_what_is_shown_is_what_was_told(told: str) -> None:
    assume(told.strip() and told.count("`") < 2)
    shown = MARKDOWN.render(f"one\n\n{text(told)}").removeprefix("<p>one</p>\n")
    assert html.unescape(shown.replace("\u200b", "")) == f"<p>{clean(told)}</p>\n"


def test_code_takes_as_many_backticks_as_it_needs() -> None:
    assert code("a`b") == "``a`b``"
    assert code("`") == "`` ` ``"
    assert code("a|b", cell=True) == "`a\\|b`"
    assert block("suggestion", ['x = """', "```", "````"]) == '`````suggestion\nx = """\n```\n````\n`````'
