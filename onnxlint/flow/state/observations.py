"""What the dataflow saw, as plain records: the checks subscribe to these and never look at a tree."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec import field
from msgspec.structs import replace

from onnxlint.base.records import EXPORTERS, Outcome, Span, Step

# Why an observation may not matter, the weakest reason first: the axis may be static, a flag off, the value a guess.
DOUBTS = ("", "axis", "flag", "guess")


class Observation(msgspec.Struct, frozen=True):
    """Something at a span, in the function `symbol`; `trace` tells how the value came there.

    `sure` is False where nobody declared which axes are dynamic and this axis only may be one, and where only a flag of
    the exported forward asks for it that is off by default; `doubt` says which of DOUBTS it is then. `outside` is the
    reason why no export comes through here; it is empty where one does, or may.
    `exporters` are those whose trace comes through here (a guard may keep one of them out). `known` is what is known of
    the variables there (see flow/state/variable_kinds.py), and under the empty name of the value that it is about.
    `certain` is False where the export comes through here with some settings or sizes only.
    `frozen` is where the number that it is about became a plain one. `exported` is True for what a model runs that
    an export call is seen to be passed, and for that call.
    """

    span: Span
    text: str
    symbol: str
    trace: tuple[Step, ...] = ()
    sure: bool = True
    exporters: tuple[str, ...] = EXPORTERS
    statement: int = 0  # first line of the statement
    described: Mapping[str, str] = field(default_factory=dict)
    certain: bool = True
    doubt: str = ""
    outside: str = ""
    frozen: Span | None = None
    exported: bool = False

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells it from the other observations of a run."""
        names = ("how", "op", "name", "caller", "results")
        return type(self), self.span, *(getattr(self, name, None) for name in names)

    @property
    def hints(self) -> dict[str, str | int]:
        """What a fix may ask for beside `known`."""
        return {}

    @property
    def rank(self) -> tuple[Any, ...]:
        """The least of those with one key stands for all: exported ones first, then sure ones, then by its fields."""
        own = [getattr(self, name) for name in self.__struct_fields__[_COMMON:]]
        # A field that tells nothing comes last.
        return self.outside, DOUBTS.index(self.doubt), *("~" if v is None or v == "" else str(v) for v in own)

    def and_also(self, other: Observation) -> Observation:
        """Both as one observation, whichever came first; what runs outside of every export adds nothing to the rest."""
        one, two = (other, self) if other.rank < self.rank else (self, other)
        if isinstance(one, ExportCall) and isinstance(two, ExportCall) and one.opset is None:
            one = replace(one, opset=two.opset)  # a default, where a caller gives what is not known
        if bool(self.outside) != bool(other.outside):
            return one
        if self.frozen != other.frozen:
            one = replace(one, frozen=None)
        exporters = tuple(e for e in EXPORTERS if e in self.exporters or e in other.exporters)
        doubt, certain = min(self.doubt, other.doubt, key=DOUBTS.index), self.certain or other.certain
        exported = self.exported or other.exported
        if (one.doubt, one.certain, one.exporters, one.exported) == (doubt, certain, exporters, exported):
            return one
        return replace(one, sure=not doubt, doubt=doubt, certain=certain, exporters=exporters, exported=exported)


_COMMON = len(Observation.__struct_fields__)


class Branch(Observation, frozen=True):
    """A Python branch on a test; `reads`: what that reads."""

    reads: str = "data"  # "data", "weight" or "dim"
    sized: bool = False
    leaves: str = ""  # "break", "continue" or "return": the arm leaves the loop around it
    talks: bool = False  # the arm only logs, warns or prints
    # Of a test on a size: "equal" sizes, a remainder for "padding", a "short" input to pad, a "table" to fill.
    form: str = ""
    axes: str = ""  # that the size is of
    # Of an `if`: "one" assignment alone, arms that "assign" alone, a body that "returns" at once, or "more".
    does: str = ""
    head: str = ""  # of an `elif`, the test of its `if`


