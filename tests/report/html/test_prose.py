"""Text on its way into the page is text there, whatever it holds."""

from __future__ import annotations

import pytest
from markupsafe import Markup

from onnxlint.report.html.prose import markdown, prose, visibly


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("a < b & \"c\" 'd'", "a &lt; b &amp; &#34;c&#34; &#39;d&#39;"),
        ("`x[0] < 1` is", "<code>x[0] &lt; 1</code> is"),
        ("one ` alone", "one ` alone"),
        ("nothing `` in it", "nothing `` in it"),
        ("größer als `画像`", "größer als <code>画像</code>"),
        ("<b>`<i>`</b>", "&lt;b&gt;<code>&lt;i&gt;</code>&lt;/b&gt;"),
    ],
)
def test_a_message_is_escaped_and_what_is_in_backticks_is_code(text: str, shown: str) -> None:
    assert prose(text) == shown


def test_a_message_is_one_line_without_colours() -> None:
    assert prose("\x1b[31mfailed\x1b[0m\nat\r\n`x`") == "failed at <code>x</code>"


def test_characters_that_turn_or_hide_text_become_visible_and_markup_stays() -> None:
    assert "\u202e" not in visibly("a\u202eb")
    made = Markup("<i>\u202e</i>")
    assert visibly(made) is made
    assert visibly(3) == 3


def test_a_contract_has_headings_code_and_tables_and_no_html_or_image_of_its_own() -> None:
    page = markdown("## Why\n\n- `a < b`\n\n```python\nif x < 1: pass\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n")
    for part in ("<h2>Why</h2>", "<code>a &lt; b</code>", "if x &lt; 1: pass", "<td>2</td>"):
        assert part in page
    hostile = markdown("<script>x</script> ![p](http://e.org/p.png) [l](javascript:alert(1))")
    assert "<script" not in hostile
    assert "<img" not in hostile
    assert 'href="javascript' not in hostile
