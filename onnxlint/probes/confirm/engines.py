"""The runtimes that exported files are run in: ONNX Runtime with any of its execution providers, and OpenVINO."""

import importlib.util
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto

from onnxlint.base.records import ONNX_RUNTIME, OPENVINO, text_of

_IN_OPENVINO = re.compile(r"^Exception from src/.*$|Check '.*?' failed at src/\S+:\d+:\s*", re.MULTILINE)
# `/onnxruntime_src/onnxruntime/core/….h:91 onnxruntime::Helper::Helper(const onnxruntime::TensorShape&, bool) `
_IN_ORT = re.compile(r"/\S*onnxruntime/\S+:\d+\s+(?:[^(.{]*::[^(.{]*\([^()]*\)(?: const)?\s+(?:\[with [^\]]*\]\s+)?)?")
CPU = "CPUExecutionProvider"
# To see whether a provider starts.
_SMALLEST = '<ir_version: 8, opset_import: ["": 17]> one (float[1] x) => (float[1] y) { y = Identity(x) }'


class RuntimeRefused(Exception):
    """The checker or a runtime refused; the message is theirs, in one line."""


class Engine(ABC):
    """A runtime. `name` is how it is asked for, `title` how it is told of, `plain` whether optimizations can be off."""

    name: str
    title: str
    plain: bool = True
    version: str = ""

    @abstractmethod
    def open(self, model: str | bytes, optimized: bool) -> Any:
        """A session of a file, or of its bytes. Raises RuntimeRefused."""

    def run(self, session: Any, feeds: Mapping[str, Any]) -> list[Any]:
        """The outputs, as arrays; `feeds` are arrays or OrtValues. Raises RuntimeRefused."""
        try:
            outputs = self.bare_run(session, feeds)()
        except Exception as error:
            raise RuntimeRefused(short(error)) from error
        return self.arrays(session, outputs)

    def run_model(self, model: onnx.ModelProto, feeds: Mapping[str, Any], optimized: bool) -> list[Any]:
        """The outputs of a model in memory. Raises RuntimeRefused."""
        try:
            serialized = model.SerializeToString()
        except ValueError as error:  # over 2 GB
            raise RuntimeRefused(text_of(error)) from error
        return self.run(self.open(serialized, optimized), feeds)

    @abstractmethod
    def bare_run(self, session: Any, feeds: Mapping[str, Any]) -> Callable[[], Any]:
        """A run without what only we do around it, for the clock."""

    @abstractmethod
    def arrays(self, session: Any, outputs: Any) -> list[Any]:
        """What a run returned: numpy's arrays, or torch's of what numpy has no type for."""


@dataclass(frozen=True, slots=True)
class Setup:
    """An engine, and whether it may optimize."""

    engine: Engine
    optimized: bool = True

    @property
    def title(self) -> str:
        """How it is told of."""
        return self.engine.title if self.optimized else f"{self.engine.title} without optimizations"


class OnnxRuntime(Engine):
    """ONNX Runtime with one execution provider; what that cannot run, the CPU does, as ONNX Runtime decides."""

    def __init__(self, provider: str = CPU) -> None:
        self.providers = list(dict.fromkeys((provider, CPU)))
        self.name = ONNX_RUNTIME if provider == CPU else provider
        self.title = "ONNX Runtime" if provider == CPU else f"ONNX Runtime ({provider})"
        self.version = onnxruntime.__version__

    def open(self, model: str | bytes, optimized: bool) -> Any:
        """A quiet session of one thread. Raises RuntimeRefused."""
        options = session_options(optimized)
        try:
            return onnxruntime.InferenceSession(model, options, providers=self.providers)
        except Exception as error:
            raise RuntimeRefused(short(error)) from error

    def arrays(self, session: Any, outputs: Any) -> list[Any]:
        """The values, through dlpack in bfloat16."""
        values = ((value, value.element_type() == TensorProto.BFLOAT16) for value in outputs)
        return [torch.from_dlpack(v._ortvalue.to_dlpack()) if bfloat16 else v.numpy() for v, bfloat16 in values]

    def bare_run(self, session: Any, feeds: Mapping[str, Any]) -> Callable[[], Any]:
        """A run of values that are ONNX Runtime's already."""
        kind = onnxruntime.OrtValue
        values = {n: v if isinstance(v, kind) else kind.ortvalue_from_numpy(v) for n, v in feeds.items()}
        return lambda: session.run_with_ort_values(None, values)


