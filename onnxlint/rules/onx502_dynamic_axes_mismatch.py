"""ONX502 dynamic-axes-mismatch. Contract: rules/ONX502-dynamic-axes-mismatch.md."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import ExportCall
from onnxlint.rules.rule import Objection, Rule


class DynamicAxesMismatch(Rule):
    """Object to dynamic axes of an input that does not exist, or of an axis that the model fixes."""

    code = "ONX502"

    def on_export_call(self, node: cst.CSTNode, call: ExportCall) -> Iterator[Objection]:
        if not call.axes_known:
            return
        argument = "dynamic_axes" if call.has_dynamic_axes else "dynamic_shapes"
        at = call.argument_spans.get(argument)
        for name, axis, why in call.fixed_axes:
            yield Objection(
                f"axis {axis} of `{name}` is asked for as dynamic, but {why}",
                "count the axes from 0, batch first: an NCHW image has its height and width on axes 2 and 3",
                span=call.axes_spans.get(name, at),
                hints={"fixed": axis, "rank": _rank(call, name)},
            )
        known = _names(call)
        if known is None:
            return
        for name, _ in call.axes:
            if name not in known:
                near = difflib.get_close_matches(name, known, 1)
                hint = f"write `{near[0]}`" if near else f"use one of {', '.join(f'`{k}`' for k in known)}"
                yield Objection(
                    f"`{argument}` names `{name}`, which is no input or output of the export",
                    hint,
                    span=call.axes_spans.get(name, at),
                    hints={"name": name, "near": near[0] if near else ""},
                )


def _rank(call: ExportCall, name: str) -> int:
    """How many axes the example of an input has; of anything else, as many as the example of the first input."""
    names = call.input_names or call.parameters or ()
    at = names.index(name) if name in names else 0
    sizes = call.examples[at].sizes if call.examples is not None and at < len(call.examples) else None
    return len(sizes) if sizes is not None else 0


def _names(call: ExportCall) -> tuple[str, ...] | None:
    """Every name that the axes may use; None where that is not known."""
    if call.has_dynamic_axes:
        # Without names the exporter makes up its own; outputs without names cannot be told from a mistake.
        if call.input_names is None and call.parameters is None:
            return None
        if call.output_names is None:
            return None
        return (*(call.input_names or call.parameters or ()), *call.output_names)
    return call.parameters
