"""Classes and functions of the project: who inherits from whom, across files, and where a method is found."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterator, Mapping
from typing import TYPE_CHECKING

from onnxlint.project.outline import (
    ClassOutline,
    FunctionOutline,
    ValueOutline,
    class_outlines,
    dotted,
    function_outline,
)

if TYPE_CHECKING:
    from onnxlint.project.modules import ModuleInfo

__all__ = ["MODULE_ROOTS", "ClassInfo", "FunctionUnit", "dotted"]

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

MOST = 200  # bases of a class that are looked at
FIRST = 2  # the line of its tree that a function starts on: below the `if 1:` that an indented one needs


class FunctionUnit:
    """One function or method of the project: where it stands, and its tree, parsed from its lines on demand.

    One that stands in a function (a closure) is made of its node, which it keeps. Lines are those of the file; those of
    the tree, which functions of the same text share, become lines of the file by adding `shift` (which is given for a
    node). Two units are the same function if their `key` is the same.
    """

    __slots__ = (
        "_args",
        "_node",
        "_noted",
        "cls",
        "decorators",
        "first",
        "key",
        "last",
        "line",
        "module",
        "qualname",
        "shift",
    )

    def __init__(
        self,
        module: ModuleInfo,
        definition: FunctionOutline | ast.FunctionDef | ast.AsyncFunctionDef,
        qualname: str,
        cls: ClassInfo | None,
        shift: int = 0,
    ) -> None:
        self._node = None if isinstance(definition, FunctionOutline) else definition
        self._args: ast.arguments | None = None
        outline = definition if isinstance(definition, FunctionOutline) else function_outline(definition, shift)
        self._noted = f"text:{qualname}" if self._node is None else ""
        self.key: Hashable = id(self)
        self.shift = shift
        if self._node is None:
            self.shift = outline.first - FIRST
        else:  # the unit is made anew wherever the function around it runs
            self.key = module.path, outline.line, self._node.col_offset
        self.module = module
        self.qualname = qualname
        self.cls = cls
        self.decorators = outline.decorators
        self.first = outline.first
        self.line = outline.line
        self.last = outline.last

    def __repr__(self) -> str:
        return f"<function {self.module.name}.{self.qualname}>"

    @property
    def name(self) -> str:
        """The last part of the qualified name."""
        return self.qualname.rpartition(".")[2]

    @property
    def node(self) -> ast.FunctionDef | ast.AsyncFunctionDef:
        """The tree, with the columns of the file and lines of its own; parsed again if it was not used for long."""
        if self._node is not None:
            return self._node
        self.module.note(self._noted)
        return self.module.project.definition(self)

    @property
    def args(self) -> ast.arguments:
        """The parameters; they are kept, being asked for by every call."""
        if self._args is None:
            self._args = self.node.args
        elif self._noted:
            self.module.note(self._noted)
        return self._args

    @property
    def text(self) -> str:
        """The source lines, without the decorators'."""
        if self._noted:
            self.module.note(self._noted)
        return "\n".join(self.module.source.lines[self.line - 1 : self.last])

    def has_decorator(self, *names: str) -> bool:
        """True when a decorator's dotted name ends with one of `names`."""
        if not self.decorators:
            return False
        return any(d == n or d.endswith("." + n) for d in self.decorators for n in names)


