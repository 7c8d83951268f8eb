"""What of a project is never exported: losses, training wrappers, transforms of images, runners of exports."""

import re
from collections.abc import Sequence
from functools import lru_cache

from onnxlint.base.edits import whole_word
from onnxlint.base.records import grouped
from onnxlint.flow.exports.unheld import blocks_around, code_of, has_layers
from onnxlint.flow.state.protocols import Defining
from onnxlint.flow.values.domain import Function, Instance, Layer, Tensor
from onnxlint.project.classes import ClassInfo, FunctionUnit

_RETURN = re.compile(r"\n[ \t]+return\b[ \t]*(?=(?P<value>.*(?:\n.*){,9}))")
_LOSS = re.compile(
    r"[({\s]*(?:['\"]loss['\"]\s*:|(?:[\w.]+\()*(?:\w+\.)*(?:\w*(?:[lL]oss|[lL]osses|cross_entropy)|loss_\w+)\b(?!\s*=)"
    r"|\w+\(\s*loss\s*=\s*[\w.]++\s*+,?\s*+\)(?=[ \t]*(?:\n|$)))"
)
# A loss among statistics of the training: `{"accuracy": ..., "loss": loss}`, but no outputs.
_LOSS_IN = re.compile(r"\{(?![^{}]*['\"](?:logits|pred\w*|outputs?|\w*scores?|hidden\w*)['\"])[^{}]*['\"]loss['\"]\s*:")
_GIVES_TEXT = re.compile(r"\)\s*->\s*(?:[lL]ist\[)?str\b|^[ \t]+return f?['\"]", re.MULTILINE)
_gives_text = lru_cache(64)(_GIVES_TEXT.search)  # most classes have the methods of few bases
_LOSS_LAST = re.compile(r"^[ \t]+return \w[^\n]*, *\w*loss\w*$", re.MULTILINE)  # beside what it is for
names_a_loss = lru_cache(4096)(re.compile(r"(?:^|[_.])loss(?:es)?(?:_|$|\.)|Loss(?:es)?(?:$|\.|[A-Z])").search)
_IN_A_LOSS = re.compile(r"(?:Criterion|CrossEntropy|Matcher|Assigner|PSNR|SSIM)(?:[vV]?\d+)?$")  # or a metric
_GIVES_TARGETS = re.compile(r"return \{[^{}]*['\"](?:target|label)s?['\"]: *(targets?|labels?)\b")
_KEEPS_TARGETS = re.compile(r"return \w+\((?:[^()]|\([^()]*\))*\b\w+_(target|label)s=")  # in a record
# Annotations of a data set, and labels whose scores are moved; what either has in it.
_OF_TRUTH = re.compile(r"_gt['\"]|['\"]gt_|1, *labels?\b|labels?\] *=")
_TRUTH = re.compile(r"\b(\w+)\[['\"](?:\w+_gt|gt_\w+)['\"]\]|scatter_?\( *1, *(labels?)\b|\[\w+, *(labels?)\] *=(?!=)")
_TARGET = re.compile(r"(?:y|spec|mel|target|label|wave?|audio)s?(?:_lengths?)?")
# By what is before it: a ray has a direction, which is a `dir` too, and a network has paths.
_FILE = re.compile(r"filenames?|(?:audio|data|file|ima?ge?|in|input|log|output|save|video|wav)_(?:path|dir|folder)s?")
_OF_FILE = "filename", "_path", "_dir", "_folder"  # seen fast: no tree is made for most
_CALLS_FORWARD = re.compile(r"\bself(?:\.forward)?\(([^()]*)")
_UNPACKED = re.compile(r"^[ \t]+\(?((?:\w+,[ \\\n]*)+\w+)\)? = (\w+)$", re.MULTILINE)
_FLAG = re.compile(r"=\s*(?:True|False)\b")
_WAVES = re.compile(r"[kK]aldi\.(?:fbank|mfcc|spectrogram)\(|librosa\.(?!filters)\w+")
_RUNTIMES = "TensorRT|OpenVINO|CoreML|ONNX Runtime|onnxruntime|TFLite|TensorFlow|TorchScript|Paddle|ncnn".split("|")


