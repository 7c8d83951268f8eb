"""A suppression that silences nothing is taken out wherever a comment may stand, and nothing else with it."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest
from applying import lint

from onnxlint.base.edits import apply_edits
from onnxlint.rules.engine.fixes import with_fixes
from onnxlint.rules.engine.source_page import Page

TEXT = '''\
"""About it."""
import torch


def before(f):
    return f


@before
@before
class M(torch.nn.Module):
    """A text.

    # of several lines
    """

    def forward(
        self, x,
        y=(1,
           2),
    ):
        é = "ä"; z = x
        if z is None:
            z = torch.cat(
                [
                    z,
                    z
                ], dim=1
            )
        else:
            pass
        try:
            z = z[
                0:1
            ]
        except (ValueError,
                TypeError):
            pass
        finally:
            pass
        match y:
            case 1:
                pass
        return {
            "z": z,
            **{}
        }


x = 1
'''
ROWS = TEXT.splitlines()
NEEDLESS = {
    "all of it": ("# noqa: ONX402", ""),
    "with what follows": ("# NOQA:ONX402, ONX403 because of that", ""),
    "between others": ("# one # onnxlint: ignore[ONX402] # other", "# one # other"),
    "behind another": ("# type: ignore  # onnxlint: ignore[ONX402]", "# type: ignore"),
    "one code": ("# noqa: ONX402,E501", "# noqa: E501"),
    "before another": ("# onnxlint: ignore[ONX402, B1] # other", "# other"),
}


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("name", NEEDLESS)
def test_a_needless_suppression_is_taken_out_of_any_line(name: str, newline: str, tmp_path: Path) -> None:
    comment, rest = NEEDLESS[name]
    expected: dict[str, str] = {}
    for at, row in enumerate(ROWS):
        for kind, new in (
            ("behind", [f"{row}  {comment}"]),
            ("above", [comment, row]),
            ("in", [f"    {comment}", row]),
        ):
            text = "\n".join([*ROWS[:at], *new, *ROWS[at + 1 :], ""])
            if ast.dump(ast.parse(text)) != ast.dump(ast.parse(TEXT)) or (kind == "behind" and not row):
                continue  # it is no comment there, or one on a line of its own
            last = new[0].replace(comment, rest).rstrip()
            kept = [last, *new[1:]] if rest or kind == "behind" else new[1:]
            path = tmp_path / f"{kind}_{at}.py"
            path.write_bytes(newline.join(text.split("\n")).encode())
            expected[path.name] = newline.join([*ROWS[:at], *kept, *ROWS[at + 1 :], ""])
    assert len(expected) > 2 * len(ROWS)
    for finding in lint(tmp_path, ("ONX901",)):
        path = tmp_path / Path(finding.span.path).name
        if finding.fix is not None and path.name in expected:
            assert apply_edits(path.read_bytes().decode(), finding.fix.edits) == expected.pop(path.name), path.name
    assert expected == {}


def test_the_fix_does_not_hang_on_the_words_of_the_message(tmp_path: Path) -> None:
    path = tmp_path / "one.py"
    path.write_text("import torch\n\nx = 1  # noqa: ONX402, E501 `ONX999`\n")
    (finding,) = lint(tmp_path, ("ONX901",))
    page = Page(finding.span.path, path.read_text())
    (reworded,) = with_fixes([replace(finding, message="`E501` is needed", fix=None)], page)
    assert reworded.fix == finding.fix
    assert finding.fix is not None
    assert apply_edits(page.text, finding.fix.edits) == "import torch\n\nx = 1  # noqa: E501 `ONX999`\n"
