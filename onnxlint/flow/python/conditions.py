"""Conditions: what a test reads, which arm each exporter takes, and what an arm knows of the names tested."""

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeGuard

from onnxlint.flow.lowering import sizes_as_numbers
from onnxlint.flow.python import implicit_calls
from onnxlint.flow.python.arithmetic import Arithmetic, has_elements
from onnxlint.flow.state import observations
from onnxlint.flow.values import domain as dom
from onnxlint.flow.values import shapes
from onnxlint.flow.values.domain import replace
from onnxlint.flow.values.equivalent_code import REST, asks_for_memory, in_pieces, splits_work
from onnxlint.flow.values.joins import join, join_all
from onnxlint.flow.values.node_places import is_own, last_name
from onnxlint.flow.values.shapes import CLIP
from onnxlint.flow.values.size_forms import tells_forms

_DEVICES = re.compile(r"_?(?:n|num|number_of)_?(?:devices|gpus?)|world_size")
_ON_MANY = {(ast.Gt, 1): True, (ast.GtE, 2): True, (ast.NotEq, 1): True}
_ON_MANY |= {(ast.LtE, 1): False, (ast.Lt, 2): False, (ast.Eq, 1): False}
_TALK = ("print", "warn", "warning", "warning_once", "info", "debug", "error", "log", "deprecate")
_INITIALIZED = re.compile(r"_?(?:is_)?init(?:t?ed|iali[sz]ed|iated)?$")  # a buffer that says whether others were made
_ROOM = 256  # rows of a table: fewer are there for an example, not for the longest input
_PADS = ("pad", "ZeroPad", "new_zeros", "zeros", "cat", "concat", "constant_pad_nd")


@dataclass(slots=True)
class Test:
    """What a condition reads, and what each exporter's trace makes of it (True, False or None: not decided). Of each
    value read: the exporters that read it, and whether that takes a flag that is off by default. `usual` is what the
    condition is where nobody turns on such a flag."""

    reads: list[tuple[dom.Value, tuple[str, ...], bool]]
    verdict: dict[str, bool | None]
    usual: bool | None = None

    def may_be(self, wanted: bool) -> tuple[str, ...]:
        """The exporters whose trace may take this arm."""
        return tuple([e for e, v in self.verdict.items() if v is not (not wanted)])


def _ends_in_eval(node: ast.expr, wanted: bool) -> bool:
    """True for `self.training`, or its negation where that is `wanted`."""
    asked = node.operand if wanted and isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) else node
    return (asked is not node) is wanted and isinstance(asked, ast.Attribute) and asked.attr == "training"


def _draws(node: ast.expr) -> bool:
    """True for a number that Python or numpy draws, beside settings: `random.random() > self.p`. No export reads it."""
    match node:
        case ast.Compare(ast.Call(ast.Attribute() as fn, []), [_], [ast.Constant() | ast.Attribute(ast.Name("self"))]):
            return ast.unparse(fn).startswith(("random.", "np.random.", "numpy.random."))
    return False


def _truth(v: dom.Value) -> bool | None:
    """The truth of a literal, of a size that is not zero, or of a function; None of anything else."""
    return True if has_elements(v) or v == dom.DECORATED else bool(v.literal) if isinstance(v, dom.Const) else None


def _settled(right: dom.Const, testing: bool) -> dom.Value:
    """What `flag and self.training` gives, or `scale or 1.0`: where that is no truth, the number of no setting."""
    of_truth = testing or isinstance(right.literal, bool)
    return dom.Const(bool(right.literal)) if of_truth else dom.Config(default=right)


def _keeps_what_it_asks(test: ast.expr, body: Sequence[ast.stmt]) -> bool:
    """True for a test of `self.table` whose arm makes that anew."""
    asked = {n.attr for n in ast.walk(test) if isinstance(n, ast.Attribute) and is_own(n)}
    nodes = (n for s in body for n in ast.walk(s) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store))
    return any(n.attr in asked and is_own(n) for n in nodes)


def _teaches(node: ast.expr) -> bool:
    """True for a draw that chooses between what the model gave and the target: training alone has one."""
    return _draws(node) and any(name in ast.unparse(node) for name in ("sampling_prob", "teacher_forc"))


# An attribute of a model that whoever exports it turns on.
_EXPORTING = re.compile(
    r"(?:is_|for_)?(?:deploy(?:ing)?|export(?:ing|able)?|onnx_export|export_(?:onnx|mode)|for_onnx)"
)


