"""Instances of the project's classes: how they are built, what their attributes are, where their modules hide."""

import ast
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from onnxlint.flow.calls.attribute_access import any_module_of, fields_of
from onnxlint.flow.interpreter.state_writes import Writes
from onnxlint.flow.interpreter.unregistered import is_module, modules_in, report_hidden_modules
from onnxlint.flow.lowering import layer_calls
from onnxlint.flow.python import implicit_calls
from onnxlint.flow.python.call_arguments import STARRED, is_starred
from onnxlint.flow.python.entry_parameters import EXPORT_FLAGS, FOR_EXPORTS
from onnxlint.flow.state.budget import Exhausted
from onnxlint.flow.state.constructor_calls import ConstructorCalls
from onnxlint.flow.state.context import Context
from onnxlint.flow.state.partitions import Part
from onnxlint.flow.state.protocols import Engine, Replaced, Running
from onnxlint.flow.state.summaries import Summaries
from onnxlint.flow.tables.operator_table import OpTable
from onnxlint.flow.values import domain as dom
from onnxlint.flow.values.domain import Args, Kwargs, Value, replace
from onnxlint.flow.values.joins import join, join_all
from onnxlint.flow.values.node_places import Place
from onnxlint.project.classes import ClassInfo, FunctionUnit, ModuleInfo

_MODE_METHODS = set("to float half cuda cpu double bfloat16 requires_grad_ apply type compile share_memory".split())

_CODE = (dom.External, dom.ClassRef, dom.Function, dom.Layer, dom.Lambda, dom.Partial)
_REGISTER = frozenset(["register_buffer", "register_parameter", "add_module", "register_module"])


