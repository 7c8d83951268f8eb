"""One cause, one finding: what is shown as one, what stays apart, and what goes by each finding of its own."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from onnxlint.base.records import (
    Cause,
    Evidence,
    Finding,
    Outcome,
    Report,
    Severity,
    Sides,
    Span,
    Step,
    VerdictKind,
)
from onnxlint.config.settings import Settings
from onnxlint.report import render
from onnxlint.report.common import words
from onnxlint.run.pipeline import run_check
from onnxlint.run.same_cause import one_per_cause

COMPLEX = """\
import torch

def spectrum(x):
    return torch.stft(x, 64, return_complex=True)

class lower(torch.nn.Module):
    def again(self, z):
        return torch.fft.irfft(z)

    def forward(self, x):
        y = torch.fft.rfft(x)
        z = torch.complex(y.real, torch.zeros_like(y))
        return self.again(z)

class Other(torch.nn.Module):
    def forward(self, x):
        return torch.view_as_real(spectrum(x)), torch.fft.rfft(x)
"""
FOLLOWING = """\
import torch

def halved(z):
    return torch.complex(z.real / 2, z.imag / 2)

class Part(torch.nn.Module):
    def forward(self, x):
        y = torch.fft.rfft(x)
        return halved(y).abs()

class Apart(torch.nn.Module):
    def forward(self, re, im):
        return torch.complex(re, im).abs()
"""
LOOPS = """\
import torch

class M(torch.nn.Module):
    def forward(self, x):
        b, t, d = x.shape
        rows = [x[i].sum() for i in range(b)]
        steps = [x[:, i].sum() for i in range(t)]
        more = [row.mean() for row in x]
        for i in range(t):
            steps.append(x[:, i].mean())
        return torch.stack(rows + more), torch.stack(steps)

def export():
    names = {"x": {0: "batch", 1: "time"}}
    torch.onnx.export(M(), (torch.zeros(2, 3, 4),), "m.onnx", input_names=["x"], dynamic_axes=names, dynamo=False)
"""
SIZES = """\
import torch

class M(torch.nn.Module):
    def forward(self, x):
        shapes = torch.as_tensor([(x.shape[2], x.shape[3])])
        areas = [h * w for h, w in shapes]
        for i, (h, w) in enumerate(shapes):
            x = x.view(-1, h, w)
        return x, areas
"""
DATA = """\
import torch

class M(torch.nn.Module):
    def forward(self, x):
        a = x.data * 2
        return self.later(a + x[:, 0].data)

    def later(self, x):
        return x.data + x.data.new(4).zero_()
"""
CALLS = """\
import torch

def export(m, x):
    torch.onnx.export(m, x, "a.onnx", dynamo=False, dynamic_axes={}, example_outputs=x)
    torch.onnx.export(m, x, "b.onnx", dynamo=False, dynamic_axes={}, example_outputs=x)

def later(m, x):
    torch.onnx.export(m, x, "c.onnx", dynamo=False, dynamic_axes={}, example_outputs=x)
"""
FROZEN = """\
import torch

class M(torch.nn.Module):
    def forward(self, x):
        n = int((x > 0).sum())
        if n == 0:
            return x
        h = int(x.shape[1])
        for i in range(h):
            x = x + i
        for i in range(n):
            x = x * 2
        if x.sum() > h:
            x = x.reshape(n, h)
        return x[:n]

def export():
    names = {"x": {0: "batch", 1: "time"}}
    torch.onnx.export(M(), (torch.zeros(2, 3),), "m.onnx", input_names=["x"], dynamic_axes=names, dynamo=False)
"""
ALIKE = """\
import numpy as np
import torch

class M(torch.nn.Module):
    def forward(self, x, y):
        h, w = int(np.log(x.shape[1])), int(np.log(y.shape[1]))
        h = h if h < x.shape[1] else 2
        rows = torch.split(x, 4, dim=1)
        columns = torch.split(y, 4, dim=1)
        more = torch.chunk(x, self.n, dim=1)
        for i in range(len(columns)):
            x = x + columns[i].sum()
        for row in rows:
            x = x + row.mean()
        return x[:, :h], y[:, :w], more

