"""Operators that an exporter has no form of, or another one: by kind, rank and arguments."""

from __future__ import annotations

import textwrap

import pytest
from analysing import PRELUDE, analyse, facts_of, findings_of, project_of, told

from onnxlint.base.records import Outcome
from onnxlint.flow.state.observations import Call

HEAD = """\
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = nn.MaxPool2d(2)

    def forward(self, x: Tensor, scores: Tensor):
"""


def codes(body: str) -> list[str]:
    """The rules that object to a forward of this body."""
    return [code for code, _, _ in findings_of(HEAD + textwrap.indent(textwrap.dedent(body).strip(), " " * 8))]


FRACTIONS = {
    "times positions": "return scores.argmax(-1) * (x.shape[0] / 2)",
    "minus positions": "return (x.shape[0] - 2.5) - scores.argmax(-1)",
    "times a table on its device": "return (x.shape[0] - 2.5) * torch.tensor([[1000, 0]]).to(x.device)",
    "by the name of the operator": "return torch.mul(scores.argmax(-1), -(x.shape[0] * 0.5))",
}
NUMBERS = {
    "a whole size": "return scores.argmax(-1) * x.shape[0]",
    "a sum": "return scores.argmax(-1) + x.shape[0] / 2",
    "floats": "return scores.float() * (x.shape[0] / 2)",
    "a fixed fraction": "return scores.argmax(-1) * 0.5",
}


@pytest.mark.parametrize("body", FRACTIONS.values(), ids=FRACTIONS.keys())
def test_a_fraction_of_a_size_meets_integers(body: str) -> None:
    assert codes(body) == ["ONX404"]


@pytest.mark.parametrize("body", NUMBERS.values(), ids=NUMBERS.keys())
def test_what_dynamo_makes_a_tensor_of(body: str) -> None:
    assert codes(body) == []


@pytest.mark.parametrize("call", ["F.adaptive_max_pool2d(x, {})", "nn.AdaptiveAvgPool2d({})(x)"])
@pytest.mark.parametrize(("size", "expected"), [("(None, 1)", ["ONX210"]), ("(1, None)", ["ONX210"]), ("(1, 1)", [])])
def test_an_adaptive_pooling_keeps_the_size_of_an_axis(call: str, size: str, expected: list[str]) -> None:
    assert codes(f"return {call.format(size)}") == expected


@pytest.mark.parametrize(("reduce", "expected"), [("mean", ["ONX404", "ONX408"]), ("amax", [])])
def test_a_mean_of_what_is_scattered_is_refused_or_written_wrong(reduce: str, expected: list[str]) -> None:
    assert sorted(codes(f"return x.scatter_reduce(0, scores.long(), x, reduce='{reduce}')")) == expected
    assert sorted(codes(f"return torch.scatter_reduce(x, 0, scores.long(), x, '{reduce}')")) == expected


@pytest.mark.parametrize(("name", "doubted"), [("x_lens", "?"), ("lengths", "?"), ("keep", ""), ("lenses", "")])
def test_a_mask_that_lengths_make_hides_no_row_as_a_whole(name: str, doubted: str) -> None:
    body = f"mask = torch.arange(x.shape[1]) < {name}[:, None]\n"
    call = "F.scaled_dot_product_attention(x, x, x, attn_mask=mask[:, None])"
    text = HEAD.replace("scores", name) + textwrap.indent(f"{body}return {call}", " " * 8)
    assert f"AttentionMask: {call}{doubted}" in told(text)


@pytest.mark.parametrize(
    ("after", "observed"),
    [("y", 1), ("y.masked_fill(~mask, 0.0)", 0), ("y.masked_fill(~x, 0.0)", 1), ("y + x.masked_fill(~mask, 0.0)", 1)],
)
def test_rows_that_see_nothing_may_be_filled_after_the_attention(after: str, observed: int) -> None:
    call = "F.scaled_dot_product_attention(x, x, x, attn_mask=mask)"
    body = f"mask = scores.bool()\ny = {call}\nreturn {after}"
    observations = told(HEAD + textwrap.indent(body, " " * 8))
    assert sum(o.startswith("AttentionMask") for o in observations) == observed


