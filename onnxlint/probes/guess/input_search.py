"""Which tensors to try for the parameters of a `forward` that nobody described, by name and use, and the search."""

import ast
import inspect
import math
import re
import textwrap
import typing
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import nn

from onnxlint.base.specs import DTYPES
from onnxlint.probes.common import containers
from onnxlint.probes.common.nested import root
from onnxlint.probes.examples.examples import describe
from onnxlint.probes.guess import conventions as say
from onnxlint.probes.guess.attempts import Bench
from onnxlint.probes.guess.error_repair import of_rank, repairs
from onnxlint.probes.guess.model_facts import Facts, Guess, Guesses, Plain, Slot, floats, of_layer, read_facts, slots_of

DEPTH = 5  # repairs of repairs
PAST = 5  # steps that a cache holds before the first: as many as nothing else
ALTERNATIVES = 4  # of each parameter besides the first
_USUAL = 3  # items of a list that nothing counts
_MOST = 12
_ANY = ("first", "second")  # the keys of a dict that is asked for none by name

_TYPES = {"Int": "int32", "Short": "int16", "Half": "float16", "Double": "float64", "BFloat16": "bfloat16"}
_TYPED = re.compile(rf"\b({'|'.join(_TYPES)})Tensor\b")
_PLAIN = re.compile(r"(int|bool|float)(?: \| None)?|Optional\[(int|bool|float)\]")


