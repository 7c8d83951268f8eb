"""What a probe is asked to do, and what it sends back, as records that go to a worker and into the cache."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from onnxlint.base.records import ONNX_RUNTIME, Diagnostic, Evidence, ModelReport

DECLARED = "config"  # the source of a probe that the configuration declares
SYNTHESISED = "synthesised"  # the source of a probe whose inputs are ours, since nobody declared them
TARGET = "_target_"  # in arguments: a table with this key stands for an object to build, `module:attribute`


@dataclass(frozen=True, slots=True)
class DimSpec:
    """One dimension of an input: `name` if it is dynamic, `size` its size on the example (None: we choose)."""

    name: str | None
    size: int | None


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """An input as configured: `float32[batch, 3, height=224]`. `dtype` is a torch dtype's name.

    `values` are the numbers that it holds on the example, row by row, where an export call writes them out.
    """

    dtype: str
    dims: tuple[DimSpec, ...]
    values: tuple[int | float, ...] = ()


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far ONNX Runtime may be from eager; None means: decide from dtype, scale and the float64 reference."""

    absolute: float | None = None
    relative: float | None = None


@dataclass(frozen=True, slots=True)
class Probe:
    """A model with example inputs and dynamic axes: all that a worker needs, and nothing that is not data.

    `inputs` is `module:callable`, or specs by parameter name, or None where `source` names a convention.
    `source` is one of `config`, `marked`, `call-site`, `example_input_array`, `dummy_inputs`, `default_cfg`,
    `captured`: model and inputs are live objects, and `live` names the process that has them; or
    `synthesised`, where nothing says what to feed.
    `arguments` are what the factory is called with, `values` the inputs that are no tensors.
    `dynamic` maps a parameter of forward to {axis: name of the dim}; `sizes` a dim's name to the sizes to try.
    `search_path` goes in front of sys.path; `root` is the directory that reported paths are relative to.
    `eval` puts the model in eval mode after it is built, as the export that it was found at does.
    `overlay` is source to import in the place of what is on the disk: bytes, as latin-1 text, by resolved path.
    `compare` asks for eager's outputs alone: they are kept in that file, or compared with what it holds.
    `runtimes` are those that run the exported files: `onnxruntime` is its CPU, others have their own names. `latency`
    asks for their speed.
    `timeout` is in seconds, `memory` in bytes. `ranges` maps a parameter to its least and greatest value.
    `optional` asks for further ways to call the model, `way` tells that this is one: `with mask`, `without mask`.
    """

    name: str
    factory: str
    path: str
    line: int
    source: str
    inputs: str | Mapping[str, TensorSpec] | None
    dynamic: Mapping[str, Mapping[int, str]]
    sizes: Mapping[str, tuple[int, ...]]
    vary: str | None
    exporters: tuple[str, ...]
    opset: int
    search_path: tuple[str, ...]
    root: str
    repro_dir: str
    tolerance: Tolerance = Tolerance()
    timeout: float = 300.0
    memory: int | None = None
    eval: bool = False
    overlay: Mapping[str, str] = field(default_factory=dict)
    compare: str | None = None
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    arguments: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    live: str | None = None
    runtimes: tuple[str, ...] = (ONNX_RUNTIME,)
    latency: bool = True
    optional: bool = False
    way: str = ""

    @property
    def asked_for(self) -> bool:
        """Whether the user named this very model: then it is a failure of the run if it cannot be probed."""
        return self.source in ("config", "captured")


@dataclass(frozen=True, slots=True)
class Way:
    """A further way to call a model that was probed: `label` is `with mask` or `without mask`.

    `inputs` and `values` are all that forward is given then; the rest is as in `Assumed`.
    """

    label: str
    inputs: Mapping[str, TensorSpec]
    values: Mapping[str, Any] = field(default_factory=dict)
    sizes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    arguments: Mapping[str, Any] = field(default_factory=dict)
    eval: bool = False


@dataclass(frozen=True, slots=True)
class Depends:
    """What a result hangs on beside its probe: files by absolute path and variables by name, each with a stamp.

    A stamp changes when the bytes do; `process.witness` makes it. `unseen` says why the result may change although
    no stamp does, and so must not be kept; empty if nothing speaks for that.
    """

    files: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    unseen: str = ""


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """What a worker sends back. `reached` maps a path to the lines of it that ran under the variations.

    `notices` tell what the model did to the machine around it; `depends` is None where the probe did not end well.
    `ways` are further ways to call the model, each worth a probe of its own.
    """

    report: ModelReport
    evidence: tuple[Evidence, ...] = ()
    reached: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    notices: tuple[Diagnostic, ...] = ()
    depends: Depends | None = None
    ways: tuple[Way, ...] = ()