def never_exported(engine: Defining, classes: Sequence[ClassInfo]) -> frozenset[ClassInfo]:
    """Those of the modules with a forward that no export meets, and what only these use, weightless or for a loss."""
    apart = {c for c in classes if _beside_the_model(engine, c)}
    by_file = grouped(apart, lambda c: c.module.path)
    for c in classes:
        mates = by_file.get(c.module.path, [])
        if c not in apart and any(c.name in m.text for m in mates):
            word = re.compile(whole_word(c.name))
            theirs = sum(len(word.findall(m.text)) for m in mates)
            alone = theirs and len(word.findall(c.module.source.text)) == len(word.findall(c.text)) + theirs
            unit = c.find_method("forward")
            if alone and (not _has_weights(engine, c) or (unit is not None and _LOSS_LAST.search(unit.text))):
                apart.add(c)
    return frozenset(apart)


def gives_a_dict_each(c: ClassInfo) -> bool:
    """True for a forward whose one loop makes a list of dicts, and that gives these back and nothing else."""
    forward = c.find_method("forward")
    text = code_of(forward.text) if forward is not None and "{" in forward.text else ""
    made = re.search(r"^[ \t]+(\w+) = \[\{[^{}]*\} for [^\0]*^[ \t]+return \1$", text, re.MULTILINE)
    return made is not None and text.count("return") == len(re.findall(r"\bfor\b", text)) == 1


def replaced(engine: Defining, forward: FunctionUnit) -> bool:
    """True for the forward of a class whose decorator, a function of the project, gives it another one by settings."""
    cls = forward.cls
    if cls is None or forward.name != "forward" or not any(cls.decorators):
        return False
    decorators = (engine.global_value(cls.module, name) for name in cls.decorators if name.isidentifier())
    return any(isinstance(v, Function) and ".forward =" in v.unit.text for v in decorators)


def inference_of(cls: ClassInfo, names: Sequence[str]) -> FunctionUnit | None:
    """The method of one of some names that asks for less than forward does: without the targets of training. One that
    another method calls is a part of it."""
    forward = cls.find_method("forward")
    units = [u for u in map(cls.find_method, names) if u is not None and not _gives_text(u.text)]
    if forward is None or not units:
        return None
    asked = _asked_for(forward)
    sparing = (u for u in units if _spares_targets(_asked_for(u), asked) and not _feeds_forward(u, asked))
    # That is rare, and going through the texts of all methods takes its time.
    return next((u for u in sparing if not any(f"self.{u.name}(" in c.text for c in cls.mro())), None)


def _spares_targets(own: set[str], forward: set[str]) -> bool:
    """True where a method asks for a part of what forward does, or for fewer, some by other names, and no target."""
    spared = any(map(_TARGET.fullmatch, forward - own)) and not any(map(_TARGET.fullmatch, own - forward))
    return set() < own < forward or (spared and len(own) < len(forward) and len(own & forward) * 2 >= len(own) > 1)


def _feeds_forward(unit: FunctionUnit, asked: set[str]) -> bool:
    """True where a method makes up what forward asks for besides, no target, and calls it: what ships is forward."""
    made = asked - _asked_for(unit)
    calls = _CALLS_FORWARD.findall(unit.text) if not any(map(_TARGET.fullmatch, made)) else []
    return any(made.intersection(re.findall(r"\w+", given)) for given in calls)


def _asked_for(unit: FunctionUnit) -> set[str]:
    """The parameters that a method asks for, or is trained by, and what it unpacks: `texts, lengths, mels = batch`."""
    names = {p.arg for p, default in unit.positional[1:] if default is None or p.arg in ("targets", "labels")}
    text = unit.text
    batches = _UNPACKED.findall(text) if any(f" = {name}\n" in text for name in names) else []
    return names.union(*(re.findall(r"\w+", parts) for parts, batch in batches if batch in names))


def _beside_the_model(engine: Defining, cls: ClassInfo) -> bool:
    """True for a loss, a wrapper for training or scoring, a runner of exports, a transform of images or files alone."""
    if "Loss" in cls.name or _IN_A_LOSS.search(cls.name) or any(".loss." in b for b in cls.external_bases()):
        return True
    unit = cls.find_method("forward")
    if unit is not None and (
        (any(word in unit.text for word in _OF_FILE) and any(_FILE.fullmatch(p.arg) for p, _ in unit.positional))
        or _gives_a_loss(engine, cls, unit)
        or _runs_exports(unit)
        or _gives_targets(unit)
        or _needs_truth(unit)
    ):
        return True
    if ("librosa" in (text := cls.text) or "aldi." in text) and _WAVES.search(text) and not has_layers(cls):
        return True  # it makes features of recordings, before the model that is exported
    beside = any(a.startswith(("torchvision.transforms", "PIL", "sklearn")) for a in cls.module.aliases.values())
    return beside and not _has_weights(engine, cls)


