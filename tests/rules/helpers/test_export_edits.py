"""Where an export call gives an argument."""

from __future__ import annotations

import libcst as cst
import pytest

from onnxlint.base.records import Span
from onnxlint.flow.state.observations import ExportCall
from onnxlint.rules.helpers.export_edits import argument_at

PLACES = [
    ("export(m, x, 'f', training=t)", "torch.onnx.export", "training", "training=t"),
    ("export(m, (x), 'f')", "torch.onnx.export", "args", "(x)"),
    ("export(m, *rest, **more)", "torch.onnx.export", "args", "*rest"),
    ("export(m, x)", "torch.onnx.export", "f", ""),
    ("export(m, x, {})", "torch.export.export", "kwargs", "{}"),
    ("export(mod=m)", "torch.export.export", "model", ""),
]


@pytest.mark.parametrize(("code", "api", "name", "place"), PLACES, ids=[f"{p[2]} of {p[0]}" for p in PLACES])
def test_an_argument_is_where_the_call_gives_it(code: str, api: str, name: str, place: str) -> None:
    node = argument_at(cst.parse_expression(code), ExportCall(Span("m.py", 1, 1, 1, 2), code, "m", api=api), name)
    assert ("" if node is None else cst.Module([]).code_for_node(node).rstrip(", ")) == place
