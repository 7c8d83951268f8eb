"""What is observed depends on the files alone: not on their order, nor on processes, nor on steps that others take."""

from __future__ import annotations

import itertools
import random
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onnxlint.base.cache import Store
from onnxlint.base.records import Span
from onnxlint.base.workers import Workers
from onnxlint.flow import analysis, entry_points
from onnxlint.flow.interpreter import function_runs
from onnxlint.flow.interpreter.interpret import Interpreter
from onnxlint.flow.part_results import merged
from onnxlint.flow.state import budget, constructor_recall, partitions, summaries
from onnxlint.flow.state.observations import Branch, Loop, Observation
from onnxlint.project.classes import ClassInfo, FunctionUnit, ModuleInfo
from onnxlint.project.index import Index
from tests.flow.analysing import PRELUDE, analyse, facts_of, project_of

SHARED = PRELUDE + textwrap.dedent("""
    LIMIT = len([n for n in (1, 2, 3)])

    def scaled(x, times):
        if x.sum() > times:
            return helper(x, times - 1)
        return x * times

    def helper(x, times):
        for row in x:
            x = x + row.item()
        return scaled(x, times)

    def compared(x, size):
        if x.shape[0] == size:
            return x + 1
        return x

    def chosen(x, deep=False):
        if deep:
            return x * x.max().item()
        return x if x.std() > 0 else -x

    def pair_loss(x):
        return chosen(x) * scaled(x, 3)

    def replacing(cls):
        cls.forward = torch.compile(cls.forward)
        return cls

    class Counted:
        number = 0

        def __init__(self, size=4):
            self.size = size
            self.note(size)

        def note(self, size):
            self.noted = size
            Counted.number = Counted.number + 1

    class Template(nn.Module):
        scale = LIMIT

        def __init__(self, size=4):
            super().__init__()
            self.size = size
            self.last = None
            self.settings = Counted(size)
            self.linear = nn.Linear(size, size)

        def clear(self):
            self.last = None

        def forward(self, x):
            if self.last is not None:
                x = x * self.last.sum().item()
            x = self.step(x)
            self.last = x
            return x

        def step(self, x):
            return self.linear(x).view(2, -1)

    @replacing
    class Replaced(nn.Module):
        def forward(self, x):
            return chosen(x)
""")
BUILT = ("self.part = Template(8)", "self.part = Template()", "self.part = Replaced()", "self.part = Own(2)")
RUN = (
    "x = scaled(x, 2)",
    "x = helper(x, LIMIT)",
    "x = compared(x, x.shape[1])",
    "x = compared(x, 3)",
    "x = chosen(x, deep=True)",
    "x = chosen(x)",
    "x = x + pair_loss(x)",
    "x = self.part(x)",
    "x = super().forward(x)",
    "self.clear()",
    "self.last = x.mean()",
    "x = x + self.last",
    "self.part.last = x",
    "if mask is not None:\n    x = x.masked_fill(mask, x.max().item())",
    "if x.shape[0] > 2:\n    x = chosen(x)",
    "if self.last is not None:\n    x = helper(x, 1)",
    "for i in range(x.shape[0]):\n    x = x + scaled(x[i], i)",
    "def again(y):\n    return again(y - 1) if y.sum() > 0 else y\nx = again(x)",
)

# Builds and runs what is shared, so that no model is the only one that does.
EVERY = PRELUDE + textwrap.dedent("""
    from shared import Replaced, Template

    class Every(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList([Template(8), Template(), Replaced()])

        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            return x
""")


def source(number: int, built: str, step: Sequence[str], run: Sequence[str]) -> str:
    """A file with a block of its own, and a model of it that runs these lines."""
    beside = f"from model{number - 1} import Own as Beside" if number else "from shared import Template as Beside"
    text = f"from shared import *\nfrom shared import LIMIT\n{beside}\n\n"
    for name, base, lines in (("Own", "Template", ["mask = None", *step]), (f"Model{number}", "Beside", run)):
        function = "step(self, x)" if name == "Own" else "forward(self, x, mask=None)"
        text += f"class {name}({base}):\n    def __init__(self, size=6):\n        super().__init__(size)\n"
        text += f"        {built if name != 'Own' else 'self.part = None'}\n\n"
        text += f"    def {function}:\n" + textwrap.indent("\n".join([*lines, "return x"]), " " * 8) + "\n\n"
    return PRELUDE + text


