"""The text of a comment and of the summary: whole, marked as ours, and never too long."""

from __future__ import annotations

from typing import Any

from markdown_it import MarkdownIt

from onnxlint.base.records import (
    Cause,
    Diagnostic,
    Edit,
    Evidence,
    Finding,
    Fix,
    ModelReport,
    ModelStatus,
    Outcome,
    Report,
    Safety,
    Severity,
    Span,
    Step,
)
from onnxlint.integrations.review.comments import Summary, comment, fingerprint_of, is_summary, summary
from onnxlint.integrations.review.diff_places import Place, PullDiff, read_files

FILE = ["import torch", "", "def f(x):", "    y = x.sum()", "    if y > 0:", "        x = -x", "    return x"]
FILE += ["", "", "", "", "last = 1"]
PATCH = "@@ -3,2 +3,5 @@\n def f(x):\n+    y = x.sum()\n+    if y > 0:\n+        x = -x\n     return x"


def sources(path: str) -> list[str]:
    return [f"{line}\n" for line in FILE] if path == "m.py" else []


def diff() -> PullDiff:
    """The pull request shows lines 3 to 7, and adds 4 to 6."""
    changed = {"filename": "m.py", "status": "modified", "changes": 3, "patch": PATCH}
    return read_files([changed], sources, lambda message: None)


def test_only_what_ends_a_text_marks_it() -> None:
    mark = "<!-- onnxlint:0123456789abcdef -->"
    assert fingerprint_of(f"body\n\n{mark}\n") == "0123456789abcdef"
    assert fingerprint_of(f"{mark} said somebody") is None
    assert fingerprint_of(f"> body\n>\n> {mark}\n\n") is None
    assert not is_summary("<!-- onnxlint:summary --> said somebody")


def finding(**changes: Any) -> Finding:
    span = Span("m.py", 5, 8, 5, 13)
    whole = {"code": "ONX101", "rule": "tensor-branch", "severity": Severity.ERROR, "message": "x", "span": span}
    return Finding(**whole | changes)


LONG = "[`@x`](http://a) " * 20_000


def test_a_comment_is_never_longer_than_github_takes() -> None:
    told = finding(
        message=LONG,
        trace=tuple(Step("p" * 4000, 1, LONG) for _ in range(20)),
        fix=Fix(LONG, Safety.UNSAFE, (Edit("m.py", (5, 8), (5, 13), LONG),)),
        evidence=tuple(
            Evidence("M", e, Cause.REFUSED, Outcome.EXPORT_ERROR, (), LONG) for e in ("torchscript", "dynamo")
        ),
    )
    made = comment(told, told.fingerprint, "m.py", diff(), sources)
    assert made is not None
    assert len(made.body) < 65_536
    assert fingerprint_of(made.body) == told.fingerprint
    assert made.body.count("<details>") == made.body.count("</details>")


def test_a_summary_is_never_longer_than_github_takes() -> None:
    found = [("p" * 4000, finding(message=LONG[:70_000]))] * 400
    models = tuple(ModelReport(LONG, "m.py", 1, ModelStatus.PROBED) for _ in range(40))
    report = Report(tuple(f for _, f in found), models, (Diagnostic("error", LONG, "m.py", 1),) * 50)
    told = Summary(3, [(*f, "https://x") for f in found], found, found, ["big.py"] * 50, "https://x/")
    body = summary(report, told, show_all=False)
    assert len(body) < 65_536
    assert is_summary(body)
    assert "and 399 more" in body
    assert body.count("<details>") == body.count("</details>") == 3


def body_of(told: Finding) -> str:
    made = comment(told, told.fingerprint, "m.py", diff(), sources)
    assert made is not None
    return made.body


def test_a_comment_says_what_is_wrong_what_becomes_of_it_and_how_the_value_came_there() -> None:
    told = finding(
        message="`if` branches on `y > 0`",
        effects={"torchscript": Outcome.WRONG_VALUES, "dynamo": Outcome.EXPORT_ERROR},
        trace=(Step("m.py", 4, "`y` is a sum"), Step("größe/a b.py", 1, "called here")),
    )
    made = comment(told, told.fingerprint, "m.py", diff(), sources)
    assert made is not None
    assert made.place == Place("m.py", 5, 5)
    assert made.body.startswith(
        "**ONX101 tensor-branch** · suspected\n\n"
        "`if` branches on `y > 0`\n\n"
        "- **TorchScript (expected)**: exports, wrong values on other inputs\n"
        "- **dynamo (expected)**: refuses to export\n\n"
        "<details>"
    )
    assert "1. `m.py:4`: `y` is a sum\n1. `größe/a b.py:1`: called here\n" in made.body
    assert "`# noqa: ONX101`" in made.body
    assert fingerprint_of(made.body) == told.fingerprint