class Conditions(Arithmetic):
    """The part of a frame that works out tests, and the expressions that are decided by one."""

    def test(self, node: ast.expr) -> Test:
        """Evaluate a condition: what it reads under which exporters, and what each exporter makes of it."""
        mask = self.engine.context.exporters
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self.test(node.operand)
            usual = None if inner.usual is None else not inner.usual
            return Test(inner.reads, {e: None if v is None else not v for e, v in inner.verdict.items()}, usual)
        if isinstance(node, ast.BoolOp):
            before = {n: self.scope.names[n] for v in node.values for n in _narrowed(v) if n in self.scope.names}
            if any(_ends_in_eval(v, isinstance(node.op, ast.Or)) for v in node.values[1:]) and _draws(node.values[0]):
                return Test([], dict.fromkeys(mask, isinstance(node.op, ast.Or)))  # whatever the draw gives
            result = self.test(node.values[0])
            for i, value in enumerate(node.values[1:], 1):
                if isinstance(node.op, ast.And) and _tells_forms(node.values[i - 1], value):
                    continue
                self.narrowing(node.values[i - 1])(isinstance(node.op, ast.And))
                result = self._test_both(result, value, node.values[i - 1], isinstance(node.op, ast.Or))
            self.scope.names.update(before)
            return result
        with self.engine.asking(_teaches(node), testing=True):
            v = self.eval(node)
        if isinstance(v, dom.Dim) and isinstance(node, ast.Compare) and tells_forms(node):
            return Test([], dict.fromkeys(mask, None))
        if isinstance(v, dom.Truth):
            return Test([], {e: v.verdict(e) for e in mask})
        if (known := _truth(v)) is not None:
            return Test([], dict.fromkeys(mask, known))
        asks = dom.reads_data(v) or isinstance(v, dom.Dim)
        filled = self._of_a_table(node) if isinstance(v, (dom.Dim, dom.Config)) else None
        usual = self._usually(v, node) if filled is None else filled
        return Test([(v, mask, filled is not None)] if asks else [], dict.fromkeys(mask, None), usual)

    def _usually(self, v: dom.Value, node: ast.expr) -> bool | None:
        if isinstance(v, dom.Tensor) and v.source == "weight" and _INITIALIZED.match(last_name(node)):
            return True  # what is exported has been trained
        if _teaches(node):
            return False
        if v == dom.CONFIG and (one := _on_one_device(node)) is not None:
            return one
        if self._asks_for_an_option(node):
            return isinstance(node.ops[0], ast.NotIn)
        if v in (dom.CONFIG, dom.UNKNOWN) and self.engine.context.tracing and _is_for_exports(node):
            return True
        if v == dom.CONFIG and self.engine.context.tracing and (unbatched := _asks_for_one_axis(node)) is not None:
            return not unbatched
        return _usual(v) if self.engine.context.tracing or v != dom.CONFIG else self._usual_type(node)

    def _asks_for_an_option(self, node: ast.expr) -> TypeGuard[ast.Compare]:
        """True for `"experts" in kwargs`, of the keyword arguments of which nothing is known."""
        match node:
            case ast.Compare(ast.Constant(str()), [ast.In() | ast.NotIn()], [ast.Name(name)]):
                rest = self.unit.args.kwarg if self.unit is not None else None
                held = self.scope.lookup(name) if rest is not None and rest.arg == name else None
                return isinstance(held, dom.Dict) and held.rest is not None
        return False

    def _of_a_table(self, node: ast.expr) -> bool | None:
        """What a test of `self.table` or its size is where forward enlarges that, and the constructor fills it for all.
        It does with as many rows as a setting says, or more than any example has."""
        own = self.bound.object if isinstance(self.bound, dom.Instance) else None
        written = self.engine.reads.written_by_forward(own.cls) if own is not None else None
        if own is None or not written or not isinstance(node, ast.Compare):
            return None
        for table, first in ((node.left, True), (node.comparators[0], False)):
            names = {n.attr for n in ast.walk(table) if isinstance(n, ast.Attribute) and is_own(n)}
            if not names.isdisjoint(written):
                v = own.attrs.get(last_name(table)) or self.eval(table)
                if isinstance(v, dom.Tensor) and v.source == "weight" and _asks_for_none(node):
                    return isinstance(node.ops[0], (ast.IsNot, ast.NotEq))
                enough = isinstance(v, dom.Config) or (dom.as_int(v) or 0) >= _ROOM
                greater = isinstance(node.ops[0], (ast.Gt, ast.GtE))
                return first is greater if enough and (greater or isinstance(node.ops[0], (ast.Lt, ast.LtE))) else None
        return None

    def _usual_type(self, node: ast.expr) -> bool | None:
        """`isinstance(module, T)` in a script: none that a function is given is replaced; of a loop, one is."""
        module = node.args[0] if isinstance(node, ast.Call) and last_name(node.func) == "isinstance" else None
        if not isinstance(node, ast.Call) or not isinstance(module, ast.Name):
            return None
        if not isinstance(self.scope.names.get(module.id), (dom.Unknown, dom.Instance, dom.Layer)):
            return None
        if self.unit is not None and any(p.arg == module.id for p in self.unit.args.args):
            return False
        return None if self._one_of(node) is None else True

    def _one_of(self, call: ast.Call) -> dom.Instance | None:
        """The module of a class of the project that `isinstance(module, Class)` asks for."""
        cls = self.eval(call.args[1]) if len(call.args) == 2 else dom.UNKNOWN
        return self.engine.built_last(cls.info) if isinstance(cls, dom.ClassRef) and cls.info.is_module() else None

    def _test_both(self, left: Test, second: ast.expr, first: ast.expr, stops: bool) -> Test:
        """Two conditions in a row, of which the first one ends the test where it is `stops`: True for `or`. A flag that
        makes a model do after `self.training or` what training does is as off as the constructor leaves it."""
        mask = self.engine.context.exporters
        exporters = tuple(e for e in mask if left.verdict.get(e) is not stops)
        asked = left.usual is stops
        with self.engine.within(exporters=exporters, asked=self.engine.context.asked or asked):
            right = self.test(second) if exporters else Test([], {})
        verdict: dict[str, bool | None] = {}
        for e in mask:
            a, b = left.verdict.get(e), right.verdict.get(e)
            verdict[e] = a if a is stops or (a is None and b is not stops) else b
        decided = {e for e in mask if verdict[e] is not None and left.verdict.get(e) is None}
        reads = left.reads  # of a long row of conditions they are many: gone through only where an exporter decides
        if decided:  # measured: dynamo refuses data that is asked for first, whatever comes of the row
            kept = [
                (v, tuple(e for e in n if e not in decided or (e == "dynamo" and dom.reads_data(v))), a)
                for v, n, a in reads
            ]
            reads = [read for read in kept if read[1]]
        reads += [(v, m, a or asked) for v, m, a in right.reads if m]
        return Test(reads, verdict, self._both_usually(left.usual, right.usual, stops, first, second))

    def _both_usually(
        self, left: bool | None, right: bool | None, stops: bool, first: ast.expr, second: ast.expr
    ) -> bool | None:
        if stops and _ends_in_eval(first, False) and isinstance(self.bound, dom.Instance) and is_own(second):
            held = self.bound.object.attrs.get(last_name(second), dom.UNKNOWN)
            if dom.or_default(held) == dom.Const(False):
                return False
        return stops if stops in (left, right) else left if left is right else None

    def e_boolean(self, node: ast.BoolOp) -> dom.Value:
        """`a and b` as a value: its truth is asked of `a`."""
        word = "and" if isinstance(node.op, ast.And) else "or"
        left = self.eval(node.values[0])
        for right in node.values[1:]:
            left = self._boolean(word, left, right, node)
        return left

    def _boolean(self, word: str, left: dom.Value, second: ast.expr, node: ast.BoolOp) -> dom.Value:
        stops = word == "or"  # at what is true
        if isinstance(left, dom.Const):
            return left if bool(left.literal) == stops else self.eval(second)
        if isinstance(left, dom.Tensor) and not self.engine.context.testing:
            self.engine.emit_operator(node, left)
        if isinstance(left, dom.Truth):
            exporters = tuple(e for e in self.engine.context.exporters if left.verdict(e) is not stops)
            with self.engine.within(exporters=exporters):
                right = self.eval(second) if exporters else dom.CONFIG
            settled = isinstance(right, (dom.Const, dom.Config, dom.Unknown, dom.Truth))
            return _both(word, left, right) if settled else right
        if isinstance(left, dom.Dim):  # Python asks the comparison for its truth
            left = replace(left, site=left.site or self.engine.site(node, f"`{word}`"))
        usual = _usual(left)
        with self.engine.asking(usual is stops):
            right = self.eval(second)
        if usual is stops:
            return left
        setting = isinstance(left, (dom.Config, dom.Unknown))
        if setting and isinstance(right, dom.Const) and bool(right.literal) == stops:
            return _settled(right, self.engine.context.testing)
        if usual is not None and isinstance(result := dom.or_default(right), dom.Const):
            return dom.Config(default=result)
        if isinstance(right, dom.Truth) and setting:
            return _both(word, left, right)
        if isinstance(left, dom.Tensor):
            # `tensor or default` gives either; what comes out of a comparison is a truth read from data.
            return right if isinstance(right, dom.Tensor) else left
        return join(left, right)

    def e_ternary(self, node: ast.IfExp) -> dom.Value:
        """`a if test else b`."""
        test = self.test(node.test)
        for v, mask, asked in test.reads:
            with self.engine.asking(asked):
                self.engine.emit_read(observations.Branch, node.test, v, mask)
        exporters = self.engine.context.exporters
        results: list[dom.Value] = []
        for arm, wanted in ((node.body, True), (node.orelse, False)):
            mask = tuple(e for e in test.may_be(wanted) if e in exporters)
            if mask:
                before = dict(self.scope.names)
                self.narrowing(node.test)(wanted)
                if not wanted:
                    self._doubt(node.test)
                asked = self.engine.context.asked or (test.usual is (not wanted) and self.engine.context.tracing)
                with self.engine.within(exporters=mask, asked=asked):
                    results.append(self.eval(arm))
                self.scope.names = before
            elif not test.may_be(wanted):
                implicit_calls.shut_out(self, node.test, [arm])
        sizes = [v for v in results if isinstance(v, dom.Dim)]
        made = any(isinstance(v, dom.Tensor) and v.source in ("made", "sizes") for v in results)
        if sizes and made and not set(test.may_be(True)) & set(test.may_be(False)):
            return sizes[0]  # of one size, an exporter's arm makes a tensor
        if test.usual is not None and len(results) > 1:
            return results[0] if test.usual else results[1]
        return join_all(results) or dom.UNKNOWN

    def narrowing(self, test: ast.expr) -> Callable[[bool], None]:
        """What `x is None` and `isinstance(x, T)` say of a name in each arm."""
        negated = False
        while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test, negated = test.operand, not negated

        def narrow(arm: bool) -> None:
            if isinstance(test, ast.BoolOp):
                if (arm != negated) == isinstance(test.op, ast.And):  # every part holds, or none does
                    for value in test.values:
                        self.narrowing(value)(arm != negated)
            elif isinstance(test, ast.Compare) and _asks_for_none(test):
                if isinstance(test.left, ast.Name):
                    self._narrow_none(test.left.id, (arm != negated) == isinstance(test.ops[0], (ast.Is, ast.Eq)))
            elif isinstance(test, ast.Call) and last_name(test.func) in ("isinstance", "is_tensor"):
                self.narrow_instance(test, arm != negated)
            elif isinstance(test, ast.Call) and last_name(test.func) == "hasattr" and arm == negated:
                self.narrow_instance(test, holds=False)
            elif arm != negated and _asks_for_a_clip(test):
                name = _narrowed(test)[0]
                t = self.scope.lookup(name)
                if isinstance(t, dom.Tensor) and t.dims is None and t.source == "input":
                    self.scope.names[name] = replace(t, dims=shapes.unknown(t, CLIP, self.engine.context.axes))

        return narrow

    def _narrow_none(self, name: str, holds: bool) -> None:
        if holds:
            self.scope.names[name] = dom.NONE
        elif name in self.scope.names:
            self.scope.names[name] = dom.and_no_none(self.scope.names[name])

    def _narrow_item(self, call: ast.Call, item: ast.Subscript, holds: bool) -> None:
        """In the arm where `isinstance(batch["target"], list)` holds, that item of a dict is no tensor."""
        if not holds or len(call.args) != 2 or "Tensor" in self.body.text(call.args[1]):
            return
        match item:
            case ast.Subscript(ast.Name(name), ast.Constant(key)):
                held = self.scope.lookup(name)
                if isinstance(held, dom.Dict) and isinstance(held.get(key), dom.Tensor):
                    self.scope.names[name] = replace(held, items=(*held.without(key).items, (key, dom.UNKNOWN)))

    def narrow_instance(self, call: ast.Call, holds: bool) -> None:
        """In the arm where `isinstance(x, (int, str, list, …))` holds, or `hasattr(x, "size")` not, x is no tensor."""
        if not 1 <= len(call.args) <= 2 or call.keywords:
            return
        if isinstance(call.args[0], ast.Subscript):
            self._narrow_item(call, call.args[0], holds)
        if not isinstance(call.args[0], ast.Name):
            return
        name = call.args[0].id
        current = self.scope.lookup(name)
        kinds = self.body.text(call.args[1]) if len(call.args) == 2 else "Tensor"
        is_tensor = "Tensor" in kinds or (kinds[:1] in "\"'" and self.engine.table.method(kinds[1:-1]) is not None)
        if holds and not self.engine.context.tracing and isinstance(current, (dom.Unknown, dom.Instance, dom.Layer)):
            self.scope.names[name] = self._one_of(call) or current
        if isinstance(current, dom.Tensor) and is_tensor != holds:
            self.scope.names[name] = dom.UNKNOWN
        elif holds and is_tensor and current == dom.UNKNOWN:
            self.scope.names[name] = dom.Tensor(trace=self.step(f"`{name}` is a tensor here", None))

    def report_branch(
        self,
        node: ast.expr,
        test: Test,
        keyword: str,
        body: Sequence[ast.stmt],
        orelse: Sequence[ast.stmt],
        head: str = "",
    ) -> None:
        """Emit a Branch (or an Assertion, where an arm only raises) for what a condition reads; `head` is the test of
        the `if` that it is an `elif` of."""
        if not test.reads:
            return
        raises = bool(body) and all(isinstance(s, ast.Raise) for s in body) and not orelse
        other = orelse or self._rest(body)
        talks = bool(body) and not orelse and all(_only_talks(s) for s in body)
        quiet = talks or splits_work(body, other) or self.pieces(node, body, other) is not None
        for v, mask, asked in test.reads:
            with self.engine.asking(asked):
                if raises:
                    self.report_assertion(node, v, mask, keyword, ast.NotEq)
                elif not quiet or not isinstance(v, dom.Dim):
                    looping = keyword == "if" and self.engine.context.looping and dom.reads_data(v)
                    leaves = _leaves(body, orelse) if looping else ""
                    form = self._size_form(node, v, body, orelse) if isinstance(v, dom.Dim) else ""
                    fields = {"leaves": leaves, "form": form, "talks": talks, "does": _done(keyword, body, orelse)}
                    fields["head"] = head
                    self.engine.emit_read(observations.Branch, node, v, mask, **fields)

    def _size_form(self, test: ast.expr, v: dom.Dim, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]) -> str:
        """What a branch on a size is about: equal sizes, a remainder or short input to pad, or what is kept."""
        if v.form != "equal" and _keeps_what_it_asks(test, body):
            return "table"
        less = isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.Lt, ast.LtE)) and not orelse
        if v.form != "remainder" and not less:
            return v.form if v.form == "equal" else ""
        nodes = (node for statement in (*body, *orelse) for node in ast.walk(statement))
        if not any(isinstance(n, ast.Call) and last_name(n.func).startswith(_PADS) for n in nodes):
            return ""
        if v.form == "remainder" or not isinstance(test, ast.Compare):
            return "padding"
        size, limit = self.eval(test.left), self.eval(test.comparators[0])
        # An amount to pad, say, which is made of the length itself and told where that is made a number; no greatest of
        # many lengths, which another tensor may have.
        site = limit.site if isinstance(limit, dom.Dim) and limit.axes <= v.axes else None
        own = site is not None and site.how not in ("max()", "min()")
        return "short" if isinstance(size, dom.Dim) and (own or not isinstance(limit, dom.Dim)) else ""

    def pieces(self, test: ast.expr, body: Sequence[ast.stmt], other: Sequence[ast.stmt]) -> bool | None:
        """The arm that only a tensor too large for one go takes, True for `body`; None where no arm is."""
        if self.unit is None or not asks_for_memory(test, self.body.function, self._number):
            return None
        if in_pieces(other, body):
            return True
        return False if in_pieces(body, other) else None

    def _number(self, node: ast.expr) -> float | None:
        v = self.eval(node)
        return float(v.literal) if isinstance(v, dom.Const) and isinstance(v.literal, (int, float)) else None

    def _doubt(self, test: ast.expr) -> None:
        """In the last arm of `a if isinstance(x, list) else b`, what was taken for a tensor may be anything."""
        match test:
            case ast.Call(f, [ast.Name(name), kinds]) if last_name(f) == "isinstance":
                if isinstance(self.scope.lookup(name), dom.Tensor) and last_name(kinds) in ("list", "tuple"):
                    self.scope.names[name] = dom.UNKNOWN

    def awaits_state(self, test: ast.expr) -> bool:
        """True for `self.last is not None` (and more) of what is None at first, and is assigned by forward itself."""
        parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
        tests = (p for p in parts if isinstance(p, ast.Compare) and isinstance(p.ops[0], ast.IsNot))
        names = [p.left.attr for p in tests if isinstance(p.left, ast.Attribute) and _asks_for_none(p)]
        owner = self.bound.object.cls if isinstance(self.bound, dom.Instance) else self.owner
        unit = self.owner.find_method("__init__") if self.owner is not None and names else None
        if owner is None or unit is None:
            return False
        return any(
            f"self.{attribute} = None" in unit.text
            and attribute in self.engine.reads.written_by_forward(owner)
            and not any(
                f"self.{name}(" in unit.text and f"self.{attribute} =" in method.text
                for name, method in owner.methods.items()
            )
            for attribute in names
        )

    def _rest(self, body: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
        """What the function does where an arm that returns is not taken."""
        if self.unit is None or not body or not isinstance(body[-1], ast.Return):
            return ()
        at = _branches(self.body.function).get(id(body))
        return self.body.function.body[at + 1 : at + 1 + REST] if at is not None else ()

    def hold_size(self, test: ast.expr, equality: type[ast.cmpop]) -> None:
        """After `if length != self.length: raise`, a length with a name is a setting: no other comes past."""
        match test:
            case ast.Compare(ast.Name(name), [sign], [other]) if isinstance(sign, equality):
                held = self.scope.names.get(name)
                if isinstance(held, dom.Dim) and isinstance(self.eval(other), (dom.Const, dom.Config)):
                    self.scope.names[name] = dom.CONFIG

    def report_assertion(
        self, node: ast.expr, v: dom.Value, mask: tuple[str, ...], keyword: str, equality: type[ast.cmpop]
    ) -> None:
        """Emit an Assertion; where it holds a declared axis to one size (by `equality`), say that too."""
        if (
            isinstance(v, dom.Dim)
            and v.sure
            and v.form not in ("remainder", "equal")
            and self.engine.context.axes.declared is not None
            and isinstance(node, ast.Compare)
            and len(node.ops) == 1
            and isinstance(node.ops[0], equality)
            and any(isinstance(d, dom.Dim) and d.plain for d in (self.eval(node.left), self.eval(node.comparators[0])))
        ):
            sizes_as_numbers.pinned(self.engine, node, v, keyword, mask)
        self.engine.emit_read(observations.Assertion, node, v, mask)


@lru_cache(maxsize=256)
def _branches(function: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[int, int]:
    """Which statement of a function an `if` is, by the identity of its body; the function is kept as long."""
    return {id(s.body): at for at, s in enumerate(function.body) if isinstance(s, ast.If)}


def _done(keyword: str, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]) -> str:
    """What the arms of an `if` do; see `observations.Branch`."""
    if keyword != "if" or isinstance(body[0], ast.Return):
        return "returns" if keyword == "if" else ""
    last = orelse[0] if len(orelse) == 1 else None
    if isinstance(last, ast.If):
        orelse = () if _done(keyword, last.body, last.orelse) in ("one", "assign") else (last,)
    if not all(isinstance(s, (ast.Assign, ast.AugAssign, ast.Pass)) for s in (*body, *orelse)):
        return "more"
    alone = last is None and not orelse and len(body) == 1 and isinstance(body[0], ast.Assign)
    return "one" if alone else "assign"


def _leaves(body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]) -> str:
    """How an arm leaves the loop around it; "" where none does."""
    waiting: list[ast.AST] = [*body, *orelse]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.Break, ast.Continue, ast.Return)):
            return type(node).__name__.lower()
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            waiting += [n for n in ast.walk(node) if isinstance(n, ast.Return)]
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.expr)):
            waiting += ast.iter_child_nodes(node)
    return ""


