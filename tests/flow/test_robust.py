"""No source makes the analysis raise or run on: installed packages, mutated sources, deep nesting, long files."""

from __future__ import annotations

import ast
import sys
import sysconfig
import textwrap
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pytest
from analysing import PRELUDE, analyse, analysed, facts_of, project_of, told
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onnxlint.flow import entry_points
from onnxlint.flow.interpreter.interpret import Interpreter
from onnxlint.flow.python import entry_parameters
from onnxlint.flow.state import budget
from onnxlint.flow.state.budget import Exhausted
from onnxlint.flow.state.partitions import Part
from onnxlint.flow.tables.operator_table import OpTable
from onnxlint.flow.values.domain import Function
from onnxlint.project.classes import ModuleInfo
from onnxlint.project.modules import Project
from onnxlint.source.parse import SourceFile, read_source

STDLIB = Path(sysconfig.get_path("stdlib"))
LEFT_OUT = {"test", "tests", "idle_test", "idlelib", "site-packages", "dist-packages"}
PACKAGES = ("timm", "vit_pytorch", "rich", "click")


def sources(folder: Path) -> list[Path]:
    """The Python files of a folder that are no tests."""
    return [p for p in sorted(folder.rglob("*.py")) if not LEFT_OUT & set(p.relative_to(folder).parts)]


def read(path: Path) -> SourceFile | None:
    found = read_source(path)
    return found if isinstance(found, SourceFile) else None


def package(name: str) -> Path:
    """Where an installed package is."""
    spec = find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        pytest.skip(f"{name} is not installed")
    return Path(spec.submodule_search_locations[0])


@pytest.mark.slow
@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_is_analysed_without_an_error(name: str) -> None:
    project = Project(read)
    for path in sources(package(name)):
        file = read(path)
        if file is not None:
            project.add(file)
    assert analyse(project, debug=True).problems == ()


def every_function(info: ModuleInfo) -> Iterator[Function]:
    """Functions and methods of a module."""
    for unit in (*info.functions.values(), *(m for c in info.classes.values() for m in c.methods.values())):
        yield Function(unit)


def run_every_function(path: Path, steps: int = 500) -> int:
    """Run each function of a file as if it were a forward; how many there were. Raises what the analysis raises."""
    file = read(path)
    if file is None:
        return 0
    project = Project(lambda _: None)
    info = project.add(file)
    engine = Interpreter(project, OpTable.load())
    functions = list(every_function(info))
    for function in functions:
        engine.budget.left = steps
        before = engine.context
        with suppress(Exhausted), engine.within(tracing=True):
            args = [entry_parameters.entry_value(engine, function.unit, p, None) for p in function.unit.args.args]
            engine.call_function(function, args, {}, None)
        assert engine.frames == []
        assert engine.context is before
    return len(functions)


@pytest.mark.slow
def test_every_function_of_the_standard_library_runs() -> None:
    assert sum(run_every_function(path) for path in sources(STDLIB)) > 10_000


@pytest.mark.parametrize("name", ["ast.py", "argparse.py", "dataclasses.py", "typing.py", "functools.py", "enum.py"])
def test_every_function_of_a_module_runs(name: str) -> None:
    assert run_every_function(STDLIB / name) > 20