@st.composite
def projects(draw: st.DrawFn) -> dict[str, str]:
    """A few models in files of their own that share functions, bases, blocks and state."""
    lines = st.lists(st.sampled_from(RUN), min_size=1, max_size=4)
    count = draw(st.integers(2, 4))
    files = {f"model{n}.py": source(n, draw(st.sampled_from(BUILT)), draw(lines), draw(lines)) for n in range(count)}
    return {"shared.py": SHARED, **files, "every.py": EVERY}


def shown(observations: Iterable[Observation]) -> dict[tuple[Any, ...], list[str]]:
    """Observations by what tells them apart; which way a value came, of several, is not compared."""
    names = ("trace", "described")
    return {
        observation.key: [str(getattr(observation, n)) for n in observation.__struct_fields__ if n not in names]
        for observation in observations
    }


def observed(files: Mapping[str, str]) -> dict[tuple[Any, ...], list[str]]:
    """What one run over files in this order observes."""
    return shown(analyse(project_of(files), debug=True, torch="2.13").observations)


@pytest.fixture
def as_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """Entry points run in the order of the files, and nothing is taken for granted because it was seen often."""

    def unsorted(modules: Iterable[ModuleInfo]) -> list[ModuleInfo]:
        return list(modules)

    monkeypatch.setattr("tests.flow.analysing.in_order", unsorted)
    monkeypatch.setattr(function_runs, "CONTEXTS", 10_000)
    monkeypatch.setattr(constructor_recall, "HABIT", 10_000)


often = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@often
@given(projects(), st.randoms(use_true_random=False))
@pytest.mark.usefixtures("as_given")
def test_no_order_of_entry_points_changes_an_observation(files: dict[str, str], order: random.Random) -> None:
    expected = observed(files)
    assert expected
    for _ in range(3):
        names = order.sample(list(files), len(files))
        assert observed({name: files[name] for name in names}) == expected, names


SHARED_BLOCK, RECURSION, PART = "self.part = Template(8)", "x = scaled(x, 2)", "x = self.part(x)"


@pytest.mark.parametrize(
    ("steps", "runs", "order"),
    [
        pytest.param(
            [[RECURSION], ["x = super().forward(x)", PART], [RECURSION]],
            [[RECURSION], [RECURSION], ["x = super().forward(x)"]],
            (4, 3, 0, 1, 2),
            id="a block in two models that keeps what it computed last",
        ),
        pytest.param(
            [[RECURSION], [PART, RECURSION], [RECURSION]],
            [[RECURSION]] * 3,
            (1, 3, 0, 2, 4),
            id="functions that call each other with ever other numbers, entered at two depths",
        ),
        pytest.param(
            [["x = super().forward(x)", RECURSION], *[[RECURSION]] * 3],
            [[RECURSION], [RECURSION], [RECURSION] * 2, [RECURSION] * 4],
            (4, 1, 0, 2, 3, 5),
            id="a step that calls the forward it is a step of",
        ),
    ],
)
@pytest.mark.usefixtures("as_given")
def test_no_order_changes_an_observation(steps: list[list[str]], runs: list[list[str]], order: Sequence[int]) -> None:
    lines = enumerate(zip(steps, runs, strict=True))
    models = {f"model{n}.py": source(n, SHARED_BLOCK, step, run) for n, (step, run) in lines}
    files = {**models, "shared.py": SHARED, "every.py": EVERY}
    expected = observed({"shared.py": SHARED, **models, "every.py": EVERY})
    assert observed({name: files[name] for name in [[*files][n] for n in order]}) == expected


def test_no_order_of_files_changes_an_observation_where_more_models_share_a_method_than_are_followed() -> None:
    step, run = RUN[2:6], ["x = super().forward(x)"]
    files = {f"model{n}.py": source(n, BUILT[n % 4], [step[n % 4]], run) for n in range(summaries.CONTEXTS + 3)}
    files["shared.py"] = SHARED
    expected = observed(files)
    for seed in range(4):
        names = random.Random(seed).sample(list(files), len(files))
        assert observed({name: files[name] for name in names}) == expected