class Objects(Writes, Engine):
    """The part of the interpreter that builds and reads objects; whatever runs for them, `Interpreter` does."""

    frames: list[Running]

    def __init__(self, context: Context, table: OpTable) -> None:
        super().__init__(context, table)
        self.instances: dict[Any, dom.Object] = {}
        self.partial: dict[ClassInfo, dom.Object] = {}  # default instances whose constructors take too many steps
        self.factories: dict[int, str] = {}  # `module:attribute` that gives an object when called without arguments
        self.created: set[ClassInfo] = set()
        self.usually: set[ClassInfo] = set()  # those of them that no setting has to be turned on for
        self.built: dict[ClassInfo, list[dom.Object]] = {}  # the modules that the project's own code builds
        self._latest: dict[ClassInfo, dom.Object] = {}  # of them the last one of each class, and of its heirs
        self.building: set[Any] = set()
        self._under_construction: set[dom.Object] = set()
        self.around: dict[ClassInfo, dom.Scope] = {}  # of classes that stand in a function, the variables of that
        self.set_length: frozenset[str] = frozenset()
        self.flags: frozenset[str] = frozenset()
        self.settings: Mapping[str, bool | str | None] = {}
        self.part: frozenset[ModuleInfo] = frozenset()
        self.constructor_calls = ConstructorCalls()
        self.summaries = Summaries()
        self.unreadable: dict[str, str] = {}
        self.writes: list[tuple[dom.Object, str, Value]] = []
        self.replaced: list[Replaced] = []  # what the arms that run have written to
        self.attribute_places: dict[tuple[int, str], Place] = {}  # where lists and dicts were put
        self.shipped: set[dom.Object] = set()  # what export calls were given, and all that it holds

    def instantiate(self, info: ClassInfo, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
        """`Class(...)`; the same arguments give the same abstract object."""
        key = _call_key(info, args, kwargs)
        obj = self.instances.get(key)
        if obj is None and id(info) in self.building and len(self.building) > 40:
            return dom.UNKNOWN
        self.created.add(info)
        if not (self.context.asked or self.context.unusual):
            self.usually.add(info)
        module = info.is_module()
        if obj is None:
            self.changes += module
            obj = dom.Object(info)
            with self._in_the_making(key, obj):
                self.initialise(obj, args, kwargs)
        elif not module or obj in self._under_construction or obj in self.built.get(info, ()):
            return dom.Instance(obj)
        if module:
            self.built.setdefault(info, []).append(obj)
            self._latest |= {c: obj for c in info.mro() if c not in self._latest or self._latest[c].serial < obj.serial}
        if not args and not kwargs and "." not in info.qualname:
            self.factories.setdefault(id(obj), f"{info.module.name}:{info.qualname}")
        return dom.Instance(obj)

    def initialise(self, obj: dom.Object, args: Args, kwargs: Kwargs) -> None:
        """Run `__init__` (or fill the fields of a record); that of a module is never a part of what is traced."""
        unit = obj.cls.find_method("__init__")
        self.building.add(id(obj.cls))
        self._under_construction.add(obj)
        written = len(self.writes)
        try:
            if unit is not None:
                with self.within(tracing=self.context.tracing and not obj.cls.is_module()):
                    scope = self.around.get(unit.cls) if unit.cls is not None else None
                    self.call_function(dom.Function(unit, dom.Instance(obj), scope), args, kwargs, None)
            else:
                base = implicit_calls.layer_base(obj.cls)
                if base is not None:
                    obj.attrs[implicit_calls.ITEMS] = layer_calls.build(base, args, kwargs)
                    return
                obj.attrs.update(zip(fields_of(obj.cls), args, strict=False), **kwargs)
        finally:
            self.building.discard(id(obj.cls))
            self._under_construction.discard(obj)
        # What a constructor does to its own object is no effect of the call that built it.
        self.writes[written:] = [w for w in self.writes[written:] if w[0] is not obj]
        if obj.cls.is_module():
            report_hidden_modules(self, obj, self.attribute_places, self._under_construction)

    def default_instance(self, info: ClassInfo) -> dom.Object:
        """An object built with arguments of which nothing is known but their defaults' kinds. It is the one that calls
        with such arguments give, unless a switch of its mode has changed it before."""
        default = (id(info), "default")
        if default not in self.instances:
            args, kwargs = self._default_arguments(info)
            key = default if self.context.switching else _call_key(info, args, kwargs)
            if key not in self.instances:
                obj = dom.Object(info)
                with self._in_the_making(key, obj):
                    self.initialise(obj, args, kwargs)
            self.instances[default] = self.instances[key]
        return self.instances[default]

    def _default_arguments(self, info: ClassInfo) -> tuple[list[Value], dict[str, Value]]:
        unit, kwargs = info.find_method("__init__"), dict[str, Value]()
        if unit is None:
            return [], kwargs
        a = unit.args
        for parameter, default in (*unit.positional[1:], *zip(a.kwonlyargs, a.kw_defaults, strict=True)):
            kwargs[parameter.arg] = self.constructor_value(unit, parameter, default, info)
        return ([dom.Seq(dom.CONFIG, None, STARRED)] if a.vararg is not None else []), kwargs

    @contextmanager
    def _in_the_making(self, key: Hashable, obj: dom.Object) -> Iterator[None]:
        """Who asks for the object meanwhile gets what there is of it; nobody does where the steps run out."""
        self.instances[key] = obj
        try:
            yield
        except BaseException:
            del self.instances[key]
            self._unfinished = obj  # at last the one that was asked for
            raise

    def model(self, info: ClassInfo) -> dom.Object:
        """The instance for the class's own entry points: the one that the project builds, else the default one, as far
        as it could be built. Raises as building that does."""
        built = self.built.get(info, ()) if not self.context.switching else ()
        if len(built) == 1 and not self.constructor_calls.elsewhere(info):
            return built[0]
        if info not in self.partial:
            try:
                return self.default_instance(info)
            except (Exhausted, RecursionError):
                self.partial[info] = self._unfinished
                raise
        return self.partial[info]

    def sketch(self, info: ClassInfo) -> dom.Object:
        """The default instance as far as it can be built: what is asked for outside of any entry point."""
        self.budget.begin()
        try:
            return self.model(info)
        except (Exhausted, RecursionError):
            self.unreadable.setdefault(info.module.path, f"{info.qualname}.__init__ takes too many steps")
            return self.partial[info]

    def read_calls(self, calls: ConstructorCalls, part: Part) -> None:
        """From now on a default is what these calls do not change, lengths and keys are settings as the part says, and
        its modules are analysed while others are the business of other parts."""
        self.constructor_calls, self.set_length, self.flags = calls, part.set_length, part.flags
        self.settings = part.settings
        self.part = frozenset(part.modules)

    def constructor_value(
        self, unit: FunctionUnit, parameter: ast.arg, default: ast.expr | None, info: ClassInfo | None = None
    ) -> Value:
        """A constructor argument that nobody gave: classes and functions stay, numbers may be anything. A flag, a name
        or a number that says "none" is its default where no call of the class gives another, or only training asks for
        it."""
        if parameter.arg in self.settings and not EXPORT_FLAGS.search(parameter.arg):
            return dom.Config(default=dom.Const(self.settings[parameter.arg]))
        if default is None:
            return dom.CONFIG
        if isinstance(default, ast.Constant):
            cls = info or unit.cls
            trains = not default.value and parameter.arg.endswith("_training")
            if default.value is False and FOR_EXPORTS.search(parameter.arg):
                return dom.Config(default=dom.Const(True))  # who exports the model turns it on
            if cls is None or not dom.is_switch(default.value) or (not trains and EXPORT_FLAGS.search(parameter.arg)):
                return dom.CONFIG
            names = [p.arg for p, _ in unit.positional][1:]
            position = names.index(parameter.arg) if parameter.arg in names else -1
            usual = dom.Const(default.value)
            changed = not trains and self.constructor_calls.change(cls, position, parameter.arg, usual)
            return dom.CONFIG if changed else dom.Config(default=usual)
        v = self.evaluate_default(unit, default)
        return v if isinstance(v, _CODE) else dom.CONFIG

    def ship(self, obj: dom.Object) -> None:
        """An export call is given this object: what is assigned to it from now on comes too late for that."""
        if obj not in self.shipped:
            self.shipped.add(obj)
            for v in obj.attrs.values():
                for module in modules_in(v):
                    if isinstance(module, dom.Instance):
                        self.ship(module.object)

    def set_attribute(self, obj: dom.Object, name: str, v: Value, replace_old: bool = False) -> None:
        """`obj.name = v`: outside of traced code it replaces; inside, what was there may still be."""
        if not self.context.tracing:
            if isinstance(v, dom.Tensor):
                v = dom.Tensor(v.dims, v.lead, "weight", v.kind)
            self.writes.append((obj, name, v))
            if obj in self.shipped:
                v = _after_export(obj, name, v)
            elif id(obj.cls) not in self.building and not self.context.switching:
                obj.settled.add(name)
            if self.replaced:
                self.replaced[-1].setdefault((id(obj), name), (obj, obj.attrs.get(name)))
            statement = self.frames[-1].statement_node if self.frames else None
            if statement is not None and isinstance(v, (dom.Tuple, dom.Seq, dom.Dict)):
                self.attribute_places.setdefault((id(obj), name), self.place(statement))
            if name == "*":
                old = obj.attrs.get("*")
                obj.attrs["*"] = join(old, v) if old is not None else v
            else:
                obj.attrs[name] = v
            return
        old = obj.attrs.get(name)
        if obj not in self._under_construction:
            self.summaries.assigns(obj, name)
        if old is None or not self.context.asked:  # under a flag that is off by default, what was there is still there
            obj.attrs[name] = v if old is None or replace_old else join(old, v)
        if old is None and dom.is_none(v):
            obj.settled.add(name)  # nothing was there before

    def abandon(self, owner: Value, name: str) -> None:
        """`del owner.name`: what an arm puts in its place counts, whatever the other arms leave."""
        if (
            not self.context.tracing
            and isinstance(owner, dom.Instance)
            and self.replaced
            and name in owner.object.attrs
        ):
            self.replaced[-1][id(owner.object), name] = (owner.object, None)

    def copied(self, v: dom.Instance, node: ast.AST) -> dom.Instance:
        """A copy of itself that a method makes is an object of its own: the next may be given another forward."""
        copy = self.instances.setdefault(((v.object.serial, id(node)), "copy"), dom.Object(v.object.cls))
        copy.attrs.update({n: value for n, value in v.object.attrs.items() if n not in copy.attrs})
        return replace(v, object=copy)

    def noting(self, run: Callable[[], bool]) -> tuple[bool, Replaced]:
        """Run something: what it gives, and what attributes were before it wrote to them, outside of traced code."""
        here: Replaced = {}
        self.replaced.append(here)
        try:
            return run(), here
        finally:
            self.replaced.pop()
            if self.replaced:
                for key, was in here.items():
                    self.replaced[-1].setdefault(key, was)

    def settle(
        self,
        arms: Sequence[tuple[Replaced, Mapping[tuple[int, str], Value]]],
        usual: Mapping[tuple[int, str], Value] | None,
    ) -> None:
        """After arms of which any may be taken: a setting is what one of them leaves; a module is that of the `usual`
        arm, else the last one's that has any."""
        before = {key: was for replaced, _ in reversed(arms) for key, was in replaced.items()}
        for key, (obj, old) in before.items():
            left = [v for _, values in arms if (v := values.get(key, old)) is not None]
            chosen = usual.get(key, old) if usual is not None else None
            either: Value | None
            if all(isinstance(v, (dom.Const, dom.Config)) and not dom.is_none(v) for v in left):
                either = dom.Config(default=chosen) if isinstance(chosen, dom.Const) else join_all(left)
            else:
                either = chosen or next((v for v in reversed(left) if any(map(is_module, modules_in(v)))), None)
            if either is not None and either != obj.attrs[key[1]]:
                self.set_attribute(obj, key[1], either)

    def built_last(self, info: ClassInfo) -> dom.Instance | None:
        """The instance of a class, or of one derived from it, that was built last."""
        return dom.Instance(self._latest[info]) if info in self._latest else None

    def in_mode(self, owner: dom.Instance, mode: str, node: ast.AST) -> dom.Instance:
        """The module in a mode, also under the name that it was called by."""
        changed = replace(owner, mode=mode)
        match node:
            case ast.Call(ast.Attribute(ast.Name() as name)):
                self.frames[-1].rebind(name, changed)
        return changed

    def module_method(self, owner: dom.Instance, name: str, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
        """A method that a module of the project has from torch.nn.Module."""
        obj = owner.object
        first = args[0] if args else None
        if name in ("forward", "__call__"):
            return self.apply(owner, args, kwargs, node)
        if name in _REGISTER:
            return self._register(obj, name, args, kwargs)
        self.changes += name in ("eval", "train") or name.startswith(("register_", "add_module"))
        if name == "eval":
            return self.in_mode(owner, "eval", node)
        if name == "train":
            off = isinstance(first, dom.Const) and first.literal is False
            if not off and (first is None or (isinstance(first, dom.Const) and first.literal is True)):
                self.mode_switch(node)
            return self.in_mode(owner, "eval" if off else "train", node)
        if name in ("register_forward_hook", "register_forward_pre_hook"):
            obj.attrs.setdefault(f"<{name}>", first or dom.UNKNOWN)
            return dom.CONFIG
        if name in ("modules", "children", "values"):
            return dom.Seq(any_module_of(owner))
        if name in ("named_modules", "named_children", "items"):
            return dom.Seq(dom.Tuple((dom.CONFIG, any_module_of(owner))))
        if name in ("parameters", "buffers"):
            return dom.Seq(dom.Tensor(source="weight"))
        if name in ("named_parameters", "named_buffers"):
            return dom.Seq(dom.Tuple((dom.CONFIG, dom.Tensor(source="weight"))))
        return owner if name in _MODE_METHODS else dom.Config()

    def _register(self, obj: dom.Object, name: str, args: Args, kwargs: Kwargs) -> Value:
        """`self.register_buffer(name, tensor)` and its like."""
        if not args or not isinstance(args[0], dom.Const):
            self.changes += 1
            self.set_attribute(obj, "*", args[1] if len(args) > 1 else dom.UNKNOWN)
            return dom.CONFIG
        v = args[1] if len(args) > 1 else kwargs.get("tensor", kwargs.get("param", kwargs.get("module", dom.UNKNOWN)))
        key = str(args[0].literal)
        v = dom.Tensor(v.dims, v.lead, "weight", v.kind) if isinstance(v, dom.Tensor) else v
        self.changes += obj.attrs.get(key) != v
        if self.context.tracing:
            self.summaries.assigns(obj, key)
        obj.attrs[key] = v
        if name == "register_buffer":
            obj.buffers.add(key)
        return dom.CONFIG


def _after_export(obj: dom.Object, name: str, v: Value) -> Value:
    """What an attribute counts as that is assigned after the export: that met what was there before."""
    before = obj.attrs.get(name)
    if name == "forward" and isinstance(v, dom.Function) and v.unit is obj.cls.find_method(name):
        return before or v  # its own is put back
    if v != before:
        obj.settled.discard(name)
        return dom.CONFIG if isinstance(v, dom.Const) else v
    return v


def _call_key(info: ClassInfo, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Hashable:
    """Equal for constructor calls that give the parameters the same, by position or by name."""
    unit = info.find_method("__init__")
    names = [p.arg for p, _ in unit.positional[1:]] if unit is not None else []
    if len(args) <= len(names) and not any(map(is_starred, args)):
        args, kwargs = (), {**dict(zip(names, args, strict=False)), **kwargs}
    order = {name: n for n, name in enumerate(names)}
    items = sorted(kwargs.items(), key=lambda item: (order.get(item[0], len(order)), item[0]))
    return (id(info), tuple(args), tuple(items))
