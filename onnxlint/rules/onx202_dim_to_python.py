import libcst as cst

from onnxlint.base.records import EXPORTERS, Fix, Outcome, Safety, Severity
from onnxlint.flow.state.observations import Escape
from onnxlint.rules.engine.cst_tree import walk
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site, dotted, has_star, indices, keywords, literal, names_in, positional, tight
from onnxlint.rules.helpers.size_expressions import axis_of, ceiling, whole
from onnxlint.rules.helpers.tables import TABLES
from onnxlint.rules.helpers.value_kinds import Values

_FLOORS = ("math.floor", "np.floor")
_TORCHSCRIPT_ONLY = {how: Outcome(outcome) for how, outcome in TABLES["ONX202"]["torchscript-only"].items()}
_ASKED = "is asked of a dynamic size, which is no Python number in an export"
_FROZEN = "turns a dynamic size into the example's number"
_CHOSEN = TABLES["ONX202"]["chosen"]
_CURVED = ("log", "log2", "log10", "log1p", "exp")

# Methods of a number: TorchScript, for which a size is a tensor, has none of them. Measured: dynamo has these two.
_DYNAMO_HAS = (".is_integer()", ".conjugate()")


class DimToPython(Rule):
    """Object to a symbolic size that became a plain number, which then shapes something."""

    def on_escape(self, node: Node, escape: Escape) -> Objections:
        if escape.source == "dim" and escape.how.startswith("."):
            refused = ("torchscript",) if escape.how in _DYNAMO_HAS else ("torchscript", "dynamo")
            message = f"`{escape.how[1:]}` {_ASKED}: `{self.source(node)}`"
            yield Objection(message, effects=_refusals(escape, refused), static_too=True)
        elif escape.source == "dim" and escape.how != "a size after unflatten":
            extreme = escape.how.removesuffix("()")
            under = f"; `torch.sym_{extreme}` for `{extreme}` under dynamo" if extreme in ("min", "max") else ""
            curved = escape.how.rpartition(".")[2].removesuffix("()") in _CURVED
            ends = _refusals(escape, EXPORTERS) if extreme == "round" or self._refused(node) else None
            message = f"`{escape.how}` {_ASKED if ends else _CHOSEN.get(extreme, _FROZEN)}: `{self.source(node)}`"
            share = ", and a share as a fraction (`* 9 // 10`)" if self._scaled(node) else ""
            advice = (
                "no exporter keeps this of a size: pass the number in"
                + (", or keep that axis static" if not ends else "")
                if curved
                else f"use the size as it is (`x.shape[1]`) with `//`, `%`, `*`{share}{under}"
            )
            severity = Severity.NOTE if extreme == "max" and self._cut_at_zero(node) else None
            yield Objection(
                message, advice, severity=severity, effects=ends or _effects(escape.how), static_too=ends is not None
            )

    def _cut_at_zero(self, node: Node) -> bool:
        """`max(n - 4, 0)` follows `n` where the example is longer than 4: measured, only shorter inputs differ."""
        match node:
            case cst.Call(args=[cst.Arg(one), cst.Arg(other)]):
                for difference, zero in ((one, other), (other, one)):
                    match difference, zero:
                        case cst.BinaryOperation(_, cst.Subtract(), fixed), cst.Integer("0"):
                            return names_in(fixed) <= {"self"}
        return False

    def _scaled(self, node: Node) -> bool:
        """`int(n * share)`, where the share is no whole number by its looks."""
        match node:
            case cst.Call(args=[cst.Arg(cst.BinaryOperation(one, cst.Multiply(), other))]):
                return not any(isinstance(side, cst.Integer) for side in (one, other))
        return False

    def _refused(self, node: Node) -> bool:
        """`np.log(n).astype(int)`: of a size, numpy gives a tensor to TorchScript, which has no `astype`."""
        outer = self.parent(node)
        while isinstance(outer, (cst.Attribute, cst.Call, cst.Arg)):
            if isinstance(outer, cst.Attribute) and outer.attr.value == "astype":
                return True
            outer = self.parent(outer)
        return False

    def fix_call(self, site: Site, call: cst.Call) -> Fix | None:
        """Safe where the rewrite gives the same number for every size; a divisor without a number may not be whole."""
        if keywords(call) or has_star(call):
            return None
        size = _rewritten(site, call)
        if size is None:
            return None
        divisions = (n for n in walk(call) if isinstance(n, cst.BinaryOperation) and isinstance(n.operator, cst.Divide))
        division = next(divisions, None)
        safety = Safety.SAFE if division is None or literal(division.right) is not None else Safety.UNSAFE
        title = f"stay with the size: `{site.tree.code(size)}`"
        return site.fix(title, safety, site.replace(call, site.fitted(size, call)))


def _refusals(escape: Escape, refused: tuple[str, ...]) -> dict[str, Outcome]:
    """What ends an export: a size is a tensor to TorchScript on any axis, to dynamo no number on a dynamic one."""
    return {e: Outcome.EXPORT_ERROR for e in refused if escape.sure or e == "torchscript"}


def _effects(how: str) -> dict[str, Outcome] | None:
    """What becomes of this form of it, where that is not what the contract says."""
    if how in _TORCHSCRIPT_ONLY:
        return {"torchscript": _TORCHSCRIPT_ONLY[how]}
    if how.startswith("math.") or (how.startswith("numpy.") and how != "numpy.ceil"):
        return {"torchscript": Outcome.WRONG_VALUES, "dynamo": Outcome.EXPORT_ERROR}
    return None


def _rewritten(site: Site, call: cst.Call) -> cst.BaseExpression | None:
    """The call as an expression of sizes; None where none is known to be equal for every size."""
    values = Values(site)
    match dotted(call.func), positional(call):
        case "int" | "math.floor" | "math.trunc" | "operator.index", [inner]:
            match inner:
                case cst.Call(func=function, args=[cst.Arg(value=value)]) if dotted(function) == "math.ceil":
                    return ceiling(values, value)
                case cst.Call(func=function, args=[cst.Arg(value=value)]) if dotted(function) in _FLOORS:
                    return whole(values, value)
            return whole(values, inner)
        case "math.ceil", [inner]:
            return ceiling(values, inner)
        case "len", [inner]:
            return _length(values, inner)
        case "min", [one, other]:
            for size, bound in ((one, other), (other, one)):
                axis = axis_of(site, size)
                if axis is not None and (axis_of(site, bound) is not None or _is_plain(bound)):
                    return _clipped(site, *axis, bound)
    return None


def _length(values: Values, node: cst.BaseExpression) -> cst.BaseExpression | None:
    if not values.is_tensor(node):
        return None
    match node:
        case cst.Subscript(value=cst.Name() as tensor, slice=[_]) if literal(indices(node)[0]) is not None:
            return values.site.expression("{tensor}.shape[1]", tensor=tensor)
    return values.site.expression("{tensor}.shape[0]", tensor=tight(node))


def _clipped(site: Site, tensor: cst.BaseExpression, axis: int, bound: cst.BaseExpression) -> cst.BaseExpression | None:
    """`min(x.shape[axis], bound)` as the size of a slice, which ends where the tensor does."""
    if axis < 0:
        return None
    return site.expression(f"{{tensor}}[{':, ' * axis}: {{bound}}].shape[{axis}]", tensor=tensor, bound=tight(bound))


def _is_plain(node: cst.BaseExpression) -> bool:
    """A number, a variable or an attribute that is meant to be a positive limit."""
    number = literal(node)
    return number > 0 if number is not None else isinstance(node, (cst.Name, cst.Attribute))