def export():
    names = {"x": {0: "batch", 1: "time"}, "y": {0: "batch", 1: "time"}}
    inputs = torch.zeros(2, 9), torch.zeros(2, 9)
    torch.onnx.export(M(), inputs, "m.onnx", input_names=["x", "y"], dynamic_axes=names, dynamo=False)
"""
NESTED = """\
import torch

class M(torch.nn.Module):
    def forward(self, x, y):
        if x.sum() > 0:
            if x.max() > 1:
                x = x * 2
        else:
            if x.min() > 2:
                x = x * 3
        if y.sum() > 0:
            y = y * 2
        for row in x:
            if row.sum() > 1:
                y = y + row
        for row in y:
            if row.sum() > 3:
                break
            x = x + row

        for i in range(y.shape[0]):
            x = x[min(i + 3, y.shape[0]) :]
        def inner(z):
            return z * 2

        return x[: int(y.shape[1])] + inner(y)

def export():
    names = {"x": {0: "batch", 1: "time"}, "y": {0: "batch", 1: "time"}}
    inputs = torch.zeros(9, 9), torch.zeros(9, 9)
    torch.onnx.export(M(), inputs, "m.onnx", input_names=["x", "y"], dynamic_axes=names, dynamo=False)
"""
TRAINING = """\
import torch

class M(torch.nn.Module):
    def forward(self, x):
        return (x, x * 2) if self.training else x

def export(dynamic):
    model = M()
    if dynamic:
        torch.onnx.export(model, (torch.zeros(2, 3),), "m.onnx", dynamic_axes={"x": {0: "b"}}, input_names=["x"])
    else:
        torch.onnx.export(model, (torch.zeros(2, 3),), "m.onnx", dynamic_axes={})
"""


@pytest.fixture
def check(tmp_path, monkeypatch):
    def run(text: str) -> Report:
        monkeypatch.chdir(tmp_path)
        (tmp_path / "m.py").write_text(text, encoding="utf-8")
        return run_check([Path("m.py")], Settings(root=tmp_path, static_only=True, cache=False))

    return run


def places(report: Report, *codes: str) -> list[tuple[int, list[int]]]:
    return [(f.span.line, [s.line for s in f.also]) for f in report.findings if f.code in codes]


def test_complex_numbers_are_one_finding_for_a_class_or_a_plain_function(check):
    report = check(COMPLEX)
    assert len(places(report, "ONX407")) > 5
    merged = one_per_cause(report)
    assert [line for line, _ in places(merged, "ONX407")] == [4, 8, 17]
    head = next(f for f in merged.findings if f.span.line == 8)
    assert [s.line for s in head.also] == [11, 12, 12]
    assert set(head.effects) == {"torchscript", "dynamo"}


def test_complex_numbers_that_come_through_a_line_of_another_finding_are_listed_there(check):
    merged = one_per_cause(check(FOLLOWING))
    assert places(merged, "ONX407") == [(8, [4]), (13, [])]


def test_tensors_that_a_function_takes_out_of_the_trace_are_one_finding(check):
    merged = one_per_cause(check(DATA))
    assert places(merged, "ONX411") == [(5, [6]), (9, [])]


REPEATED = """
import torch

class M(torch.nn.Module):
    def forward(self, x, edges):
        a = torch.inverse(x)
        b = x.inverse() + a
        if x[0, 0] > 1:
            b = b + 1
        elif x[0, 0] < -1:
            b = b - 1
        if b[0, 0] > 1:
            b = b + 1
        rows = b.reshape(-1, 4)
        rows[..., 0][x[0] > 0] = 0
        rows[..., 1][x[0] > 1] = 1
        return rows + self.spread(edges, b)

    def spread(self, edges, b):
        return torch.sparse.mm(edges, b)

def adjacency(edges, values):
    return torch.sparse_coo_tensor(edges, values)

class N(torch.nn.Module):
    def forward(self, edges, values):
        return adjacency(edges, values).to_dense()
