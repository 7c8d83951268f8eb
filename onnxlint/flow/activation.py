"""What the parts of a frame share: variables, the place in the source, and how an expression is evaluated."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from onnxlint.flow.domain import (
    Scope,
    Trace,
    Value,
)

if TYPE_CHECKING:
    from onnxlint.flow.domain import Scope, Trace
    from onnxlint.flow.interpret import Interpreter
    from onnxlint.flow.tree import Body
    from onnxlint.project.classes import ClassInfo, FunctionUnit
    from onnxlint.project.modules import ModuleInfo


class Activation:
    """One activation of a function, of a module's statements, or of a lone expression."""

    engine: Interpreter
    module: ModuleInfo
    body: Body
    scope: Scope
    symbol: str
    unit: FunctionUnit | None
    bound: Value | None
    line: int
    statement_node: ast.stmt | None
    returns: list[Value]
    yields: list[Value]
    loop_exits: list[dict[str, Value]]
    globals: set[str]
    attempted: list[ast.AST] | None  # operators in the `try` that runs which sizes may fail; None outside of one
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

    def eval(self, node: ast.expr) -> Value:
        """The abstract value of an expression."""
        raise NotImplementedError

    def assign(self, target: ast.expr, v: Value, augmented: bool = False) -> None:
        """Bind a target."""
        raise NotImplementedError
