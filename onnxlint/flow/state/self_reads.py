"""Which attributes of `self` a method and a class read, by their text, and where first."""

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from onnxlint.project.classes import ClassInfo, FunctionUnit

_READ = re.compile(r"self\.(\w++)(?![^\S\n]*=(?!=))")
_READ_OR_DECLARED = re.compile(r"self\.(\w++)(?!\s*(?:=(?!=)|:))")
_MENTIONED = re.compile(r"self\.(\w++)")
_WRITTEN = re.compile(r"self\.(\w++)[^\S\n]*(?:=(?!=)|:[^\n=]*=)")
_USED = re.compile(r"self\.(\w++)(?!(?:\[['\"]\w+.\])? *(?:[-+*/|&]|//)?=(?!=)|\.(?:append|extend|add|update)\()")
_COUNTING = re.compile(r"self\.(\w++) *=(?!=) *(?:[\w.]+ *[-+*/]+ *)?self\.\1\b")  # `self.n = self.n + 1`
# The targets of `self.a, self.b = …`.
_TARGETS = re.compile(r"^[^\S\n]*\(?(?:[\w.]+[^\S\n]*,[^\S\n]*)+[\w.]*\)?[^\S\n]*=(?!=)", re.MULTILINE)
_SETTING_UP = ("__init__", "reset", "reset_parameters", "extra_repr")


@dataclass(slots=True, eq=False)
class Attributes:
    """What is read of `self`, looked up once for each method and class."""

    _of_method: dict[Hashable, dict[str, int]] = field(default_factory=dict)
    _of_class: dict[ClassInfo, frozenset[str]] = field(default_factory=dict)
    _by_forward: dict[ClassInfo, list[str]] = field(default_factory=dict)
    _written: dict[ClassInfo, frozenset[str]] = field(default_factory=dict)

    def first_read(self, unit: FunctionUnit, name: str) -> int | None:
        """The first line of a method that reads an attribute; None where none does."""
        lines = self._of_method.get(unit.key)
        if lines is None:
            lines = self._of_method[unit.key] = {}
            for number, text in enumerate(unit.text.split("\n"), unit.line):
                for attribute in _READ.findall(_TARGETS.sub("", text)):
                    lines.setdefault(attribute, number)
        return lines.get(name)

    def read_elsewhere(self, cls: ClassInfo, name: str) -> bool:
        """True when a method that does not set the object up reads the attribute, here or in a base."""
        return any(name in self._reads_of(c) for c in cls.mro())

    def read_by_forward(self, cls: ClassInfo, name: str, running: FunctionUnit | None) -> bool:
        """True where what runs, forward or a method that it mentions does more than count the attribute up or fill it;
        or where there is no forward."""
        texts = self._of_forward(cls)
        own = [running.text] if running is not None else []
        return not texts or any(name in _USED.findall(_COUNTING.sub("", text)) for text in (*texts, *own))

    def read_on_the_way(self, way: Sequence[tuple[FunctionUnit, int]], cls: ClassInfo, name: str) -> bool:
        """True where a function reads the attribute down to its line, or calls a method of the class there that may.

        `way` is who called whom, each with the line that it has come to; in the last one that line counts as well.
        """
        readers = self._readers(cls, name) - {unit.qualname.rpartition(".")[2] for unit, _ in way}
        for unit, line in way:
            above = "\n".join(unit.text.split("\n")[: line - unit.line + 1])
            if not readers.isdisjoint(_MENTIONED.findall(above)):
                return True
            first = self.first_read(unit, name)
            if first is not None and first <= line:
                return True
        return False

    def mentioned_in(self, cls: ClassInfo, name: str) -> set[str]:
        """The methods that mention the attribute, but for those that set the object up."""
        texts = {method: unit.text for c in reversed(cls.mro()) for method, unit in c.methods.items()}
        return {m for m, text in texts.items() if name in _MENTIONED.findall(text) and m not in _SETTING_UP}

    def reset(self, cls: ClassInfo, name: str) -> bool:
        """True where the attribute is set in more places than one, after the constructor."""
        texts = (unit.text for c in cls.mro() for method, unit in c.methods.items() if method != "__init__")
        return sum(_WRITTEN.findall(text).count(name) for text in texts) > 1

    def written_by_forward(self, cls: ClassInfo) -> frozenset[str]:
        """The attributes that forward assigns, or a method that it mentions, or one that such a method mentions."""
        if cls not in self._written:
            self._written[cls] = frozenset(n for text in self._of_forward(cls) for n in _WRITTEN.findall(text))
        return self._written[cls]

    def _of_forward(self, cls: ClassInfo) -> Sequence[str]:
        """The texts of forward, of the methods that it mentions, and of those that these mention."""
        texts = self._by_forward.get(cls)
        if texts is None:
            methods = {name: unit for c in reversed(cls.mro()) for name, unit in c.methods.items()}
            names, texts = ["forward"], self._by_forward.setdefault(cls, [])
            while names:
                unit = methods.pop(names.pop(), None)
                if unit is not None:
                    texts.append(unit.text)
                    names += _MENTIONED.findall(unit.text)
        return texts

    def _readers(self, cls: ClassInfo, name: str) -> set[str]:
        """The methods in which the attribute is read, and those that mention one of these."""
        named = {method: set(_MENTIONED.findall(unit.text)) for c in cls.mro() for method, unit in c.methods.items()}
        readers = {method for method, names in named.items() if name in names}
        while more := {m for m, names in named.items() if m not in readers and not names.isdisjoint(readers)}:
            readers |= more
        return readers

    def _reads_of(self, cls: ClassInfo) -> frozenset[str]:
        reads_of_class = self._of_class.get(cls)
        if reads_of_class is None:
            texts = (unit.text for method, unit in cls.methods.items() if method not in _SETTING_UP)
            reads = (_READ_OR_DECLARED.findall(_TARGETS.sub("", text)) for text in texts)
            reads_of_class = self._of_class[cls] = frozenset(name for names in reads for name in names)
        return reads_of_class