@settings(often, max_examples=8)
@given(projects(), st.randoms(use_true_random=False), st.integers(1, 3))
def test_no_order_of_paths_and_no_number_of_processes_changes_what_a_run_gives(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, str], order: random.Random, size: int
) -> None:
    folder = tmp_path_factory.mktemp("project")
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")

    def run(paths: list[Path], processes: int) -> tuple[tuple[Observation, ...], set[str]]:
        index = Index(Store(None), {})
        index.read(paths)
        result = analysis.analyse_files(index, analysis.Request(torch="2.13"), Store(None), Workers(processes))
        return result.observations, {problem.message for problem in result.problems}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(analysis, "WORTH_PROCESSES", 0)
        for name, value in (("WHOLE", 0), ("LEAST", size), ("MOST", size)):
            patch.setattr(partitions, name, value)
        paths = sorted(folder.iterdir())
        expected = run(paths, 1)
        assert expected[0]
        for processes in (1, 2, 3):
            assert run(order.sample(paths, len(paths)), processes) == expected


@often
@given(projects(), st.data())
@pytest.mark.usefixtures("as_given")
def test_steps_that_run_out_anywhere_cost_nobody_else_an_observation(
    files: dict[str, str], data: st.DataObject
) -> None:
    victim = data.draw(st.sampled_from([name for name in files if name.startswith("model")]))
    steps = data.draw(st.integers(1, 60))

    forward = entry_points._run_forward

    def run(left: int) -> dict[tuple[Any, ...], list[str]]:
        def limited(engine: Interpreter, cls: ClassInfo, unit: FunctionUnit, outermost: bool) -> None:
            if unit.module.path == f"/nowhere/{victim}":
                engine.budget.begin(left)
            forward(engine, cls, unit, outermost)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(entry_points, "_run_forward", limited)
            return observed(files)

    none, some, whole = run(0), run(steps), run(budget.ENTRY)
    # A part of a model that was cut short runs by itself, where a size may be open that the model fixes.
    assert none.keys() & whole.keys() <= some.keys() <= none.keys() | whole.keys()
    same = [key for key in none if none[key] == whole[key]]
    assert {key: some[key] for key in same} == {key: none[key] for key in same}


def test_observations_at_one_place_are_the_same_one_whichever_comes_first() -> None:
    span = Span("a.py", 1, 1, 1, 9)
    values = itertools.product(
        ("", "flag"), ("data", "dim"), ("", "equal"), (("dynamo",), ("torchscript",)), ("", "no export comes here")
    )
    observations = [
        Branch(
            span,
            "x > y",
            "f",
            sure=not doubt,
            doubt=doubt,
            outside=outside,
            reads=reads,
            form=form,
            exporters=exporters,
        )
        for doubt, reads, form, exporters, outside in values
    ]
    for a, b, c in itertools.product(observations, repeat=3):
        assert a.and_also(b) == b.and_also(a)
        assert a.and_also(b).and_also(c) == a.and_also(b.and_also(c))
        assert a.and_also(a) is a
    (one,) = merged([[observation] for observation in observations])
    assert one == Branch(span, "x > y", "f", reads="data", form="equal", exporters=("torchscript", "dynamo"))


def test_a_test_of_two_frozen_numbers_belongs_to_neither() -> None:
    span = Span("a.py", 1, 1, 1, 9)
    n, m = (Branch(span, "n > m", "f", reads="data", frozen=replace(span, line=line)) for line in (2, 3))
    assert n.and_also(n).frozen == n.frozen
    assert n.and_also(m).frozen is m.and_also(n).frozen is None


def test_a_part_runs_as_its_whole_calls_it_wherever_they_stand() -> None:
    source = """
        class Fuse(nn.Module):
            def forward(self, xs):
                return torch.cat([x.unsqueeze(1) for x in xs], dim=1)

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.stages = nn.ModuleList(nn.Conv1d(8, 8, 1) for _ in range(3))
                self.fuse = Fuse()

            def forward(self, x):
                xs = []
                for stage in self.stages:
                    x = stage(x)
                    xs.append(x)
                return self.fuse(xs)

        def export(name):
            net = Net()
            torch.onnx.export(getattr(zoo, name)(net), torch.zeros(2, 8, 4), "net.onnx")
    """
    assert not [o for o in facts_of(source) if isinstance(o, Loop)]
    part_alone = source.replace("self.fuse = Fuse()", "self.fuse = None")
    assert [o for o in facts_of(part_alone) if isinstance(o, Loop)]
