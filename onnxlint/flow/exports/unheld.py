"""Modules without layers that no model holds: what prepares inputs, reads outputs, or is for another runtime."""

import re
from collections.abc import Callable, Container, Hashable, Iterator, Sequence, Set
from functools import cached_property, lru_cache, partial
from itertools import islice

from onnxlint.base.edits import whole_word
from onnxlint.flow.state.partitions import MODULE_LEVEL, source_of
from onnxlint.project.classes import MODULE_ROOTS, ClassInfo, FunctionUnit, ModuleInfo
from onnxlint.project.configurations import Configurations

_LAYERS = re.compile(r"nn\.(?<!\wnn\.)(?!Module(?:\b|(?:List|Dict)\b(?!\())|functional\b|Identity\b)[A-Z]")
_AUTOGRAD = "torch.autograd."
_FUNCTIONS = frozenset(("torch.autograd.Function", "torch.autograd.function.Function"))
_BY_NAME = re.compile(r"(?<![\w.])(?:eval|exec|globals|locals)\(|\bgetattr\((?!self\b)")
# Whole sources are searched for these: what begins by its letters is found fast, so what is before them is asked last.
_BY_TEXT = "|".join(rf"{name}\((?<![\w.]{name}\()" for name in ("eval", "globals", "locals", "vars"))
_OWN_BY_TEXT = re.compile(rf"{_BY_TEXT}|sys\.modules\b|__dict__")
_BY_CONFIGURATION = re.compile(
    r"instantiate\((?<!\winstantiate\()|locate\((?<!\wlocate\()|import_module\((?=[^\0]*\bgetattr\(\w+, *\w)"
)
_BY_INSPECTION = re.compile(r"(?:__import__|import_module)\((?=[^\0]*\bgetmembers\()")  # by no name of a class
_EVALUATED = re.compile(r"\beval\((\w+)\) if isinstance\(\1, str\)")
_ASKED_FOR = re.compile(r"\b(?:isinstance\([^()]*\)|in [\[({][^\])}]*|is \w+)")
_IMPORTS = re.compile(r"^[ \t]*+(?:from[^\n]*)?import (?:\([^)]*\)|[^\n]*)", re.MULTILINE)
_LISTS = re.compile(r"^__all__\s*\+?=\s*[\[(][^\])]*[\])]", re.MULTILINE)
_without_imports = lru_cache(16)(partial(_IMPORTS.sub, ""))
_NAME = re.compile(r"[^\W\d]\w*")
_QUOTED = re.compile("[\"'#]")
_WORD = re.compile(r"\w")
_PART = re.compile(r"\s*self\.(\w+) *= *((?:\w+\.)*)")  # what `Name(...)` is assigned to
_PASSED = re.compile(r"(?<!super)[=(\[:]\s*$")  # what `Name` stands behind where it is passed on, or a base
_AS_BASE = re.compile(r"^\s*class \w+\([^()]*$|\b(?:super|isinstance)\([^()]*$")
_HEIR = re.compile(r"class (\w+)\(")
_METHOD = re.compile(r"\s+def (\w+)\(self\b")
_CLASS = re.compile(r"^class (\w+)", re.MULTILINE)
_TRAINING = re.compile(r"\s*(?:el)?if (?:self\.)?(?:is_)?training(?: and [^:]*)?:")
_WITH_KEYWORDS = re.compile(r"class \w+\([^)]*\b(?!metaclass)\w+=")  # by which a base may register it
_TALK = re.compile(r"""\"{3}[^"]*+(?:"(?!"")[^"]*+)*+"{3}|'{3}[^']*+(?:'(?!'')[^']*+)*+'{3}|#[^\n]*+""")


@lru_cache(maxsize=65_536)
def has_layers(c: ClassInfo) -> bool:
    """True for a class whose source names layers or parameters, beside what it says in words."""
    return names_layers(c.text) and names_layers(code_of(c.text))


def names_layers(text: str) -> bool:
    """True for a text that has layers or parameters of torch in it."""
    return "Parameter(" in text or _LAYERS.search(text) is not None


