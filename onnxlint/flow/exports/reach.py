"""What an export of the project may come to, by what the sources mention; of the rest, the reason why none does.

From every function that exports, and those that call it, names lead to definitions and these to further names. That is
more than runs: what no name leads to is outside. Where names do not tell (a module imported by a text that is computed,
a registry), all that is imported counts.
"""

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from pathlib import PurePath
from posixpath import dirname, join, normpath

from onnxlint.base.edits import whole_word
from onnxlint.base.records import grouped
from onnxlint.flow.exports.deployment import methods_called
from onnxlint.flow.exports.dict_flags import keys_of_flags
from onnxlint.flow.exports.never_exported import gives_a_dict_each
from onnxlint.flow.exports.refused_exports import refused, used_only_by
from onnxlint.flow.exports.set_lengths import of_set_length
from onnxlint.flow.exports.unheld import (
    Unheld,
    code_of,
    has_layers,
    is_overridden,
    names_layers,
    unasked,
    unconfigured,
    unnamed,
)
from onnxlint.flow.state.partitions import MODULE_LEVEL, Part, common_folder, name_of, source_of
from onnxlint.flow.state.problems import Guard
from onnxlint.project.classes import ClassInfo, FunctionUnit, ModuleInfo
from onnxlint.project.configurations import Configurations
from onnxlint.project.modules import imported
from onnxlint.project.outline import LIBRARIES, dotted

