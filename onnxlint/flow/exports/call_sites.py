"""An export call as its function is written: what its arguments are made of, and what happens around it.

The dataflow knows what a value is; here is read how the source spells it: wrappers, precision, `Dim` objects, and what
follows the call. A name stands for its last assignment above; where that cannot be told, nothing is said.
"""

import ast
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TypeVar

from onnxlint.flow.exports.export_scopes import CASTS, EXPORTING, LOADS, Scope, bound_names, scope_of
from onnxlint.flow.state.observations import AskedDim
from onnxlint.flow.tables import DTYPES, NAMES
from onnxlint.flow.values.node_places import argument
from onnxlint.project.classes import ModuleInfo
from onnxlint.project.modules import moved
from onnxlint.project.outline import dotted

WRAPPERS = {"torch.jit.script": "script", "torch.jit.trace": "trace", "torch.compile": "compile"}
KEEPS = frozenset(NAMES["keeps-precision"])
_FLOAT_MAKERS = frozenset(("rand", "randn", "zeros", "ones", "empty", "linspace", "eye"))
_DOUBLE_MAKERS = frozenset(NAMES["double-makers"])
_DTYPE_AT = {"numpy.zeros": 1, "numpy.ones": 1, "numpy.empty": 1, "numpy.eye": 3}  # its position
_FROM_NUMPY = frozenset(("torch.from_numpy", "torch.tensor", "torch.as_tensor", "torch.asarray"))
LATER = 1000  # statements after a call that may load other weights
_Key = TypeVar("_Key")


