"""The child of `measure_ops.py`: call an operator on samples, export with both exporters, run, compare with eager."""

from __future__ import annotations

import contextlib
import functools
import inspect
import io
import itertools
import json
import logging
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import onnxruntime
import torch
from ops_agree import agree, outputs
from ops_samples import extra
from torch.onnx._internal.exporter import _registration
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import module_db
from torch.utils import _pytree as pytree

CANDIDATES = 80  # samples looked at for each operator
SCRIPT_SAMPLES = 8  # a TorchScript export takes some 50 ms
DYNAMO_SAMPLES = 5  # a dynamo export takes about a second
TYPED = ("int64:", "bool:")  # identities of the samples with other dtypes than an operator's first
FEW = 3  # samples of other dtypes, and of in-place forms
SCRIPT_OPSETS = (9, 10, 11, 12, 13, 14, 16, 17, 18, 20)
SKIPPED = ("_refs", "ops.", "jiterator", "masked.", "signal.", "_", "torch.ops", "to_sparse")
UNINITIALISED = ("empty", "empty_like", "new_empty", "empty_permuted", "empty_strided", "new_empty_strided", "resize_")


def serve() -> None:
    """Answer the parent; fd 1 is kept for answers, everything that libraries print goes to nowhere."""
    answers = os.fdopen(os.dup(1), "w")
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    prepare()
    known = subjects()
    for line in sys.stdin:
        name = line.strip()
        answers.write(json.dumps(measure(name, known[name])) + "\n")
        answers.flush()


def prepare() -> None:
    """Keep what every export would make anew, and warnings and logs quiet."""
    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)
    torch.set_num_threads(1)
    make = _registration.ONNXRegistry.from_torchlib.__func__
    _registration.ONNXRegistry.from_torchlib = classmethod(functools.cache(make))


def subjects() -> dict[str, Any]:
    """What is measured: `op:name` or `op:name.variant` → OpInfo, `module:Name` → ModuleInfo."""
    found: dict[str, Any] = dict(extra())
    for info in op_db:
        if not info.name.startswith(SKIPPED) or info.name.startswith("__"):
            found[f"op:{info.full_name if hasattr(info, 'full_name') else info.formatted_name}"] = info
    for info in module_db:
        if info.module_cls.__module__.startswith("torch.nn.modules"):
            found[f"module:{info.module_cls.__name__}"] = info
    for identity, info in list(found.items()):
        kind, _, name = identity.partition(":")
        if kind != "op":
            continue
        if hasattr(torch.Tensor, getattr(info.get_inplace(), "__name__", "")):
            found[f"inplace:{name}"] = info
        for dtype in ("int64", "bool"):
            if default_dtype(info) not in (None, getattr(torch, dtype)) and getattr(torch, dtype) in info.dtypes:
                found[f"{dtype}:{name}"] = info
    return found


def default_dtype(info: Any) -> Any | None:
    """The dtype that an operator is measured with first, None if it takes none of the usual ones."""
    order = (torch.float32, torch.int64, torch.bool, torch.int32, torch.uint8, torch.complex64)
    return next((d for d in order if d in info.dtypes), None)


def public_names(identity: str, info: Any) -> list[str]:
    """The public names that an OpInfo or ModuleInfo stands for."""
    if identity.startswith("module:"):
        return [f"torch.nn.{info.module_cls.__name__}"]
    if identity.startswith("extra:"):
        return list(info[0])
    if identity.startswith("inplace:"):
        inplace: str = info.get_inplace().__name__
        return [f"torch.Tensor.{inplace}", f"torch.{inplace}"]
    names = []
    for name in (info.name, *(alias.name for alias in info.aliases)):
        names.append(name if name.startswith("torch.") else f"torch.{name}")
        if "." not in name and hasattr(torch.Tensor, name):
            names.append(f"torch.Tensor.{name}")
        if "." not in name and not hasattr(torch, name) and hasattr(torch.nn.functional, name):
            names.append(f"torch.nn.functional.{name}")
    return names


