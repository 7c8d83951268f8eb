"""Modules, classes and functions of the project: what each defines and imports, and where a name or method is found."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeVar

from onnxlint.project import outline as outlines
from onnxlint.project.outline import ClassOutline, FunctionNode, FunctionOutline, ValueOutline, function_outline
from onnxlint.source.parse import SourceFile, nodes_of

V = TypeVar("V")
Definition = FunctionOutline | FunctionNode

_LIBRARY_MODELS = (
    *("torchvision.models.", "timm.models.", "transformers.models.", "segmentation_models_pytorch."),
    *("monai.networks.", "torch_geometric.nn.", "kornia.", "torchaudio.models."),
)
_FOREIGN = ("paddle.", "tensorflow.", "keras.", "flax.", "jax.", "mindspore.", "mxnet.", "oneflow.", "megengine.")
MODULE_ROOTS = frozenset(
    (
        *("torch.nn.Module", "torch.nn.modules.module.Module", "torch.jit.ScriptModule"),
        *("pytorch_lightning.LightningModule", "lightning.LightningModule", "lightning.pytorch.LightningModule"),
        *("transformers.PreTrainedModel", "transformers.modeling_utils.PreTrainedModel"),
        *("diffusers.ModelMixin", "diffusers.models.modeling_utils.ModelMixin"),
    )
)

# What adds no more to a class of torch.nn than weights by a configuration: mmcv 1.7, mmcv/runner/base_module.py, and
# mmengine 0.10, mmengine/model/base_module.py.
_OPENMMLAB = re.compile(r"mm(?:cv\.runner|engine\.model)(?:\.\w+)*\.(BaseModule|ModuleList|ModuleDict|Sequential)")

MOST = 200  # bases of a class that are looked at
STARS = 500  # star imports of a module that are asked one by one, each name noted as read
FIRST = 2  # the line of its tree that a function starts on: below the `if 1:` that an indented one needs
WHOLE = "*"  # the key of all of a file


@dataclass(slots=True, eq=False)
class Reads:
    """One recording: parts of modules, names of modules with the file that each meant, and other files looked at.

    The key of a part is `*` (all of a file), `name:x`, `text:qualname`, `value:qualname` or `class:qualname`.
    """

    keys: set[tuple[Any, str]] = field(default_factory=set)
    modules: dict[tuple[str, str], Path | None] = field(default_factory=dict)
    probed: set[str] = field(default_factory=set)


@dataclass(slots=True, eq=False, repr=False)
class Names(Mapping[str, V]):
    """What a module binds, by name. It tells the recording of the project which names are asked for.

    Going through all of them counts as reading the whole file.
    """

    _module: Any
    _names: dict[str, V]

    def __getitem__(self, name: str) -> V:
        self._module.note(f"name:{name}")
        return self._names[name]

    def get(self, name: str, default: Any = None) -> Any:
        """The value, or the default: most names that are asked for are bound elsewhere."""
        self._module.note(f"name:{name}")
        return self._names.get(name, default)

    def __contains__(self, name: object) -> bool:
        self._module.note(f"name:{name}")
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        self._module.note(WHOLE)
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def values(self) -> Any:
        """Every value."""
        self._module.note(WHOLE)
        return self._names.values()


class FunctionUnit:
    """One function or method of the project: where it stands, and its tree, parsed from its lines on demand.

    One that stands in a function (a closure) is made of its node, which it keeps. Lines are those of the file; those of
    the tree, which functions of the same text share, become lines of the file by adding `shift` (which is given for a
    node). Two units are the same function if their `key` is the same.
    """

    __slots__ = (
        *("_args", "_node", "_noted", "_parameters", "_words", "cls", "decorators", "first"),
        *("key", "last", "line", "module", "name", "qualname", "shift"),
    )

    def __init__(
        self, module: ModuleInfo, definition: Definition, qualname: str, cls: ClassInfo | None, shift: int = 0
    ) -> None:
        self._node = None if isinstance(definition, FunctionOutline) else definition
        self._args: ast.arguments | None = None
        self._parameters: tuple[tuple[ast.arg, ast.expr | None], ...] | None = None
        self._words: frozenset[str] | None = None
        outline = definition if isinstance(definition, FunctionOutline) else function_outline(definition, shift)
        self._noted = f"text:{qualname}" if self._node is None else ""
        self.key: Hashable = id(self)
        self.shift = shift if self._node is not None else 0 if module.parsed else outline.first - FIRST
        if self._node is not None:  # the unit is made anew wherever the function around it runs
            self.key = module.path, outline.line, self._node.col_offset
        self.module, self.qualname, self.name, self.cls = module, qualname, qualname.rpartition(".")[2], cls
        self.decorators = outline.decorators
        self.first, self.line, self.last = outline.first, outline.line, outline.last

    def __repr__(self) -> str:
        return f"<function {self.module.name}.{self.qualname}>"

    @property
    def node(self) -> FunctionNode:
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
    def positional(self) -> tuple[tuple[ast.arg, ast.expr | None], ...]:
        """The parameters that may be given by position, with their defaults."""
        a = self.args
        if self._parameters is None:
            names = [*a.posonlyargs, *a.args]
            self._parameters = (*zip(names, [*[None] * (len(names) - len(a.defaults)), *a.defaults], strict=True),)
        return self._parameters

    @property
    def words(self) -> frozenset[str]:
        """The names that its code has, those of parameters and attributes aside."""
        if self._words is None:
            self._words = frozenset(n.id for n in ast.walk(self.node) if isinstance(n, ast.Name))
        return self._words

    @property
    def text(self) -> str:
        """The source lines, without the decorators'."""
        if self._noted:
            self.module.note(self._noted)
        return self.module.source.rows(self.line, self.last)

    @property
    def has_symbolic(self) -> bool:
        """True for the forward of an autograd.Function that tells the TorchScript exporter what to write for it."""
        return self.cls is not None and self.name == "forward" and "symbolic" in self.cls.methods

    @property
    def of_autograd(self) -> bool:
        """True for a method of an autograd.Function, which is written around what autograd cannot look into."""
        return self.cls is not None and any(b.startswith("torch.autograd") for b in self.cls.external_bases())

    def has_decorator(self, *names: str) -> bool:
        """True when a decorator's dotted name ends with one of `names`."""
        return bool(self.decorators) and any(d == n or d.endswith("." + n) for d in self.decorators for n in names)