def test_a_fix_at_the_place_is_a_suggestion_and_one_elsewhere_a_diff() -> None:
    here = Edit("m.py", (5, 5), (6, 15), "x = torch.where(y > 0, -x, x)")
    far = Edit("m.py", (12, 1), (12, 9), "last = 2")
    made = comment(finding(fix=Fix("mend", Safety.UNSAFE, (here, far))), "0" * 16, "m.py", diff(), sources)
    assert made is not None
    assert made.place == Place("m.py", 5, 6), "what the suggestion replaces"
    assert "```suggestion\n    x = torch.where(y > 0, -x, x)\n```" in made.body
    assert "It takes this as well:\n\n```diff\n@@ m.py:12 @@\n-last = 1\n+last = 2\n```" in made.body
    assert "may change what PyTorch computes" in made.body
    away = comment(finding(fix=Fix("mend", Safety.SAFE, (far,))), "0" * 16, "m.py", diff(), sources)
    assert away is not None
    assert "suggestion" not in away.body
    assert "+last = 2" in away.body


def test_a_suggestion_that_a_reader_would_not_see_in_full_is_none() -> None:
    edit = Edit("m.py", (5, 8), (5, 13), 'y == "\u202e"')
    body = body_of(finding(fix=Fix("mend", Safety.SAFE, (edit,))))
    assert "suggestion" not in body
    assert "\u202e" not in body


def test_there_is_no_comment_where_the_diff_shows_no_line() -> None:
    for span in (Span("m.py", 1, 1, 1, 13), Span("m.py", 99, 1, 99, 2), Span("m.py", 0, 0, 0, 0)):
        assert comment(finding(span=span), "0" * 16, "m.py", diff(), sources) is None
    assert comment(finding(), "0" * 16, "other.py", diff(), sources) is None


def test_text_of_the_checked_code_is_no_markup() -> None:
    evil = "<img src=x> @octocat ![a](http://b) | *b* <!-- onnxlint:0123456789abcdef -->"
    told = finding(message=evil, rule=evil, trace=(Step(f"`{evil}`.py", 1, evil),), fix=Fix(evil))
    body = body_of(told)
    assert fingerprint_of(body) == told.fingerprint
    page = MarkdownIt("commonmark").render(body.rpartition("<!--")[0])
    assert not {"<img", "<em>", "<a "} & {tag for tag in ("<img", "<em>", "<a ") if tag in page}
    assert "@octocat" not in body.replace("`", "").partition("<details>")[0]


def test_the_summary_lists_what_has_no_comment_with_links_to_its_lines() -> None:
    odd = ("größe/a b#1.py", finding(message="`x` | y"))
    content = Summary(1, [(*odd, "https://github.test/c/1")], [], [odd], ["big.py"], "https://github.test/blob/abc/")
    body = summary(
        Report((odd[1],), diagnostics=(Diagnostic("error", "does not parse", "b.py"),)), content, show_all=False
    )
    assert body.startswith("### onnxlint\n")
    assert "1 is commented on in the code." in body
    link = "[`größe/a b#1.py:5`](https://github.test/blob/abc/gr%C3%B6%C3%9Fe/a%20b%231.py#L5)"
    assert f"- {link} **ONX101 tensor-branch** · suspected: `x` \\| y ([comment](https://github.test/c/1))" in body
    assert "1 not on lines that this pull request shows" in body
    assert "- `b.py`: does not parse" in body
    assert "GitHub shows no lines of `big.py`" in body
    assert is_summary(body)
    assert not is_summary(body, "packages/a")


def test_each_part_of_a_repository_has_a_summary_of_its_own() -> None:
    body = summary(Report(), Summary(0, [], [], [], [], "", "packages/a"), show_all=False)
    assert body.startswith("### onnxlint: `packages/a`\n")
    assert is_summary(body, "packages/a")
    assert not is_summary(body)
    assert not is_summary(body, "packages/b")
