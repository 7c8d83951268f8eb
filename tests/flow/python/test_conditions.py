"""Conditions: which arm each exporter takes, what a test reads, and what an arm knows of the names tested."""

from __future__ import annotations

import textwrap

import pytest
from analysing import facts_of, findings_of, told

from onnxlint.flow.state.observations import Branch


def observed(body: str, parameters: str = "x: Tensor, mask=None") -> list[str]:
    """The observations of a forward with this body."""
    lines = textwrap.indent(textwrap.dedent(body).strip(), " " * 8)
    return told(f"class M(nn.Module):\n    def forward(self, {parameters}):\n{lines}\n")


ARM = "if {test}:\n    return x * x.max().item()\nreturn x"
READ = "Escape .item() data: x.max().item()"


@pytest.mark.parametrize(
    ("test", "runs"),
    [
        ("True", True),
        ("not True", False),
        ("3 > 4", False),
        ("x is None", False),
        ("x is not None", True),
        ("isinstance(x, list)", False),
        ("not isinstance(x, list)", True),
        ("False and x.sum() > 0", False),
        ("x.dtype == torch.float16", False),
        ("self.training", False),
        ("not self.training", True),
    ],
)
def test_the_arm_of_a_test_that_every_export_decides_alike(test: str, runs: bool) -> None:
    assert observed(ARM.format(test=test)) == ([READ] if runs else [])


@pytest.mark.parametrize(
    ("test", "exporters"),
    [
        ("torch.jit.is_tracing()", ("torchscript",)),
        ("torch.compiler.is_compiling()", ("dynamo",)),
        ("not torch.jit.is_tracing()", ("dynamo",)),
        ("torch.jit.is_tracing() or torch.compiler.is_compiling()", ("torchscript", "dynamo")),
    ],
)
def test_a_test_of_who_exports_leaves_the_arm_to_that_exporter(test: str, exporters: tuple[str, ...]) -> None:
    body = ARM.format(test=test).replace("x.max().item()", "(1 if x.max() > 2 else 3)")
    (branch,) = facts_of(f"class M(nn.Module):\n    def forward(self, x: Tensor):\n{textwrap.indent(body, ' ' * 8)}\n")
    assert isinstance(branch, Branch)
    assert branch.exporters == exporters


@pytest.mark.parametrize(
    ("test", "branches"),
    [
        ("x.sum() > 0", ["Branch data: x.sum() > 0"]),
        ("mask is None and x.sum() > 0", ["Branch data: mask is None and x.sum() > 0"]),
        ("x.shape[0] > 4", ["Branch dim: x.shape[0] > 4"]),
        ("x.ndim == 3", []),
        ("mask is None", []),
    ],
)
def test_what_a_test_reads(test: str, branches: list[str]) -> None:
    assert [line.rstrip("?") for line in observed(f"if {test}:\n    return x + 1\nreturn x")] == branches


def test_a_size_itself_is_true_and_what_is_computed_of_it_may_not_be() -> None:
    assert not observed("n = x.shape[0]\nif n:\n    x = x + 1\nreturn x")
    assert observed("n = x.shape[0]\nif n - 1:\n    x = x + 1\nreturn x")


def test_an_arm_that_only_raises_is_an_assertion() -> None:
    assert observed("if x.sum() > 0:\n    raise ValueError\nreturn x") == ["Assertion data: x.sum() > 0"]


def test_in_the_arm_for_a_list_a_name_is_no_tensor_and_behind_it_it_is() -> None:
    body = "if isinstance(y, list):\n    y = y if y[0] else y\nelse:\n    x = x if y.sum() else -x\nreturn x"
    assert observed(body, "x: Tensor, y") == ["Branch data: y.sum()"]
    assert observed("if y is None:\n    return x if y else -x\nreturn x * y", "x: Tensor, y=None") == []


LACKS = """
if hasattr(other, "{attribute}"):
    other = {size}
if other > 3:
    return x * 2
return x
"""


@pytest.mark.parametrize(
    ("attribute", "size", "expected"),
    [
        ("size", "other.size(-1)", []),
        ("shape", "other.shape[-1]", []),
        ("name", "other.amax()", ["Branch data: other > 3"]),
    ],
)
def test_what_lacks_an_attribute_of_every_tensor_is_none(attribute: str, size: str, expected: list[str]) -> None:
    seen = observed(LACKS.format(attribute=attribute, size=size), "x: Tensor, other: Tensor")
    assert [line for line in seen if line.startswith("Branch data")] == expected


CLIP = """
class M(nn.Module):
    def __init__(self, least: int = 16):
        super().__init__()
        self.least = least

    def forward(self, x):
        b, c, length = x.shape
        if {test}:
            x = {arm}
        {rest}return x
"""


@pytest.mark.parametrize(
    ("test", "arm", "rest", "shown"),
    [
        ("length < self.least", "F.pad(x, (0, self.least - length))", "", False),
        ("length <= 4", "F.pad(x, (0, 4))", "", False),
        ("length < self.least", "x.sum(-1)", "", True),
        ("length > self.least", "F.pad(x, (0, length))", "", True),
        ("length < self.least", "F.pad(x, (0, 4))", "else:\n            x = x[..., 4:]\n        ", True),
        ("length < b", "F.pad(x, (0, b - length))", "", True),
    ],
)
def test_an_arm_that_pads_inputs_below_a_fixed_length_is_a_note(test: str, arm: str, rest: str, shown: bool) -> None:
    found = findings_of(CLIP.format(test=test, arm=arm, rest=rest))
    assert ([code for code, _, _ in found if code == "ONX106"] == ["ONX106"]) is shown


