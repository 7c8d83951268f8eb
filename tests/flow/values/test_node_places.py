"""Places of nodes: functions are parsed alone, and stand where their file has them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from analysing import PRELUDE, facts_of, project_of, written

from onnxlint.flow.state.observations import Branch, Observation
from onnxlint.flow.values.node_places import NOWHERE, Body, Place, body_of

GATE = """\
class Gate(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x
        return -x
"""


def place(observation: Observation) -> tuple[int, int, int, int]:
    span = observation.span
    return span.line, span.column, span.end_line, span.end_column


def branches(source: str) -> list[Observation]:
    return [f for f in facts_of(source) if isinstance(f, Branch)]


def test_columns_count_characters_where_the_line_is_not_ascii() -> None:
    source = """
    class M(nn.Module):
        def forward(self, x):
            größe = "é"; y = x if x.sum() > 0 else -x
            return y
    """
    [observation] = branches(source)
    line = source.split("\n")[3][4:]
    assert observation.span.column == line.index("x.sum()") + 1
    assert observation.span.end_column == line.index(" else") + 1
    assert observation.text == "x.sum() > 0"


def test_equal_functions_of_two_files_are_found_at_their_own_lines(tmp_path: Path) -> None:
    files = {"a.py": PRELUDE + GATE, "b.py": PRELUDE + "\n\n\n" + GATE}
    found = {Path(f.span.path).name: f.span.line for f in facts_of(written(files, tmp_path)) if isinstance(f, Branch)}
    first = len(PRELUDE.splitlines()) + 3
    assert found == {"a.py": first, "b.py": first + 3}


def test_places_outlive_their_trees() -> None:
    project = project_of(PRELUDE + GATE)
    unit = next(iter(project.modules.values())).classes["Gate"].methods["forward"]
    body = body_of(unit)
    project.definition.cache_clear()
    project.texts.cache_clear()
    again = body_of(unit)
    assert again.function is not body.function
    one, other = (Place(b, b.function.body[0], b.function.body[0].lineno, "") for b in (body, again))
    assert one == other
    assert hash(one) == hash(other)
    assert one != Place(again, again.function.body[1], again.function.body[1].lineno, "")


def test_a_decorated_function_starts_with_its_decorators() -> None:
    source = """
    class M(nn.Module):
        @torch.no_grad()
        @other(
            1)
        def forward(self, x):
            return x if x.any() else -x
    """
    [observation] = branches(source)
    assert observation.span.line == len(PRELUDE.splitlines()) + 7


def test_a_function_in_a_function_has_the_lines_of_the_file() -> None:
    source = """
    class M(nn.Module):
        def forward(self, x):
            scale = 2

            def inner(v):
                def deepest(w):
                    if w.sum() > 0:
                        return w
                    return -w
                return deepest(v) * scale
            class Local(nn.Module):
                def forward(self, v):
                    return v if v.all() else -v
            return inner(x) + Local()(x)
    """
    above = len(PRELUDE.splitlines())
    assert sorted(place(f) for f in branches(source)) == [
        (above + 8, 20, above + 8, 31),
        (above + 14, 29, above + 14, 36),
    ]


def test_a_text_over_several_lines_is_folded_and_loses_the_brackets_around_it() -> None:
    source = """
    class M(nn.Module):
        def forward(self, x):
            if (x.sum() > 0  # the sum
                and x.max() < 1):
                return x
            return -x
    """
    observations = {f.text for f in branches(source)}
    assert observations == {"x.sum() > 0 # the sum and x.max() < 1"}


@pytest.mark.parametrize(
    "text", ["def f(): return 1", "class A:\n\tdef f(self):\n\t\treturn 1\n", "async def f(): return 1"]
)
def test_a_function_is_parsed_however_it_is_indented(text: str) -> None:
    info = next(iter(project_of(text).modules.values()))
    unit = info.functions.get("f") or info.classes["A"].methods["f"]
    function = body_of(unit).function
    assert isinstance(function.body[0], ast.Return)


def test_a_node_of_no_source_stands_at_the_first_line() -> None:
    info = next(iter(project_of("a = 1\nb = 2\n").modules.values()))
    body = Body(info, "<module>", 2)
    assert (body.span(NOWHERE).line, body.span(NOWHERE).column, body.text(NOWHERE)) == (2, 1, "")