"""


def test_what_is_wrong_for_one_reason_in_a_function_class_or_file_is_one_finding(check):
    merged = one_per_cause(check(REPEATED))
    assert places(merged, "ONX101") == [(8, [10]), (12, [])]
    assert places(merged, "ONX404") == [(6, [7])]
    assert places(merged, "ONX406") == [(15, [16])]
    ((first, others),) = places(merged, "ONX420")
    assert first == 20
    assert 23 in others


def test_loops_over_the_sizes_in_a_tensor_are_one_finding_for_a_function(check):
    assert places(one_per_cause(check(SIZES)), "ONX104") == [(6, [7])]


def test_a_loop_over_another_axis_is_another_cause(check):
    merged = one_per_cause(check(LOOPS))
    assert places(merged, "ONX104", "ONX107") == [(6, [8]), (7, [9])]


def test_assertions_of_one_function_are_one_finding(check):
    body = "        assert not x.min() > 0\n        if x.max() > 9:\n            raise ValueError\n        return x\n"
    merged = one_per_cause(check(f"import torch\n\nclass M(torch.nn.Module):\n    def forward(self, x):\n{body}"))
    assert places(merged, "ONX103") == [(5, [6])]


def test_branches_on_one_axis_in_a_function_are_one_finding(check):
    body = "        b, c, h, w = x.shape\n        if b > 8:\n            x = x * 2\n"
    body += "        if h > 8:\n            x = x.tanh()\n"
    body += "        while b > 16:\n            x, b = x.exp(), b - 1\n        return x\n"
    merged = one_per_cause(check(f"import torch\n\nclass M(torch.nn.Module):\n    def forward(self, x):\n{body}"))
    assert places(merged, "ONX106") == [(6, [10]), (8, [])]


CACHED = """
import torch

class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.calls = None, 0

    def forward(self, x, y):
        n = x.shape[1]
        if self.table is None or n > self.table.shape[0]:
            self.table = torch.arange(n)
        return x + self.table[:n], self.halved(y)

    def halved(self, y):
        if y.shape[1] > 4:
            self.wide = y.shape[0]
            y = y / 2
        return y
