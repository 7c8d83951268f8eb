"""Inputs that come in a dict: what is read by key is a tensor, and the dict itself is none."""

from __future__ import annotations

import textwrap

import pytest
from analysing import findings_of, told

LOOP = "k = data['image']['points']\nreturn [k[i] for i in range(k.shape[0])]"


def codes(parameter: str, body: str) -> list[str]:
    """The rules that object to a forward of this parameter and body."""
    head = "class M(nn.Module):\n    def run(self, data):\n        return self.forward(data)\n\n"
    text = f"{head}    def forward(self, {parameter}):\n{textwrap.indent(textwrap.dedent(body).strip(), ' ' * 8)}\n"
    return sorted(code for code, _, _ in findings_of(text))


@pytest.mark.parametrize("annotation", ["", ": dict", ": Dict[str, Any]", ": Mapping[str, Any]"])
def test_what_is_read_by_key_is_a_tensor(annotation: str) -> None:
    assert codes(f"data{annotation}", LOOP) == ["ONX107"]
    assert codes(f"data{annotation}", "if data['image'].sum() > 0:\n    return 1\nreturn data['image']") == ["ONX101"]


@pytest.mark.parametrize(
    "test",
    [
        *("'mask' not in data", "'mask' in data['image']", "len(data) > 1", "data.get('size') is None"),
        *("data['is_last']", "data.get('training', True)", "data.get('mode', 'all') == 'all'"),
    ],
)
@pytest.mark.parametrize("annotation", ["", ": dict"])
def test_what_a_dict_is_asked_is_no_data(annotation: str, test: str) -> None:
    assert codes(f"data{annotation}", f"if {test}:\n    return data['image'] * 2\nreturn data['image']") == []


def test_a_dict_of_settings_holds_no_tensors() -> None:
    assert codes("x, config: dict", "if config['deep']:\n    return x * 2\nreturn x") == []


@pytest.mark.parametrize(
    ("key", "objected"), [("data[k]", []), ("data[0]", ["ONX101"])], ids=["an item of it", "no item of it"]
)
def test_what_is_asked_for_a_key_and_read_by_it_is_a_dict(key: str, objected: list[str]) -> None:
    body = f"y = {{}}\nfor k in self.names:\n    if k in data:\n        y[k] = {key} * 2\nreturn y"
    assert [code for code in codes("data", body) if code != "ONX104"] == objected


TRAINING = """
class M(nn.Module):
    def forward(self, batch{more}):
        {flag}
        if is_train:
            return batch["x"] if batch["x"].sum() > 0 else batch["y"]
        return batch["x"]
"""


@pytest.mark.parametrize(
    ("more", "flag", "branches"),
    [
        ("", "is_train = batch.get('is_train', True)", 0),
        ("", "is_train = batch.get('is_wide', True)", 1),
        (", is_train", "pass", 0),
        (", is_train=True", "pass", 0),
        (", is_wide=True", "is_train = is_wide", 1),
    ],
)
def test_a_flag_of_training_that_an_export_has_to_give_is_off(more: str, flag: str, branches: int) -> None:
    found = findings_of(TRAINING.format(more=more, flag=flag))
    assert [code for code, _, _ in found] == ["ONX101"] * branches


KEYWORDS = """
class Encoder(nn.Module):
    def forward(self, x, **kwargs):
        config = kwargs.pop("config", None)
        if config is not None and x.sum() > 0:
            return x + config
        return x * 2

class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()

    def forward(self, x: Tensor, **kwargs):
        more = {key: kwargs[key] for key in ("config", "lengths") if key in kwargs}
        return self.encoder(x, **more)
"""


def test_keywords_that_nothing_passes_to_an_exported_model_are_not_there() -> None:
    """A dict of those keywords that a caller passes is empty."""
    assert told(KEYWORDS) == []


@pytest.mark.parametrize(("parameters", "drawn"), [("x: Tensor, **inputs", 0), ("**inputs", 1)])
def test_keywords_beside_which_there_is_no_input_are_the_inputs(parameters: str, drawn: int) -> None:
    """Which ones, the source does not tell."""
    source = f"class M(nn.Module):\n    def forward(self, {parameters}):\n"
    source += "        return torch.rand(3) if 'seed' in inputs else torch.ones(3)\n"
    assert len(told(source)) == drawn


def test_a_keyword_that_a_model_passes_to_a_part_is_there() -> None:
    """What is passed on is what the outer model gave."""
    outer = """
class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.m = M()
    def forward(self, x: Tensor, config: Tensor):
        return self.m(x, config=config)
"""
    assert "Branch data: config is not None and x.sum() > 0" in told(KEYWORDS + outer)


@pytest.mark.parametrize(
    ("test", "shown"),
    [
        ("'gt_boxes' in data", False),
        ("'labels' not in data", True),
        ("'boxes' in data", True),
        ("'gt_boxes' in made", True),
    ],
)
def test_an_exported_model_is_given_no_labels(test: str, shown: bool) -> None:
    body = f"""
        made = {{'gt_boxes': data['image']}}
        if {test}:
            if data['image'].sum() > 0:
                return data['image'] * 2
        return data['image'] + made['gt_boxes']
    """
    assert codes("data: dict", body) == (["ONX101"] if shown else [])
