"""Expressions over abstract values: names, arithmetic, comparisons, subscripts, comprehensions, conditions."""

import ast
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from onnxlint.flow.calls.attribute_access import loop_items
from onnxlint.flow.calls.indexing import subscript
from onnxlint.flow.python.conditions import Conditions
from onnxlint.flow.state import observations
from onnxlint.flow.state.budget import Exhausted
from onnxlint.flow.values import domain as dom
from onnxlint.flow.values.domain import Value
from onnxlint.flow.values.equivalent_code import one_for_each_module
from onnxlint.flow.values.joins import join, join_all
from onnxlint.project.classes import FunctionUnit


class Expressions(Conditions):
    """The expression half of a frame."""

    def eval(self, node: ast.expr) -> Value:
        """The abstract value of an expression."""
        handler = _EXPRESSIONS.get(type(node))
        try:
            return handler(self, node) if handler is not None else dom.UNKNOWN
        except (Exhausted, RecursionError):
            raise
        except Exception as error:  # noqa: BLE001 - one expression must not hide the rest of its function
            self.engine.failed(self, node, error)
            return dom.UNKNOWN

    def e_name(self, node: ast.Name) -> Value:
        """A variable, a global, or a builtin."""
        variable = self.scope.lookup(node.id)
        if variable is not None:
            result: Value = variable
            return result
        return self.engine.global_value(self.module, node.id)

    def e_constant(self, node: ast.Constant) -> Value:
        """A literal: a number, a string, None, `...`."""
        v = node.value
        if v is Ellipsis:
            return dom.External("builtins.Ellipsis")
        if isinstance(v, complex):
            return dom.UNKNOWN
        return dom.CONFIG if isinstance(v, bytes) else dom.Const(v)

    def e_formatted(self, node: ast.JoinedStr) -> Value:
        """An f-string: a dim in it is frozen, which matters when the text is used as a key."""
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                v = self.eval(part.value)
                if isinstance(v, dom.Dim):
                    return dom.Dim(v.axes, None, self.engine.site(node, "f-string"), False, v.trace)
        return dom.CONFIG

    def e_attribute(self, node: ast.Attribute) -> Value:
        """`value.name`."""
        return self.engine.attribute(self.eval(node.value), node.attr, node)

    def e_tuple(self, node: ast.Tuple | ast.List) -> Value:
        """A tuple or list display; `*items` of unknown length make the whole of unknown length."""
        kind = "list" if isinstance(node, ast.List) else "tuple"
        items: list[Value] = []
        loose: list[Value] = []
        for element in node.elts:
            if not isinstance(element, ast.Starred):
                items.append(self.eval(element))
                continue
            v = self.eval(element.value)
            if isinstance(v, dom.Tuple) and len(items) <= dom.WEIGHT:
                items.extend(v.items)
            elif isinstance(v, dom.Shape) and v.tensor.dims is not None:
                items.extend(v.tensor.dims)
            else:
                settings = isinstance(v, (dom.Config, dom.Shape))
                loose.append(v.item if isinstance(v, dom.Seq) else dom.CONFIG if settings else dom.UNKNOWN)
        return dom.Seq(join_all([*loose, *items]) or dom.UNKNOWN) if loose else dom.Tuple(tuple(items), kind)

    def e_set(self, node: ast.Set) -> Value:
        """A set display."""
        values = [self.eval(e.value if isinstance(e, ast.Starred) else e) for e in node.elts]
        return dom.Seq(join_all(values) or dom.UNKNOWN)

    def e_dict(self, node: ast.Dict) -> Value:
        """A dict display."""
        items: dict[Hashable, Value] = {}
        rest: Value | None = None
        for written, value in zip(node.keys, node.values, strict=True):
            v = self.eval(value)
            key = self.eval(written) if written is not None else None
            if isinstance(key, dom.Const):
                items.pop(key.literal, None)
                items[key.literal] = v
            elif key is None and isinstance(v, dom.Dict) and len(items) <= dom.WEIGHT:
                items.update(v.items)
                rest = rest if v.rest is None else v.rest if rest is None else join(rest, v.rest)
            else:
                rest = join(rest, v) if rest is not None else v
        return dom.Dict(tuple(items.items()), rest)

    def e_call(self, node: ast.Call) -> Value:
        """A call."""
        return self.engine.call(node)

    def e_await(self, node: ast.Await) -> Value:
        """`await x`."""
        return self.eval(node.value)

    def e_yield(self, node: ast.Yield) -> Value:
        """`yield x`."""
        if node.value is not None:
            self.yields.append(self.eval(node.value))
        return dom.UNKNOWN

    def e_yield_from(self, node: ast.YieldFrom) -> Value:
        """`yield from x`."""
        v = self.eval(node.value)
        self.yields.append(v.item if isinstance(v, dom.Seq) else dom.UNKNOWN)
        return dom.UNKNOWN

    def e_named(self, node: ast.NamedExpr) -> Value:
        """`(name := value)`."""
        v = self.eval(node.value)
        self.assign(node.target, v)
        return v

    def e_lambda(self, node: ast.Lambda) -> Value:
        """A lambda: called, it evaluates its body in this scope."""
        return dom.Lambda(node, self.module.path, self.body.shift, self)

    def call_lambda(self, node: ast.Lambda, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        """The body of a lambda of this frame, for some arguments."""
        names: dict[str, Value] = {}
        a = node.args
        positional = [*a.posonlyargs, *a.args]
        for i, parameter in enumerate(positional):
            at = i - len(positional) + len(a.defaults)
            default = self.eval(a.defaults[at]) if at >= 0 else dom.UNKNOWN
            names[parameter.arg] = args[i] if i < len(args) else kwargs.get(parameter.arg, default)
        if a.vararg is not None:
            names[a.vararg.arg] = dom.Tuple(tuple(args[len(positional) :]))
        outer = self.scope
        self.scope = dom.Scope(names, outer)
        try:
            return self.eval(node.body)
        finally:
            self.scope = outer

    def closure(self, node: ast.FunctionDef | ast.AsyncFunctionDef, qualname: str) -> Value:
        """A nested function."""
        cls = self.unit.cls if self.unit is not None else None
        return dom.Function(FunctionUnit(self.module, node, qualname, cls, self.body.shift), None, self.scope)

    def index_values(self, node: ast.Subscript) -> list[Value]:
        """The values of the indices between the brackets; a slice is the tuple of its bounds with kind `slice`."""
        values: list[Value] = []
        for element in node.slice.elts if isinstance(node.slice, ast.Tuple) else (node.slice,):
            if isinstance(element, ast.Slice):
                bounds = (element.lower, element.upper, element.step)
                values.append(dom.Tuple(tuple(self.eval(p) if p is not None else dom.NONE for p in bounds), "slice"))
            elif isinstance(element, ast.Starred):
                v = self.eval(element.value)
                values.extend(v.items if isinstance(v, dom.Tuple) else (v,))
            else:
                values.append(self.eval(element))
        return values

    def e_subscript(self, node: ast.Subscript) -> Value:
        """`value[index]`."""
        owner = self.eval(node.value)
        index = self.index_values(node)
        if (
            len(index) == 1
            and isinstance(index[0], dom.Tuple)
            and index[0].kind == "tuple"
            and isinstance(owner, dom.Tensor)
        ):
            index = list(index[0].items)
        return subscript(self.engine, owner, index, node)

    def e_comprehension(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> Value:
        """A comprehension: literal sequences item by item, anything else once over its joined item."""
        outer = dict(self.scope.names)
        results: list[Value] = []
        size: list[Value | None] = []
        exact = self._comprehend(node, lambda: results.append(self.eval(node.elt)), size)
        self.scope.names = outer
        if exact and not isinstance(node, ast.SetComp):
            return dom.Tuple(tuple(results), "list")
        return dom.Seq(join_all(results) or dom.UNKNOWN, next((s for s in size if s is not None), None))

    def e_dict_comprehension(self, node: ast.DictComp) -> Value:
        """A dict comprehension."""
        outer = dict(self.scope.names)
        pairs: list[tuple[Value, Value]] = []
        size: list[Value | None] = []
        exact = self._comprehend(node, lambda: pairs.append((self.eval(node.key), self.eval(node.value))), size)
        self.scope.names = outer
        if exact and all(isinstance(k, dom.Const) for k, _ in pairs):
            return dom.Dict(tuple((k.literal, v) for k, v in pairs if isinstance(k, dom.Const)))
        return dom.Dict((), join_all([v for _, v in pairs]))

    def _comprehend(
        self,
        whole: ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp,
        visit: Callable[[], None],
        size: list[Value | None],
        at: int = 0,
    ) -> bool:
        part, inner = whole.generators[at], whole.generators[at + 1 :]
        outer = self.engine.context.over_modules
        with self.engine.within(over_modules=outer or one_for_each_module(part, whole)):
            iterable = self.iterated(part)
            if not _is_unpacked(whole, self.statement_node):
                self.engine.report_loop(part.iter, iterable)
        items = loop_items(self.engine, iterable, part.iter)
        python = not isinstance(iterable, (dom.Tensor, dom.Shape, dom.Data, dom.Array))  # no axis gives its length
        size.append(iterable.size if isinstance(iterable, dom.Seq) else dom.CONFIG if python else None)
        exact = listed = isinstance(iterable, dom.Tuple) and len(items) == len(iterable.items) and not inner
        for item in items:
            self.engine.budget.spend(1)
            self.assign(part.target, item)
            left_out = False
            for condition in part.ifs:
                test = self.test(condition)
                left_out = left_out or not test.may_be(True)
                decided = not (test.may_be(True) and test.may_be(False))
                exact = exact and (decided or _keeps_what_is_there(condition, part.target))
                for v, mask, asked in test.reads:
                    with self.engine.asking(asked):
                        self.engine.emit_read(observations.Branch, condition, v, mask)
            if listed and left_out:
                continue
            if inner:
                self._comprehend(whole, visit, size, at + 1)
            else:
                visit()
        return exact


def _is_unpacked(comprehension: ast.expr, statement: ast.stmt | None) -> bool:
    """True for `a, b = (f(t) for t in x)`: eager itself takes one length only."""
    match statement:
        case ast.Assign([ast.Tuple(targets) | ast.List(targets)], value):
            return value is comprehension and not any(isinstance(t, ast.Starred) for t in targets)
    return False


def _keeps_what_is_there(condition: ast.expr, target: ast.expr) -> bool:
    """True for `v is not None` of the variable of a comprehension: of outputs that are asked for, those that are."""
    match condition, target:
        case ast.Compare(ast.Name(asked), [ast.IsNot(), *_], [ast.Constant(None), *_]), ast.Name(variable):
            return asked == variable
    return False


def by_kind(cls: type, prefix: str) -> dict[type, Callable[..., Any]]:
    """The methods of a class whose names begin so, by the kinds of nodes that the annotation of `node` names."""
    table: dict[type, Callable[..., Any]] = {}
    for method in (getattr(cls, name) for name in dir(cls) if name.startswith(prefix)):
        kinds = re.findall(r"ast\.(\w+)", str(method.__annotations__["node"]))  # which may be a text or a type
        table |= dict.fromkeys((getattr(ast, kind) for kind in kinds), method)
    return table


_EXPRESSIONS: dict[type, Callable[..., Value]] = by_kind(Expressions, "e_")
