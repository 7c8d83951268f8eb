"""One activation of a function: statements executed over abstract values, both arms of what is not decided."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import libcst as cst

from onnxlint.flow import facts
from onnxlint.flow.domain import (
    NONE,
    UNKNOWN,
    Array,
    Config,
    Const,
    Data,
    Dict,
    Dim,
    Instance,
    Scope,
    Seq,
    Shape,
    Tensor,
    Trace,
    Tuple,
    Value,
    join,
    join_all,
    reads_data,
    widen,
)
from onnxlint.flow.expressions import Expressions
from onnxlint.flow.tree import Body, in_step
from onnxlint.project.classes import ClassInfo, FunctionUnit
from onnxlint.project.modules import ModuleInfo, imported

if TYPE_CHECKING:
    from onnxlint.flow.interpret import Interpreter

UNROLL = 8  # a literal sequence of at most so many items is walked item by item


@dataclass(slots=True)
class Test:
    """What a condition reads, and what each exporter's trace makes of it (True, False or None: not decided)."""

    reads: list[tuple[Value, tuple[str, ...]]]
    verdict: dict[str, bool | None]

    def may_be(self, wanted: bool) -> tuple[str, ...]:
        """The exporters whose trace may take this arm."""
        return tuple(e for e, v in self.verdict.items() if v is not (not wanted))


