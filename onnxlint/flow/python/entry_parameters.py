"""What a parameter of an entry point is taken for, by annotation, default and name, when no call tells."""

import ast
import re
import textwrap
from functools import lru_cache

from onnxlint.base.edits import with_word
from onnxlint.flow.state.protocols import InContext
from onnxlint.flow.tables import NAMES
from onnxlint.flow.values import domain as dom
from onnxlint.flow.values.node_places import last_name
from onnxlint.project.classes import ClassInfo, FunctionUnit, ModuleInfo
from onnxlint.project.outline import dotted

MANY, LONG = 100, 10_000  # parameters of a function, characters of a line, past which patterns read its lines alone
_WORD = re.compile(r"\w+")
_DICTS = ("dict", "Dict", "Mapping", "MutableMapping", "OrderedDict")
_TENSORS = ("Tensor", "LongTensor", "FloatTensor", "BoolTensor", "IntTensor", "HalfTensor", "ByteTensor")
_JAXTYPING = NAMES["jaxtyping"]
_PLAIN = ("int", "float", "bool", "str", "bytes", "Callable", "device", "dtype", "None", "Literal", "type")
TENSOR_NAMES = frozenset(NAMES["tensor-parameters"])
_LABELS = re.compile(
    r"label|labels(?:_\w+)?|targets?|label_tensor|target_(?:tensor|ids)|gt_\w+|(?:start|end)_positions"
    r"|(?:next_sentence|sentence_order|mask)_labels?"
)
# Flags that an export turns on, or one with dynamic sizes: their default is not what is exported.
EXPORT_FLAGS = re.compile(r"interpolat|dynamic|resiz|onnx|export|^deploy$")
# Those of them that an export alone turns on.
FOR_EXPORTS = re.compile(r"export|onnx_(?:compat|trace)|for_onnx|^deploy$")
TRAINING_FLAG = re.compile(r"(?:is_)?train(?:ing)?(?:_mode|_phase)?")
# Flags of models that learn what a mask hid (fairseq), and what they are where such a model is put to use.
_IN_USE = {"features_only": True, "mask": False}
_HIDES_TO_LEARN = re.compile(r"features_only|mask_(?:prob|emb|seed|indices)|(?:compute|random)_mask")
_TENSOR_METHODS = NAMES["tensor-methods"]
_TAKE_LISTS = "cat|concat|stack|hstack|vstack|is_tensor|tensor|as_tensor|jit|nn|meshgrid"
_OF_ANY_TENSOR = "detach|clone|cpu|cuda|to|float|half|contiguous"  # of a tensor as a whole nobody does it row by row
_PLAIN_NAMES = frozenset(NAMES["plain-parameters"])
_LISTS = r"\(?(?:list|tuple)\b(?:, ?(?:list|tuple))*\)?\)"
_DOCUMENTED = r"\n\s++(\w++) ?[(:] ?[lL]ist(?:\[| of )(?:torch\.)?[tT]ensors?\b"
_REFUSED = rf"if not isinstance\((\w+), {_LISTS}:\s+raise\b|assert isinstance\((\w+), {_LISTS}(?! or\b)"
# `(images, "images")` in `for given, name in [(images, "images"), (metas, "metas")]:` over a check of `given`.
_REFUSED_IN_TURN = rf"\((\w+), \W\w+\W\)(?=[^]\n]*\]:\s+if not isinstance\(\w+, {_LISTS}:\s+raise\b)"
_TYPE_COMMENT = re.compile(r"#\s*type:\s*(\(.*\))\s*->")
_EACH_TYPE = re.compile(r"^\s*(\w+)(?: *=[^#,\n]*)?,?[ \t]*#[ \t]*type:[ \t]*([\w.]+(?:\[.*\])?)[ \t]*$", re.MULTILINE)
_CONCATENATED = re.compile(r"torch\.(?:con)?cat\(\s*(\w+)\s*[,)]")
_WANTS_LISTS = re.compile(f"{_DOCUMENTED}|{_REFUSED}|{_REFUSED_IN_TURN}", re.MULTILINE)

