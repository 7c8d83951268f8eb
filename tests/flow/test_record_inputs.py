"""A record of the project as an input: what its constructor stores are tensors."""

from __future__ import annotations

import textwrap

import pytest
from analysing import findings_of

RECORD = """\
class Nested(object):
    def __init__(self, tensors, mask{annotation}, config=None):
        self.tensors = tensors
        self.mask = mask
        self.config = config
        self.small = tensors.shape[0] < 3

    def decompose(self):
        return self.tensors, self.mask

class M(nn.Module):
    def forward(self, samples: Nested):
{body}
"""


def record(body: str, annotation: str = ": Optional[Tensor]") -> list[str]:
    """The rules that object to a forward that is fed a record of the project."""
    source = RECORD.format(annotation=annotation, body=textwrap.indent(textwrap.dedent(body), " " * 8))
    return sorted(code for code, _, _ in findings_of(source))


def test_what_a_record_of_the_project_stores_are_tensors() -> None:
    assert record("x, mask = samples.decompose()\nif mask.any():\n    return x * 2\nreturn x") == ["ONX101"]
    assert record("if samples.tensors.sum() > 0:\n    return 1\nreturn samples.mask") == ["ONX101"]


@pytest.mark.parametrize(
    "test", ["samples.config", "samples.small", "samples.other", "samples.mask is None", "samples"]
)
def test_what_else_a_record_is_asked_is_no_data(test: str) -> None:
    assert record(f"if {test}:\n    return samples.tensors * 2\nreturn samples.tensors") == []


def test_a_record_for_which_a_tensor_may_come_is_a_tensor() -> None:
    body = "if isinstance(samples, (list, torch.Tensor)):\n    rows = [row for row in samples]\nreturn rows"
    assert record(body) == ["ONX104"]