def calls(identity: str, info: Any) -> Iterator[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]]:
    """Yield (callable, args, kwargs) for the samples of one subject, on the CPU, without gradients."""
    if identity.startswith("module:"):
        for sample in info.module_inputs_func(info, "cpu", torch.float32, False, False):
            made, given = sample.constructor_input, sample.forward_input
            if given is not None:
                module = info.module_cls(*made.args, **made.kwargs).eval()
                yield module, tuple(given.args), dict(given.kwargs)
        return
    if identity.startswith("extra:"):
        yield from info[1]()
        return
    function = info.op
    if identity.startswith("inplace:"):
        method = info.get_inplace()

        def function(x: Any, *args: Any, **kwargs: Any) -> Any:
            return method(x.clone(), *args, **kwargs)

    typed = {"int64": torch.int64, "bool": torch.bool}
    dtype = typed.get(identity.partition(":")[0], default_dtype(info))
    if dtype is not None:
        for sample in info.sample_inputs("cpu", dtype, requires_grad=False):
            if identity.startswith("inplace:") and sample.broadcasts_input:
                continue  # eager refuses these
            yield function, (sample.input, *sample.args), dict(sample.kwargs)


def measure(identity: str, info: Any) -> dict[str, Any]:
    """Export and run some samples of one subject with both exporters."""
    started = time.monotonic()
    row: dict[str, Any] = {"id": identity, "names": public_names(identity, info), "samples": []}
    try:
        torch.manual_seed(0)
        for sample, told in various(identity, info):
            result: dict[str, Any] = {"call": told, "apart": identity.startswith(TYPED) or sample.wrapped}
            result |= sample.observe()
            lenient = result.get("random", False) or identity.removeprefix("op:") in UNINITIALISED
            result["torchscript"] = torchscript(sample, lenient)
            if len(row["samples"]) < DYNAMO_SAMPLES or identity.startswith("extra:"):
                result["dynamo"] = dynamo(sample, lenient)
            row["samples"].append(result)
    except Exception as error:  # noqa: BLE001 - a sample that torch cannot make is recorded as such
        row["error"] = f"{type(error).__name__}: {str(error)[:200]}"
    row["seconds"] = round(time.monotonic() - started, 1)
    return row


def various(identity: str, info: Any) -> list[tuple[Sample, dict[str, str]]]:
    """Some samples of one subject: plain ones first, then those that show an argument not seen yet, then others."""
    made = []
    for function, args, kwargs in itertools.islice(calls(identity, info), CANDIDATES):
        sample = Sample(function, args, kwargs)
        if not sample.empty:
            made.append((sample, sample.told(identity)))
    if identity.startswith("extra:"):
        return made

    def cost(item: tuple[Sample, dict[str, str]]) -> tuple[bool, int]:
        tensors = item[0].tensors
        return bool(tensors) and tensors[0].dim() == 0, len(item[1])

    new: list[tuple[Sample, dict[str, str]]] = []
    old: list[tuple[Sample, dict[str, str]]] = []
    seen: set[tuple[str, str]] = set()
    calls_seen: list[dict[str, str]] = []
    for sample, told in sorted(made, key=cost):
        if told not in calls_seen:
            calls_seen.append(told)
            (old if told.items() <= seen else new).append((sample, told))
            seen.update(told.items())
    return (new + old)[: FEW if identity.startswith((*TYPED, "inplace:")) else SCRIPT_SAMPLES]


