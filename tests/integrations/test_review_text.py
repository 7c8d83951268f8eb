"""What a review says cannot be steered by the code that was checked; which lines can carry a comment."""

from __future__ import annotations

from typing import Any

import pytest

from onnxlint.integrations.review.comments import fingerprint_of, is_summary
from onnxlint.integrations.review.markdown import block, code, text
from onnxlint.integrations.review.places import Place, read_files

PATCH = """\
@@ -1,4 +1,5 @@
 import torch
-old = 1
+new = 1
+newer = 2
 last = 3
 more = 4
@@ -40,2 +41,3 @@ def f():
 a = 1
+b = 2
 c = 3
\\ No newline at end of file"""


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ("`x @a` by @octocat", "`x @a` by @\u200boctocat"),
        ("mail@host.org", "mail@host.org"),
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


def test_code_takes_as_many_backticks_as_it_needs() -> None:
    assert code("a`b") == "``a`b``"
    assert code("`") == "`` ` ``"
    assert code("a|b", cell=True) == "`a\\|b`"
    assert block("suggestion", ['x = """', "```", "````"]) == '`````suggestion\nx = """\n```\n````\n`````'


def test_only_what_ends_a_text_marks_it() -> None:
    mark = "<!-- onnxlint:0123456789abcdef -->"
    assert fingerprint_of(f"body\n\n{mark}\n") == "0123456789abcdef"
    assert fingerprint_of(f"{mark} said somebody") is None
    assert not is_summary("<!-- onnxlint:summary --> said somebody")


def entry(name: str, patch: str | None, **more: Any) -> dict[str, Any]:
    return {"filename": name, "status": "modified", "changes": 3} | ({"patch": patch} if patch else {}) | more


def test_lines_that_can_be_commented_on() -> None:
    diff = read_files([entry("m.py", PATCH)], print)
    assert diff.place("m.py", 2, 3) == Place("m.py", 2, 3)
    assert diff.place("m.py", 5, 30) == Place("m.py", 5, 5)
    assert diff.place("m.py", 30, 42) == Place("m.py", 41, 42)
    assert diff.place("m.py", 20, 30) is None
    assert diff.place("n.py", 2, 3) is None
    assert diff.whole("m.py", 1, 5) == Place("m.py", 1, 5)
    assert diff.whole("m.py", 5, 41) is None
    assert [n for n in range(1, 50) if diff.adds("m.py", n, n)] == [2, 3, 42]


def test_the_file_that_was_checked_has_to_be_the_one_that_is_shown() -> None:
    diff = read_files([entry("m.py", PATCH)], print)
    lines = ["import torch\r", "new = 1", "newer = 2", "last = 3"]
    assert diff.same(Place("m.py", 1, 4), lines)
    assert not diff.same(Place("m.py", 1, 4), ["import torch", "new = 2", "newer = 2", "last = 3"])
    assert not diff.same(Place("m.py", 1, 5), lines)


def test_files_without_a_text_of_the_change() -> None:
    warned: list[str] = []
    files = [
        entry("big.py", None),
        entry("moved.py", None, status="renamed", changes=0),
        entry("gone.py", PATCH, status="removed"),
        entry("odd.py", "@@ nothing @@"),
        entry("cut.py", PATCH[:60]),
    ]
    diff = read_files(files, warned.append)
    assert diff.unshown == {"big.py", "odd.py", "cut.py"}
    assert diff.hunks == {}
    assert len(warned) == 1