class ClassInfo:
    """One class of the project. Bases are resolved on first use, since they may stand in files read later.

    One that stands in a function is made of its node; `shift` makes lines of the file of those of the node. `line` is
    the one that names it, `fields` are the names that its body annotates (of a record), `decorators` and `base_names`
    dotted names, "" for what is no name.
    """

    __slots__ = (
        *("_external", "_is_module", "_later_writes", "_methods_by_name", "_mro", "_outline", "_resolved_in"),
        *("attributes", "base_names", "decorators", "fields", "line", "methods", "module", "name", "qualname"),
    )

    def __init__(self, module: ModuleInfo, defined: ClassOutline | ast.ClassDef, qualname: str, shift: int = 0) -> None:
        if isinstance(defined, ast.ClassDef):
            defined = next(outlines.class_outlines(defined, qualname, module.source.lines, shift))
        self._outline = defined
        self.line, self.decorators = defined.line, defined.decorators
        self.fields, self.base_names = defined.fields, defined.bases
        self.module, self.qualname, self.name = module, qualname, qualname.rpartition(".")[2]
        self.methods = {m.name: FunctionUnit(module, m, f"{qualname}.{m.name}", self) for m in defined.methods}
        self.attributes = Assigns(module, defined.attributes, qualname)
        self._mro: tuple[ClassInfo, ...] = ()
        self._external: frozenset[str] = frozenset()
        self._later_writes: frozenset[str] | None = None
        self._is_module: bool | None = None
        self._methods_by_name: dict[str, FunctionUnit | None] = {}  # here or in a base
        self._resolved_in: object = None

    def __repr__(self) -> str:
        return f"<class {self.module.name}.{self.qualname}>"

    @property
    def text(self) -> str:
        """The source lines, without the decorators'."""
        self.module.note(f"class:{self.qualname}")
        return self.module.source.rows(self.line, self._outline.last)

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
        self._later_writes = self._is_module = None
        self._methods_by_name = {}
        self._mro = (self,)
        bases = [self.module.lookup(name) for name in self.base_names if name]
        self._external = frozenset(name for name in bases if isinstance(name, str))
        # `except ImportError: from torch.nn import LayerNorm as Norm`, which is there where the base of `Norm` is not.
        other = self.module.aliases.get(self.qualname, "")
        if other.startswith("torch.nn.") and self._external:
            self._external |= {other}
        return [base for base in bases if isinstance(base, ClassInfo)]

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
        if self._resolved_in is not self.module.project.session:
            self.mro()
        return self._external

    def find_method(self, name: str, after: ClassInfo | None = None) -> FunctionUnit | None:
        """The method that `self.name` means; with `after`, the one that `super()` in class `after` means."""
        order = self.mro()
        if after is not None and after in order:
            return next((c.methods[name] for c in order[order.index(after) + 1 :] if name in c.methods), None)
        if name not in self._methods_by_name:
            self._methods_by_name[name] = next((c.methods[name] for c in order if name in c.methods), None)
        return self._methods_by_name[name]

    def find_attribute(self, name: str) -> tuple[ClassInfo, ast.expr] | None:
        """The class-level assignment that `self.name` means."""
        for owner in self.mro():
            if name in owner.attributes:
                value = owner.attributes[name].value
                return (owner, value) if value is not None else None
        return None

    def is_module(self) -> bool:
        """True for a torch.nn.Module, by its bases, or by the look of an unknown library base with a forward."""
        external = self.external_bases()
        if self._is_module is None:
            own = (b for b in external if not b.startswith(_FOREIGN))
            looks = any(b.endswith(("Module", "Model", "Mixin", "Layer")) for b in own) or self.extends_library_model()
            layer = not MODULE_ROOTS.isdisjoint(external) or any(b.startswith("torch.nn.") for b in external)
            self._is_module = layer or (looks and self.find_method("forward") is not None)
        return self._is_module

    def extends_library_model(self) -> bool:
        """True for a class that derives from a model of another library."""
        return any(b.startswith(_LIBRARY_MODELS) for b in self.external_bases())

    def written_outside_init(self) -> frozenset[str]:
        """Names of attributes that methods other than `__init__` assign, in this class or a base."""
        order = self.mro()  # which drops what was collected from other bases
        if self._later_writes is None:
            self._later_writes = frozenset(name for c in order for name in c._outline.late)
        return self._later_writes


