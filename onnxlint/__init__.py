"""onnxlint finds the PyTorch code that will not survive the export to ONNX, and proves it."""

__version__ = "0.1.0"