class Frame(Expressions):
    """Executes one body. `returns` and `yields` collect what it gives back."""

    def __init__(
        self,
        engine: Interpreter,
        module: ModuleInfo,
        body: Body,
        scope: Scope,
        symbol: str,
        unit: FunctionUnit | None = None,
        bound: Value | None = None,
    ) -> None:
        self.engine = engine
        self.module = module
        self.body = body
        self.scope = scope
        self.symbol = symbol
        self.unit = unit
        self.bound = bound
        self.line = body.first
        self.statement_node: cst.CSTNode | None = None
        self.returns: list[Value] = []
        self.yields: list[Value] = []
        self.loop_exits: list[dict[str, Value]] = []
        self.globals: set[str] = set()

    @property
    def owner(self) -> ClassInfo | None:
        """The class whose method this is."""
        return self.unit.cls if self.unit is not None else None

    # ------------------------------------------------------------------------------------------------ blocks

    def block(self, body: Any, nodes: Sequence[ast.stmt]) -> bool:
        """Execute statements in order; True if control cannot reach the end."""
        for node, beside in in_step(body, nodes):
            self.line = beside.lineno
            self.statement_node = node
            handler = _STATEMENTS.get(type(node))
            if handler is not None and handler(self, node, beside):
                return True
        return False

    def arms(self, runs: Sequence[tuple[tuple[str, ...], Callable[[], bool]]]) -> bool:
        """Run alternatives from one state, each under its exporters, and join what they leave; True if none ends.

        What follows is run for the exporters whose trace comes out of an arm: `if exporting: return x` keeps some away.
        """
        before = dict(self.scope.names)
        mask = self.engine.exporters
        left: set[str] = set()
        after: list[dict[str, Value]] = []
        for exporters, run in runs:
            if not exporters:
                continue
            self.scope.names = dict(before)
            self.engine.exporters = exporters
            if not run():
                after.append(self.scope.names)
                left.update(self.engine.exporters)
        self.engine.exporters = mask
        if not after:
            self.scope.names = before
            return True
        self.engine.exporters = tuple(e for e in mask if e in left)
        merged = after[0]
        for other in after[1:]:
            merged = _merge(merged, other)
        self.scope.names = merged
        return False

    # -------------------------------------------------------------------------------------------- statements

    def s_expr(self, node: cst.Expr, _beside: ast.stmt) -> bool:
        """An expression on its own."""
        self.eval(node.value)
        return False

    def s_return(self, node: cst.Return, _beside: ast.stmt) -> bool:
        """`return`: what it gives is joined with the other returns."""
        self.returns.append(self.eval(node.value) if node.value is not None else NONE)
        return True

    def s_raise(self, _node: cst.Raise, _beside: ast.stmt) -> bool:
        """`raise` ends the path."""
        return True

    def s_jump(self, _node: cst.CSTNode, _beside: ast.stmt) -> bool:
        """`break` and `continue` end the path through the loop body; the loop joins what came before."""
        self.loop_exits.append(dict(self.scope.names))
        return True

    def s_assign(self, node: cst.Assign, _beside: ast.stmt) -> bool:
        """`a = b = value`."""
        v = self.eval(node.value)
        for target in node.targets:
            self.assign(target.target, v)
        return False

    def s_ann_assign(self, node: cst.AnnAssign, _beside: ast.stmt) -> bool:
        """`a: T = value`."""
        if node.value is not None:
            self.assign(node.target, self.eval(node.value))
        return False

    def s_aug_assign(self, node: cst.AugAssign, _beside: ast.stmt) -> bool:
        """`a += value`: in place for a tensor."""
        old = self.eval(node.target)
        new = self.eval(node.value)
        operator = _AUGMENTED.get(type(node.operator), "+")
        result = self.arithmetic(operator, old, new, node)
        if isinstance(old, Tensor):
            if isinstance(node.target, cst.Name):
                self.engine.written_in_place(old, node.target, node)
            result = replace(result, view=old.view) if isinstance(result, Tensor) else result
        if isinstance(node.target, cst.Attribute):
            self.engine.state_write(self, node.target, result, augmented=True)
        self.assign(node.target, result, augmented=True)
        return False

    def s_delete(self, _node: cst.Del, _beside: ast.stmt) -> bool:
        """`del` matters to nobody here."""
        return False

    def s_import(self, _node: cst.CSTNode, beside: ast.stmt) -> bool:
        """An import inside a function."""
        assert isinstance(beside, (ast.Import, ast.ImportFrom))
        for name, target in imported(beside, self.module.name, self.module.is_package):
            if name != "*":
                self.scope.names[name] = self.engine.resolve_dotted(target, self.module)
        return False

    def s_global(self, node: cst.Global, _beside: ast.stmt) -> bool:
        """`global name`: assignments to it are writes to global state."""
        self.globals.update(item.name.value for item in node.names)
        return False

    def s_assert(self, node: cst.Assert, _beside: ast.stmt) -> bool:
        """`assert test`."""
        test = self.test(node.test)
        for v, mask in test.reads:
            self.engine.emit_read(facts.Assertion, node.test, v, mask, keyword="assert")
        return False

    def s_if(self, node: cst.If, beside: ast.stmt) -> bool:
        """`if`: decided where the exporters decide it, else both arms."""
        assert isinstance(beside, ast.If)
        test = self.test(node.test)
        self.report_branch(node.test, test, "if", beside.body, beside.orelse)
        inner_line, inner_node = self.line, self.statement_node

        def body() -> bool:
            return self.block(node.body, beside.body)

        def otherwise() -> bool:
            self.line, self.statement_node = inner_line, inner_node
            if isinstance(node.orelse, cst.If):
                following = beside.orelse[0]
                self.line = following.lineno
                self.statement_node = node.orelse
                return self.s_if(node.orelse, following)
            if isinstance(node.orelse, cst.Else):
                return self.block(node.orelse.body, beside.orelse)
            return False

        narrowed = self.narrowing(node.test)
        return self.arms(
            ((test.may_be(True), _then(narrowed, True, body)), (test.may_be(False), _then(narrowed, False, otherwise)))
        )

    def narrowing(self, test: cst.BaseExpression) -> Callable[[bool], None]:
        """What `x is None` and `isinstance(x, T)` say of a name in each arm."""
        negated = False
        while isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
            test, negated = test.expression, not negated

        def narrow(arm: bool) -> None:
            if (
                isinstance(test, cst.Comparison)
                and isinstance(test.left, cst.Name)
                and len(test.comparisons) == 1
                and isinstance(test.comparisons[0].comparator, cst.Name)
                and test.comparisons[0].comparator.value == "None"
            ):
                same = isinstance(test.comparisons[0].operator, (cst.Is, cst.Equal))
                if (arm != negated) == same:
                    self.scope.names[test.left.value] = NONE
            elif isinstance(test, cst.Call) and _last_name(test.func) in ("isinstance", "is_tensor"):
                self.narrow_instance(test, arm != negated)

        return narrow

    def narrow_instance(self, call: cst.Call, holds: bool) -> None:
        """In the arm where `isinstance(x, (int, str, list, …))` holds, x is not a tensor."""
        if not 1 <= len(call.args) <= 2 or not isinstance(call.args[0].value, cst.Name):
            return
        name = call.args[0].value.value
        current = self.scope.lookup(name)
        kinds = self.body.text(call.args[1].value) if len(call.args) == 2 else "Tensor"
        is_tensor = "Tensor" in kinds
        if isinstance(current, Tensor) and is_tensor != holds:
            self.scope.names[name] = UNKNOWN
        elif holds and is_tensor and current == UNKNOWN:
            self.scope.names[name] = Tensor(trace=self.step(f"`{name}` is a tensor here", None))

    def report_branch(
        self, node: cst.BaseExpression, test: Test, keyword: str, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]
    ) -> None:
        """Emit a Branch (or an Assertion, where an arm only raises) for what a condition reads."""
        raises = bool(body) and all(isinstance(s, ast.Raise) for s in body) and not orelse
        quiet = bool(body) and not orelse and all(_only_talks(s) for s in body)
        for v, mask in test.reads:
            if raises or (quiet and isinstance(v, Dim)):
                if raises:
                    self.engine.emit_read(facts.Assertion, node, v, mask, keyword=keyword)
            else:
                self.engine.emit_read(facts.Branch, node, v, mask, keyword=keyword)

    def s_while(self, node: cst.While, beside: ast.stmt) -> bool:
        """`while`: the body runs twice, so that what it changes is seen by itself."""
        assert isinstance(beside, ast.While)
        test = self.test(node.test)
        self.report_branch(node.test, test, "while", beside.body, beside.orelse)
        head = self.line, self.statement_node
        self.loop(lambda: self.block(node.body, beside.body))
        self.line, self.statement_node = head
        again = self.test(node.test)
        self.report_branch(node.test, again, "while", beside.body, beside.orelse)
        forever = all(v is True for v in test.verdict.values()) and not _breaks(beside)
        if node.orelse is not None:
            return self.block(node.orelse.body, beside.orelse)
        return forever

    def s_for(self, node: cst.For, beside: ast.stmt) -> bool:
        """`for`: literal sequences item by item, anything else twice over its joined item."""
        assert isinstance(beside, (ast.For, ast.AsyncFor))
        iterable = self.eval(node.iter)
        self.engine.report_loop(node.iter, iterable)
        items = self.engine.items_of(iterable, node.iter)

        def run(item: Value) -> None:
            def once() -> bool:
                self.assign(node.target, item)
                return self.block(node.body, beside.body)

            self.loop(once, twice=len(items) == 1)

        for item in items:
            run(item)
        if node.orelse is not None:
            return self.block(node.orelse.body, beside.orelse)
        return False

    def loop(self, once: Callable[[], bool], twice: bool = True) -> None:
        """Run a loop body that may run any number of times, widening what grows."""
        outer = self.loop_exits
        mask = self.engine.exporters
        for _ in range(2 if twice else 1):
            before = dict(self.scope.names)
            self.loop_exits = []
            ended = once()
            self.engine.exporters = mask
            states = [*self.loop_exits] + ([] if ended else [self.scope.names])
            merged = before
            for state in states:
                merged = _merge(merged, state)
            self.scope.names = {
                k: widen(v) if before.get(k) is not None and before[k] != v else v for k, v in merged.items()
            }
        self.loop_exits = outer

    def s_try(self, node: cst.Try, beside: ast.stmt) -> bool:
        """`try`: the body, or any handler from the state before it."""
        assert isinstance(beside, ast.Try)
        mask = self.engine.exporters

        def body() -> bool:
            ended = self.block(node.body, beside.body)
            if not ended and node.orelse is not None:
                ended = self.block(node.orelse.body, beside.orelse)
            return ended

        def handler(i: int) -> Callable[[], bool]:
            def run() -> bool:
                if node.handlers[i].name is not None and isinstance(node.handlers[i].name.name, cst.Name):  # type: ignore[union-attr]
                    self.scope.names[node.handlers[i].name.name.value] = UNKNOWN  # type: ignore[union-attr]
                return self.block(node.handlers[i].body, beside.handlers[i].body)

            return run

        ended = self.arms([(mask, body)] + [(mask, handler(i)) for i in range(len(node.handlers))])
        if node.finalbody is not None:
            ended = self.block(node.finalbody.body, beside.finalbody) or ended
        return ended

    def s_with(self, node: cst.With, beside: ast.stmt) -> bool:
        """`with`: context managers bind their name and change nothing else here."""
        assert isinstance(beside, (ast.With, ast.AsyncWith))
        for item in node.items:
            v = self.eval(item.item)
            if item.asname is not None:
                self.assign(item.asname.name, v if isinstance(v, Instance) else UNKNOWN)
        return self.block(node.body, beside.body)

    def s_def(self, node: cst.FunctionDef, beside: ast.stmt) -> bool:
        """A function inside a function: a closure over this scope."""
        assert isinstance(beside, (ast.FunctionDef, ast.AsyncFunctionDef))
        self.scope.names[node.name.value] = self.closure(beside, f"{self.symbol}.{beside.name}", node)
        return False

    def s_class(self, _node: cst.ClassDef, beside: ast.stmt) -> bool:
        """A class inside a function."""
        assert isinstance(beside, ast.ClassDef)
        self.scope.names[beside.name] = self.engine.local_class(self.module, beside, f"{self.symbol}.{beside.name}")
        return False

    def s_match(self, node: cst.Match, beside: ast.stmt) -> bool:
        """`match`: every case from the same state."""
        assert isinstance(beside, ast.Match)
        subject = self.eval(node.subject)
        mask = self.engine.exporters
        if reads_data(subject) or isinstance(subject, Dim):
            self.engine.emit_read(facts.Branch, node.subject, subject, mask, keyword="match")

        def case(i: int) -> Callable[[], bool]:
            def run() -> bool:
                for name in _captures(beside.cases[i].pattern):
                    self.scope.names[name] = subject if isinstance(subject, Tensor) else UNKNOWN
                if node.cases[i].guard is not None:
                    test = self.test(node.cases[i].guard)  # type: ignore[arg-type]
                    self.report_branch(node.cases[i].guard, test, "match", beside.cases[i].body, [])  # type: ignore[arg-type]
                return self.block(node.cases[i].body, beside.cases[i].body)

            return run

        runs = [(mask, case(i)) for i in range(len(node.cases))]
        return self.arms([*runs, (mask, lambda: False)])

    # ------------------------------------------------------------------------------------------- assignment

    def assign(self, target: cst.CSTNode, v: Value, augmented: bool = False) -> None:
        """Bind a target: a name, an attribute, an item, or several of them."""
        if isinstance(target, cst.Name):
            if target.value in self.globals and isinstance(v, (Tensor, Dim, Data)):
                self.engine.global_write(target, v)
            self.scope.names[target.value] = self.named(target.value, v)
        elif isinstance(target, (cst.Tuple, cst.List)):
            self.unpack(target, v)
        elif isinstance(target, cst.Attribute):
            self.assign_attribute(target, v, augmented)
        elif isinstance(target, cst.Subscript):
            self.assign_item(target, v)
        elif isinstance(target, cst.StarredElement):
            self.assign(target.value, v)

    def named(self, name: str, v: Value) -> Value:
        """The value with a step that says which name it got, and where."""
        if isinstance(v, (Tensor, Dim, Data)) and (
            v.trace is None or v.trace.line != self.line or v.trace.path != self.module.path
        ):
            return replace(v, trace=self.step(f"`{name}` is assigned", v.trace))
        return v

    def step(self, message: str, parent: Trace | None) -> Trace:
        """A step of a trace at the current statement."""
        return Trace(self.module.path, self.line, message, parent)

    def unpack(self, target: cst.Tuple | cst.List, v: Value) -> None:
        """`a, b = value`."""
        count = len(target.elements)
        starred = next((i for i, e in enumerate(target.elements) if isinstance(e, cst.StarredElement)), None)
        names = [e.value.value if isinstance(e.value, cst.Name) else "" for e in target.elements]
        if isinstance(v, Instance):
            v = self.engine.record_items(v)
        if isinstance(v, Shape):
            parts = self.engine.unpack_shape(v, count, starred, names)
        elif isinstance(v, Tensor):
            if starred is not None:  # without a star, eager itself takes one length only
                self.engine.report_loop(target, v)
            item = self.engine.item_of(v, 0)
            parts = [Seq(item) if i == starred else item for i in range(count)]
        elif isinstance(v, Tuple) and starred is None and len(v.items) == count:
            parts = list(v.items)
        elif isinstance(v, Tuple) and starred is not None and len(v.items) >= count - 1:
            tail = count - 1 - starred
            middle = v.items[starred : len(v.items) - tail]
            parts = [*v.items[:starred], Tuple(middle, "list"), *v.items[len(v.items) - tail :]]
        elif isinstance(v, Seq):
            parts = [Seq(v.item) if i == starred else v.item for i in range(count)]
        elif isinstance(v, Tuple):
            parts = [join_all(v.items) or UNKNOWN] * count
        else:
            parts = [v if isinstance(v, (Config, Data, Array)) else UNKNOWN] * count
        for element, part in zip(target.elements, parts, strict=False):
            self.assign(element.value, part)

    def assign_attribute(self, target: cst.Attribute, v: Value, augmented: bool) -> None:
        """`obj.name = value`."""
        owner = self.eval(target.value)
        if isinstance(owner, Instance):
            if not augmented:
                self.engine.state_write(self, target, v, augmented=False)
            self.engine.set_attribute(owner.object, target.attr.value, v)

    def assign_item(self, target: cst.Subscript, v: Value) -> None:
        """`obj[index] = value`."""
        owner = self.eval(target.value)
        index = self.index_values(target)
        if isinstance(owner, Tensor):
            self.engine.use_all([v, *index], "an item assignment")
            self.engine.item_written(self, owner, target)
            if (
                owner.source != "input"
                and isinstance(v, Tensor)
                and v.source == "input"
                and isinstance(target.value, cst.Name)
            ):
                self.scope.names[target.value.value] = replace(owner, source="input", trace=owner.trace or v.trace)
            return
        key = index[0] if len(index) == 1 else UNKNOWN
        if isinstance(owner, (Dict, Tuple, Seq)) and isinstance(target.value, (cst.Name, cst.Attribute)):
            self.rebind(target.value, _stored(owner, key, v))

    def rebind(self, node: cst.Name | cst.Attribute, v: Value) -> None:
        """Give a container that was changed in place back to the name or attribute that holds it."""
        if isinstance(node, cst.Name):
            self.scope.names[node.value] = v
        else:
            owner = self.eval(node.value)
            if isinstance(owner, Instance):
                self.engine.set_attribute(owner.object, node.attr.value, v, replace_old=True)


