"""ONX305 random-in-forward. Contract: rules/ONX305-random-in-forward.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import OpCall


@check("ONX305")
def random_in_forward(call: OpCall) -> Iterator[Objection]:
    """Object to a random draw in what is exported."""
    if call.random:
        source = (
            "Python's or numpy's generator, once, while it is traced"
            if call.hazard == "python-random"
            else "a generator"
        )
        yield Objection(
            f"`{call.text}` draws from {source}; the graph cannot give eager's numbers",
            "pass the noise in as an input, or draw only under `if self.training:`",
        )