class BoolOperator(Observation, frozen=True):
    """`and`, `or`, `not`, `in`, a chained comparison or a builtin whose operand is tensor data, used as a value.
    `builtin` is its name, as `max()`, and `operands` counts what it was given."""

    builtin: str = ""
    operands: int = 0


class Assertion(Observation, frozen=True):
    """An assert (or an `if` that only raises) on tensor data (`sized`: a size that depends on it) or a dynamic dim."""

    reads: str = "data"
    sized: bool = False


class Loop(Observation, frozen=True):
    """A Python loop: over a tensor (one of sizes, of any number), or as often as tensor data or a dynamic dim says."""

    over: str = "tensor"  # "tensor", "sizes", "data" or "dim"
    axes: tuple[str, ...] = ()  # how long those are is how often it turns


class Escape(Observation, frozen=True):
    """A tensor or a symbolic dim became a plain Python value that the graph then depends on."""

    how: str = ".item()"
    source: str = "data"  # "data" or "dim"
    numpy: bool = False
    weight: bool = False


class TensorFromPython(Observation, frozen=True):
    """`torch.tensor(...)` and its like on a tensor, or on Python data that a traced size is in or is the length of."""

    call: str = "torch.tensor"
    source: str = "tensor"  # or "size", one bare; "sizes", in a list; "length" of a list; "axis", "axes" of the result


class ShapeLiteral(Observation, frozen=True):
    """A literal number where the shape argument of `call` should follow a dynamic axis."""

    call: str = "view"
    literal: int = 1
    axis: str = "batch"
    position: int = 0
    example: int | None = None


class Operation(Observation, frozen=True):
    """An operator of torch or of Python, `op`. `outcomes` is what the tables say of this form of it, for those
    exporters whose export then differs from PyTorch."""

    op: str = ""
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)

    def exporters_with(self, outcome: Outcome) -> tuple[str, ...]:
        """The exporters with an outcome whose trace comes through here."""
        return tuple(e for e in self.exporters if self.outcomes.get(e) is outcome)


class Call(Operation, frozen=True):
    """A call of an operator that a rule watches, or that the tables have outcomes for; also an operator of Python.

    What is known of some calls beyond that is in the types derived from this one. The dataflow keeps to the calls that
    their docstrings speak of: any more would be many, and no rule asks for them. `detail` names the argument or the
    form that the outcomes are about.
    """

    detail: str = ""
    since: int = 0  # the first opset at which the TorchScript exporter lowers it, if there is one

    @property
    def results(self) -> frozenset[Outcome]:
        """The outcomes, whichever exporter has them."""
        return frozenset(self.outcomes.values())

    @property
    def form(self) -> str:
        """The detail, as the end of a phrase."""
        if not self.detail or self.detail[:3] == "of ":
            return f" {self.detail}" if self.detail else ""
        return f" with {self.detail}" if self.detail[:2] == "a " else f" with `{self.detail}`"


class RandomDraw(Call, frozen=True):
    """Random numbers; `source` is the generator: torch's, or one of Python or numpy. `latent` is True where they are
    what a generator begins from: noise alone, which a part of the model is fed; where a distribution is asked for a
    sample; and where a flag of a function on the way (`deterministic`) would leave it out."""

    source: Literal["torch", "python"] = "torch"
    latent: bool = False


class DropoutCall(Call, frozen=True):
    """A dropout that is on in eval mode too."""


class BatchNormCall(Call, frozen=True):
    """A batch normalization by the statistics of the batch, in eval mode too."""


class IndexAddCall(Call, frozen=True):
    """An `index_add` whose index may hold a number twice."""


class ComplexCall(Call, frozen=True):
    """An operator on complex numbers; `literal`: one operand is a complex number of Python."""

    literal: bool = False


class CustomCall(Call, frozen=True):
    """An operator or a kernel that is not torch's own."""