class Sample:
    """One call, as a module whose forward takes the tensors of the call."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:

        leaves, spec = pytree.tree_flatten((args, kwargs))
        places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
        self.function, self.args, self.kwargs = function, args, kwargs
        self.tensors = tuple(leaves[i].detach() for i in places)
        self.wrapped = getattr(function, "__name__", "") == "<lambda>"  # its arguments are not the operator's
        self.empty = any(t.numel() == 0 for t in self.tensors)
        rest = [None if i in places else leaf for i, leaf in enumerate(leaves)]

        class Call(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                if isinstance(function, torch.nn.Module):
                    self.inner = function

            def forward(self, *tensors: Any) -> Any:
                filled = list(rest)
                for place, tensor in zip(places, tensors, strict=True):
                    filled[place] = tensor
                args, kwargs = pytree.tree_unflatten(filled, spec)
                result = function(*args, **kwargs)
                if isinstance(result, torch.Tensor):
                    return result.float() if result.dtype is torch.bfloat16 else result  # numpy knows no bfloat16
                return tuple(r for r in pytree.tree_leaves(result) if isinstance(r, torch.Tensor)) or result

        self.module = Call().eval()

    def inputs(self) -> tuple[Any, ...]:
        """Fresh copies of the tensors, so that no export sees what another one wrote."""
        return tuple(t.clone() for t in self.tensors)

    def told(self, identity: str) -> dict[str, str]:
        """The arguments that are not tensors, by parameter name where one is known, as text."""

        parameters = self.parameters(identity)
        told = {}
        given = [*enumerate(self.args), *self.kwargs.items()]
        for place, value in given:
            known = isinstance(place, int) and place < len(parameters)
            name = list(parameters)[place] if known else f"argument {place + 1}" if isinstance(place, int) else place
            if isinstance(value, torch.Tensor) or text(value) != text(parameters.get(name, inspect.Parameter.empty)):
                told[name] = text(value)
        if isinstance(self.function, torch.nn.Module):
            told["module"] = self.function.extra_repr()
        return told

    def parameters(self, identity: str) -> dict[str, Any]:
        """The callable's parameters and their defaults, as far as torch tells them."""

        target: Any = self.function.forward if isinstance(self.function, torch.nn.Module) else self.function
        if "boolean_dispatch" in getattr(target, "__qualname__", ""):
            target = inspect.getclosurevars(target).nonlocals["if_false"]
        found: dict[str, Any] = {}
        if not self.wrapped and "<locals>" not in getattr(target, "__qualname__", ""):
            with contextlib.suppress(TypeError, ValueError):
                every = inspect.signature(target).parameters.values()
                found = {p.name: p.default for p in every if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
        if found:
            return found
        aten = identity.partition(":")[2].removeprefix("torch.").removeprefix("Tensor.")
        aten = aten.replace("nn.functional.", "").replace(".", "_")
        with contextlib.suppress(RuntimeError, AttributeError, TypeError):
            overload = torch._C._jit_resolve_packet(f"aten::{aten}", *self.args, **self.kwargs) or "default"
            schema = getattr(getattr(torch.ops.aten, aten), overload)._schema
            found = {a.name: a.default_value if a.has_default_value() else inspect.Parameter.empty
                     for a in schema.arguments}  # fmt: skip
        return found

    def observe(self) -> dict[str, Any]:
        """What eager shows: the kind of result, whether it is random, complex, or shares the input's memory."""

        real = all(not t.is_complex() for t in self.tensors)
        torch.manual_seed(1)
        first = outputs(self.module(*self.inputs()))
        seen: dict[str, Any] = {}
        for seed in range(2, 8):  # a draw may well be the same twice
            torch.manual_seed(seed)
            given = self.inputs()
            second = outputs(self.module(*given))
            if any(not agree(a, b)[0] for a, b in zip(first, second, strict=True)):
                seen["random"] = True
        if real and any(o.is_complex() for o in first):
            seen["complex"] = True
        storages = {t.untyped_storage().data_ptr() for t in given if t.layout is torch.strided}
        if any(o.layout is torch.strided and o.untyped_storage().data_ptr() in storages for o in second):
            seen["view"] = True
        return seen


def text(value: Any) -> str:
    """A call's argument as a short text: tensors by dtype and rank, everything else by repr."""
    if isinstance(value, torch.Tensor):
        return f"<{str(value.dtype).removeprefix('torch.')} rank {value.dim()}>"
    if isinstance(value, (list, tuple)) and any(isinstance(v, torch.Tensor) for v in value):
        return "<tensors>"
    return repr(value)[:60]


def run(model: bytes, sample: Sample, lenient: bool) -> tuple[str, str]:
    """Load and run an ONNX file and compare with eager: (`ok` | `wrong` | `runtime-error`, detail)."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        names = [i.name for i in session.get_inputs()]
        given = [torch.view_as_real(t) if t.is_complex() else t for t in sample.inputs()]
        by_place = {f"input_{i}": t.numpy() for i, t in enumerate(given)}
        got = session.run(None, {name: by_place[name] for name in names})
    except Exception as error:  # noqa: BLE001 - onnxruntime's exceptions have no common base but this
        return "runtime-error", str(error)[:300]
    torch.manual_seed(1)
    expected = outputs(sample.module(*sample.inputs()))
    if len(expected) != len(got):
        return "wrong", f"{len(expected)} outputs became {len(got)}"
    for want, have in zip(expected, got, strict=True):
        want = torch.view_as_real(want.resolve_conj()) if want.is_complex() else want
        same, detail = agree(want, torch.as_tensor(have), lenient)
        if not same:
            return "wrong", detail
    return "ok", ""


def torchscript(sample: Sample, lenient: bool) -> list[Any]:
    """[outcome, detail, lowest opset that works] of the TorchScript exporter."""
    outcome, detail = torchscript_at(sample, lenient, 20)
    lowest = None
    if outcome in ("ok", "wrong"):
        lowest = next(o for o in SCRIPT_OPSETS if o == 20 or torchscript_at(sample, lenient, o)[0] == outcome)
    return [outcome, detail, lowest]


def torchscript_at(sample: Sample, lenient: bool, opset: int) -> tuple[str, str]:
    """Export with TorchScript at one opset, run, compare."""
    file = io.BytesIO()
    names = [f"input_{i}" for i in range(len(sample.tensors))]
    try:
        torch.onnx.export(sample.module, sample.inputs(), file, dynamo=False, opset_version=opset, input_names=names)
    except Exception as error:  # noqa: BLE001 - whatever an exporter raises is a refusal
        return "refused", f"{type(error).__name__}: {str(error)[:300]}"
    return run(file.getvalue(), sample, lenient)


def dynamo(sample: Sample, lenient: bool) -> list[Any]:
    """[outcome, detail, lowest opset that works] of the dynamo exporter."""
    outcome, detail = "refused", ""
    for opset in (18, 23):
        outcome, detail = dynamo_at(sample, lenient, opset)
        if outcome != "refused" or "DispatchError" not in detail:
            return [outcome, detail, opset if outcome in ("ok", "wrong") else None]
    return [outcome, detail, None]


def dynamo_at(sample: Sample, lenient: bool, opset: int) -> tuple[str, str]:
    """Export with dynamo at one opset, run, compare. Strict capture is tried where the other one fails."""
    file = io.BytesIO()
    try:
        try:
            program = torch.export.export(sample.module, sample.inputs(), strict=False)
        except Exception:  # noqa: BLE001 - torch.onnx.export falls back in the same way
            program = torch.export.export(sample.module, sample.inputs(), strict=True)
        made = torch.onnx.export(program, dynamo=True, opset_version=opset, verbose=False)
        assert made is not None
        proto = made.model
        for index, value in enumerate(proto.graph.inputs):
            value.name = f"input_{index}"
        made.save(file)
    except Exception as error:  # noqa: BLE001 - whatever an exporter raises is a refusal
        cause: BaseException = error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        return "refused", f"{type(cause).__name__}: {str(cause)[:300]}"
    return run(file.getvalue(), sample, lenient)
