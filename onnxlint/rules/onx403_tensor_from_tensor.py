import libcst as cst

from onnxlint.base.records import Fix, Outcome
from onnxlint.flow.state.observations import TensorFromPython
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site
from onnxlint.rules.helpers.stacked_tensors import stacked

_COPIED = {"torchscript": Outcome.WRONG_VALUES, "dynamo": Outcome.EXPORT_ERROR}  # by Python, not by torch


class TensorFromTensor(Rule):
    """Object to a tensor constructor that copies the data of another tensor."""

    def on_tensor_from_python(self, node: Node, tensor: TensorFromPython) -> Objections:
        copied = tensor.call.startswith("copy.")
        if tensor.source == "tensor":
            yield Objection(
                f"`{tensor.call}` copies the value of a tensor into a new one: it becomes a constant",
                effects=_COPIED if copied else None,
                about="copies by Python" if copied else "",
                among="class" if copied else "function",
            )

    def fix_call(self, site: Site, call: cst.Call) -> Fix | None:
        """Safe where each part is known to have no axes: then `stack` gives the same values in the same shape."""
        return stacked(site, call)