class CallSite:
    """One call in the function (or the module) it stands in. Lines are those of the scope's tree."""

    def __init__(self, module: ModuleInfo, scope: Scope, call: ast.Call, shift: int = 0) -> None:
        self.module = module
        self.scope = scope
        self.call = call
        self.shift = shift  # what its lines lack to those of the file
        self.within = scope_of(module, scope)
        self.name_of = self.within.name_of
        self._dtype = self.within.dtype

    def resolve(self, node: ast.expr | None, before: int | None = None) -> ast.expr | None:
        """What a name was last set to above line `before` (by default: above the call); other expressions unchanged."""
        for _ in range(8):
            if not isinstance(node, ast.Name):
                return node
            node, before = self._assigned(node.id, before if before is not None else self.call.lineno) or (None, 0)
        return None

    def _assigned(self, name: str, before: int) -> tuple[ast.expr, int] | None:
        last = self.within.last_bound(name, before)
        if last is not None:
            line, value = last
            end = self.call.end_lineno or self.call.lineno
            # In an arm or a loop that the call stands outside of, it may not have run.
            perhaps = any(not first <= end <= last for first, last in self.within.blocks_around(line))
            return (value, line) if value is not None and not perhaps else None
        if isinstance(self.scope, ast.Module):
            return None
        if name not in (p.arg for p in ast.walk(self.scope.args) if isinstance(p, ast.arg)):
            statement = self.module.assigns.get(name)
            if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
                return moved(statement.value, -self.shift), 1
        return None

    def wrapping(self, model: ast.expr | None) -> str:
        """`script`, `trace`, `compile` or `parallel` for a model wrapped so; "" for any other."""
        made = self._made(model)
        name = self.name_of(made.func) if isinstance(made, ast.Call) else ""
        if name.startswith("torch.nn.") and name.endswith("DataParallel"):
            return "parallel"
        bare = name == "torch.compile" and isinstance(made, ast.Call) and not made.args
        return WRAPPERS.get(name, "") if not bare else ""

    def _made(self, node: ast.expr | None, before: int | None = None) -> ast.expr | None:
        """The expression that makes a value, without `.eval()` and moves to a device."""
        node = self.resolve(node, before)
        while (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in {*KEEPS, "to"}
            and not self.name_of(node.func).startswith(("torch.", "numpy."))
        ):
            node = self.resolve(node.func.value, node.lineno)
        return node

    def precision(self, node: ast.expr | None, default: str | None = None, before: int | None = None) -> str | None:
        """The floating dtype of a tensor or module expression; `default` for what a call of unknown kind makes."""
        before = before if before is not None else self.call.lineno
        if isinstance(node, ast.Name):
            value, start = self._assigned(node.id, before) or (None, 0)
            cast = self.within.cast(node.id, start, before)
            return cast if cast is not None or value is None else self.precision(value, default, start)
        if not isinstance(node, ast.Call):
            return None
        name = self.name_of(node.func)
        if name.startswith("torch."):
            return self._made_by_torch(node, name[6:], before)
        if isinstance(node.func, ast.Attribute) and not name.startswith("numpy."):
            method = node.func.attr
            if method in CASTS:
                return DTYPES[method]
            if method in ("to", "type"):
                dtypes = [d for a in [*node.args, *(k.value for k in node.keywords)] if (d := self._dtype(a))]
                return dtypes[0] if dtypes else self.precision(node.func.value, default, before)
            if method in KEEPS:
                return self.precision(node.func.value, default, before)
        return default

    def _made_by_torch(self, node: ast.Call, name: str, before: int) -> str | None:
        dtype = argument(node, "dtype")
        if dtype is not None:
            return self._dtype(dtype)
        if name in _FLOAT_MAKERS:
            return "float32"
        if f"torch.{name}" in _FROM_NUMPY and node.args:
            return self._array(self.resolve(node.args[0], before))
        return None

    def _array(self, node: ast.expr | None) -> str | None:
        """The dtype of a numpy expression that is certainly of floats."""
        if not isinstance(node, ast.Call):
            return None
        cast = isinstance(node.func, ast.Attribute) and node.func.attr == "astype"
        name = self.name_of(node.func)
        dtype = argument(node, "dtype", 0 if cast else _DTYPE_AT.get(name))
        if dtype is not None:
            return self._dtype(dtype)
        return "float64" if name.startswith("numpy.") and name[6:] in _DOUBLE_MAKERS else None

    def autocast(self) -> str | None:
        """The dtype of a `torch.autocast` on the CPU that the call stands in."""
        items = (item.context_expr for node in self.within.withs.get(id(self.call), ()) for item in node.items)
        for context in (item for item in items if isinstance(item, ast.Call)):
            name = self.name_of(context.func)
            on_cpu = any(isinstance(a, ast.Constant) and a.value == "cpu" for a in context.args)
            if name == "torch.cpu.amp.autocast" or (name in ("torch.autocast", "torch.amp.autocast") and on_cpu):
                dtype = argument(context, "dtype")
                return self._dtype(dtype) if dtype is not None else "bfloat16"
        return None

    def repeated(self, args: ast.expr | None) -> set[int]:
        """The positions of inputs that are an earlier input's variable again."""
        names = [item.id if isinstance(item, ast.Name) else None for item in self.elements(args)]
        return {i for i, name in enumerate(names) if name is not None and name in names[:i]}

    def elements(self, args: ast.expr | None) -> list[ast.expr]:
        """The expressions of the positional inputs."""
        node = self.resolve(args)
        if isinstance(node, (ast.Tuple, ast.List)):
            return list(node.elts)
        return [args] if args is not None else []

    def asked_dims(self, shapes: ast.expr | None) -> tuple[AskedDim, ...]:
        """Every axis that `dynamic_shapes` speaks of, by name or position of the input; nested structures left out."""
        inputs = self._entries(
            shapes, lambda n: n.value if isinstance(n, ast.Constant) and isinstance(n.value, str) else None
        )
        return tuple(self._dim(which, i, dim) for which, value in inputs for i, dim in self._entries(value, _integer))

    def _entries(
        self, written: ast.expr | None, key_of: Callable[[ast.expr | None], _Key | None]
    ) -> list[tuple[_Key | int, ast.expr]]:
        """What a dict holds under keys of one kind, or a sequence at its positions."""
        node = self.resolve(written)
        if isinstance(node, ast.Dict):
            return [(key, v) for k, v in zip(node.keys, node.values, strict=True) if (key := key_of(k)) is not None]
        return [*enumerate(node.elts)] if isinstance(node, (ast.Tuple, ast.List)) else []

    def _dim(self, which: str | int, axis: int, node: ast.expr) -> AskedDim:
        made, label, place = self.resolve(node), ast.unparse(node), (node.lineno, node.col_offset)
        if isinstance(made, ast.Constant):
            kind = "name" if isinstance(made.value, str) else "none" if made.value is None else "number"
            return AskedDim(which, axis, kind, str(made.value), place)
        name = self.name_of(made.func if isinstance(made, ast.Call) else made) if made is not None else ""
        if name.endswith("Dim") and name.startswith("torch.export") and isinstance(made, ast.Call):
            low, high = _integer(argument(made, "min")), _integer(argument(made, "max"))
            # Two calls make two objects; one variable used twice is one.
            identity = node.id if isinstance(node, ast.Name) else f"{label} {node.lineno}:{node.col_offset}"
            return AskedDim(which, axis, "Dim", identity, place, low, high)
        last = name.rpartition(".")[2]
        kind = last if "Dim." in name and last in ("AUTO", "DYNAMIC", "STATIC") else "unknown"
        return AskedDim(which, axis, kind, label, place)

    def later_loads(self, model: ast.expr | None) -> tuple[ast.expr, ...]:
        """Statements after the call that give the model other weights, unless another export follows them."""
        name = dotted(model) if isinstance(model, (ast.Name, ast.Attribute)) else ""
        if not name:
            return ()
        end = self.call.end_lineno or self.call.lineno
        loads: list[ast.expr] = []
        for statement in islice(self._after(), LATER):
            for node in self.within.loads_in(statement):
                if node.lineno <= end:
                    continue
                if self.name_of(node.func).startswith(EXPORTING):
                    return ()  # the next file gets those weights
                if self._loads(node, name):
                    loads.append(node)
            if any(name in bound_names(target) for target in _targets(statement)):
                break
        return tuple(loads)

    def _loads(self, node: ast.Call, model: str) -> bool:
        if isinstance(node.func, ast.Attribute) and dotted(node.func.value) == model:
            return LOADS.fullmatch(node.func.attr) is not None
        last = dotted(node.func).rpartition(".")[2]
        first = dotted(node.args[0]) if node.args and isinstance(node.args[0], (ast.Name, ast.Attribute)) else ""
        return first == model and LOADS.fullmatch(last) is not None

    def _after(self) -> Iterator[ast.stmt]:
        """The statements that run after the one with the call: later ones of its block, and of the blocks around it."""
        for block, index in reversed(self.within.way_to(self.call)):
            yield from islice(block, index + 1, None)


def _targets(statement: ast.stmt) -> list[ast.expr]:
    if isinstance(statement, (ast.Assign, ast.Delete)):
        return statement.targets
    return [statement.target] if isinstance(statement, (ast.AnnAssign, ast.For)) else []


def _integer(node: ast.expr | None) -> int | None:
    match node:
        case ast.UnaryOp(ast.USub(), operand):
            inner = _integer(operand)
            return -inner if inner is not None else None
        case ast.Constant(int(number)) if not isinstance(number, bool):
            return number
    return None