class StandIn(Call, frozen=True):
    """The forward of an autograd.Function stands in for what its `symbolic` writes."""


class PackingCall(Call, frozen=True):
    """Sequences are packed by their lengths."""


class FileWrite(Call, frozen=True):
    """A tensor is written to a file, or plotted."""


class TransformCall(Call, frozen=True):
    """A transform of functions, such as `vmap` or `torch.func.grad`."""


class GradientCall(Call, frozen=True):
    """Autograd computes a gradient."""


class AutocastCall(Call, frozen=True):
    """An autocast that is on, to another dtype than float32."""


class ClockRead(Call, frozen=True):
    """The time of a clock becomes part of the graph."""


class SparseCall(Call, frozen=True):
    """An operator on a sparse or nested layout."""


class CompileCall(Call, frozen=True):
    """A part of the model is compiled, scripted or traced by itself."""


class DirectForward(Call, frozen=True):
    """`layer.forward(x)` on a layer whose weight a hook computes."""


class FloorDivide(Call, frozen=True):
    """`a // b` or `a >> b` on tensors whose quotient may be negative."""


class SmallAddend(Call, frozen=True):
    """`a + eps` on tensors, with a number that dynamo's optimizer takes for zero."""


class AttentionMask(Call, frozen=True):
    """Fused attention gets a boolean mask that comes from the inputs."""


class InputReshape(Call, frozen=True):
    """An operator changes the shape of an input, `parameter`, in place."""

    parameter: str = ""


class DataRead(Call, frozen=True):
    """`t.data`; `weight`: `t` is a parameter or a buffer."""

    weight: bool = False


class SizeUse(Operation, frozen=True):
    """A dynamic size, of the axes `axis`, where an operator or Python takes a number."""

    axis: str = ""


class Squeeze(SizeUse, frozen=True):
    """A squeeze of a dynamic axis, `dim`, or of every axis (None) of a tensor that has dynamic ones."""

    dim: int | None = None


class SizeSplit(SizeUse, frozen=True):
    """A dynamic axis is cut into pieces, whose number or length follows from its size."""


class SizeArgument(SizeUse, frozen=True):
    """A factor to resize by, strides, or a number of sliding windows that follows from sizes."""


class SizeDivision(SizeUse, frozen=True):
    """A division of sizes whose quotient may be negative, or `divmod`."""


class SizeRepetition(SizeUse, frozen=True):
    """Something is repeated as often as a size says."""


class SizeCheck(SizeUse, frozen=True):
    """A check of a size; `pins`: that it is one certain number."""

    pins: bool = False


class SizeKey(SizeUse, frozen=True):
    """A Python container is asked for the item of a size."""


class SizeAttribute(SizeUse, frozen=True):
    """A size for `parameter`, which is an attribute of the ONNX operator."""

    parameter: str = ""


class SizeFlag(SizeUse, frozen=True):
    """A comparison of sizes for `parameter`, which is a Python bool."""

    parameter: str = ""


class FactorySize(SizeUse, frozen=True):
    """The size of a new tensor, of a function that computes its values from it."""


class AttentionSize(SizeUse, frozen=True):
    """The length that an attention of torch.nn runs over."""


class RecurrentSize(SizeUse, frozen=True):
    """The number of steps that a recurrent layer runs over, which may be on its first axis."""

    time_first: bool = False


class TypeTest(SizeUse, frozen=True):
    """An `isinstance` asks whether a size is an int, or (`tensor`) a tensor with axes."""

    tensor: bool = False


class PooledSize(SizeUse, frozen=True):
    """Adaptive pooling of a dynamic axis; of `size` elements to `cells`, no factor of it; or with one `unchanged`."""

    size: int | None = None
    cells: int | None = None
    unchanged: bool = False


class DataSize(Operation, frozen=True):
    """Tensor data decides a size."""