def _last_name(node: cst.CSTNode) -> str:
    """The last part of a dotted name."""
    if isinstance(node, cst.Attribute):
        return node.attr.value
    return node.value if isinstance(node, cst.Name) else ""


def _stored(owner: Value, key: Value, v: Value) -> Value:
    if isinstance(owner, Dict):
        if isinstance(key, Const):
            return Dict(
                (*((k, o) for k, o in owner.items if k != key.literal), (key.literal, v)), owner.rest, owner.trace
            )
        return Dict(owner.items, join(owner.rest, v) if owner.rest is not None else v, owner.trace)
    if isinstance(owner, Tuple):
        return Tuple(tuple(join(i, v) for i in owner.items), owner.kind, owner.trace)
    if isinstance(owner, Seq):
        return Seq(join(owner.item, v), owner.size, owner.trace)
    return owner


def _merge(a: dict[str, Value], b: dict[str, Value]) -> dict[str, Value]:
    if a is b:
        return a
    merged = dict(a)
    for name, v in b.items():
        mine = merged.get(name)
        merged[name] = v if mine is None else mine if mine is v else join(mine, v)
    return merged


def _then(narrow: Callable[[bool], None], arm: bool, run: Callable[[], bool]) -> Callable[[], bool]:
    def both() -> bool:
        narrow(arm)
        return run()

    return both


