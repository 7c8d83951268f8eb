"""The metadata that the dataflow gives libcst nodes: what was observed at each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import libcst as cst
from libcst.metadata import BaseMetadataProvider

from onnxlint.flow.facts import Fact
from onnxlint.rules.tree import Tree


class ObservationProvider(BaseMetadataProvider[Sequence[Fact]]):
    """What was observed at a node: at the one that begins and ends there, or else at the one that it begins in."""

    def __init__(self, tree: Tree, facts: Iterable[Fact]) -> None:
        super().__init__()
        self._tree = tree
        self._facts = facts

    def _gen_impl(self, module: cst.Module) -> None:
        nodes: dict[cst.CSTNode, list[Fact]] = {}
        for fact in self._facts:
            start, end = (fact.span.line, fact.span.column), (fact.span.end_line, fact.span.end_column)
            exact = self._tree.at(start, end)
            node = exact[-1] if exact else next(self._tree.holding(start), module)
            nodes.setdefault(node, []).append(fact)
        for node, seen in nodes.items():
            self.set_metadata(node, seen)

    def by_node(self) -> Mapping[cst.CSTNode, Sequence[Fact]]:
        """All observations by node. A MetadataWrapper gives the same, and visits every node for it."""
        self._gen_impl(self._tree.module)
        return self._computed  # type: ignore[return-value]  # nothing here is computed when it is asked for
