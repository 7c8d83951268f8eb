"""What an export with the right outputs has frozen of its inputs: whole ones, and tables and loops of fixed sizes."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import torch

from onnxlint.base.probe_records import Probe
from onnxlint.base.records import Cause, Evidence
from onnxlint.probes.common.operator_mode import OperatorMode
from onnxlint.probes.common.userspace import user_frames
from onnxlint.probes.confirm.trials import Confirmation
from onnxlint.probes.confirm.weights import SHARE, human, weight_bytes
from onnxlint.probes.explain import causes
from onnxlint.probes.exporters import Frames, graph, torchscript
from onnxlint.probes.observe.eager import Eager
from onnxlint.probes.observe.observe import clone, observe

_LEAST = 2**18  # bytes of a table that is worth a word: exporters fold none of more than a few times that
_AXES = 6  # that are tried at half their size
_TIMES = 16  # that a stretch of nodes occurs
_NODES = 100  # in all of them: fewer cost nothing
_SCOPES = "pkg.torch.onnx.name_scopes"

_Array = np.ndarray[Any, Any]
_Axis = tuple[str, int, int]  # input, axis and size
Place = tuple[str, int, str, int]  # path, line, operator, how often it had run there


def unread(probe: Probe, eager: Eager, confirmation: Confirmation) -> list[Evidence]:
    """The tensors that forward is passed and the graph has not got, though nothing that was tried depends on them."""
    lost = [name for name in confirmation.vanished if isinstance(eager.base.leaves[name], torch.Tensor)]
    frames = causes.forward(eager.model, probe.root)
    detail = "is not an input of the graph, which refuses it; the answer changed with it on no input that was tried"
    return [confirmation.remark(probe, Cause.INPUT_VANISHED, frames, f"`{name}` {detail}") for name in lost]


def tables(probe: Probe, eager: Eager, confirmation: Confirmation) -> Iterator[Evidence]:
    """The lines that compute a large table from a fixed size of an input; cheap where the graph holds no such table."""
    model = confirmation.loaded.model
    wanted = _constants(model, eager)
    total = max(weight_bytes(model), sum(array.nbytes for array in wanted))
    wanted = [array for array in wanted if array.nbytes >= SHARE * total]
    maker = _Maker(probe.root, wanted=wanted)
    if not wanted or not _runs(eager, maker, eager.base.args, eager.base.kwargs):
        return
    for place, (frames, made) in maker.matches.items():
        if axis := _deciding(probe, eager, place, made):
            computed = f"the graph holds {' × '.join(map(str, made.shape))} numbers that are computed here from {axis}"
            detail = f"{computed}: {human(made.nbytes)} of {human(total)} of constants"
            yield confirmation.remark(probe, Cause.TABLE, frames, detail)


def _constants(model: onnx.ModelProto, eager: Eager) -> list[np.ndarray[Any, Any]]:
    """The large constants of a graph that are nothing the model keeps."""
    inside = [t for t in model.graph.initializer if not t.external_data]
    inside += [a.t for n in model.graph.node if n.op_type == "Constant" for a in n.attribute if a.HasField("t")]
    state = eager.model.state_dict(keep_vars=True)
    large = [onnx.numpy_helper.to_array(t) for t in inside if len(t.raw_data) >= _LEAST and t.name not in state]
    if not large:
        return []
    stored: dict[Any, list[_Array]] = defaultdict(list)
    for tensor in (*eager.model.parameters(), *eager.model.buffers()):
        if tensor.dtype != torch.bfloat16:
            array = tensor.detach().cpu().numpy()
            stored[array.size, array.dtype] += (array, array.T)
    return [a for a in large if not any(np.array_equal(a.ravel(), b.ravel()) for b in stored[a.size, a.dtype])]


def _alike(one: _Array, other: _Array) -> bool:
    """Whether two arrays hold the same, up to what another implementation of an operator may do to the last digits."""
    if one.dtype != other.dtype or one.size != other.size:
        return False
    return bool(np.allclose(one.reshape(-1), other.reshape(-1), 1e-4, 1e-5, equal_nan=True))


class _Maker(OperatorMode):
    """Keeps what operators make: the first that is one of the `wanted` arrays, or what is made at one place."""

    def __init__(self, root: str, wanted: Sequence[_Array] = (), place: Place | None = None) -> None:
        super().__init__()
        self.matches: dict[Place, tuple[Frames, _Array]] = {}
        self._root = root
        self._wanted = list(wanted)
        self._sizes = {array.size for array in wanted}
        self._place = place
        self._counts: Counter[tuple[str, int, str]] = Counter()

    def _run(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        out = func(*args, **kwargs)
        there = self._place is not None and self._place[2] == str(func)
        if isinstance(out, torch.Tensor) and out.dtype != torch.bfloat16 and (there or out.numel() in self._sizes):
            self._look(str(func), out)
        return out

    def _look(self, operator: str, made: torch.Tensor) -> None:
        frames = user_frames(root=self._root)
        if not frames:
            return
        line = (frames[0].path, frames[0].line, operator)
        self._counts[line] += 1
        place, array = (*line, self._counts[line]), made.detach().cpu().numpy()
        match = next((wanted for wanted in self._wanted if _alike(wanted, array)), None)
        if place == self._place or match is not None:
            self.matches[place] = frames, array.copy()
            self._wanted = [other for other in self._wanted if other is not match]


def _runs(eager: Eager, maker: _Maker, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    model = eager.inference()
    with torch.no_grad(), maker:
        try:
            model(*clone(tuple(args)), **clone(dict(kwargs)))
        except Exception:  # noqa: BLE001 - a size that forward does not take tells nothing
            return False
    return True


def _deciding(probe: Probe, eager: Eager, place: Place, made: _Array) -> str:
    """The fixed axis of an input with which the table changes, in words; empty where there is none."""
    fixed = [at for at in _long_axes(eager) if at[1] not in eager.example.dynamic.get(at[0], {})]
    for (name, axis, size), args, kwargs in _halved(eager, sorted(fixed, key=lambda at: -at[2])):
        maker = _Maker(probe.root, place=place)
        if _runs(eager, maker, args, kwargs) and any(not np.array_equal(a, made) for _, a in maker.matches.values()):
            return f"axis {axis} of `{name}`, which is fixed at {size}"
    return ""


def _halved(eager: Eager, axes: Sequence[_Axis]) -> Iterator[tuple[_Axis, tuple[Any, ...], dict[str, Any]]]:
    """The example with half of one of these axes, then of all of them that are as long."""
    for at in axes[:_AXES]:
        alike = [other for other in axes if other[2] == at[2]]
        for chosen in ([at], alike)[: len(alike)]:
            yield at, *_narrowed(eager, chosen)


def _long_axes(eager: Eager) -> list[_Axis]:
    """The axes of the example's tensors that can be halved."""
    shapes = {name: leaf.shape for name, leaf in eager.base.leaves.items() if isinstance(leaf, torch.Tensor)}
    return [(name, axis, size) for name, shape in shapes.items() for axis, size in enumerate(shape) if size > 3]


