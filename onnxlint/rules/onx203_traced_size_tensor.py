"""ONX203 traced-size-tensor. Contract: rules/ONX203-traced-size-tensor.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import TensorFromPython
from onnxlint.records import Outcome
from onnxlint.rules.rule import Objection, Rule

# Measured: TorchScript keeps one bare size symbolic everywhere, and none that stands in a list.
_LISTS = frozenset(("tensor", "new_tensor"))  # which dynamo keeps symbolic, in a list too
_REFUSED = frozenset(("as_tensor", "asarray"))  # which dynamo does not even take one size for


class TracedSizeTensor(Rule):
    """Object to a tensor built from Python data at a dynamic size."""

    code = "ONX203"

    def on_tensor_from_python(self, node: cst.CSTNode, tensor: TensorFromPython) -> Iterator[Objection]:
        name = tensor.call.rpartition(".")[2]
        if tensor.source == "length":
            yield Objection(
                f"`{tensor.call}` builds a tensor from Python data at a dynamic size: it becomes a constant",
                "build it with an operator: `torch.arange(x.shape[1], device=x.device)`, `torch.full`, `x.new_zeros`",
            )
        elif tensor.source == "sizes":
            dynamo = {} if name in _LISTS else {"dynamo": Outcome.EXPORT_ERROR}
            yield Objection(
                f"`{tensor.call}` builds a tensor from a list with a dynamic size in it: it becomes a constant",
                "make a tensor of each size and stack them: `torch.stack([torch.tensor(n) for n in sizes])`",
                effects={"torchscript": Outcome.WRONG_VALUES, **dynamo},
            )
        elif tensor.source == "size" and name in _REFUSED:
            yield Objection(
                f"`{tensor.call}` builds a tensor from a dynamic size, which dynamo refuses",
                "write `torch.tensor(n)`, which both exporters keep symbolic",
                effects={"dynamo": Outcome.EXPORT_ERROR},
            )