class Unheld:
    """Looks for what names a class in the modules of a project; `scripts` are the texts of what exports."""

    def __init__(self, modules: Sequence[ModuleInfo], scripts: Sequence[str]) -> None:
        self._modules = {info: number for number, info in enumerate(modules)}
        self._scripts = scripts

    def __contains__(self, c: ClassInfo) -> bool:
        """True for one that functions build, if anything does, which neither a model nor an export calls for it."""
        registered = any(not d.startswith(("dataclass", "torch.")) for d in c.decorators)
        if "." in c.qualname or registered or any(has_layers(b) or "register_buffer(" in b.text for b in c.mro()):
            return False
        if not all(b in MODULE_ROOTS or b.startswith(_AUTOGRAD) for b in c.external_bases()):
            return False
        return not self._is_held(c)

    def _is_held(self, c: ClassInfo) -> bool:
        name = re.escape(c.name)  # most are named nowhere else: an expression is made when a text has the name
        word, listed = whole_word(c.name), rf"\b{name}\(|[=:] *{name}\b"
        makers: dict[str, str] = {}
        for info in self._mentioning(c.module.project.naming, c.name):
            for unit in (*info.classes.values(), *info.functions.values()):
                text = code_of(unit.text) if unit is not c and "." not in unit.qualname and c.name in unit.text else ""
                if text and re.search(word, text):
                    if (isinstance(unit, ClassInfo) and unit.is_module()) or re.search(rf"{word}(?!\()", text):
                        return True
                    makers[unit.name] = text
            level = source_of(info, MODULE_LEVEL)
            if c.name in level and re.search(listed, level):
                return True
        if not makers:
            return not c.external_bases() <= _FUNCTIONS and self._any_by_name
        calls = re.compile(rf"\b(?:{'|'.join(map(re.escape, makers))})\(")
        alone = re.compile(rf"(?:\breturn|=)\s*{name}\(")
        called = {match[0][:-1] for text in self._scripts for match in calls.finditer(text)}
        if any(_is_passed(c.name, text) or (maker in called and alone.search(text)) for maker, text in makers.items()):
            return True
        modules = self._mentioning(c.module.project.naming, *makers)
        return any(d.is_module() and calls.search(d.text) for info in modules for d in info.classes.values())

    def _mentioning(self, naming: Callable[[str], Sequence[ModuleInfo]], *names: str) -> list[ModuleInfo]:
        """The modules that may name one of these."""
        others = [name for name in names if not "A" <= name[0] <= "Z"]
        modules = {info for name in names for info in naming(name) if info in self._modules}
        modules.update(i for i in self._modules if others and any(n in i.source.text for n in others))
        return sorted(modules, key=self._modules.__getitem__)

    @cached_property
    def _any_by_name(self) -> bool:
        return any(_BY_NAME.search(info.source.text) for info in self._modules)


def unnamed(
    modules: Sequence[ModuleInfo],
    classes: Sequence[ClassInfo],
    configurations: Configurations,
    configured: bool = False,
) -> dict[ClassInfo, str]:
    """Those of the classes that no code names, and no configuration that it may go by, or goes by where `configured`;
    functions build others."""
    if any("getmembers(" in info.source.text and _BY_INSPECTION.search(info.source.text) for info in modules):
        return {}
    starred = {origin for info in modules for star in info.stars if (origin := info.project.module(star, info))}
    homes = {info for info in {c.module for c in classes} - starred if not _OWN_BY_TEXT.search(info.source.text)}
    alone = {c: "named nowhere else" for c in classes if c.module in homes and _is_unnamed(c, modules, configured)}
    if alone and (configured or any(_BY_CONFIGURATION.search(info.source.text) for info in modules)):
        words = configurations.words
        alone = {c: why for c, why in alone.items() if words and c.name not in words}
    return alone if alone and any(c not in alone and _is_built(c) for c in classes) else {}


