"""What layers of torch.nn give: the operators that they are, and what the exporters make of them."""

import textwrap

import pytest
from analysing import BATCH, LENGTH, PRELUDE, result_of, told

from onnxlint.flow.state.variable_kinds import describe
from onnxlint.flow.values.domain import Const, Tensor

X = Tensor((BATCH, Const(4), LENGTH))
GIVES = {
    "nn.Linear(6, 3)": "tensor/float:batch,4,3",
    "nn.Flatten()": "tensor:batch,*",
    "nn.Identity()": "tensor:batch,4,length",
    "nn.Conv1d(4, 8, 3, padding=1)": "tensor/float:batch,8,length",
    "nn.Sequential(nn.Conv1d(4, 8, 1), nn.ReLU())": "tensor/float:batch,8,length",
    "nn.Sequential(OrderedDict(layers))": "tensor:batch,...",
}


@pytest.mark.parametrize(("layer", "words"), GIVES.items())
def test_what_a_layer_gives(layer: str, words: str) -> None:
    source = f"{PRELUDE}def f(x):\n    return {layer}(x)\n"
    assert describe(result_of(source, X)) == words


CONTAINERS = {
    "a list of layers that somebody gives": ("nn.ModuleList(layers)", "self.layers", True),
    "a dict of such": ("nn.ModuleDict(layers)", "self.layers.values()", True),
    "a list of those of a container": ("nn.ModuleList(nn.Sequential(nn.ReLU(), nn.ReLU()))", "self.layers", True),
    "no layers": ("nn.ModuleList()", "self.layers", False),
}


@pytest.mark.parametrize(("container", "each", "runs"), CONTAINERS.values(), ids=CONTAINERS.keys())
def test_a_loop_runs_over(container: str, each: str, runs: bool) -> None:
    source = f"""
    class M(nn.Module):
        def __init__(self, layers):
            super().__init__()
            self.layers = {container}
        def forward(self, x: Tensor):
            for layer in {each}:
                x = layer(x)
                if x.sum() > 0:
                    x = -x
            return x * 2
    """
    assert any(line.startswith("Branch") for line in told(textwrap.dedent(source))) == runs


@pytest.mark.parametrize(
    ("layer", "told_of"),
    [
        ("nn.RNN(4, 5, batch_first=True)", True),
        ("nn.RNN(4, 5)", True),
        ("nn.LSTM(4, 5)", True),
        ("nn.GRU(4, 5, batch_first=False)", True),
        ("nn.GRU(4, 5, batch_first=True)", False),
        ("nn.LSTM(4, 5, batch_first=True)", False),
    ],
)
def test_the_steps_that_dynamo_fixes(layer: str, told_of: bool) -> None:
    source = f"""
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = {layer}
        def forward(self, x: Tensor):
            return self.rnn(x)[0] * 2
    """
    seen = told(textwrap.dedent(source))
    assert [line.partition(":")[0] for line in seen if "Recurrent" in line] == (["RecurrentSize"] if told_of else [])
