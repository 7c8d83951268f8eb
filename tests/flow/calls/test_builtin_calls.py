"""Builtins: what they give of literals, sizes and tensors, and which of them read a tensor or fix a size."""

from __future__ import annotations

import textwrap

import pytest
from analysing import BATCH, LENGTH, analysed, told, words_of

from onnxlint.flow.state.observations import Branch
from onnxlint.flow.values.domain import Const, Tensor

X = Tensor((BATCH, LENGTH, Const(4)), kind="float")
T = "tensor/float:batch,length,4"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("len([1, 2])", "2"),
        ("len(x.shape)", "3"),
        ("len(x)", "dim"),
        ("list(range(3))", "0 & 1 & 2"),
        ("list(range(x.shape[2]))", "0 & 1 & 2 & 3"),
        ("list(range(x.shape[0]))", "many config"),
        ("int(x.shape[2])", "4"),
        ("int(x.shape[0])", "dim"),
        ("float(x.sum())", "data"),
        ("min(3, 4)", "3"),
        ("max([1, 5, 2])", "5"),
        ("min(3, x.shape[0])", "dim"),
        ("sum([1, 2])", "3"),
        ("sum([x, x])", T),
        ("round(2.5)", "2"),
        ("divmod(7, 2)", "3 & 1"),
        ("list(zip([1, 2], [x, x]))", f"1 & {T} & 2 & {T}"),
        ("list(reversed([1, 2]))", "2 & 1"),
        ("list(iter([1, 2]))", "1 & 2"),
        ("next(iter((3, x)))", "3"),
        ("list(map(lambda v: v + 1, [x]))", f"many {T}"),
        ("next(iter([x]))", T),
        ("dict(a=1, b=x)['b']", T),
        ("getattr(x, 'shape')[0]", "dim:batch"),
        ("isinstance(x, torch.Tensor)", "True"),
        ("isinstance(x, (list, tuple))", "False"),
        ("isinstance([x], (list, tuple))", "True"),
        ("isinstance({}, dict)", "True"),
        ("isinstance(x.shape, tuple)", "True"),
    ],
)
def test_the_call_gives(call: str, words: str) -> None:
    assert words_of(call, X) == words


@pytest.mark.parametrize("call", ["int(1e999)", "divmod(1, 0)", "max([])", "len(3)", "sum(3)", "int('a')"])
def test_what_python_refuses_is_no_error_of_ours(call: str) -> None:
    assert set(words_of(call).split(" & ")) <= {"config", "unknown"}


def observed(body: str) -> list[str]:
    lines = textwrap.indent(textwrap.dedent(body), " " * 8)
    source = f"class M(nn.Module):\n    def forward(self, x: Tensor, y: Tensor):\n{lines}\n"
    return [line.rstrip("?") for line in told(source)]


@pytest.mark.parametrize(
    ("call", "seen"),
    [
        ("int(x.sum())", ["Escape int() data: int(x.sum())"]),
        ("float(x.shape[0])", ["Escape float() dim: float(x.shape[0])"]),
        ("max(x, y)", ["BoolOperator max(): max(x, y)"]),
        ("len(x.shape)", []),
        ("int(3.5)", []),
        ("len([x, y])", []),
    ],
)
def test_what_reads_a_tensor_or_fixes_a_size(call: str, seen: list[str]) -> None:
    assert observed(f"return x * {call}") == seen


def test_a_loop_beside_a_list_turns_as_often_as_the_list_is_long() -> None:
    assert observed("for i, row in enumerate(x):\n    y = y + row\nreturn y") == ["Loop tensor: enumerate(x)"]
    assert observed("for w, row in zip([1, 2], x):\n    y = y + w * row\nreturn y") == []


@pytest.mark.parametrize(("name", "sure"), [("_onnx_compatible", False), ("_fast", True)])
def test_a_flag_that_who_exports_the_model_sets_is_not_at_its_default(name: str, sure: bool) -> None:
    source = f"""
class M(nn.Module):
    @property
    def flag(self):
        return getattr(self, "{name}", False)
    def forward(self, x: Tensor):
        if not self.flag and x.shape[0] > 4:
            return x[:4]
        return x
"""
    assert [o.sure for o in analysed(source).observations if isinstance(o, Branch)] == [sure]
