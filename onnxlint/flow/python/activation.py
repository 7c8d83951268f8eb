"""What the parts of a frame share: the place in the source, and what runs in a `try`."""

import ast

from onnxlint.flow.state.protocols import Running
from onnxlint.flow.values.domain import Scope, Trace, Value
from onnxlint.project.classes import ClassInfo


class Activation(Running):
    """One activation of a function, of a module's statements, or of a lone expression."""

    scope: Scope
    yields: list[Value]
    loop_exits: list[dict[str, Value]]
    nonlocals: set[str]

    @property
    def owner(self) -> ClassInfo | None:
        """The class whose method this is."""
        return self.unit.cls if self.unit is not None else None

    def step(self, message: str, parent: Trace | None) -> Trace:
        """A step of a trace at the current statement."""
        return Trace(self.module.path, self.line, message, parent)

    def attempt(self, node: ast.AST) -> None:
        """An operator runs that sizes may fail: it counts in a `try`."""
        if self.attempted is not None:
            self.attempted.append(node)
