import libcst as cst

from onnxlint.base.records import Fix, Safety
from onnxlint.flow.state.observations import DirectForward
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site


class BypassedHooks(Rule):
    """Object to `layer.forward(x)` on a layer whose weight a hook computes."""

    changes_output = True

    def on_direct_forward(self, node: Node, call: DirectForward) -> Objections:
        message = f"`{call.text}` goes past the hook that computes the layer's weight: the weight is a stale constant"
        yield Objection(message)

    def fix_call(self, site: Site, call: cst.Call) -> Fix | None:
        """Unsafe: its hooks run then, which is the point."""
        if not isinstance(call.func, cst.Attribute) or call.func.attr.value != "forward":
            return None
        return site.fix("call the module itself", Safety.UNSAFE, site.replace(call.func, call.func.value))
