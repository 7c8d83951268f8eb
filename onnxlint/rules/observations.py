"""The metadata that the dataflow gives libcst nodes: what was observed at each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import libcst as cst
from libcst.metadata import BaseMetadataProvider, MetadataWrapper

from onnxlint.flow.facts import Fact
from onnxlint.rules.tree import Tree


class ObservationProvider(BaseMetadataProvider[Sequence[Fact]]):
    """What was observed at a node: at the one that begins and ends there, or else at the one that it begins in."""

    gen_cache = staticmethod(lambda root, paths, **_: {})  # never called: `observations` gives it what to say
    cache: tuple[Tree, Iterable[Fact]]

    def _gen_impl(self, module: cst.Module) -> None:
        tree, facts = self.cache
        nodes: dict[cst.CSTNode, list[Fact]] = {}
        for fact in facts:
            start, end = (fact.span.line, fact.span.column), (fact.span.end_line, fact.span.end_column)
            exact = tree.at(start, end)
            node = exact[-1] if exact else next(tree.holding(start), module)
            nodes.setdefault(node, []).append(fact)
        for node, seen in nodes.items():
            self.set_metadata(node, seen)


def observations(tree: Tree, facts: Iterable[Fact]) -> Mapping[cst.CSTNode, Sequence[Fact]]:
    """The observations of a piece of a file by node."""
    wrapper = MetadataWrapper(tree.module, unsafe_skip_copy=True, cache={ObservationProvider: (tree, facts)})
    return wrapper.resolve(ObservationProvider)
