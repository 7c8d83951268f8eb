"""Why TorchScript refused an export, by line: calls that it has no overload of, and types that ONNX does not have."""

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch
from torch.onnx._internal.torchscript_exporter import utils as internals
from torch.overrides import TorchFunctionMode

from onnxlint.base.records import text_of
from onnxlint.probes.common.userspace import user_frames
from onnxlint.probes.exporters import Refusal, first_of_each, line_of
from onnxlint.probes.exporters.graph import jit_frames, jit_nodes

_NONE_FITS = re.compile(r"We don't have an op for aten::(\w+) but it isn't a special case\.\s+Argument types: ([^\n]*)")
_MESSAGE = "is an unexpected tensor scalar type"  # ScalarType ComplexDouble …
_COMPLEX = (torch.complex32, torch.complex64, torch.complex128)


class _Calls(TorchFunctionMode):  # type: ignore[misc]
    """Notes the lines that call an operator with arguments of these kinds."""

    def __init__(self, name: str, kinds: list[str], root: str) -> None:
        super().__init__()
        self._name = name
        self._kinds = kinds
        self._root = root
        self.refusals: list[Refusal] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if _plain(getattr(func, "__name__", "")) == self._name and self._fits(args):
            operands = " and ".join(f"a {kind}" for kind in self._kinds)
            message = f"TorchScript has no `{self._name.strip('_')}` of {operands}"
            self.refusals.append(Refusal(message, user_frames(root=self._root)))
        return func(*args, **(kwargs or {}))

    def _fits(self, args: tuple[Any, ...]) -> bool:
        """Whether the arguments are of these kinds, in whichever order: `True | t` is traced as `t | True`."""
        passed = args[: len(self._kinds)]
        kinds = sorted("Tensor" if isinstance(value, torch.Tensor) else type(value).__name__ for value in passed)
        return kinds == sorted(self._kinds[: len(kinds)])


def overload(error: Exception, again: Callable[[], None], root: str) -> list[Refusal]:
    """The calls with operands that TorchScript has no overload for, if the error is about one; `again` exports anew."""
    match = _NONE_FITS.search(text_of(error))
    if match is None:
        return []
    kinds = [kind.strip() for kind in match.group(2).split(",") if kind.strip()]
    with _Calls(_plain(match.group(1)), kinds, root) as calls, contextlib.suppress(Exception):  # the error, once more
        again()
    return first_of_each((refusal for refusal in calls.refusals if refusal.frames), key=line_of)


def _plain(name: str) -> str:
    """The name of an operator without what says that its sides are exchanged, or that it writes in place."""
    match = re.fullmatch(r"__[ri]?(or|and|xor|lshift|rshift)__", name)
    return f"__{match.group(1)}__" if match else name


@contextlib.contextmanager
def lowered(graphs: list[Any]) -> Iterator[None]:
    """Keep the graph that the exporter is about to write."""
    to_graph = internals._model_to_graph

    def kept(*args: Any, **kwargs: Any) -> Any:
        made = to_graph(*args, **kwargs)
        graphs[:] = made[:1]
        return made

    with mock.patch.object(internals, "_model_to_graph", kept):
        yield


def unwritable(error: Exception, graphs: list[Any], root: str) -> list[Refusal]:
    """The places of complex values, if the error is about one; a lowering may take bfloat16 for a complex type."""
    if _MESSAGE not in text_of(error):
        return []
    message = f"the TorchScript exporter writes a complex number here, which ONNX has no type for: {error}"
    frames = [jit_frames(node, root) for graph in graphs for node in filter(_complex, jit_nodes(graph))]
    return first_of_each((Refusal(message, at) for at in frames if at), key=lambda r: r.frames[:1])


def _complex(node: Any) -> bool:
    """Whether a node holds a complex constant, or takes or makes a complex value."""
    constants = [node.t(name) for name in node.attributeNames() if node.kindOf(name) == "t"]
    kinds = [value.type() for value in (*node.inputs(), *node.outputs())]
    tensors = [kind.dtype() for kind in kinds if isinstance(kind, torch._C.TensorType)]
    return any(dtype in _COMPLEX for dtype in (*tensors, *(tensor.dtype for tensor in constants)))
