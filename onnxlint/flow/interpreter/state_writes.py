"""Writes that outlast a run, or are lost in an export: to what modules hold, and through views of inputs."""

import ast

from onnxlint.flow.interpreter.emission import Emitter
from onnxlint.flow.state import liveness, observations
from onnxlint.flow.state.context import Context
from onnxlint.flow.state.protocols import Running
from onnxlint.flow.tables.operator_table import OpTable
from onnxlint.flow.values import domain as dom
from onnxlint.flow.values.domain import Value
from onnxlint.project.classes import ClassInfo


class Writes(Emitter):
    """The part of the interpreter that tells what a write of traced code is to an export."""

    def __init__(self, context: Context, table: OpTable) -> None:
        super().__init__(context, table)
        self.emptied: set[tuple[dom.Object, str]] = set()  # attributes that forward clears by a method for that
        self.renewed: set[tuple[dom.Object, str]] = set()  # attributes that forward sets before it counts on

    def written_in_place(self, t: dom.Tensor, target: ast.AST, node: ast.AST) -> None:
        """An in-place operator on a view of what is no weight: an input, or what forward makes."""
        # Measured: the exporter puts a write into a slice back only where both stand in one line of the source.
        row = t.view == "row"
        here = t.view in ("index", "select", "row") and not (row and isinstance(target, ast.Name))
        lost = t.view is not None and (not here or self._named_above(target))
        if lost and t.source != "weight" and self._base_is_read(target, row):
            self.emit(observations.ViewWrite, node, t.trace)
        elif t.view is not None and isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            # `row[:3].copy_(x)`; what a mask picks is a copy, in eager too.
            named = self.frames[-1].scope.lookup(target.value.id)
            if isinstance(named, dom.Tensor) and named.source != "weight":
                self.item_written(self.frames[-1], named, target)

    def _named_above(self, target: ast.AST) -> bool:
        """True where the view that `target` is has a name from a line above, or was written on the spot by a call."""
        frame = self.frames[-1]
        if liveness.writes_in_place(target):
            return not isinstance(liveness.written_by(target), ast.Name)  # a name's first write is reported
        if not isinstance(target, ast.Name) or frame.unit is None:
            return False
        return liveness.named_above(frame.body.function, target.id, frame.line - frame.body.shift)

    def item_written(self, frame: Running, t: dom.Tensor, target: ast.Subscript) -> None:
        """`t[index] = value`."""
        if isinstance(target.value, ast.Attribute) and t.source == "weight":
            self.state_write(frame, target.value, t, augmented=True)
        elif t.view is None or t.source == "weight" or _is_row_on_the_spot(t, target):
            return
        elif self._base_is_read(target.value, t.view == "row"):
            self.emit(observations.ViewWrite, target, t.trace)

    def _base_is_read(self, target: ast.AST, row: bool) -> bool:
        """True where the tensor that `target` is a view of is read after the write, as far as this function tells."""
        frame = self.frames[-1]
        target = liveness.written_by(target)
        body, line = frame.body, frame.line - frame.body.shift
        if not isinstance(target, ast.Name):  # a view of a name on the spot: `x[1:][mask] = 0`
            name = liveness.root(target) if isinstance(target, ast.Call) else None
            used = name is not None and not isinstance(frame.statement_node, ast.Expr)
            if used and liveness.binds(frame.statement_node, str(name)):  # the result takes the place of the base
                return frame.unit is not None and liveness.base_is_read(body.function, str(name), line, rebound=True)
            return not used or frame.unit is None or liveness.is_read(body.function, str(name), line)
        return frame.unit is None or liveness.base_is_read(body.function, target.id, line, row=row)

    def is_emptied(self, obj: dom.Object, name: str) -> None:
        """Forward sets an attribute of a module to None in a method for that."""
        self.emptied.add((obj, name))

    def state_write(self, frame: Running, target: ast.Attribute, v: Value, augmented: bool, anew: bool = False) -> None:
        """Forward assigns `self.name`, or writes in place to it; `anew` where nothing is left of what it held."""
        if not self.context.tracing:
            return
        owner = frame.eval(target.value)
        if not isinstance(owner, dom.Instance) or not owner.object.cls.is_module():
            return
        name = target.attr
        anew = anew or (name in owner.object.buffers and not augmented)
        if self._is_of_this_run(frame, owner.object, name, augmented, anew):
            return
        kind = self._kind_of_state(frame, owner.object, name, v, augmented)
        if not kind:
            return
        cls = owner.object.cls
        if kind == "cache" and self._on_every_way(cls) and not self._read_on_the_way(cls, name):
            return  # made anew before anything reads it
        if liveness.assigned_above(frame.body.function.body, frame.statement_node, name):
            return
        read = kind == "buffer" or self.reads.read_elsewhere(cls, name)
        if kind not in ("buffer", "cache"):
            read = read and self.reads.read_by_forward(cls, name, frame.unit)
        made = (n for f in self.frames for n in liveness.made_once(f.body, f.statement_node))
        if kind != "cache" and any(self.reads.reset(cls, n) for n in made):
            kind = "memo"  # the export makes it anew, as does who resets it
        sure = kind != "cache" or any(
            d.sure for d in ((v.dims or ()) if isinstance(v, dom.Tensor) else (v,)) if isinstance(d, dom.Dim)
        )
        self.emit(observations.StateWrite, target, v.trace, sure=sure, name=name, kind=kind, read_back=read)

    def _is_of_this_run(self, frame: Running, owner: dom.Object, name: str, augmented: bool, anew: bool) -> bool:
        """True where forward has emptied or set the attribute before, or does here: nothing is left of a run before."""
        if (owner, name) in self.emptied:
            return True
        read_before = not augmented and self._read_before(frame, name)
        if (owner, name) in self.renewed and (augmented or read_before):
            return True
        if not (augmented or read_before) and self._on_every_way(owner.cls):
            self.renewed.add((owner, name))
        here = self.reads.mentioned_in(owner.cls, name) == {frame.unit.name} if anew and frame.unit else False
        if here and liveness.read_below_alone(frame.body.function, frame.statement_node, name):
            self.renewed.add((owner, name))
            return True
        return False

    def _kind_of_state(self, frame: Running, owner: dom.Object, name: str, v: Value, augmented: bool) -> str:
        """What `self.name = v` keeps from one run to the next; nothing where the answer is empty."""
        repeated = not (augmented and isinstance(v, (dom.Tensor, dom.Data, dom.Array)))
        if repeated and liveness.rewrites_itself(frame.statement_node):
            return ""  # a second run writes the same
        if augmented or name in owner.buffers:
            return "buffer" if name in owner.buffers else "counter"
        if isinstance(v, dom.Tensor) and v.source != "input":
            return "cache" if any(isinstance(d, dom.Dim) for d in v.dims or ()) else ""
        if isinstance(v, dom.Tensor):
            return "state" if self._read_before(frame, name) else "attribute"
        if isinstance(v, dom.Dim):
            return "cache"
        if isinstance(v, (dom.Data, dom.Array)):
            return "attribute"
        if isinstance(v, (dom.Const, dom.Config)) and liveness.counts_on(frame.statement_node):
            return "counter"
        is_state = isinstance(v, (dom.Tuple, dom.Dict)) and _holds_input(v) and self._read_before(frame, name)
        return "state" if is_state else ""

    def _on_every_way(self, cls: ClassInfo | None = None) -> bool:
        """True for a statement that every run of the exported forward comes to: in no arm, loop or `with`. With a
        class, every run of its own forward, where that is running, or of the method for inference around it."""
        frames = self.frames
        runs = [n for n, f in enumerate(frames) if f.unit is not None and f.unit.name.startswith(("forward", "infer"))]
        begins = (n for n in runs if frames[n].owner is cls)
        way = frames[next(begins, runs[-1] if runs and cls is not None else 0) :]
        return all(f.unit is not None and f.is_certain(f.statement_node) and not f.returns for f in way)

    def _read_on_the_way(self, cls: ClassInfo, name: str) -> bool:
        """True when something that runs before this statement may read `self.name`."""
        return self.reads.read_on_the_way([(f.unit, f.line) for f in self.frames if f.unit is not None], cls, name)

    def _read_before(self, frame: Running, name: str) -> bool:
        """True when the function that writes `self.name` reads it first (or in the same statement): it is state."""
        first = self.reads.first_read(frame.unit, name) if frame.unit is not None else None
        return first is not None and first <= frame.line


def _holds_input(v: Value) -> bool:
    """True where a tensor that depends on the inputs is in a tuple, list or dict."""
    if isinstance(v, dom.Tuple):
        return any(_holds_input(i) for i in v.items)
    if isinstance(v, dom.Dict):
        return any(_holds_input(i) for _, i in v.items)
    return isinstance(v, dom.Tensor) and v.source == "input"


def _is_row_on_the_spot(t: dom.Tensor, target: ast.Subscript) -> bool:
    """True for `t[0][index] = value`: measured with torch 2.13, TorchScript writes one item's items back."""
    row = target.value
    inner = row.slice if isinstance(row, ast.Subscript) and not isinstance(row.value, ast.Subscript) else None
    return t.view in ("row", "select", "index") and inner is not None and not isinstance(inner, (ast.Slice, ast.Tuple))
