"""Where the analysis is changes in one place; what one entry point does, and where its steps end, is its own affair."""

from __future__ import annotations

import ast
import itertools
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import fields

import pytest

from onnxlint.flow.state import budget
from onnxlint.flow.state.context import Context, Located
from onnxlint.flow.state.observations import Observation
from tests.flow.analysing import PRELUDE, analyse, project_of
from tests.test_layers import MODULES

CHANGES = frozenset(
    ("add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove", "setdefault", "update")
)
HOLDERS = ("engine", "frame", "running", "frames[-1]", "budget", "context", "habits")


def test_a_block_gives_back_what_it_names_and_no_more() -> None:
    place = Located(Context())
    before = place.context
    with place.within(testing=True):
        place.narrow(exporters=("dynamo",))
        with place.within(exporters=(), looping=1):
            assert (place.context.testing, place.context.exporters, place.context.looping) == (True, (), 1)
        assert place.context.exporters == ("dynamo",)
    assert not place.context.testing
    assert place.context.exporters == ("dynamo",)
    with pytest.raises(ValueError, match="here"), place.within(exporters=before.exporters, silent=True):
        raise ValueError("here")
    assert place.context is before.but(exporters=("dynamo",))
    with pytest.raises(TypeError):
        place.narrow(tracign=True)


def test_a_context_cannot_be_changed() -> None:
    for field in fields(Context):
        with pytest.raises(AttributeError):
            setattr(Context(), field.name, None)


def written(tree: ast.AST) -> Iterator[tuple[ast.expr, int]]:
    """What a module assigns, deletes, or changes by a method of a container."""
    for node in ast.walk(tree):
        targets: list[ast.expr] = []
        if isinstance(node, (ast.Assign, ast.Delete)):
            targets = node.targets
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign, ast.For, ast.NamedExpr)):
            targets = [node.target]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGES:
            targets = [node.func.value]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("setattr", "delattr", "__setattr__")):
            targets = [ast.Attribute(node.args[0], "...", ast.Store())] if node.args else []
        while targets:
            target = targets.pop()
            if isinstance(target, (ast.Tuple, ast.List)):
                targets += target.elts
            elif isinstance(target, (ast.Starred, ast.Subscript)):
                targets.append(target.value)
            else:
                yield target, node.lineno if isinstance(node, (ast.stmt, ast.expr)) else 0


def written_from_outside(tree: ast.AST) -> Iterator[tuple[ast.expr, int]]:
    """The attributes that a module writes of an interpreter or a frame, under whatever name it has them."""
    aliases: set[str] = set()
    count = -1
    while count < len(aliases):
        count = len(aliases)
        for node in ast.walk(tree):
            if isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if is_holder(node.value, aliases):
                    aliases |= {target.id for target in targets if isinstance(target, ast.Name)}
    for target, line in written(tree):
        if isinstance(target, ast.Attribute) and is_holder(target.value, aliases):
            yield target, line


def is_holder(node: ast.expr, aliases: set[str]) -> bool:
    return ast.unparse(node).endswith(HOLDERS) or (isinstance(node, ast.Name) and node.id in aliases)


FLOW = [module for module in MODULES if module.startswith("onnxlint.flow.")]


@pytest.mark.parametrize("module", FLOW)
def test_what_an_interpreter_or_a_frame_holds_is_written_by_its_own_methods(module: str) -> None:
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    wrong = [f"{MODULES[module]}:{line}: {ast.unparse(target)}" for target, line in written_from_outside(tree)]
    assert not wrong


def test_the_test_sees_what_is_written() -> None:
    source = "engine.a = 1\nself.engine.b += 1\nframe.c[1] = 2\nengine.d.add(3)\ncall.engine.e, x = y\nself.f = 4"
    source += (
        "\nz = w\nw = running.engine\nz.g = 3\nsetattr(running.engine, 'h', 1)\nrunning.i = True\nsetattr(obj, 'j', 1)"
    )
    seen = [ast.unparse(target) for target, _ in written_from_outside(ast.parse(source))]
    inner = [
        "call.engine.e",
        "engine.a",
        "engine.d",
        "frame.c",
        "running.engine....",
        "running.i",
        "self.engine.b",
        "z.g",
    ]
    assert sorted(seen) == inner


# ------------------------------------------------------------------------------------------ orders, and steps that end

