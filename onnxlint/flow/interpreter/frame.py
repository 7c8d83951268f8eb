"""One activation of a function: statements executed over abstract values, both arms of what is not decided."""

import ast
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial

from onnxlint.flow.calls.attribute_access import loop_items
from onnxlint.flow.exports import forward_outputs
from onnxlint.flow.interpreter.expressions import by_kind
from onnxlint.flow.interpreter.joined_runs import JoinedRuns
from onnxlint.flow.lowering import exporter_support
from onnxlint.flow.python import implicit_calls, name_lookup
from onnxlint.flow.python.arithmetic import OPERATORS
from onnxlint.flow.python.conditions import Test
from onnxlint.flow.state import observations
from onnxlint.flow.state.budget import Exhausted
from onnxlint.flow.state.protocols import Engine
from onnxlint.flow.values.domain import NONE, UNKNOWN, ClassRef, Const, Dict, Dim, Scope, Tensor, Value, reads_data
from onnxlint.flow.values.equivalent_code import REST, one_for_each_module
from onnxlint.flow.values.node_places import Body, last_name
from onnxlint.project.classes import FunctionUnit, ModuleInfo
from onnxlint.project.modules import imported


@dataclass(eq=False, repr=False)
class Frame(JoinedRuns):
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
    certain: set[int] = field(default_factory=set)  # statements, by identity, in arms that every run takes
    heads: dict[int, str] = field(default_factory=dict)  # of each `elif`, by identity, the test of its `if`

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
        with self.engine.within(silent=True):  # what a helper reads for it is told here
            test = self.test(node.test)
        for v, mask, asked in test.reads:
            with self.engine.asking(asked):
                self.report_assertion(node.test, v, mask, "assert", ast.Eq)
        self.hold_size(node.test, ast.Eq)
        return False

    def is_certain(self, node: ast.stmt | None) -> bool:
        """True for a statement that every run comes to: in no arm but such as are always taken, no loop, no `with`."""
        return node in self.body.function.body or id(node) in self.certain

    def _is_first_step(self, test: ast.expr) -> bool:
        """True for `t == 0` of a parameter that a caller gives: every run begins with that step."""
        match test:
            case ast.Compare(ast.Name(name), [ast.Eq()], [ast.Constant(0)]) if len(self.engine.frames) > 1:
                return self.unit is not None and any(p.arg == name for p, _ in self.unit.positional)
        return False

    def _note_dead_arms(self, node: ast.If, by_arm: Sequence[tuple[str, ...]]) -> None:
        """Take down which arms no exporter comes to, and that every run takes the other."""
        arms = node.body, node.orelse
        for exporters, statements, other in zip(by_arm, arms, arms[::-1], strict=True):
            if statements and not exporters:
                implicit_calls.shut_out(self, node.test, statements)
            if not exporters and self.unit is not None and self.is_certain(node):
                self.certain.update(map(id, other))

    def s_if(self, node: ast.If) -> bool:
        """`if`: decided where the exporters decide it, else both arms."""
        if self._is_first_step(node.test) and self.is_certain(node):
            self.certain.update(map(id, node.body))
        test = self._with_exports(node, self.test(node.test))
        awaits = self.awaits_state(node.test)
        if awaits:
            test.reads = [r for r in test.reads if not isinstance(r[0], Dim)]  # a fresh model asks for no size here
        self.report_branch(node.test, test, "if", node.body, node.orelse, self._head_of(node))
        place = self.line, self.statement_node

        pieces = self.pieces(node.test, node.body, node.orelse) if node.orelse else None
        later = awaits or pieces is True
        sized = any(isinstance(v, Dim) for v, *_ in test.reads)
        left: dict[bool, bool] = {}  # whether what follows an arm is done only if a flag is turned on
        asks = (test.usual, False)[test.usual is None and _is_tolerated(node)] if self.engine.context.tracing else None

        def body() -> bool:
            before = len(self.returns)
            with self._unusually(test.usual is False), self._for_exports(node.test):
                ended, asked = self._arm(node.body, asks is False, later, sized)
            left[True] = ended or asked
            if awaits:
                del self.returns[before:]
            return ended

        def otherwise() -> bool:
            self.line, self.statement_node = place
            with self._unusually(test.usual is True):
                ended, asked = self._arm(node.orelse, asks is True, pieces is False, sized)
            left[False] = ended or asked
            return ended

        by_arm = test.may_be(True), test.may_be(False)
        self._note_dead_arms(node, by_arm)
        narrowed = self.narrowing(node.test)
        runs = partial(_then, narrowed, True, body), partial(_then, narrowed, False, otherwise)
        usual = None if test.usual is None else runs[not test.usual]
        ended = self.arms([*zip(by_arm, runs, strict=True)], usual)
        if asks is not None and left.get(asks, False):
            self.engine.narrow(asked=True)
        if sized and isinstance(node.body[-1], ast.Raise):
            self.hold_size(node.test, ast.NotEq)
        return ended

    def _arm(self, statements: Sequence[ast.stmt], asked: bool, silent: bool, sized: bool) -> tuple[bool, bool]:
        if not (asked or silent or sized):  # as it mostly is: a `with` would cost
            return self._followed(statements)
        at = self.engine.context
        with self.engine.within(asked=at.asked or asked, silent=at.silent or silent, by_size=at.by_size or sized):
            return self._followed(statements)

    def _head_of(self, node: ast.If) -> str:
        """The test of the `if` that a statement is an `elif` of, if it is one; it is kept for the `elif` below it."""
        head = self.heads.get(id(node), "")
        other = node.orelse[0] if len(node.orelse) == 1 else None
        if isinstance(other, ast.If) and other.col_offset == node.col_offset:  # `else:` with an `if` in it is no `elif`
            self.heads[id(other)] = head or self.body.text(node.test)
        return head

    def _unusually(self, unusual: bool) -> AbstractContextManager[object]:
        """The context of an arm of what builds a model; of traced code, `asked` says as much."""
        return self.engine.within(unusual=True) if unusual and not self.engine.context.tracing else nullcontext()

    def _for_exports(self, test: ast.expr) -> AbstractContextManager[object]:
        """The context of an arm that a question whether ONNX is exported opens."""
        asks = isinstance(test, ast.Call) and last_name(test.func) in ("is_in_onnx_export", "is_exporting")
        return self.engine.within(for_exports=True) if asks and self.engine.context.tracing else nullcontext()

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
        self.report_branch(node.test, self.test(node.test), "while", node.body, node.orelse)
        ends = any(isinstance(n, (ast.Break, ast.Return)) for n in ast.walk(node))
        forever = all(v is True for v in test.verdict.values()) and not ends
        return self.block(node.orelse) if node.orelse else forever

    def s_for(self, node: ast.For | ast.AsyncFor) -> bool:
        """`for`: literal sequences item by item, anything else twice over its joined item."""
        with self.engine.within(over_modules=one_for_each_module(node, node)):
            iterable = self.iterated(node)
            self.engine.report_loop(node.iter, iterable)
        items = loop_items(self.engine, iterable, node.iter)

        def once(item: Value) -> bool:
            self.assign(node.target, item)
            return self.block(node.body)

        for item in items:
            self.loop(partial(once, item), twice=len(items) == 1)
        return self.block(node.orelse) if node.orelse else False

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


def _is_tolerated(node: ast.If) -> bool:
    """True for an arm that warns of what it was passed: `elif isinstance(masks, Tensor): ... warnings.warn(...)`."""
    match node.test:
        case ast.Call(ast.Name("isinstance")):
            return any(isinstance(s, ast.Expr) and "warn(" in ast.unparse(s) for s in node.body)
    return False


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