"""


def test_the_test_for_what_is_kept_is_listed_where_it_is_kept(check):
    """A branch whose arm keeps something else is a finding of its own."""
    shown = one_per_cause(check(CACHED)).findings
    assert [(f.code, f.span.line, [s.line for s in f.also]) for f in shown if f.code in ("ONX106", "ONX204")] == [
        ("ONX204", 12, [11]),
        ("ONX106", 16, []),
    ]


def test_calls_with_the_same_removed_argument_are_one_finding_for_a_file(check):
    merged = one_per_cause(check(CALLS))
    assert places(merged, "ONX507") == [(4, [5, 8])]


def test_two_axes_of_an_export_call_are_two_findings():
    found = [
        finding(4, code="ONX502", about="", message=f"axis {axis} of `x` is asked for as dynamic") for axis in (0, 2)
    ]
    assert one_per_cause(Report(findings=tuple(found)), lambda path: []).findings == tuple(found)


def test_export_calls_of_which_the_same_is_said_but_for_opsets_are_one_finding(check):
    """Of an opset that is converted, however badly, other words are said."""
    call = "    torch.onnx.export(M().eval(), torch.zeros(2, 3), 'f', opset_version={}, dynamic_shapes=({{0: 'b'}},))\n"
    model = (
        "import torch\nfrom torch import nn\n\nclass M(nn.Module):\n    def forward(self, x):\n        return x + 1\n"
    )
    merged = one_per_cause(check(f"{model}\ndef run():\n{''.join(map(call.format, (11, 12, 16)))}"))
    assert places(merged, "ONX506") == [(9, [10]), (11, [])]


def test_the_uses_of_a_frozen_number_are_listed_where_it_is_frozen(check):
    merged = one_per_cause(check(FROZEN))
    shown = [(f.code, f.span.line, [s.line for s in f.also]) for f in merged.findings if f.span.line < 16]
    assert shown == [("ONX401", 5, [6, 11]), ("ONX202", 8, [9]), ("ONX101", 13, [])]


def test_numbers_that_a_function_freezes_alike_are_one_finding_and_so_are_splits_with_their_loops(check):
    merged = one_per_cause(check(ALIKE))
    shown = [(f.code, f.span.line, [s.line for s in f.also]) for f in merged.findings if f.span.line < 16]
    assert shown == [("ONX202", 6, [7]), ("ONX209", 8, [9, 11, 13]), ("ONX209", 10, [])]


def test_what_stands_in_the_block_of_a_branch_or_a_loop_is_listed_there(check):
    report = one_per_cause(check(NESTED), lambda _: NESTED.splitlines())
    seen = places(report, "ONX101", "ONX104", "ONX107", "ONX109", "ONX202")
    assert seen == [(5, [6]), (9, []), (11, []), (13, [16, 17, 21, 22]), (14, []), (26, [])]


def test_two_exports_of_a_model_in_train_mode_are_one_finding_for_a_function(check):
    merged = one_per_cause(check(TRAINING))
    assert places(merged, "ONX301") == [(10, [12])]


def test_a_silenced_member_is_not_listed_and_a_silenced_first_one_hides_no_other(check):
    line = "        return torch.fft.irfft(z)"
    merged = one_per_cause(check(COMPLEX.replace(line, f"{line}  # noqa: ONX407")))
    assert places(merged, "ONX407") == [(4, []), (11, [12, 12]), (17, [17])]
    assert not places(merged, "ONX901")


def finding(line: int, code: str = "ONX407", **fields: object) -> Finding:
    made = Finding(code, "rule", Severity.WARNING, "m", Span("a.py", line, 1, line, 5), "a.f", about="a.f x")
    return replace(made, **fields)


def test_the_most_certain_finding_is_shown_with_the_verdict_and_the_effects_of_all():
    first = finding(1, effects={"dynamo": Outcome.OK})
    second = finding(2, verdict=VerdictKind.CONFIRMED, severity=Severity.ERROR, effects={"torchscript": Outcome.CRASH})
    third = finding(3, effects={"dynamo": Outcome.TIMEOUT})
    (shown,) = one_per_cause(Report(findings=(first, second, third))).findings
    assert (shown.span, shown.also) == (second.span, (first.span, third.span))
    assert shown.effects == {"torchscript": Outcome.CRASH, "dynamo": Outcome.TIMEOUT}


def test_evidence_of_all_is_listed_once_whoever_disagrees_in_it():
    sides = Sides((("PyTorch",),), {"ONNX Runtime": "no"}, {"ONNX reference": "not tried"})
    evidence = Evidence("m", "torchscript", Cause.ESCAPE, Outcome.WRONG_VALUES, (), "d", inputs={"x": "0"}, sides=sides)
    (shown,) = one_per_cause(Report(findings=tuple(finding(n, evidence=(evidence,)) for n in (1, 2)))).findings
    assert shown.evidence == (evidence,)


def test_what_is_hidden_stays_what_it_is():
    note, refuted = finding(1, severity=Severity.NOTE), finding(2, verdict=VerdictKind.NOT_REPRODUCED)
    report = Report(findings=(note, refuted, finding(3)))
    assert one_per_cause(report) == report


def test_what_an_exporter_says_of_packing_belongs_to_the_packed_sequence():
    packed = finding(5, "ONX418", about="a.f packed sequence")
    refused = finding(4, "ONX702", about="", text="pack_padded_sequence(x, n)", verdict=VerdictKind.CONFIRMED)
    other = finding(6, "ONX704", about="", text="x.unpack_later()")
    shown = one_per_cause(Report(findings=(refused, packed, replace(other, text="n.cpu()")))).findings
    assert [(f.code, f.verdict, f.also) for f in shown] == [
        ("ONX418", VerdictKind.CONFIRMED, (refused.span,)),
        ("ONX704", VerdictKind.SUSPECTED, ()),
    ]


@pytest.mark.parametrize("text", ["rows = pack_rows(x)", "n = n.cpu()"])
def test_what_an_exporter_says_of_another_call_stays_apart(text: str):
    packed = finding(5, "ONX418", about="a.f packed sequence")
    other = finding(4, "ONX702", about="", text=text, verdict=VerdictKind.CONFIRMED)
    elsewhere = finding(9, "ONX702", about="", text="pack_sequence(x)", symbol="a.g", verdict=VerdictKind.CONFIRMED)
    report = Report(findings=(other, packed, elsewhere))
    assert one_per_cause(report) == report


def test_of_two_rules_on_one_cause_the_one_that_stands_first_is_shown():
    opset, axes = finding(1, "ONX506"), finding(2, "ONX503")
    (shown,) = one_per_cause(Report(findings=(opset, axes))).findings
    assert (shown.code, shown.also) == ("ONX506", (axes.span,))


def test_every_format_names_the_other_places():
    (shown,) = one_per_cause(Report(findings=(finding(1), finding(2), finding(2, "ONX404"), finding(7)))).findings
    assert [span.line for span in shown.also] == [2, 7]
    report = Report(findings=(shown,))

    def rendered(form: str) -> str:
        return render(report, form, color=False, width=100, show_all=False, sources=None, catalogue={})

    assert re.search(r"also at +lines 2 and 7\n", rendered("full"))
    assert "m; also at lines 2 and 7 [suspected]" in rendered("concise")
    assert "Also at lines 2 and 7." in rendered("github")
    assert [place["line"] for place in json.loads(rendered("json"))["findings"][0]["also"]] == [2, 7]
    related = json.loads(rendered("sarif"))["runs"][0]["results"][0]["relatedLocations"]
    assert [place["physicalLocation"]["region"]["startLine"] for place in related] == [2, 7]


def test_the_file_with_the_worst_finding_that_is_nearest_to_an_export_comes_first():
    def at(path: str, *, calls: int = 0, **fields: object) -> Finding:
        trace = tuple(Step(path, 1, "passed to `f` as `x`") for _ in range(calls))
        return finding(1, span=Span(path, 1, 1, 1, 5), trace=trace, **fields)

    findings = (at("a.py"), at("b.py", severity=Severity.ERROR, calls=2), at("c.py", severity=Severity.ERROR, calls=1))
    text = render(Report(findings=findings), "full", color=False, width=100, show_all=False, sources=None, catalogue={})
    assert re.findall(r"--> (\w)\.py", text) == ["c", "b", "a"]


COPIED = """\
import torch

