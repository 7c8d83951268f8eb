"""Read the contracts in rules/ and turn their Bad and Good blocks into files that can be linted and exported."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from onnxlint.testing import PRELUDE

RULES = Path(__file__).resolve().parent.parent / "rules"
SECTIONS = ("What it does", "Why is this bad?", "Bad", "Good", "Fix", "How it is confirmed")
HEADER_KEYS = ("code", "name", "severity", "fix", "torchscript", "dynamo")
LINK_KEYS = (
    "confirmed-by",
    "shows-here",
    "shows-in-file",
    "shows-in-function",
    "spoken-for-by",
    "merged-into",
    "part-of",
    "operators",
    "shows-at-calls-of",
    "said-once",
    "instead",
    "of",
)
_FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Contract:
    """One file of rules/: the front matter, the title and the text of each section."""

    path: Path
    header: dict[str, str]
    title: str
    sections: dict[str, str]

    @property
    def code(self) -> str:
        return self.header["code"]

    @property
    def effects(self) -> dict[str, str]:
        return {exporter: self.header[exporter] for exporter in ("torchscript", "dynamo")}

    def block(self, section: str) -> str:
        """The one fenced python block of `section`. Raises ValueError if there is none, or more than one."""
        blocks = _FENCE.findall(self.sections[section])
        if len(blocks) != 1:
            raise ValueError(f"{self.path.name}: '{section}' holds {len(blocks)} python blocks, not one")
        return str(blocks[0])

    def source(self, which: str) -> str:
        """The runnable file made from Bad or Good (`which` is `bad` or `good`): the prelude, then the block."""
        return PRELUDE + "\n" + self.block(which.capitalize())


def read_contract(path: Path) -> Contract:
    """Parse one contract. Raises ValueError on a malformed one, naming the file."""
    text = path.read_text(encoding="utf-8")
    found = re.match(r"---\n(.*?)\n---\n(.*)\Z", text, re.DOTALL)
    if found is None:
        raise ValueError(f"{path.name}: no front matter")
    header = dict(line.split(": ", 1) for line in found[1].splitlines())
    parts = re.split(r"^(#{1,2}) (.+)$", _without_code(found[2]), flags=re.MULTILINE)
    titles = [parts[i + 1] for i in range(1, len(parts), 3) if parts[i] == "#"]
    if len(titles) != 1:
        raise ValueError(f"{path.name}: {len(titles)} titles, not one")
    sections = {parts[i + 1]: _with_code(parts[i + 2]) for i in range(1, len(parts), 3) if parts[i] == "##"}
    return Contract(path, header, titles[0], sections)


def _without_code(text: str) -> str:
    """Hide `#` at line starts inside fences, so that a comment there is not taken for a heading."""
    return _FENCE.sub(lambda m: m[0].replace("\n#", "\n\0#"), text)


def _with_code(text: str) -> str:
    return text.replace("\0#", "#")


@cache
def contracts() -> tuple[Contract, ...]:
    """Every contract, by code."""
    return tuple(read_contract(path) for path in sorted(RULES.glob("ONX*.md")))


@dataclass(frozen=True)
class Case:
    """Bad or Good written to a folder: `module` is the model's file, `probe` the file with the example inputs."""

    folder: Path
    module: str
    probe: str

    @property
    def path(self) -> Path:
        return self.folder / f"{self.module}.py"


PROBE_TAIL = '''

def _model_class():
    chosen = getattr(_case, "Model", None)
    if chosen is not None:
        return chosen
    defined = [v for v in vars(_case).values() if isinstance(v, type) and v.__module__ == _case.__name__]
    return [v for v in defined if issubclass(v, nn.Module)][-1]


def build():
    """The model of the contract, seeded, in eval mode, with parameters and statistics that are not trivial."""
    torch.manual_seed(0)
    return _model_class()().eval()


def example_inputs():
    return example


'''

PROBE_VARY = '''
def vary(sizes, seed, mode):
    """The witness, cut or repeated along its dynamic axes to the sizes asked for."""
    names = list(inspect.signature(_model_class().forward).parameters)[1:]
    args = []
    for name, value in zip(names, witness):
        for axis, dim in globals().get("dynamic", {}).get(name, {}).items():
            if dim in sizes:
                value = value.index_select(axis, torch.arange(sizes[dim]) % value.shape[axis])
        args.append(value)
    return tuple(args)
'''


def write_case(contract: Contract, which: str, folder: Path) -> Case:
    """Write the Bad or Good file (`which`) and the probe's file into `folder`; they import each other by name."""
    folder.mkdir(parents=True, exist_ok=True)
    module = f"{contract.code.lower()}_{which}"
    probe = f"{module}_probe"
    (folder / f"{module}.py").write_text(contract.source(which), encoding="utf-8")
    head = PRELUDE + f"import inspect\n\nimport {module} as _case\nfrom {module} import *\n\n\n"
    (folder / f"{probe}.py").write_text(
        head + contract.block("How it is confirmed") + PROBE_TAIL + PROBE_VARY, encoding="utf-8"
    )
    return Case(folder, module, probe)


def probe_options(contract: Contract, which: str) -> dict[str, Any]:
    """The `dynamic` and `sizes` of a contract, {} where it declares none, for the parameters that Bad or Good has."""
    found: dict[str, Any] = {"dynamic": {}, "sizes": {}}
    for statement in ast.parse(contract.block("How it is confirmed")).body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            name = statement.targets[0].id
            if name in found:
                found[name] = ast.literal_eval(statement.value)
    parameters = forward_parameters(contract.source(which))
    found["dynamic"] = {name: axes for name, axes in found["dynamic"].items() if name in parameters}
    return found


def forward_parameters(source: str) -> list[str]:
    """The parameters of the `forward` of `Model`, else of the last class that has one."""
    forwards = {
        node.name: [argument.arg for argument in item.args.args[1:]]
        for node in ast.parse(source).body
        if isinstance(node, ast.ClassDef)
        for item in node.body
        if isinstance(item, ast.FunctionDef) and item.name == "forward"
    }
    return forwards.get("Model") or list(forwards.values())[-1]
