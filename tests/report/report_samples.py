"""Hand-made reports, each for one thing that a report must show well."""

from __future__ import annotations

import dataclasses

from onnxlint.base.catalogue import Contract
from onnxlint.base.records import (
    Cause,
    Diagnostic,
    Edit,
    Evidence,
    ExporterResult,
    Finding,
    Fix,
    GraphDiff,
    GraphNode,
    GraphRow,
    Location,
    ModelReport,
    ModelStatus,
    Outcome,
    Report,
    Safety,
    Severity,
    Span,
    Step,
    Tried,
    VerdictKind,
)

LONG = (
    "        mask = " + " + ".join(f"self.weights_of_the_head_number_{i}" for i in range(7)) + " + frame.view(4, -1) + "
)
LONG += " + ".join(f"self.offset_{i}" for i in range(20))

SOURCES: dict[str, str] = {
    "src/models/gate.py": """\
import torch
from src.models.count import loud


class Gate(torch.nn.Module):
    def forward(self, image):
        h = self.stem(image)
        n = loud(h)

        if n > 0:
            return h * 2
        return h * 3
""",
    "src/models/count.py": """\
def loud(values):
    \"\"\"How many are above one.\"\"\"
    return (values > 1).sum()
""",
    "src/models/wide.py": (
        "class Wide(nn.Module):\r\n\tdef forward(self, 画像, frame):\r\n\t\treturn 画像.view(4, -1) + frame  # größer\r\n"  # noqa: E501
        + LONG
        + "\r\n"
    ),
    "src/models/many.py": """\
class Many(nn.Module):
    def forward(self, x, y):
        grid = torch.stack(
            torch.meshgrid(
                torch.arange(8),
                torch.arange(8),
                torch.arange(8),
                torch.arange(8),
                indexing="ij",
            )
        )
        while (x.sum() > 0 and
               y.sum() > 0):
            x = x - 1
        return x, grid
""",
}


def sources(path: str) -> list[str]:
    """The lines of a file of SOURCES, as `str.splitlines` with their ends kept."""
    return SOURCES.get(path, "").splitlines(keepends=True)


CONFIRMED = Finding(
    code="ONX101",
    rule="tensor-branch",
    severity=Severity.ERROR,
    message="`if` branches on the value of `n > 0`",
    span=Span("src/models/gate.py", 10, 12, 10, 17),
    symbol="src.models.gate.Gate.forward",
    trace=(
        Step("src/models/gate.py", 6, "`image` is an input of `forward`: a tensor"),
        Step("src/models/count.py", 3, "`loud` returns the sum of a comparison of it: a tensor"),
        Step("src/models/gate.py", 10, "its value decides which arm runs"),
    ),
    effects={"torchscript": Outcome.WRONG_VALUES, "dynamo": Outcome.EXPORT_ERROR},
    fix=Fix(
        "write `torch.where`: both arms run, and the graph chooses",
        Safety.UNSAFE,
        (Edit("src/models/gate.py", (10, 9), (12, 21), "return torch.where(n > 0, h * 2, h * 3)"),),
    ),
    verdict=VerdictKind.CONFIRMED,
    evidence=(
        Evidence(
            model="src.models.gate:Gate",
            exporter="torchscript",
            cause=Cause.BRANCH,
            symptom=Outcome.WRONG_VALUES,
            frames=(Location("src/models/gate.py", 10, "forward"),),
            detail="eager 1.2, ONNX Runtime 0.77 at [0, 3]",
            variation="values[negative]",
            max_abs=0.43,
            max_rel=0.358,
            repro=".onnxlint/repro/gate-torchscript/repro.py",
        ),
        Evidence(
            model="src.models.gate:Gate",
            exporter="dynamo",
            cause=Cause.REFUSED,
            symptom=Outcome.EXPORT_ERROR,
            frames=(Location("src/models/gate.py", 10, "forward"),),
            detail="GuardOnDataDependentSymNode: Could not guard on data-dependent\nexpression u0 > 0 (unhinted)",
            variation="example",
        ),
    ),
    text="n > 0",
)

