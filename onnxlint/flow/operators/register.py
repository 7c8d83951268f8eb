"""The register of transfer functions, filled: what torch returns, by the name of the operator."""

from onnxlint.flow.operators import creation, pointwise, products, reshaping, selection, spatial
from onnxlint.flow.operators.transfer import HANDLERS

__all__ = ["HANDLERS", "creation", "pointwise", "products", "reshaping", "selection", "spatial"]