class ItemChoice(Operation, frozen=True):
    """Tensor data chooses an item of a Python container."""


class Output(Observation, frozen=True):
    """The exported forward gives back an input as it came, or something that is no tensor."""

    what: str = "input"  # "input", "number", "text", "scalar", "list", "array", "object", "keys"
    name: str = ""
    inside: bool = False  # what stands at the span holds it among other things


class Attempt(Observation, frozen=True):
    """A `try` around tensor operators, whose handler goes on with another computation; the span is the first one."""

    catches: str = "Exception"


class StateWrite(Observation, frozen=True):
    """Forward writes an attribute or a buffer of the module, or state outside of it."""

    name: str = ""
    kind: str = "attribute"  # "attribute", "buffer", "counter", "cache", "memo", "container", "global", "class"
    read_back: bool = True


class ViewWrite(Observation, frozen=True):
    """An in-place write through a view of another tensor."""


class ModeSwitch(Observation, frozen=True):
    """Modules are put (or left) in train mode: in forward, or by an overridden `eval()` or `train()`."""

    where: str = "forward"  # "forward", "eval", "build"


class HiddenModules(Observation, frozen=True):
    """Modules kept where `eval()`, `parameters()` and `to()` do not see them."""

    container: str = "list"


class FrozenArgument(Observation, frozen=True):
    """The example passes a Python number or bool for a parameter of forward."""

    name: str = ""
    value: str = ""


class Example(msgspec.Struct, frozen=True):
    """One example input of an export: the parameter it feeds, sizes and floating dtype as far as they are known.
    `again` is True where it is the variable of an earlier input once more; `span` is where it is written in the call.
    `kind` is "tensor", "none", "number" (a flag too), "numbered" (a dict with ints for keys) or "", for any other."""

    parameter: str | None = None
    sizes: tuple[int | None, ...] | None = None
    dtype: str | None = None
    again: bool = False
    span: Span | None = None
    kind: str = ""


class ModeReader(msgspec.Struct, frozen=True):
    """What differs in training mode: a class of the project that reads `self.training`, or a `layer` of torch.nn."""

    name: str
    layer: bool = False


class AskedDim(msgspec.Struct, frozen=True):
    """What `dynamic_shapes` says of one axis of an input, which is given by name or by position. `kind`: `Dim` (an
    object, of variable or text `label`), `AUTO`, `DYNAMIC`, `STATIC`, `name` (a string), `number`, `none` or `unknown`.
    `at` is its line and column in the tree of the function."""

    input: str | int
    axis: int
    kind: str
    label: str
    at: tuple[int, int]
    low: int | None = None
    high: int | None = None


# torch 2.13: export(model, args=(), f=None, *, kwargs=None, …); older versions took these by position too.
POSITIONS = ("model", "args", "f", "export_params", "verbose", "training", "input_names", "output_names")
PROGRAM_POSITIONS = ("mod", "args", "kwargs")  # of torch.export.export


_IMAGE = 4  # axes of a batch of images
_TAKEN_OUT = re.compile(r"#\s*dynamic_(?:axes|shapes)\s*=|\bdynamic_(?:axes|shapes)\s*=\s*None\b")


