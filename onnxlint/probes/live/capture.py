"""Listens for exports in the process of a user's script, which must not notice: standard library only until one comes.

A first statement is put into the exporters' own functions when their modules are imported, so that no frame of ours is
on the stack while they run: their files may hold the stack.

Python in the processes that the program starts is watched as well. The program's own `os.environ` stays what it is
without us: we add to the environment of the C library, which a process inherits that is given none, and to the list
that `subprocess` passes on where a program gives one.
"""

import ast
import atexit
import contextlib
import importlib
import inspect
import itertools
import os
import socket
import sys
import traceback
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import FrameType, ModuleType
from typing import Any

from onnxlint.probes.common.userspace import program_files
from onnxlint.probes.live import snapshot
from onnxlint.probes.process import wire

CALL, FILES, FAULT = b"+", b"f", b"!"
FUNCTIONS = ("export", "draft_export")
HOOK = os.path.join(os.path.dirname(__file__), "hook")
PATH, CHANNEL = "PYTHONPATH", "ONNXLINT_CHANNEL"
_LIST = 5  # where `_posixsubprocess.fork_exec` takes the environment, as `NAME=value` in bytes
_NAME = "__onnxlint_notice__"
_numbers = itertools.count()
_SCRIPT_UTILS = ("torch.onnx._internal.torchscript_exporter.utils", "torch.onnx.utils")  # since 2.9, and before
_MODULES = ("torch.onnx", "torch.export", *_SCRIPT_UTILS)
# What is handed on as it is; dims, names and opset are read, and the rest says where to write what.
_KEPT = {
    "torchscript": (
        *("export_params", "keep_initializers_as_inputs", "training", "operator_export_type", "do_constant_folding"),
        *("custom_opsets", "export_modules_as_functions", "autograd_inlining"),
    ),
    "dynamo": ("custom_translation_table", "optimize"),
}

_channel: socket.socket | None = None
_owner = 0  # the process that the connection is of
_address = _root = ""


@dataclass(frozen=True, slots=True)
class _Made:
    """A call of torch.export: its number and its arguments, as long as these live."""

    number: str
    kind: str
    model: weakref.ref[Any]
    tensors: tuple[weakref.ref[Any], ...]
    dynamic_shapes: Any

    def made(self, program: Any) -> bool:
        """Whether the program could come from this call: with these very inputs and weights, of such a class."""
        inputs, model = _tensors(getattr(program, "example_inputs", None) or ()), self.model()
        if not inputs or [id(tensor()) for tensor in self.tensors] != [id(tensor) for tensor in inputs]:
            return False
        if model is not None:
            weights = {tensor.data_ptr() for tensor in (*model.parameters(), *model.buffers())}
            if not all(tensor.data_ptr() in weights for tensor in program.state_dict.values()):
                return False
        stacks = [node.meta.get("nn_module_stack") or {} for node in program.graph.nodes]
        kinds = [kind for stack in stacks for _, kind in stack.values() if "." in str(kind)]
        return not kinds or kinds[0] == self.kind  # a decomposed program does not tell


_made: list[_Made] = []


def listen(address: str, root: str) -> None:
    """Report every export from now on, and the program's files at its end, to who listens there, if anybody does."""
    global _address, _root
    _address, _root = address, root
    if _line() is None:
        return
    _inherit()
    if "subprocess" in sys.modules:
        _pass_on(sys.modules["subprocess"])
    sys.meta_path.insert(0, _Finder())
    atexit.register(_end)


def variables(address: str, root: str, before: str) -> dict[str, str]:
    """What Python needs to be watched: where to tell of exports, and what PYTHONPATH is without us."""
    path = os.pathsep.join(part for part in (HOOK, before) if part)
    ours = {CHANNEL: address, "ONNXLINT_ROOT": root, "ONNXLINT_PREFIX": sys.prefix, "ONNXLINT_PYTHONPATH": before}
    return {PATH: path, **ours}


def _inherit() -> None:
    """Put what we hand down where `os.environ` does not show it; the program may have changed PYTHONPATH since."""
    for name, value in variables(_address, _root, os.environ.get(PATH, "")).items():
        os.putenv(name, value)


def _pass_on(module: ModuleType) -> None:
    """Let `subprocess` add what we hand down, where this Python has the function that we know."""
    fork_exec = getattr(module, "_fork_exec", None)
    if fork_exec is None:
        return

    def watched(*args: Any) -> Any:
        environment = args[_LIST] if len(args) > _LIST else ()
        if environment is None:
            _inherit()
        elif isinstance(environment, list):
            args = (*args[:_LIST], _added(environment), *args[_LIST + 1 :])
        return fork_exec(*args)

    vars(module)["_fork_exec"] = watched


def _added(environment: list[bytes]) -> list[bytes]:
    existing = dict(item.partition(b"=")[::2] for item in environment)
    if CHANNEL.encode() in existing:  # another onnxlint watches that one
        return environment
    ours = variables(_address, _root, os.fsdecode(existing.get(PATH.encode(), b"")))
    merged = {**existing, **{os.fsencode(name): os.fsencode(value) for name, value in ours.items()}}
    return [name + b"=" + value for name, value in merged.items()]


def _line() -> socket.socket | None:
    """The connection of this process, made anew in one that was forked; None where nobody listens any more."""
    global _channel, _owner
    if _owner == os.getpid():
        return _channel
    _channel, _owner = socket.socket(socket.AF_UNIX), os.getpid()
    try:
        _channel.connect(_address)
    except OSError:
        _channel = None
    return _channel