# The parameter at hand, in a text that was written anew for it: one expression then reads of all parameters.
_IT = "\ua4d9"
_HAS_OTHER_TYPE = re.compile(rf"isinstance\({_IT}, .*\bTensor\b")
_TELLS_TRAINING = re.compile(rf"train(?<![^\W_]train)(?:ing)?(?:_\w+)? = \(?{_IT} is not None\b")
_LOSS = r"(?>.*?loss\w{0,99}(?: = |\())"  # the first in its line and no other: lines may be very long
_GIVES_LOSS = re.compile(rf"^( *)(?:el)?if {_IT} is not None\b.*:\n(?:\1 .*\n|\n)*?\1 {_LOSS}.*\b{_IT}\b", re.MULTILINE)
_SHAPES = re.compile(rf"\.(?:view|reshape|expand|unflatten)\([(\[]?(?:[^()]|\([^()]*\))*?(?<![\w.]){_IT}\s*[]),*]")
_ASKED = re.compile(rf"\b(?:if|elif|and|or|not) {_IT}(?=:| and\b| or\b| else\b|\)|$)", re.MULTILINE)
_KEYED = re.compile(
    rf"""\b{_IT}(?:\.get\(|\[)["']|["'] (?:not )?in {_IT}\b|\*\*{_IT}\b|\b{_IT}\.(?:items|keys|values)\(\)"""
)
_KEY = re.compile(rf"(?<!for )\b(\w+) (?:not )?in {_IT}\b")
_READ = re.compile(rf"\b(?:int|float|bool)\({_IT}\)|\b{_IT}\.(?:item|tolist|numpy|detach|shape|size|view|to)\b")
_EACH = re.compile(rf"^ *{_IT}\[(\w+)\] = .*\bself\.\w+\[\1\]\({_IT}\[\1\]", re.MULTILINE)
_LISTED_OR_COUNTED = re.compile(
    rf"\blen\({_IT}\)|isinstance\({_IT}, ?\(?(?:list|tuple)|^\s*\w+(?:, ?\w+)+ = {_IT}$"
    rf"|zip\(self\.\w+, ?{_IT}\b|zip\({_IT}, ?self\b|\bself\.\w+\[\w+\]\({_IT}\[\w+\]"
    rf"|\[(\w+)\.(?:{_OF_ANY_TENSOR})\(\w*\) for \1 in {_IT}\]"
    rf"|\.(?:shape\[[^]]+\]|size\([^)]*\)) *[<>=!]=? *{_IT}\b|\b(?:arange|range)\((?:\w+, ?)?{_IT}\b",
    re.MULTILINE,
)
_REBOUND = re.compile(rf"^[ \t]*(?:\w+, *)*{_IT}(?:, *\w+)* *=(?!=)", re.MULTILINE)
_USED_AS_TENSOR = re.compile(
    rf"\b{_IT}\.(?:{'|'.join(_TENSOR_METHODS)})\b|\b(?:torch|F|functional)\.(?!{_TAKE_LISTS})\w+\(\s*{_IT}\b"
)


def entry_value(engine: InContext, unit: FunctionUnit, parameter: ast.arg, default: ast.expr | None) -> dom.Value:
    """The abstract value of a parameter of an entry point, which may be called with None."""
    return dom.or_none(_entry_value(engine, unit, parameter, default))


def _entry_value(engine: InContext, unit: FunctionUnit, parameter: ast.arg, default: ast.expr | None) -> dom.Value:
    name = parameter.arg
    if name in _IN_USE and _is_flag(parameter, default) and _HIDES_TO_LEARN.search((unit.cls or unit).text):
        return dom.Const(_IN_USE[name])
    if (TRAINING_FLAG.fullmatch(name) or name == "return_loss") and _is_flag(parameter, default):
        return dom.Const(False)  # who exports a model that trains by default turns that off
    optional = isinstance(default, ast.Constant) and default.value is None
    if optional and (is_label(name) or _is_of_training(unit, name)):
        return dom.NONE  # an exported model computes no loss
    trace = dom.Trace(unit.module.path, parameter.lineno + unit.shift, f"`{name}` is an input of `{unit.qualname}`")
    annotation = parameter.annotation or _commented_types(unit).get(name)
    annotated = by_annotation(engine, annotation, trace, unit.module) if annotation is not None else None
    if annotated is not None:
        if isinstance(annotated, dom.Instance) and _HAS_OTHER_TYPE.search(_text_about(unit, name)):
            return dom.Tensor(trace=trace)  # which is what an exporter can pass
        return dom.CONFIG if isinstance(annotated, dom.Dict) and plain_name(name) else annotated
    return _unannotated(unit, name, default, trace)