def _usual(v: dom.Value) -> bool | None:
    """What a condition is where nobody changes a default."""
    v = dom.or_default(v)
    return bool(v.literal) if isinstance(v, dom.Const) else None


def _on_one_device(node: ast.expr) -> bool | None:
    """What `self.ndevices > 1` is on one device, where models are exported; None for another condition."""
    if not isinstance(node, ast.Compare) or not isinstance(node.comparators[0], ast.Constant):
        return None
    number = node.comparators[0].value
    many = _ON_MANY.get((type(node.ops[0]), number)) if type(number) is int else None
    counts = many is not None and len(node.ops) == 1 and _DEVICES.fullmatch(last_name(node.left))
    return not many if counts else None


def _is_for_exports(node: ast.expr) -> bool:
    """True for `self.deploy`, which whoever exports the model turns on."""
    return isinstance(node, ast.Attribute) and is_own(node) and _EXPORTING.fullmatch(node.attr) is not None


def _asks_for_one_axis(node: ast.expr) -> bool | None:
    """What `x.ndim == 1` says of one sample that comes without a batch, which is not how a model is exported; None for
    another condition."""
    match node:
        case ast.Compare(ast.Attribute(attr="ndim") | ast.Call(ast.Attribute(attr="dim"), []), [op], [ast.Constant(n)]):
            forms = {(ast.Eq, 1): True, (ast.Lt, 2): True, (ast.LtE, 1): True}
            forms |= {(ast.NotEq, 1): False, (ast.Gt, 1): False, (ast.GtE, 2): False}
            return forms.get((type(op), n)) if type(n) is int else None
    return None


