"""Models that the source says how to feed: marked, fed by a convention, or built by nobody else; and why one is not."""

from __future__ import annotations

import textwrap

import pytest
from analysing import PRELUDE, analysed, project_of

from onnxlint.flow.state.candidates import Candidate, candidates, forward_parameters, required
from onnxlint.flow.state.problems import Guard

MODEL = """
class Encoder(nn.Module):
    def __init__(self{arguments}):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        {fed}
    def forward(self, x, mask, *, scale, bias=None):
        return self.linear(x) * scale
"""


def models(source: str) -> dict[str, Candidate]:
    return {candidate.factory: candidate for candidate in analysed(source).candidates}


@pytest.mark.parametrize(
    ("arguments", "fed", "source", "reason"),
    [
        ("", "self.example_input_array = torch.rand(2, 4)", "example_input_array", None),
        ("", "pass", "", "nothing says what to feed it"),
        (", width", "pass", "", "its constructor needs `width`"),
        (", width=4, *, depth", "self.dummy_inputs = {}", "dummy_inputs", "its constructor needs `depth`"),
    ],
)
def test_how_a_model_is_fed_and_why_it_cannot_be(arguments: str, fed: str, source: str, reason: str | None) -> None:
    model = models(MODEL.format(arguments=arguments, fed=fed))["model:Encoder"]
    assert (model.source, model.reason, model.buildable) == (source, reason, "constructor" not in (reason or ""))
    assert model.parameters == ("x", "mask", "scale")


def test_a_convention_that_a_base_of_the_project_follows_counts() -> None:
    derived = "\nclass Wide(Encoder):\n    def forward(self, x):\n        return super().forward(x, None, scale=2)\n"
    source = MODEL.format(arguments="", fed="self.example_input_array = torch.rand(2, 4)") + derived
    assert models(source)["model:Wide"].source == "example_input_array"


def test_a_part_that_another_model_builds_is_no_model_by_itself() -> None:
    source = """
    class Block(nn.Module):
        def forward(self, x):
            return x * 2
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.block = Block()
        def forward(self, x):
            return self.block(x)
    """
    assert set(models(source)) == {"model:Net"}


def test_what_an_export_call_says_stands_before_what_the_class_says() -> None:
    source = MODEL.format(arguments="", fed="pass") + "\nclass Other(nn.Module):\n    pass\n"
    project = project_of(PRELUDE + textwrap.dedent(source))
    exported = Candidate("model:Encoder", "model.py", 40, "export call", "", parameters=("x",))
    found = candidates(project.modules.values(), frozenset(), [exported], Guard([], debug=True))
    assert found == (exported,)


def test_what_a_call_has_to_give() -> None:
    (info,) = project_of("def f(a, b, c=1, *rest, d, e=2, **more): ...\nclass A:\n    pass\n").modules.values()
    assert required(info.functions["f"]) == ("b", "d")
    assert required(info.functions["f"], skip=0) == ("a", "b", "d")
    assert required(None) == ()
    assert forward_parameters(info.classes["A"]) == ()