DRAWN = dataclasses.replace(
    CONFIRMED,
    evidence=(
        dataclasses.replace(
            CONFIRMED.evidence[0],
            variation="values[negative#3]",
            inputs={"image": "float32[1, 1] [[0.01]]", "mask": "bool[2, 196] from 0 to 1"},
            graphs=GraphDiff(
                "example",
                "values[negative#3]",
                (
                    GraphRow(
                        GraphNode("aten::gt", "int64 scalar 1", (), Location("src/models/count.py", 3, "loud")),
                        GraphNode("aten::gt", "int64 scalar 1", (), Location("src/models/count.py", 3, "loud")),
                        skipped=4,
                    ),
                    GraphRow(
                        GraphNode("aten::mul", "int64 scalar 2", (0,), Location("src/models/gate.py", 11, "forward")),
                        GraphNode("aten::mul", "int64 scalar 3", (0,), Location("src/models/gate.py", 12, "forward")),
                        differs=True,
                    ),
                    GraphRow(None, GraphNode("aten::neg", "", (1,), None), differs=True),
                    GraphRow(GraphNode("return", "", (0, 1)), GraphNode("return", "", (0, 2)), skipped=2),
                ),
                skipped=7,
            ),
        ),
        *CONFIRMED.evidence[1:],
    ),
)

SUSPECTED = Finding(
    code="ONX201",
    rule="literal-batch",
    severity=Severity.WARNING,
    message="`view` fixes the dynamic first dimension to 4",
    span=Span("src/models/wide.py", 3, 10, 3, 24),
    symbol="src.models.wide.Wide.forward",
    effects={"torchscript": Outcome.SHAPE_ERROR, "dynamo": Outcome.STATIC_DIM},
    fix=Fix("write `画像.view(画像.shape[0], -1)`"),
    text="画像.view(4, -1)",
)

NOTE = Finding(
    code="ONX205",
    rule="squeeze-all-dims",
    severity=Severity.NOTE,
    message="`squeeze()` drops every dimension of size 1, the batch too",
    span=Span("src/models/many.py", 14, 13, 14, 14),
    symbol="src.models.many.Many.forward",
    effects={"torchscript": Outcome.SHAPE_ERROR, "dynamo": Outcome.OK},
    text="x",
)

NOT_REPRODUCED = Finding(
    code="ONX106",
    rule="dim-branch",
    severity=Severity.NOTE,
    message="`if` branches on the dynamic dimension `batch`",
    span=Span("src/models/gate.py", 8, 9, 8, 20),
    effects={"torchscript": Outcome.WRONG_VALUES, "dynamo": Outcome.WRONG_VALUES},
    verdict=VerdictKind.NOT_REPRODUCED,
    text="n = loud(h)",
)

LONG_LINE = Finding(
    code="ONX201",
    rule="literal-batch",
    severity=Severity.WARNING,
    message="`view` fixes the dynamic first dimension to 4",
    span=Span("src/models/wide.py", 4, LONG.index("frame.view") + 1, 4, LONG.index("frame.view") + 18),
    effects={"torchscript": Outcome.SHAPE_ERROR, "dynamo": Outcome.STATIC_DIM},
    text="frame.view(4, -1)",
)

SPREAD = Finding(
    code="ONX203",
    rule="traced-size-tensor",
    severity=Severity.WARNING,
    message="`torch.stack` makes a constant of the traced size",
    span=Span("src/models/many.py", 3, 16, 11, 10),
    effects={"torchscript": Outcome.STATIC_DIM, "dynamo": Outcome.OK},
    text="torch.stack(…)",
)

HEADER = Finding(
    code="ONX102",
    rule="tensor-bool-operator",
    severity=Severity.ERROR,
    message="`and` reads the value of a tensor",
    span=Span("src/models/many.py", 12, 16, 13, 27),
    effects={"torchscript": Outcome.WRONG_VALUES, "dynamo": Outcome.EXPORT_ERROR},
    text="x.sum() > 0 and y.sum() > 0",
)

