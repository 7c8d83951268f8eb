"""Methods of values that are no objects of the project: of tensors, sizes, shapes, lists, dicts, texts and layers."""

from __future__ import annotations

import textwrap

import pytest
from analysing import BATCH, LENGTH, told, words_of

from onnxlint.flow.values.domain import Const, Tensor

X = Tensor((BATCH, LENGTH, Const(4)), kind="float")
T = "tensor/float:batch,length,4"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("x.view(x.size(0), -1)", "tensor/float:batch,*"),
        ("x.shape.numel()", "dim"),
        ("x.stride()", "config"),
        ("{'a': x}.get('a')", T),
        ("{'a': x}.get('b')", "None"),
        ("{'a': x}.get('b', 3)", "3"),
        ("list({'a': x}.values())", T),
        ("list({'a': 1}.keys())", "'a'"),
        ("[x].copy()[0]", T),
        ("'a,b'.split(',')", "config"),
        ("x.numpy().tolist()", "data"),
    ],
)
def test_the_method_gives(call: str, words: str) -> None:
    assert words_of(call, X) == words


def observed(body: str) -> list[str]:
    lines = textwrap.indent(textwrap.dedent(body), " " * 8)
    source = f"class M(nn.Module):\n    def forward(self, x: Tensor):\n{lines}\n        return x\n"
    return [line.rstrip("?") for line in told(source)]


@pytest.mark.parametrize(
    "change",
    [
        "d = {'a': 1}\nd.update(a=x)\ny = d['a']",
        "d = {}\nd.setdefault('a', x)\ny = d['a']",
        "d = {'a': x}\ny = d.pop('a')",
        "d = []\nd.append(x)\ny = d[0]",
        "d = [1]\nd.extend([x])\ny = d[1]",
        "d = [1]\nd.insert(0, x)\ny = d[0]",
        "d = [x]\ny = d.pop()",
    ],
)
def test_what_a_container_was_given_comes_out_of_it(change: str) -> None:
    assert observed(f"{change}\nif y.sum() > 0:\n    x = -x") == ["Branch data: y.sum() > 0"]


def test_what_was_taken_out_of_a_dict_is_not_in_it() -> None:
    assert observed("d = {'a': x}\nd.pop('a')\nif d.get('a') is not None and x.sum() > 0:\n    x = -x") == []


@pytest.mark.parametrize(
    ("asked", "seen"),
    [
        ("x.shape[0].bit_length()", ["Escape .bit_length() dim: x.shape[0].bit_length()"]),
        ("x.shape[0].item()", []),
        ("(3).bit_length()", []),
    ],
)
def test_a_method_of_a_number_is_asked_of_a_size(asked: str, seen: list[str]) -> None:
    assert observed(f"x = x * {asked}") == seen


def test_a_gradient_within_forward_is_observed() -> None:
    assert [line.partition(":")[0] for line in observed("x.sum().backward()")] == ["GradientCall"]