@dataclass(frozen=True, slots=True)
class Asked:
    """A tensor to make up. `label` says where it goes, `name` and `annotation` what it is; `layer` is to take it."""

    label: str
    name: str
    annotation: Any
    layer: nn.Module | None = None


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A guess that forward took, or None with what was tried last and what it raised."""

    guess: Guesses | None
    tried: tuple[Guesses, ...]
    reason: str = ""


def find_inputs(bench: Bench, besides: Sequence[Guesses] = ()) -> SearchResult:
    """Search for arguments that forward takes, `besides` those that are known."""
    model = bench.model
    takes = containers.parameters(model)
    if takes is None:
        return SearchResult(None, (), "its forward has no signature")
    facts = read_facts(model)
    named = [p for p in takes if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    if any(p.kind is p.POSITIONAL_ONLY for p in takes):
        return SearchResult(None, (), "its forward has parameters that can only be passed by position")
    wanted = _wanted(model, named)
    if not wanted:
        open_ended = any(p.kind is p.VAR_POSITIONAL for p in takes)
        return SearchResult(None, (), "its forward takes `*args`" if open_ended else "its forward takes no input")
    fixed: dict[str, Guess] = {p.name: Plain(say.FIXED[p.name]) for p in named if p.name in say.FIXED}
    return _search(bench, facts, _first_guesses(facts, asked(model, wanted), fixed), named, besides)


def asked(model: nn.Module, wanted: Iterable[inspect.Parameter]) -> list[Asked]:
    """The tensors that parameters stand for: one each, or those that lists, tuples and dicts hold by forward's source.

    A dict holds what is read of it by key, a list what is unpacked from it or what goes along with layers.
    """
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(type(model).forward)))
    except (OSError, TypeError, SyntaxError, ValueError):
        return [Asked(p.name, p.name, p.annotation) for p in wanted]
    return [leaf for p in wanted for leaf in _inside(p, tree, model)]


def _first_guesses(facts: Facts, wanted: list[Asked], fixed: dict[str, Guess]) -> list[dict[str, Guess]]:
    """The first few shapes of the main input, then other second inputs for them, then its unlikely shapes."""
    likely: list[dict[str, Guess]] = []
    others: list[dict[str, Guess]] = []
    for number, first in enumerate(options(wanted[0], facts, None)):
        rest = {p.label: options(p, facts, first) for p in wanted[1:]}
        guess = {wanted[0].label: first, **{name: choice[0] for name, choice in rest.items()}, **fixed}
        likely.append(guess)
        if number < ALTERNATIVES:
            others += [{**guess, name: other} for name, choice in rest.items() for other in choice[1:ALTERNATIVES]]
    return [*likely[:ALTERNATIVES], *others, *likely[ALTERNATIVES:]]


def _search(
    bench: Bench, facts: Facts, guesses: Sequence[Guesses], named: list[inspect.Parameter], besides: Sequence[Guesses]
) -> SearchResult:
    queue = deque((guess, 0) for guess in guesses)
    seen = {repr(sorted(guess.items())) for guess in besides}
    tried: list[Guesses] = []
    reason = "nothing could be tried"
    best_depth = -1
    while queue and not bench.spent:
        guess, depth = queue.popleft()
        key = repr(sorted(guess.items()))
        if key in seen:
            continue
        seen.add(key)
        tried.append(guess)
        trial = bench.run(guess)
        if trial.error is None:
            return SearchResult(guess, tuple(tried))
        if depth > best_depth or len(tried) == 1:
            best_depth, reason = depth, describe(trial.error)
        if depth < DEPTH:
            main = next(iter(slots_of(guess).values()), None)
            passed = {root(label) for label in guess}
            absent = {p.name: Asked(p.name, p.name, p.annotation) for p in named if p.name not in passed}
            better = repairs(guess, trial, facts, {n: partial(options, p, facts, main) for n, p in absent.items()})
            queue.extendleft((g, depth + 1) for g in reversed(better[:4]))
    return SearchResult(None, tuple(tried), reason)


def _wanted(model: nn.Module, named: list[inspect.Parameter]) -> list[inspect.Parameter]:
    """The parameters without a default; where all have one, the input that the model is known for."""
    if needed := [p for p in named if p.default is p.empty]:
        return needed
    by_name = {p.name: p for p in named}
    main = getattr(model, "main_input_name", None)
    return next(([by_name[name]] for name in (main, *say.FIRST) if name in by_name), named[:1])


def options(p: Asked, facts: Facts, main: Guess | None) -> list[Guess]:
    """What a tensor may be, likeliest first. `main` is what the first is; None for the first itself."""
    guesses: list[Guess] = [*_of_its_layer(p, facts), *_annotated(p, facts), *_by_name(p.name.lower(), facts, main)]
    if main is None:
        guesses += facts.layers
        whole = say.named_like(p.name.lower(), "tokens") or "LongTensor" in str(p.annotation)
        if whole and not _TYPED.search(str(p.annotation)):
            guesses.sort(key=lambda g: isinstance(g, Slot) and g.dtype != "int64")
    elif isinstance(main, Slot):  # second inputs are often made for the first: of its shape, of its rows
        first, last = main.shape[0], main.shape[-1]
        guesses += [main, *floats((first, last), (first,), *([(first, 8, last)] if len(main.shape) > 2 else ()))]
    guesses += facts.layers[:3]
    return list({repr(guess): guess for guess in guesses}.values())


def _of_its_layer(p: Asked, facts: Facts) -> list[Guess]:
    """What the layer takes that walks along with the tensor; images get smaller from one layer to the next."""
    if p.layer is None:
        return []
    usual = next((slots for part in p.layer.modules() if (slots := of_layer(part, facts.sides, facts.lengths))), [])
    level = int(p.label.rpartition(".")[2])
    images = [slot.shape for slot in usual if len(slot.shape) == 4 and level]
    return [*floats(*((*shape[:2], *(max(size >> level, 1) for size in shape[2:])) for shape in images)), *usual]


def _annotated(p: Asked, facts: Facts) -> list[Guess]:
    """Jaxtyping says dtype and axes; plain types say that it is no tensor."""
    note = p.annotation
    if isinstance(note, str) and (plain := _PLAIN.fullmatch(note)):
        note = {"int": int, "bool": bool, "float": float}[plain[1] or plain[2]]
    if note in (bool, float):
        return [Plain(1.0 if note is float else False)]
    if note is int:
        height, width = facts.sides[0]
        size = width if say.named_like(p.name, "width") else facts.lengths[0]
        return [Plain(height if say.named_like(p.name, "height") else size)]
    dims = getattr(note, "dim_str", None)
    if isinstance(dims, str) and dims:
        return [Slot(_jaxtyped(note), shape) for shape in _shapes(dims, facts)]
    if "BoolTensor" in str(note):
        return [Slot("bool", (say.BATCH, facts.lengths[0]))]
    typed = _TYPED.search(str(note))
    if typed is not None:
        usual = [slot for slot in _by_name(p.name.lower(), facts, None) if isinstance(slot, Slot)]
        return [Slot(_TYPES[typed[1]], slot.shape) for slot in usual or facts.layers[:3]]
    if "LongTensor" in str(note) and not say.named_like(p.name, "time"):
        return [Slot("int64", (say.BATCH, n)) for n in facts.lengths[:2]]
    return []


def _jaxtyped(note: Any) -> str:
    dtypes = [d for d in getattr(note, "dtypes", ()) if d in DTYPES]
    return next((d for d in ("float32", "int64", "bool") if d in dtypes), dtypes[0] if dtypes else "float32")


def _shapes(dims: str, facts: Facts) -> list[tuple[int, ...]]:
    """The sizes of named axes: one per name, by what the name means."""
    shapes: list[tuple[int, ...]] = []
    for width in facts.widths[:3]:
        sizes: dict[str, int] = {}
        shape: list[int] = []
        for part in dims.split():
            before, _, after = part.lstrip("#*?_").partition("=")
            name = after or before
            if name and not part.startswith("..."):
                size = int(name) if name.isdigit() else _size_named(name.lower(), facts, width, len(shape))
                shape.append(sizes.setdefault(name, size))
        shapes.append(tuple(shape))
    return list(dict.fromkeys(shapes))


def _size_named(name: str, facts: Facts, width: int, axis: int) -> int:
    if name in ("b", "batch", "bs", "batch_size") or (axis == 0 and name == "n"):
        return say.BATCH
    if name in ("c", "ch", "channels", "channel", "in_channels"):
        return facts.channels[0]
    if say.named_like(name, "height"):
        return facts.sides[0][0]
    if say.named_like(name, "width"):
        return facts.sides[0][1]
    if name in ("d", "dim", "hidden", "features", "e", "embed", "feature", "embed_dim", "d_model", "hidden_size"):
        return width
    return facts.lengths[0]


def _by_name(name: str, facts: Facts, main: Guess | None) -> list[Guess]:
    b = say.BATCH
    t = main.shape[1] if isinstance(main, Slot) and len(main.shape) in (2, 3) else facts.lengths[0]
    rows, places, numbers, table = Slot("int64", (b,)), Slot("int64", (b, t)), Slot("float32", (b,)), (b, t)
    side = facts.sides[0]
    rules: tuple[tuple[str, Sequence[Guess]], ...] = (
        ("mask", [Slot("bool", table), places, *floats(table), Slot("bool", (t, t))]),
        ("video", of_rank(5, "float32", facts)),
        ("image", floats(*((b, c, *s) for c in facts.channels[:2] for s in facts.sides[:3]))),
        ("spectrum", floats((b, facts.bands, facts.spectrum), (b, 64, facts.bands))),
        ("audio", floats((b, say.SAMPLES), (b, 1, say.SAMPLES))),
        ("position", [places, *floats((b, t, 3))]),
        ("tokens", [Slot("int64", (b, n)) for n in dict.fromkeys((t, *facts.lengths[:3]))]),
        ("length-of", [rows, Plain(t)]),
        ("time", [numbers, rows, *floats((b, 1), table)]),
        ("class", [rows, places]),
        ("pair", [Plain([*side]), Plain([8, 8])]),
        ("height", [Plain(side[0]), Plain(8)]),
        ("width", [Plain(side[1]), Plain(8)]),
    )
    guesses: list[Guess] = [*next((usual for what, usual in rules if say.named_like(name, what)), ())]
    if say.named_like(name, "state") and facts.states:
        guesses = [*floats(*facts.states[:2])]
    if say.named_like(name, "past") and (main is not None or not guesses):
        heads, width = facts.heads
        keys = (b, heads, PAST, width), (b, PAST, heads, width)
        guesses = [*floats(*keys, *facts.states, (b, PAST, facts.widths[0]))]
    if name in ("hidden_states", "inputs_embeds", "embeddings", "context", "memory", "encoder_hidden_states"):
        guesses = [*floats(*((b, t, w) for w in facts.widths[:3]))]
    return guesses


def _inside(p: inspect.Parameter, tree: ast.Module, model: nn.Module) -> list[Asked]:
    name, annotation = p.name, p.annotation
    asked = list(_asked(name, tree))
    origin = typing.get_origin(annotation)
    keys = containers.fields_of(annotation) or dict.fromkeys(key for key in asked if isinstance(key, str))
    if not keys and isinstance(origin, type) and issubclass(origin, Mapping):
        keys = dict.fromkeys(_ANY)
    if keys:
        return [Asked(f"{name}.{key}", key, p.empty) for key in keys]
    if _comes_as_tensor(name, tree):
        return [Asked(name, name, annotation)]
    layers: Sequence[nn.Module | None] = _walked(name, tree, model)
    if not layers and (unpacked := _unpacked(name, tree)) > 1:
        layers = (None,) * unpacked
    kind, _, inside = str(annotation).replace("typing.", "").lower().partition("[")
    if not layers and kind.rpartition(".")[2] in ("list", "sequence", "tuple", "iterable") and "tensor" in inside:
        count = inside.count("tensor") if "tuple" in f"{kind}{inside}" and "..." not in inside else 0
        last = (min(key, _MOST) + 1 for key in asked if isinstance(key, int))
        layers = (None,) * (max([count, *last]) or _USUAL)
    items = [Asked(f"{name}.{number}", name, p.empty, layer) for number, layer in enumerate(layers)]
    return items or [Asked(name, name, annotation)]


def _comes_as_tensor(name: str, tree: ast.Module) -> bool:
    """Whether a parameter is asked, before the name gets another value, for what tensors have and lists have not."""
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == name]
    bound = min((node.lineno for node in names if isinstance(node.ctx, ast.Store)), default=math.inf)
    read = [n for n in ast.walk(tree) if isinstance(n, ast.Attribute) and n.value in names and n.lineno <= bound]
    return any(hasattr(torch.Tensor, node.attr) and not hasattr(list, node.attr) for node in read)


def _asked(name: str, tree: ast.Module) -> Iterator[str | int]:
    """The keys and indices that a parameter is subscripted with."""
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(ast.Name(owner), ast.Constant(str(key) | int(key))) if owner == name:
                yield key
            case ast.Call(ast.Attribute(ast.Name(owner), "get" | "pop"), [ast.Constant(str(key)), *_]) if owner == name:
                yield key


def _unpacked(name: str, tree: ast.Module) -> int:
    """How many names a parameter is unpacked into, at the most."""
    pairs = ((node.targets[0], node.value) for node in ast.walk(tree) if isinstance(node, ast.Assign))
    return max((len(to.elts) for to, value in pairs if isinstance(to, ast.Tuple) and _is(name, value)), default=0)


def _walked(name: str, tree: ast.Module, model: nn.Module) -> tuple[nn.Module, ...]:
    """The layers that a loop over `zip(self.layers, parameter)` gives one item each."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="zip"), args=parts) if any(_is(name, part) for part in parts):
                ours = (p.attr for p in parts if isinstance(p, ast.Attribute) and _is("self", p.value))
                for layers in (getattr(model, attribute, None) for attribute in ours):
                    if isinstance(layers, nn.ModuleList):
                        return tuple(layers)
    return ()


def _is(name: str, node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == name
