"""The metadata that the dataflow gives libcst nodes: what was observed at each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import libcst as cst
from libcst.metadata import BaseMetadataProvider

from onnxlint.flow.state.observations import Observation
from onnxlint.rules.engine.cst_tree import Tree


class ObservationProvider(BaseMetadataProvider[Sequence[Observation]]):
    """What was observed at a node: at the one that begins and ends there, or else at the one that it begins in."""

    def __init__(self, tree: Tree, observations: Iterable[Observation]) -> None:
        super().__init__()
        self._tree = tree
        self._facts = observations

    def _gen_impl(self, module: cst.Module) -> None:
        nodes: dict[cst.CSTNode, list[Observation]] = {}
        for observation in self._facts:
            start, end = (
                (observation.span.line, observation.span.column),
                (observation.span.end_line, observation.span.end_column),
            )
            exact = self._tree.at(start, end)
            node = exact[-1] if exact else next(self._tree.holding(start), module)
            nodes.setdefault(node, []).append(observation)
        for node, seen in nodes.items():
            self.set_metadata(node, seen)

    def by_node(self) -> Mapping[cst.CSTNode, Sequence[Observation]]:
        """All observations by node. A MetadataWrapper gives the same, and visits every node for it."""
        self._gen_impl(self._tree.module)
        return self._computed  # type: ignore[return-value]  # nothing here is computed when it is asked for
