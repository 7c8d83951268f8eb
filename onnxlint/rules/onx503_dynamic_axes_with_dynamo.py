"""ONX503 dynamic-axes-with-dynamo. Contract: rules/ONX503-dynamic-axes-with-dynamo.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.base.records import Fix, Safety
from onnxlint.flow.state.observations import ExportCall
from onnxlint.rules.engine.rule import Objection, Rule
from onnxlint.rules.engine.site import Site, elements, literal
from onnxlint.rules.helpers.export_edits import export_call, keyword_at, names


class DynamicAxesWithDynamo(Rule):
    """Object to `dynamic_axes` given to the dynamo exporter."""

    code = "ONX503"
    safety = Safety.UNSAFE

    def on_export_call(self, node: cst.CSTNode, call: ExportCall) -> Iterator[Objection]:
        if call.dynamo and call.has_dynamic_axes and "dynamic_axes" in call.argument_spans:
            yield Objection(
                "`dynamic_axes` belongs to the TorchScript exporter; this call uses dynamo (the default since"
                " torch 2.9)",
                "pass `dynamic_shapes={...}` with the names of forward's parameters, or `dynamo=False`",
                span=call.argument_spans["dynamic_axes"],
            )

    def fix(self, site: Site) -> Fix | None:
        """Unsafe: axes that dynamo dropped are dynamic then, which the model has to bear."""
        call = export_call(site)
        keyword = keyword_at(site, call) if call is not None else None
        parameters, ranks = names(site, "parameters"), names(site, "examples")
        if keyword is None or keyword.keyword is None or not isinstance(keyword.value, cst.Dict) or not parameters:
            return None
        if ranks is None or len(ranks) > len(parameters) or site.comments(keyword.value):
            return None
        parameters = parameters[: len(ranks)]
        inputs = names(site, "inputs") or parameters
        axes: dict[str, cst.BaseExpression | None] = {}
        for element in keyword.value.elements:
            if not (isinstance(element, cst.DictElement) and isinstance(element.key, cst.SimpleString)):
                return None
            axes[str(element.key.evaluated_value)] = _as_dict(site, element.value)
        if any(value is None for name, value in axes.items() if name in inputs) or len(inputs) < len(parameters):
            return None
        if not set(axes) <= {*inputs, *(names(site, "outputs") or [])}:
            return None
        shapes = [
            cst.DictElement(cst.SimpleString(f'"{parameter}"'), axes.get(name) or cst.Name("None"))
            for parameter, name in zip(parameters, inputs, strict=False)
        ]
        return site.fix(
            "pass `dynamic_shapes` by the parameters of forward",
            Safety.UNSAFE,
            site.replace(keyword.keyword, cst.Name("dynamic_shapes")),
            site.replace(keyword.value, cst.Dict(shapes)),
        )


def _as_dict(site: Site, value: cst.BaseExpression) -> cst.BaseExpression | None:
    """The axes of an input as a dict, on one line."""
    if isinstance(value, cst.Dict):
        return cst.parse_expression(" ".join(site.source(value).split()))
    axes = elements(value)
    if axes is None or any(literal(axis) is None for axis in axes):
        return None
    return cst.Dict([cst.DictElement(axis, cst.SimpleString(f'"axis_{literal(axis)}"')) for axis in axes])
