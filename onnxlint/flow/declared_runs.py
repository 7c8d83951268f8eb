"""Declared models: built by their factory, fed their example, and run as what is exported."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from onnxlint.base.specs import SpecError, parse_spec
from onnxlint.flow.entry_inputs import axes_of, from_spec, is_input, named_inputs, unknown_arguments
from onnxlint.flow.exports import forward_outputs
from onnxlint.flow.interpreter.interpret import Interpreter
from onnxlint.flow.state import observations
from onnxlint.flow.state.partitions import Declared, in_order
from onnxlint.flow.values import domain as dom
from onnxlint.flow.values import shapes
from onnxlint.flow.values.node_places import NOWHERE
from onnxlint.project.classes import FunctionUnit


@dataclass(slots=True)
class DeclaredModel:
    """A run of a model that the configuration declares."""

    engine: Interpreter
    model: Declared
    example: int | None = None  # the batch of the example

    def run(self) -> None:
        """Build a declared model by its factory, feed it its example, and run its forward."""
        engine = self.engine
        factory = _find(engine, self.model.factory)
        if factory == dom.UNKNOWN:
            return
        built, switched = engine.build(factory)
        if isinstance(built, dom.Layer):
            with engine.within(tracing=True, axes=self._declared_axes()):
                engine.apply(built, [dom.Tensor()], {}, NOWHERE)
        if not isinstance(built, dom.Instance):
            return
        if switched is not None and isinstance(factory, dom.Function) and switched.body.name == factory.unit.qualname:
            engine.emit(observations.ModeSwitch, switched, always=True, where="build")
        unit = built.object.cls.find_method("forward")
        if unit is None:
            return
        args, kwargs, axes = self._inputs(unit)
        named = {n: replace(v, parameter=n) if isinstance(v, dom.Tensor) else v for n, v in kwargs.items()}
        with engine.within(tracing=True, outermost=True, axes=axes, example_batch=self.example):
            engine.apply(built, named_inputs(unit, args), named, NOWHERE)
            forward_outputs.report(engine, engine.exits)

    def _declared_axes(self) -> shapes.Axes:
        axes: dict[int, str] = {}
        for per_input in self.model.dynamic.values():
            axes = {**per_input, **axes}
        return shapes.Axes(tuple(sorted(axes.items())))

    def _inputs(self, unit: FunctionUnit) -> tuple[list[dom.Value], dict[str, dom.Value], shapes.Axes]:
        spec = self.model.inputs
        if isinstance(spec, Mapping):
            pairs, self.example = axes_of(spec.values())
            return [], {n: from_spec(unit, n, s) for n, s in spec.items()}, shapes.Axes(pairs)
        source = _find(self.engine, spec) if isinstance(spec, str) else dom.UNKNOWN
        example = self.engine.apply(source, [], {}, NOWHERE) if source != dom.UNKNOWN else dom.UNKNOWN
        if isinstance(example, dom.Dict):
            return [], {str(k): self._feed(unit, str(k), v) for k, v in example.items}, self._declared_axes()
        a, names = unit.args, [p.arg for p, _ in unit.positional][1:]
        rest: dict[str, dom.Value] = {}
        if isinstance(example, (dom.Tuple, dom.Tensor)):
            items = list(example.items) if isinstance(example, dom.Tuple) else [example]
            names += [a.vararg.arg] * len(items) if a.vararg is not None else []
        else:
            items, rest = unknown_arguments(self.engine, unit)
            items = items[: len(names) - len(a.defaults)] or items
        return [self._feed(unit, n, v) for n, v in zip(names, items, strict=False)], rest, self._declared_axes()

    def _feed(self, unit: FunctionUnit, name: str, v: dom.Value) -> dom.Value:
        engine = self.engine
        if isinstance(v, dom.Tensor):
            trace, wanted = is_input(unit, name), self.model.dynamic.get(name, {})
            if v.dims is None:
                return dom.Tensor(kind=v.kind, trace=trace)
            dims: list[dom.Extent] = []
            for i, d in enumerate(v.dims):
                axis = wanted.get(i, wanted.get(i - len(v.dims)))
                example = d.literal if isinstance(d, dom.Const) else None
                dims.append(dom.Dim(frozenset((axis,)), example, trace=trace) if axis is not None else d)
                if i == 0 and axis is not None and self.example is None:
                    self.example = example
            return dom.Tensor(tuple(dims), kind=v.kind, trace=trace)
        if isinstance(v, dom.Dict):
            return dom.Dict(tuple((k, self._feed(unit, name, x)) for k, x in v.items), v.rest)
        if isinstance(v, dom.Tuple):
            return dom.Tuple(tuple(self._feed(unit, name, x) for x in v.items), v.kind)
        if isinstance(v, dom.Const) and isinstance(v.literal, str):
            try:
                return from_spec(unit, name, parse_spec(v.literal))
            except SpecError:
                return v
        if isinstance(v, dom.Const) and not dom.is_none(v) and isinstance(v.literal, (bool, int, float)):
            engine.emit_argument(unit, name, v)
            return dom.CONFIG
        return v


def _find(engine: Interpreter, reference: str) -> dom.Value:
    """The value that `module:attribute` names."""
    name, _, attribute = reference.partition(":")
    info = engine.project.module(name)
    if info is None:
        info = next((m for m in in_order(engine.project.modules.values()) if f".{m.name}".endswith(f".{name}")), None)
    if info is None:
        return dom.UNKNOWN
    v: dom.Value = dom.UNKNOWN
    for i, part in enumerate(attribute.split(".")):
        v = engine.global_value(info, part, strict=True) if i == 0 else engine.attribute(v, part, NOWHERE)
    return v
