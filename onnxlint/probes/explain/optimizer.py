"""Where a runtime's own optimizations make a right graph wrong: the first value that they change."""

from typing import Any

import numpy as np
import onnx

from onnxlint.base.records import Location
from onnxlint.probes.confirm.engines import RuntimeRefused
from onnxlint.probes.explain.localise import Exported, keep_nodes, nodes_for
from onnxlint.probes.exporters.graph import onnx_frames

_CLOSE = 1e-3  # of the largest value: optimizations may round otherwise
_STEPS = 60  # values that the search may ask for, each in two sessions


def spoilt(exported: Exported) -> tuple[Location, ...]:
    """The user's frames of the first node whose value optimizations change; each value is asked for alone."""
    try:
        node = _Search(exported).first()
    except RuntimeRefused:
        return ()
    return onnx_frames(node, exported.root) if node is not None else ()


class _Search:
    """Finds the node on the way to an output from which on the optimized graph is wrong."""

    def __init__(self, exported: Exported) -> None:
        self._exported = exported
        self._model = onnx.load(str(exported.path))
        self._makers = {name: node for node in self._model.graph.node for name in node.output}
        self._compared: dict[str, bool] = {}
        self._fed = {value.name for value in self._model.graph.input}  # what depends on an input: no folded weight does
        for node in self._model.graph.node:
            if self._fed.intersection(node.input):
                self._fed.update(node.output)

    def first(self) -> Any:
        """The node; None if the outputs are the same. Raises RuntimeRefused where the graph does not run at all."""
        wrong = [value.name for value in self._model.graph.output]
        node = None
        while name := next((n for n in wrong if self._differs(n)), None):  # no chain: another input may be wrong
            if name not in self._makers:
                return None
            node = self._halved(self._makers[name])
            wrong = [n for n in node.input if n in self._makers]
        return node

    def _halved(self, last_node: Any) -> Any:
        """From a node that is wrong back to one where the node before it on the way, as they stand, is right."""
        way = [n for n in nodes_for(self._model.graph, [last_node.output[0]]) if self._fed.intersection(n.output)]
        right, last = -1, len(way) - 1  # up to `right` the way is right; what follows is halved
        while last - right > 1:
            middle = (right + last) // 2
            if self._differs(way[middle].output[0]):
                last = middle
            else:
                right = middle
        return way[last] if way else last_node

    def _differs(self, name: str) -> bool:
        """Whether optimizations change a value; what fails with them alone is changed too."""
        if name not in self._compared:
            if len(self._compared) >= _STEPS:
                return False
            self._compared[name] = self._is_changed(name)
        return self._compared[name]

    def _is_changed(self, name: str) -> bool:
        plain = self._value(name, optimized=False)
        try:
            optimized = self._value(name, optimized=True)
        except RuntimeRefused:
            return True
        if not isinstance(plain, np.ndarray) or plain.dtype.kind not in "fiub":
            return False
        far = _CLOSE * float(np.abs(plain[np.isfinite(plain)]).max(initial=0.0))
        same = optimized.shape == plain.shape
        return not (same and np.allclose(optimized, plain, rtol=0.0, atol=far, equal_nan=True))

    def _value(self, name: str, optimized: bool) -> Any:
        cut = onnx.ModelProto()
        cut.CopyFrom(self._model)
        keep_nodes(cut.graph, nodes_for(cut.graph, [name]))
        cut.graph.output.append(onnx.ValueInfoProto(name=name))
        return self._exported.engine.run_model(cut, self._exported.feeds, optimized)[0]
