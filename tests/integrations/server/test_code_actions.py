"""What the editor offers: fixes, suppressions, and all safe fixes at once; each leaves the text as it should be."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsp_editor import applied
from lsprotocol import types
from pygls.workspace import PositionCodec

from onnxlint.base.records import Edit, Finding, Fix, Safety, Severity, Span
from onnxlint.integrations.server.code_actions import FIX_ALL, UNUSED, Offer, Silence
from onnxlint.integrations.server.convert import Places
from onnxlint.integrations.server.projects import Document, Project
from onnxlint.source.annotate import AnnotateError

TEXT = "import torch\n\n\ndef f(x):\n    s = '🦊'; x = x.data\n    if x > 0:\n        return x.data\n    return -x\n"
ROOT = "/w/two words"
URI = "file:///w/two%20words/gr%C3%B6%C3%9Fe.py"


def offer(text: str = TEXT, *, versioned: bool = True, resolving: bool = False) -> Offer:
    document = Document(f"{ROOT}/größe.py", URI, 4, text)
    places = Places(text, PositionCodec(types.PositionEncodingKind.Utf16))
    return Offer(Project(ROOT, ROOT), document, places, versioned, resolving)


def finding(line: int, first: int, last: int, fix: Fix | None = None, code: str = "ONX404") -> Finding:
    span = Span("größe.py", line, first, line, last)
    return Finding(code, "rule", Severity.WARNING, "told", span, fix=fix)


def fix(line: int, first: int, last: int, text: str, safety: Safety = Safety.SAFE, path: str = "größe.py") -> Fix:
    return Fix("mend", safety, (Edit(path, (line, first), (line, last), text),))


SAFE = finding(5, 18, 24, fix(5, 18, 24, "x.detach()"))
ALSO = finding(7, 16, 22, fix(7, 16, 22, "x.detach()"))
UNSAFE = finding(6, 8, 13, fix(6, 8, 13, "x.any()", Safety.UNSAFE), "ONX101")


def after(action: types.CodeAction, text: str = TEXT) -> str:
    assert action.edit is not None
    (change,) = action.edit.document_changes or ()
    assert isinstance(change, types.TextDocumentEdit)
    assert (change.text_document.uri, change.text_document.version) == (URI, 4)
    return applied(text, list(change.edits))  # type: ignore[arg-type]


def test_a_safe_fix_is_preferred_and_an_unsafe_one_says_what_it_is() -> None:
    safe, unsafe = offer().fixes([SAFE, UNSAFE])
    assert (safe.title, safe.is_preferred) == ("ONX404: mend", True)
    assert after(safe) == TEXT.replace("'; x = x.data", "'; x = x.detach()")
    assert (unsafe.title, unsafe.is_preferred) == ("ONX101: mend (unsafe: may change what PyTorch computes)", None)
    assert after(unsafe) == TEXT.replace("x > 0", "x.any()")


def test_what_has_no_edit_or_one_elsewhere_or_one_of_another_text_is_not_offered() -> None:
    advice = finding(5, 1, 2, Fix("write it otherwise"))
    elsewhere = finding(5, 1, 2, fix(5, 1, 2, "y", path="other.py"))
    behind = finding(5, 1, 2, fix(99, 1, 2, "y"))
    assert offer().fixes([finding(5, 1, 2), advice, elsewhere, behind]) == []
    assert offer().fix_all([advice, elsewhere, behind, UNSAFE]) == []


def test_all_that_is_safe_is_one_action_and_what_overlaps_is_left_for_the_next_time() -> None:
    overlapping = finding(7, 16, 22, fix(7, 18, 22, "y"), "ONX405")
    (action,) = offer().fix_all([SAFE, UNSAFE, ALSO, overlapping])
    assert action.kind == FIX_ALL
    assert after(action) == TEXT.replace("x.data", "x.detach()")


def test_the_edit_has_the_line_ends_of_the_document() -> None:
    text = TEXT.replace("\n", "\r\n")
    (action,) = offer(text).fixes([finding(8, 5, 14, fix(8, 5, 14, "y = -x\n    return y"))])
    assert after(action, text) == text.replace("    return -x", "    y = -x\r\n    return y")


def test_an_editor_without_versions_gets_plain_changes() -> None:
    (action,) = offer(versioned=False).fixes([SAFE])
    assert action.edit is not None
    assert list(action.edit.changes or {}) == [URI]


def test_a_suppression_for_each_code_and_line_but_none_of_suppressions() -> None:
    again = finding(6, 8, 9, code="ONX101")
    actions = offer().suppressions([UNSAFE, again, SAFE, finding(6, 1, 2, code=UNUSED)])
    assert [action.title for action in actions] == [
        f"{code}: suppress it here with `# noqa`" for code in ("ONX101", "ONX404")
    ]
    assert len(actions[0].diagnostics or ()) == 2
    assert after(actions[0]) == TEXT.replace("> 0:\n", "> 0:  # noqa: ONX101\n")
    assert after(actions[1]) == TEXT.replace("x.data\n    if", "x.data  # noqa: ONX404\n    if")


def test_an_editor_that_can_ask_gets_the_edit_when_it_chooses() -> None:
    made = offer(resolving=True)
    (action,) = made.suppressions([SAFE])
    assert action.edit is None
    assert action.data is not None
    assert Silence(**action.data) == Silence(URI, 4, 5, "ONX404")
    action.edit = made.silence(5, "ONX404")
    assert "x.data  # noqa: ONX404\n    if" in after(action)


def test_a_line_that_can_hold_no_comment_is_refused_with_a_reason() -> None:
    with pytest.raises(AnnotateError, match="part of no statement"):
        offer().silence(2, "ONX101")
    with pytest.raises(AnnotateError):
        offer("def f(:\n").silence(1, "ONX101")
    assert offer().suppressions([finding(2, 1, 1)]) == []


def test_a_document_in_another_encoding_stays_in_it(tmp_path: Path) -> None:
    text = "# coding: latin-1\nx = 'größe'\n"
    (action,) = offer(text).suppressions([finding(2, 1, 2)])
    assert after(action, text) == text.replace("'\n", "'  # noqa: ONX404\n")