PARTS = {
    "shared.py": """
        LIMIT = max([len(str(n)) for n in (1, 2, 3)])

        def scaled(x, times):
            if x.sum() > times:
                return x * times
            return helper(x, times)

        def helper(x, times):
            for row in x:
                x = x + row.item()
            return scaled(x, times - 1)

        def picked(names):
            found = None
            for name in names:
                if name == "hard":
                    found = hard
            return found

        def hard(x):
            return x if x.std() > 0 else -x

        def soft(x):
            return x if x.var() > 0 else -x

        STEP = picked(["hard"])

        class Inner(nn.Module):
            step = picked(["hard", "soft"])

            def forward(self, x):
                return Inner.step(STEP(x))

        class Cached(nn.Module):
            LIMIT = sum(n for n in (1, 2, 3))

            def __init__(self, size=4):
                super().__init__()
                self.size = size
                self.last = None
                self.linear = nn.Linear(size, size)
                self.inner = Inner()
                self.act = soft

            def forward(self, x):
                x = self.act(self.inner(x))
                if self.last is not None:
                    if x.mean() > 0:
                        x = x + 1
                self.last = x
                if self.LIMIT > 2 and LIMIT > 0:
                    x = self.linear(x).view(2, -1)
                return x
        """,
    "first.py": """
        from shared import LIMIT, Cached, scaled

        class First(nn.Module):
            def __init__(self):
                super().__init__()
                self.part = Cached(8)

            def forward(self, x, mask=None):
                if mask is not None:
                    x = x.masked_fill(mask, x.max().item())
                return scaled(self.part(x), LIMIT)
        """,
    "second.py": """
        from shared import LIMIT, Cached, helper

        class Second(nn.Module):
            LIMIT = LIMIT * 2

            def __init__(self):
                super().__init__()
                self.part = Cached(8)
                self.blocks = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))

            def forward(self, x):
                for i, row in enumerate([row * 2 for row in x]):
                    x = self.blocks[i](x) + row
                while x.any() and not self.training:
                    x = x - 1 if torch.jit.is_tracing() else helper(x, self.LIMIT)
                x = self.part(x)
                return x
        """,
    "third.py": """
        from shared import LIMIT, helper

        class Inner(nn.Module):
            def __init__(self, flag=False):
                super().__init__()
                self.flag = flag

            def forward(self, x, deep: bool = False):
                try:
                    y = x + torch.zeros(2, 3)
                except RuntimeError:
                    y = x
                if deep:
                    assert x.shape[0] == 3
                with torch.no_grad():
                    f = lambda t: int(t) + LIMIT
                    return y * f(x.sum())

        class Third(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = Inner(True)

            def forward(self, x):
                return helper(self.inner(x, deep=True), 2), [int(v) for v in x.shape]
        """,
}


def observations(files: Mapping[str, str]) -> tuple[dict[tuple[str, ...], Observation], set[str]]:
    """What an analysis observes, and the entry points that took too many steps."""
    project = project_of({name: PRELUDE + textwrap.dedent(text) for name, text in files.items()})
    found = analyse(project, debug=True, torch="2.13")
    cut = {p.message.partition(" takes")[0] for p in found.problems}
    seen: dict[tuple[str, ...], Observation] = {}
    for observation in found.observations:
        told = [str(getattr(observation, n)) for n in observation.__struct_fields__ if n not in ("trace", "known")]
        seen[type(observation).__name__, *told] = observation
    return seen, cut


def test_no_order_of_entry_points_changes_an_observation() -> None:
    seen = [set(observations(dict(order))[0]) for order in itertools.permutations(PARTS.items())]
    assert len(seen[0]) == 10
    for other in seen[1:]:
        assert other == seen[0]


@pytest.mark.parametrize("victim", ["first", "second", "third"])
def test_steps_that_run_out_anywhere_cost_the_entry_point_alone(victim: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, _ = observations(PARTS)
    elsewhere = {key for key, observation in whole.items() if not observation.symbol.startswith(f"{victim}.")}
    steps = 0

    def of_file(_: budget.Budget, path: str, _lines: int) -> int:
        return steps if path == f"/nowhere/{victim}.py" else budget.FILE

    monkeypatch.setattr(budget.Budget, "of_file", of_file)
    for steps in itertools.count(1):
        seen, cut = observations(PARTS)
        assert elsewhere <= seen.keys() <= whole.keys(), steps
        if not cut:
            break
        assert all(f"class {entry.partition('.')[0]}(" in PARTS[f"{victim}.py"] for entry in cut)
    assert steps > 10
    assert seen.keys() == whole.keys()