@pytest.mark.parametrize("test", ['isinstance(x["a"], (list, tuple))', 'isinstance(x["a"], list | tuple)'])
def test_an_item_of_a_dict_that_is_tested_for_a_list_is_no_tensor_in_that_arm(test: str) -> None:
    loop = 'for t in x["a"]:\n        y = t + 1'
    body = f'y = x["b"]\nif {test}:\n    {loop}\nreturn y'
    assert observed(body, "x") == []
    assert observed(body.replace(test, "self.deep"), "x") != []


@pytest.mark.parametrize(
    ("test", "asked"),
    [
        ("random.random() > 0.5 or not self.training", False),
        ("random.random() > 0.5 and self.training", False),
        ("random.random() > 0.5 or self.training", True),
        ("random.random() > 0.5 and not self.training", True),
        ("x.max() > 0.5 and self.training", True),
        ("x.max() > 0.5 or not self.training", True),
    ],
)
def test_what_eval_mode_answers_whatever_the_rest_of_a_test_says_leaves_the_rest_alone(test: str, asked: bool) -> None:
    source = (
        f"import random\nclass M(nn.Module):\n    def forward(self, x):\n        return x + 1 if {test} else x * 2\n"
    )
    block = source.replace(
        f"return x + 1 if {test} else x * 2", f"if {test}:\n            return x + 1\n        return x * 2"
    )
    assert [bool(facts_of(s)) for s in (source, block)] == [asked, asked]


HELD = """
class M(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.parts = nn.ModuleList(nn.Linear(size, 4) for size in sizes)
    def forward(self, x: Tensor):
        n, count = len(x), len(self.parts)
        {check}
        for i in range(n):
            y = self.parts[i](x[i])
        return y
"""


@pytest.mark.parametrize(
    ("check", "held"),
    [
        ("assert n == count", True),
        ("if n != count: raise ValueError(n)", True),
        ("if n != count: n = n + 1", False),
        ("if n > count: raise ValueError(n)", False),
    ],
)
def test_a_length_that_has_to_be_that_of_the_model_is_none_to_unroll_a_loop_for(check: str, held: bool) -> None:
    loops = [text for text in told(HELD.format(check=check)) if text.startswith("Loop")]
    assert bool(loops) is not held


CALLED = """
def longest(lengths, most=None, pad=None):
    if most is None:
        most = lengths.max().item()
    return lengths[:most] if pad is None else lengths[: pad.sum().item()]
class M(nn.Module):
    def forward(self, x, lengths=None):
        {call}
"""
LEFT_OUT = "Escape .item() data: lengths.max().item()"


@pytest.mark.parametrize(
    ("call", "seen"),
    [
        ("return longest(lengths, x.shape[1])", []),
        ("return longest(lengths, 3)", []),
        ("return longest(lengths, most=x + 1)", []),
        ("return longest(lengths, [1, 2])", []),
        ("return longest(lengths)", [LEFT_OUT]),
        ("return longest(lengths, x.shape[1] if self.bounded else None)", [LEFT_OUT]),
        ("if lengths is not None:\n            return longest(x, lengths)", []),
        ("if lengths is None:\n            lengths = x.sum(1)\n        return longest(x, lengths)", []),
    ],
)
def test_an_arm_for_what_is_left_out_runs_where_a_caller_may_leave_it_out(call: str, seen: list[str]) -> None:
    assert [line for line in told(CALLED.format(call=call)) if line == LEFT_OUT] == seen


def told_sure(body: str) -> list[bool]:
    """Whether each branch that a forward with this body has is sure."""
    lines = textwrap.indent(body, " " * 8)
    source = f"class M(nn.Module):\n    dynamic = ready = False\n    def forward(self, x: Tensor):\n{lines}\n"
    return [o.sure for o in facts_of(source) if isinstance(o, Branch)]


@pytest.mark.parametrize(("flag", "sure"), [("self.kept", False), ("self.kept is None", True), ("keep", True)])
def test_a_flag_for_what_only_training_does_is_as_off_as_it_begins(flag: str, sure: bool) -> None:
    source = f"""
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = False
    def forward(self, x: Tensor, keep: int):
        if keep > 0 and (self.training or {flag}):
            return x * x.max().item()
        return x
    def keep(self):
        self.kept = True
"""
    assert [o.sure for o in facts_of(source)] == [sure]


@pytest.mark.parametrize(("rate", "sure"), [("sampling_probability", False), ("rate", True)])
def test_no_target_is_put_in_the_place_of_an_output_but_in_training(rate: str, sure: bool) -> None:
    source = f"""
class M(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.{rate} = rate
    def forward(self, x: Tensor, n: int):
        if n > 0 and random.random() < self.{rate}:
            return x * x.max().item()
        return x
"""
    assert {o.sure for o in facts_of("import random\n" + source)} == {sure}


def test_no_size_of_an_input_is_zero_so_that_the_arm_for_that_never_runs() -> None:
    assert observed("n = x.shape[0]\nreturn x * (n if n > 0 else x.sum().item())") == []
    assert observed("n = x.shape[0] // 8\nreturn x * (n if n > 1 else x.sum().item())") != []


def test_what_a_helper_reads_for_an_assertion_is_told_at_the_assertion() -> None:
    helper = "def sums(x):\n    return x.min() == 0 and x.sum().item() == 1\n"
    assert told(
        helper + "class M(nn.Module):\n    def forward(self, x: Tensor):\n        assert sums(x)\n        return x\n"
    ) == ["Assertion data: sums(x)"]