def _both(word: str, left: dom.Value, right: dom.Value) -> dom.Truth:
    a, b = dom.truth_of(left), dom.truth_of(right)
    return a.either(b) if word == "or" else a.negated().either(b.negated()).negated()


def _asks_for_none(test: ast.Compare) -> bool:
    return len(test.comparators) == 1 and getattr(test.comparators[0], "value", test) is None


def _tells_forms(before: ast.expr, test: ast.expr) -> bool:
    """True for `x.shape[0] == 4` after `x.ndim == 3`: two forms of an input, of which an export has one."""
    match test:
        case ast.Compare(ast.Subscript(ast.Attribute(owner, "shape")), [ast.Eq(), *_], [number, *_]):
            single = isinstance(number, ast.Constant) and number.value in (0, 1)
            left = before.left if isinstance(before, ast.Compare) else None
            rank = left.func if isinstance(left, ast.Call) else left
            asks = isinstance(rank, ast.Attribute) and rank.attr in ("ndim", "dim")
            return not single and asks and ast.dump(getattr(rank, "value", test)) == ast.dump(owner)
    return False


def _asks_for_a_clip(test: ast.expr) -> TypeGuard[ast.Compare]:
    """True for `x.ndim == 5`."""
    match test:
        case ast.Compare(ast.Attribute(ast.Name(), "ndim"), [ast.Eq(), *_], [ast.Constant(rank), *_]):
            return rank == CLIP
    return False


