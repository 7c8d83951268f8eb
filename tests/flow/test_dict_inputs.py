"""Inputs that come in a dict: what is read by key is a tensor, and the dict itself is none."""

from __future__ import annotations

import textwrap

import pytest
from analysing import findings_of

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
    ["'mask' not in data", "'mask' in data['image']", "len(data) > 1", "data.get('size') is None", "data['is_last']"],
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