@pytest.mark.parametrize("call", ["F.max_pool2d(y, 3)", "self.pool(y)", "F.adaptive_avg_pool2d(y, 1)"])
def test_pooling_without_a_batch(call: str) -> None:
    body = "b, _, h, w = x.shape\ny = x.reshape(b, {}h * 2, w * 2)\nreturn " + call
    assert codes(body.format("")) == ["ONX408"]
    assert codes(body.format("1, ")) == []


TRIM = """\
def trim(x, n):
    if isinstance(n, torch.Tensor):
        n = n.{}
    return x[..., :n]
class M(nn.Module):
    def forward(self, mix):
        length = mix.shape[-1]
        return trim(mix * 2, length)
"""


@pytest.mark.parametrize(("arm", "expected"), [("size(-1)", ["ONX117"]), ("shape[0]", ["ONX117"]), ("long()", [])])
def test_the_arm_for_a_tensor_is_taken_by_a_size_that_has_no_axes(arm: str, expected: list[str]) -> None:
    for test in ("isinstance(n, torch.Tensor)", 'hasattr(n, "size")'):
        source = TRIM.format(arm).replace("isinstance(n, torch.Tensor)", test)
        assert test in source
        assert [code for code, _, _ in findings_of(source)] == expected


CLIP = """\
class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 1)
    def series(self, x):
        return torch.stack([self.conv(frame) for frame in x.unbind(dim=1)], 1)
    def forward(self, x):
        return self.series(x) if {} else self.conv(x)
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.memory = Memory()
    def forward(self, x):
        return self.memory(x * 2)
"""


@pytest.mark.parametrize(("asked", "shown"), [("x.ndim == 5", True), ("x.ndim == 4", False), ("self.training", False)])
def test_the_frames_of_what_has_five_axes(asked: str, shown: bool) -> None:
    assert ("ONX209" in [code for code, _, _ in findings_of(CLIP.format(asked))]) is shown


LATER = {
    "of more axes": ("x.reshape(x.shape[0], 2, 7, 9)", "y.softmax(-1)", True),
    "that adds one": ("x.reshape(x.shape[0], 1, 2, 7, 9)", "y.unsqueeze(-1)", True),
    "of as many": ("x.reshape(x.shape[0], 1, 2, 7, 9)", "y.softmax(-1)", False),
    "along another": ("x.reshape(x.shape[0], 2, 7, 9)", "y.softmax(-2)", False),
    "that takes a number": ("x.reshape(x.shape[0], 2, 7, 9)", "y * -1", False),
}


@pytest.mark.parametrize(("first", "later", "wrong"), LATER.values(), ids=LATER.keys())
def test_the_dim_of_repeat_interleave_is_that_of_an_operator(first: str, later: str, wrong: bool) -> None:
    body = f"y = scores.reshape(scores.shape[0], 1, 1, 7, 3)\nreturn {first}.repeat_interleave(2, dim=-1), {later}"
    assert codes(body) == ["ONX408"] * wrong


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ("y.size(0) // x.size(0)", []),
        ("y.flatten(0, 1).size(0) / x.size(0)", []),
        ("(y.size(0) + 2) / x.size(0)", ["ONX202"]),
        ("y.size(0) // x.size(1)", ["ONX202"]),
    ],
)
def test_the_ratio_of_an_axis_to_a_multiple_of_it_is_fixed(size: str, expected: list[str]) -> None:
    body = f"y = x.unsqueeze(1).repeat(1, 3, 1, 1, 1).flatten(0, 1)\nreturn scores.repeat(int({size}), 1)"
    assert codes("b, c, h, w = x.shape\n" + body) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    {
        "of a mask": ("seen = x > 0\nseen &= scores > 0\nreturn seen", ["ONX404"]),
        "of a constant mask": ("seen = torch.ones(4, dtype=torch.bool)\nseen |= x[0] > 0\nreturn seen", ["ONX404"]),
        "of whole numbers": ("place = scores.argmax(-1)\nplace <<= 1\nreturn place", ["ONX404"]),
        "of a part": ("seen = x > 0\nseen[0] ^= scores[0] > 0\nreturn seen", ["ONX404"]),
        "not in place": ("seen = x > 0\nseen = seen & (scores > 0)\nreturn seen", []),
        "a sum": ("y = x * 2\ny += scores\nreturn y", []),
        "of flags": ("flags = 3\nflags &= 1\nreturn x * flags", []),
    }.values(),
)
def test_an_operator_of_bits_in_place(body: str, expected: list[str]) -> None:
    assert codes(body) == expected