def _unannotated(unit: FunctionUnit, name: str, default: ast.expr | None, trace: dom.Trace) -> dom.Value:
    """What the default, the body or the name of a parameter says."""
    optional = isinstance(default, ast.Constant) and default.value is None
    if optional:
        return dom.Tensor(trace=trace, guessed=may_be_plain(unit, name)) if name in TENSOR_NAMES else dom.UNKNOWN
    if default is not None:
        return dom.CONFIG
    if name in lists_of_tensors(unit):
        return dom.Seq(dom.Tensor(trace=trace))
    if _is_state_of_lstm(unit, name):
        return dom.Tuple((dom.Tensor(trace=trace),) * 2)
    if read_as_tensor(unit, name):
        return dom.Tensor(trace=trace)
    if plain_name(name) or _is_plain(unit, name):
        return dom.Const(False) if TRAINING_FLAG.fullmatch(name) else dom.CONFIG
    if _read_by_key(unit, name):
        return dom.Dict((), dom.Tensor(trace=trace))
    return dom.Tensor(trace=trace, guessed=may_be_plain(unit, name))


@lru_cache(maxsize=4096)
def _commented_types(unit: FunctionUnit) -> dict[str, ast.expr]:
    """The types that comments give, as torchvision has them for TorchScript: `# type: (List[Tensor], int) -> ...`, or
    one behind each parameter."""
    comment = _TYPE_COMMENT.search(unit.text)
    try:
        types = ast.parse(comment[1], mode="eval").body if comment is not None else None
    except (SyntaxError, ValueError, MemoryError, RecursionError):  # it may be any text
        return {}
    given = types.elts if isinstance(types, ast.Tuple) else [types] if types is not None else []
    names = [p.arg for p, _ in unit.positional][unit.cls is not None :]
    each = _EACH_TYPE.findall(unit.text) if comment is not None else ()
    if len(names) == len(given) and not each:
        return dict(zip(names, given, strict=True))
    return {name: ast.Constant(text) for name, text in each if name in names}


def is_label(name: str) -> bool:
    """True for what holds the answers to learn from, by its name."""
    return _LABELS.fullmatch(name) is not None


def _is_of_training(unit: FunctionUnit, name: str) -> bool:
    """True where the body says that only training passes it: `is_training = p is not None`, or a loss where it is."""
    text = _text_about(unit, name)
    if f"{_IT} is not None" not in text:
        return False
    if "train" in text and _TELLS_TRAINING.search(text):
        return True
    if (name in TENSOR_NAMES and name != "y") or "mask" in name or "loss" not in text or f"if {_IT} is" not in text:
        return False
    return _GIVES_LOSS.search(text) is not None


def _is_state_of_lstm(unit: FunctionUnit, name: str) -> bool:
    """True where the body passes the parameter to an `nn.LSTM` of its class as the state, which is two tensors."""
    init = unit.cls.find_method("__init__") if unit.cls is not None else None
    if init is None or "nn.LSTM(" not in init.text:
        return False
    layers = re.findall(r"\bself\.(\w+) = (?:torch\.)?nn\.LSTM\(", init.text)
    return any(re.search(rf"\bself\.{layer}\([^()\n]+, {_IT}\)", _text_about(unit, name)) for layer in layers)


def plain_name(name: object) -> bool:
    """True for the name of a setting: a parameter or a key of a dict that nothing else speaks for."""
    prefixes = ("num_", "n_", "use_", "return_", "is_", "do_", "output_")
    suffixes = ("_h", "_w", "_height", "_width", "_shape", "_size", "spatial_shapes")
    return isinstance(name, str) and (name in _PLAIN_NAMES or name.startswith(prefixes) or name.endswith(suffixes))


def _is_plain(unit: FunctionUnit, name: str) -> bool:
    """True where the body shapes a tensor by the parameter (`x.reshape(x.shape[0], -1, height, width)`), or asks no
    more of it than whether it is true: `if not inference:`."""
    text = _text_about(unit, name)
    if _SHAPES.search(text) is not None and not used_as_tensor(unit, name):
        return True
    uses = text.count(_IT)
    return uses > 1 and uses - 1 == len(_ASKED.findall(text))  # one is the parameter itself


