"""What an expression is, as far as its text and what the dataflow knew of the variables tell: a tensor, a size."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from onnxlint.fix.site import FunctionNode, Site

# Methods of a tensor that give a Python value, or something else that is no tensor.
_NOT_TENSORS = frozenset(
    (
        *("size", "dim", "ndimension", "numel", "nelement", "item", "tolist", "numpy", "stride", "storage_offset"),
        *("data_ptr", "element_size", "get_device", "is_contiguous", "is_floating_point", "type"),
    )
)
_PLAIN_ATTRIBUTES = frozenset(("shape", "ndim", "dtype", "device", "requires_grad", "is_cuda", "layout", "training"))
_BUILTINS = frozenset(dir(builtins))
_TRUTHS = frozenset(
    (
        *("any", "all", "isnan", "isinf", "isfinite", "isin", "eq", "ne", "lt", "le", "gt", "ge", "isclose"),
        *("logical_and", "logical_or", "logical_not", "logical_xor", "signbit", "isneginf", "isposinf"),
    )
)


class Values:
    """Answers for the expressions of one site; `bound` adds variables that a fix itself knows to be tensors."""

    def __init__(self, site: Site, bound: dict[str, bool] | None = None) -> None:
        self.site = site
        self.bound = bound if bound is not None else {}

    def told(self, name: str) -> str:
        """What the dataflow knew of a variable: see flow/known.py."""
        return self.site.hint(f"${name}")

    def is_tensor(self, node: ast.expr) -> bool:
        """Whether an expression gives a tensor, as far as can be told; what is not known is taken for none."""
        if isinstance(node, ast.Name):
            if node.id in self.bound:
                return self.bound[node.id]
            return self.told(node.id).startswith(("tensor", "weight", "made"))
        if isinstance(node, ast.BinOp):
            return self.is_tensor(node.left) or self.is_tensor(node.right)
        if isinstance(node, ast.UnaryOp):
            return not isinstance(node.op, ast.Not) and self.is_tensor(node.operand)
        if isinstance(node, ast.Compare):
            plain = all(not isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for op in node.ops)
            return plain and len(node.ops) == 1 and any(map(self.is_tensor, (node.left, *node.comparators)))
        if isinstance(node, ast.Subscript):
            return self.is_tensor(node.value)
        if isinstance(node, ast.IfExp):
            return self.is_tensor(node.body) and self.is_tensor(node.orelse)
        if isinstance(node, ast.Attribute):
            return node.attr not in _PLAIN_ATTRIBUTES and self.is_tensor(node.value)
        return isinstance(node, ast.Call) and self._call_gives_tensor(node)

    def _call_gives_tensor(self, node: ast.Call) -> bool:
        given = [*node.args, *(k.value for k in node.keywords)]
        if isinstance(node.func, ast.Attribute):
            if node.func.attr in _NOT_TENSORS:
                return False
            if self.is_tensor(node.func.value):
                return True
        if isinstance(node.func, ast.Name) and node.func.id in _BUILTINS:
            return node.func.id in ("sum", "abs", "pow") and any(map(self.is_tensor, given))
        # A layer, an operator or a helper makes tensors of tensors.
        return any(map(self.is_tensor, given))

    def sizes(self, node: ast.expr) -> list[str] | None:
        """The sizes of a variable that is a tensor, as flow/known.py writes them."""
        return sizes_of(self.told(node.id)) if isinstance(node, ast.Name) else None

    def is_size(self, node: ast.expr, seen: frozenset[str] = frozenset()) -> bool:
        """Whether an expression is a whole number made of sizes and integers alone, by `+ - * // %`."""
        if isinstance(node, ast.Constant):
            return type(node.value) is int
        if isinstance(node, ast.BinOp):
            whole = isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod))
            return whole and self.is_size(node.left, seen) and self.is_size(node.right, seen)
        if isinstance(node, ast.UnaryOp):
            return isinstance(node.op, ast.USub) and self.is_size(node.operand, seen)
        if isinstance(node, ast.Subscript):
            return _is_shape(node.value) and not isinstance(node.slice, ast.Slice)
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute):
                return node.func.attr == "size" and len(node.args) == 1 and not node.keywords
            return isinstance(node.func, ast.Name) and node.func.id in ("len", "int")
        if isinstance(node, ast.Name) and node.id not in seen:
            if self.told(node.id).startswith("dim:"):
                return True
            given = list(assigned(self.site, node))
            return bool(given) and all(
                v is not None and (v is SHAPE or self.is_size(v, seen | {node.id})) for v in given
            )
        return False


SHAPE = ast.Name(id="shape", ctx=ast.Load())  # stands for what unpacking a shape, or looping over it, gives


def assigned(site: Site, name: ast.Name) -> Iterator[ast.expr | None]:
    """What a local variable is assigned in its function: SHAPE for a part of a shape, None for what cannot be told."""
    function = site.function(name)
    if function is None:
        yield None
        return
    arguments = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    if any(a.arg == name.id for a in arguments):
        yield None
    for node in site.region.bindings(function, name.id):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from _bound(target, node.value, name.id)
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)):
            target = node.target
            if isinstance(target, ast.Name) and target.id == name.id:
                yield None if isinstance(node, ast.AugAssign) else node.value
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
            target = node.target
            if name.id in names_in(target):
                yield SHAPE if isinstance(target, ast.Name) and _is_shape_part(node.iter) else None


def _bound(target: ast.expr, value: ast.expr, name: str) -> Iterator[ast.expr | None]:
    if isinstance(target, ast.Name):
        if target.id == name:
            yield value
    elif isinstance(target, (ast.Tuple, ast.List)):
        for position, item in enumerate(target.elts):
            if isinstance(item, ast.Name) and item.id == name:
                if _is_shape_part(value):
                    yield SHAPE
                elif isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
                    yield value.elts[position]
                else:
                    yield None
            elif any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(item)):
                yield None


def _is_shape(node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr == "shape"
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "size"
        and not node.args
    )


def _is_shape_part(node: ast.expr) -> bool:
    return _is_shape(node) or (
        isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and _is_shape(node.value)
    )


def sizes_of(told: str) -> list[str] | None:
    """The sizes in a description of a tensor; None where its rank is not known."""
    head, colon, sizes = told.partition(":")
    if not colon or head.partition("/")[0] not in ("tensor", "weight", "made", "guess"):
        return None
    return sizes.split(",") if sizes else []


def stripped(site: Site, node: ast.expr) -> ast.expr:
    """An expression without the conversions to a Python number around it: `float(t)`, `t.item()`, `.detach().cpu()`."""
    while isinstance(node, ast.Call) and not node.keywords:
        if isinstance(node.func, ast.Attribute) and not node.args:
            if node.func.attr not in ("item", "detach", "cpu"):
                break
            node = node.func.value
        elif isinstance(node.func, ast.Name) and node.func.id in ("float", "bool") and len(node.args) == 1:
            node = node.args[0]
        else:
            break
    return node


def condition(values: Values, test: ast.expr) -> str | None:
    """The test as an expression whose value is a boolean tensor; None where it is not only about tensors."""
    site = values.site
    test = stripped(site, test)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = condition(values, test.operand)
        return None if inner is None else f"torch.logical_not({inner})"
    if isinstance(test, ast.BoolOp):
        parts = [condition(values, value) for value in test.values]
        word = "torch.logical_and" if isinstance(test.op, ast.And) else "torch.logical_or"
        told = parts[0]
        for part in parts[1:]:
            if told is None or part is None:
                return None
            told = f"{word}({told}, {part})"
        return told
    if isinstance(test, ast.Compare):
        return _comparison(values, test)
    if not values.is_tensor(test):
        return None
    if isinstance(test, ast.Call):
        name = test.func.attr if isinstance(test.func, ast.Attribute) else getattr(test.func, "id", "")
        if name == "equal" and len(test.args) == 2:
            return f"({site.operand(test.args[0])} == {site.operand(test.args[1])}).all()"
        if name == "allclose" and isinstance(test.func, ast.Attribute):
            called = site.source(test.func.value)
            start = site.page.range(test.func)[1]
            return f"{called}.isclose{site.page.text[start : site.page.range(test)[1]]}.all()"
        if name in _TRUTHS:
            return site.source(test)
        if site.at_span(ast.Call) is test and site.hint("$").startswith("tensor/bool"):
            return site.source(test)  # the dataflow knows what the function returns
    if isinstance(test, ast.Name) and not values.told(test.id).startswith("tensor/bool"):
        return None  # a flag under a tensor's name is likelier than a number that is asked for being other than zero
    return f"{site.operand(test)} != 0"


def _comparison(values: Values, test: ast.Compare) -> str | None:
    site = values.site
    sides = [stripped(site, side) for side in (test.left, *test.comparators)]
    if any(isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for op in test.ops):
        return None
    words = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
    told: str | None = None
    for left, op, right in zip(sides, test.ops, sides[1:], strict=False):
        if not (values.is_tensor(left) or values.is_tensor(right)):
            return None
        part = f"{_side(site, left)} {words[type(op)]} {_side(site, right)}"
        told = part if told is None else f"torch.logical_and({told}, {part})"
    return told


def _side(site: Site, node: ast.expr) -> str:
    loose = (ast.Compare, ast.BoolOp, ast.IfExp, ast.Lambda, ast.NamedExpr)
    return (
        f"({site.source(node)})"
        if isinstance(node, loose) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not))
        else site.source(node)
    )


# What these give may have another shape than what they are given.
_RESHAPES = frozenset(
    (
        *("view", "reshape", "flatten", "unflatten", "transpose", "permute", "t", "squeeze", "unsqueeze", "expand"),
        *("repeat", "tile", "rearrange", "reduce", "einsum", "cat", "stack", "concat", "pad", "interpolate", "roll"),
        *(
            "sum",
            "mean",
            "max",
            "min",
            "amax",
            "amin",
            "prod",
            "any",
            "all",
            "gather",
            "index_select",
            "matmul",
            "movedim",
        ),
    )
)


def may_reshape(node: ast.expr) -> bool:
    """Whether an expression may have another shape than the tensors in it, as far as its outermost operator tells."""
    if isinstance(node, ast.Subscript):
        return True
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in ("contiguous", "clone", "to", "float", "type_as") and isinstance(node.func, ast.Attribute):
            return may_reshape(node.func.value)
        return name in _RESHAPES
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)


def names_in(*nodes: ast.AST) -> set[str]:
    """The names that occur in some nodes."""
    return {n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)}


def fresh(site: Site, function: FunctionNode, wanted: str) -> str:
    """A name like `wanted` that the function does not use."""
    taken = site.region.once(_taken, function)
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted}_{number}", number + 1
    return name


def _taken(function: FunctionNode) -> set[str]:
    return names_in(function) | {a.arg for a in ast.walk(function) if isinstance(a, ast.arg)}
