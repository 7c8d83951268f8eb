"""Instances of the project's classes: how they are built, what their attributes are, where their modules hide."""

import ast
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from onnxlint.flow.interpreter.emission import Emitter
from onnxlint.flow.interpreter.unregistered import left_out_rightly
from onnxlint.flow.lowering import layer_calls
from onnxlint.flow.python import implicit_calls
from onnxlint.flow.python.call_arguments import STARRED, is_starred
from onnxlint.flow.python.entry_parameters import EXPORT_FLAGS
from onnxlint.flow.state import observations
from onnxlint.flow.state.budget import Budget, Exhausted
from onnxlint.flow.state.constructor_calls import ConstructorCalls
from onnxlint.flow.state.protocols import Replaced
from onnxlint.flow.state.summaries import Summaries
from onnxlint.flow.values import domain as dom
from onnxlint.flow.values.joins import join, join_all
from onnxlint.flow.values.node_places import Place
from onnxlint.project.classes import ClassInfo, FunctionUnit, ModuleInfo

_MODE_METHODS = frozenset(
    "to float half cuda cpu double bfloat16 requires_grad_ apply type compile share_memory".split()
)

_MODULE_METHODS = frozenset(
    (
        "eval train register_buffer register_parameter add_module register_module register_forward_hook "
        "register_forward_pre_hook modules children named_modules named_children parameters forward __call__ "
        "state_dict load_state_dict cpu cuda to half float double apply requires_grad_ get_submodule named_parameters "
        "buffers zero_grad compile bfloat16 post_init init_weights to_onnx"
    ).split()
)
_CODE = (dom.External, dom.ClassRef, dom.Function, dom.Layer, dom.Lambda, dom.Partial)
_REGISTER = frozenset(["register_buffer", "register_parameter", "add_module", "register_module"])