class Sampler(torch.nn.Module):
    def forward(
        self, x
    ):
        start = torch.randint(0, x.shape[0], (1,))

        return x[start]

class Other(torch.nn.Module):
    def forward(self, x):
        return x + torch.randint(0, 9, (1,))
"""


def test_of_a_definition_that_files_have_word_by_word_one_finding_is_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = {
        "lib/sampling.py": COPIED,
        "lib/__init__.py": "",
        "a/b/sampling.py": COPIED.replace("import torch", "import torch\n\n\n"),
        "sampling/old.py": COPIED.replace("(0, 9,", "(1, 9,").replace("class Other", "# on\nclass Other"),
        "sampling/other.py": COPIED.replace("return x[start]", "return x[start + 0]").replace("(0, 9", "(2, 9"),
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    report = run_check([Path()], Settings(root=tmp_path, static_only=True, cache=False))
    merged = one_per_cause(report)
    shown = {
        (f.span.path, f.span.line): [(s.path, s.line) for s in f.also]
        for f in merged.findings
        if f.code == "ONX305" and f.severity is not Severity.NOTE
    }
    assert shown == {
        ("lib/sampling.py", 7): [("sampling/old.py", 7), ("a/b/sampling.py", 10)],
        ("lib/sampling.py", 13): [("a/b/sampling.py", 16)],
        ("sampling/old.py", 14): [],
        ("sampling/other.py", 7): [],
        ("sampling/other.py", 13): [],
    }
    assert [f.fingerprint for f in merged.findings] == [f.fingerprint for f in report.findings]
    (note,) = (f for f in merged.findings if (f.span.path, f.span.line, f.code) == ("sampling/old.py", 7, "ONX305"))
    assert (note.severity, [(s.path, s.line) for s in note.also]) == (Severity.NOTE, [("lib/sampling.py", 7)])


def test_all_places_of_a_cause_in_a_copy_are_named():
    text = ["def f(x):", "    y = g(x)", "    return g(y)"]
    found = [finding(n, span=Span(path, n, 5, n, 9)) for path in ("a.py", "lib/a.py") for n in (2, 3)]
    shown, note = one_per_cause(Report(findings=tuple(found)), lambda path: text).findings
    assert [(span.path, span.line) for span in shown.also] == [("a.py", 3), ("lib/a.py", 2), ("lib/a.py", 3)]
    assert [(span.path, span.line) for span in note.also] == [("a.py", 2), ("lib/a.py", 3)]


@pytest.mark.parametrize(("lines", "shown"), [(30, 1), (3, 2)])
def test_a_long_method_that_is_the_same_word_by_word_is_a_copy_whatever_its_class_is_called(lines, shown):
    text = ["class A:", "    def f(self, x):", *(lines * ["        x = g(x)"])]
    found = [finding(4, symbol=f"{m}.{c}.f", span=Span(f"{m}.py", 4, 9, 4, 13)) for m, c in (("m", "A"), ("n", "B"))]
    merged = one_per_cause(Report(findings=tuple(found)), lambda path: text)
    assert sum(f.severity is not Severity.NOTE for f in merged.findings) == shown


@pytest.mark.parametrize(
    ("code", "names", "shown"), [("ONX506", ("m", "m"), 1), ("ONX506", ("m", "n"), 2), ("ONX101", ("m", "m"), 2)]
)
def test_of_versions_of_an_export_script_the_same_is_said_once(code, names, shown):
    """Elsewhere a definition has to be the same word by word."""
    texts = {
        f"v{i}/{name}.py": ["def export(x):"] + i * ["    x = g(x)"] + ["    return f(x)"]
        for i, name in enumerate(names, 1)
    }
    found = [
        finding(len(text), code=code, symbol="export", span=Span(path, len(text), 5, len(text), 9))
        for path, text in texts.items()
    ]
    merged = one_per_cause(Report(findings=tuple(found)), texts.__getitem__)
    assert sum(f.severity is not Severity.NOTE for f in merged.findings) == shown


def test_the_same_statement_in_several_classes_of_a_file_is_told_once(check):
    forward = "class {}(torch.nn.Module):\n    def forward(self, x):\n        return x * 2 if x.sum() > {} else x\n"
    twins = "import torch\n" + forward.format("A", 0) + forward.format("B", 0) + forward.format("C", 1)
    assert places(one_per_cause(check(twins)), "ONX101") == [(4, [7]), (10, [])]


def test_other_files_are_named_with_their_paths_and_many_are_counted():
    also = tuple(Span(f"{name}.py", 3, 1, 3, 5) for name in "abcdefgh")
    assert words.also(finding(1, also=also[:2])) == "line 3, b.py:3"
    assert words.also(finding(1, also=also[1:4])) == "b.py:3, c.py:3 and d.py:3"
    assert words.also(finding(1, also=also[1:])) == "b.py:3, c.py:3, d.py:3, e.py:3 and 3 more places"


WIDTH = """\
import torch

