"""The words for variables: tensors with their sizes, sizes, numbers read out of tensors; anything else has none."""

from __future__ import annotations

import pytest
from analysing import facts_of, project_of

from onnxlint.flow.state.variable_kinds import describe, describe_all
from onnxlint.flow.values.domain import CONFIG, NONE, UNKNOWN, Const, Data, Dim, Site, Tensor, Tuple, Value
from onnxlint.flow.values.node_places import NOWHERE, Body, Place

ANYWHERE = Place(Body(next(iter(project_of("a = 1\n").modules.values())), "<module>", 1), NOWHERE, 1, "")
BATCH = Dim(frozenset({"batch"}), plain=True)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (Tensor((BATCH, Const(3), CONFIG), kind="float"), "tensor/float:batch,3,*"),
        (Tensor(()), "tensor:"),
        (Tensor(None), "tensor"),
        (Tensor(None, BATCH), "tensor:batch,..."),
        (Tensor((Const(4),), source="weight"), "weight:4"),
        (Tensor((Const(4),), guessed=True), "guess:4"),
        (BATCH, "dim:batch"),
        (Dim(frozenset({"batch"}), plain=False), "dim"),
        (Data(Site(ANYWHERE, ".item()")), "data"),
    ],
)
def test_the_words_for(value: Value, words: str) -> None:
    assert describe(value) == words


def test_what_no_remedy_asks_for_is_left_out() -> None:
    assert describe_all({"n": Const(3), "none": NONE, "pair": Tuple((Tensor(),)), "what": UNKNOWN, "b": BATCH}) == {
        "b": "dim:batch"
    }


def test_an_observation_knows_the_variables_of_its_line() -> None:
    source = """
    class M(nn.Module):
        def forward(self, x: Tensor):
            rows, scale = x.shape[0], 0.5
            total = x.float().sum()
            return x if total > rows else x * scale
    """
    (branch,) = facts_of(source)
    rows = branch.described["rows"]
    assert rows.startswith("dim:")
    assert branch.described["x"].startswith("tensor")
    assert branch.described["total"] == "tensor:"
    assert "scale" not in branch.described
