"""Calls of library functions: torch's operators and classes, numpy, math, einops."""

import ast
import re
from collections.abc import Callable, Hashable

from onnxlint.flow.calls import control_flow
from onnxlint.flow.calls.builtin_calls import BUILTINS, getter_default, make_dict
from onnxlint.flow.calls.operator_calls import OperatorCall, drawn, operator
from onnxlint.flow.exports import export_calls
from onnxlint.flow.lowering import layer_calls, sizes_as_numbers, unexportable_calls
from onnxlint.flow.operators import einops
from onnxlint.flow.operators.transfer import Call, like, numpy_result
from onnxlint.flow.python import implicit_calls, name_lookup
from onnxlint.flow.python.entry_parameters import EXPORT_FLAGS
from onnxlint.flow.state import observations
from onnxlint.flow.state.protocols import Engine, Lowering
from onnxlint.flow.tables import EXPORTER_GUARDS, NAMES
from onnxlint.flow.values import domain as dom
from onnxlint.flow.values.domain import replace
from onnxlint.flow.values.joins import element, join_all


class LibraryCall(OperatorCall):
    """A call that may be of no operator: what it does takes the whole interpreter."""

    __slots__ = ()
    engine: Engine


Function = Callable[[LibraryCall], dom.Value]


def library(engine: Engine, name: str, args: dom.Args, kwargs: dom.Kwargs, node: ast.AST) -> dom.Value:
    """A call of something that is not of the project."""
    if name == dom.DECORATED.name:
        here = engine.frames[-1].symbol
        # What the wrapper made a number of on the way in, the function computes with.
        sizes = (v for v in (*args, *kwargs.values()) if isinstance(v, (dom.Dim, dom.Data)) and v.site is not None)
        engine.use_all([v for v in sizes if v.site is not None and v.site.place.symbol == here], "an argument")
        return engine.decorated[-1] if engine.decorated else dom.UNKNOWN
    if engine.context.tracing:
        unexportable_calls.library(engine, name, args, kwargs, node)
    if name.startswith("builtins."):
        handler = BUILTINS.get(name[9:])
        return handler(engine, args, kwargs, node) if handler is not None else dom.UNKNOWN
    full = unexportable_calls.CONTROL_FLOW.get(name)
    if full is not None:
        return control_flow.run(LibraryCall(engine, full[6:], full, args, kwargs, node))
    if name in EXPORTER_GUARDS:
        return dom.Truth(EXPORTER_GUARDS[name])
    if name.startswith("torch."):
        return torch_call(engine, name, args, kwargs, node)
    if name in engine.table.curated["clock"]:
        return dom.Data(engine.site(node, f"{name}()"), True)
    root, _, tail = name.rpartition(".")
    function = _FUNCTIONS.get(name) or _PACKAGES.get(root.partition(".")[0] or name)
    if function is None:
        getter = tail == "get" and len(args) == 2 and isinstance(args[0], dom.Const)
        return getter_default(args[1], dom.UNKNOWN) if getter else dom.UNKNOWN
    return function(LibraryCall(engine, tail, name, args, kwargs, node))


def _numpy(call: OperatorCall) -> dom.Value:
    quiet = ("Generator", "default_rng", "seed", "RandomState")
    if call.name.startswith("numpy.random.") and not call.name.endswith(quiet):
        drawn(call.engine, call.node, call.name, "python")
        return dom.CONFIG
    return numpy_result(call)


def _module_by_name(call: LibraryCall) -> dom.Value:
    """`import_module("package.module")`."""
    name = dom.or_default(call.args[0]) if call.args else dom.UNKNOWN
    if not isinstance(name, dom.Const) or not isinstance(name.literal, str) or name.literal.startswith("."):
        return dom.UNKNOWN
    return name_lookup.dotted(call.engine, name.literal, call.engine.frames[-1].module)


def _version(call: Call) -> dom.Value:
    """`version.parse("2.1")`: what a version is compared by."""
    text = call.args[0] if call.args else None
    if not isinstance(text, dom.Const) or not isinstance(text.literal, str):
        return dom.CONFIG
    return dom.Const(tuple(int(n) for n in re.findall(r"\d+", text.literal.partition("+")[0])[:3]))


def _random(call: OperatorCall) -> dom.Value:
    if call.name.count(".") != 1 or call.op in ("seed", "Random"):
        return dom.UNKNOWN
    if call.op == "randrange" and [dom.or_default(v) for v in call.args] == [dom.Const(1)]:
        return dom.Const(0)
    drawn(call.engine, call.node, call.name, "python")
    return call.args[0] if call.op == "choice" and call.args and isinstance(call.args[0], dom.Tensor) else dom.CONFIG


