"""Classes and functions of the project: who inherits from whom, across files, and where a method is found."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnxlint.project.modules import ModuleInfo

MODULE_ROOTS = frozenset(
    {
        "torch.nn.Module",
        "torch.nn.modules.module.Module",
        "torch.jit.ScriptModule",
        "pytorch_lightning.LightningModule",
        "lightning.LightningModule",
        "lightning.pytorch.LightningModule",
        "transformers.PreTrainedModel",
        "transformers.modeling_utils.PreTrainedModel",
        "diffusers.ModelMixin",
        "diffusers.models.modeling_utils.ModelMixin",
    }
)

_SELF_WRITE = re.compile(r"\bself\.(\w+)\s*(?::[^=\n]+)?(?:[-+*/|&]|//|\*\*)?=(?!=)")


class FunctionUnit:
    """One function or method of the project, as the index saw it: an `ast` node and where it stands."""

    __slots__ = ("cls", "decorators", "is_generator", "module", "node", "qualname")

    def __init__(
        self,
        module: ModuleInfo,
        node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
        qualname: str,
        cls: ClassInfo | None,
    ) -> None:
        self.module = module
        self.node = node
        self.qualname = qualname
        self.cls = cls
        self.decorators = tuple(dotted(d) for d in getattr(node, "decorator_list", ()))
        self.is_generator: bool | None = None

    def __repr__(self) -> str:
        return f"<function {self.module.name}.{self.qualname}>"

    @property
    def name(self) -> str:
        """The last part of the qualified name."""
        return self.qualname.rpartition(".")[2]

    def has_decorator(self, *names: str) -> bool:
        """True when a decorator's dotted name ends with one of `names`."""
        return any(d == n or d.endswith("." + n) for d in self.decorators for n in names)


class ClassInfo:
    """One class of the project. Bases are resolved on first use, since they may stand in files read later."""

    __slots__ = (
        "_bases",
        "_external",
        "_mro",
        "_own_writes",
        "attributes",
        "later_writes",
        "methods",
        "module",
        "node",
        "qualname",
    )

    def __init__(self, module: ModuleInfo, node: ast.ClassDef, qualname: str) -> None:
        self.module = module
        self.node = node
        self.qualname = qualname
        self.methods: dict[str, FunctionUnit] = {}
        self.attributes: dict[str, ast.expr] = {}
        self._mro: tuple[ClassInfo, ...] | None = None
        self._bases: tuple[ClassInfo, ...] = ()
        self._external: tuple[str, ...] = ()
        self.later_writes: frozenset[str] | None = None
        self._own_writes: frozenset[str] | None = None
        for statement in node.body:
            self._index(statement)

    def _index(self, statement: ast.stmt) -> None:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            unit = FunctionUnit(self.module, statement, f"{self.qualname}.{statement.name}", self)
            if not unit.has_decorator("setter", "deleter", "overload"):
                self.methods[statement.name] = unit
        elif isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    self.attributes[target.id] = statement.value
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            if statement.value is not None:
                self.attributes[statement.target.id] = statement.value
        elif isinstance(statement, (ast.If, ast.Try)):
            for inner in statement.body:
                self._index(inner)

    def __repr__(self) -> str:
        return f"<class {self.module.name}.{self.qualname}>"

    @property
    def name(self) -> str:
        """The class's own name."""
        return self.node.name

    def mro(self) -> tuple[ClassInfo, ...]:
        """This class and its bases of the project, nearest first; a cycle of bases is cut."""
        if self._mro is None:
            self._mro = (self,)  # what a cycle sees
            bases: list[ClassInfo] = []
            external: list[str] = []
            for expression in self.node.bases:
                found = self.module.resolve_class(expression)
                if isinstance(found, ClassInfo):
                    bases.append(found)
                elif found is not None:
                    external.append(found)
            order: list[ClassInfo] = []
            for base in bases:
                order.extend(base.mro())
            # Nearest first, and a shared base after all that derive from it.
            unique = [c for i, c in enumerate(order) if c not in order[i + 1 :] and c is not self]
            self._mro = (self, *unique)
            self._bases = tuple(bases)
            self._external = tuple(external)
        return self._mro

    def external_bases(self) -> frozenset[str]:
        """Dotted names of every library class that this class derives from."""
        return frozenset(name for c in self.mro() for name in c._external)

    def find_method(self, name: str, after: ClassInfo | None = None) -> FunctionUnit | None:
        """The method that `self.name` means; with `after`, the one that `super()` in class `after` means."""
        order = self.mro()
        if after is not None and after in order:
            order = order[order.index(after) + 1 :]
        return next((c.methods[name] for c in order if name in c.methods), None)

    def find_attribute(self, name: str) -> tuple[ClassInfo, ast.expr] | None:
        """The class-level assignment that `self.name` means."""
        return next(((c, c.attributes[name]) for c in self.mro() if name in c.attributes), None)

    def is_module(self) -> bool:
        """True for a torch.nn.Module, by its bases, or by the look of an unknown library base with a forward."""
        external = self.external_bases()
        if external & MODULE_ROOTS or any(b.startswith("torch.nn.") for b in external):
            return True
        looks = any(b.endswith(("Module", "Model", "Mixin", "Layer")) for b in external)
        return looks and self.find_method("forward") is not None

    def written_outside_init(self) -> frozenset[str]:
        """Names of attributes that methods other than `__init__` assign, in this class or a base."""
        if self.later_writes is None:
            self.later_writes = frozenset[str]().union(*(c.own_late_writes() for c in self.mro()))
        return self.later_writes

    def own_late_writes(self) -> frozenset[str]:
        """The same for the methods of this class alone."""
        if self._own_writes is None:
            found: set[str] = set()
            for name, unit in self.methods.items():
                if name != "__init__" and not self._is_switch(name):
                    text = self.module.text_of(unit.node)
                    if "self." in text:
                        found.update(_SELF_WRITE.findall(text))
            self._own_writes = frozenset(found)
        return self._own_writes

    def _is_switch(self, method: str) -> bool:
        """True for a setting that users turn on from outside (`enable_tiling`) and no method of the class does."""
        return method.startswith(("enable_", "disable_")) and f"self.{method}(" not in self.module.text_of(self.node)


def dotted(node: ast.AST) -> str:
    """`a.b.c` of a name, an attribute or the function of a call; "" for anything else."""
    parts: list[str] = []
    while True:
        if isinstance(node, ast.Call):
            node = node.func
        elif isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        elif isinstance(node, ast.Name):
            parts.append(node.id)
            return ".".join(reversed(parts))
        else:
            return ""


def nested_classes(info: ClassInfo) -> Iterator[ast.ClassDef]:
    """Classes defined in the body of a class."""
    return (s for s in info.node.body if isinstance(s, ast.ClassDef))
