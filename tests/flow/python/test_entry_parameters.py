"""What a parameter is taken for when no call tells: by annotation, by default, by name, by what the body does."""

from __future__ import annotations

import ast

import pytest
from analysing import PRELUDE, findings_of, running

from onnxlint.flow.python.entry_parameters import entry_value, exported_value, may_be_plain, vararg_value
from onnxlint.flow.values.domain import (
    CONFIG,
    NONE,
    UNKNOWN,
    Config,
    Const,
    Dict,
    Instance,
    Seq,
    Tensor,
    Value,
    and_no_none,
    is_no_none,
    or_none,
)

RECORD = """
from dataclasses import dataclass
from typing import Optional, TypedDict
@dataclass
class Batch:
    image: Tensor
    scale: float
class Table(TypedDict):
    image: Tensor
Images = list[Tensor]
Loop = list["Loop"]
"""


def of(parameter: str, body: str = "return 0", exported: bool = False) -> Value:
    """What the last parameter of a function with this body is taken for, None aside."""
    engine, info = running(f"{PRELUDE}{RECORD}def f({parameter}):\n    {body}\n")
    unit = info.functions["f"]
    last, default = unit.positional[-1]
    v = (exported_value if exported else entry_value)(engine, unit, last, default)
    assert isinstance(v, Const) or not is_no_none(v)  # anybody may call it with None
    return and_no_none(v)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        ("Tensor", Tensor()),
        ("'Tensor'", Tensor()),
        ("Optional[Tensor]", Tensor()),
        ("Tensor | None", Tensor()),
        ("list[Tensor]", Seq(Tensor())),
        ("Images", Seq(Tensor())),
        ("dict[str, Tensor]", Dict((), Tensor())),
        ("Table", Dict((("image", or_none(Tensor())),))),
        ("Tensor | list[Tensor]", Tensor(guessed=True)),
        ("int", CONFIG),
        ("Loop", Seq(UNKNOWN)),
        ("'no annotation at all'", Tensor()),
    ],
)
def test_the_annotation_says(annotation: str, value: Value) -> None:
    assert of(f"v: {annotation}") == value


def test_a_comment_may_say_the_type() -> None:
    assert of("k, v", "# type: (int, List[Tensor]) -> Tensor\n    return v[0]") == Seq(Tensor())
    assert of("k, v", "# type: (int) -> Tensor\n    return v[0]") == Tensor()  # of another number of parameters
    for text in ("(int, Tensor))", "(" * 5000 + "int" + ")" * 5000, "(-" * 5000 + "1" + ")" * 5000):
        assert of("k, v", f"# type: {text} -> Tensor\n    return v[0]") == Tensor()


def test_a_record_has_the_values_of_its_fields() -> None:
    batch = of("v: Batch")
    assert isinstance(batch, Instance)
    assert batch.object.attrs == {"image": or_none(Tensor()), "scale": CONFIG}


def test_axes_by_jaxtyping() -> None:
    image = of('v: Float[Tensor, "batch 3 height"]')
    assert isinstance(image, Tensor)
    assert image.dims is not None
    assert (image.dims[1], image.kind) == (Const(3), "float")
    assert image.axes == {"batch", "?height"}
    assert of('v: Float[Tensor, "... 3"]') == Tensor()


@pytest.mark.parametrize(
    ("parameter", "body", "value"),
    [
        ("x", "return x", Tensor()),
        ("num_heads", "return 0", CONFIG),
        ("batch_size", "return 0", CONFIG),
        ("num_steps", "return int(num_steps)", Tensor()),
        ("flag", "return 1 if flag else 0", CONFIG),
        ("scale=1.0", "return scale", CONFIG),
        ("mask=None", "return mask", Tensor()),
        ("extra=None", "return extra", UNKNOWN),
        ("labels=None", "return labels", NONE),
        ("label_tensor=None", "return label_tensor", NONE),
        ("gt_boxes=None", "return gt_boxes", NONE),
        ("label_mix=None", "return label_mix", UNKNOWN),
        ("data", "return data['image']", Dict((), Tensor())),
        ("features", "return [f for f in features]", Tensor(guessed=True)),
        ("features", "return features.sum()", Tensor()),
        ("mlvl_feats", "return [f.size() for f in mlvl_feats]", Seq(Tensor())),
        ("mlvl_feats", "return mlvl_feats.sum()", Tensor()),
        ("grid_h", "return 0", CONFIG),
        ("training=True", "return x if training else -x", Const(False)),
        ("return_loss: bool", "return x if return_loss else -x", Const(False)),
    ],
)
def test_without_an_annotation_the_default_the_name_or_the_body_says(parameter: str, body: str, value: Value) -> None:
    assert of(parameter, body) == value