def _einops(call: Call) -> dom.Value:
    call.engine.use_all([v for v in call.kwargs.values() if isinstance(v, (dom.Dim, dom.Data))], call.name)
    return einops.call(call.name, call.args, call.kwargs)


def _operator_function(call: Call) -> dom.Value:
    if len(call.args) != 2:
        return dom.UNKNOWN
    return implicit_calls.operator_function(call.engine, call.name, call.args, call.node)


def _partial(call: Call) -> dom.Value:
    args = call.args
    return dom.Partial(args[0], tuple(args[1:]), tuple(sorted(call.kwargs.items()))) if args else dom.UNKNOWN


def _reduced(call: Call) -> dom.Value:
    args = call.args
    if len(args) < 2:
        return dom.UNKNOWN
    first = element(args[1]) if isinstance(args[1], (dom.Tuple, dom.Seq)) else dom.UNKNOWN
    return call.engine.apply(args[0], [args[2] if len(args) > 2 else first, first], {}, call.node)


def _field(call: Call) -> dom.Value:
    made = call.kwargs.get("default_factory") or call.kwargs.get("factory")
    return call.engine.apply(made, [], {}, call.node) if made is not None else call.kwargs.get("default", dom.UNKNOWN)


def _namespace(call: Call) -> dom.Value:
    """Settings by name, as attributes. Any may be given another value by who has the namespace, so that what chooses an
    arm is a default only; of those of a module nothing is known, as it changes them in statements that do not run."""
    held = [v for v in (*call.args, dom.Dict(tuple(call.kwargs.items()))) if isinstance(v, dom.Dict)]
    items = {key: _setting(key, v) for made in held for key, v in made.items}
    of_module = call.engine.frames[-1].body.of_file
    return dom.Dict(tuple(items.items()), dom.UNKNOWN) if items and not of_module else dom.UNKNOWN


def _setting(key: Hashable, v: dom.Value) -> dom.Value:
    if isinstance(v, dom.Dict):
        return replace(v, items=tuple((name, _setting(name, inner)) for name, inner in v.items))
    if not isinstance(v, dom.Const):
        return v
    decides = dom.is_switch(v.literal) and EXPORT_FLAGS.search(str(key)) is None
    return dom.Config(default=v) if decides else dom.CONFIG


def _default_dict(call: Call) -> dom.Value:
    lists = bool(call.args) and call.args[0] == dom.External("builtins.list")
    return dom.Dict((), dom.Tuple((), "list") if lists else None)


def _replaced(call: Call) -> dom.Value:
    record = call.args[0] if call.args else dom.UNKNOWN
    return implicit_calls.replaced(record, call.kwargs) if isinstance(record, dom.Instance) else dom.UNKNOWN


def _copied(call: OperatorCall) -> dom.Value:
    v = call.args[0] if call.args else dom.UNKNOWN
    of = call.node.args[0] if isinstance(call.node, ast.Call) and call.node.args else None
    own = isinstance(of, ast.Name) and of.id == "self"
    inner = dom.contents(v) if call.op == "deepcopy" else ()  # `copy.copy` leaves what a list or a dict holds
    tensor = next((t for t in (v, *inner) if isinstance(t, dom.Tensor) and t.source == "input"), None)
    if tensor is not None and call.engine.context.tracing:
        call.engine.emit(observations.TensorFromPython, call.node, tensor.trace, call=call.name, source="tensor")
    return call.engine.copied(v, call.node) if own and isinstance(v, dom.Instance) else v


def _same_shape(call: Call) -> dom.Value:
    """A function of torchvision that leaves an image as large as it is; other images than tensors are not traced."""
    t = call.arg(0, "tensor", "img", "inpt")
    return like(call, t.dims, t.lead, t.kind) if isinstance(t, dom.Tensor) else dom.UNKNOWN


def _spectrum(call: LibraryCall) -> dom.Value:
    """A transform of torchaudio that goes through `torch.stft`: it is built, and called by a function's name."""
    made = call.kwargs.get("transform")
    if not isinstance(made, dom.Const):
        return dom.Partial(dom.External(call.name), (), (("transform", dom.Const(call.name)),))
    t = call.args[0] if call.args else None
    if call.engine.context.tracing and isinstance(t, dom.Tensor):
        unexportable_calls.emit(call.engine, call.node, observations.ComplexCall, call.name, "complex: spectrum")
    return like(call, None, None, "float") if isinstance(t, dom.Tensor) else dom.UNKNOWN


