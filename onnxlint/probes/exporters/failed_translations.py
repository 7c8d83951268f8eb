"""The nodes that dynamo's exporter fails at once the model is captured: every translation that raises, and what it
worked on where a pass over the graph does."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

import onnx_ir
import torch
from torch.onnx._internal.exporter import _core
from torch.onnx._internal.exporter._errors import ConversionError

from onnxlint.probes.common.userspace import python_frames
from onnxlint.probes.exporters import Frames
from onnxlint.probes.exporters.graph import STACK_KEY


def worked_on(error: BaseException, root: str) -> Frames:
    """Where the node was made that a function of the exporter held when it raised, the innermost such function's."""
    trace = error.__traceback__
    places: list[Frames] = []
    while trace is not None:
        for value in trace.tb_frame.f_locals.values():
            if isinstance(value, torch.fx.Node):
                places.append(python_frames(value.meta.get("stack_trace"), root))
            elif isinstance(value, onnx_ir.Node):
                places.append(python_frames(value.metadata_props.get(STACK_KEY), root))
        trace = trace.tb_next
    return next((frames for frames in reversed(places) if frames), ())


class Lowerings:
    """Notes the nodes whose translation raised, and what it raised, without those that only a stub led to."""

    def __init__(self) -> None:
        self.failed: list[tuple[torch.fx.Node, Exception]] = []

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Patch the translation for as long as the export takes; it still fails where a node does."""
        lower = _core._handle_call_function_node_with_lowering
        translate = _core._translate_fx_graph
        stubs: set[torch.fx.Node] = set()
        depth = 0

        def lowered(model: Any, node: torch.fx.Node, values: Any, *, graph_like: Any, **more: Any) -> None:
            try:
                lower(model, node, values, graph_like=graph_like, **more)
            except Exception as error:  # noqa: BLE001 - whatever a translation raises is what we look for
                if stubs.isdisjoint(node.all_input_nodes):
                    self.failed.append((node, error))
                try:
                    _core._handle_call_function_node(graph_like, node, values)
                except Exception:  # noqa: BLE001 - what cannot even be stood in for ends the export, as it would have
                    raise error from error.__cause__
                stubs.add(node)

        def translated(*args: Any, **kwargs: Any) -> Any:
            nonlocal depth
            depth += 1
            try:
                values = translate(*args, **kwargs)
            finally:
                depth -= 1
            if self.failed and not depth:
                node, error = self.failed[0]
                raise ConversionError(f"Error when translating node {node.format_node()}.") from error
            return values

        with (
            mock.patch.object(_core, "_handle_call_function_node_with_lowering", lowered),
            mock.patch.object(_core, "_translate_fx_graph", translated),
        ):
            yield