def unasked(classes: Sequence[ClassInfo], configurations: Configurations) -> dict[ClassInfo, str]:
    """Those of the classes in a registry that neither code nor a configuration names, where one names some."""
    registered = [c for c in classes if any("regist" in d.lower() for d in c.decorators)]
    if not registered or not any(c.name in configurations.words for c in registered):
        return {}
    unnamed = [c for c in registered if c.name not in configurations.words and "." not in c.qualname]
    return {c: "registered under a name that nothing asks for" for c in unnamed if not _is_named_in_code(c)}


def _is_named_in_code(c: ClassInfo) -> bool:
    """True where code says the name of a class outside of that, but to import or to list it."""
    for info in c.module.project.naming(c.name):
        own = _times_named(c.text, c.name) if info is c.module else 0
        if _times_named(_LISTS.sub("", _without_imports(info.source.text)), c.name) > own:
            return True
    return False


def unconfigured(
    modules: Sequence[ModuleInfo], classes: Sequence[ClassInfo], configurations: Configurations
) -> dict[ClassInfo, str]:
    """Of the classes, in a project that evaluates names in YAML, those that none names, nor what is built by others."""
    evaluating = any("eval(" in (text := info.source.text) and _EVALUATED.search(text) for info in modules)
    words = configurations.of_yaml if evaluating else frozenset()
    own, built = set(classes), {c for c in classes if c.name in words}
    if not built:
        return {}
    units = [u for i in modules for u in (*i.functions.values(), *i.classes.values()) if u not in own]
    texts = [*(u.text for u in units), *(source_of(i, MODULE_LEVEL) for i in modules), *(c.text for c in built)]
    while texts:
        text = texts.pop()
        new = {c for c in classes if c.name in text and c not in built}
        named = set(_NAME.findall(_ASKED_FOR.sub("", _IMPORTS.sub("", text)))) if new else ()
        new = {c for c in new if c.name in named}
        texts += [c.text for c in new]
        built |= new
    return {c: "no YAML file names it, and nothing that is built by these does" for c in classes if c not in built}


def _is_unnamed(c: ClassInfo, modules: Sequence[ModuleInfo], exported: bool) -> bool:
    """True where no code says the name of a class; with `exported`, `__all__` offers it to nobody."""
    if "." in c.qualname or any(c.decorators) or _WITH_KEYWORDS.match(c.text):
        return False
    naming = [i for i in c.module.project.naming(c.name) if i is c.module or _times_named(i.source.text, c.name)]
    own = _times_named(c.text, c.name)
    if exported and c.name in (listed := _listed(c.module)):
        own += _times_named(listed, c.name)
    return all(_is_idle(i, c.name, own if i is c.module else 0, modules) for i in naming)


@lru_cache(maxsize=4096)
def _listed(info: ModuleInfo) -> str:
    """What a module offers in `__all__`."""
    text = info.source.text
    return "\n".join(_LISTS.findall(text)) if "__all__" in text else ""


def _is_idle(info: ModuleInfo, name: str, own: int, modules: Sequence[ModuleInfo]) -> bool:
    """True where a module has a name as often as its class has itself, and else in methods that nothing names. A
    function that nothing of the project calls may be there for users."""
    text = info.source.text
    if _times_named(text, name) == own:
        return True
    times = {u: count for u in _named_methods(info) if name in u.text and (count := _times_named(u.text, name))}
    if not times:  # seen without a look at the imports, or at all the other sources
        return False
    rest = _times_named(_without_imports(text), name) - own
    idle = (count for u, count in times.items() if _is_uncalled(u, modules))
    return 0 < rest <= sum(times.values()) and rest == sum(idle)


@lru_cache(maxsize=16)
def _named_methods(info: ModuleInfo) -> list[FunctionUnit]:
    """The methods of a module that only a name calls."""
    units = (m for c in info.classes.values() for m in c.methods.values())
    return [m for m in units if m.name != "forward" and not m.name.startswith("__")]


def _is_uncalled(unit: FunctionUnit, modules: Sequence[ModuleInfo]) -> bool:
    """True where the sources name a function once, where it is defined; what torch has of that name is another."""
    dotted = re.compile(rf"(?<![\w.])[\w.]*\b{unit.name}\b")
    texts = (info.source.text for info in modules if unit.name in info.source.text)
    own = (1 for text in texts for name in dotted.findall(text) if not name.startswith("torch"))
    return len([*islice(own, 2)]) == 1