def _first(otherwise: dom.Value) -> Callable[[Call], dom.Value]:
    """The handler of what gives back its first argument, and `otherwise` where there is none."""
    return lambda call: call.args[0] if call.args else otherwise


_PACKAGES: dict[str, Function] = {
    "math": lambda call: sizes_as_numbers.frozen(call.engine, call.args, call.node, f"{call.name}()"),
    "numpy": _numpy,
    "random": _random,
    "einops": _einops,
    "operator": _operator_function,
}

_CHECKPOINTS = re.compile(r"(?:cp|ckpt|checkpoint\w*) *(?:: *bool *)?= *True\b")  # by default, else only in training
_VISION = "torchvision.transforms.functional."
_FUNCTIONS: dict[str, Function] = {
    **dict.fromkeys((_VISION + name for name in NAMES["image-transforms"]), _same_shape),
    **dict.fromkeys(
        ("torchvision.transforms.Normalize", "torchvision.transforms.transforms.Normalize"),
        lambda _call: dom.Partial(dom.External(_VISION + "normalize"), (), (("mean", dom.CONFIG), ("std", dom.CONFIG))),
    ),
    **dict.fromkeys((f"torchaudio.transforms.{name}" for name in NAMES["spectra"]), _spectrum),
    "os.getenv": lambda call: getter_default(call.args[-1], dom.UNKNOWN) if len(call.args) == 2 else dom.UNKNOWN,
    "importlib.import_module": _module_by_name,
    "functools.partial": _partial,
    "functools.reduce": _reduced,
    **dict.fromkeys(("dataclasses.field", "attrs.field", "attr.ib"), _field),
    "dataclasses.replace": _replaced,
    **dict.fromkeys(("copy.deepcopy", "copy.copy"), _copied),
    "typing.cast": lambda call: (call.args or [dom.UNKNOWN])[-1],
    **dict.fromkeys(NAMES["versions"], _version),
    "collections.deque": lambda call: BUILTINS["list"](call.engine, call.args[:1], {}, call.node),
    "collections.OrderedDict": lambda call: make_dict(call.engine, call.args, call.kwargs, call.node),
    "collections.defaultdict": _default_dict,
    **dict.fromkeys(NAMES["namespaces"], _namespace),
    **dict.fromkeys(
        ("itertools.chain", "itertools.product", "itertools.pairwise", "itertools.zip_longest"),
        lambda c: dom.Seq(join_all([element(a) for a in c.args if isinstance(a, (dom.Tuple, dom.Seq))]) or dom.UNKNOWN),
    ),
}


def torch_call(engine: Engine, name: str, args: dom.Args, kwargs: dom.Kwargs, node: ast.AST) -> dom.Value:
    """A call of a function or class of torch."""
    op = name.rpartition(".")[2]
    name = f"torch.{op}" if op.endswith("Tensor") else name  # `torch.cuda.FloatTensor` too
    function = _module if name.startswith("torch.nn.") and op[:1].isupper() else _TORCH.get(name)
    if function is not None:
        return function(LibraryCall(engine, op, name, args, kwargs, node))
    layer = unexportable_calls.hooked(name, args)
    if layer is not None:
        return layer
    if name.startswith(_NO_TENSORS):
        if name in engine.table.curated["check"] and engine.context.tracing:
            sizes_as_numbers.counted(engine, observations.SizeCheck, "check", name, args, node)
        return dom.CONFIG
    if name.startswith("torch.distributions."):
        return _distribution(engine, name, node)
    return operator(engine, op, name, args, kwargs, node, method=False)


def _module(call: OperatorCall) -> dom.Value:
    """An instance of a class of torch.nn."""
    engine, short, name = call.engine, call.op, call.name
    if short == "Parameter":
        first = call.args[0] if call.args else None
        return replace(first if isinstance(first, dom.Tensor) else dom.Tensor(), source="weight", made_at=None)
    if engine.context.tracing and "Dropout" in short:
        # A module made in forward never hears of eval().
        engine.emit(observations.DropoutCall, call.node, op=name)
    if name.count(".") > 2 and ".modules." in name:
        name = f"torch.nn.{short}"
    sizes = call.arg(1, "unflattened_size") if engine.context.tracing and short == "Unflatten" else None
    if isinstance(sizes, (dom.Tuple, dom.Seq)) and any(isinstance(v, dom.Dim) for v in dom.contents(sizes)):
        unexportable_calls.emit(engine, call.node, observations.Call, "nn.Unflatten", "unflatten: built", short)
    tracked = call.kwargs.get("track_running_stats")
    if short.startswith(("BatchNorm", "SyncBatchNorm")) and isinstance(tracked, dom.Const) and tracked.literal is False:
        unexportable_calls.emit(engine, call.node, observations.BatchNormCall, name, "untracked", short, always=True)
    return layer_calls.build(name, call.args, call.kwargs)