SEED = (
    PRELUDE
    + '''
class Gate(nn.Module):
    """A seed for mutations: something of everything."""
    limit: float = 3.0
    def __init__(self, dim=4, *, act=F.relu, **rest):
        super().__init__()
        self.dim, self.act = dim, act
        self.net = nn.Sequential(nn.Linear(dim, dim), nn.ReLU())
        self.parts = nn.ModuleList([nn.Linear(dim, dim) for _ in range(3)])
        self.register_buffer("scale", torch.ones(1, dim))
    @property
    def width(self):
        return self.dim
    @staticmethod
    def split(x, n=2):
        a, *b = x.chunk(n, -1)
        return a, b
    def forward(self, x, mask=None, *more, flag: bool = False, **rest):
        b, n, _ = x.shape
        with torch.no_grad():
            y = self.net(x)[:, None, ..., :-1].view(b, -1)
        for i, part in enumerate(self.parts):
            if mask is not None and i % 2:
                x = part(x) * mask[:, :n]
            elif flag or not torch.jit.is_tracing():
                continue
            else:
                break
        try:
            total = sum(v.item() for v in (x, y) if v is not None)
        except (ValueError, TypeError) as error:
            raise RuntimeError(f"{b} {n!r}") from error
        finally:
            del i
        while total > self.limit:
            total -= 1
        match n:
            case 1 | 2 if flag:
                return {"x": x, **rest}
            case [first, *_]:
                return first
            case _:
                pass
        keep = lambda v, w=n: v if w else -v
        d = {k: [keep(z) for z in zs] for k, zs in zip("ab", [x, y], strict=False)}
        self.scale += (q := x.mean(0, keepdim=True))
        x[x > 0] += d["a"][0] @ q.mT
        return np.concatenate([x.numpy(), y]), torch.tensor([b, n]), self.split(x)[1]
def main():
    torch.onnx.export(Gate().eval(), torch.randn(2, 3, 4), "gate.onnx", dynamic_axes={"x": {0: "b"}})
main()
'''
)
LINES = SEED.splitlines()
TOKENS = sorted(
    {
        "None",
        "0",
        "-1",
        "x",
        "self",
        "...",
        "()",
        "[]",
        "{}",
        "x.shape",
        "x.item()",
        "*x",
        "lambda: x",
        "nn.Module",
        "super()",
        "torch",
        "yield x",
        "await x",
        "(y := x)",
        "x[None]",
        "f'{x}'",
        "b''",
        "1j",
        "not x",
        "self.net",
        "Gate",
        "Gate()",
    }
)
ROBUSTLY = settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))


def analyses(text: str) -> bool:
    """Analyse a text if it is Python; True if it was. Raises what the analysis raises."""
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    analyse(project_of(text), debug=True)
    return True


def names_and_constants(text: str) -> list[ast.expr]:
    found = [n for n in ast.walk(ast.parse(text)) if isinstance(n, (ast.Name, ast.Constant, ast.Attribute, ast.Call))]
    return [n for n in found if n.lineno == n.end_lineno]


PLACES = names_and_constants(SEED)


def test_the_seed_is_analysed() -> None:
    assert analyses(SEED)
    assert len(told(project_of(SEED))) > 3


@ROBUSTLY
@given(st.lists(st.tuples(st.sampled_from(PLACES), st.sampled_from(TOKENS)), min_size=1, max_size=3))
def test_a_source_with_other_expressions_is_analysed(changes: list[tuple[ast.expr, str]]) -> None:
    lines = list(LINES)
    taken: set[int] = set()
    for node, token in changes:
        if node.lineno not in taken:
            taken.add(node.lineno)
            line = lines[node.lineno - 1]
            lines[node.lineno - 1] = line[: node.col_offset] + token + line[node.end_col_offset :]
    analyses("\n".join(lines))


@ROBUSTLY
@given(st.lists(st.integers(0, len(LINES) - 1), min_size=1, max_size=8))
def test_a_source_without_some_of_its_lines_is_analysed(gone: list[int]) -> None:
    analyses("\n".join(line for i, line in enumerate(LINES) if i not in gone))


@ROBUSTLY
@given(st.integers(11, len(LINES) - 1), st.integers(11, len(LINES) - 1))
def test_a_source_with_lines_exchanged_is_analysed(a: int, b: int) -> None:
    lines = list(LINES)
    lines[a], lines[b] = lines[b], lines[a]
    analyses("\n".join(lines))


def model(body: str) -> str:
    """A model with this body of forward, in one line."""
    return f"import torch\nclass M(torch.nn.Module):\n    def forward(self, x, y):\n        {body}\n        return x\n"


DEEP = {
    "parentheses": "x = " + "(" * 90 + "x" + ")" * 90,
    "calls": "x = " + "abs(" * 90 + "x" + ")" * 90,
    "methods": "x = x" + ".relu()" * 400,
    "attributes": "x = x" + ".a" * 900,
    "subscripts": "x = x" + "[0]" * 900,
    "sums": "x = x" + " + y" * 900,
    "powers": "x = x" + " ** y" * 90,
    "signs": "x = " + "- " * 900 + "x",
    "negations": "x = " + "not " * 900 + "x",
    "conditions": "x = " + "x if y else " * 300 + "x",
    "conjunctions": "x = x" + " and y" * 900,
    "comparisons": "x = x" + " < y" * 900,
    "lambdas": "x = " + "lambda: " * 90 + "x",
    "lists": "x = " + "[" * 90 + "x" + "]" * 90,
    "comprehensions": "x = " + "[" * 30 + "x" + " for x in x]" * 30,
    "strings": "x = " + "'a' " * 900,
}


@pytest.mark.parametrize("body", DEEP.values(), ids=DEEP.keys())
def test_deep_or_long_expressions_end(body: str) -> None:
    found = analyse(project_of(model(body)), debug=True)
    assert all("nested too deeply" in p.message for p in found.problems)


