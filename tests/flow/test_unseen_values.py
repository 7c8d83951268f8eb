"""Tensors that come out of what is not read: tokenizers and models of other libraries."""

from __future__ import annotations

import pytest
from analysing import findings_of

TOKENS = """\
class M(nn.Module):
    def __init__(self, tokenizer):
        super().__init__()
        self.tokenizer = tokenizer
    def forward(self, x, captions):
        tokens = self.tokenizer(captions, {how}).to(x.device)
        if tokens["input_ids"].sum() > 0:
            x = x * 2
        return x
"""


def test_what_a_tokenizer_gives_for_return_tensors_are_tensors() -> None:
    assert [code for code, _, _ in findings_of(TOKENS.format(how='return_tensors="pt"'))] == ["ONX101"]


ENCODER = """\
from {base} import Base
class Encoder(Base):
    def forward(self, x: Tensor):
        x = self.features[0](x)
        if x.sum() > 0:
            x = x * 2
        return x
"""


@pytest.mark.parametrize("base", ["torchvision.models.mobilenetv3", "timm.models.resnet", "transformers.models.bert"])
def test_a_class_derived_from_a_model_of_a_library_is_a_module(base: str) -> None:
    assert [code for code, _, _ in findings_of(ENCODER.format(base=base))] == ["ONX101"]


@pytest.mark.parametrize("base", ["torchvision.datasets.folder", "collections.abc"])
def test_a_class_derived_from_anything_else_is_none(base: str) -> None:
    assert findings_of(ENCODER.format(base=base)) == set()


LISTED = """\
def joined(tokens, count):
    last = tokens[-count:]
    return torch.cat([token for _, token in last], dim=-1)

class Head(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.count = count
    def forward(self, {name}):
        return joined({name}, self.count)
"""


@pytest.mark.parametrize(("name", "codes"), [("x", ["ONX104"]), ("token_list", []), ("stage_tuple", [])])
def test_what_is_named_a_list_may_be_one(name: str, codes: list[str]) -> None:
    assert [code for code, _, _ in findings_of(LISTED.format(name=name))] == codes