def _has_weights(engine: Defining, cls: ClassInfo) -> bool:
    if cls.extends_library_model() or has_layers(cls):
        return True
    held = engine.sketch(cls).attrs.values()
    return any(isinstance(v, (Layer, Tensor)) or (isinstance(v, Instance) and v.object.cls.is_module()) for v in held)


def _gives_a_loss(engine: Defining, cls: ClassInfo, forward: FunctionUnit, depth: int = 0) -> bool:
    """True where every return of a forward gives a loss, first or alone, unless a flag that is off asks for more."""
    text = forward.text
    if "return" not in text:
        return False
    losses = 0
    for match in _RETURN.finditer(text):
        value = match["value"]
        by_name = _LOSS.match(value) or _LOSS_IN.match(value) or _is_filled_with_losses(text, value)
        if by_name or (depth < 2 and _calls_a_loss(engine, cls, value, depth)):
            losses += 1
        elif not _asked_by_a_flag(text, match.end()):
            return False
    return losses > 0


def _is_filled_with_losses(text: str, value: str) -> bool:
    """True for a variable whose items a forward assigns one by one, each a loss: `out["kl_loss"] = ...`."""
    name = re.match(r"(\w+)[ \t]*(?:#|$)", value, re.MULTILINE) if "oss" in text else None
    made = re.search(rf"^[ \t]+{name[1]} = (?=\{{)", text, re.MULTILINE) if name is not None else None
    if made is not None and _LOSS_IN.match(text, made.end()) is not None:
        return True
    keys = re.findall(rf"^[ \t]+{name[1]}\[['\"](\w+)['\"]\] *=(?!=)", text, re.MULTILINE) if name is not None else []
    return bool(keys) and all(map(names_a_loss, keys))


def _calls_a_loss(engine: Defining, cls: ClassInfo, value: str, depth: int) -> bool:
    """True for `self.name(...)`, weighted or summed up, where that is a method, or a module, that gives a loss."""
    call = re.match(r"(?:sum\(\[?)?(?:\w+ \* )?self\.(\w+)\(", value)
    if call is None:
        return False
    method = cls.find_method(call[1])
    if method is not None:
        return _gives_a_loss(engine, cls, method, depth + 1)
    made = {maker.startswith("nn.") for maker in re.findall(rf"self\.{call[1]} = ([\w.]+)\(", cls.text)}
    if made == {True}:
        return False  # a layer of torch, and nothing is built to see that
    inner = engine.sketch(cls).attrs.get(call[1])
    unit = inner.object.cls.find_method("forward") if isinstance(inner, Instance) else None
    return isinstance(inner, Instance) and unit is not None and _gives_a_loss(engine, inner.object.cls, unit, depth + 1)


def _gives_targets(forward: FunctionUnit) -> bool:
    """True for a forward that asks for targets, and gives them back beside its predictions, to be compared."""
    text = forward.text
    asks = "target" in text or "label" in text
    returned = _GIVES_TARGETS.findall(text) + _KEEPS_TARGETS.findall(text) if asks else []
    # Mostly none, and no tree is made then.
    return bool(returned) and any(p.arg in returned and default is None for p, default in forward.positional)


def _needs_truth(forward: FunctionUnit) -> bool:
    """True for a forward that reads annotations out of its input in any case, or moves the scores of the given labels.
    Who generates by a label looks that up in an embedding."""
    text = forward.text
    if not ("label" in text or "gt_" in text or "_gt" in text) or _OF_TRUTH.search(text) is None:
        return False
    asked = {p.arg for p, default in forward.positional if default is None}
    truths = (m for m in _TRUTH.finditer(text) if (m[1] or m[2] or m[3]) in asked)
    return any(m[1] is None or len([*blocks_around(text, m.start())]) == 1 for m in truths)


def _asked_by_a_flag(text: str, at: int) -> bool:
    """True for a return in an `if` on a parameter that is off by default (or `not` one that is on)."""
    if _FLAG.search(text) is None:
        return False
    tests = filter(None, (re.match(r"\s*if (not )?(\w+)\s*:", line) for line in blocks_around(text, at)))
    defaults = (rf"{whole_word(t[2])}\s*(?::[^=,\n]{{1,1000}}+)?=\s*{bool(t[1])}\b" for t in tests)
    return any(re.search(default, text) for default in defaults)


def _runs_exports(forward: FunctionUnit) -> bool:
    """True for the forward of a class that hands its input to one of many runtimes."""
    owner = forward.cls
    text = owner.text if owner is not None and "self.backend" in forward.text else forward.text
    return sum(name in text for name in _RUNTIMES) >= 5