UNEXPLAINED = Finding(
    code="ONX705",
    rule="runtime-mismatch",
    severity=Severity.ERROR,
    message="ONNX Runtime and PyTorch compute different values from here on",
    span=Span("src/models/many.py", 15, 1, 15, 1),
    effects={"dynamo": Outcome.WRONG_VALUES},
    verdict=VerdictKind.CONFIRMED,
    evidence=(
        Evidence(
            model="src.models.many:Many",
            exporter="dynamo",
            cause=Cause.MISMATCH,
            symptom=Outcome.WRONG_VALUES,
            frames=(Location("src/models/many.py", 15, "forward"),),
            detail="",
            variation="batch=3",
            max_abs=float("inf"),
            max_rel=None,
        ),
    ),
)

HOSTILE = Finding(
    code="ONX401",
    rule="tensor-to-python",
    severity=Severity.WARNING,
    message="[red]not red[/red] \x1b[31mnot red either\x1b[0m\nand a new line %0A :: , \u202ebackwards\u202c [/]",
    span=Span("src/[bold]\x1b[2J%20.py", 1, 1, 1, 5),
    symbol="[link=file:///etc/passwd]here[/link]",
    trace=(Step("src/[bold]\x1b[2J%20.py", 1, "[blink]step[/blink]\r\nforged: line"),),
    effects={"torchscript": Outcome.WRONG_VALUES, "dynamo": Outcome.EXPORT_ERROR},
    fix=Fix("write `x[0]`, not `x[/0]` \x07"),
    text="x",
)

PROBED = ModelReport(
    name="src.models.gate:Gate",
    path="src/models/gate.py",
    line=5,
    status=ModelStatus.PROBED,
    exporters={
        "torchscript": ExporterResult(
            Outcome.WRONG_VALUES, "max abs error 0.43", Location("src/models/gate.py", 10, "forward"), 0.41
        ),
        "dynamo": ExporterResult(
            Outcome.EXPORT_ERROR, "could not guard", Location("src/models/gate.py", 10, "forward"), 2.13
        ),
    },
    declared=True,
)
GOOD = ModelReport(
    name="src.models.many:Many",
    path="src/models/many.py",
    line=1,
    status=ModelStatus.PROBED,
    exporters={
        "torchscript": ExporterResult(Outcome.OK, seconds=0.2),
        "dynamo": ExporterResult(Outcome.SKIPPED),
    },
)
UNPROBED = ModelReport(
    name="src.models.wide:Wide",
    path="src/models/wide.py",
    line=1,
    status=ModelStatus.NOT_PROBED,
    reason="no example input is known for it",
    remedy=(
        '[[tool.onnxlint.models]]\nfactory = "src.models.wide:Wide"\ninputs = { frame = "float32[batch, 3, 224, 224]" }'
    ),
)

TOOL = {"onnxlint": "0.1.0", "torch": "2.13.0", "onnx": "1.23.2", "onnxruntime": "1.31.1"}