ORT = OnnxRuntime()
DEFAULT = Setup(ORT)


class OpenVino(Engine):
    """OpenVINO on the CPU, in full precision: by default it computes in bfloat16 where the processor can."""

    name = OPENVINO
    title = "OpenVINO"
    plain = False
    _SETTINGS = {"EXECUTION_MODE_HINT": "ACCURACY", "INFERENCE_NUM_THREADS": 1}

    def __init__(self) -> None:
        import openvino  # here, because it comes with an extra of its own

        self.version = str(openvino.__version__).partition("-")[0]
        self._openvino = openvino
        self._core = openvino.Core()

    def open(self, model: str | bytes, optimized: bool) -> Any:
        """A compiled model. Raises RuntimeRefused."""
        try:
            read = self._core.read_model(model) if isinstance(model, str) else self._core.read_model(model, b"")
            return self._core.compile_model(read, "CPU", self._SETTINGS)
        except Exception as error:
            raise RuntimeRefused(short(error)) from error

    def arrays(self, session: Any, outputs: Any) -> list[Any]:
        """The values, of which those in bfloat16 come with the bits of float16."""
        arrays = ((value.element_type, outputs[value]) for value in session.outputs)
        half = self._openvino.Type.bf16
        return [torch.from_numpy(a.view(np.int16)).view(torch.bfloat16) if kind == half else a for kind, a in arrays]

    def bare_run(self, session: Any, feeds: Mapping[str, Any]) -> Callable[[], Any]:
        """A run of values that OpenVINO takes as they are, without the inputs that it dropped."""
        wanted = {name for value in session.inputs for name in value.get_names()}
        values = {name: self._in(value) for name, value in feeds.items() if name in wanted}
        return lambda: session(values)

    def _in(self, value: Any) -> Any:
        if not isinstance(value, onnxruntime.OrtValue):
            return value
        bits = torch.from_dlpack(value._ortvalue.to_dlpack()).contiguous().view(torch.int16).numpy().view(np.uint16)
        return self._openvino.Tensor(bits, list(bits.shape), self._openvino.Type.bf16)


def engines(names: Sequence[str]) -> tuple[list[Engine], list[str]]:
    """The runtimes of these names, and for each that is not there why."""
    results = [_engine(name) for name in dict.fromkeys(names)]
    return [one for one in results if isinstance(one, Engine)], [one for one in results if isinstance(one, str)]


def _engine(name: str) -> Engine | str:
    if name == ONNX_RUNTIME:
        return OnnxRuntime()
    if name == OPENVINO:
        if importlib.util.find_spec("openvino") is None:
            return "--runtime openvino: OpenVINO is not installed: pip install 'onnxlint[openvino]'"
        return OpenVino()
    there = onnxruntime.get_available_providers()
    if name not in there:
        hint = " (OpenVINO itself is the runtime `openvino`)" if name.startswith("OpenVINO") else ""
        return f"--runtime {name}: the installed onnxruntime has none of that name; it has {', '.join(there)}{hint}"
    engine = OnnxRuntime(name)
    try:
        first = engine.open(onnx.parser.parse_model(_SMALLEST).SerializeToString(), True).get_providers()[0]
    except RuntimeRefused as refused:
        return f"--runtime {name}: it does not start: {refused}"
    if first != name:  # it says so in its log alone, and takes the CPU
        return f"--runtime {name}: it does not start here, and ONNX Runtime falls back to {first}"
    return engine


def session_options(optimized: bool) -> Any:
    """Options of a quiet session of one thread, with all optimizations or none."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return options


def short(error: BaseException) -> str:
    """The message of an error in one line of moderate length, without the places in the source of a runtime."""
    text = text_of(error)
    text = " ".join(_IN_ORT.sub(" ", " ".join((_IN_OPENVINO.sub("", text).strip() or text).split())).split())
    return text if len(text) <= 400 else text[:397] + "…"
