"""Which functions, methods and modules torch has, and what its schemas, tags and type stubs say of them."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from ops_facts import FACTS

NAMESPACES = {
    "torch": torch,
    "torch.nn.functional": F,
    "torch.linalg": torch.linalg,
    "torch.fft": torch.fft,
    "torch.special": torch.special,
    "torch.nn.utils.rnn": torch.nn.utils.rnn,
}

# Python's operator methods, by the aten operator they end in. `r` and `i` forms are derived from these.
OPERATORS = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floor_divide", "mod": "remainder",
    "pow": "pow", "matmul": "matmul", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
}  # fmt: skip
COMPARISONS = {
    "eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge",
    "neg": "neg", "abs": "abs", "invert": "bitwise_not", "pos": "positive",
}  # fmt: skip

# Results that are complex though the input is real.
COMPLEX = re.compile(
    r"^(fft_(fft|ifft|rfft|ihfft)(2|n)?|complex|polar|view_as_complex|linalg_eig(vals)?|stft)$",
)

Row = dict[str, Any]


def callables() -> Iterator[tuple[str, Any]]:
    """Yield (public name, object) for functions, Tensor methods and properties, sorted by name within each kind."""
    overridable = {f for fs in torch.overrides.get_overridable_functions().values() for f in fs}
    builtin = type(torch.abs)
    for prefix, module in NAMESPACES.items():
        for name in sorted(vars(module)):
            value = getattr(module, name)
            if name.startswith("_") or not callable(value) or isinstance(value, type):
                continue
            qualified = f"{prefix}.{name}"
            known = qualified in FACTS or value in overridable or (module is F and qualified in stubs())
            if known or (isinstance(value, builtin) and packet(value.__name__) is not None):
                yield qualified, value
    for name in sorted(dir(torch.Tensor)):
        qualified = f"torch.Tensor.{name}"
        value = getattr(torch.Tensor, name)
        if (
            qualified in FACTS
            or operator(name) is not None
            or (not name.startswith("_") and not isinstance(value, type))
        ):
            yield qualified, value


def modules() -> Iterator[tuple[str, type[torch.nn.Module]]]:
    """Yield (public name, class) for the modules of torch.nn."""
    for name in sorted(vars(torch.nn)):
        value = getattr(torch.nn, name)
        if isinstance(value, type) and issubclass(value, torch.nn.Module) and value is not torch.nn.Module:
            yield f"torch.nn.{name}", value


def operator(dunder: str) -> str | None:
    """The aten operator (with `_` if in place) behind a Python operator method, or None."""
    match = re.fullmatch(r"__([a-z]+)__", dunder)
    if match is None:
        return None
    name = match[1]
    if name in COMPARISONS:
        return COMPARISONS[name]
    if name in OPERATORS:
        return OPERATORS[name]
    if name[0] == "r" and name[1:] in OPERATORS:
        return OPERATORS[name[1:]]
    if name[0] == "i" and name[1:] in OPERATORS:
        return OPERATORS[name[1:]] + "_"
    return None


@cache
def packet(name: str) -> Any | None:
    """The aten operator of that name, or None."""
    found = getattr(torch.ops.aten, name, None)
    return found if found is not None and hasattr(found, "overloads") else None


def overloads(name: str) -> list[Any]:
    """The overloads of an aten operator, those apart that write to `out=` or exist for TorchScript's lists alone."""
    found = packet(name)
    if found is None:
        return []
    every = [getattr(found, o) for o in found.overloads() if o != "out" and not o.endswith("_out")]
    return [o for o in every if torch._C._dispatch_has_kernel(o.name())] or every


def calls(function: Callable[..., Any]) -> list[str]:
    """The names of the torch functions that a Python function calls, in order; methods of tensors are not seen."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return []
    owners = {"torch", "_VF", "F", "torch._C._nn", "torch._C._VariableFunctions", "torch.nn.functional"}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = node.func.attr
            if ast.unparse(node.func.value) in owners and (packet(name) is not None or hasattr(F, name)):
                found.append(name)
    return list(dict.fromkeys(found))


def dispatched(value: Any) -> tuple[str, Any] | None:
    """For a function that `boolean_dispatch` made: the argument it depends on, and the function without it."""
    if not inspect.isfunction(value) or "boolean_dispatch" not in value.__qualname__:
        return None
    inner = inspect.getclosurevars(value).nonlocals
    return inner["arg_name"], inner["if_false"]


@cache
def stubs() -> dict[str, list[ast.FunctionDef | ast.AnnAssign]]:
    """The declarations of torch's own type stubs, by public name."""
    here = Path(torch.__file__).parent
    found: dict[str, list[ast.FunctionDef | ast.AnnAssign]] = defaultdict(list)

    def take(prefix: str, body: Iterable[ast.stmt]) -> None:
        for node in body:
            if isinstance(node, ast.FunctionDef):
                found[f"{prefix}.{node.name}"].append(node)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                found[f"{prefix}.{node.target.id}"].append(node)

    take("torch", ast.parse((here / "_C/_VariableFunctions.pyi").read_text()).body)
    take("torch", [n for n in ast.parse((here / "functional.py").read_text()).body if isinstance(n, ast.FunctionDef)])
    take("torch.nn.functional", ast.parse((here / "nn/functional.pyi").read_text()).body)
    for node in ast.parse((here / "_C/__init__.pyi").read_text()).body:
        if isinstance(node, ast.ClassDef) and node.name == "TensorBase":
            take("torch.Tensor", node.body)
    return found