BLOCKS = {
    "ifs": "if x.sum() > {}:\n",
    "loops": "for i{} in x:\n",
    "whiles": "while x.sum() > {}:\n",
    "withs": "with torch.no_grad() as a{}:\n",
    "functions": "def f{}(x):\n",
    "classes": "class C{}:\n",
}


@pytest.mark.parametrize("head", BLOCKS.values(), ids=BLOCKS.keys())
def test_deep_blocks_end(head: str) -> None:
    depth = 14 if head.startswith(("for", "while")) else 18
    text = "def forward(self, x):\n"
    for i in range(depth):
        text += "    " * (i + 1) + head.format(i)
    text += "    " * (depth + 1) + "return x\n"
    source = "import torch\nclass M(torch.nn.Module):\n" + textwrap.indent(text, "    ")
    told = [problem.message for problem in analyse(project_of(source), debug=True).problems]
    assert len(told) == (depth == 14)
    assert all("are followed once only" in message for message in told)


def test_a_long_chain_of_elifs_ends() -> None:
    body = "if x is None:\n            pass\n" + "".join(
        f"        elif y == {i}:\n            x = x + {i}\n" for i in range(300)
    )
    assert all("nested too deeply" in p.message for p in analyse(project_of(model(body))).problems)


def test_a_long_chain_of_calls_is_followed_as_far_as_it_goes() -> None:
    chain = "".join(f"def f{i}(x):\n    return f{i + 1}(x)\n" for i in range(200))
    source = chain + "def f200(x):\n    return x\nclass M(nn.Module):\n    def forward(self, x):\n        x = f0(x)\n"
    assert told(source + "        return x if x.any() else -x\n") in ([], ["Branch data: x.any()"])


def test_python_s_own_stack_being_full_costs_that_call_only() -> None:
    body = "if x.sum() > 0:\n            x = -x\n        y = deep(x)"
    nest = "def deep(x):\n    x = " + "abs(" * 80 + "deep2(x)" + ")" * 80 + "\n    return x\n"
    nest += "def deep2(x):\n    x = " + "abs(" * 80 + "deep3(x)" + ")" * 80 + "\n    return x\n"
    nest += "def deep3(x):\n    x = " + "abs(" * 80 + "x" + ")" * 80 + "\n    return x\n"
    limit = sys.getrecursionlimit()
    found = analyse(project_of(nest + model(body)), debug=True)
    assert [f.text for f in found.observations] == ["x.sum() > 0"]
    assert sys.getrecursionlimit() == limit


def test_many_contexts_end() -> None:
    calls = "".join(f"        x = helper(x, [{i}] * {i}, a={i}, b={{'k{i}': {i}}})\n" for i in range(400))
    source = "def helper(x, *args, **kwargs):\n    return x if x.any() else -x\n"
    source += "class M(nn.Module):\n    def forward(self, x):\n" + calls + "        return x\n"
    assert told(source) == ["Branch data: x.any()"]


def test_functions_that_call_each_other_in_every_way_end() -> None:
    names = [f"f{i}" for i in range(12)]
    source = "".join(
        f"def {name}(x, n):\n    if n == 0:\n        return x\n"
        + "".join(f"    x = {other}(x + {i}, n - 1)\n" for i, other in enumerate(names))
        + "    return x if x.any() else -x\n"
        for name in names
    )
    source += "class M(nn.Module):\n    def forward(self, x):\n        return f0(x, 3)\n"
    assert len(facts_of(source)) == len(names)


@pytest.mark.slow
def test_a_file_of_twenty_thousand_lines_ends() -> None:
    block = "".join(f"        y = self.lin(x) + {i}\n        if y.sum() > {i}:\n            x = y\n" for i in range(20))
    classes = "".join(
        f"class M{i}(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        f"        self.lin = nn.Linear(4, 4)\n    def forward(self, x):\n{block}        return x\n"
        for i in range(310)
    )
    assert classes.count("\n") > 20_000
    assert len(analysed(classes).observations) == 310 * 20


def test_a_forward_of_many_lines_ends() -> None:
    lines = "".join(f"        x = x + {i}\n" for i in range(3_000))
    source = "class M(nn.Module):\n    def forward(self, x):\n" + lines + "        return x if x.any() else -x\n"
    assert told(source) == ["Branch data: x.any()"]


