"""Models that the source itself says how to build and feed: marked, exported by a call, or fed by a convention."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from onnxlint.base.probe_records import TensorSpec
from onnxlint.flow.state.partitions import name_of
from onnxlint.flow.state.problems import Guard
from onnxlint.project.classes import ClassInfo, FunctionUnit, ModuleInfo
from onnxlint.project.modules import module_name

CONVENTIONS = ("example_input_array", "dummy_inputs", "default_cfg")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A model found in the source. `source` is empty where nothing says how to feed it.

    `inputs` is `module:callable` or specs by parameter; `reason` tells why it cannot be built or fed.
    `arguments` are what the factory is called with, `values` the inputs that are no tensors. `outlined` are the inputs
    some sizes of which are not told, and `axes` those that the call names for inputs of which not even the rank is.
    """

    factory: str
    path: str
    line: int
    source: str
    root: str
    inputs: str | Mapping[str, TensorSpec] | None = None
    dynamic: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    parameters: tuple[str, ...] = ()
    reason: str | None = None
    eval: bool = False
    buildable: bool = True
    arguments: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    outlined: Mapping[str, TensorSpec] = field(default_factory=dict)
    axes: tuple[tuple[int, str], ...] = ()


def candidates(
    modules: Iterable[ModuleInfo], built: frozenset[str], exported: Iterable[Candidate], guard: Guard
) -> tuple[Candidate, ...]:
    """Every model that the source marks, exports or feeds; of the rest, those that no other module builds."""
    by_factory: dict[str, Candidate] = {}
    for c in exported:
        by_factory.setdefault(c.factory, c)
    classes = [cls for info in modules for cls in info.classes.values() if "." not in cls.qualname]
    for candidate in guard.each(classes, lambda cls: _of_class(cls, built)):
        other = by_factory.get(candidate.factory)
        if other is None or (not other.source and candidate.source):
            by_factory[candidate.factory] = candidate
    return tuple(by_factory.values())


def _of_class(cls: ClassInfo, built: frozenset[str]) -> Iterator[Candidate]:
    if cls.is_module() and cls.find_method("forward") is not None:
        candidate = _fed(cls.module, cls)
        if candidate.source or name_of(cls) not in built:
            yield candidate


def _fed(info: ModuleInfo, cls: ClassInfo) -> Candidate:
    source = _marked(info, cls) or _convention(cls)
    needs = required(cls.find_method("__init__"))
    reason = None
    if needs:
        reason = f"its constructor needs {', '.join(f'`{n}`' for n in needs)}"
    elif not source:
        reason = "nothing says what to feed it"
    return Candidate(
        factory=f"{info.name}:{cls.qualname}",
        path=info.path,
        line=cls.line,
        source=source,
        root=str(module_name(info.file.path)[1]),
        parameters=forward_parameters(cls),
        reason=reason,
        buildable=not needs,
    )


def _marked(info: ModuleInfo, cls: ClassInfo) -> str:
    if "onnx_example" in cls.methods:
        return "marked"
    for decorator in cls.decorators:
        head, _, tail = decorator.partition(".")
        if info.aliases.get(head, "") + ("." + tail if tail else "") == "onnxlint.example":
            return "marked"
    if "onnx_example" in info.functions:
        models = (c for c in reversed(info.classes.values()) if "." not in c.qualname and c.is_module())
        return "marked" if next(models, None) is cls else ""
    return ""


def _convention(cls: ClassInfo) -> str:
    for c in cls.mro():
        text = c.text
        for name in CONVENTIONS:
            if f"self.{name} =" in text or name in c.attributes or name in c.methods:
                return name
    return ""


def required(unit: FunctionUnit | None, skip: int = 1) -> tuple[str, ...]:
    """Names of the parameters (past self, or past `skip` of them) that a call has to give."""
    if unit is None:
        return ()
    a = unit.args
    parameters = (*unit.positional[skip:], *zip(a.kwonlyargs, a.kw_defaults, strict=True))
    return tuple(p.arg for p, default in parameters if default is None)


def forward_parameters(cls: ClassInfo) -> tuple[str, ...]:
    """Names of forward's parameters without a default."""
    return required(cls.find_method("forward"))
