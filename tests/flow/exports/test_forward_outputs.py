"""What the exported forward gives back: inputs as they came, and values that are no tensors."""

from __future__ import annotations

import textwrap

import pytest
from analysing import PRELUDE, analysed, facts_of, project_of

from onnxlint.flow.state.observations import Output

RECORDS = """\
from collections import OrderedDict
from dataclasses import dataclass
from typing import NamedTuple


@dataclass
class Plain:
    a: Tensor


@dataclass
class Record(OrderedDict):
    a: Tensor = None


class Pair(NamedTuple):
    a: Tensor
    b: Tensor


"""
MODEL = """\
class M(nn.Module):
    def __init__(self, flag):
        super().__init__()
        self.flag = flag
        self.lin = nn.Linear(4, 4)
    def forward(self, x, mask=None, y: Tensor = None):
"""


def outputs(body: str, before: str = "") -> list[str]:
    """The outputs in observations, as `kind name: text`; a `?` where another way out gives back something else."""
    source = RECORDS + MODEL + textwrap.indent(textwrap.dedent(body).strip(), " " * 8) + "\n" + before
    observations = [f for f in analysed(source).observations if isinstance(f, Output)]
    return sorted(f"{f.what} {f.name}: {f.text}" + ("" if f.sure else "?") for f in observations)


@pytest.mark.parametrize(("arm", "told"), [("self.part = lambda: M(2)", []), ("self.part = M", ["input x: x"])])
def test_what_a_part_of_another_model_gives_back_is_no_output(arm: str, told: list[str]) -> None:
    """Another module builds it, in whatever arm."""
    whole = f"class Whole(nn.Module):\n    def __init__(self):\n        super().__init__()\n        {arm}\n"
    assert outputs("return self.lin(x), x", whole) == told


FOUND = {
    "keys that are numbers": ("return {0: self.lin(x)}", ["keys : {0: self.lin(x)}"]),
    "keys that are tuples": ("f = {}\nfor i in range(3):\n    f[('a', i)] = self.lin(x)\nreturn f", ["keys : f"]),
    "keys without parentheses": ("f = {}\nfor i in range(3):\n    f['a', i] = self.lin(x)\nreturn f", ["keys : f"]),
    "keys that are strings alone": ("f = {}\nfor i in 'ab':\n    f[('a', 'b')] = self.lin(x)\nreturn f", []),
    "an input beside a result": ("return self.lin(x), x", ["input x: x"]),
    "an input in a list": ("return [x, self.lin(x)]", ["input x: x"]),
    "an input in a list that grows": ("f = [x]\nf.append(self.lin(x))\nreturn f", ["input x: f"]),
    "an input in a dict": ('return {"a": self.lin(x), "b": x}', ["input x: x"]),
    "an input in a record": ("return Record(a=x)", ["input x: Record(a=x)"]),
    "an input in a named tuple": ("return Pair(x, self.lin(x))", ["input x: Pair(x, self.lin(x))"]),
    "an input under another name": ("z = x\nreturn self.lin(x), z", ["input x: z"]),
    "an input on one of two ways out": (
        "if self.flag:\n    return self.lin(x), x\nreturn self.lin(x), self.lin(x)",
        ["input x: x?"],
    ),
    "an input on both ways out": (
        "if self.flag:\n    return self.lin(x), x\nreturn -self.lin(x), x",
        ["input x: x", "input x: x"],
    ),
    "an input that may be left out": (
        "return self.lin(x), x if self.flag else None",
        ["input x: x if self.flag else None"],
    ),
    "a number": ("return self.lin(x), 3", ["number 3: 3"]),
    "a bool in a dict": ('return {"a": self.lin(x), "ok": True}', ["number True: True"]),
    "a string": ('return self.lin(x), "ok"', ["text 'ok': \"ok\""]),
    "an item of a tensor": ("return self.lin(x).sum().item()", ["scalar .item(): self.lin(x).sum().item()"]),
    "a list of numbers": ("return self.lin(x).tolist()", ["list .tolist(): self.lin(x).tolist()"]),
    "a numpy array": ("return self.lin(x).numpy()", ["array .numpy(): self.lin(x).numpy()"]),
    "an object of a plain dataclass": ("return Plain(self.lin(x))", ["object Plain: Plain(self.lin(x))"]),
}


@pytest.mark.parametrize(("body", "expected"), FOUND.values(), ids=FOUND.keys())
def test_seen(body: str, expected: list[str]) -> None:
    assert outputs(body) == expected