def _read_by_key(unit: FunctionUnit, name: str) -> bool:
    """True where the body reads the parameter as only a dict is read: `data["image"]`, `k in data` beside `data[k]`."""
    text = _text_about(unit, name)
    return _KEYED.search(text) is not None or any(f"{_IT}[{key}]" in text for key in _KEY.findall(text))


def exported_value(engine: InContext, unit: FunctionUnit, parameter: ast.arg, default: ast.expr | None) -> dom.Value:
    """The same where the entry point is what is exported: a flag that is off by default, or a number that is nothing by
    default, is known to be that."""
    v = entry_value(engine, unit, parameter, default)
    if not isinstance(v, dom.Config) or not isinstance(default, ast.Constant) or EXPORT_FLAGS.search(parameter.arg):
        return v
    nothing = type(default.value) in (bool, int, float) and not default.value
    off = nothing or (default.value is None and _is_flag(parameter, default))
    return dom.Config(default=dom.Const(default.value)) if off else v


def _is_flag(parameter: ast.arg, default: ast.expr | None) -> bool:
    """True for a parameter that is on or off, by its default or its annotation."""
    if isinstance(default, ast.Constant) and isinstance(default.value, bool):
        return True
    return parameter.annotation is not None and "bool" in ast.unparse(parameter.annotation)


def vararg_value(engine: InContext, unit: FunctionUnit, parameter: ast.arg) -> dom.Value:
    """The abstract value of each of an entry point's `*args`: tensors for all that anyone knows."""
    message = f"`*{parameter.arg}` are inputs of `{unit.qualname}`"
    trace = dom.Trace(unit.module.path, parameter.lineno + unit.shift, message)
    annotation = parameter.annotation
    annotated = by_annotation(engine, annotation, trace, unit.module) if annotation is not None else None
    return annotated or dom.Tensor(trace=trace, guessed=True)


def read_as_tensor(unit: FunctionUnit, name: str) -> bool:
    """True where the body reads the parameter as only a tensor is read: `int(steps)`, `steps.item()`."""
    text = _text_about(unit, name)
    return _READ.search(text) is not None and not _has_a_layer_for_each(text)


def _has_a_layer_for_each(text: str) -> bool:
    """True for `x[i] = self.parts[i](x[i])`, which says more than what a comprehension does to an `x` of its own."""
    return f"{_IT}[" in text and _EACH.search(text) is not None


@lru_cache(maxsize=256)
def _text_about(unit: FunctionUnit, name: str) -> str:
    """The text of a function with _IT for a parameter; of one with very many parameters the lines that name this one,
    with those before them.
    """
    text = unit.text if len(unit.args.args) <= MANY else "\n".join(_lines_about(unit.text).get(name, ()))
    return with_word(text, name, _IT)


@lru_cache(maxsize=4)
def _lines_about(text: str) -> dict[str, list[str]]:
    lines_of: dict[str, list[str]] = {}
    lines = text.split("\n")
    for above, line in zip(["", *lines], lines, strict=False):
        if len(line) > LONG:
            continue  # the head itself, as a rule
        for word in dict.fromkeys(_WORD.findall(line)):
            lines_of.setdefault(word, []).append(f"{above if len(above) <= LONG else ''}\n{line}")
    return lines_of


def may_be_plain(unit: FunctionUnit, name: str) -> bool:
    """True where a list or a number may come: by a name in the plural or by use, and no use that only a tensor has."""
    text = _text_about(unit, name)
    if _has_a_layer_for_each(text):
        return True
    plural = re.search(r"[a-z]{2}s$|_(?:list|tuple)$", name) and not name.endswith(("ss", "pos", "bias", "gas"))
    return bool(plural or _LISTED_OR_COUNTED.search(text)) and not used_as_tensor(unit, name)


