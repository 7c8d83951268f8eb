"""[tool.onnxlint] and flags, read into frozen Settings."""
