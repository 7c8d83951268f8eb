"""What a run turns from tensors into Python values, and what it draws: each with its kind, its line and its value."""

from __future__ import annotations

import random
from pathlib import Path

import numpy
import pytest
import torch
from observed import Draws, Reader, line

from onnxlint.probes.observe.escapes import recording
from onnxlint.probes.observe.observe import observe

HERE = Path(__file__)
UP = torch.ones(2, 3)


@pytest.mark.parametrize(
    ("mark", "kind", "value"),
    [
        ("bool", "bool", "False"),
        ("int", "int", "1"),
        ("float", "float", "-1.0"),
        ("item", "item", "3.0"),
        ("tolist", "tolist", "[-1.0, 3.0, 2.0]"),
        ("numpy", "numpy", "[-1.0, 3.0, 2.0]"),
        ("asarray", "numpy", "[-1.0, 3.0, 2.0]"),
        ("len", "len", "3"),
        ("iter", "iter", "3"),
        ("in", "in", "True"),
        ("index", "index", "1"),
        ("zeros", "item", "1"),
        ("equal", "equal", "True"),
        ("tensor", "float", "-1.0"),
    ],
)
def test_every_way_from_a_tensor_to_python_is_seen_with_its_line(mark: str, kind: str, value: str) -> None:
    escapes = observe(Reader(), (torch.tensor([-1.0, 3.0, 2.0]),)).escapes
    here = [escape for escape in escapes if escape.frames[0].line == line(mark)]
    assert (here[0].kind, here[0].value) == (kind, value)
    assert len(here) == (2 if mark in ("tensor", "iter") else 1)  # two elements; and list() asks for the length too


def test_printing_and_data_dependent_shapes_read_nothing() -> None:
    escapes = observe(Reader(), (torch.tensor([-1.0, 3.0, 2.0]),)).escapes
    marked = {line(mark) for mark in ("bool", "int", "float", "item", "tolist", "numpy", "asarray", "len", "iter")}
    marked |= {line(mark) for mark in ("in", "index", "zeros", "equal", "tensor")}
    assert {escape.frames[0].line for escape in escapes} == marked


def test_draws_are_seen_where_something_is_drawn_and_only_there() -> None:
    seen = observe(Draws(), (torch.ones(1, 4, 8),))
    wanted = ("randn", "dropout", "python", "by-name", "numpy-rand", "generator")
    assert [draw.frames[0].line for draw in seen.draws] == [line(mark) for mark in wanted]


def test_a_read_under_no_line_of_the_user_is_not_laid_at_the_callers_door() -> None:
    seen = observe(torch.jit.script(Scripted()), (UP,))
    assert [escape.frames for escape in seen.escapes] == [()]


class Scripted(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if bool(x.sum() > 0):
            x = x + 1
        return x


class Picks(torch.nn.Module):
    """Only the last line turns a tensor into a number that an export keeps."""

    def forward(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        table = torch.arange(8.0)
        table[t] = 3.0
        picked = table[t] + x[:, t]
        return picked + [1, 2, 3, 4][t]


def test_an_element_that_a_tensor_picks_is_not_read_from_it() -> None:
    one, other = (observe(Picks(), (torch.ones(4, 4), torch.tensor(k))) for k in (1, 2))
    lines = Path(__file__).read_text().splitlines()
    for seen in (one, other):
        assert {lines[escape.frames[0].line - 1].strip()[:6] for escape in seen.escapes} == {"return"}


def test_a_short_value_is_kept_and_a_long_one_as_a_digest_that_tells_values_apart() -> None:
    values = {}
    for name, tensor in (("short", torch.arange(8)), ("long", torch.arange(90)), ("other", torch.arange(1, 91))):
        with recording(None) as records:
            tensor.numpy()
            tensor.tolist()
        assert [escape.kind for escape in records.escapes] == ["numpy", "tolist"]
        values[name] = [escape.value for escape in records.escapes]
    assert values["short"] == ["[0, 1, 2, 3, 4, 5, 6, 7]"] * 2
    assert values["long"][0].startswith("array of shape (90,), sha1 ")
    assert values["long"][1].startswith("[0, 1, 2,")
    assert all(one != other for one, other in zip(values["long"], values["other"], strict=True))
    assert all(len(value) < 80 for value in values["long"])


def test_a_conversion_that_torch_makes_of_one_is_recorded_once() -> None:
    """`tolist` of a scalar reads it with `item`, `numpy.asarray` calls `numpy`."""
    with recording(None) as records:
        torch.tensor(3).tolist()
        numpy.asarray(torch.ones(2))
        f"{torch.ones(2)}"
    assert [(escape.kind, escape.value) for escape in records.escapes] == [("tolist", "3"), ("numpy", "[1.0, 1.0]")]


SEEDED = {
    "a generator with a seed": lambda: numpy.random.default_rng(3).random(),
    "a generator with a named seed": lambda: numpy.random.default_rng(seed=3).random(),
    "dropout that drops nothing": lambda: torch.nn.functional.dropout(UP, 0.0),
    "dropout in evaluation": lambda: torch.nn.functional.dropout(UP, 0.5, training=False),
}
DRAWN = {
    "a generator without a seed": (lambda: numpy.random.default_rng().random(), ["numpy.random.default_rng"]),
    "a function of random": (lambda: random.random(), ["random.random"]),
    "a function of random that calls another": (lambda: random.choice([1, 2]), ["random.choice"]),
    "dropout": (lambda: torch.nn.functional.dropout(UP, 0.5), ["native_dropout", "bernoulli_"]),
    "an operator with a generator of its own": (
        lambda: torch.rand(2, generator=torch.Generator().manual_seed(3)),
        ["rand"],
    ),
}


@pytest.mark.parametrize("draw", SEEDED.values(), ids=SEEDED)
def test_what_draws_nothing_new_is_no_draw(draw) -> None:
    with recording(None) as records:
        draw()
    assert records.draws == []


@pytest.mark.parametrize(("draw", "kinds"), DRAWN.values(), ids=DRAWN)
def test_what_is_drawn_has_its_name_and_line(draw, kinds: list[str]) -> None:
    with recording(str(HERE.parent)) as records:
        draw()
    (seen,) = records.draws
    assert seen.kind in kinds
    assert (seen.frames[0].path, seen.frames[0].line) == (HERE.name, draw.__code__.co_firstlineno)


def test_nothing_is_recorded_past_the_end_and_all_is_put_back() -> None:
    methods = {name: torch.Tensor.__dict__.get(name) for name in ("item", "tolist", "__bool__", "__len__", "__array__")}
    with pytest.raises(KeyError), recording(None) as records:
        raise KeyError
    torch.ones(()).item()
    random.random()
    assert (records.escapes, records.draws) == ([], [])
    assert {name: torch.Tensor.__dict__.get(name) for name in methods} == methods
    assert not hasattr(random.random, "__wrapped__")
