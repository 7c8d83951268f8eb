"""What an expression is, as far as its tree and what the dataflow knew of the variables tell: a tensor, a size."""

import builtins
from collections.abc import Collection, Iterator

import libcst as cst

from onnxlint.flow.tables import NAMES
from onnxlint.rules.engine.cst_tree import walk
from onnxlint.rules.engine.site import Site, bare, call_name, elements, indices, names_in, operand, positional

_NOT_TENSORS = frozenset(NAMES["methods-without-tensor"])
_PLAIN_ATTRIBUTES = frozenset(("shape", "ndim", "dtype", "device", "requires_grad", "is_cuda", "layout", "training"))
_BUILTINS = frozenset(dir(builtins))
_TRUTHS = frozenset(NAMES["truths"])
_IDENTITY = (cst.Is, cst.IsNot, cst.In, cst.NotIn)
_BOTH, _EITHER = "torch.logical_and({left}, {right})", "torch.logical_or({left}, {right})"
_WHOLE = (cst.Add, cst.Subtract, cst.Multiply, cst.FloorDivide, cst.Modulo)


class Values:
    """Answers for the expressions of one site; `tensors` are variables that a fix itself knows to be some."""

    def __init__(self, site: Site, tensors: Collection[str] = ()) -> None:
        self.site = site
        self.tensors = tensors

    def is_tensor(self, node: cst.BaseExpression) -> bool:
        """Whether an expression gives a tensor, as far as can be told; what is not known is taken for none."""
        match node:
            case cst.Name():
                kind = self.site.value(node.value)
                return node.value in self.tensors or kind.startswith(("tensor", "weight", "made"))
            case cst.BinaryOperation():
                return self.is_tensor(node.left) or self.is_tensor(node.right)
            case cst.UnaryOperation():
                return not isinstance(node.operator, cst.Not) and self.is_tensor(node.expression)
            case cst.Comparison(comparisons=[one]):
                plain = not isinstance(one.operator, _IDENTITY)
                return plain and (self.is_tensor(node.left) or self.is_tensor(one.comparator))
            case cst.Subscript():
                return self.is_tensor(node.value)
            case cst.IfExp():
                return self.is_tensor(node.body) and self.is_tensor(node.orelse)
            case cst.Attribute():
                return node.attr.value not in _PLAIN_ATTRIBUTES and self.is_tensor(node.value)
        return isinstance(node, cst.Call) and self._call_gives_tensor(node)

    def _call_gives_tensor(self, node: cst.Call) -> bool:
        tensors = (self.is_tensor(a.value) for a in node.args if not a.star)
        match node.func:
            case cst.Attribute(value, cst.Name(name)):
                return name not in _NOT_TENSORS and (self.is_tensor(value) or any(tensors))
            case cst.Name(name) if name in _BUILTINS:
                return name in ("sum", "abs", "pow") and any(tensors)
        return any(tensors)  # a layer, an operator or a helper makes tensors of tensors

    def sizes(self, node: cst.BaseExpression) -> list[str] | None:
        """The sizes of a variable that is a tensor, as flow/state/variable_kinds.py writes them."""
        return sizes_of(self.site.value(node.value)) if isinstance(node, cst.Name) else None

    def is_size(self, node: cst.BaseExpression, seen: frozenset[str] = frozenset()) -> bool:
        """Whether an expression is a whole number made of sizes and integers alone, by `+ - * // %`."""
        match node:
            case cst.Integer():
                return True
            case cst.BinaryOperation():
                whole = isinstance(node.operator, _WHOLE)
                return whole and self.is_size(node.left, seen) and self.is_size(node.right, seen)
            case cst.UnaryOperation():
                return isinstance(node.operator, cst.Minus) and self.is_size(node.expression, seen)
            case cst.Subscript():
                return is_shape(node.value) and not any(isinstance(i, cst.Slice) for i in indices(node))
            case cst.Call(func=cst.Attribute()):
                return call_name(node) == "size" and len(node.args) == 1 == len(positional(node))
            case cst.Call():
                return call_name(node) in ("len", "int")
            case cst.Name() if node.value not in seen:
                if self.site.value(node.value).startswith("dim:"):
                    return True
                values = list(assigned(self.site, node))
                more = seen | {node.value}
                return bool(values) and all(v is not None and (v is SHAPE or self.is_size(v, more)) for v in values)
        return False


SHAPE = cst.Name("shape")  # stands for what unpacking a shape, or looping over it, gives


def assigned(site: Site, name: cst.Name) -> Iterator[cst.BaseExpression | None]:
    """What a local variable is assigned in its function: SHAPE for a part of a shape, None for what cannot be told."""
    function = site.function(name)
    if function is None:
        yield None
        return
    wanted = name.value
    if wanted in parameters(function):
        yield None
    for node, target in site.bindings(function, wanted):
        if isinstance(node, cst.Assign):
            yield from _bound(target, node.value, wanted)
        elif isinstance(node, (cst.For, cst.CompFor)):
            yield SHAPE if isinstance(target, cst.Name) and _is_shape_part(node.iter) else None
        elif isinstance(node, (cst.AnnAssign, cst.AugAssign, cst.NamedExpr)) and isinstance(target, cst.Name):
            yield None if isinstance(node, cst.AugAssign) else node.value


def parameters(function: cst.FunctionDef) -> list[str]:
    """The names of a function's parameters, without those under stars, in order."""
    params = function.params
    return [p.name.value for p in (*params.posonly_params, *params.params, *params.kwonly_params)]


