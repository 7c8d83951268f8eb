from collections.abc import Iterator

import libcst as cst

from onnxlint.base.records import Edit, Fix, Safety
from onnxlint.flow.state.observations import Escape
from onnxlint.rules.engine import site as sites
from onnxlint.rules.engine.cst_tree import Statement
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site, dotted, has_star, keywords, positional, tight
from onnxlint.rules.engine.source_page import LeftOut
from onnxlint.rules.helpers.freed_numbers import takes_tensor
from onnxlint.rules.helpers.tables import TABLES
from onnxlint.rules.helpers.value_kinds import assigned, stripped

_NAMES = TABLES["ONX402"]
FUNCTIONS = {**{name: name for name in _NAMES["same-functions"].split()}, **_NAMES["functions"]}
METHODS = {**{name: name for name in _NAMES["same-methods"].split()}, **_NAMES["methods"]}
VALUES, KEYWORDS = _NAMES["values"], _NAMES["keywords"]
WITHOUT_AXIS = {"amax": "max", "amin": "min"}
# These read a dim where numpy reads none, or take numbers where torch takes tensors only.
MEETS = ("maximum", "minimum")
_BACK = ("torch.from_numpy", "torch.tensor", "torch.as_tensor")
_NUMBERS = ("float", "int", "bool")
LONGEST = 500  # lines of a function that is rewritten as a whole, for each of its findings


class NumpyInForward(Rule):
    """Object to numpy on tensor data in what is exported."""

    def on_escape(self, node: Node, escape: Escape) -> Objections:
        if escape.numpy:
            yield Objection(f"`{self.source(node)}` leaves torch for numpy: what comes back is a constant of the graph")

    def fix(self, site: Site) -> Fix | None:
        """Unsafe: numpy computes many things in double precision, and rounds and broadcasts in ways of its own."""
        node = site.at_span(cst.BaseExpression) or next(site.inside(cst.Call), None)
        function = site.function(node) if node is not None else None
        if function is None:
            return None
        (first, _), (last, _) = site.tree.range(function)
        if last - first > LONGEST:
            raise LeftOut
        edits = _Rewriting(site, function).edits()
        return site.fix("use the torch operators of the same meaning", Safety.UNSAFE, *edits) if edits else None


def _is_numpy(node: cst.CSTNode) -> bool:
    """`x.numpy()`."""
    match node:
        case cst.Call(cst.Attribute(attr=cst.Name("numpy")), []):
            return True
    return False


class _CannotError(Exception):
    """A part of the function has no counterpart in torch."""


