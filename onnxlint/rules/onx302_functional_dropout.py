import libcst as cst

from onnxlint.base.records import Fix, Safety
from onnxlint.flow.state.observations import DropoutCall
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site, call_name, keywords, tight
from onnxlint.rules.helpers.call_edits import set_argument


class FunctionalDropout(Rule):
    """Object to a dropout that is active in eval mode too."""

    changes_output = True

    def on_dropout_call(self, node: Node, call: DropoutCall) -> Objections:
        yield Objection(f"`{call.text}` drops in eval mode too: `training` is not tied to the module's mode")

    def fix_call(self, site: Site, call: cst.Call) -> Fix | None:
        """Pass `training=self.training`; outside of a module's method there is no mode to pass."""
        owner = site.owner(call)
        name = call_name(call)
        if owner is None or not name or name[0].isupper():
            return None  # in upper case it is a module made in forward: it belongs in `__init__`
        if name == "scaled_dot_product_attention":
            rate = keywords(call).get("dropout_p")
            if rate is None:
                return None
            title = "drop only in training: `dropout_p=… if self.training else 0.0`"
            new = site.expression(f"{{rate}} if {owner}.training else 0.0", rate=tight(rate))
            return site.fix(title, Safety.UNSAFE, site.replace(rate, new))
        tied = set_argument(call, "training", site.expression(f"{owner}.training"), position=2)
        return site.fix("pass `training=self.training`", Safety.UNSAFE, site.replace(call, tied)) if tied else None