class ExportCall(Observation, frozen=True):
    """A call of `torch.onnx.export`, as far as its arguments can be told without running it. None means: not known."""

    api: str = "torch.onnx.export"
    caller: str = ""  # where the function around it is called with these arguments
    dynamo: bool | None = True
    mode: str | None = None  # "train", "eval" or None
    mode_matters: tuple[ModeReader, ...] = ()  # to what of the model, where it is in training mode
    model: str = ""
    has_dynamic_axes: bool = False
    has_dynamic_shapes: bool = False
    axes_known: bool = False
    axes: tuple[tuple[str, tuple[int, ...]], ...] = ()
    input_names: tuple[str, ...] | None = None
    output_names: tuple[str, ...] | None = None
    parameters: tuple[str, ...] | None = None
    dict_argument: bool = False
    training: str | None = None
    opset: int | None = None
    too_new: tuple[Call, ...] = ()  # operators of the model that TorchScript lowers at later opsets alone
    axes_spans: dict[str, Span] = field(default_factory=dict)
    fixed_axes: tuple[tuple[str, int, str], ...] = ()
    tensor_inputs: bool = True
    arguments: tuple[str, ...] = ()  # every argument that the call gives, by name
    positional: int = 0
    settings: dict[str, Any] = field(default_factory=dict)  # arguments that are literals or enum members
    wrapping: str = ""  # "script", "trace", "compile" or "parallel"
    required: int | None = None  # parameters of forward without a default, None where they are not known
    variadic: bool = False
    tensor_defaults: tuple[str, ...] = ()  # parameters that forward reads, with a tensor for a default, and not given
    examples: tuple[Example, ...] | None = None  # the positional inputs
    keywords: tuple[str, ...] | None = ()  # the inputs given by name
    listed: bool = False  # `args` is a list
    outputs: int | None = None
    precision: str | None = None  # floating dtype of the model's weights
    autocast: str | None = None
    asked: tuple[AskedDim, ...] = ()
    shapes_form: str = ""  # "dict" or "tuple" where `dynamic_shapes` is one whose size is known
    shapes_keys: tuple[str, ...] = ()
    shapes_size: int = 0
    for_a_version: bool = False  # it stands in an arm for some versions of torch
    sized_on_request: bool = False  # in the other arm of a choice of sizes, a call has dynamic axes
    unlikely: str = ""  # why it hardly ever runs: a flag that nothing turns on, or another call of the same export
    bare_dict: bool = False  # a dict by itself in the place of the inputs
    later_loads: tuple[tuple[Span, str], ...] = ()

    @property
    def asks_for_fixed_sizes(self) -> bool:
        """True where it names no dynamic axes, and the source says that none is meant: by a None, by a size that an
        option gives, or by axes that are commented out."""
        by_option = self.sized_on_request or any(None in (e.sizes or ()) for e in self.examples or ())
        meant = by_option or _TAKEN_OUT.search(self.text) is not None
        return meant and self.names_no_axes

    @property
    def names_no_axes(self) -> bool:
        """True for an export to ONNX without dynamic axes."""
        return self.api.startswith("torch.onnx") and not self.has_dynamic_axes and not self.has_dynamic_shapes

    @property
    def takes_one_image(self) -> bool:
        """True where all that it feeds is like `torch.randn(1, 3, 224, 224)`, or has no axis for a batch, and no axis
        of that is named."""
        sizes = [e.sizes for e in self.examples or ()]
        images = bool(sizes) and all(s is not None and (len(s) == 1 or (len(s) == _IMAGE and s[0] == 1)) for s in sizes)
        return images and self.names_no_axes

    @property
    def chosen(self) -> str:
        """The exporter that the call asks for by `dynamo=` or by its name; "" where it leaves that to a default."""
        if self.api.startswith("torch.onnx.utils.") or ("dynamo" in self.arguments and self.dynamo is False):
            return "torchscript"
        asks = self.api == "torch.export.export" or ("dynamo" in self.arguments and self.dynamo is True)
        return "dynamo" if asks else ""

    @property
    def hints(self) -> dict[str, str | int]:
        """The names around the call, the exporter and the ranks of the examples, as far as they are known."""
        names = {"parameters": self.parameters, "inputs": self.input_names, "outputs": self.output_names}
        hints: dict[str, str | int] = {key: ",".join(v) for key, v in names.items() if v is not None}
        hints["model"] = self.model
        if self.dynamo is not None:
            hints["dynamo"] = int(self.dynamo)
        if self.examples is not None:
            hints["examples"] = ",".join("" if e.sizes is None else str(len(e.sizes)) for e in self.examples)
        return hints
