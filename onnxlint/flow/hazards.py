"""Calls that no graph can hold, or that a graph holds wrongly: what a function's name and arguments tell."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from onnxlint.flow import facts
from onnxlint.flow.domain import (
    CONFIG,
    Array,
    Const,
    Data,
    Dict,
    External,
    Function,
    Instance,
    Layer,
    Seq,
    Tensor,
    Trace,
    Tuple,
    Value,
    is_none,
)
from onnxlint.flow.ops import Op
from onnxlint.flow.tree import Place, body_of
from onnxlint.records import EXPORTERS

if TYPE_CHECKING:
    from onnxlint.flow.interpret import Interpreter
    from onnxlint.flow.transfer import Call

TORCHSCRIPT = ("torchscript",)
DYNAMO = ("dynamo",)

# What transforms functions, with the exporters that fail on it.
_TRANSFORMS: dict[str, tuple[str, ...]] = {
    **{
        f"torch.func.{name}": EXPORTERS
        for name in ("grad", "grad_and_value", "vjp", "jacrev", "jacfwd", "hessian", "linearize")
    },
    **{f"torch.func.{name}": TORCHSCRIPT for name in ("jvp", "functional_call", "vmap")},
    "torch.vmap": TORCHSCRIPT,
    "torch.nn.utils.stateless.functional_call": TORCHSCRIPT,
    **{
        f"torch.autograd.functional.{name}": TORCHSCRIPT for name in ("jacobian", "hessian", "jvp", "vjp", "hvp", "vhp")
    },
}
_GRADIENTS = frozenset(("torch.autograd.grad", "torch.autograd.backward"))
_AUTOCASTS = frozenset(
    (
        "torch.autocast",
        "torch.amp.autocast",
        "torch.amp.autocast_mode.autocast",
        "torch.cpu.amp.autocast",
        "torch.cuda.amp.autocast",
    )
)
_PACKS = frozenset(("torch.nn.utils.rnn.pack_padded_sequence", "torch.nn.utils.rnn.pack_sequence"))
_FILES = frozenset(
    (
        "torch.save",
        "pickle.dump",
        "pickle.dumps",
        "joblib.dump",
        "torchvision.utils.save_image",
        "torchaudio.save",
        "soundfile.write",
        "cv2.imwrite",
        "imageio.imwrite",
        "matplotlib.pyplot.imsave",
        "matplotlib.pyplot.imshow",
        "matplotlib.pyplot.plot",
        "numpy.save",
        "numpy.savez",
        "numpy.savez_compressed",
        "numpy.savetxt",
    )
)
CLOCKS = frozenset(
    (
        "time.time",
        "time.time_ns",
        "time.perf_counter",
        "time.perf_counter_ns",
        "time.monotonic",
        "time.monotonic_ns",
        "time.process_time",
        "datetime.datetime.now",
        "datetime.datetime.utcnow",
        "datetime.datetime.today",
        "datetime.date.today",
    )
)
# Packages whose functions are kernels that neither exporter can look into.
_KERNELS = frozenset(
    (
        "apex",
        "causal_conv1d",
        "flash_attn",
        "flash_attn_interface",
        "fused_layer_norm_cuda",
        "MinkowskiEngine",
        "mamba_ssm",
        "natten",
        "nvdiffrast",
        "sageattention",
        "selective_scan_cuda",
        "spconv",
        "tinycudann",
        "torch_cluster",
        "torch_scatter",
        "torch_sparse",
        "transformer_engine",
        "xformers",
    )
)
_OWN_NAMESPACES = ("aten", "prims", "prim", "higher_order", "torchvision")
_SPARSE = frozenset(
    (
        "to_sparse",
        "to_sparse_coo",
        "to_sparse_csr",
        "to_sparse_csc",
        "to_sparse_bsr",
        "to_sparse_bsc",
        "to_dense",
        "coalesce",
        "sparse_mask",
        "sparse_coo_tensor",
        "sparse_csr_tensor",
        "sparse_csc_tensor",
        "sparse_bsr_tensor",
        "sparse_bsc_tensor",
        "sparse_compressed_tensor",
        "smm",
        "sspmm",
        "hspmm",
    )
)
_NO_COMPLEX = frozenset(("fft_fftfreq", "fft_rfftfreq", "hann_window", "hamming_window"))
# Measured: dynamo has no form of these for complex numbers.
_REAL_ONLY = frozenset(
    (
        "cumprod",
        "cumsum",
        "einsum",
        "exp",
        "fftshift",
        "ifftshift",
        "index_select",
        "linear",
        "log",
        "masked_fill",
        "ones_like",
        "pad",
        "pow",
        "prod",
        "repeat",
        "sqrt",
        "tanh",
        "unsqueeze",
        "where",
        "zeros_like",
    )
)
_RESHAPES = frozenset(
    ("squeeze_", "unsqueeze_", "t_", "transpose_", "swapaxes_", "swapdims_", "resize_", "resize_as_", "set_")
)
_RENORMED = ("Embedding", "EmbeddingBag")


def library(engine: Interpreter, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> None:
    """Look at a call of something that is not of the project, in traced code."""
    refused = _TRANSFORMS.get(name.replace("functorch.", "torch.func."))
    values = [*args, *kwargs.values()]
    if refused is not None:
        _emit(engine, node, "transform", name, refused)
    elif name in _GRADIENTS:
        _emit(engine, node, "gradient", name)
    elif name in _AUTOCASTS:
        _autocast(engine, name, args, kwargs, node)
    elif name in _PACKS:
        _emit(engine, node, "packed", name, DYNAMO if name.endswith("padded_sequence") else EXPORTERS)
    elif name in _FILES and any(_depends(v) for v in values):
        _emit(engine, node, "file", name, DYNAMO)
    elif _is_kernel(name) and any(isinstance(v, Tensor) for v in _flat(values)) and not guarded(engine):
        _emit(engine, node, "custom", name)
    elif name.startswith(("torch.nested.", "torch.sparse.")) and not name.endswith("softmax"):
        _emit(engine, node, "sparse", name)


def gradient(engine: Interpreter, t: Tensor, node: ast.AST) -> None:
    """`t.backward()` in traced code."""
    _emit(engine, node, "gradient", "torch.Tensor.backward", trace=t.trace)


def function(engine: Interpreter, fn: Function, args: list[Value], node: ast.AST | None) -> Value | None:
    """Look at the call of a function of the project, in traced code; its result if no exporter can look into it."""
    unit = fn.unit
    if unit.has_decorator("library.custom_op", "triton.jit") and node is not None:
        if not guarded(engine):
            _emit(engine, node, "custom", unit.name)
        return next((replace(v, given="", view=None) for v in args if isinstance(v, Tensor)), CONFIG)
    if unit.has_decorator("torch.compile"):
        body = body_of(unit)
        at = next(d for d in body.function.decorator_list if "compile" in body.text(d))
        place = Place(body, at, at.lineno, f"{unit.module.name}.{unit.qualname}")
        hit = tuple(e for e in engine.exporters if e in TORCHSCRIPT)
        if hit and not guarded(engine):
            engine.emit(facts.OpCall, place, None, op="torch.compile", hazard="compiled", refused_by=hit, exporters=hit)
    return None


def compiled_part(engine: Interpreter, name: str, args: list[Value], node: ast.AST) -> None:
    """`self.part = torch.compile(part)` while a module is built, with no setting that decides on it."""
    part = args[0] if args else None
    frame = engine.frames[-1] if engine.frames else None
    if frame is None or frame.owner is None or not frame.owner.is_module() or engine.tracing:
        return
    if isinstance(part, (Instance, Layer)) or (name == "torch.compile" and isinstance(part, Function)):
        building = frame.unit is not None and frame.unit.name == "__init__"
        if building and isinstance(frame.statement_node, (ast.Assign, ast.AnnAssign)) and not guarded(engine):
            fields: dict[str, Any] = {"op": name, "hazard": "compiled", "refused_by": TORCHSCRIPT}
            engine.emit(facts.OpCall, node, None, exporters=TORCHSCRIPT, always=True, **fields)


def hooked(name: str, args: list[Value]) -> Value | None:
    """What `weight_norm(layer)`, pruning and their like give back: the layer, marked where hooks make its weight."""
    tail = name.rpartition(".")[2]
    if not name.startswith("torch.nn.utils.") or not args or not isinstance(args[0], (Layer, Instance)):
        return None
    if isinstance(args[0], Layer) and (name == "torch.nn.utils.weight_norm" or ".prune." in name):
        return replace(args[0], args=(*args[0].args, (HOOKED, CONFIG)))
    if tail not in ("weight_norm", "spectral_norm", "orthogonal", "remove_weight_norm", "remove_spectral_norm"):
        return None
    if isinstance(args[0], Layer):
        return replace(args[0], args=tuple(a for a in args[0].args if a[0] != HOOKED))
    return args[0]


HOOKED = "<hooked>"


def bypassed(engine: Interpreter, called: Layer, node: ast.AST) -> None:
    """`layer.forward(x)`: hooks do not run."""
    if engine.tracing and any(name == HOOKED for name, _ in called.args):
        _emit(engine, node, "bypassed-hooks", called.name, TORCHSCRIPT)


def _is_kernel(name: str) -> bool:
    if name.startswith("torch.ops."):
        return name.count(".") >= 3 and name.split(".")[2] not in _OWN_NAMESPACES
    root = name.partition(".")[0]
    return root in _KERNELS or root.endswith(("_cuda", "_C")) or ("._C." in name and not name.startswith("torch."))


def _autocast(engine: Interpreter, name: str, args: list[Value], kwargs: dict[str, Value], node: ast.AST) -> None:
    """An autocast that is on: what it does depends on the device that the export runs on."""
    device = args[0] if args and name in ("torch.autocast", "torch.amp.autocast") else kwargs.get("device_type")
    enabled = kwargs.get("enabled")
    if isinstance(enabled, Const) and not enabled.literal:
        return
    dtype = kwargs.get("dtype") or (
        args[1] if len(args) > 1 and name in ("torch.autocast", "torch.amp.autocast") else None
    )
    if isinstance(dtype, External) and dtype.name.endswith((".float32", ".float")):
        return
    kind = (
        device.literal
        if isinstance(device, Const)
        else "cuda"
        if ".cuda." in name
        else "cpu"
        if ".cpu." in name
        else ""
    )
    _emit(engine, node, "autocast", name, sure=kind == "cpu" and enabled is None, detail=str(kind))


def operator(engine: Interpreter, call: Call, entry: Op | None) -> bool:
    """Look at an operator in traced code; True where a rule of its own says what there is to say."""
    op = call.op
    t = call.tensor
    if op in _SPARSE and (t.source == "input" or op.startswith("sparse_")):
        _emit(engine, call.node, "sparse", call.name, trace=t.trace)
        return True
    if op in ("pack_padded_sequence", "pack_sequence", "pad_packed_sequence", "unpack_sequence"):
        return True  # where it is packed, that is told
    if op == "scaled_dot_product_attention":
        _attention(engine, call)
    if op in ("floor_divide", "floor_divide_", "bitwise_right_shift", "bitwise_right_shift_"):
        floor_division(engine, call.args[0] if call.args else t, call.arg(1, "other"), call.node, op.rstrip("_"))
        return True
    if op in _RESHAPES and t.given:
        _emit(engine, call.node, "input-reshaped", call.name, trace=t.trace, detail=t.given)
    if entry is not None:
        wrong = _wrong(engine, call, entry)
        if wrong:
            _emit(engine, call.node, "wrong", call.name, wrong[0], trace=t.trace, detail=wrong[1])
        back = entry.name.startswith(("fft_irfft", "fft_hfft", "view_as_real"))
        if back or (entry.complex and entry.name not in _NO_COMPLEX):
            refused = tuple(e for e in EXPORTERS if entry.lowers(e, engine.opset) is False)
            if op == "stft":
                whole = call.kwargs.get("return_complex")
                refused = TORCHSCRIPT if isinstance(whole, Const) and whole.literal is True else ()
            _emit(engine, call.node, "complex", call.name, refused, trace=t.trace)
            return True
    if op in _REAL_ONLY and any(v.kind == "complex" and not v.guessed for v in call.tensors()):
        _emit(engine, call.node, "complex", call.name, DYNAMO, trace=t.trace, detail=op)
    return False


def _attention(engine: Interpreter, call: Call) -> None:
    """A mask from the inputs: a row of it may be masked as a whole."""
    mask = call.arg(3, "attn_mask")
    if not isinstance(mask, Tensor) or mask.source != "input" or mask.kind != "bool":
        return  # a bias of finite numbers hides no row as a whole
    node = call.node.args[3] if isinstance(call.node, ast.Call) and len(call.node.args) > 3 else None
    for keyword in call.node.keywords if isinstance(call.node, ast.Call) else ():
        node = keyword.value if keyword.arg == "attn_mask" else node
    if _is_union(engine, node):
        return  # `mask | rows_without_any`: every row sees something
    _emit(engine, call.node, "masked-rows", call.name, DYNAMO, trace=mask.trace, sure=not mask.guessed)


def _is_union(engine: Interpreter, node: ast.expr | None) -> bool:
    """True for `a | b`, also where a name was bound to it in the function that runs."""
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.BitOr)
    if isinstance(node, ast.Call):
        called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        return called in ("logical_or", "bitwise_or", "where", "masked_fill")
    body = engine.frames[-1].body
    if not isinstance(node, ast.Name) or body.of_file:
        return False
    bound = [
        s.value
        for s in ast.walk(body.function)
        if isinstance(s, ast.Assign) and any(isinstance(t, ast.Name) and t.id == node.id for t in s.targets)
    ]
    return any(not isinstance(v, ast.Name) and _is_union(engine, v) for v in bound)


def _wrong(engine: Interpreter, call: Call, entry: Op) -> tuple[tuple[str, ...], str] | None:
    """The exporters that lower this call to something else, and the argument that makes them."""
    if call.op in ("index_put", "index_put_"):
        given = call.arg(3, "accumulate")
        return (TORCHSCRIPT, "accumulate=True") if isinstance(given, Const) and given.literal is True else None
    found: list[str] = [e for e in entry.wrong if e in engine.exporters]
    detail = ""
    for condition in entry.unless:
        name = condition.when.partition("=")[0]
        if condition.outcome != "wrong" or name not in _WRONG_ARGUMENTS.get(entry.name, {}):
            continue
        given = call.arg(_WRONG_ARGUMENTS[entry.name][name], name)
        if isinstance(given, Const) and not is_none(given) and given.literal not in (2, 2.0):
            found.append(condition.exporter)
            detail = f"{name}={given.literal!r}"
    return (tuple(dict.fromkeys(found)), detail) if found else None


# Position of the arguments that the operator table names as what makes an operator wrong.
_WRONG_ARGUMENTS: dict[str, dict[str, int]] = {
    "avg_pool2d": {"divisor_override": 6},
    "avg_pool3d": {"divisor_override": 6},
    "cdist": {"p": 2},
    "embedding": {"max_norm": 3},
    "torch.nn.functional.embedding_bag": {"max_norm": 3},
}


def layer(engine: Interpreter, called: Layer, node: ast.AST) -> None:
    """Look at the call of a torch.nn module in traced code."""
    short = called.name.rpartition(".")[2]
    limit = called.arg(3, "max_norm") if short in _RENORMED else None
    if isinstance(limit, Const) and not is_none(limit):
        _emit(engine, node, "wrong", called.name, TORCHSCRIPT, detail=f"max_norm={limit.literal!r}")
    divisor = called.arg(5, "divisor_override") if short in ("AvgPool2d", "AvgPool3d") else None
    if isinstance(divisor, Const) and not is_none(divisor):
        _emit(engine, node, "wrong", called.name, EXPORTERS, detail=f"divisor_override={divisor.literal!r}")


def arithmetic(
    engine: Interpreter, operator: str, a: Value, b: Value, node: ast.AST, operands: Sequence[ast.expr]
) -> None:
    """Look at a binary operator on tensors, in traced code."""
    if operator in ("//", ">>"):
        floor_division(engine, a, b, node, operator)
    imaginary = any(isinstance(n, ast.Constant) and isinstance(n.value, complex) for n in operands)
    if imaginary and operator in ("*", "+", "-", "/", "**"):
        _emit(engine, node, "complex", operator, detail="j")
    elif operator == "**" and isinstance(a, Tensor) and a.kind == "complex":
        _emit(engine, node, "complex", operator, DYNAMO, trace=a.trace, detail="pow")


def floor_division(engine: Interpreter, a: Value | None, b: Value | None, node: ast.AST, how: str) -> None:
    """`a // b` and its like on tensors: TorchScript rounds to zero, which shows where the quotient is negative."""
    tensors = [v for v in (a, b) if isinstance(v, Tensor)]
    if not any(t.source == "input" or t.axes for t in tensors):
        return
    left, right = (_not_negative(v) for v in (a, b))
    if left and right:
        return
    sure = not any(t.guessed for t in tensors) and any(t.kind == "int" for t in tensors)
    trace = next((t.trace for t in tensors if t.trace), None)
    _emit(engine, node, "floor-division", how, TORCHSCRIPT, trace=trace, sure=sure)


def _not_negative(v: Value | None) -> bool:
    if isinstance(v, Tensor):
        return v.kind in ("index", "bool")
    if isinstance(v, Const):
        return isinstance(v.literal, (int, float)) and v.literal >= 0
    return True  # a setting, a size: mostly a count


def data_attribute(engine: Interpreter, t: Tensor, node: ast.AST) -> None:
    """`t.data`, unless no more than its shape or its dtype is asked for."""
    if t.source == "made" or not engine.tracing:
        return
    statement = engine.frames[-1].statement_node
    for outer in ast.walk(statement) if statement is not None else ():
        if isinstance(outer, ast.Attribute) and outer.value is node and outer.attr in _STATIC:
            return
    _emit(engine, node, "data", "torch.Tensor.data", trace=t.trace, detail=t.source)


_STATIC = frozenset(("shape", "size", "dtype", "device", "dim", "ndim", "numel", "is_cuda", "data_ptr", "type"))


def guarded(engine: Interpreter) -> bool:
    """True where an `if` or a `try` stands around what runs: there may be a way without it."""
    for frame in engine.frames:
        if frame.body.of_file or frame.statement_node is None:
            continue
        for outer in ast.walk(frame.body.function):
            if isinstance(outer, (ast.If, ast.Try)) and any(s is frame.statement_node for s in ast.walk(outer)):
                return True
    return False


def clock(v: Value) -> bool:
    """True for a number read from a clock."""
    return isinstance(v, Data) and v.site.how.removesuffix("()") in CLOCKS


def _depends(v: Value) -> bool:
    """True for what holds tensor data that depends on the inputs."""
    return any(
        (isinstance(i, Tensor) and i.source == "input") or (isinstance(i, (Data, Array)) and not i.fixed)
        for i in _flat([v])
    )


def _flat(values: Iterable[Value]) -> list[Value]:
    found: list[Value] = []
    for v in values:
        if isinstance(v, Tuple):
            found += _flat(v.items)
        elif isinstance(v, Seq):
            found += _flat([v.item])
        elif isinstance(v, Dict):
            found += _flat([*(i for _, i in v.items), *([v.rest] if v.rest is not None else [])])
        else:
            found.append(v)
    return found


def _emit(
    engine: Interpreter,
    node: ast.AST,
    hazard: str,
    op: str,
    refused: tuple[str, ...] = EXPORTERS,
    *,
    trace: Trace | None = None,
    sure: bool = True,
    detail: str = "",
) -> None:
    hit = tuple(e for e in engine.exporters if e in refused)
    if hit:
        fields: dict[str, Any] = {"op": op, "hazard": hazard, "refused_by": hit, "detail": detail}
        engine.emit(facts.OpCall, node, trace, sure=sure, exporters=hit, **fields)