class M(torch.nn.Module):
    def forward(self, x):
        n, c, h, w = x.shape
        if h > w:
            x = x.transpose(2, 3)
        return x
"""


@pytest.mark.parametrize(("more", "severity"), [("", Severity.WARNING), ("        x = x.numpy()\n", Severity.NOTE)])
def test_what_only_an_undeclared_axis_decides_is_shown_where_nothing_else_is(check, more, severity):
    report = check(WIDTH.replace("        return x", f"{more}        return x"))
    assert {f.severity for f in report.findings if f.code == "ONX106"} == {severity}


def test_of_what_an_undeclared_axis_decides_what_ends_an_export_is_read_first(check):
    ends = "        return x + torch.linspace(-1.0, 1.0, x.shape[3])"
    report = check(WIDTH.replace("        return x", ends))
    severities = {f.code: f.severity for f in report.findings if f.code in ("ONX106", "ONX220")}
    assert severities == {"ONX106": Severity.NOTE, "ONX220": Severity.WARNING}


@pytest.mark.parametrize(("module", "shown"), [("pool_cuda", ["ONX409"]), ("torch_scatter", ["ONX101", "ONX409"])])
def test_of_a_function_around_a_compiled_kernel_the_kernel_alone_is_shown(check, module, shown):
    merged = one_per_cause(
        check(f"""\
