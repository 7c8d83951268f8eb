import libcst as cst

from onnxlint.base.records import Fix, Outcome, Safety
from onnxlint.flow.state.observations import BoolOperator
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site, dotted, has_star, literal, positional
from onnxlint.rules.helpers.tables import TABLES
from onnxlint.rules.helpers.value_kinds import Values

_PAIRS = {"min": "torch.minimum", "max": "torch.maximum"}
_BOUNDS = {"min": "max", "max": "min"}  # the smaller of a tensor and a number is the tensor, at most the number
BUILTINS = TABLES["ONX110"]


class TensorBuiltin(Rule):
    """Object to a builtin that compares tensors, or asks them for their truth."""

    def on_bool_operator(self, node: Node, operator: BoolOperator) -> Objections:
        if operator.builtin in BUILTINS:
            pair = operator.operands == 2  # dynamo has an operator for the smaller and the larger of two numbers
            message = (
                f"Python's `{operator.builtin}` compares tensors: `{self.source(node)}`; the example's answer is frozen"
            )
            advice = f"use the tensor operator: `{BUILTINS[operator.builtin]}`; a choice by a key is `torch.where`"
            yield Objection(message, advice, effects={"torchscript": Outcome.WRONG_VALUES} if pair else None)

    def fix_call(self, site: Site, call: cst.Call) -> Fix | None:
        """Unsafe: it chooses element by element, where Python asks one tensor for its truth; NaN goes through."""
        values = Values(site)
        operands = positional(call) if not has_star(call) else []
        if len(call.args) != 2 or len(operands) != 2 or dotted(call.func) not in _PAIRS:
            return None
        name = dotted(call.func)
        tensor, other = sorted(operands, key=values.is_tensor, reverse=True)
        if values.is_tensor(other):
            new: cst.BaseExpression = call.with_changes(func=site.expression(_PAIRS[name]), lpar=(), rpar=())
        elif values.is_tensor(tensor):
            plain = isinstance(other, (cst.Name, cst.Attribute, cst.BaseNumber)) or literal(other) is not None
            if not plain or values.sizes(tensor) not in ([], None):
                return None
            new = site.expression(f"torch.clamp({{tensor}}, {_BOUNDS[name]}={{other}})", tensor=tensor, other=other)
        else:
            return None
        written = new.func if isinstance(new, cst.Call) else new
        return site.fix(f"use `{dotted(written)}`", Safety.UNSAFE, site.replace(call, new))