CALLERS = 200  # functions around an export that are looked at
LIBRARY = 1_500  # modules of a library, which has models that it does not name
REEXPORTS = 8  # modules that a name is passed on through
_MAY_EXPORT = re.compile(r"\bexport\(|_export\(|to_onnx\(|2onnx\(")
_EXPORTING = re.compile(r"torch\.onnx\.(?:utils\.)?(?:_|dynamo_)?export(?:_to_pretty_string)?|torch\.export\.export")
_GIVEN = re.compile(r"onnx\.(?:dynamo_)?export\(\s*+(?:model\s*+=\s*+)?([\w.]++)")
_AS_IT_IS = re.compile(r"(?:\.(?:to|eval|cpu|cuda|float|half))+$")
_WHOLE_OF = r"(?!self\.)[a-z_]\w*\.(?!to\b|eval\b|cpu\b|cuda\b|float\b|half\b|module\b|model\b)"
_PART_OF = re.compile(rf"{_WHOLE_OF}([a-z_]\w*)(?:\.(?:to|eval|cpu|float)(?:\([^()\n]*\))?)*$")
_WRAPPING = re.compile(r"\w+\.to_onnx|(?:\w+\.)*\w+2onnx")  # Lightning's method, and functions of libraries
_WORD = re.compile(r"[^\W\d]\w*")
_LOCAL_IMPORT = re.compile(r"^[ \t]+((?:from[ \t]+[\w.]+[ \t]+)?import[ \t]+(?:\([^)]*\)|[^\n#;\\(]+))", re.MULTILINE)
# What it imports or makes is computed, but where the name begins with a library's: `f"torchvision.models.{name}"`.
_ANYTHING = re.compile(r"\b(?:import_module|__import__|instantiate|load_entry_point)\((?:f?['\"](\w[\w.]*)\.)?")
_DOTTED = re.compile(r"['\"]([a-zA-Z_]\w*(?:\.[a-zA-Z_]\w*)+)['\"]")
_BY_PARAMETER = re.compile(r"(?:import_module|__import__)\(\s*[a-zA-Z_]\w*\s*\)")
_BY_TEXT = re.compile(r"import_module\((?<!\wimport_module\()\s*['\"]([\w.]+)['\"]\s*\)")
_CONFIG = re.compile(r"(?:fromfile|from_file|LazyConfig\.load)\(\s*['\"]([\w./-]+\.py)['\"]")
_BASE_CONFIG = re.compile(r"['\"]([\w./-]+\.py)['\"]")
_WALKS = re.compile(r"\b(?:pkgutil\.)?(?:walk_packages|iter_modules)\(")  # what it imports may register anything
# A whole model comes out of a file: `torch.load(path)["model"].float().eval()`.
_UNPICKLED = re.compile(r"(?:\]|torch\.load\([^\n]*\))(?:\.\w+\([^()\n]*\))*\.(?:eval|fuse|float|half)\(")
_CALLS = r"(?:\.\w+\([^()\n]*\))*"
_WHOLE = re.compile(rf"torch\.load\([^\n]*\)\[['\"]\w+['\"]\]{_CALLS}\.(?:eval|fuse|float|half)\(")  # of any class
_EVALUATES = "|".join(rf"{name}\((?<![\w.]{name}\()" for name in ("eval", "exec", "globals", "locals"))
_ANY_IMPORTED = re.compile(rf"{_EVALUATES}|sys\.modules\b(?<!\wsys\.modules)")
_OTHER_FORMAT = re.compile(r"def (?:\w+_)?(?:jit|torchscript|coreml|tflite|openvino|tensorrt)\(")
_IMPORTS = re.compile(r"^(?:from[^\n]*)?import (?:\([^)]*\)|[^\n]*)", re.MULTILINE)
_TEST_FOLDERS = ("test", "tests", "testing", "unittests")
_DEMO_FOLDERS = ("demo", "demos", "tutorial", "tutorials")
# Of 32 findings in such folders on public repositories none was worth a maintainer's time (tests/field).
_TRAINING_FOLDERS = frozenset(
    "finetune finetuning pretrain pretraining loss losses loss_fn loss_functions metric metrics augmentation"
    " pytorch_iou pytorch_ssim pytorch_msssim".split()
)
_INFERRING = "infer inference forward_test recognize predict generate sample synthesize translate transcribe".split()
_VENDORED_FOLDERS = (
    "third_party thirdparty 3rdparty vendor vendored external externals submodules dependencies lpips".split()
)
# Libraries whose code is copied into many projects; at the top, it is the library itself.
_COPIED = frozenset("detectron2 fairseq mmcv mmdet mmdet3d mmengine mmpose mmseg torchvision ultralytics".split())
_VENDORED = "another project's code, which this one holds a copy of"
_MEASURING = ("bench", "benchmark", "benchmarks")
_TRAINED_AGAINST = re.compile(r"Discriminator|Discriminer|_[dD]isc(?:_|$)")
_IN_TRAINING = re.compile(rf"{_TRAINED_AGAINST.pattern}|(?:(?<!With)Loss|Criterion)$")
_PREPARES = re.compile(r"Augment|Preprocess|SpecAug|Normalizer$|Transforms?$|^Random[A-Z]|Metrics?$")
_LEARNED = re.compile(
    r"nn\.(?:Conv|Linear|Embedding|LSTM|GRU|RNN|\w+Norm|Multihead|Transformer|Parameter|Bilinear|PReLU)"
)
_SEARCHES = re.compile(r"BeamSearch|Searcher$|Aligner$")
_HELD = re.compile(r"nn\.(?:ModuleDict\(\)|(?:Log)?Softmax\()")  # it keeps the models that a search gets, and scores
_FEATURES = re.compile(r"stft|fbank|mel\b|s3prl", re.IGNORECASE)  # of recordings
_SCRIPTS_ITSELF = re.compile(r"\bjit\.script\(\s*(?:copy\.deepcopy\(\s*)?self\b(?!\.)")
_SCRIPTED = "it scripts itself for `torch.jit.load`, and nothing here exports it to ONNX"
_OF_A_GRAPH = re.compile(r"\.(?:[ne]data|srcdata|dstdata)\[|\.local_scope\(\)")  # one of DGL
_COLLECTIVE = re.compile(r"\bdist(?:ributed)?\.(?:all_\w+|broadcast\w*|gather\w*|scatter\w*|reduce\w*)\(")
_FOR_DATA = re.compile(r"transforms?|\w*augment\w*|spec_?aug|preprocess\w*|datasets?|dataloaders?|metrics?|loss(?:es)?")


def may_export(text: str) -> bool:
    """Whether a text may call an exporter; most do not name one, which is quicker to see than a pattern is to match."""
    return ("export(" in text or "onnx(" in text) and _MAY_EXPORT.search(text) is not None