def _exported(call: LibraryCall) -> dom.Value:
    export_calls.record(call.engine, call.name, call.args, call.kwargs, call.node)
    return dom.UNKNOWN


def _exported_program(call: LibraryCall) -> dom.Value:
    export_calls.record_program(call.engine, call.args, call.kwargs, call.node)
    return dom.External("torch.export.ExportedProgram")


def _compiled(call: OperatorCall) -> dom.Value:
    unexportable_calls.compiled_part(call.engine, call.name, call.args, call.node)
    part = next(iter((*call.args, *call.kwargs.values())), dom.CONFIG)
    if isinstance(part, (dom.Unknown, dom.Scripted)) and call.op != "compile":
        return dom.Scripted(call.op)
    return replace(part, wrapping=call.op) if isinstance(part, dom.Instance) else part


def _checkpointed(call: OperatorCall) -> dom.Value:
    frame = call.engine.frames[-1]
    on = frame.is_certain(frame.statement_node) or _CHECKPOINTS.search(frame.module.source.text) is not None
    if call.engine.context.tracing and on and call.kwargs.get("use_reentrant") != dom.Const(False):
        unexportable_calls.emit(call.engine, call.node, observations.Call, call.name, "checkpoint: reentrant", call.op)
    return call.engine.apply(call.args[0], call.args[1:], {}, call.node) if call.args else dom.CONFIG


# Functions of torch that are no operators.
_TORCH: dict[str, Function] = {
    **dict.fromkeys(export_calls.APIS, _exported),
    "torch.export.export": _exported_program,
    "torch.Size": _first(dom.Tuple(())),
    "torch.nn.Transformer.generate_square_subsequent_mask": lambda call: layer_calls.causal_mask(call.arg(0, "sz")),
    "torch.nn.modules.transformer._get_clones": lambda call: dom.Layer(
        "torch.nn.ModuleList", items=dom.Seq(call.args[0] if call.args else dom.UNKNOWN)
    ),
    **dict.fromkeys(("torch.jit.script", "torch.jit.trace", "torch.compile"), _compiled),
    **dict.fromkeys(("torch.jit.freeze", "torch.jit.optimize_for_inference"), _first(dom.UNKNOWN)),
    **dict.fromkeys(
        ("torch.utils.cpp_extension.load", "torch.utils.cpp_extension.load_inline"),
        lambda call: dom.External(f"cpp_extension.{call.op}"),
    ),
    "torch.jit.load": lambda _call: dom.Scripted("load"),
    **dict.fromkeys(NAMES["function-marks"], _first(dom.CONFIG)),
    **dict.fromkeys(
        ("torch.sym_int", "torch.sym_float", "torch.sym_max", "torch.sym_min"),
        lambda c: next((replace(a, plain=False, example=None) for a in c.args if isinstance(a, dom.Dim)), dom.CONFIG),
    ),
    **dict.fromkeys(("torch.vmap", "torch.func.vmap"), _first(dom.UNKNOWN)),
    "torch.utils.checkpoint.checkpoint": _checkpointed,
    # An export runs in one process.
    "torch.distributed.is_initialized": lambda _call: dom.Const(False),
    "torch.distributed.get_world_size": lambda _call: dom.Const(1),
    "torch.distributed.get_rank": lambda _call: dom.Const(0),
    **dict.fromkeys((f"torch.{name}" for name in NAMES["settings"]), lambda _call: dom.CONFIG),
}
_NO_TENSORS = tuple(
    f"torch.{name}" for name in "cuda. backends. amp. autograd. profiler. distributed. utils. library. _check".split()
)


def _distribution(engine: Lowering, name: str, node: ast.AST) -> dom.Value:
    """A distribution is known by its name; `sample` and `rsample` of one draw."""
    tail = name.rpartition(".")[2]
    if tail[:1].isupper():
        return dom.External(name)
    if tail in ("sample", "rsample", "sample_n"):
        drawn(engine, node, name, meant=True)
        return dom.Tensor()
    return dom.Tensor() if tail in ("log_prob", "entropy", "cdf", "icdf") else dom.UNKNOWN
