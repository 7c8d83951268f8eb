"""What rules show of several places with one cause."""

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from analysing import PRELUDE

from onnxlint.base.records import Severity
from onnxlint.config.settings import Settings
from onnxlint.run.pipeline import run_check
from onnxlint.run.same_cause import one_per_cause

Lines = Callable[[str, str], list[int]]

HEAD = """\
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin, self.table = nn.Linear(4, 4), [[1], [2]]
    def forward(self, x: Tensor, i: Tensor, kind="a"):
"""


@pytest.fixture
def lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lines:
    """What gives the lines of a forward at which a rule is shown, the first of the body being 1."""
    monkeypatch.chdir(tmp_path)

    def shown(body: str, code: str) -> list[int]:
        head = PRELUDE + HEAD
        (tmp_path / "model.py").write_text(head + textwrap.indent(textwrap.dedent(body).strip(), " " * 8) + "\n")
        report = one_per_cause(run_check([Path()], Settings(root=tmp_path, static_only=True, cache=False)))
        found = [f for f in report.findings if f.code == code and f.severity is not Severity.NOTE]
        return sorted(f.span.line - head.count("\n") for f in found)

    return shown


def test_a_question_is_told_once_however_often_it_is_asked(lines: Lines) -> None:
    body = "low = x.max() < 1\nif low:\n    x = x + 1\ny = x * 2\nif low:\n    y = y * 3\nreturn y"
    assert lines(body, "ONX101") == [2]
    assert lines(body.replace("if low", "if x.max() < 1"), "ONX101") == [2]
    assert lines(body.replace("if low:\n    y", "if y.max() < 1:\n    y"), "ONX101") == [2, 5]


def test_a_size_cut_off_at_zero_is_no_more_than_a_note_where_it_is_the_longer_one(lines: Lines) -> None:
    body = "y = F.pad(x, (0, max({}, 0)))\nreturn y if x.sum() > 0 else -y"
    assert lines(body.format("x.shape[0] - 4"), "ONX202") == []
    assert lines(body.format("4 - x.shape[0]"), "ONX202") == [1]  # 0 for every input that is as long as the example


def test_whether_an_axis_is_a_multiple_of_itself_depends_on_the_other_factor_alone(lines: Lines) -> None:
    body = "y = x.unsqueeze(1).repeat(1, i.size(1), 1).flatten(0, 1)\nif {} != y.size(0):\n    y = y * 2\n"
    body += "return y if x.sum() > 0 else -y"
    assert lines(body.format("x.size(0)"), "ONX114") == []  # of an axis that nobody said is dynamic
    assert lines(body.format("x.size(0) // 2"), "ONX114") == [2]


def test_data_whose_class_is_asked_is_not_told(lines: Lines) -> None:
    assert lines("return i.type(type(x.data)) + x", "ONX411") == []
    assert lines("return i.type(x.dtype) + x.data", "ONX411") == [1]


def test_a_count_of_equal_parts_leaves_no_rest_of_what_is_cut_from_the_end(lines: Lines) -> None:
    assert lines("return x[-x.shape[0] // self.parts :]", "ONX217") == []
    assert lines("return x[-x.shape[0] // 2 :]", "ONX217") == [1]
    assert lines("return x[: x.shape[0] + (-x.shape[0] // self.parts)]", "ONX217") == [1]


def test_data_that_leaves_torch_at_once_is_told_by_what_takes_it_out(lines: Lines) -> None:
    body = "return x + torch.from_numpy(x.data.cpu().numpy()){}"
    assert [lines(body.format(""), code) for code in ("ONX402", "ONX411")] == [[1], []]
    assert lines(body.format(" + x.data"), "ONX411") == [1]


def test_a_look_up_is_told_once(lines: Lines) -> None:
    body = "a = torch.as_tensor(self.table[i.sum()])\nb = torch.as_tensor(self.table[{}])\nreturn x * a * b"
    assert lines(body.format("i.sum()"), "ONX111") == [1]
    assert lines(body.format("x.sum()"), "ONX111") == [1, 2]


def test_what_lowers_nowhere_is_told_once_for_a_class_by_its_name(lines: Lines) -> None:
    assert lines("a = torch.kthvalue(x, 1)[0]\nreturn a + torch.kthvalue(x, 2)[0]", "ONX404") == [1]
    assert lines("a = torch.kthvalue(x, 1)[0]\nreturn a + x.median()", "ONX404") == [1, 2]
    assert lines("a = torch.sparse.mm(x, x)\nreturn torch.sparse.mm(a, x)", "ONX420") == [1]


def test_a_size_in_a_list_of_attributes_stops_torchscript_where_the_batch_alone_is_dynamic(lines: Lines) -> None:
    body = "y = {}\nreturn y if x.sum() > 0 else -y"
    assert lines(body.format("F.max_pool2d(x, (x.size(2), x.size(3)))"), "ONX211") == [1]
    assert lines(body.format("torch.roll(x, (x.size(2) // 2, 1), (2, 3))"), "ONX211") == [1]
    assert lines(body.format("F.max_pool2d(x, x.size(2))"), "ONX211") == []  # one number is written as it is
    assert lines(body.format("F.conv2d(x, i, padding=(x.size(2), 1))"), "ONX211") == []


def test_a_factor_from_a_size_stops_torchscript_whatever_is_dynamic(lines: Lines) -> None:
    body = "y = F.interpolate(x, scale_factor=8 / x.shape[2]{})\nreturn y if x.sum() > 0 else -y"
    assert lines(body.format(""), "ONX214") == [1]
    assert lines(body.format(", recompute_scale_factor=True"), "ONX214") == []


PADDED = """
n = x.shape[0]
extra = math.ceil(n / self.lin.in_features) * self.lin.in_features - n
if n <= {limit}:
    x = F.pad(x, (0, 0, 0, 3))
return x if x.sum() > 0 else -x
"""


def test_a_guard_for_what_is_shorter_than_its_own_padding_is_a_note(lines: Lines) -> None:
    assert lines(PADDED.format(limit="max(2, extra)"), "ONX106") == []
    assert lines(PADDED.format(limit="i.shape[1]"), "ONX106") == [3]  # of another tensor: that is to match
    assert lines(PADDED.format(limit="max(y.shape[0] for y in (x, i))"), "ONX106") == [3]  # so is the longest of many