class Reach:
    """The definitions that exports of some modules may come to, or `only` some of these: pairs of module and name."""

    def __init__(
        self, modules: Sequence[ModuleInfo], only: Collection[str] = (), configurations: Configurations | None = None
    ) -> None:
        self.modules = modules
        self.top = common_folder(m.source.path for m in modules) if modules else None
        self._configurations = configurations or Configurations(None)
        self._twins = grouped(modules, lambda info: info.name)
        self._classes = grouped((c for info in modules for c in info.classes.values()), lambda c: c.name)
        self.seen: dict[tuple[ModuleInfo, str], None] = {}
        self._imported: set[tuple[str, str]] = set()  # names, and the folder of the script that imports one
        self._inner: dict[ModuleInfo, Sequence[str]] = {}
        self.whole: dict[ModuleInfo, None] = {}  # all that these define, and import
        units = (u for info in modules if _OTHER_FORMAT.search(info.source.text) for u in info.units)
        self.other_formats = [u for u in units if _OTHER_FORMAT.match(f"def {u.name}(")]
        roots = [root for info in modules for root in self._roots_of(info)]
        self.roots = [r for r in roots if f"{r[0].source.path}:{r[1]}" in only] if only else roots
        marked = [u for info, *_ in self.roots for u in info.units if u.has_decorator("mark.skip", "unittest.skip")]
        self.skipped = {name_of(unit): "a test that is skipped" for unit in marked}
        self.roots = [r for r in self.roots if f"{r[0].source.path}:{r[1]}" not in self.skipped]
        apart = [root for root in self.roots if not self.is_test(*root[:2])]
        self.tests = [root for root in self.roots if root not in apart] if apart else []
        self.roots = apart or self.roots
        packages = {info.name[: dot.start()] for info, *_ in self.roots for dot in re.finditer(r"\.", info.name)}
        around = (info for name in packages for info in self._twins.get(name, ()))
        self.offered = any(map(self._is_offered, self.roots))
        self.unbounded = self.offered or any(_WALKS.search(info.source.text) for info in around)
        self._waiting = [(info, name) for info, name, _ in self.roots]
        for definition in self._waiting:  # it grows meanwhile
            if len(self._waiting) < CALLERS:
                self._waiting += [c for c in self._callers(*definition) if c not in self._waiting]
        self.exporting = tuple(self._waiting)  # the functions that export, and behind them those that call these
        self._configured = self._named_by_configs()
        while self._waiting and not self.unbounded:
            self._visit(*self._waiting.pop())

    @property
    def origin(self) -> str:
        """The export calls, as a reason names them."""
        info, _, line = self.roots[0]
        more = len(self.roots) - 1
        return f"{info.path}:{line}" + (f" and {more} more export call{'s'[: more > 1]}" if more else "")

    def outside(self) -> dict[str, str]:
        """Classes, and functions of tests that export, that no export comes to, by path and name, with the reason."""
        test = f"a test; the project exports at {self.origin}" if self.tests else ""
        outside = self.skipped | {f"{info.source.path}:{name}": test for info, name, _ in self.tests}
        modules = [info for info in self.modules if not self.is_test(info)]
        own = self._by_themselves(modules)
        # Where no class was seen, whatever is exported, no name led to it.
        bounded = bool(self.roots) and not self.unbounded and any(self.is_seen(c) for c in own)
        models = any(not reason for reason in own.values())
        named = {**self._unbuilt(modules, own), **refused(modules, [root[:2] for root in self.roots], own)}
        named |= {c: why for c in own if (why := _exports_parts(c))} | self._wholes_of_parts(own)
        unheld = self._unheld(own)
        for c, reason in own.items():
            if c in named:
                outside[name_of(c)] = named[c]
            elif bounded and (not self.is_seen(c) or is_overridden(c, self._seen_in)):
                outside[name_of(c)] = f"not reached from {self.origin}"
            elif reason and bounded and (reason == _VENDORED or self._is_root(c)):
                pass  # an export has it although there is a reason against it
            elif reason and (models or reason == _SCRIPTED):
                outside[name_of(c)] = reason
            elif c in unheld:
                outside[name_of(c)] = f"neither a model nor the export at {self.origin} names it, and it has no layers"
        return outside

    def _unbuilt(self, modules: Sequence[ModuleInfo], own: Mapping[ClassInfo, str]) -> dict[ClassInfo, str]:
        """The classes that neither code nor a configuration names where classes are looked up by name."""
        unbuilt = unconfigured(modules, list(own), self._configurations)
        return {c: why for c, why in unbuilt.items() if not self._is_root(c)}

    def _wholes_of_parts(self, own: Mapping[ClassInfo, str]) -> dict[ClassInfo, str]:
        """The classes that assign `self.encoder` where scripts export the `encoder` of something, and nothing else."""
        parts: set[str] = set()
        for info, name, _ in self.roots:
            text = source_of(info, name.partition(".")[0])
            for given in _GIVEN.findall(text):
                base, _, attribute = _AS_IT_IS.sub("", given).partition(".")
                bound = (
                    [given] if attribute else re.findall(rf"^\s*{re.escape(base)} *= *([^\n#]+)", text, re.MULTILINE)
                )
                chains = [_PART_OF.match(value.strip()) for value in bound]
                if base == "self" or not chains or not all(chains):
                    return {}
                parts.update(chain[1] for chain in chains if chain is not None)
        held = {p: re.compile(rf"\bself\.{p} *= ") for p in parts}
        wholes = {c: p for c in own for p, word in held.items() if f"self.{p}" in c.text and word.search(c.text)}
        made = {c: re.compile(rf"self\.(?:{'|'.join(map(re.escape, parts))}) *= *{c.name}\b") for c in wholes}
        inner = {c for c, word in made.items() if any(word.search(other.text) for other in wholes)}
        return {c: f"scripts export its `{p}`" for c, p in wholes.items() if c not in inner}

    def _unheld(self, own: Mapping[ClassInfo, str]) -> set[ClassInfo]:
        """The classes without layers that neither an exporting function nor a model with layers names."""
        if not self.roots or not any(not reason and has_layers(c) for c, reason in own.items()):
            return set()
        unheld = Unheld(self.modules, [source_of(info, name.partition(".")[0]) for info, name, _ in self.roots])
        return {c for c in own if not self._is_root(c) and c in unheld}

    def _by_themselves(self, modules: Sequence[ModuleInfo]) -> dict[ClassInfo, str]:
        """The classes with a forward, each with the reason why none would export it, whatever is; or empty."""
        classes = [c for info in self.modules for c in info.classes.values()]
        own = {c: self._beside(c) for c in Guard([], False).those(classes, _is_traced)}
        models = [c for c, why in own.items() if not why]
        # By what the exports name; and a library of that size is there for its users.
        told = self.roots and (not self.unbounded or len(self.modules) > LIBRARY)
        alone = {} if told else unnamed(self.modules, models, self._configurations, bool(self.roots))
        alone |= unasked(models, self._configurations)
        trained = {c: "only needed for training" for c in own if _IN_TRAINING.search(c.name)}
        theirs = alone | used_only_by(modules, trained | alone, own)
        return {c: reason or theirs.get(c, "") for c, reason in own.items()}

    def callers(self) -> list[str]:
        """The functions that call one that exports, by path and name, but those that say so; the outermost first."""
        names = [name.rpartition(".")[2] for _, name in self.exporting]
        calls = re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\(")
        callers: dict[str, None] = {}
        exporting = {info for info, *_ in self.roots}
        for info, name in reversed(self.exporting[:CALLERS]):
            if info not in exporting and (self.is_test(info, name) or self._in_folder(info, _MEASURING)):
                continue  # what a test or a benchmark passes is not what the project exports
            cls = info.classes.get(name.partition(".")[0])
            units = [*(cls.methods.values() if cls is not None else ()), *filter(None, [info.functions.get(name)])]
            callers |= {
                name_of(unit): None
                for unit in units
                if not may_export(unit.text) and calls.search(unit.text.partition(":")[2])
            }
        return list(callers)

    def is_test(self, info: ModuleInfo, name: str = "") -> bool:
        """True for what stands in a test, by the names of folder, file, function and class."""
        if self._in_folder(info, _TEST_FOLDERS) or re.search(r"(^|\.)test_|(^|\.)Test", name):
            return True
        stem = info.source.path.stem
        return stem.startswith("test_") or stem.endswith("_test") or stem == "conftest"

    def _roots(self, info: ModuleInfo) -> Iterator[tuple[ModuleInfo, str, int]]:
        text = info.source.text
        if "torch" not in text or not may_export(text):
            return
        for unit in info.units:
            line = _export_in(info, unit.node) if may_export(unit.text) else 0
            if line:
                yield info, unit.qualname, line + unit.shift
        if may_export(source_of(info, MODULE_LEVEL)):
            statements = [s for s in info.source.tree.body if not isinstance(s, (ast.FunctionDef, ast.ClassDef))]
            if line := _export_in(info, *statements):
                yield info, MODULE_LEVEL, line

    def _roots_of(self, info: ModuleInfo) -> list[tuple[ModuleInfo, str, int]]:
        """The functions of a file that export; none where it cannot be read."""
        try:
            return list(self._roots(info))
        except (SyntaxError, RecursionError, MemoryError):
            return []

    def _is_offered(self, root: tuple[ModuleInfo, str, int]) -> bool:
        """True for a function that its package offers to export any model, and does not call by itself."""
        info, name, _ = root
        unit = info.functions.get(name)
        level = source_of(info, MODULE_LEVEL) if unit is not None else ""
        if unit is None or not re.search(rf"__all__ *=[^\]]*[\"']{name}[\"']", level):
            return False
        models = "|".join(p.arg for p, default in unit.positional if default is None)
        if not models or not re.search(rf"export\(\s*(?:model *= *)?(?:{models})\b", unit.text):
            return False
        top = info.name.partition(".")[0]
        mates = (other for other, _ in self._callers(info, name) if other.name.partition(".")[0] == top)
        return all(other is info or other.is_package or self.is_test(other) for other in mates)

    def _callers(self, info: ModuleInfo, name: str) -> Iterator[tuple[ModuleInfo, str]]:
        """The definitions that mention a function, or the class of a method; and the other methods of that class."""
        if name == MODULE_LEVEL:
            return
        word = name.partition(".")[0]
        pattern = re.compile(rf"{word}\b(?<!\w{word})")  # begun by its letters, it is found fast
        for other in self.modules:
            bound = self._defines(other, word) or (other.stars and word in other.source.text)
            if bound and self._defined(other, word) == (info, word):
                for mine in (*other.functions, *other.classes):
                    if (other, mine) != (info, word) and "." not in mine and pattern.search(source_of(other, mine)):
                        yield other, mine
                if pattern.search(source_of(other, MODULE_LEVEL)):
                    yield other, MODULE_LEVEL

    def _visit(self, info: ModuleInfo, name: str) -> None:
        name = name.partition(".")[0]
        if (info, name) in self.seen:
            return
        self.seen[info, name] = None
        text = source_of(info, name)
        named = [m for full in _BY_TEXT.findall(text) for m in self._modules_of(full, info)]
        names_none = "import_" not in text and "instantiate(" not in text and "load_entry_point(" not in text
        prefixes = [] if names_none or self._configured is not None else _ANYTHING.findall(_BY_TEXT.sub("", text))
        packages = [self._inside(p, info) for p in prefixes if p.partition(".")[0] not in LIBRARIES]
        if not all(packages) and len(packages) == 1:
            packages = [self._told_by_calls(info, name)]
        for module in chain(named, *packages):
            self._import(module)
            self._open(module)
        if not all(packages) or ("torch.load(" in text and _UNPICKLED.search(text)):
            self.unbounded = True
        if _ANY_IMPORTED.search(text):
            self._open(info)
        words = list(dict.fromkeys(_WORD.findall(text)))
        for word in words:
            self._waiting += self._named(info, word, words, imports=True)
        for statement in _LOCAL_IMPORT.findall(text) if "import" in text else ():
            try:
                parsed = ast.parse(statement).body[0]
            except SyntaxError:
                continue
            assert isinstance(parsed, (ast.Import, ast.ImportFrom))
            for local, target in imported(parsed, info.name, info.is_package):
                self._waiting += self._of_target(info, local, target, words, imports=True)

    def _named(
        self, info: ModuleInfo, word: str, words: Sequence[str], imports: bool = False
    ) -> list[tuple[ModuleInfo, str]]:
        """The definitions that a word of a text stands for in a module; `imports`: its module is run."""
        if word in info.functions or word in info.classes or word in info.outline.values:
            return [(info, word)]
        if word in info.aliases:
            return self._of_target(info, word, info.aliases[word], words, imports)
        return [(o, word) for o in info.origins(word) if self._defines(o, word)] if info.stars else []

    def _defined(self, info: ModuleInfo, word: str) -> tuple[ModuleInfo, str] | None:
        """The function or class that a word stands for in a module, through re-exports."""
        for _ in range(REEXPORTS):
            if word in info.functions or word in info.classes:
                return info, word
            info, word = next(iter(self._named(info, word, ())), (info, ""))
        return None

    def _of_target(
        self, info: ModuleInfo, word: str, full: str, words: Sequence[str], imports: bool
    ) -> list[tuple[ModuleInfo, str]]:
        modules, wanted = self._modules_of(full, info), words
        if not modules:
            holder, _, last = full.rpartition(".")
            modules, wanted = self._modules_of(holder, info) if holder else [], [last]
        for module in modules if imports else ():
            self._import(module)
        return [(module, w) for module in modules for w in wanted if self._defines(module, w)]

    def _modules_of(self, name: str, info: ModuleInfo) -> Sequence[ModuleInfo]:
        """The module of a name; where folders side by side have one each, any of them may be meant, unless one of them
        is the own."""
        module = info.project.module(name, info)
        if module is not None and module.root == info.root:
            return [module]
        return self._twins.get(module.name if module is not None else name) or ([module] if module is not None else [])

    def _inside(self, package: str, info: ModuleInfo) -> list[ModuleInfo]:
        """The modules in a package, of which a module imports one by a name that it makes; of "" none."""
        folder, top = f"/{package.replace('.', '/')}/", str(self.top)  # whatever the folders around that are called
        inside = [m for m in self.modules if package and folder in m.source.path.as_posix().removeprefix(top)]
        return [m for m in inside if m.source.path.is_relative_to(info.root)] or inside

    def _told_by_calls(self, info: ModuleInfo, name: str) -> list[ModuleInfo]:
        """What a function imports by a parameter's text, where each of its calls spells the name of a module out."""
        unit = info.functions.get(name)
        if unit is None or _BY_PARAMETER.search(unit.text) is None:
            return []
        called = re.compile(rf"(?<!def )\b{name}\(([^()]*)\)")
        given = [text for m in self.modules if name in m.source.text for text in called.findall(m.source.text)]
        told = [[m for spelled in _DOTTED.findall(text) for m in self._modules_of(spelled, info)] for text in given]
        return [m for each in told for m in each] if all(told) else []

    def _defines(self, info: ModuleInfo, word: str) -> bool:
        return word in info.functions or word in info.classes or word in info.outline.values or word in info.aliases

    def _named_by_configs(self) -> frozenset[str] | None:
        """The words of the config files that an export names in so many words; None where it takes any config."""
        waiting = [(i, p) for i, name, _ in self.roots for p in _CONFIG.findall(source_of(i, name.partition(".")[0]))]
        words: dict[ModuleInfo, list[str]] = {}
        for info, path in waiting:  # it grows meanwhile
            config = info.project.module(path.removesuffix(".py").replace("/", "."), info)
            if config is None:
                return None
            if config not in words:
                words[config] = _WORD.findall(config.source.text)
                bases = _BASE_CONFIG.findall(config.source.text)
                waiting += [(config, normpath(join(dirname(path), base))) for base in bases]
        return frozenset(word for each in words.values() for word in each) if words else None

    def _import(self, info: ModuleInfo) -> None:
        """A module is imported: with it, what registers itself by a decorator."""
        if (info, "<import>") in self.seen:
            return
        self.seen[info, "<import>"] = None
        for c in info.outline.classes:
            registered = any(not d.startswith(("dataclass", "torch.")) for d in c.decorators) and "." not in c.qualname
            if registered and (self._configured is None or c.qualname in self._configured):
                self._waiting.append((info, c.qualname))
        for target in dict.fromkeys([*info.aliases.values(), *info.stars]):
            parts = target.split(".")
            for cut in range(1, len(parts) + 1):
                name = ".".join(parts[:cut])
                if (name, info.root) not in self._imported:
                    self._imported.add((name, info.root))
                    for module in self._modules_of(name, info):
                        self._import(module)

    def _open(self, info: ModuleInfo) -> None:
        """Any name of a module may be meant, and any that it imports."""
        if info not in self.whole:
            self.whole[info] = None
            functions, classes = info.outline.functions, info.outline.classes
            words = [*(f.name for f in functions), *(c.qualname for c in classes), *info.aliases]
            origins = [o for star in info.stars if (o := info.project.module(star, info)) is not None]
            self._waiting += [d for w in words for d in self._named(info, w, (), imports=True) if "." not in w]
            self._waiting += [(o, c.qualname) for o in origins for c in o.outline.classes]

    def is_seen(self, c: ClassInfo) -> bool:
        """True for a class that an export may come to, as far as names tell."""
        return (c.module, c.qualname.partition(".")[0]) in self.seen

    def _seen_in(self, info: ModuleInfo) -> str:
        """What of a module an export may come to."""
        return "\n".join(source_of(info, name) for _, name in self._by_module.get(info, ()))

    @cached_property
    def _by_module(self) -> Mapping[ModuleInfo, Sequence[tuple[ModuleInfo, str]]]:
        return grouped(self.seen, lambda definition: definition[0])

    def _is_root(self, c: ClassInfo) -> bool:
        """True for a class that exports itself, or that a function which exports names."""
        return (c.module, c.qualname) in self.exporting or c.name in self._in_roots

    @cached_property
    def _in_roots(self) -> frozenset[str]:
        texts = (source_of(info, name.partition(".")[0]) for info, name, _ in self.roots)
        return frozenset(word for text in texts for word in _WORD.findall(text))

    def _beside(self, c: ClassInfo) -> str:
        """Why a class is no model to export although it is a module; empty for any other."""
        if place := self._by_place(c):
            return place
        if _TRAINED_AGAINST.search(c.name):
            return "a discriminator, which only training needs"
        if dead := _runs_nowhere(c):
            return dead
        if maker := self._made_for_another_format(c):
            return f"built for another format than ONNX alone, by `{maker}`"
        if twin := self._written_for_exports(c):
            return f"`{twin}` is there for exports"
        names = [c.name, *(b.name for b in c.mro()[1:])]
        if any(map(_SEARCHES.search, names)) and not names_layers(_HELD.sub("", code_of(c.text))):
            return "it searches with a model, run by run, and has no layers"
        if has_layers(c) and (_LEARNED.search(c.text) or not any(_PREPARES.search(n) for n in names)):
            return ""
        if _COLLECTIVE.search(c.text):
            return "it exchanges tensors with other processes, and has no layers"
        if gives_a_dict_each(c):
            return "it makes a dict for each element of the batch, and has no layers"
        if ("Frontend" in c.name or "Featurizer" in c.name) and _FEATURES.search(c.text):
            return "it makes features of recordings, before the model that is exported"
        folder = any(_FOR_DATA.fullmatch(part) for part in self._parts(c.module))
        return "it prepares or measures data" if folder or any(_PREPARES.search(n) for n in names) else ""

    def _by_place(self, c: ClassInfo) -> str:
        """Why a class is no model to export by the folder it is defined in; empty for any other."""
        if self.is_test(c.module, c.qualname):
            return "defined in a test"
        if self._in_folder(c.module, _DEMO_FOLDERS):
            return "defined in a demo"
        if self._is_for_training(c.module) and self._has_models_elsewhere and not self._is_put_to_use(c):
            return "in a folder of what trains or measures models, and named nowhere else"
        below = self._parts(c.module)[1 + (self._parts(c.module)[0] == "src") : -1]
        copied = any(self._parts(c.module)[: len(copy)] == copy for copy in self._copies)
        if copied or self._in_folder(c.module, _VENDORED_FOLDERS) or not _COPIED.isdisjoint(below):
            return _VENDORED
        return ""

    def _written_for_exports(self, c: ClassInfo) -> str:
        """The class `NameExport` that the project has beside one that is called `Name`; empty where there is none."""
        twins = self._classes.get(f"{c.name}Export", ()) or self._classes.get(f"{c.name}ForExport", ())
        return next((t.name for t in twins if t.find_method("forward") is not None), "")

    def _made_for_another_format(self, c: ClassInfo) -> str:
        """The function such as `as_jit` that names a class where nothing else does; empty where there is none."""
        name = whole_word(c.name)
        makers = [u for u in self.other_formats if c.name in u.text and re.search(name, u.text)]
        if not makers:
            return ""
        word = re.compile(name)
        counts = [len(word.findall(_IMPORTS.sub("", m.source.text))) for m in self.modules if c.name in m.source.text]
        own = len(word.findall(c.text)) + sum(len(word.findall(u.text)) for u in makers)
        return makers[0].qualname if sum(counts) == own else ""

    @cached_property
    def _copies(self) -> frozenset[Sequence[str]]:
        """The folders below the top that hold the repository of such a library: its package, and its `setup.py`."""
        paths = [self._parts(info) for info in self.modules]
        libraries = {path[:i] for path in paths for i, name in enumerate(path[:-1]) if i and name in _COPIED}
        return frozenset(path[:-1] for path in paths if path[-1] == "setup" and path[:-1] in libraries)

    @cached_property
    def _has_models_elsewhere(self) -> bool:
        """True where there are models in other folders than those of trainings."""
        return any(_is_traced(c) for i in self.modules if not self._is_for_training(i) for c in i.classes.values())

    def _is_put_to_use(self, c: ClassInfo) -> bool:
        """True where another folder than those of trainings, or a script that infers, names a class."""
        named = (i for i in c.module.project.naming(c.name) if i.lookup(c.name) is c or f".{c.name}" in i.source.text)
        return any(not self._is_for_training(i) or self._parts(i)[-1].startswith((*_INFERRING,)) for i in named)

    def _is_for_training(self, info: ModuleInfo) -> bool:
        return any(part.lower() in _TRAINING_FOLDERS for part in self._parts(info))

    def _in_folder(self, info: ModuleInfo, names: Sequence[str]) -> bool:
        return any(part.lower() in names for part in self._parts(info)[:-1])

    def _parts(self, info: ModuleInfo) -> Sequence[str]:
        if info not in self._inner:
            path = info.source.path
            inner: PurePath = path.relative_to(self.top) if self.top is not None else path
            self._inner[info] = inner.with_suffix("").parts
        return self._inner[info]


def _runs_nowhere(c: ClassInfo) -> str:
    """Why the forward of a class is part of no export, by its own text."""
    forward, text = c.find_method("forward"), c.text
    if forward is not None and "return" not in forward.text and not _fills_its_input(forward):
        return "its forward returns nothing"
    if forward is not None and forward.cls is c and is_overridden(c):
        return "nothing builds it, and each class derived from it has another forward"
    if ("data[" in text or ".local_scope(" in text) and _OF_A_GRAPH.search(text):
        return "it reads a graph object, which no exporter takes"
    if "jit.script(" in text and not has_layers(c) and _SCRIPTS_ITSELF.search(text) and "onnx" not in text.lower():
        return _SCRIPTED
    return ""


def _exports_parts(c: ClassInfo) -> str:
    """Why a class is not exported that has a method which exports modules that it holds; empty where it may be."""
    methods = [u for u in c.methods.values() if may_export(u.text) and _GIVEN.search(u.text)]
    parts = all(given.startswith("self.") for u in methods for given in _GIVEN.findall(u.text))
    return f"`{methods[0].name}` exports its parts one by one" if methods and parts else ""


def _fills_its_input(forward: FunctionUnit) -> bool:
    """True for a forward that puts its results into a dict that it is given."""
    names = "|".join(p.arg for p, _ in forward.positional[1:])
    filling = rf"^[ \t]+(?:{names})(?:\.update\(|\[[^\[\]]+\] *=(?!=))"
    return names != "" and re.search(filling, forward.text, re.MULTILINE) is not None


def with_reach(
    parts: Sequence[Part], modules: Sequence[ModuleInfo], configurations: Configurations | None = None
) -> list[Part]:
    """Parts of modules that know which of their definitions no export comes to."""
    configurations = configurations or Configurations(None)
    reach = Reach(modules, configurations=configurations)
    outside, callers, reached = reach.outside(), reach.callers(), []
    scripts = (source_of(info, name.partition(".")[0]) for info, name in reach.exporting)
    called = methods_called(scripts, [source_of(info, name.partition(".")[0]) for info, name, _ in reach.roots])
    set_length, flags = of_set_length(modules), keys_of_flags(modules)
    inferring = tuple(n for n in _INFERRING if any(f".{n}(" in info.source.text for info in modules))
    settings = configurations.settings if len(parts) == 1 else {}
    for part in parts:
        paths = tuple(f"{info.source.path}:" for info in part.modules)
        own = {name: why for name, why in outside.items() if name.startswith(paths)}
        mine = tuple(name for name in callers if name.startswith(paths))
        common = replace(part, called=called, set_length=set_length, inferring=inferring)
        common = replace(common, flags=flags, settings=settings)
        reached.append(replace(common, outside=own, callers=mine))
    if len(parts) == 1 and reach.roots and not reach.offered:
        exports = tuple(f"{info.source.path}:{name}" for info, name, _ in reach.roots)
        texts = (info.source.text for info in modules if not reach.is_test(info))
        whole = any("torch.load(" in text and _WHOLE.search(text) for text in texts)
        classes = (c for info in modules for c in info.classes.values())
        configured = frozenset(name_of(c) for c in classes if whole or c.name in configurations.of_yaml)
        return [replace(reached[0], exports=exports, origin=reach.origin, configured=configured)]
    return reached


def _is_traced(c: ClassInfo) -> bool:
    """True for a class with a forward: a module, or a function with a gradient of its own."""
    autograd = any(b.startswith("torch.autograd.") for b in c.external_bases())
    return c.find_method("forward") is not None and (c.is_module() or autograd)


def _export_in(info: ModuleInfo, *nodes: ast.AST) -> int:
    """The line of the first call in some nodes that exports to ONNX; 0 where there is none."""
    imports = (s for node in nodes for s in ast.walk(node) if isinstance(s, (ast.Import, ast.ImportFrom)))
    local = dict(pair for s in imports for pair in imported(s, info.name, info.is_package))
    for node in nodes:
        for call in ast.walk(node):
            if isinstance(call, ast.Call) and isinstance(call.func, (ast.Name, ast.Attribute)):
                head, dot, rest = dotted(call.func).partition(".")
                full = (local.get(head) or info.aliases.get(head, head)) + dot + rest
                own = info.project.module(full.rpartition(".")[0], info) is not None or full in info.functions
                if _EXPORTING.fullmatch(full) or (_WRAPPING.fullmatch(full) and not own):
                    return call.lineno
    return 0