class Objects(Emitter):
    """The part of the interpreter that builds and reads objects."""

    instances: dict[Any, dom.Object]
    partial: dict[ClassInfo, dom.Object]  # default instances whose constructors take too many steps
    _unfinished: dom.Object
    changes: int
    factories: dict[int, str]
    writes: list[tuple[dom.Object, str, dom.Value]]
    replaced: list[Replaced]
    building: set[Any]
    budget: Budget
    unreadable: dict[str, str]
    constructor_calls: ConstructorCalls
    summaries: Summaries
    _under_construction: set[dom.Object]

    # ------------------------------------------------------------------------------------------------ build

    def instantiate(self, info: ClassInfo, args: dom.Args, kwargs: dom.Kwargs, node: ast.AST | None) -> dom.Value:
        """`Class(...)`; the same arguments give the same abstract object."""
        key = _call_key(info, args, kwargs)
        obj = self.instances.get(key)
        if obj is None and id(info) in self.building and len(self.building) > 40:
            return dom.UNKNOWN
        self.created.add(info)
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
        if not args and not kwargs and "." not in info.qualname:
            self.factories.setdefault(id(obj), f"{info.module.name}:{info.qualname}")
        return dom.Instance(obj)

    created: set[ClassInfo]
    set_length: frozenset[str] = frozenset()
    part: frozenset[ModuleInfo] = frozenset()
    around: dict[ClassInfo, dom.Scope]  # of classes that stand in a function, the variables of that
    built: dict[ClassInfo, list[dom.Object]]  # the modules that the project's own code builds

    def initialise(self, obj: dom.Object, args: dom.Args, kwargs: dom.Kwargs) -> None:
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
                for name, v in zip(_fields(obj.cls), args, strict=False):
                    obj.attrs[name] = v
                obj.attrs.update(kwargs)
        finally:
            self.building.discard(id(obj.cls))
            self._under_construction.discard(obj)
        # What a constructor does to its own object is no effect of the call that built it.
        self.writes[written:] = [w for w in self.writes[written:] if w[0] is not obj]
        if obj.cls.is_module():
            self.report_hidden_modules(obj)

    def default_instance(self, info: ClassInfo) -> dom.Object:
        """An object built with arguments of which nothing is known but their defaults' kinds.

        It is the one that calls with such arguments give, unless a switch of its mode has changed it before.
        """
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

    def _default_arguments(self, info: ClassInfo) -> tuple[list[dom.Value], dict[str, dom.Value]]:
        unit, kwargs = info.find_method("__init__"), dict[str, dom.Value]()
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

    def read_calls(
        self,
        calls: ConstructorCalls,
        set_length: frozenset[str] = frozenset(),
        part: frozenset[ModuleInfo] = frozenset(),
    ) -> None:
        """From now on a default is what these calls do not change, the length of these classes is a setting, and these
        modules are analysed while others are the business of other parts."""
        self.constructor_calls, self.set_length, self.part = calls, set_length, part

    def constructor_value(
        self, unit: FunctionUnit, parameter: ast.arg, default: ast.expr | None, info: ClassInfo | None = None
    ) -> dom.Value:
        """A constructor argument that nobody gave: classes and functions stay, numbers may be anything.

        A flag, a name or a number that says "none" is its default where no call of the class gives another.
        """
        if default is None:
            return dom.CONFIG
        if isinstance(default, ast.Constant):
            cls = info or unit.cls
            if cls is None or not _is_switch(default.value) or EXPORT_FLAGS.search(parameter.arg):
                return dom.CONFIG
            names = [p.arg for p, _ in unit.positional][1:]
            position = names.index(parameter.arg) if parameter.arg in names else -1
            usual = dom.Const(default.value)
            changed = self.constructor_calls.change(cls, position, parameter.arg, usual)
            return dom.CONFIG if changed else dom.Config(default=usual)
        v = self.evaluate_default(unit, default)
        return v if isinstance(v, _CODE) else dom.CONFIG

    def report_hidden_modules(self, obj: dom.Object) -> None:
        """Modules in a plain list or dict attribute that no container registers."""
        registered: list[dom.Value] = []
        hidden: list[tuple[str, dom.Value]] = []
        filled_later = False  # a container that starts empty: what it gets in a loop is not followed
        for name, v in obj.attrs.items():
            if isinstance(v, (dom.Instance, dom.Layer)):
                members = _members(v.items) if isinstance(v, dom.Layer) and v.items is not None else []
                registered += [v, *members]
                if isinstance(v, dom.Layer) and v.name.endswith(("ModuleDict", "ModuleList")):
                    filled_later = filled_later or not members
            elif isinstance(v, (dom.Tuple, dom.Seq, dom.Dict)) and any(_is_module(m) for m in _members(v)):
                hidden.append((name, v))
        if "*" in obj.attrs or not hidden or filled_later:
            return
        for name, v in hidden:
            modules = [m for m in _members(v) if _is_module(m)]
            place = self.attribute_places.get((id(obj), name))
            listed = all(any(m is r or m == r for r in registered) for m in modules)
            meant = "add_module" in obj.cls.text or left_out_rightly(obj.cls.text, name, modules)
            if place is not None and not (listed or meant):
                container = "dict" if isinstance(v, dom.Dict) else "list"
                self.emit(observations.HiddenModules, place, always=True, container=container)

    attribute_places: dict[tuple[int, str], Place]  # where lists and dicts were put
    shipped: set[dom.Object]  # what export calls were given, and all that it holds

    def ship(self, obj: dom.Object) -> None:
        """An export call is given this object: what is assigned to it from now on comes too late for that."""
        if obj not in self.shipped:
            self.shipped.add(obj)
            for v in obj.attrs.values():
                for held in _held(v):
                    if isinstance(held, dom.Instance):
                        self.ship(held.object)

    # ------------------------------------------------------------------------------------------- attributes

    def set_attribute(self, obj: dom.Object, name: str, v: dom.Value, replace_old: bool = False) -> None:
        """`obj.name = v`: outside of traced code it replaces; inside, what was there may still be."""
        if not self.context.tracing:
            if isinstance(v, dom.Tensor):
                v = dom.Tensor(v.dims, v.lead, "weight", v.kind)
            self.writes.append((obj, name, v))
            if obj in self.shipped:  # its export met what was there before
                obj.settled.discard(name)
                v = dom.CONFIG if isinstance(v, dom.Const) else v
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
        arms: Sequence[tuple[Replaced, Mapping[tuple[int, str], dom.Value]]],
        usual: Mapping[tuple[int, str], dom.Value] | None,
    ) -> None:
        """After arms of which any may be taken: a setting is what one of them leaves; a module is that of the `usual`
        arm, else the last one's that has any."""
        before = {key: was for replaced, _ in reversed(arms) for key, was in replaced.items()}
        for key, (obj, old) in before.items():
            left = [v for _, values in arms if (v := values.get(key, old)) is not None]
            chosen = usual.get(key, old) if usual is not None else None
            either: dom.Value | None
            if all(isinstance(v, (dom.Const, dom.Config)) and not dom.is_none(v) for v in left):
                either = dom.Config(default=chosen) if isinstance(chosen, dom.Const) else join_all(left)
            else:
                either = chosen or next((v for v in reversed(left) if any(map(_is_module, _held(v)))), None)
            if either is not None and either != obj.attrs[key[1]]:
                self.set_attribute(obj, key[1], either)

    def object_attribute(self, owner: dom.Instance, name: str, node: ast.AST) -> dom.Value:
        """`instance.name`."""
        obj = owner.object
        info = obj.cls
        self.summaries.reads(obj, name)
        if name in obj.attrs:
            v = obj.attrs[name]
            late = name not in obj.settled and name in info.written_outside_init()
            usual = dom.or_default(v) if late else v
            if late and isinstance(usual, dom.Const) and not isinstance(usual.literal, str):
                return dom.UNKNOWN if dom.is_none(v) else dom.CONFIG
            return v
        if name == "training":
            return dom.Const(False)
        if name == "_orig_mod" and owner.wrapping == "compile":
            return replace(owner, wrapping="")
        unit = info.find_method(name)
        if unit is not None:
            return self.bind_method(owner, unit, node)
        definition = info.find_attribute(name)
        if definition is not None:
            v = self.evaluate_in_class(*definition)
            if name in info.written_outside_init() and isinstance(v, dom.Const):
                return dom.UNKNOWN if dom.is_none(v) else dom.CONFIG
            if isinstance(v, dom.Function) and v.bound is None and v.unit.cls is None:
                return dom.Function(v.unit, owner, v.scope)  # a function of the class body is a method
            return v
        fallback = implicit_calls.fallback_attribute(self, owner, name, node)
        if fallback is not None:
            return fallback
        return self._inherited_attribute(owner, name) if info.is_module() else dom.UNKNOWN

    def _inherited_attribute(self, owner: dom.Instance, name: str) -> dom.Value:
        """What a module of the project has from torch.nn.Module."""
        if name in ("device", "dtype", "config", "hparams"):
            return dom.CONFIG
        bases = owner.object.cls.external_bases() if name in ("items", "keys", "values") else ()
        if name in _MODULE_METHODS or any("Module" in b or "Seq" in b for b in bases):
            return dom.Method(owner, name)
        return owner.object.attrs.get("*", dom.UNKNOWN)

    def bind_method(self, owner: dom.Value, unit: FunctionUnit, node: ast.AST) -> dom.Value:
        """A method as the attribute of an object: a property is called at once."""
        if unit.has_decorator("property", "cached_property"):
            return self.call_function(dom.Function(unit, owner), [], {}, node)
        if unit.has_decorator("staticmethod"):
            return dom.Function(unit)
        if unit.has_decorator("classmethod"):
            return dom.Function(unit, dom.ClassRef(unit.cls) if unit.cls is not None else owner)
        return dom.Function(unit, owner)

    def class_attribute(self, info: ClassInfo, name: str, owner: dom.Value) -> dom.Value:
        """`Class.name`."""
        unit = info.find_method(name)
        if unit is not None:
            return dom.Function(unit, owner) if unit.has_decorator("classmethod") else dom.Function(unit)
        found = info.find_attribute(name)
        if found is not None:
            return self.evaluate_in_class(*found)
        nested = info.module.classes.get(f"{info.qualname}.{name}")
        if nested is not None:
            return dom.ClassRef(nested)
        if name == "apply" and any(b.startswith("torch.autograd") for b in info.external_bases()):
            forward = info.find_method("forward")
            return dom.Function(forward, dom.UNKNOWN) if forward is not None else dom.UNKNOWN
        return dom.Method(owner, name)

    def super_method(self, owner: dom.Super, name: str) -> dom.Value | None:
        """`super().name`: a method of the project further up, else None."""
        bound_class = owner.bound.object.cls if isinstance(owner.bound, dom.Instance) else owner.info
        cls = bound_class if owner.info in bound_class.mro() else owner.info
        unit = cls.find_method(name, owner.info)
        return dom.Function(unit, owner.bound) if unit is not None else None

    def built_last(self, info: ClassInfo) -> dom.Instance | None:
        """The instance of a class, or of one derived from it, that was built last."""
        objects = [o for cls, built in self.built.items() if info in cls.mro() for o in built]
        return dom.Instance(max(objects, key=lambda o: o.serial)) if objects else None

    def any_module_of(self, owner: dom.Instance) -> dom.Value:
        """`getattr(self, name)` with a computed name: one of its modules."""
        modules = [v for v in owner.object.attrs.values() if isinstance(v, (dom.Instance, dom.Layer))]
        return owner.object.attrs.get("*") or (join_all(modules) if modules else None) or dom.UNKNOWN

    def index_instance(self, owner: dom.Instance, index: dom.Value, node: ast.AST) -> dom.Value:
        """`instance[index]`: `__getitem__`, or a field of an output record."""
        unit = owner.object.cls.find_method("__getitem__")
        if unit is not None:
            return self.call_function(dom.Function(unit, owner), [index], {}, node)
        held = owner.object.attrs.get(implicit_calls.ITEMS)
        if isinstance(held, dom.Layer) and isinstance(node, ast.Subscript):
            return self.subscript(held, [index], node)
        if isinstance(index, dom.Const) and isinstance(index.literal, int) and owner.object.attrs:
            values = list(owner.object.attrs.values())
            return values[index.literal] if -len(values) <= index.literal < len(values) else dom.UNKNOWN
        if isinstance(index, dom.Const):
            return owner.object.attrs.get(str(index.literal), dom.UNKNOWN)
        return dom.UNKNOWN

    def record_items(self, owner: dom.Instance) -> dom.Value:
        """The items of a named tuple."""
        info = owner.object.cls
        if not any(b.endswith("NamedTuple") for b in info.external_bases()):
            return dom.UNKNOWN
        items: list[dom.Value] = []
        for name in _fields(info):
            default = info.find_attribute(name)
            given = owner.object.attrs.get(name)
            items.append(given or (self.evaluate_in_class(*default) if default is not None else dom.UNKNOWN))
        return dom.Tuple(tuple(items))

    def length_of(self, owner: dom.Instance, node: ast.AST) -> dom.Value:
        """`len(instance)`."""
        unit = owner.object.cls.find_method("__len__")
        return self.call_function(dom.Function(unit, owner), [], {}, node) if unit is not None else dom.CONFIG

    def in_mode(self, owner: dom.Instance, mode: str, node: ast.AST) -> dom.Instance:
        """The module in a mode, also under the name that it was called by."""
        changed = replace(owner, mode=mode)
        match node:
            case ast.Call(ast.Attribute(ast.Name() as name)):
                self.frames[-1].rebind(name, changed)
        return changed

    def module_method(
        self, owner: dom.Instance, name: str, args: dom.Args, kwargs: dom.Kwargs, node: ast.AST
    ) -> dom.Value:
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
            return dom.Seq(self.any_module_of(owner))
        if name in ("named_modules", "named_children", "items"):
            return dom.Seq(dom.Tuple((dom.CONFIG, self.any_module_of(owner))))
        if name in ("parameters", "buffers"):
            return dom.Seq(dom.Tensor(source="weight"))
        if name in ("named_parameters", "named_buffers"):
            return dom.Seq(dom.Tuple((dom.CONFIG, dom.Tensor(source="weight"))))
        if name in _MODE_METHODS:
            return owner
        return dom.Config()

    def _register(self, obj: dom.Object, name: str, args: dom.Args, kwargs: dom.Kwargs) -> dom.Value:
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