def kind(annotation: str) -> str | None:
    """What a return annotation of the stubs amounts to; None where it says nothing."""
    text = annotation.replace(" | None", "").replace("torch.", "").strip("'\"")
    if re.match(r"(tuple|list|Tuple|List|Sequence)\[.*Tensor", text) or text.startswith("return_types."):
        return "tensors"
    simple = {
        "Tensor": "tensor", "Self": "tensor", "Size": "shape", "_bool": "bool", "bool": "bool", "_int": "int",
        "int": "int", "SymInt": "int", "_int | SymInt": "int", "_float": "float", "float": "float",
        "Number": "scalar", "Number | _complex": "scalar", "None": "none", "tuple[_int, ...]": "shape", "list": "list",
    }  # fmt: skip
    if text in simple:
        return simple[text]
    return None if text in ("Any", "") else "other"


def stub_returns(qualified: str) -> tuple[str | None, dict[str, str]]:
    """What the stubs say of a callable: what it returns, and what else it returns when an argument is given."""
    returns: str | None = None
    returns_if: dict[str, str] = {}
    first: set[str] = set()
    for node in stubs().get(qualified, []):
        if isinstance(node, ast.AnnAssign):
            return kind(ast.unparse(node.annotation)), {}
        this = kind(ast.unparse(node.returns)) if node.returns else None
        required = set(required_arguments(node))
        if this is None:
            continue
        if returns is None:
            returns, first = this, required
        elif this != returns:
            for name in sorted(required - first):
                returns_if.setdefault(name, this)
    return returns, returns_if


def required_arguments(node: ast.FunctionDef) -> Iterator[str]:
    """The parameters of a stub that have no default."""
    plain = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
    yield from plain[: len(plain) - len(node.args.defaults)]
    for argument, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
        if default is None:
            yield argument.arg


def schema_returns(overload: Any) -> str:
    """What a schema says that an operator returns."""
    returns = overload._schema.returns
    if not returns:
        return "none"
    if len(returns) > 1:
        return "tensors"
    text = str(returns[0].type)
    simple = {"Tensor": "tensor", "List[Tensor]": "tensors", "int": "int", "SymInt": "int", "bool": "bool",
              "float": "float", "number": "scalar", "Scalar": "scalar", "List[int]": "shape"}  # fmt: skip
    return simple.get(text, "other")


def canonical(qualified: str, value: Any) -> str:
    """The aten name a callable stands for, or its own qualified name where there is none."""
    owner, name = qualified.rsplit(".", 1)
    if owner == "torch.Tensor":
        name = operator(name) or name
        return name if packet(name) is not None else qualified
    if owner == "torch.nn.functional":
        inner = dispatched(value)
        plain = inner[1].__name__.lstrip("_") if inner else getattr(value, "__name__", name)
        body = calls(inner[1] if inner else value) if inspect.isfunction(value) else []
        if name in body or not inspect.isfunction(value):
            return plain if packet(plain) is not None else qualified
        return qualified
    if inspect.isbuiltin(value):
        return value.__name__ if packet(value.__name__) is not None else qualified
    return name if packet(name) is not None and owner == "torch" else qualified


@cache
def aliases() -> dict[str, str]:
    """Operators whose documentation says that they are another name of an operator."""
    found = {}
    for prefix, module in NAMESPACES.items():
        for name in vars(module):
            text = getattr(getattr(module, name), "__doc__", None) or ""
            match = re.search(r"^\s*Alias (?:for|of) :\w+:`~?(?:torch\.)?([\w.]+)`", str(text), re.MULTILINE)
            if match:
                own = name if prefix == "torch" else f"{prefix.rsplit('.', 1)[-1]}_{name}"
                found[own] = match[1].replace("nn.functional.", "").replace(".", "_")
    return found


def observations(name: str) -> Row:
    """What the schemas and tags of an aten operator say."""
    row: Row = {}
    all_overloads = overloads(name)
    tags = {tag.name for o in all_overloads for tag in o.tags}
    row["reads_data"] = "data_dependent_output" in tags
    row["data_shape"] = "dynamic_output_shape" in tags
    row["random"] = "nondeterministic_seeded" in tags
    row["inplace"] = any(a.alias_info and a.alias_info.is_write for o in all_overloads for a in o._schema.arguments[:1])
    row["view"] = any(r.alias_info and not r.alias_info.is_write for o in all_overloads for r in o._schema.returns)
    row["complex"] = bool(COMPLEX.match(name))
    if row["random"]:
        arguments = {a.name for o in all_overloads for a in o._schema.arguments}
        if condition := sorted(arguments & {"training", "train"}):
            row["only_if"] = {"random": f"{condition[0]}=True"}
    return row