def _only_talks(statement: ast.stmt) -> bool:
    """True for statements that cannot change what is computed: log, warn, print, pass."""
    if isinstance(statement, ast.Pass):
        return True
    if isinstance(statement, ast.Expr):
        if isinstance(statement.value, ast.Constant):
            return True
        if isinstance(statement.value, ast.Call):
            f = statement.value.func
            name = f.attr if isinstance(f, ast.Attribute) else getattr(f, "id", "")
            return name in ("print", "warn", "warning", "warning_once", "info", "debug", "error", "log", "deprecate")
    return False


def _breaks(loop: ast.While) -> bool:
    return any(isinstance(n, (ast.Break, ast.Return)) for n in ast.walk(loop))


def _captures(pattern: ast.AST) -> list[str]:
    return [n.name for n in ast.walk(pattern) if isinstance(n, (ast.MatchAs, ast.MatchStar)) and n.name]


_AUGMENTED: dict[type, str] = {
    cst.AddAssign: "+",
    cst.SubtractAssign: "-",
    cst.MultiplyAssign: "*",
    cst.DivideAssign: "/",
    cst.FloorDivideAssign: "//",
    cst.ModuloAssign: "%",
    cst.PowerAssign: "**",
    cst.MatrixMultiplyAssign: "@",
    cst.BitOrAssign: "|",
    cst.BitAndAssign: "&",
}

_STATEMENTS: dict[type, Callable[..., bool]] = {
    cst.Expr: Frame.s_expr,
    cst.Return: Frame.s_return,
    cst.Raise: Frame.s_raise,
    cst.Break: Frame.s_jump,
    cst.Continue: Frame.s_jump,
    cst.Assign: Frame.s_assign,
    cst.AnnAssign: Frame.s_ann_assign,
    cst.AugAssign: Frame.s_aug_assign,
    cst.Del: Frame.s_delete,
    cst.Import: Frame.s_import,
    cst.ImportFrom: Frame.s_import,
    cst.Global: Frame.s_global,
    cst.Assert: Frame.s_assert,
    cst.If: Frame.s_if,
    cst.While: Frame.s_while,
    cst.For: Frame.s_for,
    cst.Try: Frame.s_try,
    cst.TryStar: Frame.s_try,
    cst.With: Frame.s_with,
    cst.FunctionDef: Frame.s_def,
    cst.ClassDef: Frame.s_class,
    cst.Match: Frame.s_match,
}