@lru_cache(maxsize=4096)
def lists_of_tensors(unit: FunctionUnit) -> frozenset[str]:
    """The parameters that a function wants lists for, by its documentation, by what it raises for anything else, or
    as it concatenates them."""
    text = unit.text
    joined = set(_CONCATENATED.findall(text)) if "cat(" in text else set()
    names = {name for name in joined if _REBOUND.search(_text_about(unit, name)) is None}
    wanted = _WANTS_LISTS.findall(text) if "list" in text or "List" in text else []
    names.update(name for match in wanted for name in match)
    checked = {name for _, raised, asserted, _ in wanted for name in (raised, asserted)}  # whatever it becomes later on
    own = (p.arg for p, _ in unit.positional if p.arg in names or p.arg.startswith("mlvl_"))  # of several levels
    return frozenset(name for name in own if name in checked or not used_as_tensor(unit, name))


def used_as_tensor(unit: FunctionUnit, name: str) -> bool:
    """True where the body uses the parameter as only a tensor is used."""
    return _USED_AS_TENSOR.search(_text_about(unit, name)) is not None


def by_annotation(engine: InContext, node: ast.expr, trace: dom.Trace, module: ModuleInfo) -> dom.Value | None:
    """What an annotation says; None where it says nothing of use."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            node = ast.parse(node.value, mode="eval").body
        except (SyntaxError, ValueError, MemoryError, RecursionError):  # it may be any text
            return None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        sides = [by_annotation(engine, s, trace, module) for s in (node.left, node.right)]
        if all(isinstance(s, dom.Seq) for s in sides) and sides[0] != sides[1]:
            return dom.Seq(dom.UNKNOWN)  # a list of tensors, or a list of lists of them
        if {type(s) for s in sides} == {dom.Tensor, dom.Seq}:
            return dom.Tensor(trace=trace, guessed=True)
        return next((s for s in sides if isinstance(s, dom.Tensor)), next((s for s in sides if s is not None), None))
    if isinstance(node, ast.Subscript):
        return _subscripted(engine, node, trace, module)
    name = "None" if isinstance(node, ast.Constant) and node.value is None else last_name(node)
    if name in _TENSORS:
        return dom.Tensor(trace=trace)
    if name in _PLAIN:
        return dom.CONFIG
    if name in _DICTS:
        return dom.Dict((), dom.Tensor(trace=trace))
    if name in ("list", "List", "tuple", "Tuple", "Any", "object", ""):
        return dom.UNKNOWN if name in ("Any", "object") else None
    return _of_the_project(engine, node, trace, module)


def _of_the_project(engine: InContext, node: ast.expr, trace: dom.Trace, module: ModuleInfo) -> dom.Value:
    """What an annotation says that names an alias of a type, or a record of tensors and numbers."""
    if isinstance(node, ast.Name) and node.id in module.assigns:
        meant = module.assigns[node.id].value
        key = (module.name, node.id)
        if key in engine.context.aliases:
            return dom.UNKNOWN  # types that are made of each other
        if isinstance(meant, (ast.Subscript, ast.BinOp)) and not any(
            isinstance(n, ast.Name) and n.id == node.id for n in ast.walk(meant)
        ):
            with engine.within(aliases=engine.context.aliases | {key}):
                return by_annotation(engine, meant, trace, module) or dom.UNKNOWN
    cls = module.lookup(dotted(node)) if isinstance(node, (ast.Name, ast.Attribute)) else None
    if not isinstance(cls, ClassInfo) or engine.context.describing > 2:
        return dom.UNKNOWN
    if not cls.fields:
        return _holder_of_tensors(engine, cls)
    bases = cls.external_bases()
    table = any(b.endswith("TypedDict") for b in bases)
    if not (table or any(b.endswith("NamedTuple") for b in bases) or "dataclass" in " ".join(cls.decorators)):
        return dom.UNKNOWN
    with engine.within(describing=engine.context.describing + 1):
        members = {  # those of its bases first
            name: dom.or_none(by_annotation(engine, annotation, trace, info.module) or dom.UNKNOWN)
            for info in reversed(cls.mro())
            for name, annotation in _fields_of(info.text)
        }
    if not any(isinstance(v, (dom.Tensor, dom.Dict, dom.Seq)) for v in members.values()):
        return dom.UNKNOWN
    if table:
        return dom.Dict(tuple(sorted(members.items())))
    record = dom.Object(cls)
    record.attrs.update(members)
    return dom.Instance(record)


def _holder_of_tensors(engine: InContext, cls: ClassInfo) -> dom.Value:
    """An object of a plain class whose constructor stores tensors: `NestedTensor(tensors, mask)`."""
    init = cls.find_method("__init__")
    if init is None or cls.is_module() or cls.external_bases() - {"object", "builtins.object"}:
        return dom.UNKNOWN
    with engine.within(describing=engine.context.describing + 1):
        passed = {
            p.arg: entry_value(engine, init, p, default)
            for p, default in init.positional[1:]
            if p.annotation is not None or used_as_tensor(init, p.arg)
        }
    if not any(isinstance(v, dom.Tensor) for v in passed.values()):
        return dom.UNKNOWN
    record = dom.Object(cls)
    for attribute, name in re.findall(r"^\s+self\.(\w+)(?:: [^=\n]+)? = (\w+)$", init.text, re.MULTILINE):
        record.attrs[attribute] = passed.get(name, dom.UNKNOWN)
    return dom.Instance(record)


@lru_cache(maxsize=256)
def _fields_of(text: str) -> tuple[tuple[str, ast.expr], ...]:
    """The names that the body of a class annotates, with the annotations."""
    body: list[ast.stmt] = ast.parse(textwrap.dedent(text)).body[0].body  # type: ignore[attr-defined]
    annotated = (s for s in body if isinstance(s, ast.AnnAssign))
    return tuple((s.target.id, s.annotation) for s in annotated if isinstance(s.target, ast.Name))


def _subscripted(engine: InContext, node: ast.Subscript, trace: dom.Trace, module: ModuleInfo) -> dom.Value | None:
    name = last_name(node.value)
    parts = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    if not parts:  # tuple[()]
        return dom.UNKNOWN
    match parts:
        case [_, ast.Constant(str(text))] if name in _JAXTYPING:
            return _jaxtyped(text, name, trace)
    if name in ("Optional", "Union", "Annotated"):
        return dom.or_none(_united([by_annotation(engine, p, trace, module) for p in parts], trace))
    if name in ("list", "List", "Sequence", "Iterable", "tuple", "Tuple"):
        inner = by_annotation(engine, parts[0], trace, module)
        if len(parts) > 1 and any(type(by_annotation(engine, p, trace, module)) is not type(inner) for p in parts[1:]):
            return dom.Seq(dom.UNKNOWN)
        return dom.Seq(inner) if inner is not None else dom.UNKNOWN
    if name in _DICTS and len(parts) == 2:
        anything = isinstance(parts[1], ast.Name) and parts[1].id in ("Any", "object")
        item = dom.Tensor(trace=trace) if anything else by_annotation(engine, parts[1], trace, module)
        return dom.Dict((), item) if isinstance(item, (dom.Tensor, dom.Dict, dom.Seq)) else dom.UNKNOWN
    return dom.CONFIG if name in ("Callable", "Literal", "type", "Type") else dom.UNKNOWN


def _united(sides: list[dom.Value | None], trace: dom.Trace) -> dom.Value:
    """What a parameter is that may be of several types: a tensor, if one of them is."""
    sequences = [s for s in sides if isinstance(s, dom.Seq)]
    if len(sequences) > 1 and sequences[0] != sequences[1]:
        return dom.Seq(dom.UNKNOWN)
    if {type(s) for s in sides if s is not None} >= {dom.Tensor, dom.Seq}:
        return dom.Tensor(trace=trace, guessed=True)
    return next(
        (s for s in sides if isinstance(s, dom.Tensor)),
        next((s for s in sides if s is not None and s != dom.UNKNOWN), dom.UNKNOWN),
    )


def _jaxtyped(text: str, kind: str, trace: dom.Trace) -> dom.Tensor:
    dims: list[dom.Extent] = []
    for axis in text.split():
        if axis.startswith(("...", "*")):
            return dom.Tensor(trace=trace)
        if axis.isdigit():
            dims.append(dom.literal_size(axis))
        else:
            batch = axis.lower() in ("b", "batch", "n", "bs") and not dims
            dims.append(dom.Dim(frozenset(("batch" if batch else f"?{axis}",)), trace=trace))
    number = "int" if kind.startswith(("Int", "UInt")) else "bool" if kind == "Bool" else "float"
    return dom.Tensor(tuple(dims), None, "input", number, None, None, trace)
