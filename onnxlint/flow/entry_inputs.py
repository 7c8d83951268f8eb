"""What entry points are fed: of a function whose calls are not known, and of a model whose inputs have specs."""

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TypeAlias

from onnxlint.base.probe_records import TensorSpec
from onnxlint.flow.interpreter.interpret import Interpreter
from onnxlint.flow.python.call_arguments import STARRED
from onnxlint.flow.python.entry_parameters import entry_value, exported_value, vararg_value
from onnxlint.flow.values import domain as dom
from onnxlint.flow.values.domain import replace
from onnxlint.project.classes import FunctionUnit

Chain: TypeAlias = tuple[tuple[str, int], ...]  # functions that lead to an export call, with the lines of their calls


def named_inputs(unit: FunctionUnit, args: list[dom.Value]) -> list[dom.Value]:
    """The arguments of an exported forward; each tensor knows which parameter it came in by."""
    names = [p.arg for p, _ in unit.positional][1:]
    return [
        replace(v, parameter=names[i]) if isinstance(v, dom.Tensor) and i < len(names) else v
        for i, v in enumerate(args)
    ]


def unknown_arguments(
    engine: Interpreter, unit: FunctionUnit, exported: bool = False, skip: int = 1
) -> tuple[list[dom.Value], dict[str, dom.Value]]:
    """What a function is fed of which no call is known; with `exported`, a flag is as off as its default says."""
    a, positional = unit.args, unit.positional
    if unit.has_decorator("staticmethod") and not (positional and positional[0][0].arg == "ctx"):
        skip = 0
    entry = exported_value if exported else entry_value
    fed = engine.fed.get(unit.key) if not exported and all_known(engine.exports) else None

    def value(p: ast.arg, default: ast.expr | None) -> dom.Value:
        """Of a parameter; what a model leaves out that is exported is what it is by default, as far as that is None."""
        omitted = fed is not None and p.arg not in fed and isinstance(default, ast.Constant) and default.value is None
        return dom.Config(default=dom.NONE) if omitted else entry(engine, unit, p, default)

    args = [value(p, d) for p, d in positional[skip:]]
    kwargs = {p.arg: value(p, d) for p, d in zip(a.kwonlyargs, a.kw_defaults, strict=True)}
    if a.vararg is not None:
        args.append(dom.Seq(vararg_value(engine, unit, a.vararg), None, STARRED))
    return args, kwargs


def all_known(chains: Mapping[Chain, bool]) -> bool:
    """True where each export call, from wherever it is called, has a known model."""
    return all(resolved for _, resolved in _outermost(chains))


def open_calls(chains: Mapping[Chain, bool], exporting: Sequence[str]) -> list[str]:
    """The functions among some that export of which no call was met, or one has no known model."""
    known: dict[str, bool] = {}
    for chain, resolved in _outermost(chains):
        known |= {name: known.get(name, True) and resolved for name, _ in chain}
    return [name for name in exporting if not known.get(name)]


def _outermost(chains: Mapping[Chain, bool]) -> Iterator[tuple[Chain, bool]]:
    inner = {c[:n] for c in chains for n in range(len(c))}  # a function by itself, of which some caller says more
    return ((c, resolved) for c, resolved in chains.items() if c not in inner)


def script_arguments(unit: FunctionUnit) -> tuple[list[dom.Value], dict[str, dom.Value]]:
    """What a function is fed that exports: of flags and settings no more than that somebody sets them."""
    a = unit.args
    names = [p.arg for p, _ in unit.positional][unit.cls is not None :]
    kwargs: dict[str, dom.Value] = {p.arg: dom.CONFIG for p in a.kwonlyargs}
    flags = zip(reversed(names), reversed(a.defaults), strict=False)  # in whichever arm it exports, it does
    kwargs |= {n: dom.CONFIG for n, d in flags if isinstance(d, ast.Constant) and isinstance(d.value, bool)}
    if a.kwarg is not None:
        kwargs["**"] = dom.UNKNOWN
    return [dom.UNKNOWN] * (len(names) - len(a.defaults)), kwargs


def is_input(unit: FunctionUnit, name: str) -> dom.Trace:
    """The step that says which parameter a value came in by."""
    return dom.Trace(unit.module.path, unit.line, f"`{name}` is an input of `{unit.qualname}`")


def axes_of(
    specs: Collection[TensorSpec], named: Sequence[tuple[int, str]] = ()
) -> tuple[tuple[tuple[int, str], ...], int | None]:
    """The axes that some specs name, and those `named` besides; and the example of the batch."""
    axes = dict(named)
    for spec in specs:
        axes = {i: d.name for i, d in enumerate(spec.dims) if d.name is not None} | axes
    firsts = (spec.dims[0] for spec in specs if spec.dims)
    example = next((d.size for d in firsts if d.name is not None and d.size is not None), None)
    return tuple(sorted(axes.items())), example


def from_spec(unit: FunctionUnit, name: str, spec: TensorSpec) -> dom.Tensor:
    """A tensor as a spec has it: named dims are dynamic."""
    trace = is_input(unit, name)
    dims: list[dom.Extent] = []
    for d in spec.dims:
        if d.name is not None:
            dims.append(dom.Dim(frozenset((d.name,)), d.size, trace=trace))
        else:
            dims.append(dom.Const(d.size) if d.size is not None else dom.CONFIG)
    kind = "bool" if spec.dtype == "bool" else "int" if spec.dtype.startswith(("int", "uint", "long")) else "float"
    return dom.Tensor(tuple(dims), kind=kind, trace=trace)