def _narrowed(eager: Eager, axes: Sequence[_Axis]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    def half(name: str, leaf: Any) -> Any:
        for _, axis, size in (at for at in axes if at[0] == name):
            leaf = leaf.narrow(axis, 0, size // 2)
        return leaf

    args, kwargs = eager.example.mapped(half)
    return clone(args), clone(kwargs)


def unrolled(probe: Probe, eager: Eager, confirmation: Confirmation) -> Iterator[Evidence]:
    """The lines whose nodes grow in number with a size of the input; cheap where nothing is repeated."""
    model = confirmation.loaded.model
    for frames, times, nodes in _repeated(model, probe.root):
        if grown := _grows(probe, eager, frames, times):
            copies = f"{times} copies of what this line does, {nodes} of its {len(model.graph.node)} nodes"
            detail = f"the graph has {copies}: one for each element of {grown}, as half of that axis shows"
            yield confirmation.remark(probe, Cause.UNROLLED, frames, detail)


def _repeated(model: onnx.ModelProto, root: str) -> list[tuple[Frames, int, int]]:
    """Lines with the copies that one module has of them, where these are many, and their nodes; the largest first."""
    lines: dict[Frames, Counter[tuple[str, str]]] = defaultdict(Counter)
    for node in model.graph.node:
        frames = graph.onnx_frames(node, root)
        if frames:
            lines[frames][_scope(node), node.op_type] += 1
    stretches = []
    for frames, kinds in lines.items():
        often = [count for count in kinds.values() if count >= _TIMES]
        if often and sum(often) >= _NODES:
            stretches.append((frames, Counter(often).most_common(1)[0][0], sum(often)))
    return sorted(stretches, key=lambda stretch: -stretch[2])


def _scope(node: onnx.NodeProto) -> str:
    """The module that a node belongs to: all but the last of its names, which is its own."""
    scopes = next((entry.value for entry in node.metadata_props if entry.key == _SCOPES), None)
    return str(node.name).rpartition("/")[0] if scopes is None else str(scopes).rpartition(",")[0]


def _grows(probe: Probe, eager: Eager, frames: Frames, times: int) -> str:
    """The axis of an input, as long as there are copies, with which their number grows; empty where there is none."""
    whole = _traced(probe, eager, eager.base.args, eager.base.kwargs, frames)
    fitting = [at for at in _long_axes(eager) if abs(at[2] - times) <= 1]
    for (name, axis, _), args, kwargs in _halved(eager, fitting) if whole else ():
        accepted = observe(eager.inference(), args, kwargs).error is None
        if accepted and 0 < _traced(probe, eager, args, kwargs, frames) <= 0.75 * whole:
            return f"axis {axis} of `{name}`"
    return ""


def _traced(probe: Probe, eager: Eager, args: Sequence[Any], kwargs: dict[str, Any], line: Frames) -> int:
    """How many nodes a line has when this input is traced; 0 where it cannot be traced."""
    try:
        traced, _ = torchscript.trace(eager.fresh().eval(), eager.example.called_with(tuple(args), kwargs), probe.root)
    except Exception:  # noqa: BLE001 - what cannot be traced is not measured, and nothing is said of it
        return 0
    frames = [graph.jit_frames(node, probe.root) for node in graph.jit_nodes(traced)]
    return sum((at[0].path, at[0].line) == (line[0].path, line[0].line) for at in frames if at)
