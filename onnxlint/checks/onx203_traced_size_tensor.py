"""ONX203 traced-size-tensor. Contract: rules/ONX203-traced-size-tensor.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import TensorFromPython
from onnxlint.records import Outcome

# Measured: TorchScript keeps one bare size symbolic everywhere, and none that stands in a list.
_LISTS = frozenset(("tensor", "new_tensor"))  # which dynamo keeps symbolic, in a list too
_REFUSED = frozenset(("as_tensor", "asarray"))  # which dynamo does not even take one size for


@check("ONX203")
def traced_size_tensor(tensor: TensorFromPython) -> Iterator[Objection]:
    """Object to a tensor built from Python data at a dynamic size."""
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
