"""One activation of a function: statements executed over abstract values, both arms of what is not decided."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

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
from onnxlint.flow.expressions import OPERATORS, Expressions
from onnxlint.flow.tree import Body
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
        self.statement_node: ast.stmt | None = None
        self.returns: list[Value] = []
        self.yields: list[Value] = []
        self.loop_exits: list[dict[str, Value]] = []
        self.globals: set[str] = set()

    @property
    def owner(self) -> ClassInfo | None:
        """The class whose method this is."""
        return self.unit.cls if self.unit is not None else None

    # ------------------------------------------------------------------------------------------------ blocks

    def block(self, statements: Sequence[ast.stmt]) -> bool:
        """Execute statements in order; True if control cannot reach the end."""
        for node in statements:
            self.line = node.lineno + self.body.shift
            self.statement_node = node
            handler = _STATEMENTS.get(type(node))
            if handler is not None and handler(self, node):
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

    def s_expr(self, node: ast.Expr) -> bool:
        """An expression on its own."""
        self.eval(node.value)
        return False

    def s_return(self, node: ast.Return) -> bool:
        """`return`: what it gives is joined with the other returns."""
        self.returns.append(self.eval(node.value) if node.value is not None else NONE)
        return True

    def s_raise(self, _node: ast.Raise) -> bool:
        """`raise` ends the path."""
        return True

    def s_jump(self, _node: ast.stmt) -> bool:
        """`break` and `continue` end the path through the loop body; the loop joins what came before."""
        self.loop_exits.append(dict(self.scope.names))
        return True

    def s_assign(self, node: ast.Assign) -> bool:
        """`a = b = value`."""
        v = self.eval(node.value)
        for target in node.targets:
            self.assign(target, v)
        return False

    def s_ann_assign(self, node: ast.AnnAssign) -> bool:
        """`a: T = value`."""
        if node.value is not None:
            self.assign(node.target, self.eval(node.value))
        return False

    def s_aug_assign(self, node: ast.AugAssign) -> bool:
        """`a += value`: in place for a tensor."""
        old = self.eval(node.target)
        new = self.eval(node.value)
        operator = OPERATORS.get(type(node.op), "+")
        result = self.arithmetic(operator, old, new, node)
        if isinstance(old, Tensor):
            if isinstance(node.target, ast.Name):
                self.engine.written_in_place(old, node.target, node)
            result = replace(result, view=old.view) if isinstance(result, Tensor) else result
        if isinstance(node.target, ast.Attribute):
            self.engine.state_write(self, node.target, result, augmented=True)
        self.assign(node.target, result, augmented=True)
        return False

    def s_delete(self, _node: ast.Delete) -> bool:
        """`del` matters to nobody here."""
        return False

    def s_import(self, node: ast.Import | ast.ImportFrom) -> bool:
        """An import inside a function."""
        for name, target in imported(node, self.module.name, self.module.is_package):
            if name != "*":
                self.scope.names[name] = self.engine.resolve_dotted(target, self.module)
        return False

    def s_global(self, node: ast.Global) -> bool:
        """`global name`: assignments to it are writes to global state."""
        self.globals.update(node.names)
        return False

    def s_assert(self, node: ast.Assert) -> bool:
        """`assert test`."""
        test = self.test(node.test)
        for v, mask in test.reads:
            self.engine.emit_read(facts.Assertion, node.test, v, mask, keyword="assert")
        return False

    def s_if(self, node: ast.If) -> bool:
        """`if`: decided where the exporters decide it, else both arms."""
        test = self.test(node.test)
        self.report_branch(node.test, test, "if", node.body, node.orelse)
        head = self.line, self.statement_node

        def body() -> bool:
            return self.block(node.body)

        def otherwise() -> bool:
            self.line, self.statement_node = head
            return self.block(node.orelse)

        narrowed = self.narrowing(node.test)
        return self.arms(
            ((test.may_be(True), _then(narrowed, True, body)), (test.may_be(False), _then(narrowed, False, otherwise)))
        )

    def narrowing(self, test: ast.expr) -> Callable[[bool], None]:
        """What `x is None` and `isinstance(x, T)` say of a name in each arm."""
        negated = False
        while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test, negated = test.operand, not negated

        def narrow(arm: bool) -> None:
            if isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and _is_none_literal(test.comparators):
                same = isinstance(test.ops[0], (ast.Is, ast.Eq))
                if (arm != negated) == same:
                    self.scope.names[test.left.id] = NONE
            elif isinstance(test, ast.Call) and _last_name(test.func) in ("isinstance", "is_tensor"):
                self.narrow_instance(test, arm != negated)

        return narrow

    def narrow_instance(self, call: ast.Call, holds: bool) -> None:
        """In the arm where `isinstance(x, (int, str, list, …))` holds, x is not a tensor."""
        if not 1 <= len(call.args) <= 2 or call.keywords or not isinstance(call.args[0], ast.Name):
            return
        name = call.args[0].id
        current = self.scope.lookup(name)
        kinds = self.body.text(call.args[1]) if len(call.args) == 2 else "Tensor"
        is_tensor = "Tensor" in kinds
        if isinstance(current, Tensor) and is_tensor != holds:
            self.scope.names[name] = UNKNOWN
        elif holds and is_tensor and current == UNKNOWN:
            self.scope.names[name] = Tensor(trace=self.step(f"`{name}` is a tensor here", None))

    def report_branch(
        self, node: ast.expr, test: Test, keyword: str, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]
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

    def s_while(self, node: ast.While) -> bool:
        """`while`: the body runs twice, so that what it changes is seen by itself."""
        test = self.test(node.test)
        self.report_branch(node.test, test, "while", node.body, node.orelse)
        head = self.line, self.statement_node
        self.loop(lambda: self.block(node.body))
        self.line, self.statement_node = head
        again = self.test(node.test)
        self.report_branch(node.test, again, "while", node.body, node.orelse)
        forever = all(v is True for v in test.verdict.values()) and not _breaks(node)
        if node.orelse:
            return self.block(node.orelse)
        return forever

    def s_for(self, node: ast.For | ast.AsyncFor) -> bool:
        """`for`: literal sequences item by item, anything else twice over its joined item."""
        iterable = self.eval(node.iter)
        self.engine.report_loop(node.iter, iterable)
        items = self.engine.items_of(iterable, node.iter)

        def run(item: Value) -> None:
            def once() -> bool:
                self.assign(node.target, item)
                return self.block(node.body)

            self.loop(once, twice=len(items) == 1)

        for item in items:
            run(item)
        if node.orelse:
            return self.block(node.orelse)
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

    def s_try(self, node: ast.Try) -> bool:
        """`try`: the body, or any handler from the state before it."""
        mask = self.engine.exporters

        def body() -> bool:
            return self.block(node.body) or self.block(node.orelse)

        def handled(handler: ast.ExceptHandler) -> Callable[[], bool]:
            def run() -> bool:
                if handler.name is not None:
                    self.scope.names[handler.name] = UNKNOWN
                return self.block(handler.body)

            return run

        ended = self.arms([(mask, body), *((mask, handled(h)) for h in node.handlers)])
        return self.block(node.finalbody) or ended

    def s_with(self, node: ast.With | ast.AsyncWith) -> bool:
        """`with`: context managers bind their name and change nothing else here."""
        for item in node.items:
            v = self.eval(item.context_expr)
            if item.optional_vars is not None:
                self.assign(item.optional_vars, v if isinstance(v, Instance) else UNKNOWN)
        return self.block(node.body)

    def s_def(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
        """A function inside a function: a closure over this scope."""
        self.scope.names[node.name] = self.closure(node, f"{self.symbol}.{node.name}")
        return False

    def s_class(self, node: ast.ClassDef) -> bool:
        """A class inside a function."""
        inner = self.engine.trees.in_file(self.body, node)
        assert isinstance(inner, ast.ClassDef)
        self.scope.names[node.name] = self.engine.local_class(self.module, inner, f"{self.symbol}.{node.name}")
        return False

    def s_match(self, node: ast.Match) -> bool:
        """`match`: every case from the same state."""
        subject = self.eval(node.subject)
        mask = self.engine.exporters
        if reads_data(subject) or isinstance(subject, Dim):
            self.engine.emit_read(facts.Branch, node.subject, subject, mask, keyword="match")

        def matched(case: ast.match_case) -> Callable[[], bool]:
            def run() -> bool:
                for name in _captures(case.pattern):
                    self.scope.names[name] = subject if isinstance(subject, Tensor) else UNKNOWN
                if case.guard is not None:
                    self.report_branch(case.guard, self.test(case.guard), "match", case.body, [])
                return self.block(case.body)

            return run

        return self.arms([*((mask, matched(c)) for c in node.cases), (mask, lambda: False)])

    # ------------------------------------------------------------------------------------------- assignment

    def assign(self, target: ast.expr, v: Value, augmented: bool = False) -> None:
        """Bind a target: a name, an attribute, an item, or several of them."""
        if isinstance(target, ast.Name):
            if target.id in self.globals and isinstance(v, (Tensor, Dim, Data)):
                self.engine.global_write(target, v)
            self.scope.names[target.id] = self.named(target.id, v)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self.unpack(target, v)
        elif isinstance(target, ast.Attribute):
            self.assign_attribute(target, v, augmented)
        elif isinstance(target, ast.Subscript):
            self.assign_item(target, v)
        elif isinstance(target, ast.Starred):
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

    def unpack(self, target: ast.Tuple | ast.List, v: Value) -> None:
        """`a, b = value`."""
        count = len(target.elts)
        starred = next((i for i, e in enumerate(target.elts) if isinstance(e, ast.Starred)), None)
        names = [e.id if isinstance(e, ast.Name) else "" for e in target.elts]
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
        for element, part in zip(target.elts, parts, strict=False):
            self.assign(element, part)

    def assign_attribute(self, target: ast.Attribute, v: Value, augmented: bool) -> None:
        """`obj.name = value`."""
        owner = self.eval(target.value)
        if isinstance(owner, Instance):
            if not augmented:
                self.engine.state_write(self, target, v, augmented=False)
            self.engine.set_attribute(owner.object, target.attr, v)

    def assign_item(self, target: ast.Subscript, v: Value) -> None:
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
                and isinstance(target.value, ast.Name)
            ):
                self.scope.names[target.value.id] = replace(owner, source="input", trace=owner.trace or v.trace)
            return
        key = index[0] if len(index) == 1 else UNKNOWN
        if isinstance(owner, (Dict, Tuple, Seq)) and isinstance(target.value, (ast.Name, ast.Attribute)):
            self.rebind(target.value, _stored(owner, key, v))

    def rebind(self, node: ast.Name | ast.Attribute, v: Value) -> None:
        """Give a container that was changed in place back to the name or attribute that holds it."""
        if isinstance(node, ast.Name):
            self.scope.names[node.id] = v
        else:
            owner = self.eval(node.value)
            if isinstance(owner, Instance):
                self.engine.set_attribute(owner.object, node.attr, v, replace_old=True)


def _is_none_literal(comparators: Sequence[ast.expr]) -> bool:
    """True for what stands right of `==` in `x == None`."""
    return len(comparators) == 1 and isinstance(comparators[0], ast.Constant) and comparators[0].value is None


def _last_name(node: ast.expr) -> str:
    """The last part of a dotted name."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


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


_STATEMENTS: dict[type, Callable[..., bool]] = {
    ast.Expr: Frame.s_expr,
    ast.Return: Frame.s_return,
    ast.Raise: Frame.s_raise,
    ast.Break: Frame.s_jump,
    ast.Continue: Frame.s_jump,
    ast.Assign: Frame.s_assign,
    ast.AnnAssign: Frame.s_ann_assign,
    ast.AugAssign: Frame.s_aug_assign,
    ast.Delete: Frame.s_delete,
    ast.Import: Frame.s_import,
    ast.ImportFrom: Frame.s_import,
    ast.Global: Frame.s_global,
    ast.Assert: Frame.s_assert,
    ast.If: Frame.s_if,
    ast.While: Frame.s_while,
    ast.For: Frame.s_for,
    ast.AsyncFor: Frame.s_for,
    ast.Try: Frame.s_try,
    ast.TryStar: Frame.s_try,
    ast.With: Frame.s_with,
    ast.AsyncWith: Frame.s_with,
    ast.FunctionDef: Frame.s_def,
    ast.AsyncFunctionDef: Frame.s_def,
    ast.ClassDef: Frame.s_class,
    ast.Match: Frame.s_match,
}