TRUTHS = {
    "filled with a truth value": ("return seen.masked_fill(scores > 0, False)", ["ONX404"]),
    "filled with a number": ("return seen.masked_fill(scores > 0, 0)", ["ONX408"]),
    "either of two masks": ("return torch.where(seen, scores > 0, ~seen)", ["ONX408"]),
    "a mask or a truth value": ("return torch.where(seen, True, scores > 0)", ["ONX404"]),
    "added": ("return seen + (scores > 0)", ["ONX408"]),
    "sorted": ("return seen.sort(-1).values", ["ONX408"]),
    "counted along an axis": ("return seen.cumsum(-1)", ["ONX408"]),
    "counted as floats": ("return seen.cumsum(-1, dtype=torch.float32)", []),
    "written through a mask": ("seen[scores > 1] = False\nreturn seen", ["ONX408"]),
    "a constant written through one": (
        "once = torch.ones(4, dtype=torch.bool)\nonce[torch.ones(4, dtype=torch.bool)] = 0\nreturn seen & once",
        ["ONX408"],
    ),
    "written into a slice": ("seen[:, 0] = False\nreturn seen", []),
    "numbers written through a mask": ("y = x.clone()\ny[seen] = 0\nreturn y", []),
    "the greater, below opset 20": ("return seen.max()", ["ONX408"]),
    "the positions of the greater": ("values, at = seen.max(-1)\nreturn at", ["ONX408"]),
    "the greater of each row": ("return seen.any(-1)", []),
    "numbers filled": ("return x.masked_fill(seen, 0)", []),
    "numbers chosen": ("return torch.where(seen, x, scores)", []),
    "a mask times numbers": ("return torch.maximum(seen.mul(x), scores)", []),
    "a mask as the numbers of another tensor": ("return torch.maximum(seen.type_as(x), scores)", []),
    "a mask as bytes": ("return seen.byte().sort(-1).values", []),
    "a mask and a number": ("return seen + 1", []),
    "combined": ("return seen & (scores > 0)", []),
}


@pytest.mark.parametrize(("body", "expected"), TRUTHS.values(), ids=TRUTHS.keys())
def test_an_operator_on_truth_values(body: str, expected: list[str]) -> None:
    assert codes("seen = x > 0\n" + body) == expected


@pytest.mark.parametrize(("opset", "count"), [(19, 1), (20, 0)])
def test_reductions_take_truth_values_from_opset_20(opset: int, count: int) -> None:
    project = project_of(PRELUDE + HEAD + " " * 8 + "return (x > 0).max()\n")
    assert [type(o) for o in analyse(project, opset=opset, debug=True).observations].count(Call) == count


CONSTANTS = {
    "a diagonal of ones": ("return x @ torch.diag(torch.ones(4))", []),
    "blocks of constants": ("return x @ torch.block_diag(torch.eye(2), torch.full((2, 2), 3.0))", []),
    "of the kind of an input": (
        "return x @ torch.diag(torch.ones(4).to(x)) @ torch.diag(torch.ones(4).type_as(x))",
        [],
    ),
    "as long as an input": ("return x @ torch.diag(torch.arange(x.shape[0]).to(x))", ["torchscript"]),
    "an input's": ("return torch.diag(x[0])", ["torchscript"]),
    "a weight's": ("return x @ torch.diag(self.scale)", ["torchscript"]),
    "of what is not known": ("return torch.take_along_dim(load(), torch.arange(4).view(2, 2), 1)", ["torchscript"]),
    "by what is not known": (
        "order = torch.zeros(2, 2).maximum(load()).argsort(1).expand(2, 2)\n"
        "        return torch.take_along_dim(torch.eye(2), order, 1)",
        ["torchscript"],
    ),
    "the middle of constants, which dynamo writes": ("return x + torch.arange(4.0).median()", ["dynamo"]),
}


