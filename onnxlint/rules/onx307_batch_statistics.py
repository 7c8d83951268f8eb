import libcst as cst

from onnxlint.base.records import Fix, Safety
from onnxlint.flow.state.observations import BatchNormCall
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site, argument, call_name, is_name
from onnxlint.rules.helpers.call_edits import set_argument


class BatchStatistics(Rule):
    """Object to a normalisation that uses the statistics of the batch in eval mode."""

    changes_output = True

    def on_batch_norm_call(self, node: Node, call: BatchNormCall) -> Objections:
        message = f"`{call.text}` normalises by the statistics of each batch, in eval mode too"
        yield Objection(message, effects=call.outcomes or None)

    def fix_call(self, site: Site, call: cst.Call) -> Fix | None:
        """Unsafe: eval mode then normalises by the running statistics, which the call has to be given."""
        owner = site.owner(call)
        if owner is None or not call_name(call).endswith("batch_norm"):
            return None
        statistics = (argument(call, "running_mean", 1), argument(call, "running_var", 2))
        if any(s is None or is_name(s, "None") for s in statistics):
            return None
        tied = set_argument(call, "training", site.expression(f"{owner}.training"), position=5)
        return site.fix("pass `training=self.training`", Safety.UNSAFE, site.replace(call, tied)) if tied else None