def test_a_flag_that_is_off_is_known_to_be_off_in_what_is_exported() -> None:
    v = of("x, fast=False", exported=True)
    assert isinstance(v, Config)
    assert v.default == Const(False)
    assert of("x, mask_ratio=0.0", exported=True) == Config(default=Const(0.0))
    assert of("x, mask_ratio=0.5", exported=True) == of("x, mask_ratio=0.0") == CONFIG
    on = of("x, fast=True", exported=True)
    assert isinstance(on, Config)
    assert on.default is None
    dynamic = of("x, dynamic_size=False", exported=True)  # an export turns it on
    assert isinstance(dynamic, Config)
    assert dynamic.default is None


def test_what_stars_give() -> None:
    engine, info = running(f"{PRELUDE}def f(*xs): return 0\ndef g(*xs: int): return 0\n")
    parameters = [info.functions[name].args.vararg for name in "fg"]
    assert all(isinstance(parameter, ast.arg) for parameter in parameters)
    values = [vararg_value(engine, info.functions[n], p) for n, p in zip("fg", parameters, strict=True) if p]
    assert values == [Tensor(guessed=True), CONFIG]


def test_a_plural_that_is_used_as_a_tensor_is_one() -> None:
    _, info = running("def f(tokens):\n    return len(tokens)\ndef g(tokens):\n    return tokens.shape\n")
    assert may_be_plain(info.functions["f"], "tokens")
    assert not may_be_plain(info.functions["g"], "tokens")


def test_what_is_concatenated_is_a_list_of_tensors() -> None:
    assert of("x", "return torch.cat(x, dim=1) if self.wide else sum(x)") == Seq(Tensor())
    assert of("x", "return torch.cat(x, dim=1) + x.shape[0]") == Tensor()
    assert of("x", "return torch.cat([x, x], dim=1)") == Tensor()
    assert of("x", "x = [part(x) for part in self.parts]\n    return torch.cat(x, dim=1)") == Tensor()


def test_what_is_detached_one_by_one_may_be_a_list() -> None:
    assert of("x", "return self.head([part.detach() for part in x])").guessed
    assert not of("x", "return self.head([part.view(-1) for part in x])").guessed


STATE = """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.rnn = nn.{layer}(4, 4)

    def forward(self, x, state):
        for part in state:
            x = x + part.mean()
        return {call}
"""


@pytest.mark.parametrize(
    ("layer", "call", "looped"),
    [("LSTM", "self.rnn(x, state)", False), ("GRU", "self.rnn(x, state)", True), ("LSTM", "self.fc(state)", True)],
)
def test_the_state_of_an_lstm_is_two_tensors(layer: str, call: str, looped: bool) -> None:
    found = findings_of(STATE.format(layer=layer, call=call))
    assert [code for code, _, _ in found] == (["ONX104"] if looped else [])


def test_an_optional_parameter_whose_length_is_asked_may_be_a_tuple() -> None:
    assert of("mask=None", "return len(mask)") == Tensor(guessed=True)


@pytest.mark.parametrize(("default", "expected"), [(", None", []), ("", []), (", x", ["ONX106"])])
def test_what_a_dict_of_inputs_may_lack_is_no_tensor_for_sure(default: str, expected: list[str]) -> None:
    body = f"x = data['x']\n        states = data.get('rnn'{default})\n        return x * 2 if len(states) > 2 else x"
    found = findings_of(f"class M(nn.Module):\n    def forward(self, data):\n        {body}\n")
    assert sorted(code for code, _, _ in found if code == "ONX106") == expected


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("return self.w.reshape(4, -1, patch)", CONFIG),
        ("return self.w.view((len(self.w), -1, patch))", CONFIG),
        ("return self.w.expand(self.w.size(0), patch * 2)", CONFIG),
        ("return patch.reshape(4, -1)", Tensor()),
        ("return self.w.reshape(4, patch.shape[0])", Tensor()),
    ],
)
def test_what_tensors_are_shaped_by_is_a_size(body: str, value: Value) -> None:
    assert of("patch", body) == value


@pytest.mark.parametrize(
    ("parameter", "body", "value"),
    [
        ("features_only=False", "return features_only", Const(True)),
        ("features_only: bool", "return features_only", Const(True)),
        ("mask=True", "return compute_mask(mask)", Const(False)),
        ("mask: bool", "return apply(mask, self.mask_prob)", Const(False)),
        ("mask=True", "return causal(mask)", CONFIG),
        ("mask=None", "return compute_mask(mask)", Tensor()),
    ],
)
def test_what_a_model_in_use_hides_from_itself_is_nothing(parameter: str, body: str, value: Value) -> None:
    """Models of fairseq learn what a mask hides; in use they are asked for features alone."""
    assert of(parameter, body) == value


def test_each_parameter_may_have_its_type_behind_it() -> None:
    given = "x,  # type: Tensor\n      sizes=None  # type: List[Tuple[int, int]]\n      "
    assert of(given, "# type: (...) -> Tensor\n    return x") == Seq(Seq(CONFIG))
