"""ONX402: the operators of torch in the place of numpy's, in the whole function."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from onnxlint.fix.freed import takes_tensor
from onnxlint.fix.numpy_names import FUNCTIONS, KEYWORDS, MEETS, METHODS, VALUES, WITHOUT_AXIS
from onnxlint.fix.registry import remedy
from onnxlint.fix.site import FunctionNode, LeftOut, Site
from onnxlint.fix.values import assigned, stripped
from onnxlint.records import Edit, Fix, Safety

_BACK = ("torch.from_numpy", "torch.tensor", "torch.as_tensor")
_NUMBERS = ("float", "int", "bool")
LONGEST = 500  # lines of a function that is rewritten as a whole, for each of its findings


@remedy("ONX402", Safety.UNSAFE)
def stay_in_torch(site: Site) -> Fix | None:
    """Unsafe: numpy computes many things in double precision, and rounds and broadcasts in ways of its own."""
    node = site.at_span(ast.expr) or next(site.inside(ast.Call), None)
    function = site.function(node) if node is not None else None
    if function is None:
        return None
    if (function.end_lineno or 0) - function.lineno > LONGEST:
        raise LeftOut
    edits = _Rewriting(site, function).edits()
    return site.fix("use the torch operators of the same meaning", Safety.UNSAFE, *edits) if edits else None


class _CannotError(Exception):
    """A part of the function has no counterpart in torch."""


class _Rewriting:
    """The edits that take numpy out of a function; only what is computed from a tensor is touched."""

    def __init__(self, site: Site, function: FunctionNode) -> None:
        self.site = site
        self.function = function
        self.numpy = site.page.imports.get("numpy", "np")
        self.arrays: set[str] = set()

    def edits(self) -> list[Edit]:
        """All of them; none where a part cannot be said in torch."""
        self._find_arrays()
        try:
            edits = [edit for node in ast.walk(self.function) for edit in self._of(node)]
        except _CannotError:
            return []
        whole = [e for e in edits if ".sort()" in e.text]  # what is written anew has no edits within
        return [e for e in edits if e in whole or not any(w.start <= e.start and e.end <= w.end for w in whole)]

    def _find_arrays(self) -> None:
        """Variables that hold arrays: what is assigned an array, until no more are found."""
        names = {n.id: n for n in ast.walk(self.function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        grown = True
        while grown:
            grown = False
            for name, node in names.items():
                values = [v for v in assigned(self.site, node) if v is not None]
                if name not in self.arrays and any(map(self.is_array, values)):
                    self.arrays.add(name)
                    grown = True

    def is_array(self, node: ast.expr) -> bool:
        """Whether an expression gives an array that was computed from a tensor."""
        if isinstance(node, ast.Name):
            return node.id in self.arrays
        if isinstance(node, (ast.BinOp, ast.Compare)):
            return any(self.is_array(n) for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr))
        if isinstance(node, ast.UnaryOp):
            return self.is_array(node.operand)
        if isinstance(node, (ast.Subscript, ast.Attribute)):
            return self.is_array(node.value)
        if not isinstance(node, ast.Call):
            return False
        if isinstance(node.func, ast.Attribute) and node.func.attr == "numpy" and not node.args:
            return True
        if self._numpy_name(node.func):
            return any(map(self.is_array, self._given(node)))
        if self.site.source(node.func) in _NUMBERS:
            return False
        return isinstance(node.func, ast.Attribute) and self.is_array(node.func.value)

    def _given(self, call: ast.Call) -> Iterator[ast.expr]:
        for value in (*call.args, *(k.value for k in call.keywords)):
            yield from value.elts if isinstance(value, (ast.List, ast.Tuple)) else (value,)

    def _numpy_name(self, node: ast.expr) -> str:
        """`exp` of `np.exp`; empty for anything else."""
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == self.numpy:
            return node.attr
        return ""

    def _of(self, node: ast.AST) -> list[Edit]:
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and self.is_array(node.value):
            parent = self.site.region.parents.get(node)
            called = isinstance(parent, ast.Call) and parent.func is node
            if not called and node.attr not in ("shape", "T", "ndim"):
                raise _CannotError
        return []

    def _call(self, call: ast.Call) -> list[Edit]:
        site, name = self.site, self._numpy_name(call.func)
        if isinstance(call.func, ast.Attribute) and call.func.attr == "numpy" and not call.args:
            return [self._without(call)]
        if name:
            return self._numpy_call(call, name) if any(map(self.is_array, self._given(call))) else []
        text = site.source(call.func)
        if text in _BACK and len(call.args) == 1 and self.is_array(call.args[0]):
            return self._unwrapped(call)
        if text in _NUMBERS and len(call.args) == 1 and self.is_array(call.args[0]):
            if text == "int" or not takes_tensor(site, call):
                raise _CannotError
            return self._unwrapped(call)
        if isinstance(call.func, ast.Attribute) and self.is_array(call.func.value):
            return self._method(call, call.func)
        if any(map(self.is_array, self._given(call))):
            raise _CannotError  # of another library
        return []

    def _without(self, call: ast.Call) -> Edit:
        """`x.detach().cpu().numpy()` as `x.detach()`."""
        inner = call.func.value if isinstance(call.func, ast.Attribute) else call
        while isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr == "cpu":
            inner = inner.func.value
        return self.site.splice(self.site.page.range(inner)[1], self.site.page.range(call)[1], "")

    def _unwrapped(self, call: ast.Call) -> list[Edit]:
        """The one argument in the place of the call."""
        site, (start, end) = self.site, self.site.page.range(call)
        low, high = site.page.range(call.args[0])
        kept = [f".to({site.source(k.value)})" for k in call.keywords if k.arg == "dtype"]
        if len(kept) < len(call.keywords) or any("np." in text for text in kept):
            raise _CannotError
        alone = isinstance(site.region.parents.get(call), (ast.Assign, ast.Return)) and not kept
        loose = not alone and not isinstance(call.args[0], (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
        opened, closed = ("(", ")") if loose else ("", "")
        return [site.splice(start, low, opened), site.splice(high, end, closed + "".join(kept))]

    def _numpy_call(self, call: ast.Call, name: str) -> list[Edit]:
        site = self.site
        if name == "median":
            return self._median(call)
        if name in ("array", "asarray") and len(call.args) == 1 and not call.keywords:
            return self._unwrapped(call)
        new = FUNCTIONS.get(name)
        if new is None or any(isinstance(a, ast.Starred) for a in call.args):
            raise _CannotError
        if name in MEETS and not all(map(self.is_array, call.args)):
            raise _CannotError
        if new in WITHOUT_AXIS and len(call.args) == 1 and not call.keywords:
            new = WITHOUT_AXIS[new]
        return [site.replace(call.func, f"torch.{new}"), *self._arguments(call)]

    def _method(self, call: ast.Call, function: ast.Attribute) -> list[Edit]:
        new = METHODS.get(function.attr)
        if new in ("max", "min") and (call.args or call.keywords):
            new = f"a{new}"
        if new is None:
            raise _CannotError
        end = self.site.page.range(function)[1]
        edits = [] if new == function.attr else [self.site.splice(end - len(function.attr), end, new)]
        return [*edits, *self._arguments(call)]

    def _arguments(self, call: ast.Call) -> list[Edit]:
        """Keywords by their names in torch, dtypes and constants of numpy by torch's."""
        site, edits = self.site, []
        for keyword in call.keywords:
            if keyword.arg in KEYWORDS:
                start = site.page.offset(keyword.lineno, keyword.col_offset)
                edits.append(site.splice(start, start + len(keyword.arg), KEYWORDS[keyword.arg]))
            elif keyword.arg not in ("dtype", "min", "max"):
                raise _CannotError
        for value in (*call.args, *(k.value for k in call.keywords)):
            name = self._numpy_name(value)
            if name:
                if name not in VALUES:
                    raise _CannotError
                edits.append(site.replace(value, VALUES[name]))
        return edits

    def _median(self, call: ast.Call) -> list[Edit]:
        """The mean of the two middle values."""
        site = self.site
        if len(call.args) != 1 or call.keywords:
            raise _CannotError
        tensor = call.args[0]
        if isinstance(tensor, ast.Call) and isinstance(tensor.func, ast.Attribute) and tensor.func.attr == "numpy":
            tensor = stripped(site, tensor.func.value)
        if not isinstance(tensor, (ast.Name, ast.Attribute)):
            raise _CannotError
        text = site.source(tensor)
        ordered, count = f"{text}.flatten().sort().values", f"{text}.numel()"
        told = f"({ordered}[({count} - 1) // 2] + {ordered}[{count} // 2]) / 2"
        parent = site.region.parents.get(call)
        while isinstance(parent, ast.Call) and site.source(parent.func) in _NUMBERS:
            parent = site.region.parents.get(parent)
        return [site.replace(call, told if isinstance(parent, ast.Assign) else f"({told})")]
