"""One activation of a function: statements executed over abstract values, both arms of what is not decided."""

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import compress, islice
from operator import is_, is_not

from onnxlint.flow.calls.attribute_access import loop_items
from onnxlint.flow.exports import forward_outputs
from onnxlint.flow.interpreter.assignment_targets import Targets
from onnxlint.flow.interpreter.expressions import by_kind
from onnxlint.flow.lowering import exporter_support
from onnxlint.flow.python import implicit_calls, name_lookup
from onnxlint.flow.python.arithmetic import OPERATORS
from onnxlint.flow.python.conditions import Test
from onnxlint.flow.state import observations
from onnxlint.flow.state.budget import LOOPS, Exhausted
from onnxlint.flow.state.protocols import Engine, Replaced
from onnxlint.flow.values.domain import NONE, UNKNOWN, ClassRef, Const, Dict, Dim, Scope, Tensor, Value, reads_data
from onnxlint.flow.values.equivalent_code import REST, one_for_each_module
from onnxlint.flow.values.joins import join, widen
from onnxlint.flow.values.node_places import Body
from onnxlint.project.classes import FunctionUnit, ModuleInfo
from onnxlint.project.modules import imported


@dataclass(eq=False, repr=False)
class Frame(Targets):
    """Executes one body. `returns` and `yields` collect what it gives back."""

    engine: Engine
    module: ModuleInfo
    body: Body
    scope: Scope
    symbol: str
    unit: FunctionUnit | None = None
    bound: Value | None = None
    calls: int = 0  # that run around this one, of those whose results are kept
    statement_node: ast.stmt | None = None
    returns: list[Value] = field(default_factory=list)
    yields: list[Value] = field(default_factory=list)
    loop_exits: list[dict[str, Value]] = field(default_factory=list)
    globals: set[str] = field(default_factory=set)
    attempted: list[ast.AST] | None = None
    nonlocals: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.line = self.body.first

    def block(self, statements: Sequence[ast.stmt]) -> bool:
        """Execute statements in order; True if control cannot reach the end."""
        return self._followed(statements)[0]

    def _followed(self, statements: Sequence[ast.stmt]) -> tuple[bool, bool]:
        """Execute statements in order: whether control cannot reach the end, and whether what comes there is done only
        if a flag is turned on."""
        self.engine.budget.spend(len(statements))
        shift = self.body.shift
        asked = self.engine.context.asked
        try:
            for i, node in enumerate(statements):
                self.line = node.lineno + shift
                self.statement_node = node
                handler = _STATEMENTS.get(type(node))
                exporters = self.engine.context.exporters
                try:
                    if handler is not None and handler(self, node):
                        return True, self.engine.context.asked
                    if isinstance(node, ast.If) and not node.orelse:
                        rest = statements[i + 1 :]
                        if rest and self.pieces(node.test, node.body, rest[:REST]) is False:
                            with self.engine.within(silent=True):  # no example comes to it
                                ended = self.block(rest)
                            return ended, self.engine.context.asked
                except Exhausted as error:
                    error.at = error.at or (self.module.path, self.line)
                    raise
                except Exception as error:
                    if isinstance(error, RecursionError) and len(self.engine.frames) > 1:
                        raise  # from the caller's place there may be room
                    self.engine.failed(self, node, error)
                    self.engine.narrow(exporters=exporters)
                    bound = (n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
                    self.scope.names.update(dict.fromkeys(bound, UNKNOWN))
            return False, self.engine.context.asked
        finally:
            if self.engine.context.asked != asked:  # a return under a flag says something of the rest of its own block
                self.engine.narrow(asked=asked)

    def arms(
        self, runs: Sequence[tuple[tuple[str, ...], Callable[[], bool]]], usual: Callable[[], bool] | None = None
    ) -> bool:
        """Run alternatives from one state, each under its exporters, and join what they leave; True if none ends.

        What follows is run for the exporters whose trace comes out of an arm: `if exporting: return x` keeps some away.
        It sees what the `usual` arm leaves, and of the others the names that this one does not bind.
        """
        before = self.scope.names
        self.engine.budget.spend(len(before) // 16)  # joining the states of very many variables takes its time
        mask = self.engine.context.exporters
        left: set[str] = set()
        after: list[dict[str, Value]] = []
        chosen: dict[str, Value] = {}
        written: list[tuple[Replaced, dict[tuple[int, str], Value]]] = []
        left_usually: dict[tuple[int, str], Value] | None = None
        with self.engine.within(exporters=mask):
            for exporters, run in runs:
                if not exporters:
                    continue
                self.scope.names = dict(before)
                if self.engine.context.exporters != exporters:
                    self.engine.narrow(exporters=exporters)
                ended, replaced = self.engine.noting(run)
                if replaced or not ended:
                    written.append((replaced, {key: obj.attrs[key[1]] for key, (obj, _) in replaced.items()}))
                    left_usually = written[-1][1] if run is usual else left_usually
                if not ended:
                    after.append(self.scope.names)
                    chosen = self.scope.names if run is usual else chosen
                    left.update(self.engine.context.exporters)
        if any(replaced for replaced, _ in written):
            self.engine.settle(written, left_usually)
        if not after:
            self.scope.names = before
            return True
        if not left.issuperset(mask):
            self.engine.narrow(exporters=tuple(e for e in mask if e in left))
        merged = after[0]
        for other in after[1:]:
            merged = _merge(merged, other)
        self.scope.names = {**merged, **chosen} if chosen and len(after) > 1 else merged
        return False

    def s_expr(self, node: ast.Expr) -> bool:
        """An expression on its own."""
        self.eval(node.value)
        return False

    def s_return(self, node: ast.Return) -> bool:
        """`return`: what it gives is joined with the other returns."""
        v = self.eval(node.value) if node.value is not None else NONE
        if node.value is not None:
            forward_outputs.returned(self, node.value, v)
        self.returns.append(v)
        return True

    def s_raise(self, node: ast.Raise) -> bool:
        """`raise` ends the path."""
        return True

    def s_jump(self, node: ast.Break | ast.Continue) -> bool:
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
        if self.engine.context.tracing and (isinstance(old, Tensor) or isinstance(new, Tensor)):
            exporter_support.arithmetic(self.engine, operator, old, new, node, (node.value,))
        result = self.arithmetic(operator, old, new, node)
        if isinstance(old, Tensor):
            if isinstance(node.target, ast.Name):
                self.engine.written_in_place(old, node.target, node)
            result = replace(result, view=old.view) if isinstance(result, Tensor) else result
        if isinstance(node.target, ast.Attribute):
            self.engine.state_write(self, node.target, result, augmented=True)
        self.assign(node.target, result, augmented=True)
        return False

    def s_delete(self, node: ast.Delete) -> bool:
        """`del`, which matters for a key of a dict, and for what an arm then puts in the place of an attribute."""
        for target in node.targets:
            if isinstance(target, ast.Attribute):
                self.engine.abandon(self.eval(target.value), target.attr)
            if isinstance(target, ast.Subscript) and isinstance(target.value, (ast.Name, ast.Attribute)):
                owner, key = self.eval(target.value), self.eval(target.slice)
                if isinstance(owner, Dict) and isinstance(key, Const):
                    self.rebind(target.value, owner.without(key.literal))
        return False

    def s_import(self, node: ast.Import | ast.ImportFrom) -> bool:
        """An import inside a function."""
        for name, target in imported(node, self.module.name, self.module.is_package):
            if name != "*":
                self.scope.names[name] = name_lookup.dotted(self.engine, target, self.module)
        return False

    def s_global(self, node: ast.Global) -> bool:
        """`global name`: assignments to it are writes to global state."""
        self.globals.update(node.names)
        return False

    def s_nonlocal(self, node: ast.Nonlocal) -> bool:
        """`nonlocal name`: assignments to it are seen by the function around this one."""
        self.nonlocals.update(node.names)
        return False

    def s_assert(self, node: ast.Assert) -> bool:
        """`assert test`."""
        test = self.test(node.test)
        for v, mask, asked in test.reads:
            with self.engine.asking(asked):
                self.report_assertion(node.test, v, mask, "assert", ast.Eq)
        return False

    def s_if(self, node: ast.If) -> bool:
        """`if`: decided where the exporters decide it, else both arms."""
        test = self._with_exports(node, self.test(node.test))
        awaits = self.awaits_state(node.test)
        if awaits:
            test.reads = [r for r in test.reads if not isinstance(r[0], Dim)]  # a fresh model asks for no size here
        self.report_branch(node.test, test, "if", node.body, node.orelse)
        head = self.line, self.statement_node

        pieces = self.pieces(node.test, node.body, node.orelse) if node.orelse else None
        later = awaits or pieces is True
        sized = any(isinstance(v, Dim) for v, *_ in test.reads)
        left: dict[bool, bool] = {}  # whether what follows an arm is done only if a flag is turned on
        asks = test.usual if self.engine.context.tracing else None

        def body() -> bool:
            before = len(self.returns)
            ended, asked = self._arm(node.body, asks is False, later, sized)
            left[True] = ended or asked
            if awaits:
                del self.returns[before:]
            return ended

        def otherwise() -> bool:
            self.line, self.statement_node = head
            ended, asked = self._arm(node.orelse, asks is True, pieces is False, sized)
            left[False] = ended or asked
            return ended

        by_arm = test.may_be(True), test.may_be(False)
        for exporters, statements in zip(by_arm, (node.body, node.orelse), strict=True):
            if statements and not exporters:
                implicit_calls.shut_out(self, node.test, statements)
        narrowed = self.narrowing(node.test)
        runs = partial(_then, narrowed, True, body), partial(_then, narrowed, False, otherwise)
        usual = None if test.usual is None else runs[not test.usual]
        ended = self.arms([*zip(by_arm, runs, strict=True)], usual)
        if asks is not None and left.get(asks, False):
            self.engine.narrow(asked=True)
        return ended

    def _arm(self, statements: Sequence[ast.stmt], asked: bool, silent: bool, sized: bool) -> tuple[bool, bool]:
        if not (asked or silent or sized):  # as it mostly is: a `with` would cost
            return self._followed(statements)
        at = self.engine.context
        with self.engine.within(asked=at.asked or asked, silent=at.silent or silent, by_size=at.by_size or sized):
            return self._followed(statements)

    def _with_exports(self, node: ast.If, test: Test) -> Test:
        """The test of an `if`; not decided by a flag that has its default, where an arm exports."""
        off = not self.engine.context.tracing and self._has_its_default(node.test) and _exports(node)
        return replace(test, verdict=dict.fromkeys(test.verdict)) if off else test

    def _has_its_default(self, test: ast.expr) -> bool:
        """True for a flag of the function that is what its default says."""
        test = test.operand if isinstance(test, ast.UnaryOp) else test
        if self.unit is None or not isinstance(test, ast.Name):
            return False
        a = self.unit.args
        defaults = {p.arg: d for p, d in (*self.unit.positional, *zip(a.kwonlyargs, a.kw_defaults, strict=True))}
        default = defaults.get(test.id)
        flag = default.value if isinstance(default, ast.Constant) else None
        return isinstance(flag, bool) and self.scope.names.get(test.id) == Const(flag)

    def s_while(self, node: ast.While) -> bool:
        """`while`: the body runs twice, so that what it changes is seen by itself."""
        test = self.test(node.test)
        self.report_branch(node.test, test, "while", node.body, node.orelse)
        head = self.line, self.statement_node
        self.loop(lambda: self.block(node.body))
        self.line, self.statement_node = head
        again = self.test(node.test)
        self.report_branch(node.test, again, "while", node.body, node.orelse)
        ends = any(isinstance(n, (ast.Break, ast.Return)) for n in ast.walk(node))
        forever = all(v is True for v in test.verdict.values()) and not ends
        return self.block(node.orelse) if node.orelse else forever

    def s_for(self, node: ast.For | ast.AsyncFor) -> bool:
        """`for`: literal sequences item by item, anything else twice over its joined item."""
        with self.engine.within(over_modules=one_for_each_module(node, node)):
            iterable = self.eval(node.iter)
            self.engine.report_loop(node.iter, iterable)
        items = loop_items(self.engine, iterable, node.iter)

        def once(item: Value) -> bool:
            self.assign(node.target, item)
            return self.block(node.body)

        for item in items:
            self.loop(partial(once, item), twice=len(items) == 1)
        return self.block(node.orelse) if node.orelse else False

    def loop(self, once: Callable[[], bool], twice: bool = True) -> None:
        """Run a loop body that may run any number of times, widening what grows."""
        outer = self.loop_exits
        at = self.engine.context
        if twice and at.looping >= LOOPS:
            twice = False
            self.engine.shortened(self, f"loops within {LOOPS} others, as at line {self.line}, are followed once only")
        for _ in range(2 if twice else 1):
            before = dict(self.scope.names)
            exits: list[dict[str, Value]] = []
            self.loop_exits = exits
            try:
                with self.engine.within(exporters=at.exporters, looping=at.looping + 1):
                    ended = once()
            finally:
                self.loop_exits = outer
            states = [*exits] + ([] if ended else [self.scope.names])
            merged = before
            for state in states:
                merged = _merge(merged, state)
            self.scope.names = dict(merged)
            for name in _differing(before, merged):
                if name in before and before[name] != merged[name]:
                    self.scope.names[name] = widen(merged[name])

    def s_try(self, node: ast.Try | ast.TryStar) -> bool:
        """`try`: the body, or any handler from the state before it."""
        mask = self.engine.context.exporters

        outer, self.attempted = self.attempted, []

        def body() -> bool:
            try:
                ended = self.block(node.body)
                self.report_attempt(node)
            finally:
                self.attempted = outer
            return ended or self.block(node.orelse)

        def handled(handler: ast.ExceptHandler) -> bool:
            if handler.name is not None:
                self.scope.names[handler.name] = UNKNOWN
            return self.block(handler.body)

        ended = self.arms([(mask, body), *((mask, partial(handled, h)) for h in node.handlers)])
        return self.block(node.finalbody) or ended

    def report_attempt(self, node: ast.Try | ast.TryStar) -> None:
        """Emit an Attempt where an exception of a tensor operator chooses another computation."""
        if not self.attempted:
            return
        for handler in node.handlers:
            caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else filter(None, [handler.type])
            names = [ast.unparse(t) for t in caught]
            if handler.body and not isinstance(handler.body[-1], ast.Raise) and (not names or set(names) & _FAILURES):
                self.engine.emit(observations.Attempt, self.attempted[0], catches=", ".join(names) or "anything")
                return

    def s_with(self, node: ast.With | ast.AsyncWith) -> bool:
        """`with`: what the context managers do on the way in and on the way out, around the body."""
        contexts = []
        for item in node.items:
            v = self.eval(item.context_expr)
            contexts.append(v)
            entered = implicit_calls.entered(self.engine, v, item.context_expr)
            if item.optional_vars is not None:
                self.assign(item.optional_vars, entered)
        ended = self.block(node.body)
        for v in reversed(contexts):
            implicit_calls.left(self.engine, v, node)
        return ended

    def s_def(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
        """A function inside a function: a closure over this scope."""
        self.scope.names[node.name] = self.closure(node, f"{self.symbol}.{node.name}")
        return False

    def s_class(self, node: ast.ClassDef) -> bool:
        """A class inside a function; one of the module itself where that is run as a script."""
        outlined = self.module.classes.get(node.name)
        if outlined is not None and self.unit is None and outlined.line == node.lineno + self.body.shift:
            self.scope.names[node.name] = ClassRef(outlined)
            return False
        self.scope.names[node.name] = self.engine.local_class(self.body, node, f"{self.symbol}.{node.name}")
        return False

    def s_match(self, node: ast.Match) -> bool:
        """`match`: every case from the same state."""
        subject = self.eval(node.subject)
        mask = self.engine.context.exporters
        compares = any(isinstance(p, ast.MatchValue) for c in node.cases for p in ast.walk(c.pattern))
        if compares and (reads_data(subject) or isinstance(subject, Dim)):
            self.engine.emit_read(observations.Branch, node.subject, subject, mask)

        def matched(case: ast.match_case) -> bool:
            named = (n.name for n in ast.walk(case.pattern) if isinstance(n, (ast.MatchAs, ast.MatchStar)))
            seen = subject if isinstance(subject, Tensor) else UNKNOWN
            self.scope.names.update(dict.fromkeys(filter(None, named), seen))
            if case.guard is not None:
                self.report_branch(case.guard, self.test(case.guard), "match", case.body, [])
            return self.block(case.body)

        return self.arms([*((mask, partial(matched, c)) for c in node.cases), (mask, lambda: False)])


def _merge(a: dict[str, Value], b: dict[str, Value]) -> dict[str, Value]:
    if a is b:
        return a
    merged = dict(a)
    for name in _differing(a, b):
        merged[name] = join(a[name], b[name]) if name in a else b[name]
    return merged


def _differing(a: dict[str, Value], b: dict[str, Value]) -> list[str]:
    """The names of `b` whose value is not that of `a`; both mostly are copies of one state, with names added behind."""
    if not all(map(is_, a, b)):
        return [name for name, v in b.items() if a.get(name) is not v]
    return [*compress(b, map(is_not, a.values(), b.values())), *islice(b, len(a), None)]


def _then(narrow: Callable[[bool], None], arm: bool, run: Callable[[], bool]) -> bool:
    narrow(arm)
    return run()


# What an operator raises on sizes or values that it does not take.
_FAILURES = frozenset(("RuntimeError", "ValueError", "IndexError", "Exception", "BaseException"))


_STATEMENTS: dict[type, Callable[..., bool]] = by_kind(Frame, "s_")


def _exports(node: ast.If) -> bool:
    """True where an arm calls something that exports, by its name."""
    calls = (n for n in ast.walk(node) if isinstance(n, ast.Call))
    return any("export" in (getattr(c.func, "id", "") or getattr(c.func, "attr", "")) for c in calls)