def _times_named(text: str, name: str) -> int:
    """How often a name stands in code, or makes a text alone: not in a comment, not among other words of a text."""
    count = 0
    for start, before, _ in mentions(text, name):
        quote = before[-1:]
        alone = quote in ("'", '"') and text.startswith(quote, start + len(name))
        count += alone or not _QUOTED.search(before)
    return count


def _is_built(c: ClassInfo) -> bool:
    naming = c.module.project.naming(c.name)
    units = [*(f for i in naming for f in i.functions.values()), *(h for i in naming for h in i.classes.values())]
    builders = (u for u in units if c.name in u.text and not (isinstance(u, ClassInfo) and u.is_module()))
    return any(called for unit in builders for *_, called in mentions(unit.text, c.name))


def _is_passed(name: str, text: str) -> bool:
    """True where a function hands an object of a class to another class."""
    variables = re.findall(rf"\b(\w+)\s*=\s*{name}\(", text)
    return re.search(rf"\b(?!{name}\b)[A-Z]\w*\([^()]*\b(?:{'|'.join([*variables, name])})\b", text) is not None


@lru_cache(maxsize=4096)
def code_of(text: str) -> str:
    """A source without comments and long strings; ten times as fast as by `.*?` up to the quotes."""
    return _TALK.sub("", text)


def uncalled(
    c: ClassInfo, exported: Set[ClassInfo], reached: Container[Hashable], bases: tuple[ClassInfo, ...] = ()
) -> str:
    """Why nothing calls the forward of a class, each object of which is a `self.part`; empty where something may."""
    parts: list[tuple[ModuleInfo, str]] = []
    for info in c.module.project.naming(c.name):
        text = info.source.text
        for _, head, called in mentions(text, c.name):
            part = _PART.fullmatch(head) if called else None
            if part is not None and info.lookup(part[2] + c.name) is c:
                if not exported and _is_called(info, text, part[1]):
                    return ""  # seen fast for most
                parts.append((info, part[1]))
            elif (
                not part
                and (head != "class " if called else _PASSED.search(head))
                and info.lookup(c.name) is c
                and (called or _runs_in_heir(info, head, exported, reached, (*bases, c)))
            ):
                return ""
    if parts and not exported and all(_is_for_training(*part) for part in parts):
        return "only training calls its forward"
    return "no export calls its forward" if parts and all(_idle(c, *p, exported, reached) for p in parts) else ""


def _runs_in_heir(
    info: ModuleInfo, head: str, exported: Set[ClassInfo], reached: Container[Hashable], bases: tuple[ClassInfo, ...]
) -> bool:
    """False where a class that derives from the last of `bases`, by this text, has its own forward or no caller."""
    heir = _HEIR.fullmatch(head)
    derived = info.classes.get(heir[1]) if heir is not None else None
    if derived is None or derived in bases:  # a name that is bound anew, or bases in a circle
        return True
    return not (derived.methods.get("forward") or uncalled(derived, exported, reached, bases))


def _is_called(info: ModuleInfo, text: str, part: str) -> bool:
    """True where `self.part` is called in a text of a module, and not only for training."""
    calls = (m.start() for m in re.finditer(rf"{whole_word(f'self.{part}')}(?:\.forward)?\(", text))
    return not all(_trains(info, text, at) for at in calls)


def _is_for_training(info: ModuleInfo, part: str) -> bool:
    """True where `self.part` is called, by its holder or a base, and named for nothing but training and to set it."""
    holders = [h for h in info.classes.values() if re.search(rf"self\.{part} *=", h.text)]
    modules = dict.fromkeys([info, *(base.module for h in holders for base in h.mro())])
    texts = [(i, code_of(i.source.text)) for i in modules]
    word = whole_word(f"self.{part}")
    if not any(re.search(rf"{word}(?:\.forward)?\(", text) for _, text in texts):
        return False
    named = re.compile(rf"{word}(?! *=[^=])")
    return all(_trains(i, text, m.start()) for i, text in texts for m in named.finditer(text))