@pytest.mark.parametrize(("body", "expected"), CONSTANTS.values(), ids=CONSTANTS.keys())
def test_torchscript_computes_constants_itself(body: str, expected: list[str]) -> None:
    head = HEAD.replace("self.pool", "self.scale = nn.Parameter(torch.ones(4))\n        self.pool")
    found = findings_of(head + " " * 8 + body)
    assert [e for code, _, exporters in found if code == "ONX404" for e in exporters] == expected


@pytest.mark.parametrize(("call", "expected"), [("angle()", ["ONX407"]), ("istft(16)", ["ONX404", "ONX407"])])
def test_what_takes_complex_numbers_is_no_cause_of_its_own(call: str, expected: list[str]) -> None:
    assert sorted(codes(f"return torch.fft.rfft(x).{call}")) == expected


def test_a_file_with_istft_is_written_by_dynamo_and_not_loaded() -> None:
    facts = facts_of(HEAD + " " * 8 + "return torch.istft(x, 16)\n")
    (call,) = (observation for observation in facts if type(observation) is Call)
    assert call.outcomes == {"torchscript": Outcome.EXPORT_ERROR, "dynamo": Outcome.RUNTIME_ERROR}


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("F.unfold(x, 3, stride=x.shape[-1] // 4)", ["ONX211"]),
        ("F.unfold(x, (1, x.shape[-1]))", ["ONX211"]),
        ("F.fold(x, (12, 12), 4, stride=x.shape[-1] // 3)", ["ONX211"]),
        ("F.unfold(x, 3, stride=2)", []),
        ("F.fold(x, (12, 12), 4, stride=4)", []),
    ],
)
def test_a_size_as_stride_or_kernel_of_windows(call: str, expected: list[str]) -> None:
    assert codes(f"return {call}") == expected


LOST = {
    "in a divisor": "return x / (scores.sum() + 1e-8)",
    "in front": "return x / (1e-10 + scores.norm())",
    "taken off": "return x / (scores.sum() - 1e-9)",
    "under the root of a divisor": "return x / torch.sqrt(x.var(-1, keepdim=True) + 1e-8)",
    "under a power of a divisor": "return x / (x.pow(2).sum() + 1e-12) ** 0.5",
    "under a negative power": "return x * (x.pow(2).sum() + 1e-12) ** -0.5",
    "in a logarithm": "return (scores + 1e-8).log()",
    "in a variable": "total = scores.sum() + 1e-8\nreturn x / total",
    "added in place": "total = scores.sum()\ntotal += 1e-8\nreturn x / total",
    "by a name": "return x / (scores.sum() + TINY)",
    "in place": "x = x * 2\nx /= scores.sum() + 1e-8\nreturn x",
    "by `div`": "return torch.div(x, scores.sum() + 1e-8)",
    "by the method `div`": "return x.div(scores.sum() + 1e-8)",
    "by `div` with a name": "return torch.div(x, other=scores.sum() + 1e-8)",
    "of what stops": "return x / (self.stop(scores).sum() + 1e-8)",
    "by default": "return x / (scores.sum() + self.tiny)",
}
KEPT = {
    "large enough": "return x / (scores.sum() + 1e-7)",
    "by default": "return x / (scores.sum() + self.eps)",
    "chosen scores": "topk = scores.topk(2)[0]\nreturn topk / (topk.sum(-1, keepdim=True) + 1e-20)",
    "taken from": "return x / (1e-9 - scores.sum())",
    "in what `div` divides": "return torch.div(scores + 1e-8, x.shape[1])",
    "in what the method `div` divides": "return (scores + 1e-8).div(x.shape[1])",
    "a root alone": "return torch.sqrt(x.var(-1) + 1e-8)",
    "a root in a variable": "deviation = torch.sqrt(x.var(-1) + 1e-8)\nreturn deviation",
    "in what is divided": "return (scores + 1e-8) / 3",
    "a factor": "return torch.log(scores * 1e-8)",
    "to a weight": "return x / (self.weight.sum() + 1e-8)",
    "to a size": "return x / (x.shape[0] + 1e-8)",
}
MODEL = """\
TINY = 1e-9

class M(nn.Module):
    def __init__(self, eps: float = 1e-6, tiny: float = 1e-8):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.eps, self.tiny = eps, tiny
        self.stop = nn.Linear(3, 3)

    def forward(self, x: Tensor, scores: Tensor):
"""


