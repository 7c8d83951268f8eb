"""Assignment: names, attributes, items, and several of them at once."""

import ast
import re

from onnxlint.flow.calls.attribute_access import record_items, unpack_shape
from onnxlint.flow.interpreter.expressions import Expressions
from onnxlint.flow.lowering import index_lowering, sizes_as_numbers
from onnxlint.flow.python import outside_state
from onnxlint.flow.state.observations import StateWrite
from onnxlint.flow.values import domain as dom
from onnxlint.flow.values.domain import replace
from onnxlint.flow.values.joins import fed, item_of, join, join_all, updated

_CLEARS = re.compile(r"clear|empty|reset|flush")

KEYS = 500  # of a dict that grows write by write, so many are told apart


class Targets(Expressions):
    """The part of a frame that binds what an assignment, a loop or a `with` gives."""

    def assign(self, target: ast.expr, v: dom.Value, augmented: bool = False) -> None:
        """Bind a target: a name, an attribute, an item, or several of them."""
        self.engine.budget.carry(v.weight)
        if isinstance(target, ast.Name):
            if target.id in self.globals and isinstance(v, (dom.Tensor, dom.Dim, dom.Data)):
                self.engine.emit(StateWrite, target, v.trace, name=target.id, kind="global")
            self.scope.names[target.id] = self.named(target.id, v)
            if target.id in self.nonlocals:
                self._write_outside(target.id, self.scope.names[target.id])
        elif isinstance(target, (ast.Tuple, ast.List)):
            self.unpack(target, v)
        elif isinstance(target, ast.Attribute):
            self.assign_attribute(target, v, augmented)
        elif isinstance(target, ast.Subscript):
            self.assign_item(target, v)
        elif isinstance(target, ast.Starred):
            self.assign(target.value, v)

    def _write_outside(self, name: str, v: dom.Value) -> None:
        """Give a variable of an enclosing function the value as well as the one it has."""
        scope = self.scope.outer
        while scope is not None and name not in scope.names:
            scope = scope.outer
        if scope is not None:
            scope.names[name] = join(scope.names[name], v)

    def named(self, name: str, v: dom.Value) -> dom.Value:
        """The value with a step that says which name it got, and where."""
        if isinstance(v, (dom.Tensor, dom.Dim, dom.Data)) and (
            v.trace is None or v.trace.line != self.line or v.trace.path != self.module.path
        ):
            return replace(v, trace=self.step(f"`{name}` is assigned", v.trace))
        return v

    def unpack(self, target: ast.Tuple | ast.List, v: dom.Value) -> None:
        """`a, b = value`."""
        count = len(target.elts)
        starred = next((i for i, e in enumerate(target.elts) if isinstance(e, ast.Starred)), None)
        names = [e.id if isinstance(e, ast.Name) else "" for e in target.elts]
        if isinstance(v, dom.Instance):
            v = record_items(self.engine, v)
        if isinstance(v, dom.Shape):
            parts = unpack_shape(self.engine, v, count, starred, names)
        elif isinstance(v, dom.Tensor):
            if starred is not None:  # without a star, eager itself takes one length only
                self.engine.report_loop(target, v)
            item = item_of(v)
            parts = [dom.Seq(item) if i == starred else item for i in range(count)]
        elif isinstance(v, dom.Tuple) and starred is None and len(v.items) == count:
            parts = list(v.items)
        elif isinstance(v, dom.Tuple) and starred is not None and len(v.items) >= count - 1:
            tail = count - 1 - starred
            middle = v.items[starred : len(v.items) - tail]
            parts = [*v.items[:starred], dom.Tuple(middle, "list"), *v.items[len(v.items) - tail :]]
        elif isinstance(v, dom.Seq):
            parts = _items(v, count, starred)
        elif isinstance(v, dom.Tuple):
            parts = [join_all(v.items) or dom.UNKNOWN] * count
        else:
            parts = [v if isinstance(v, (dom.Config, dom.Data, dom.Array)) else dom.UNKNOWN] * count
        for element, part in zip(target.elts, parts, strict=False):
            self.assign(element, part)

    def assign_attribute(self, target: ast.Attribute, v: dom.Value, augmented: bool) -> None:
        """`obj.name = value`."""
        owner = self.eval(target.value)
        if isinstance(owner, dom.Dict) and isinstance(target.value, (ast.Name, ast.Attribute)):  # a namespace
            self.rebind(target.value, _stored(owner, dom.Const(target.attr), v))
        if not isinstance(owner, dom.Instance):
            outside_state.on_class(self, target)
            return
        clears = self.unit is not None and _CLEARS.search(self.unit.name) is not None
        if clears and dom.is_none(v) and self.engine.context.tracing:
            self.engine.is_emptied(owner.object, target.attr)
        if not augmented:
            self.engine.state_write(self, target, v, augmented=False)
        self.engine.set_attribute(owner.object, target.attr, v)

    def assign_item(self, target: ast.Subscript, v: dom.Value) -> None:
        """`obj[index] = value`."""
        owner = self.eval(target.value)
        index = self.index_values(target)
        key = index[0] if len(index) == 1 else dom.UNKNOWN
        if isinstance(owner, dom.Tensor):
            if not (isinstance(key, dom.Const) and isinstance(key.literal, str)):  # else it is a dict of tensors
                self._write_tensor(owner, index, target, v)
            return
        if isinstance(owner, dom.Dict) and isinstance(key, (dom.Dim, dom.Tuple)):
            sizes_as_numbers.looked_up(self.engine, owner, key, target, "=")
        if isinstance(owner, (dom.Dict, dom.Tuple, dom.Seq)) and isinstance(target.value, (ast.Name, ast.Attribute)):
            outside_state.stored(self, target.value, v)
            self.rebind(target.value, _stored(owner, key, v))
        elif isinstance(owner, (dom.Dict, dom.Tuple, dom.Seq)) and isinstance(target.value, ast.Subscript):
            self.assign_item(target.value, _stored(owner, key, v))

    def _write_tensor(self, owner: dom.Tensor, index: list[dom.Value], target: ast.Subscript, v: dom.Value) -> None:
        self.engine.use_all([v, *index], "an item assignment")
        self.engine.item_written(self, owner, target)
        index_lowering.write(self.engine, owner, index, target, v)
        if isinstance(target.value, ast.Name):
            after = fed(owner, (v, *index))
            # What every row of a mask may look at, such as the diagonal, leaves none that is hidden as a whole.
            opened = owner.kind == "bool" and isinstance(target.slice, ast.Tuple) and dom.is_true(v)
            if after is not owner or opened or owner.parameter:  # written to, it is no longer what was passed in
                kind = None if opened else owner.kind
                self.scope.names[target.value.id] = replace(after, parameter="", kind=kind)

    def rebind(self, node: ast.Name | ast.Attribute, v: dom.Value) -> None:
        """Give a container that was changed in place back to the name or attribute that holds it."""
        if isinstance(node, ast.Name):
            self.scope.names[node.id] = v
        else:
            owner = self.eval(node.value)
            if isinstance(owner, dom.Instance):
                self.engine.set_attribute(owner.object, node.attr, v, replace_old=True)


def _items(v: dom.Seq, count: int, starred: int | None) -> list[dom.Value]:
    """The items of a sequence of unknown length that is unpacked into so many."""
    if starred is None and count <= len(v.leading):
        return list(v.leading)
    return [dom.Seq(v.item) if i == starred else v.item for i in range(count)]


def _stored(owner: dom.Value, key: dom.Value, v: dom.Value) -> dom.Value:
    if isinstance(owner, dom.Dict):
        if isinstance(key, dom.Const) and len(owner.items) < KEYS:
            return updated(owner, dom.Dict(((key.literal, v),)))
        return dom.Dict(owner.items, join(owner.rest, v) if owner.rest is not None else v, owner.trace)
    if isinstance(owner, dom.Tuple):
        return dom.Tuple(tuple(join(i, v) for i in owner.items), owner.kind, owner.trace)
    return dom.Seq(join(owner.item, v), owner.size, owner.trace) if isinstance(owner, dom.Seq) else owner
