"""Functions of equal text share a tree: each is still found at its own lines, and its names mean what its file says."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path

import pytest
from analysing import PRELUDE, expected_of, facts_of, project_of, written

from onnxlint.base.catalogue import load_catalogue
from onnxlint.base.records import EXPORTERS, Severity
from onnxlint.flow.state.observations import Branch, ExportCall
from onnxlint.flow.values.node_places import body_of
from onnxlint.rules.engine.findings import run_rules

# Above the code that two files share, so that it stands at other lines in each.
ABOVE = {"a.py": PRELUDE, "b.py": PRELUDE + "\n\n# further down\nLIMIT = 3\n\n"}

SHARED = {
    "methods": """
        class M(nn.Module):
            def forward(self, x):
                if x.sum() > 0:  # expect: ONX101
                    return x
                return -x
    """,
    "closures": """
        class M(nn.Module):
            def forward(self, x):
                scale = 2
                def inner(v):
                    def deepest(w):
                        if w.sum() > 0:  # expect: ONX101
                            return w
                        return -w
                    return deepest(v) * scale
                return inner(x)
    """,
    "closures that call each other": """
        class M(nn.Module):
            def forward(self, x):
                def third(v):
                    return v if v.sum() > 0 else -v  # expect: ONX101
                def second(v):
                    return third(v)
                def first(v):
                    return second(v)
                return first(x)
    """,
    "local classes": """
        class M(nn.Module):
            def forward(self, x):
                class Local(nn.Module):
                    cap = 2
                    def forward(self, v):
                        return v if v.all() else -v  # expect: ONX101
                    @property
                    def twice(self):
                        return 2
                return Local()(x) * Local().twice
    """,
    "lambdas": """
        class M(nn.Module):
            def forward(self, x):
                gate = lambda v, by=2: (
                    v if v.any()  # expect: ONX101
                    else -v * by
                )
                return gate(x)
    """,
    "lambdas that are called elsewhere": """
        def applied(how, x):
            return how(x)
        class M(nn.Module):
            def forward(self, x):
                return applied(
                    lambda v: v if v.any() else -v,  # expect: ONX101
                    x,
                )
    """,
    "hooks": """
        def clip(module, args, output):
            if output.abs().max() > 1:  # expect: ONX101
                return output / 2
            return output
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(4, 4)
                self.register_forward_hook(clip)
                self.lin.register_forward_hook(self.keep)
            def keep(self, module, args, output):
                return output * output.max().item()  # expect: ONX401
            def forward(self, x):
                return self.lin(x)
    """,
    "decorated functions": """
        class M(nn.Module):
            @torch.no_grad()
            def forward(self, x):
                return x if x.any() else -x  # expect: ONX101
    """,
    "arguments of decorators": """
        def then(how):
            def decorate(function):
                def wrapper(*args):
                    return how(function(*args))
                return wrapper
            return decorate
        class M(nn.Module):
            @then(lambda v: v if v.any() else -v)  # expect: ONX101
            def forward(self, x):
                return x * 2
    """,
    "compiled functions": """
        @torch.compile(  # expect: ONX419
            mode="default")
        def inner(x):
            return x * 2
        class M(nn.Module):
            def forward(self, x):
                return inner(x)
    """,
    "expressions in defaults": """
        class M(nn.Module):
            def gated(
                self,
                x,
                how=lambda v: v if v.any() else -v,  # expect: ONX101
            ):
                return how(x)
            def forward(self, x):
                return self.gated(x)
    """,
    "writes through views": """
        class M(nn.Module):
            def forward(self, x):
                y = x.transpose(0, 1)
                y.add_(1)  # expect: ONX406
                return x * 2
        class Good(nn.Module):
            def forward(self, x):
                y = x.transpose(0, 1)
                y.add_(1)
                return y * 2
    """,
}


def found(files: Mapping[str, str], folder: Path) -> dict[str, set[tuple[str, int]]]:
    """Codes and lines of what is found in each file."""
    findings, broken = run_rules(
        facts_of(written(files, folder)),
        load_catalogue(),
        EXPORTERS,
        lambda *_: True,
        lambda path: Path(path).read_text(),
    )
    assert broken == ()
    result: dict[str, set[tuple[str, int]]] = {name: set() for name in files}
    for f in findings:
        if f.severity is not Severity.NOTE:
            result[Path(f.span.path).name].add((f.code, f.span.line))
    return result


@pytest.mark.parametrize("name", SHARED)
def test_equal_functions_of_two_files_have_their_findings_at_their_own_lines(name: str, tmp_path: Path) -> None:
    files = {file: above + textwrap.dedent(SHARED[name]) for file, above in ABOVE.items()}
    expected = {file: expected_of(text) for file, text in files.items()}
    assert expected["a.py"]
    assert expected["a.py"] != expected["b.py"]
    assert found(files, tmp_path) == expected


def test_equal_functions_share_a_tree_within_a_file_and_between_files() -> None:
    twins = "class A:\n    def f(self): return 1\nclass B:\n    def f(self): return 1\n"
    project = project_of({"a.py": twins, "b.py": "\n" + twins})
    units = [c.methods["f"] for c in project.classes()]
    assert len({unit.node for unit in units}) == 1
    assert len({unit.key for unit in units}) == len(units) == 4
    lines = [body_of(unit).span(unit.node).line for unit in units]
    assert sorted(lines) == [2, 3, 4, 5]
    assert lines == [unit.line for unit in units]


def test_equal_methods_of_two_classes_of_a_file_are_told_apart() -> None:
    method = """
        def forward(self, x):
            gate = lambda v: v if v.any() else -v  # expect: ONX101
            def inner(v):
                return v * v.max().item()  # expect: ONX401
            class Local(nn.Module):
                def forward(self, v):
                    return v if v.all() else -v  # expect: ONX101
            return inner(gate(Local()(x))) + applied(lambda v: v if v.all() else -v, x)  # expect: ONX101
    """
    source = "def applied(how, x):\n    return how(x)\n" + "".join(
        f"class {name}(nn.Module):\n{textwrap.indent(textwrap.dedent(method), '    ')}" for name in "MNP"
    )
    head = PRELUDE.count("\n")
    # Observations, since not each of them becomes a finding.
    assert {f.span.line - head for f in facts_of(source)} == {line for _, line in expected_of(source)}


DEFAULTS = """
def read(x):
    return x if x.sum() > 0 else -x