def notice(module: str, function: str, arguments: dict[str, Any]) -> None:
    """An exporter's function was called; never raises, and changes nothing."""
    frame = sys._getframe(2)
    line = None if snapshot.inside or _is_inner(frame) else _line()
    if line is None:
        return
    try:
        with contextlib.closing(_freeze(module, arguments, frame, line)) as control:
            socket.send_fds(line, [CALL], [control.fileno()])
    except Exception as error:  # noqa: BLE001 - it is in the report; the script goes on as without us
        _send(FAULT, {"fault": f"{type(error).__name__}: {error}", "call": f"{module}.{function}"})


class _Finder(MetaPathFinder):
    """Finds the exporters' modules as Python does, and loads them with our statement in them."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
        kind = _Subprocess if fullname == "subprocess" else _Loader
        spec = PathFinder.find_spec(fullname, path, target) if fullname in ("subprocess", *_MODULES) else None
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = kind(spec.loader.name, spec.loader.path)
        return spec


class _Subprocess(SourceFileLoader):
    """Loads `subprocess` as it is, and lets it hand down that we watch."""

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        _pass_on(module)


class _Loader(SourceFileLoader):
    """Compiles from the source, past the folder of compiled files: what is kept there must stay the original."""

    def get_code(self, fullname: str) -> Any:
        path = self.get_filename(fullname)
        tree = ast.parse(self.get_data(path), path)
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and node.name in FUNCTIONS:
                call = ast.parse(f"{_NAME}({fullname!r}, {node.name!r}, locals())").body[0]
                first = node.body[0]
                for part in ast.walk(call):
                    ast.copy_location(part, first)
                node.body.insert(int(isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)), call)
        return compile(tree, path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        vars(module)[_NAME] = notice
        super().exec_module(module)


def _is_inner(frame: FrameType) -> bool:
    """Whether an exporter called this one: the outermost is the user's call."""
    outwards = (frame for frame, _ in traceback.walk_stack(frame))
    return any(f.f_code.co_name in FUNCTIONS and f.f_globals.get("__name__") in _MODULES for f in outwards)


def _freeze(module: str, arguments: dict[str, Any], frame: FrameType, line: socket.socket) -> socket.socket:
    call = _numbered(_read(module, arguments))
    if sys.modules["torch"].cuda.is_initialized():  # a forked process cannot go on with it
        call = importlib.import_module("onnxlint.probes.live.live_models").Call(**call).on_cpu()

    def describe() -> Any:
        live = importlib.import_module("onnxlint.probes.live.live_models")
        return live.describe(live.Call(**call) if isinstance(call, dict) else call, frame, _root)

    return snapshot.take(describe, (line.fileno(),))


def _read(module: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """What a call says, as the fields of `live_models.Call`."""
    model, kwargs = arguments["mod" if module == "torch.export" else "model"], dict(arguments.get("kwargs") or {})
    call = {"model": model, "args": arguments.get("args", ()), "kwargs": kwargs, "dynamic": {}, "everything": True}
    shapes = arguments.get("dynamic_shapes")
    if module == "torch.export":
        return {**call, "exporters": ("dynamo",), "dynamic_shapes": shapes}
    program = type(model).__name__ == "ExportedProgram"
    dynamo = program or (arguments.get("dynamo") and module not in _SCRIPT_UTILS)
    exporter = "dynamo" if dynamo else "torchscript"
    default = getattr(sys.modules.get("torch.onnx._constants"), "ONNX_DEFAULT_OPSET", None)  # this torch may not say
    call |= {"opset": arguments.get("opset_version") or default, "onnx": True, "exporters": (exporter,)}
    call["options"] = _changed(module, exporter, arguments)
    if program:
        return {**call, **_origin(model)}
    call |= {"dynamic_axes": arguments.get("dynamic_axes"), "input_names": tuple(arguments.get("input_names") or ())}
    return {**call, "dynamic_shapes": shapes if dynamo else None}


def _origin(program: Any) -> dict[str, Any]:
    """The model, if it still lives and is the only candidate, that torch.export made the translated program of."""
    candidates = [made for made in _made if made.made(program)]
    model = candidates[0].model() if len(candidates) == 1 else None
    if model is None:
        return {}
    args, kwargs = program.example_inputs
    origin = {"model": model, "args": tuple(args), "kwargs": dict(kwargs), "onnx": False, "program": program}
    return {**origin, "dynamic_shapes": candidates[0].dynamic_shapes, "replaces": candidates[0].number}


def _numbered(call: dict[str, Any]) -> dict[str, Any]:
    """The call with a number of its own; what torch.export gets is remembered under it."""
    number = f"{os.getpid()}.{next(_numbers)}"
    if "onnx" not in call:
        tensors = tuple(map(weakref.ref, _tensors((call["args"], call["kwargs"]))))
        kind = f"{type(call['model']).__module__}.{type(call['model']).__qualname__}"
        _made.append(_Made(number, kind, weakref.ref(call["model"]), tensors, call["dynamic_shapes"]))
    return {**call, "number": number}


def _tensors(value: Any) -> list[Any]:
    value = list(value.values()) if isinstance(value, Mapping) else value
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in _tensors(item)]
    return [value] if isinstance(value, sys.modules["torch"].Tensor) else []


def _changed(module: str, exporter: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The options that are handed on and are not the defaults: some warn as soon as they are given."""
    defaults = inspect.signature(sys.modules[module].export).parameters
    options = {name: arguments[name] for name in _KEPT[exporter] if name in arguments}
    return {name: value for name, value in options.items() if value is not defaults[name].default}


def _end() -> None:
    if os.getpid() == _owner and not snapshot.inside:
        _send(FILES, {"files": sorted(set(program_files()))})


def _send(kind: bytes, message: dict[str, Any]) -> None:
    if (line := _line()) is not None:
        with contextlib.suppress(OSError):  # nobody listens any more: the script is what counts here
            line.sendall(kind + wire.pack(message))