REPORTS: dict[str, Report] = {
    "whole": Report(
        findings=(SUSPECTED, CONFIRMED, NOTE, NOT_REPRODUCED),
        models=(PROBED, GOOD, UNPROBED),
        files=12,
        tool=TOOL,
        seconds=41.2,
    ),
    "spans": Report(findings=(SPREAD, HEADER, LONG_LINE, SUSPECTED), files=2, tool={"onnxlint": "0.1.0"}, seconds=0.3),
    "unexplained": Report(findings=(UNEXPLAINED,), models=(GOOD,), files=1, tool=TOOL, seconds=125.0),
    "failures": Report(
        models=(
            ModelReport(
                "src.models.huge:Huge",
                "src/models/huge.py",
                4,
                ModelStatus.PROBED,
                exporters={
                    "torchscript": ExporterResult(Outcome.CRASH, "killed for memory: 2.0 GiB while exporting"),
                    "dynamo": ExporterResult(
                        Outcome.TIMEOUT, "no answer within 60 s", Location("src/models/huge.py", 31, "forward"), 60.0
                    ),
                },
            ),
        ),
        files=1,
        tool=TOOL,
        seconds=75.0,
    ),
    "drawn": Report(
        findings=(DRAWN,),
        models=(
            dataclasses.replace(
                PROBED,
                exporters={
                    "torchscript": dataclasses.replace(
                        PROBED.exporters["torchscript"],
                        tried=(
                            Tried("example", "agrees", 1.2e-7, None, 0),
                            Tried("values[normal#0]", "agrees"),
                            Tried("values[negative#3]", "values", 0.43, 1e-5, 0),
                            Tried("values[huge#4]", "values", float("inf"), 1e-5, 1),
                            Tried("values[small#5]", "values", 0.0003, 1e-5, 0, "OpenVINO"),
                            Tried("batch=3", "refused"),
                            Tried("batch=5", "shape"),
                        ),
                    ),
                    "dynamo": PROBED.exporters["dynamo"],
                },
            ),
        ),
        files=12,
        tool=TOOL,
        seconds=41.2,
    ),
    "nothing": Report(models=(GOOD,), files=3, tool=TOOL, seconds=7.0),
    "static-nothing": Report(files=1, tool={"onnxlint": "0.1.0"}, seconds=0.04),
    "diagnostics": Report(
        models=(UNPROBED,),
        diagnostics=(
            Diagnostic("error", "expected an expression after `=`", "src/broken.py", 3),
            Diagnostic("warning", "`ONX1O1` is no rule; did you mean `ONX101`?", "pyproject.toml", 7),
            Diagnostic("warning", "torch is not installed: only the static pass ran. pip install onnxlint[dynamic]"),
        ),
        files=2,
        tool={"onnxlint": "0.1.0"},
        seconds=0.2,
    ),
    "hostile": Report(
        findings=(HOSTILE,),
        models=(
            ModelReport(
                "[red]\x1b[31mm:M",
                "a\nb.py",
                1,
                ModelStatus.NOT_PROBED,
                "raised [/red] \x1b]0;title\x07",
                "factory = '[bold]'\x1b[0m",
            ),
        ),
        diagnostics=(Diagnostic("error", "[/nope] \x1b[2J", "x,y:z.py", 1),),
        files=1,
        tool={"onnxlint": "0.1.0"},
        seconds=0.1,
    ),
}

RULE = Contract(
    code="ONX101",
    name="tensor-branch",
    severity=Severity.ERROR,
    fix=Safety.UNSAFE,
    effects={"torchscript": Outcome.WRONG_VALUES, "dynamo": Outcome.EXPORT_ERROR},
    text="""\
# Python branch on a tensor value

## What it does
Flags `if` and `while` whose test reads the data of a tensor. Shape and `is None` are not data.

## Why is this bad?
- The TorchScript exporter keeps the arm that the example took.
- The dynamo exporter refuses: `Could not guard on data-dependent expression`.

## Bad
```python
class Gate(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:  # expect: ONX101
            return x * 2
        return x * 3
```

## Good
```python
class Gate(torch.nn.Module):
    def forward(self, x):
        return torch.where(x.sum() > 0, x * 2, x * 3)
```

## Fix
Choose with `torch.where(x > 0, a, b)`. Both arms then run, so the fix is unsafe.

## How it is confirmed
```python
example, witness = (torch.ones(2, 3),), (-torch.ones(2, 3),)
```
""",
    path="rules/ONX101-tensor-branch.md",
    line=9,
)


def catalogue() -> dict[str, Contract]:
    """ONX101 in full, and a stand-in for every other rule that a sample names: the shipped ones may change."""
    names = {finding.code: finding.rule for report in REPORTS.values() for finding in report.findings}
    rules = {
        code: dataclasses.replace(
            RULE,
            code=code,
            name=name,
            fix=None,
            severity=Severity.WARNING,
            text=f"# Title of {name}\n\n## What it does\nFlags {name}.\n\n## Fix\nDo without `{name}()`. It pays.\n",
        )
        for code, name in sorted(names.items())
    }
    return rules | {"ONX101": RULE}