def keep(x):
    return x * 2

def made(how):
    return lambda x: how(x)

HOW = {how}

class M(nn.Module):
    def by_name(self, x, how=HOW):
        return how(x)
    def by_call(self, x, how=made(HOW)):
        return how(x)
    def forward(self, x):
        def closure(v, how=HOW):
            return how(v)
        return {call}
"""


@pytest.mark.parametrize("call", ["self.by_name(x)", "self.by_call(x)", "closure(x)"])
@pytest.mark.parametrize("reading", ["a.py", "b.py"])
def test_a_default_means_what_its_file_says(call: str, reading: str, tmp_path: Path) -> None:
    texts = {f: ABOVE[f] + DEFAULTS.format(how="read" if f == reading else "keep", call=call) for f in ABOVE}
    lines = {
        f: {("ONX101", text.split("\n").index("    return x if x.sum() > 0 else -x") + 1)} for f, text in texts.items()
    }
    assert found(texts, tmp_path) == {f: lines[f] if f == reading else set() for f in texts}


def test_a_decorator_is_a_statement_of_its_file() -> None:
    source = PRELUDE + textwrap.dedent(SHARED["compiled functions"])
    [observation] = facts_of(project_of(source))
    assert (
        observation.statement
        == observation.span.line
        == source.split("\n").index("@torch.compile(  # expect: ONX419") + 1
    )


def test_a_trace_runs_through_equal_functions_of_two_files(tmp_path: Path) -> None:
    step = "def step(x):\n    y = x * 2\n    return following(y)\n"
    files = {
        "model.py": "import torch.nn as nn\nfrom one import step\nclass M(nn.Module):\n"
        "    def forward(self, x):\n        return step(x)\n",
        "one.py": f"from two import step as following\n\n{step}",
        "two.py": f"def following(x):\n    if x.sum() > 0:\n        return x\n    return -x\n\n\n\n{step}",
    }
    [observation] = [f for f in facts_of(written(files, tmp_path)) if isinstance(f, Branch)]
    assert (Path(observation.span.path).name, observation.span.line) == ("two.py", 2)
    assert [(Path(s.path).name, s.line, s.message) for s in observation.trace] == [
        ("model.py", 4, "`x` is an input of `M.forward`"),
        ("model.py", 5, "passed to `step` as `x`"),
        ("one.py", 4, "`y` is assigned"),
        ("one.py", 5, "passed to `step` as `x`"),
        ("two.py", 9, "`y` is assigned"),
        ("two.py", 10, "passed to `following` as `x`"),
    ]


EXPORTING = """
class Net(nn.Module):
    def forward(self, x):
        return x * 2

net = Net()
prepared = net.eval()
inputs = (
    torch.randn(1, 4),
)

def main(path):
    net = torch.jit.script(Net())
    batch = torch.export.Dim("batch")
    torch.onnx.export(prepared, inputs, path, dynamo=True, dynamic_shapes=({0: batch},))
"""


def test_an_export_call_reads_the_module_level_of_its_own_file(tmp_path: Path) -> None:
    files = {file: above + EXPORTING for file, above in ABOVE.items()}
    calls = [f for f in facts_of(written(files, tmp_path)) if isinstance(f, ExportCall)]
    assert sorted(Path(f.span.path).name for f in calls) == ["a.py", "b.py"]
    for call in calls:
        rows = files[Path(call.span.path).name].split("\n")
        assert call.wrapping == ""  # `prepared` is made of the `net` that stands above it
        assert rows[call.span.line - 1].strip().startswith("torch.onnx.export(")
        assert call.examples is not None
        [example] = call.examples
        assert example.span is not None
        assert rows[example.span.line - 1] == "    torch.randn(1, 4),"
        [asked] = call.asked
        assert asked.kind == "Dim"


def test_a_function_that_does_not_parse_alone_has_the_lines_of_the_file() -> None:
    source = """
    class M(nn.Module):
        def forward(self, x):
            y = x * 2
            return x if x.any() else -y \\

    class Other(nn.Module):
        def forward(self, x):
            return x
    """
    project = project_of(PRELUDE + textwrap.dedent(source))
    unit = next(iter(project.modules.values())).classes["M"].methods["forward"]
    with pytest.raises(SyntaxError):
        project.texts(unit.text)
    [observation] = facts_of(project)
    assert observation.span.line == len(PRELUDE.splitlines()) + 5
    assert [step.line - unit.line for step in observation.trace] == [0]