SILENT = {
    "tensors": "return self.lin(x), [self.lin(x)]",
    "None": "return self.lin(x), None",
    "the input alone, by a layer that is off": "if not self.training:\n    return x\nreturn self.lin(x)",
    "a clone of an input": "return self.lin(x), x.clone()",
    "an input negated": "return self.lin(x), -x",
    "an input changed on one of two ways": "if self.flag:\n    x = self.lin(x)\nreturn self.lin(x), x",
    "an input that went through layers of which nothing is known": (
        "for layer in self.layers:\n    x = layer(x)\nreturn self.lin(x), x"
    ),
    "an input that went through layers that give more than one value": (
        "for layer in self.layers:\n    x, *rest = layer(x)\nreturn self.lin(x), x"
    ),
    "a slice of an input": "return self.lin(x), x[:, 1:]",
    "the absolute value of an input": "return self.lin(x), abs(x)",
    "a row of an input": "a, b = x\nreturn self.lin(x), a",
    "what a layer gives": "return self.lin(x), nn.ReLU()(x)",
    "a record of tensors": "return Record(a=self.lin(x))",
    "a size": "return self.lin(x), x.shape[0]",
    "a setting": "return self.lin(x), self.flag",
    "an object of a class that forward takes too": "assert isinstance(x, Plain)\nreturn Plain(self.lin(x.a))",
    "a number in training": "if self.training:\n    return self.lin(x), 3\nreturn self.lin(x), -x",
}


@pytest.mark.parametrize("body", SILENT.values(), ids=SILENT.keys())
def test_silent_about(body: str) -> None:
    assert outputs(body) == []


def test_a_part_of_a_model_may_give_back_what_it_got() -> None:
    source = """
        class Part(nn.Module):
            def forward(self, x, mask):
                return x * mask, mask
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.part = Part()
            def forward(self, x, mask):
                y, mask = self.part(x, mask)
                return y * mask
    """
    assert not [f for f in analysed(source).observations if isinstance(f, Output)]


def test_a_helper_s_return_is_none_of_the_model_s() -> None:
    source = """
        def pair(x):
            return x * 2, 3
        class M(nn.Module):
            def forward(self, x):
                return pair(x)[0]
    """
    assert not [f for f in analysed(PRELUDE + textwrap.dedent(source)).observations if isinstance(f, Output)]


def test_an_input_whose_items_are_written_is_not_handed_back() -> None:
    assert outputs("for i in range(3):\n    x[i] = self.lin(x[i])\nreturn x, self.lin(x)") == []


def test_what_a_part_gives_back_is_no_output() -> None:
    source = """
        class Body(nn.Module):
            def forward(self, x):
                return {"input": x, "last": x * 2}

        class Model(nn.Module):
            def __init__(self, body: Body | nn.Identity):
                super().__init__()
                self.body = body

            def forward(self, x):
                return self.body(x)["last"]
    """
    assert not [o for o in facts_of(project_of(PRELUDE + textwrap.dedent(source))) if isinstance(o, Output)]


def test_what_a_table_of_classes_lists_is_a_part_for_settings_to_choose() -> None:
    assert outputs("return self.lin(x), mask") == ["input mask: mask"]
    assert outputs("return self.lin(x), mask", 'PARTS = {"linear": M, "none": nn.Identity}\n') == []


@pytest.mark.parametrize(
    ("decorator", "told"), [("@auto_docstring", ["number 8"]), ("@HEADS.register()", []), ("@register_model", [])]
)
def test_what_a_registry_builds_gives_its_outputs_to_who_asked_for_it(decorator: str, told: list[str]) -> None:
    source = f"""
        HEADS = Registry("heads")

        {decorator}
        class M(nn.Module):
            def forward(self, x):
                return x * 2, 8
    """
    found = analysed(PRELUDE + textwrap.dedent(source)).observations
    assert [f"{o.what} {o.name}" for o in found if isinstance(o, Output)] == told


def test_the_dict_that_a_part_got_and_adds_to_goes_on_to_the_next_part() -> None:
    source = """
        class Backbone(nn.Module):
            def forward(self, batch):
                batch["features"] = batch["points"] * 2
                batch["stride"] = 8
                return {returned}
    """

    def told(returned: str) -> list[str]:
        found = analysed(PRELUDE + textwrap.dedent(source.format(returned=returned))).observations
        return [f"{o.what} {o.name}" for o in found if isinstance(o, Output)]

    assert told("batch") == []
    assert told('{"features": batch["features"], "stride": 8}') == ["number 8"]