class ModuleInfo:
    """One file: its definitions and imports at module level. Function bodies are not walked here.

    `source` is the file as read. Asking for `file` counts as reading all of it, `lines` too. Of one that is `parsed`,
    as its tree was just made, functions have their nodes there; others are parsed one by one.
    """

    parsed = False

    def __init__(
        self, project: _Project, source: SourceFile, name: str, outline: Callable[[], outlines.ModuleOutline], root: str
    ) -> None:
        self.project, self.source, self.name = project, source, name
        self.is_package = source.path.name == "__init__.py"
        self.root = root  # the folder that its name counts from
        self._outline = outline

    @cached_property
    def functions(self) -> Names[FunctionUnit]:
        """The functions, by name; like all that is made of the outline, not before it is asked for."""
        return Names(self, {f.name: FunctionUnit(self, f, f.name, None) for f in self.outline.functions})

    @cached_property
    def classes(self) -> Names[ClassInfo]:
        """The classes, by qualified name."""
        return Names(self, {c.qualname: ClassInfo(self, c, c.qualname) for c in self.outline.classes})

    @property
    def units(self) -> list[FunctionUnit]:
        """The functions, and the methods of the classes."""
        return [*self.functions.values(), *(m for c in self.classes.values() for m in c.methods.values())]

    @cached_property
    def assigns(self) -> Assigns:
        """The assignments."""
        return Assigns(self, self.outline.values)

    @cached_property
    def _imports(self) -> tuple[Names[str], dict[str, str], tuple[str, ...]]:
        aliases: dict[str, str] = {}
        fallbacks: dict[str, str] = {}
        stars: list[str] = []
        for item in self.outline.imports:
            target = outlines.full_name(item, self.name, self.is_package)
            if item.name == "*":
                stars.append(target)
            elif item.fallback and aliases.get(item.name, target) != target:
                fallbacks[item.name] = target
            else:
                aliases[item.name] = target
        return Names(self, aliases), fallbacks, tuple(stars)

    @cached_property
    def aliases(self) -> Names[str]:
        """The full dotted name of every imported name."""
        return self._imports[0]

    @cached_property
    def stars(self) -> tuple[str, ...]:
        """The modules of which everything is imported."""
        return self._imports[2]

    def __repr__(self) -> str:
        return f"<module {self.name}>"

    @property
    def path(self) -> str:
        """The path that findings name."""
        return self.source.display

    @property
    def file(self) -> SourceFile:
        """The file as read, all of it."""
        self.note(WHOLE)
        return self.source

    @cached_property
    def outline(self) -> outlines.ModuleOutline:
        """What the file defines. Asking is not noted: who reads more of it than a name has to be noted on his own."""
        return self._outline()

    def note(self, key: str) -> None:
        """Tell the recording that is on, if one is, that a part of this module was read."""
        reads = self.project.reads
        if reads is not None:
            reads.keys.add((self, key))

    def target(self, name: str) -> str:
        """The full dotted name of an imported name, that of torch for what a library derives from it unchanged; its
        fallback where the import finds no file and no library."""
        full = self.aliases[name]
        if full.startswith("mm") and (derived := _OPENMMLAB.fullmatch(full)):
            return f"torch.nn.{derived[1].removeprefix('Base')}"
        fallback = self._imports[1].get(name)
        if fallback is None or full.partition(".")[0] in outlines.LIBRARIES:
            return full
        parts = full.split(".")
        seen = any(self.project.module(".".join(parts[:cut]), self) is not None for cut in range(len(parts), 0, -1))
        return full if seen else fallback

    def text_of(self, node: ast.AST) -> str:
        """The source lines that a node covers."""
        return self.source.rows(getattr(node, "lineno", 1), getattr(node, "end_lineno", 1))

    def statement(self, outline: ValueOutline) -> ast.Assign | ast.AnnAssign:
        """The tree of an assignment, with the lines and columns of the file."""
        at = outline.first, outline.column  # several may stand on one line
        for node in nodes_of(self.source, outline.first, outline.last):
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and (node.lineno, node.col_offset) == at:
                return node
        raise AssertionError(f"{self.path}:{outline.first}: no assignment")

    def lookup(self, name: str, seen: frozenset[tuple[str, str]] = frozenset()) -> ClassInfo | str | None:
        """A class by the dotted name it has here: of the project, or the canonical dotted name of a library's."""
        lookups = self.project.session.lookups
        if (self, name) in lookups:
            return lookups[self, name]
        if (self.name, name) in seen:
            return None
        result = self._lookup(name, seen | {(self.name, name)})
        if result is not None or not seen:  # within a cycle, None may only mean: not on this way round
            lookups[self, name] = result
        return result

    def origins(self, name: str) -> Iterator[ModuleInfo]:
        """The modules that a name may come from by a star import, in their order."""
        by_name = self.project.session.stars
        modules = (m for star in self.stars if (m := self.project.module(star, self)) is not None)
        if len(self.stars) > STARS and self not in by_name:
            by_name[self] = {}
            for origin in modules:
                names = {*origin.functions, *origin.classes, *origin.aliases, *origin.assigns}
                for bound in ("*",) if origin.stars else names:
                    by_name[self].setdefault(bound.partition(".")[0], []).append(origin)
        if self in by_name:
            yield from (*by_name[self].get(name.partition(".")[0], ()), *by_name[self].get("*", ()))
        else:
            yield from modules

    def _lookup(self, name: str, seen: frozenset[tuple[str, str]]) -> ClassInfo | str | None:
        if name in self.classes:
            return self.classes[name]
        head, _, tail = name.partition(".")
        if head in self.aliases:
            return self.project.lookup_class(self.target(head) + ("." + tail if tail else ""), self, seen)
        if not tail and head in self.assigns:
            alias = self.outline.values[head].alias
            return self.lookup(alias, seen) if alias else None
        results = (origin.lookup(name, seen) for origin in self.origins(name))
        return next((result for result in results if result is not None), None)


