"""Make `onnxlint/flow/ops.json`, the operator table, from torch itself. Needs torch, onnxscript and onnxruntime.

    python .ci/generate_ops.py            # rewrite the table: seconds
    python .ci/generate_ops.py --check    # exit 1 if the shipped table differs from what would be written

What an operator returns, reads, draws and aliases comes from torch's schemas, tags and type stubs; what an exporter
can lower comes from both exporters' registries and, where `.ci/ops_measured.json` has a row, from measurement
(`.ci/measure_ops.py`). What none of them says stands in `.ci/ops_facts.py`, by hand.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import json
import pkgutil
import re
import sys
import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import onnxruntime
import onnxscript
import torch
import torch.nn.functional as F
from ops_facts import CONDITIONS, FACTS
from torch.onnx._internal import torchscript_exporter
from torch.onnx._internal.exporter import _registration
from torch.onnx._internal.torchscript_exporter import registration

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "onnxlint" / "flow" / "ops.json"
MEASURED = ROOT / ".ci" / "ops_measured.json"

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


# ---------------------------------------------------------------- names


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


# ---------------------------------------------------------------- what torch says


@cache
def packet(name: str) -> Any | None:
    """The aten operator of that name, or None."""
    found = getattr(torch.ops.aten, name, None)
    return found if found is not None and hasattr(found, "overloads") else None


def overloads(name: str) -> list[Any]:
    """The overloads of an aten operator that do not write to `out=`."""
    found = packet(name)
    if found is None:
        return []
    return [getattr(found, o) for o in found.overloads() if o != "out" and not o.endswith("_out")]


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


def facts(name: str) -> Row:
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


# ---------------------------------------------------------------- what the exporters say


@cache
def torchscript_registry() -> dict[str, int]:
    """Operator → lowest opset at which the TorchScript exporter knows a symbolic function for it."""
    for module in pkgutil.iter_modules(torchscript_exporter.__path__):
        if module.name.startswith("symbolic_opset"):
            importlib.import_module(f"{torchscript_exporter.__name__}.{module.name}")
    known = {}
    for name in registration.registry.all_functions():
        group = registration.registry.get_function_group(name)
        domain, _, short = name.partition("::")
        if domain in ("aten", "prim") and group is not None:
            known[short] = max(9, group.get_min_supported())
    return known


@cache
def dynamo_registry() -> dict[str, int]:
    """Operator → lowest opset at which the dynamo exporter knows a translation for one of its overloads."""
    known: dict[str, int] = {}
    for target, metas in _registration.ONNXRegistry.from_torchlib(opset_version=23).functions.items():
        if isinstance(target, str) and target.startswith("aten::"):
            short = target.removeprefix("aten::").split(".")[0]
            lowest = min(meta.opset_introduced for meta in metas)
            known[short] = min(known.get(short, 99), max(18, lowest))
    return known


def registered(name: str) -> dict[str, int | None]:
    """What both registries say of an aten operator; a key is missing where they cannot tell."""
    names = [name, *([name[:-1]] if name.endswith("_") else [])]
    names += [aliases()[n] for n in names if n in aliases()]
    script = [torchscript_registry()[n] for n in names if n in torchscript_registry()]
    lowering: dict[str, int | None] = {"torchscript": min(script) if script else None}
    dynamo = [dynamo_registry()[n] for n in names if n in dynamo_registry()]
    every = [o for n in names for o in overloads(n)]
    if min(dynamo, default=99) == 18 or any(o in torch._decomp.decomposition_table for o in every):
        lowering["dynamo"] = 18
    elif any(composite(o) for o in every):
        pass  # it depends on the operators it is made of
    elif every:
        lowering["dynamo"] = min(dynamo, default=None)
    return lowering


def composite(overload: Any) -> bool:
    """Whether torch.export takes an operator apart by its own kernel; operators of TorchScript alone have none."""
    name = overload.name()
    if not torch._C._dispatch_has_kernel(name):
        return False
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(name, "CompositeImplicitAutograd"))


def lowering_of_body(names: list[str]) -> dict[str, int | None]:
    """The lowering of a Python function that calls `names`: known only where every one of them lowers."""
    lowering: dict[str, int | None] = {}
    for exporter in ("torchscript", "dynamo"):
        opsets = [registered(n).get(exporter) for n in names if packet(n) is not None]
        if opsets and None not in opsets:
            lowering[exporter] = max(o for o in opsets if o is not None)
    return lowering


# ---------------------------------------------------------------- what was measured


@cache
def measured() -> dict[str, Any]:
    """What `.ci/measure_ops.py` saw, by public name."""
    found: dict[str, Any] = json.loads(MEASURED.read_text(encoding="utf-8"))
    return found


def take_measured(row: Row, seen: dict[str, Any]) -> None:
    """Replace the registries' word by what the exporters did on torch's own samples."""
    row["complex"] = row["complex"] or seen.get("complex", False)
    row["random"] = row["random"] or seen.get("random", False)
    lowering, unless, wrong = dict(row["lowering"]), list(row.get("unless", ())), list[str]()
    for exporter in ("torchscript", "dynamo"):
        if exporter not in seen:
            continue
        cell = seen[exporter]
        lowering[exporter] = cell["lowest"]
        outcomes = cell["outcomes"]
        if not row["random"] and outcomes.get("wrong", 0) and not outcomes.get("ok", 0):
            wrong.append(exporter)
        unless += [
            [exporter, when, outcome]
            for when, outcome in cell.get("unless", ())
            if not (row["random"] and outcome == "wrong") and exporter not in wrong
        ]
    row |= {"lowering": lowering, "unless": unless, "wrong": wrong}


# ---------------------------------------------------------------- the table


def row_of(qualified: str, value: Any) -> tuple[str, Row]:
    """The canonical name and the row of a function, method or property."""
    name = canonical(qualified, value)
    row: Row = {
        "reads_data": False,
        "data_shape": False,
        "random": False,
        "inplace": False,
        "view": False,
        "complex": False,
    }
    dispatch = dispatched(value)
    body = calls(dispatch[1] if dispatch else value) if inspect.isfunction(value) else []
    if packet(name) is not None:
        row |= facts(name)
        row["lowering"] = registered(name)
        if inspect.isfunction(value) and row["lowering"].get("torchscript") is None:
            del row["lowering"]["torchscript"]  # its own body may go another way
    else:
        row["random"] = any(facts(n)["random"] for n in body)
        row["lowering"] = lowering_of_body(body)
        if row["random"] and "training" in inspect.signature(value).parameters:
            row["only_if"] = {"random": "training=True"}
    returns, returns_if = stub_returns(qualified)
    if returns is None and packet(name) is not None:
        returns = next((schema_returns(o) for o in overloads(name)), None)
    row["returns"] = returns or "other"
    if dispatch and dispatch[0] == "return_indices":
        row["returns"], returns_if = "tensor", {"return_indices": "tensors"}
    if returns_if and qualified not in ("torch.where", "torch.Tensor.where"):
        row["returns_if"] = returns_if
    return name, row


def relatives(qualified: str) -> list[str]:
    """The names whose hand-written facts hold for a name: `torch.add` for `Tensor.add_` and `Tensor.__iadd__`."""
    owner, short = qualified.rsplit(".", 1)
    if owner != "torch.Tensor":
        return [qualified]
    base = operator(short) or short
    base = base if base.startswith("__") else base.removesuffix("_")
    return [f"torch.{base}", f"torch.Tensor.{base}", qualified]


def finish(qualified: str, row: Row, seen: dict[str, Any] | None) -> None:
    """Add what was measured, then what is known by hand."""
    if seen is not None:
        take_measured(row, seen)
    by_hand: set[tuple[str, str, str]] = set()
    for name in relatives(qualified):
        row |= FACTS.get(name, {}) if name == qualified or not qualified.endswith("_") else {}
        by_hand.update(CONDITIONS.get(name, ()))
    row["unless"] = sorted(map(list, by_hand | {tuple(condition) for condition in row.get("unless", ())}))
    if "train=True" in row.get("only_if", {}).values() and qualified.startswith("torch.nn.functional."):
        row["only_if"] = {"random": "training=True"}
    if row["returns"] not in ("tensor", "tensors", "none"):
        row |= {"lowering": {}, "unless": [], "wrong": []}  # a Python value is not an operator


def module_row(cls: type[torch.nn.Module], rows: dict[str, Row]) -> tuple[str | None, Row]:
    """The public function that a module's forward is, if it is only one; and a row of its own otherwise."""
    bodies = [
        cls.forward,
        *(getattr(cls, n) for n in ("_conv_forward", "forward_impl", "forward_tensor") if hasattr(cls, n)),
    ]
    names = list(dict.fromkeys(n for body in bodies for n in calls(body)))
    public = [f"torch.nn.functional.{n}" if hasattr(F, n) else f"torch.{n}" for n in names]
    public = [p for p in public if p in rows]
    if len(public) == 1:
        return public[0], dict(rows[public[0]])
    annotation = str(inspect.signature(cls.forward).return_annotation)
    row: Row = {"reads_data": False, "data_shape": False, "inplace": False, "view": False, "complex": False}
    row["random"] = any(rows[p]["random"] for p in public)
    if row["random"]:
        row["only_if"] = {"random": "training=True"}
    row["returns"] = (
        "tensors" if re.search(r"tuple", annotation, re.IGNORECASE) or issubclass(cls, torch.nn.RNNBase) else "tensor"
    )
    row["lowering"] = lowering_of_body(names) if public else {}
    return None, row