DOUBLINGS = {
    "a constructor": """
        class M(nn.Module):
            def __init__(self, x=1):
                super().__init__()
                self.a = M((x, x))
            def forward(self, x):
                return x
    """,
    "a recursion": """
        def f(x, n):
            return f((x, {"a": x}), n)
        class M(nn.Module):
            def forward(self, x):
                return f(x, partial(f, x, x))
    """,
    "a straight line": "class M(nn.Module):\n    def forward(self, x):\n        y = (x, x)\n"
    + "        y = [y, *y, y]\n        y = partial(y, y, y=y)\n        y = (y.append, nn.Sequential(y, y))\n" * 15
    + "        return self.f(y)\n    def f(self, y):\n        return y\n",
}


@pytest.mark.parametrize("source", DOUBLINGS.values(), ids=DOUBLINGS)
def test_a_value_that_doubles_with_every_step_stays_small(source: str) -> None:
    assert facts_of(source) == ()


def nested(head: str, depth: int, inner: str) -> str:
    """Blocks in blocks, as the body of a function."""
    heads = [" " * i + head.format(i) for i in range(depth)]
    return textwrap.indent("\n".join([*heads, " " * depth + inner]), "        ")


ENDLESS = {
    "loops": nested("for i{} in (1, 2):", 60, "x = x + 1"),
    "comprehensions": "        return [1 " + "for i in (1, 2, 3, 4, 5, 6, 7, 8) " * 20 + "]",
    "lambdas": "        f = lambda n: f(n) + f(n)\n        return f(x)",
    "closures": "".join(f"        def f{i}(x): return {f'f{i - 1}(f{i - 1}(x))' if i else 'x'}\n" for i in range(36))
    + "        return f35(x)",
}


@pytest.mark.parametrize("loop", ["for i{} in x:", "while x.sum() > {}:"])
def test_loops_deep_in_others_are_analysed_for_one_turn_and_named(loop: str) -> None:
    body = (
        "    def forward(self, x):\n" + nested(loop, 20, "x = x * x.item()") + "\n        return x if x.any() else -x"
    )
    engine = Interpreter(project_of(f"import torch\nclass M(torch.nn.Module):\n{body}\n"), OpTable.load())
    run = entry_points.run_part(engine, Part(tuple(engine.project.modules.values())))
    assert budget.FILE - engine.budget.of_file("/nowhere/model.py", 0) < 10_000
    [problem] = run.problems
    assert problem.line == 3
    assert f"at line {4 + budget.LOOPS}, are followed once only" in problem.message
    assert {"x.any()", "x.item()"} <= {f.text for f in engine.observations.values()}


@pytest.mark.parametrize("body", ENDLESS.values(), ids=ENDLESS)
def test_an_entry_point_that_takes_too_many_steps_is_named_and_the_next_one_runs(
    body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budget, "ENTRY", 20_000)
    source = f"""import torch
class Endless(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            x = -x
{body}
class Gate(torch.nn.Module):
    def forward(self, x):
        return x if x.any() else -x
"""
    found = analyse(project_of(source), debug=True)
    [problem] = found.problems
    assert problem.path == "/nowhere/model.py"
    assert not problem.internal
    assert "Endless.forward takes too many steps to analyse" in problem.message
    assert problem.line is not None
    assert f", at line {problem.line}, is not seen" in problem.message
    assert {f.text for f in found.observations} >= {"x.sum() > 0", "x.any()"}


def test_a_file_of_many_heavy_entry_points_is_left_when_it_has_taken_its_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "ENTRY", 1000)
    monkeypatch.setattr(budget, "FILE", 5000)
    monkeypatch.setattr(budget, "LINE", 0)
    heavy = "".join(
        f"class M{i}(torch.nn.Module):\n    def forward(self, x):\n{ENDLESS['loops']}\n        return {i}\n"
        for i in range(20)
    )
    problems = analyse(project_of("import torch\n" + heavy), debug=True).problems
    assert len(problems) == 6
    assert "M5.forward and what comes after it is left out" in problems[-1].message
    assert all("takes too many steps" in p.message for p in problems)


def test_a_constructor_that_takes_too_many_steps_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "ENTRY", 5000)
    body = ENDLESS["loops"].replace("in x", "in range(dim)").replace("x = x + 1", "self.lin = nn.Linear(dim, dim)")
    source = f"""
class Endless(nn.Module):
    def __init__(self, dim):
        super().__init__()
{body}
    def forward(self, x):
        return x if x.any() else -x
"""
    found = analyse(project_of(PRELUDE + source), debug=True)
    assert [p.message.partition(" takes")[0] for p in found.problems] == ["Endless.__init__"]
    assert [f.text for f in found.observations] == ["x.any()"]