def _narrowed(test: ast.expr) -> list[str]:
    """The names that a part of a condition may say something of, where it stands alone."""
    while isinstance(test, ast.UnaryOp):
        test = test.operand
    match test:
        case ast.BoolOp(values=values):
            return [name for value in values for name in _narrowed(value)]
        case ast.Compare(ast.Attribute(ast.Name(name))) if _asks_for_a_clip(test):
            return [name]
        case ast.Compare(ast.Name(name)) | ast.Call(args=[ast.Name(name), *_]):
            return [name]
    return []


def _only_talks(statement: ast.stmt) -> bool:
    """True for statements that cannot change what is computed: log, warn, print, assert, pass."""
    match statement:
        case ast.Pass() | ast.Expr(ast.Constant()) | ast.Assert():
            return True
        case ast.If(body=body, orelse=orelse):
            return all(_only_talks(s) for s in (*body, *orelse))
        case ast.Assign([target, *_], ast.Call(ast.Attribute(owner, "contiguous"))):  # x = x.contiguous()
            return ast.dump(owner) == ast.dump(target).replace("Store()", "Load()")
        case ast.Assign(_, ast.Call(f)):
            return re.fullmatch(r"(?i)get_?\w*logger", last_name(f)) is not None
        case ast.Expr(ast.Call(f)):
            return last_name(f) in _TALK
    return False
