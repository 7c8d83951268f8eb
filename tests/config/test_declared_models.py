"""The models that a configuration declares: what is read of each, and that one with a mistake is left out."""

from __future__ import annotations

import tomllib

import pytest

from onnxlint.base.probe_records import Tolerance
from onnxlint.config.declared_models import ModelConfig, models
from onnxlint.config.toml_positions import key_lines
from onnxlint.config.typed_values import Node, Problems


def read(text: str) -> tuple[tuple[ModelConfig, ...] | None, list[tuple[int | None, str]]]:
    problems = Problems("two words.toml", key_lines(text))
    declared = models(Node(tomllib.loads(text)["models"], ("models",), problems))
    return declared, [(d.line, d.message) for d in problems.diagnostics]


def one(rows: str) -> tuple[tuple[ModelConfig, ...], list[str]]:
    declared, mistakes = read(f"[[models]]\n{rows}\n")
    assert declared is not None
    return declared, [message for _, message in mistakes]


def test_a_model_has_its_place_and_defaults_for_all_but_its_factory() -> None:
    declared, mistakes = read(
        '\n\n[[models]]\nfactory = "pkg.größe:Net"\n\n[[models]]\nfactory = "a:b"\noptional = true\n'
    )
    assert mistakes == []
    assert declared == (
        ModelConfig("pkg.größe:Net", path="two words.toml", line=3),
        ModelConfig("a:b", path="two words.toml", line=6, optional=True),
    )
    assert read("models = []") == ((), [])


def test_inputs_in_lists_and_tables_have_labels() -> None:
    inputs = '{ x = "float32[n, 3]", states = ["bool[n]", "bool[n]"], batch = { mask = "int64[n]" } }'
    ((model,), mistakes) = one(f'factory = "a:b"\ninputs = {inputs}')
    assert mistakes == []
    assert isinstance(model.inputs, dict)
    assert list(model.inputs) == ["x", "states.0", "states.1", "batch.mask"]
    assert model.inputs["batch.mask"].dtype == "int64"


def test_what_is_no_tensor_is_kept_as_it_is() -> None:
    rows = 'factory = "a:b"\nvalues = { mode = "größe", flags = [1, true] }\n'
    rows += "arguments = { dim = 8, inner = { p = 0.5 } }\n"
    ((model,), mistakes) = one(rows + "tolerance = { relative = 1e-2 }\neval = true")
    assert mistakes == []
    assert (model.values, model.arguments) == ({"mode": "größe", "flags": [1, True]}, {"dim": 8, "inner": {"p": 0.5}})
    assert model.tolerance == Tolerance(relative=1e-2)
    assert model.eval


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("", '`factory` is missing; add `factory = "module:callable"`'),
        ('factory = "a:b"\ninputs = { states = [] }', "it is empty; give one spec string for each tensor"),
        ('factory = "a:b"\ninputs = { x = ["bool[n=2]", "bool[n=3]"] }', "`n` is 3 here and 2 in `x.0`"),
        (
            'factory = "a:b"\ninputs = { x = "bool[n]" }\ndynamic = { x = { 1 = "m" } }',
            "axis 1 is outside `x`, which has 1 axes",
        ),
        (
            'factory = "a:b"\ninputs = { x = "bool[2]" }\nsizes = { n = [1] }',
            "`n` is no dynamic dim of this model; this model has no dynamic dim",
        ),
        ('factory = "a:b"\ninputs = { image = "bool[2]" }\nranges = { imag = [0, 1] }', "did you mean `image`?"),
    ],
)
def test_a_model_whose_inputs_mean_nothing_is_left_out(rows: str, told: str) -> None:
    declared, mistakes = one(rows)
    assert declared == ()
    assert len(mistakes) == 1
    assert told in mistakes[0]


def test_a_mistake_beside_the_inputs_costs_its_own_key_alone() -> None:
    ((model,), mistakes) = one('factory = "a:b"\ntimeout = "soon"\nexporters = ["dynamo"]')
    assert (model.timeout, model.exporters) == (None, ("dynamo",))
    assert len(mistakes) == 1


def test_one_table_for_a_list_is_told_with_the_brackets() -> None:
    declared, ((line, message),) = read('[models]\nfactory = "a:b"\n')
    assert declared is None
    assert line == 1
    assert "write [[models]]" in message