def _call_key(info: ClassInfo, args: Sequence[dom.Value], kwargs: Mapping[str, dom.Value]) -> Hashable:
    """Equal for constructor calls that give the parameters the same, by position or by name."""
    unit = info.find_method("__init__")
    names = [p.arg for p, _ in unit.positional[1:]] if unit is not None else []
    if len(args) <= len(names) and not any(map(is_starred, args)):
        args, kwargs = (), {**dict(zip(names, args, strict=False)), **kwargs}
    order = {name: n for n, name in enumerate(names)}
    items = sorted(kwargs.items(), key=lambda item: (order.get(item[0], len(order)), item[0]))
    return (id(info), tuple(args), tuple(items))


def _fields(info: ClassInfo) -> list[str]:
    """Names of the fields of a dataclass or a named tuple, those of its bases first."""
    return [name for c in reversed(info.mro()) for name in c.fields]


def _members(v: dom.Value) -> list[dom.Value]:
    if isinstance(v, dom.Tuple):
        return [m for i in v.items for m in (_members(i) if isinstance(i, (dom.Tuple, dom.Seq, dom.Dict)) else [i])]
    if isinstance(v, dom.Seq):
        return _members(v.item) if isinstance(v.item, (dom.Tuple, dom.Seq, dom.Dict)) else [v.item]
    if isinstance(v, dom.Dict):
        return [i for _, i in v.items] + ([v.rest] if v.rest is not None else [])
    return []


def _held(v: dom.Value) -> list[dom.Value]:
    """The modules of a container, or what stands alone."""
    if isinstance(v, dom.Layer) and v.items is not None:
        return _members(v.items)
    return _members(v) if isinstance(v, (dom.Tuple, dom.Seq, dom.Dict)) else [v]


def _is_switch(default: object) -> bool:
    """True for a default that says which arm is taken, as opposed to a size."""
    return isinstance(default, (bool, str)) or default is None or (isinstance(default, (int, float)) and default <= 0)


def _is_empty(v: dom.Layer) -> bool:
    """True for `nn.Sequential()`."""
    return v.name.endswith(".Sequential") and not v.args and (v.items is None or not _members(v.items))


def _is_module(v: dom.Value) -> bool:
    if isinstance(v, dom.Instance):
        return v.object.cls.is_module()
    return isinstance(v, dom.Layer) and not v.name.endswith(("Loss", "Init", "Identity")) and not _is_empty(v)
