"""A literal in the sizes of a call: where it stands, and the size of a tensor in its place."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst
import pytest
from sites import site_at

from onnxlint.base.edits import apply_edits
from onnxlint.base.records import Safety, Span
from onnxlint.flow.state.observations import ShapeLiteral
from onnxlint.rules.engine.site import Site
from onnxlint.rules.helpers.literal_sizes import LiteralSize, literal_hints, size_arguments

SAFE, UNSAFE = Safety.SAFE, Safety.UNSAFE


@pytest.mark.parametrize(
    ("call", "sizes"),
    [
        ("x.view(4, -1)", ["4", "-1"]),
        ("x.view((4, -1))", ["4", "-1"]),
        ("torch.zeros(size=[4, n], dtype=d)", ["4", "n"]),
        ("torch.zeros(4, dtype=d)", ["4"]),
        ("x.repeat(*sizes)", ["sizes"]),
        ("f(dims=(1, 2))", []),
    ],
)
def test_the_sizes_that_a_call_is_given(call: str, sizes: list[str]) -> None:
    node = cst.parse_expression(call)
    assert isinstance(node, cst.Call)
    assert [cst.Module([]).code_for_node(size.value) for size in size_arguments(node)] == sizes


@pytest.mark.parametrize(
    ("source", "position", "number", "written", "safety"),
    [
        ("x.view(4, 64)", 0, 4, "x.view(x.shape[0], 64)", SAFE),
        ("x.view(4, -1)", 0, 4, "x.view(x.shape[0], -1)", UNSAFE),
        ("x.view(1, 64)", 0, 1, "x.view(x.shape[0], 64)", UNSAFE),
        ("x.view(64, 1)", 1, 1, None, None),
        ("x.view(*s, 4)", 1, 4, None, None),
        ("x.view(8, 64)", 0, 4, None, None),
        ("torch.reshape(x, 4, 64)", 0, 4, None, None),
        ("x.expand(4, 64)", 0, 4, "x.expand(x.shape[0], 64)", UNSAFE),
    ],
)
def test_the_size_of_the_tensor_takes_the_place_of_a_literal(
    source: str, position: int, number: int, written: str | None, safety: Safety | None
) -> None:
    text = f"class M:\n    def forward(self, x, s):\n        return {source}\n"
    site = site_at(text, source, x="tensor:batch,64")
    name = source.partition("(")[0].rpartition(".")[2]
    seen = ShapeLiteral(Span("model.py", 1, 1, 1, 2), "x", "f", call=name, literal=number, position=position)
    finding = replace(site.finding, hints={**site.finding.hints, **literal_hints(seen)})
    fix = LiteralSize().fix(Site(finding, site.page))
    assert (fix and fix.safety) == safety
    assert (fix and apply_edits(text, list(fix.edits))) == (written and text.replace(source, written))