class ClassInfo:
    """One class of the project. Bases are resolved on first use, since they may stand in files read later.

    One that stands in a function is made of its node; `shift` makes lines of the file of those of the node.
    """

    __slots__ = (
        "_external",
        "_later_writes",
        "_mro",
        "_outline",
        "_resolved_in",
        "attributes",
        "methods",
        "module",
        "qualname",
    )

    def __init__(
        self, module: ModuleInfo, definition: ClassOutline | ast.ClassDef, qualname: str, shift: int = 0
    ) -> None:
        if isinstance(definition, ast.ClassDef):
            definition = next(class_outlines(definition, qualname, module.source.lines, shift))
        self._outline = definition
        self.module = module
        self.qualname = qualname
        self.methods = {m.name: FunctionUnit(module, m, f"{qualname}.{m.name}", self) for m in definition.methods}
        self.attributes = Attributes(module, qualname, definition.attributes)
        self._mro: tuple[ClassInfo, ...] = ()
        self._external: frozenset[str] = frozenset()
        self._later_writes: frozenset[str] | None = None
        self._resolved_in: object = None

    def __repr__(self) -> str:
        return f"<class {self.module.name}.{self.qualname}>"

    @property
    def name(self) -> str:
        """The class's own name."""
        return self.qualname.rpartition(".")[2]

    @property
    def line(self) -> int:
        """The line that names it."""
        return self._outline.line

    @property
    def decorators(self) -> tuple[str, ...]:
        """Dotted names of its decorators, "" for one that has none."""
        return self._outline.decorators

    @property
    def fields(self) -> tuple[str, ...]:
        """Names that the body annotates: the fields of a record."""
        return self._outline.fields

    @property
    def base_names(self) -> tuple[str, ...]:
        """The bases as written, "" for one that is no name."""
        return tuple(self._outline.bases)

    @property
    def text(self) -> str:
        """The source lines, without the decorators'."""
        self.module.note(f"class:{self.qualname}")
        return "\n".join(self.module.source.lines[self._outline.line - 1 : self._outline.last])

    def mro(self) -> tuple[ClassInfo, ...]:
        """This class and its bases of the project, nearest first; a cycle of bases is cut, and what is past MOST."""
        session = self.module.project.session
        if self._resolved_in is not session:
            waiting = [(self, self._begin())]
            while waiting:  # no recursion: a chain may be longer than Python's stack
                cls, bases = waiting[-1]
                base = next((b for b in bases if b._resolved_in is not session), None)
                if base is not None:
                    waiting.append((base, base._begin()))
                else:
                    cls._finish(bases)
                    waiting.pop()
        return self._mro

    def _begin(self) -> list[ClassInfo]:
        """Find the bases; until theirs are known too, this class stands alone, as a cycle sees it."""
        self._resolved_in = self.module.project.session
        self._later_writes = None
        self._mro = (self,)
        found = [self.module.lookup(name) for name in self._outline.bases if name]
        self._external = frozenset(name for name in found if isinstance(name, str))
        return [base for base in found if isinstance(base, ClassInfo)]

    def _finish(self, bases: list[ClassInfo]) -> None:
        order = [c for base in bases for c in base._mro]
        # Nearest first, and a shared base after all that derive from it.
        unique = list(dict.fromkeys(reversed([c for c in order if c is not self])))[::-1]
        if len(unique) >= MOST:
            self.module.project.session.deep.setdefault(self.module.path, self)
        self._mro = (self, *unique[: MOST - 1])
        self._external = self._external.union(*(base._external for base in bases))

    def external_bases(self) -> frozenset[str]:
        """Dotted names of every library class that this class derives from."""
        self.mro()
        return self._external

    def find_method(self, name: str, after: ClassInfo | None = None) -> FunctionUnit | None:
        """The method that `self.name` means; with `after`, the one that `super()` in class `after` means."""
        order = self.mro()
        if after is not None and after in order:
            order = order[order.index(after) + 1 :]
        for c in order:
            found = c.methods.get(name)
            if found is not None:
                return found
        return None

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
        order = self.mro()
        if self._later_writes is None:
            self._later_writes = frozenset(name for c in order for name in c._outline.late)
        return self._later_writes


class Attributes(Mapping[str, ast.expr]):
    """What the body of a class assigns, by name, parsed on demand."""

    __slots__ = ("_known", "_module", "_owner", "_parsed")

    def __init__(self, module: ModuleInfo, owner: str, known: Mapping[str, ValueOutline]) -> None:
        self._module = module
        self._owner = owner
        self._known = known
        self._parsed: dict[str, ast.expr] = {}

    def __getitem__(self, name: str) -> ast.expr:
        outline = self._known[name]
        self._module.note(f"value:{self._owner}.{name}")
        if name not in self._parsed:
            value = self._module.statement(outline).value
            assert value is not None
            self._parsed[name] = value
        return self._parsed[name]

    def __contains__(self, name: object) -> bool:
        return name in self._known

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)
