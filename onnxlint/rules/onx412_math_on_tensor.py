import libcst as cst

from onnxlint.base.records import Fix, Outcome, Safety
from onnxlint.flow.state.observations import Escape
from onnxlint.flow.tables import NAMES
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site, bare, dotted, has_star, keywords
from onnxlint.rules.helpers.freed_numbers import takes_tensor
from onnxlint.rules.helpers.value_kinds import Values, stripped

_SAME = frozenset(NAMES["math-of-torch"])
_OTHER = {"fabs": "abs", "pow": "pow", "atan2": "atan2", "hypot": "hypot", "fmod": "fmod"}


class MathOnTensor(Rule):
    """Object to a function of `math` that reads a tensor."""

    def on_escape(self, node: Node, escape: Escape) -> Objections:
        if escape.source == "data" and escape.how.startswith("math."):
            message = f"`{self.source(node)}` reads the tensor into Python: the graph keeps the number of the example"
            advice = f"use `{escape.how.removesuffix('()').replace('math.', 'torch.')}`, which stays in the graph"
            effects = {"torchscript": Outcome.OK, "dynamo": Outcome.EXPORT_ERROR} if escape.weight else None
            yield Objection(message, advice, effects=effects)

    def fix(self, site: Site) -> Fix | None:
        """Unsafe by a last digit: `math` computes in double precision."""
        call = next((c for c in site.inside(cst.Call) if dotted(c.func).startswith("math.")), None)
        if call is None or keywords(call) or has_star(call):
            return None
        name = dotted(call.func).removeprefix("math.")
        torch_name = name if name in _SAME else _OTHER.get(name)
        tensors = [stripped(a.value) for a in call.args]
        values = Values(site)
        wanted = 2 if name in ("pow", "atan2", "hypot", "fmod") else 1
        if torch_name is None or len(tensors) != wanted or not takes_tensor(site, call):
            return None
        if not values.is_tensor(tensors[0]) or (name in ("atan2", "hypot") and not all(map(values.is_tensor, tensors))):
            return None
        args = [a.with_changes(value=bare(tensor)) for a, tensor in zip(call.args, tensors, strict=True)]
        new = call.with_changes(func=site.expression(f"torch.{torch_name}"), args=args, lpar=(), rpar=())
        return site.fix(f"use `torch.{torch_name}`", Safety.UNSAFE, site.replace(call, new))