def _bound(target: cst.BaseExpression, value: cst.BaseExpression, name: str) -> Iterator[cst.BaseExpression | None]:
    if isinstance(target, cst.Name):
        if target.value == name:
            yield value
    elif isinstance(target, (cst.Tuple, cst.List)):
        values = elements(value)
        for position, item in enumerate(target.elements):
            if isinstance(item.value, cst.Name) and item.value.value == name and isinstance(item, cst.Element):
                if _is_shape_part(value):
                    yield SHAPE
                elif values is not None and len(values) == len(target.elements):
                    yield values[position]
                else:
                    yield None
            elif name in names_in(item):
                yield None


def is_shape(node: cst.BaseExpression) -> bool:
    """True for `x.shape` and `x.size()`."""
    match node:
        case cst.Attribute(attr=cst.Name("shape")) | cst.Call(cst.Attribute(attr=cst.Name("size")), []):
            return True
    return False


def _is_shape_part(node: cst.BaseExpression) -> bool:
    if isinstance(node, cst.Subscript) and any(isinstance(i, cst.Slice) for i in indices(node)):
        return is_shape(node.value)
    return is_shape(node)


def sizes_of(description: str) -> list[str] | None:
    """The sizes in a description of a tensor; None where its rank is not known."""
    head, colon, sizes = description.partition(":")
    if not colon or head.partition("/")[0] not in ("tensor", "weight", "made", "guess"):
        return None
    return sizes.split(",") if sizes else []


def stripped(node: cst.BaseExpression) -> cst.BaseExpression:
    """An expression without the conversions to a Python number around it: `float(t)`, `t.item()`, `.detach().cpu()`."""
    while isinstance(node, cst.Call) and not any(a.keyword or a.star for a in node.args):
        if isinstance(node.func, cst.Attribute) and not node.args:
            if node.func.attr.value not in ("item", "detach", "cpu"):
                break
            node = node.func.value
        elif isinstance(node.func, cst.Name) and node.func.value in ("float", "bool") and len(node.args) == 1:
            node = node.args[0].value
        else:
            break
    return node


def condition(values: Values, test: cst.BaseExpression) -> cst.BaseExpression | None:
    """The test as an expression whose value is a boolean tensor; None where it is not only about tensors."""
    site = values.site
    test = bare(stripped(test))
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        inner = condition(values, test.expression)
        return None if inner is None else site.expression("torch.logical_not({inner})", inner=inner)
    if isinstance(test, cst.BooleanOperation):
        left, right = condition(values, test.left), condition(values, test.right)
        if left is None or right is None:
            return None
        return site.expression(_BOTH if isinstance(test.operator, cst.And) else _EITHER, left=left, right=right)
    if isinstance(test, cst.Comparison):
        return _comparison(values, test)
    if not values.is_tensor(test):
        return None
    if isinstance(test, cst.Call):
        name = call_name(test)
        if name == "equal" and len(test.args) == 2:
            one, other = (operand(argument.value) for argument in test.args)
            return site.expression("({one} == {other}).all()", one=one, other=other)
        if name == "allclose" and isinstance(test.func, cst.Attribute):
            close = test.with_changes(func=test.func.with_changes(attr=cst.Name("isclose")))
            return site.expression("{close}.all()", close=close)
        observed = site.at_span(cst.Call)  # the dataflow knows what that function returns
        if name in _TRUTHS or (observed and observed.func is test.func and site.value().startswith("tensor/bool")):
            return test
    if isinstance(test, cst.Name) and not site.value(test.value).startswith("tensor/bool"):
        return None  # a flag under a tensor's name is likelier than a number that is asked for being other than zero
    return site.expression("{test} != 0", test=operand(test))


def _comparison(values: Values, test: cst.Comparison) -> cst.BaseExpression | None:
    if any(isinstance(c.operator, _IDENTITY) for c in test.comparisons):
        return None
    sides = [stripped(side) for side in (test.left, *(c.comparator for c in test.comparisons))]
    code: cst.BaseExpression | None = None
    for left, target, right in zip(sides, test.comparisons, sides[1:], strict=False):
        if not (values.is_tensor(left) or values.is_tensor(right)):
            return None
        part = cst.Comparison(_side(left), [target.with_changes(comparator=_side(right))])
        code = part if code is None else values.site.expression(_BOTH, left=code, right=part)
    return code


def _side(node: cst.BaseExpression) -> cst.BaseExpression:
    loose = isinstance(node, (cst.Comparison, cst.BooleanOperation, cst.IfExp, cst.Lambda, cst.NamedExpr))
    negated = isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not)
    return operand(node) if loose or negated else bare(node)


_RESHAPES = frozenset(NAMES["reshapes"])


def may_reshape(node: cst.BaseExpression) -> bool:
    """Whether an expression may have another shape than the tensors in it, as far as its outermost operator tells."""
    if isinstance(node, cst.Subscript):
        return True
    if isinstance(node, cst.Call):
        name = call_name(node)
        if name in ("contiguous", "clone", "to", "float", "type_as") and isinstance(node.func, cst.Attribute):
            return may_reshape(node.func.value)
        return name in _RESHAPES
    return isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.MatrixMultiply)


def fresh(site: Site, function: cst.FunctionDef, wanted: str) -> str:
    """A name like `wanted` that the function does not use."""
    used = site.tree.once(_used, function)
    return next(name for name in (wanted, *(f"{wanted}_{n}" for n in range(2, len(used) + 3))) if name not in used)


def _used(function: cst.FunctionDef) -> set[str]:
    return {p.name.value for p in walk(function) if isinstance(p, cst.Param)} | names_in(function)
