"""The [[models]] tables of a configuration → ModelConfig, with the place of every mistake."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from onnxlint.base.probe_records import TensorSpec, Tolerance
from onnxlint.base.records import EXPORTERS
from onnxlint.config import typed_values as typed


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """One [[models]] table. `factory` and a string `inputs` are `module:attribute`; see DESIGN §4 of the docs.

    `arguments` are what the factory is called with, `values` the inputs that are no tensors. `eval` says that the
    model is exported in evaluation mode, though it is not built in it. `optional` asks for further ways to call it:
    with an optional tensor that the inputs leave out, without one that they give.
    """

    factory: str
    inputs: str | Mapping[str, TensorSpec] | None = None
    dynamic: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    sizes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    vary: str | None = None
    tolerance: Tolerance = field(default_factory=Tolerance)
    timeout: float | None = None
    exporters: tuple[str, ...] | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    eval: bool = False
    path: str = ""
    line: int = 0
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    optional: bool = False


def models(node: typed.Node) -> tuple[ModelConfig, ...] | None:
    """Read the list of models; those that are mistaken are noted and left out."""
    if isinstance(node.value, dict):
        node.fail("each model is a table in double brackets: write [[models]] (in pyproject [[tool.onnxlint.models]])")
        return None
    return tuple(model for child in node.elements("a list of tables") if (model := _model(child)) is not None)


_TOLERANCE = {"absolute": typed.allowance, "relative": typed.allowance}
_MODEL: Mapping[str, typed.Converter[Any]] = {
    "factory": typed.reference,
    "inputs": lambda node: typed.reference(node) if isinstance(node.value, str) else _specs(node),
    "dynamic": typed.table_of(typed.axis_names),
    "sizes": typed.table_of(typed.sizes),
    "vary": typed.reference,
    "ranges": typed.table_of(typed.interval),
    "tolerance": lambda node: Tolerance(**typed.read_table(node, _TOLERANCE)),
    "timeout": typed.seconds,
    "exporters": typed.some_of(*EXPORTERS),
    **dict.fromkeys(("arguments", "values"), typed.table_of(typed.plain)),
    **dict.fromkeys(("eval", "optional"), typed.truth),
}


def _model(node: typed.Node) -> ModelConfig | None:
    """Read one model; one whose factory or inputs are mistaken is left out, since its verdicts would mean nothing."""
    values = typed.read_table(node, _MODEL)
    keys = node.value.keys() if isinstance(node.value, dict) else {"factory"}
    if "factory" not in keys:
        node.problems.add('`factory` is missing; add `factory = "module:callable"`', node.at)
    if not ({"factory"} | (keys & {"inputs", "dynamic"})) <= values.keys():
        return None
    model = ModelConfig(path=node.problems.path, line=node.problems.line(node.at) or 0, **values)
    return model if _dims_agree(model, node) else None


def _specs(node: typed.Node) -> dict[str, TensorSpec] | None:
    if not isinstance(node.value, dict):
        node.expected("a table of spec strings, or `module:callable`,")
        return None
    if not node.value:
        node.fail("the table is empty; give one spec string for each parameter of forward")
        return None
    specs: dict[str, TensorSpec] = {}
    for parameter, child in node.items():
        read = _leaves(child, parameter)
        if read is None:
            return None
        specs |= read
    seen: dict[str, tuple[str, int]] = {}
    agree = True
    for parameter, tensor in specs.items():
        for dim in tensor.dims:
            if dim.name is None or dim.size is None:
                continue
            other, size = seen.setdefault(dim.name, (parameter, dim.size))
            if size != dim.size:
                at = (*node.at, parameter.partition(".")[0])
                node.problems.add(f"`{dim.name}` is {dim.size} here and {size} in `{other}`", at)
                agree = False
    return specs if agree else None


def _leaves(node: typed.Node, label: str) -> dict[str, TensorSpec] | None:
    """Read a spec, or a list or table of them, for a parameter that holds several tensors: `states.0`, `batch.mask`."""
    if isinstance(node.value, list):
        children = [(str(number), child) for number, child in enumerate(node.elements("a list of spec strings"))]
    elif isinstance(node.value, dict):
        children = list(node.items())
    else:
        tensor = typed.spec(node)
        return None if tensor is None else {label: tensor}
    if not children:
        node.fail("it is empty; give one spec string for each tensor")
        return None
    leaves: dict[str, TensorSpec] = {}
    for key, child in children:
        inner = _leaves(child, f"{label}.{key}")
        if inner is None:
            return None
        leaves |= inner
    return leaves


def _dims_agree(model: ModelConfig, node: typed.Node) -> bool:
    problems = node.problems
    before = len(problems.diagnostics)
    specs = model.inputs if isinstance(model.inputs, Mapping) else {}
    for parameter, axes in model.dynamic.items() if specs else ():
        at = (*node.at, "dynamic", parameter)
        if parameter not in specs:
            problems.add(f"`{parameter}` is no input of this model{typed.did_you_mean(parameter, specs)}", at)
            continue
        rank = len(specs[parameter].dims)
        for axis in axes:
            if not -rank <= axis < rank:
                problems.add(f"axis {axis} is outside `{parameter}`, which has {rank} axes", (*at, str(axis)))
    for parameter in model.ranges if specs else ():
        if parameter not in specs and not any(label.startswith(f"{parameter}.") for label in specs):
            hint = typed.did_you_mean(parameter, specs)
            problems.add(f"`{parameter}` is no input of this model{hint}", (*node.at, "ranges", parameter))
    names = {name for axes in model.dynamic.values() for name in axes.values()}
    names |= {dim.name for tensor in specs.values() for dim in tensor.dims if dim.name is not None}
    for name in model.sizes:
        if name not in names:
            hint = typed.did_you_mean(name, sorted(names)) if names else "; this model has no dynamic dim"
            problems.add(f"`{name}` is no dynamic dim of this model{hint}", (*node.at, "sizes", name))
    return len(problems.diagnostics) == before
