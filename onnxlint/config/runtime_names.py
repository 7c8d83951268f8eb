"""The names of runtimes, as the configuration and the command line give them."""

import re

from onnxlint.base.records import ONNX_RUNTIME, OPENVINO
from onnxlint.config.typed_values import Node, nearest, parsed

# The execution providers that onnxruntime is built with; which of them there are, the installed one knows.
_PROVIDERS = tuple(
    f"{name}ExecutionProvider"
    for name in ("CUDA", "Tensorrt", "ROCM", "MIGraphX", "Dml", "CoreML", "OpenVINO", "Dnnl", "QNN", "XNNPACK", "CANN")
)
VALID = f"{ONNX_RUNTIME}, {OPENVINO}, or an execution provider of ONNX Runtime such as {_PROVIDERS[0]}"


def parse_runtime(name: str) -> str:
    """Read one name. Raises ValueError."""
    word = name.strip()
    if word.lower() in (ONNX_RUNTIME, OPENVINO):
        return word.lower()
    if word.lower() == "cpuexecutionprovider":
        return ONNX_RUNTIME
    provider = next((p for p in _PROVIDERS if p.lower() == word.lower()), None)
    if provider is not None or re.fullmatch(r"\w+ExecutionProvider", word):
        return provider or word
    short = next((p for p in _PROVIDERS if word and p.lower().startswith(word.lower())), None)
    near = short or nearest(word, (ONNX_RUNTIME, OPENVINO, *_PROVIDERS))
    raise ValueError(f"`{name}` is no runtime; " + (f"did you mean `{near}`?" if near else f"valid: {VALID}"))


def runtimes(node: Node) -> tuple[str, ...] | None:
    """Read a list of runtimes that is not empty."""
    one = parsed(parse_runtime)
    names = [name for child in node.elements("a list of runtimes") if (name := one(child)) is not None]
    if node.value == []:
        node.fail(f"the list is empty; valid: {VALID}")
    return tuple(dict.fromkeys(names)) or None