class _Rewriting(cst.CSTTransformer):
    """Takes numpy out of a function; only what is computed from a tensor is touched."""

    def __init__(self, site: Site, function: cst.FunctionDef) -> None:
        super().__init__()
        self.site = site
        self.function = function
        self.numpy = site.known_as("numpy") or "np"
        self.arrays: set[str] = set()
        self.changes: list[Edit] = []

    def edits(self) -> list[Edit]:
        """All of them; none where a part cannot be said in torch."""
        self._find_arrays()
        try:
            self.function.visit(self)
        except _CannotError:
            return []
        return self.changes

    def _find_arrays(self) -> None:
        """Variables that hold arrays: what is assigned an array, until no more are found."""
        names = {n.value: n for n in sites.variables(self.function) if not sites.is_loaded(self.site, n)}
        values = {name: [v for v in assigned(self.site, node) if v is not None] for name, node in names.items()}
        while more := {name for name in values.keys() - self.arrays if any(map(self.is_array, values[name]))}:
            self.arrays |= more

    def is_array(self, node: cst.BaseExpression) -> bool:
        """Whether an expression gives an array that was computed from a tensor."""
        match node:
            case cst.Name():
                return node.value in self.arrays
            case cst.BinaryOperation():
                return self.is_array(node.left) or self.is_array(node.right)
            case cst.Comparison():
                return any(map(self.is_array, (node.left, *(c.comparator for c in node.comparisons))))
            case cst.UnaryOperation():
                return self.is_array(node.expression)
            case cst.Subscript() | cst.Attribute():
                return self.is_array(node.value)
            case cst.Call():
                if self._numpy_name(node.func):
                    return self._takes_array(node)
                return (isinstance(node.func, cst.Attribute) and self.is_array(node.func.value)) or _is_numpy(node)
        return False

    def _takes_array(self, call: cst.Call) -> bool:
        return any(self.is_array(value) for a in call.args for value in sites.elements(a.value) or [a.value])

    def _numpy_name(self, node: cst.BaseExpression) -> str:
        """`exp` of `np.exp`; empty for anything else."""
        head, _, name = dotted(node).rpartition(".")
        return name if head == self.numpy else ""

    def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> cst.CSTNode:  # type: ignore[override]
        """Change a call, and keep the change once all of what a statement holds is done."""
        site, new = self.site, updated_node
        if isinstance(original_node, cst.Attribute):
            self._check(original_node)
        elif isinstance(original_node, cst.Call) and isinstance(updated_node, cst.Call):
            new = self._changed(original_node, updated_node)
        kinds = (cst.BaseExpression, cst.BaseSmallStatement, cst.BaseCompoundStatement)
        if isinstance(original_node, cst.BaseExpression):
            if original_node.lpar:
                new = new.with_changes(lpar=original_node.lpar, rpar=original_node.rpar)
            outer = next((n for n in site.around(original_node) if isinstance(n, kinds)), None)
            if isinstance(outer, Statement) and site.tree.code(new) != site.tree.code(original_node):
                self.changes.append(site.replace(original_node, new))
        return new

    def _check(self, node: cst.Attribute) -> None:
        """Refuse what an array has and a tensor does not."""
        parent = self.site.parent(node)
        if node.attr.value in ("shape", "T", "ndim") or (isinstance(parent, cst.Call) and parent.func is node):
            return
        if sites.is_loaded(self.site, node) and self.is_array(node.value):
            raise _CannotError

    def _changed(self, call: cst.Call, new: cst.Call) -> cst.BaseExpression:
        if _is_numpy(call):
            return _without_copies(new)
        name = self._numpy_name(call.func)
        if name:
            return self._numpy_call(call, new, name) if self._takes_array(call) else new
        function, front = dotted(call.func), positional(call)
        if len(front) == 1 and self.is_array(front[0]) and function in (*_BACK, *_NUMBERS):
            if function == "int" or (function in _NUMBERS and not takes_tensor(self.site, call)):
                raise _CannotError
            return self._unwrapped(call, new)
        if isinstance(call.func, cst.Attribute) and self.is_array(call.func.value):
            return self._method(call, new, call.func.attr.value)
        if self._takes_array(call):
            raise _CannotError  # of another library
        return new

    def _unwrapped(self, call: cst.Call, new: cst.Call) -> cst.BaseExpression:
        """The one argument in the place of the call, of the data type that is asked for."""
        dtype = keywords(call).get("dtype")
        if has_star(call) or len(call.args) > (1 if dtype is None else 2):
            raise _CannotError
        value = new.args[0].value
        before, after = new.whitespace_before_args, new.args[-1].whitespace_after_arg
        if self.site.comments(before, after):
            value = value.with_changes(lpar=[cst.LeftParen(before)], rpar=[cst.RightParen(after)])
        if dtype is not None:
            if "np." in self.site.source(dtype):
                raise _CannotError
            return self.site.expression("{value}.to({dtype})", value=tight(value), dtype=dtype)
        return value if isinstance(self.site.parent(call), (cst.Assign, cst.Return)) else tight(value)

    def _numpy_call(self, call: cst.Call, new: cst.Call, name: str) -> cst.BaseExpression:
        if name == "median":
            return self._median(call)
        if name in ("array", "asarray") and len(positional(call)) == len(call.args) == 1:
            return self._unwrapped(call, new)
        function = FUNCTIONS.get(name)
        if function is None or (name in MEETS and not all(map(self.is_array, positional(call)))):
            raise _CannotError
        if function in WITHOUT_AXIS and len(call.args) == 1:
            function = WITHOUT_AXIS[function]
        func = self.site.expression(f"torch.{function}")
        return new.with_changes(func=func, args=[*self._arguments(call, new)])

    def _method(self, call: cst.Call, new: cst.Call, name: str) -> cst.BaseExpression:
        if name not in METHODS:
            raise _CannotError
        method = f"a{METHODS[name]}" if name in WITHOUT_AXIS.values() and call.args else METHODS[name]
        func = new.func.with_changes(attr=cst.Name(method))
        return new.with_changes(func=func, args=[*self._arguments(call, new)])

    def _arguments(self, call: cst.Call, new: cst.Call) -> Iterator[cst.Arg]:
        """Keywords by their names in torch, dtypes and constants of numpy by torch's."""
        for old, arg in zip(call.args, new.args, strict=True):
            word = old.keyword.value if old.keyword is not None else ""
            name = self._numpy_name(old.value)
            if old.star or word not in (*KEYWORDS, "dtype", "min", "max", "") or (name and name not in VALUES):
                raise _CannotError
            if word in KEYWORDS:
                arg = arg.with_changes(keyword=cst.Name(KEYWORDS[word]))
            yield arg.with_changes(value=self.site.expression(VALUES[name])) if name else arg

    def _median(self, call: cst.Call) -> cst.BaseExpression:
        """The mean of the two middle values."""
        tensor = call.args[0].value
        if _is_numpy(tensor) and isinstance(tensor, cst.Call) and isinstance(tensor.func, cst.Attribute):
            tensor = stripped(tensor.func.value)
        if len(positional(call)) != 1 or len(call.args) != 1 or not isinstance(tensor, (cst.Name, cst.Attribute)):
            raise _CannotError
        ordered, count = "{tensor}.flatten().sort().values", "{tensor}.numel()"
        middle = f"({ordered}[({count} - 1) // 2] + {ordered}[{count} // 2]) / 2"
        return self.site.fitted(self.site.expression(middle, tensor=tensor), call)


def _without_copies(call: cst.BaseExpression) -> cst.BaseExpression:
    """`x.detach().cpu().numpy()` as `x.detach()`."""
    match call:
        case cst.Call(cst.Attribute(inner, cst.Name("numpy" | "cpu"))):
            return _without_copies(inner)
    return call