import torch
import {module}

class Pool(torch.nn.Module):
    def forward(self, x, index):
        if index.max() > 4:
            x = x * 2
        return {module}.pool_max(x, index)
""")
    )
    assert [f.code for f in merged.findings if f.severity is not Severity.NOTE] == shown


@pytest.mark.parametrize("base", ["torch.autograd.Function", "object"])
def test_beside_the_kernel_of_an_autograd_function_nothing_is_shown_though_a_caller_may_go_another_way(check, base):
    merged = one_per_cause(
        check(f"""\
import torch
import pool_cuda

class Pool({base}):
    @staticmethod
    def forward(ctx, x, size):
        rows = size * x.shape[0]
        while True:
            count = pool_cuda.pool(x, rows)
            if count <= rows:
                return x.new_zeros(rows)
            rows = count

class Model(torch.nn.Module):
    def __init__(self, fast=True):
        super().__init__()
        self.fast = fast

    def forward(self, x):
        if self.fast:
            x = Pool.{"apply(" if "." in base else "forward(None, "}x, 4)
        return x
""")
    )
    shown = [f.code for f in merged.findings if f.severity is not Severity.NOTE]
    assert shown == ([] if "." in base else ["ONX106"])


def test_a_compiled_kernel_is_one_by_its_name_and_not_by_the_file_that_calls_it():
    about = "ops/pool_cuda.py flash_attn.flash_attn_func is custom"
    found = tuple(
        replace(finding(n, code), about=about * (code == "ONX409")) for n, code in ((1, "ONX101"), (2, "ONX409"))
    )
    assert all(f.severity is not Severity.NOTE for f in one_per_cause(Report(findings=found), lambda path: []).findings)
    hidden = (found[0], replace(found[1], severity=Severity.NOTE, about="pool_cuda.pool is custom"))
    assert one_per_cause(Report(findings=hidden), lambda path: []).findings[0].severity is not Severity.NOTE


def test_of_the_calls_of_a_kernel_that_of_forward_itself_is_shown_first(check):
    helper = "    def spread(self, x):\n        return pool_cuda.pool(x)\n\n"
    forward = "    def forward(self, x):\n        return self.spread(x) + pool_cuda.pool(x)\n"
    merged = one_per_cause(check(f"import torch\nimport pool_cuda\n\nclass M(torch.nn.Module):\n{helper}{forward}"))
    assert places(merged, "ONX409") == [(9, [6])]


def test_lists_made_by_a_size_are_one_with_the_tensors_made_of_them(check):
    merged = one_per_cause(
        check("""
import torch

class M(torch.nn.Module):
    def forward(self, x):
        lengths = [0] * x.shape[0]
        lengths = torch.tensor(lengths)
        return x.sum(1) + lengths
""")
    )
    assert [(f.code, f.span.line, [s.line for s in f.also]) for f in merged.findings] == [("ONX219", 6, [7])]


def test_an_axis_that_is_applied_to_another_input_comes_before_the_opset_of_the_file(check):
    merged = one_per_cause(
        check("""
import torch

class M(torch.nn.Module):
    def forward(self, x, y):
        return x + y.sum()

def export():
    torch.onnx.export(M().eval(), (torch.ones(2, 3), torch.ones(2, 3)), "m.onnx",
        opset_version=17, input_names=["x", "y"],
        dynamic_axes={"y": {0: "n"}})
""")
    )
    assert ("ONX503", 11, [10]) in [(f.code, f.span.line, [s.line for s in f.also]) for f in merged.findings]