def of_numbers(body: str, more: str = "") -> list[str]:
    return [code for code, _, _ in findings_of(MODEL + textwrap.indent(body, " " * 8) + more)]


@pytest.mark.parametrize("body", LOST.values(), ids=LOST.keys())
def test_a_number_that_the_optimizer_leaves_out(body: str) -> None:
    assert of_numbers(body) == ["ONX422"]


@pytest.mark.parametrize("body", KEPT.values(), ids=KEPT.keys())
def test_a_number_that_stays_or_guards_nothing(body: str) -> None:
    assert of_numbers(body) == []


def test_a_default_that_somebody_changes_is_not_left_out() -> None:
    assert (
        of_numbers(
            LOST["by default"],
            "\n\nclass N(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            "        self.part = M(tiny=1e-5)\n",
        )
        == []
    )


ATTENTION = """
class M(nn.Module):
    def forward(self, x: torch.Tensor):
        b, n, c = x.shape
        q = nn.functional.linear(x, self.w).reshape({shape})
        return F.scaled_dot_product_attention(q, q, q)
"""


@pytest.mark.parametrize(
    ("shape", "told"),
    [("b, n, 8", True), ("b, 2, n, 8", False), ("b, 2, -1, n, 8", True), ("self.shape", False)],
)
def test_attention_over_other_than_four_axes_which_dynamo_asserts(shape: str, told: bool) -> None:
    found = [(code, exporters) for code, _, exporters in findings_of(ATTENTION.format(shape=shape))]
    assert found == ([("ONX404", ("dynamo",))] if told else [])


BOOLS = {
    "a comparison": "return x.masked_fill(scores == False, 0.0)",
    "a flag": "return x + self.training",
    "by its name": "return (x > 0).eq(True)",
    "a filled tensor": "return torch.full((2, 3), True) & (x > 0)",
    "a value": "return x.masked_fill(x > 0, False)",
    "a value in place": "return (x * 2).masked_fill_(x > 0, False)",
}
NO_BOOLS = {
    "a number": "return x.masked_fill(scores == 0, 0.0)",
    "a setting or a number": "return x * (self.scale or 1.0)",
    "a write": "x[scores > 0] = True\nreturn x",
    "in place": "x *= True\nreturn x",
    "a flag that is asked": "if scores == True:\n    return x\nreturn x + 1",
    "a tensor": "return (x > 0) & torch.tensor(True)",
}


@pytest.mark.parametrize("body", BOOLS.values(), ids=BOOLS.keys())
def test_a_python_bool_beside_a_tensor_ends_the_trace_of_torchscript(body: str) -> None:
    (seen,) = facts_of(PRELUDE + HEAD + textwrap.indent(body, " " * 8))
    assert isinstance(seen, Call)
    assert (seen.detail, dict(seen.outcomes)) == ("a Python bool", {"torchscript": Outcome.EXPORT_ERROR})


@pytest.mark.parametrize("body", NO_BOOLS.values(), ids=NO_BOOLS.keys())
def test_what_torchscript_makes_a_number_or_a_tensor_of(body: str) -> None:
    seen = facts_of(PRELUDE + HEAD + textwrap.indent(body, " " * 8))
    assert not any(isinstance(s, Call) and s.detail == "a Python bool" for s in seen)
