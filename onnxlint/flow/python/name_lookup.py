"""What a name means at the level of a module, and a dotted name across modules."""

import ast
import builtins
import re

from onnxlint.flow.python import implicit_calls
from onnxlint.flow.state.protocols import Defining, InContext
from onnxlint.flow.values.domain import UNKNOWN, ClassRef, Const, External, Function, PyModule, Value
from onnxlint.project.classes import ModuleInfo
from onnxlint.project.outline import LIBRARIES, is_compiled


def find(engine: Defining, module: ModuleInfo, name: str, strict: bool) -> Value:
    """What a name means at module level, not recalled; with `strict` a builtin does not count."""
    function = module.functions.get(name)
    if function is not None:
        return Function(function)
    cls = module.classes.get(name)
    if cls is not None:
        return ClassRef(cls)
    if name in module.aliases:
        return dotted(engine, module.target(name), module)
    if name in module.assigns:
        return _assigned(engine, module, module.assigns[name])
    for origin in module.origins(name):
        if origin is not module:
            value = engine.global_value(origin, name, strict=True)
            if value != UNKNOWN:
                return value
    if not strict and hasattr(builtins, name):
        return External(f"builtins.{name}")
    if module.is_package:
        inner = engine.project.module(f"{module.name}.{name}", module)
        if inner is not None:
            return PyModule(inner)
    return UNKNOWN


def _assigned(engine: Defining, module: ModuleInfo, statement: ast.Assign | ast.AnnAssign) -> Value:
    unpacked = isinstance(statement, ast.Assign) and not isinstance(statement.targets[0], ast.Name)
    table = (statement.end_lineno or statement.lineno) - statement.lineno > 200  # of data
    if statement.value is None or unpacked or table:
        return UNKNOWN
    record = implicit_calls.named_tuple(module, statement)
    return ClassRef(record) if record is not None else engine.evaluate_expression(module, statement.value, "<module>")


def dotted(engine: Defining, full: str, importer: ModuleInfo) -> Value:
    """An imported name: of the project as far as its files are there, else of a library."""
    parts = full.split(".")
    for cut in range(len(parts), 0, -1) if parts[0] not in LIBRARIES else ():
        origin = engine.project.module(".".join(parts[:cut]), importer)
        if origin is None:
            continue
        package = engine.project.module(full.rpartition(".")[0], importer) if cut == len(parts) > 1 else None
        if package is not None and package.is_package and package.aliases.get(parts[-1]) != full:
            shadowing = engine.global_value(package, parts[-1], strict=True)  # `from .pool import pool`
            if shadowing != UNKNOWN:
                return shadowing
        v: Value = PyModule(origin)
        for name in parts[cut:]:
            inner = engine.global_value(v.info, name, strict=True) if isinstance(v, PyModule) else UNKNOWN
            if inner == UNKNOWN and isinstance(v, PyModule) and is_compiled(name):  # which is built beside the sources
                return External(full[full.index(name) :])
            if inner == UNKNOWN and isinstance(v, PyModule) and v.info.is_package and name != parts[-1]:
                return External(full)  # of a module that is not among the sources
            v = inner
        return v
    return of_a_library(engine, full)


def of_a_library(engine: InContext, full: str) -> Value:
    """What a dotted name of a library means; the versions of torch and of the torchvision beside it are known."""
    if full not in ("torch.__version__", "torch.version.__version__", "torchvision.__version__"):
        return External(full)
    major, minor, *_ = (int(n) for n in re.findall(r"\d+", engine.table.versions["torch"]))
    return Const(f"{major}.{minor}.0" if full.startswith("torch.") else f"0.{minor + 15}.0")
