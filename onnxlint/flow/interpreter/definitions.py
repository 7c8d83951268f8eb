"""What names, defaults and expressions outside of functions stand for: each is evaluated once for a run."""

import ast
from collections.abc import Callable
from typing import Any, TypeAlias

from onnxlint.flow.interpreter.frame import Frame
from onnxlint.flow.interpreter.instances import Objects
from onnxlint.flow.python import name_lookup
from onnxlint.flow.state.context import Context
from onnxlint.flow.state.summaries import DEPTH
from onnxlint.flow.tables.operator_table import OpTable
from onnxlint.flow.values import domain as dom
from onnxlint.flow.values.node_places import NOWHERE, Body
from onnxlint.project.classes import ClassInfo, FunctionUnit, ModuleInfo

# A function, or an expression by itself, begins in no condition, and in no arm or loop of its own.
IN_NOTHING: dict[str, Any] = {"testing": False, "by_size": False, "looping": 0, "over_modules": False}

_Name: TypeAlias = "tuple[int, int | str]"  # a definition, by the identity of what it stands in


class Definitions(Objects):
    """The part of the interpreter that evaluates what stands in modules and classes."""

    def __init__(self, context: Context, table: OpTable) -> None:
        super().__init__(context, table)
        self._globals: dict[_Name, dom.Value] = {}
        self._defaults: dict[tuple[ModuleInfo, int, ast.expr], dom.Value] = {}
        self._class_values: dict[_Name, dom.Value] = {}
        self._local_classes: dict[tuple[ModuleInfo, int, int], ClassInfo] = {}

    def global_value(self, module: ModuleInfo, name: str, strict: bool = False) -> dom.Value:
        """What a name means at module level; with `strict` a builtin does not count."""
        key = (id(module), name)
        value = self._globals.get(key)
        if value is None:
            value = self._unless_asked_again(self._globals, key, lambda: name_lookup.find(self, module, name, strict))
        return value

    def local_class(self, body: Body, node: ast.ClassDef, qualname: str) -> dom.Value:
        """A class defined in a function."""
        key = (body.module, node.lineno + body.shift, node.col_offset)
        info = self._local_classes.get(key)
        if info is None:
            info = self._local_classes[key] = ClassInfo(body.module, node, qualname, body.shift)
        self.around[info] = self.frames[-1].scope
        return dom.ClassRef(info)

    def evaluate_default(self, unit: FunctionUnit, default: ast.expr) -> dom.Value:
        """The value of a default expression, in the scope of its module."""
        key = (unit.module, unit.shift, default)  # functions of one text share the tree, not what its names mean
        value = self._defaults.get(key)
        if value is None:
            name = f"{unit.qualname} default"
            value = self._defaults[key] = self.evaluate_expression(unit.module, default, name, unit.shift)
        return value

    def evaluate_in_class(self, info: ClassInfo, expression: ast.expr) -> dom.Value:
        """The value of a class-level assignment."""
        key = (id(info), id(expression))
        value = self._class_values.get(key)
        if value is None:
            value = self._unless_asked_again(
                self._class_values, key, lambda: self.evaluate_expression(info.module, expression, info.qualname)
            )
        return value

    @staticmethod
    def _unless_asked_again(values: dict[_Name, dom.Value], key: _Name, find: Callable[[], dom.Value]) -> dom.Value:
        """A cycle of definitions sees something unknown; where the steps run out, nothing is known of it after."""
        values[key] = dom.UNKNOWN
        try:
            values[key] = find()
        except BaseException:
            del values[key]
            raise
        return values[key]

    def evaluate_expression(self, module: ModuleInfo, expression: ast.expr, name: str, shift: int = 0) -> dom.Value:
        """A lone expression, in the scope of its module, untraced; `shift` is that of the function it belongs to."""
        if isinstance(expression, ast.Constant):
            return dom.Const(expression.value) if not isinstance(expression.value, complex) else dom.CONFIG
        if isinstance(expression, ast.Name):  # most defaults are plain names: no need for a tree
            return self.global_value(module, expression.id)
        if isinstance(expression, ast.Attribute):
            owner = self.evaluate_expression(module, expression.value, name, shift)
            return self.attribute(owner, expression.attr, NOWHERE)
        if isinstance(expression, (ast.Tuple, ast.List)):
            kind = "list" if isinstance(expression, ast.List) else "tuple"
            return dom.Tuple(tuple(self.evaluate_expression(module, e, name, shift) for e in expression.elts), kind)
        body = Body(module, name, expression.lineno + shift, None, shift)
        return self.in_frame(Frame(self, module, body, dom.Scope({}), f"{module.name}.{name}"), expression)

    def in_frame(self, frame: Frame, node: ast.expr) -> dom.Value:
        """Evaluate an expression in a frame of its own, untraced."""
        if len(self.frames) >= DEPTH:
            return self.summaries.too_deep()
        self.frames.append(frame)
        try:
            with self.within(tracing=False, **IN_NOTHING):
                return frame.eval(node)
        finally:
            self.frames.pop()