def _trains(info: ModuleInfo, text: str, at: int, inside: bool = False) -> bool:
    """True for a place under `if self.training:`, or in a method that is called under such alone (one deep)."""
    around = [*blocks_around(text, at)]
    if any(map(_TRAINING.match, around)):
        return True
    method = _METHOD.match(around[-1]) if around and not inside else None
    owners = _CLASS.findall(text, 0, at) if method is not None and method[1] not in ("forward", "__init__") else []
    if method is None or not owners:
        return False
    call = re.compile(rf"\.{method[1]}\(")
    texts = [(i, code_of(i.source.text)) for i in info.project.naming(owners[-1]) if call.search(i.source.text)]
    places = [(i, other, m.start()) for i, other in texts for m in call.finditer(other)]
    return bool(places) and all(_trains(*place, inside=True) for place in places)


def blocks_around(text: str, at: int) -> Iterator[str]:
    """The headers of the blocks that hold a place, innermost first, out to that of the function."""
    start = text.rfind("\n", 0, at) + 1
    depth = at - start - len(text[start:at].lstrip())
    while start > 0 and depth > 0:
        end, start = start - 1, text.rfind("\n", 0, start - 1) + 1
        line = text[start:end]
        indent = len(line) - len(line.lstrip())
        if line.strip() and indent < depth:
            depth = indent
            yield line
            if line.startswith("def ", indent):
                return


def is_overridden(c: ClassInfo, reached: Callable[[ModuleInfo], str] | None = None) -> bool:
    """True for a class that others derive from, each with a forward of its own, and that nothing else names. Where
    exports are known, `reached` gives what of a module they come to, and no more counts."""
    whole = reached is None
    naming = [i for i in c.module.project.naming(c.name) if not whole or i is c.module or c.name in i.aliases]
    if whole and any(i.is_package for i in naming):
        return False  # what a package offers may be built by its users
    derived = [d for i in naming for d in i.classes.values() if d is not c and d.base_names and c in d.mro()]
    if not derived or any((unit := d.find_method("forward")) is None or unit.cls is c for d in derived):
        return False
    for text in (reached(info) if reached is not None else info.source.text for info in naming):
        for _, head, called in mentions(text, c.name):
            used = head != "class " if called else head[-1:] in ("'", '"') or _PASSED.search(head)
            if used and not _AS_BASE.search(head):
                return False
    return True


def mentions(text: str, name: str) -> Iterator[tuple[int, str, bool]]:
    """Where a text has a name, what is before it in its line, and whether it is called or defined there."""
    start = text.find(name)  # an expression for each of many names would take longer to make than to use
    while start >= 0:
        end = start + len(name)
        if not _WORD.match(text, start - 1, start) and not _WORD.match(text, end):
            yield start, text[text.rfind("\n", 0, start) + 1 : start], text.startswith("(", end)
        start = text.find(name, end)


def _idle(c: ClassInfo, info: ModuleInfo, part: str, exported: Set[ClassInfo], reached: Container[Hashable]) -> bool:
    """True where only other methods of `self.part` are called or exports of its holder reach nothing that uses it."""
    holders = {h for h in info.classes.values() if re.search(rf"self\.{part} *=", h.text)}
    called = re.findall(rf"self\.{part}\.(?!forward\b)(\w+)\(", code_of(info.source.text))
    if not exported >= holders and not (all(h.is_module() for h in holders) and any(map(c.find_method, called))):
        return False
    use = re.compile(rf"(?<!torch)\.{part}\b(?!\.(?!forward\b)\w+\()(?! *=[^=])")
    beyond = {m for h in holders for m in info.project.naming(h.name) if m is not info and m.lookup(h.name) in holders}
    texts = [u.text for u in info.units if u.cls not in exported or u.key in reached] + [m.source.text for m in beyond]
    texts += [e.text for e in exported if e.module is not info]  # such as a wrapper that is there for the export
    return not any(use.search(code_of(text)) for text in texts if part in text)