def packed(row: Row) -> Row:
    """A row as it is shipped: false flags, empty notes and unknown exporters left out."""
    flags = ("reads_data", "data_shape", "random", "inplace", "view", "complex")
    out: Row = {"returns": row["returns"]}
    if on := [flag for flag in flags if row.get(flag)]:
        out["flags"] = on
    only_if = {flag: text for flag, text in row.get("only_if", {}).items() if flag in on}
    if only_if:
        out["only_if"] = only_if
    for key in ("returns_if", "lowering", "unless", "wrong"):
        if row.get(key):
            out[key] = row[key]
    return out


def build() -> dict[str, Any]:
    """The whole table: `versions`, `ops` (canonical name → row) and `names` (public name → canonical name)."""
    rows: dict[str, Row] = {}
    ops: dict[str, Row] = {}
    names: dict[str, str] = {}

    def put(qualified: str, name: str, row: Row) -> None:
        row = packed(row)
        if ops.setdefault(name, row) != row:
            name = qualified
            ops[name] = row
        names[qualified] = name

    found = [(qualified, *row_of(qualified, value)) for qualified, value in callables()]
    by_name = {name: measured()[qualified] for qualified, name, _ in found if qualified in measured()}
    for qualified, name, row in found:
        seen = measured().get(qualified) or by_name.get(name) or by_name.get(name.removesuffix("_"))
        finish(qualified, row, seen)
        rows[qualified] = row
        put(qualified, name, row)
    for qualified, cls in modules():
        target, row = module_row(cls, rows)
        finish(qualified, row, measured().get(qualified))
        put(qualified, names[target] if target else qualified, row)
    versions = {"torch": torch.__version__.split("+")[0], "onnxscript": onnxscript.__version__,
                "onnxruntime": onnxruntime.__version__}  # fmt: skip
    return {"versions": versions, "ops": dict(sorted(ops.items())), "names": dict(sorted(names.items()))}


def render(table: dict[str, Any]) -> str:
    """The table as JSON with one operator, and one name, to a line."""
    lines = ['{"versions": ' + json.dumps(table["versions"], sort_keys=True) + ","]
    for section, last in (("ops", ","), ("names", "")):
        body = ",\n".join(
            f" {json.dumps(k)}: {json.dumps(v, sort_keys=True, separators=(',', ':'))}"
            for k, v in table[section].items()
        )
        lines.append(f'"{section}": {{\n{body}\n}}{last}')
    return "\n".join(lines) + "}\n"


def main() -> int:
    """Write the table, or with --check compare it with the shipped one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="compare only; exit 1 on a difference")
    arguments = parser.parse_args()
    text = render(build())
    if arguments.check:
        return int(TABLE.read_text(encoding="utf-8") != text)
    TABLE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
