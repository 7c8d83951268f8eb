"""Where a runtime's own optimizations make a right graph wrong: the first value that they change."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from onnxlint.base.records import Location, text_of
from onnxlint.probes.confirm.engines import Engine, RuntimeRefused
from onnxlint.probes.exporters.graph import onnx_frames

_CLOSE = 1e-3  # of the largest value: optimizations may round otherwise
_STEPS = 60  # sessions that the search may open


def spoilt(exported: Path, feeds: Mapping[str, Any], root: str, engine: Engine) -> tuple[Location, ...]:
    """The user's frames of the first node whose value differs between a run with optimizations and one without.

    Every value is asked for alone, in a graph that ends there: what is looked at in the middle is not fused.
    Empty where no value differs.
    """
    search = _Search(onnx.load(str(exported)), feeds, engine)
    try:
        node = search.first()
    except RuntimeRefused:
        return ()
    return onnx_frames(node, root) if node is not None else ()


class _Search:
    """Finds the node on the way to an output from which on the optimized graph is wrong."""

    def __init__(self, model: onnx.ModelProto, feeds: Mapping[str, Any], engine: Engine) -> None:
        self._model = model
        self._feeds = feeds
        self._engine = engine
        self._left = _STEPS
        self._makers = {name: node for node in model.graph.node for name in node.output}
        self._known: dict[str, bool] = {}
        self._fed = {value.name for value in model.graph.input}  # what depends on an input: no folded weight does
        for node in model.graph.node:
            if self._fed.intersection(node.input):
                self._fed.update(node.output)

    def first(self) -> Any:
        """The node; None if the outputs are the same. Raises RuntimeRefused where the graph does not run at all."""
        wrong = next((v.name for v in self._model.graph.output if self._differs(v.name)), None)
        if wrong is None or wrong not in self._makers:
            return None
        node = self._makers[wrong]
        while True:  # the way is no chain: another input may be wrong already
            node = self._halved(node)
            before = [self._makers[n] for n in node.input if n in self._makers and self._differs(n)]
            if not before:
                return node
            node = before[0]

    def _halved(self, last_node: Any) -> Any:
        """From a node that is wrong back to one where the node before it on the way, as they stand, is right."""
        way = [node for node in self._way_to(last_node.output[0]) if self._fed.intersection(node.output)]
        right = -1  # the last on the way that is known to be right; what follows is halved
        last = len(way) - 1
        while last - right > 1:
            middle = (right + last) // 2
            if self._differs(way[middle].output[0]):
                last = middle
            else:
                right = middle
        return way[last] if way else last_node

    def _way_to(self, name: str) -> list[Any]:
        wanted = {name}
        path = []
        for node in reversed(self._model.graph.node):
            if wanted.intersection(node.output):
                wanted.update(node.input)
                path.append(node)
        return path[::-1]

    def _differs(self, name: str) -> bool:
        """Whether optimizations change a value; what fails with them alone is changed too."""
        if name not in self._known:
            self._left -= 1
            if self._left < 0:
                return False
            self._known[name] = self._asked(name)
        return self._known[name]

    def _asked(self, name: str) -> bool:
        plain = self._value(name, optimized=False)
        try:
            optimized = self._value(name, optimized=True)
        except RuntimeRefused:
            return True
        if not isinstance(plain, np.ndarray) or plain.dtype.kind not in "fiub":
            return False
        if optimized.shape != plain.shape:
            return True
        far = _CLOSE * float(np.abs(plain[np.isfinite(plain)]).max(initial=0.0))
        return not np.allclose(optimized, plain, rtol=0.0, atol=far, equal_nan=True)

    def _value(self, name: str, optimized: bool) -> Any:
        cut = onnx.ModelProto()
        cut.CopyFrom(self._model)
        way = {id(node) for node in self._way_to(name)}
        keep = [node for node in self._model.graph.node if id(node) in way]
        del cut.graph.node[:], cut.graph.output[:]
        cut.graph.node.extend(keep)
        cut.graph.output.append(onnx.ValueInfoProto(name=name))
        try:
            serialized = cut.SerializeToString()
        except ValueError as error:  # over 2 GB
            raise RuntimeRefused(text_of(error)) from error
        return self._engine.run(self._engine.open(serialized, optimized=optimized), self._feeds)[0]