def test_a_dict_that_grows_write_by_write_is_still_read() -> None:
    writes = "".join(f"        d['k{i}'] = x + {i}\n" for i in range(1200))
    source = "class M(nn.Module):\n    def forward(self, x):\n        d = {}\n" + writes
    source += "        return x if d['k3'].any() else d['k1100'] if d['k1100'].all() else x\n"
    assert told(source) == ["Branch data: d['k1100'].all()", "Branch data: d['k3'].any()"]


def test_a_long_way_of_a_value_is_told_by_its_first_and_its_last_steps() -> None:
    lines = "".join(f"        x = x + {i}\n" for i in range(500))
    source = "class M(nn.Module):\n    def forward(self, x):\n" + lines + "        return x if x.any() else -x\n"
    [observation] = facts_of(source)
    first = len(PRELUDE.splitlines()) + 2
    assert [s.line for s in observation.trace] == [first, *range(first + 496, first + 501)]
    assert observation.trace[0].message == "`x` is an input of `M.forward`"


def test_a_fact_among_very_many_variables_tells_of_those_it_speaks_of() -> None:
    lines = "".join(f"        y{i} = x + {i}\n" for i in range(300))
    source = "class M(nn.Module):\n    def forward(self, x):\n" + lines + "        return x if y7.any() else -x\n"
    [observation] = facts_of(source)
    assert dict(observation.described) == {"": "tensor/bool:", "y7": "tensor"}


@pytest.mark.parametrize(
    "aliases",
    [
        'A = Union[Tensor, List["A"]]',
        "A = Union[Tensor, List[B]]\nB = Dict[str, A]",
        'A = Union[Tensor, "B"]\nB = Union["C", int]\nC = List["A"]',
    ],
    ids=["itself", "one another", "a third"],
)
def test_types_that_are_made_of_each_other_are_followed_once(aliases: str) -> None:
    source = f"from typing import Dict, List, Union\n{aliases}\n"
    source += "class M(nn.Module):\n    def forward(self, x: Tensor, a: A):\n        return x if x.any() else -x\n"
    assert told(source) == ["Branch data: x.any()"]


@pytest.mark.parametrize("arguments", ["1, 2, 3, 4, 5, 6", "", "*range(9)", "1, 9, 0", "9223372036854775808"])
def test_a_range_that_python_refuses_or_cannot_measure_is_no_error_of_ours(arguments: str) -> None:
    source = (
        f"class M(nn.Module):\n    def forward(self, x):\n        for _ in range({arguments}):\n            x = x + 1\n"
    )
    source += "        return x if x.any() else -x\n"
    assert told(source) == ["Branch data: x.any()"]


OVER_MODULES = """
class Blocks(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))

    def forward(self, x):
        for i, row in enumerate(self.rows(x)):
            x = self.blocks[i](x) + row
        return x

    def rows(self, x):
        {before}return [row * 2 for row in x]
"""


def test_a_loop_over_rows_is_seen_where_a_loop_over_modules_asks_for_them() -> None:
    assert told(OVER_MODULES.format(before="")) == ["Loop tensor: x"]


def test_steps_that_run_out_in_a_loop_over_modules_silence_no_other_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "ENTRY", 5000)
    endless = ENDLESS["loops"].strip("\n").strip() + "\n        "
    other = """
class Other(nn.Module):
    def forward(self, x):
        return torch.stack([row.relu() for row in x])
"""
    found = analyse(project_of(PRELUDE + OVER_MODULES.format(before=endless) + other), debug=True)
    assert [p.message.partition(" takes")[0] for p in found.problems] == ["Blocks.forward"]
    assert "Other.forward" in [f.symbol.partition(".")[2] for f in found.observations if type(f).__name__ == "Loop"]


def test_a_forward_of_very_many_inputs_is_read_as_one_of_a_few(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"x{i}" for i in range(120)]
    body = "\n".join(
        [f"        n{i} = int(x{i})" for i in range(0, 120, 3)] + ["        y = torch.relu(", "            x1)"]
    )
    source = f"import torch\nclass M(torch.nn.Module):\n    def forward(self, {', '.join(names)}):\n{body}\n"
    source += "        return y if x2.any() else -y\n"
    few = analyse(project_of(source)).observations
    monkeypatch.setattr(entry_parameters, "MANY", 1000)
    assert analyse(project_of(source)).observations == few
    assert len(few) == 1