@dataclass(slots=True, eq=False, repr=False)
class Assigns(Mapping[str, ast.Assign | ast.AnnAssign]):
    """Assignments by the name that they bind, parsed on demand: of a module, or of the body of its class `owner`.

    Who asks what a module assigns has read that.
    """

    _module: ModuleInfo
    _outlines: Mapping[str, ValueOutline]
    _owner: str = ""

    def __getitem__(self, name: str) -> ast.Assign | ast.AnnAssign:
        outline = self._outlines[name]
        self._module.note(f"value:{self._owner}.{name}" if self._owner else f"value:{name}")
        return self._module.project.assignment(self._module, outline)

    def __contains__(self, name: object) -> bool:
        if not self._owner:
            self._module.note(f"name:{name}")
        return name in self._outlines

    def __iter__(self) -> Iterator[str]:
        if not self._owner:
            self._module.note(WHOLE)
        return iter(self._outlines)

    def __len__(self) -> int:
        return len(self._outlines)


@dataclass(slots=True, eq=False)
class Session:
    """What was resolved so far; a new recording starts a new one, so that nothing is known before it is read."""

    deep: dict[str, ClassInfo] = field(default_factory=dict)  # by path, the first class with too many bases to look at
    stars: dict[ModuleInfo, dict[str, list[ModuleInfo]]] = field(default_factory=dict)  # by a name they bind, or "*"
    lookups: dict[tuple[ModuleInfo, str], ClassInfo | str | None] = field(default_factory=dict)


class _Project(Protocol):
    """The project, as its modules know it: what finds other modules, and trees."""

    reads: Reads | None
    session: Session

    def module(self, name: str, importer: ModuleInfo | None = None) -> ModuleInfo | None: ...
    def naming(self, word: str) -> Sequence[ModuleInfo]: ...
    def lookup_class(
        self, full: str, importer: ModuleInfo, seen: frozenset[tuple[str, str]] = frozenset()
    ) -> ClassInfo | str | None: ...
    @property
    def definition(self) -> Callable[[FunctionUnit], FunctionNode]: ...
    @property
    def assignment(self) -> Callable[[ModuleInfo, ValueOutline], ast.Assign | ast.AnnAssign]: ...
