"""Typed values out of a configuration file: every mistake is noted at its line, and reading goes on."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from onnxlint.base.probe_records import TensorSpec
from onnxlint.base.records import ONNX_RUNTIME, OPENVINO, Diagnostic
from onnxlint.base.specs import SpecError, parse_spec
from onnxlint.config.toml_positions import Key

T = TypeVar("T")

MOST = 100  # mistakes of a file that are told; to find the nearest spelling takes time
_LONGEST = 100  # characters of a word that may mean another
_TOLD = 1000  # of a mistake
FAIL_ON = ("confirmed", "suspected")
_UNITS = {"b": 1, "": 1}
for _power, _letter in enumerate("kmgt", 1):
    _UNITS |= {_letter: 1024**_power, f"{_letter}ib": 1024**_power, f"{_letter}b": 1000**_power}


def nearest(word: str, options: Iterable[str]) -> str | None:
    """Return the known spelling that is closest to `word`, or None if none is close."""
    if len(word) > _LONGEST:
        return None
    spellings = {name.lower(): name for name in options}
    close = difflib.get_close_matches(word.lower().replace("_", "-"), spellings, 1, 0.6)
    close = close or difflib.get_close_matches(word.lower(), spellings, 1, 0.6)
    return spellings[close[0]] if close else None


def did_you_mean(word: str, valid: Iterable[str]) -> str:
    """Return the end of a message about an unknown word: the nearest valid spelling, or all of them."""
    options = list(valid)
    close = nearest(word, options)
    return f"; did you mean `{close}`?" if close else f"; valid: {', '.join(options)}"


class TooManyError(Exception):
    """A file has so many mistakes that the rest of it is not looked at."""


@dataclass(slots=True)
class Problems:
    """The mistakes of one configuration file, with `prefix` the path of onnxlint's own table in it."""

    path: str
    lines: Mapping[Key, int] = field(default_factory=dict)
    prefix: Key = ()
    diagnostics: list[Diagnostic] = field(default_factory=list)

    def line(self, at: Key) -> int | None:
        """Return the line of `at`, or of the nearest table around it that is written out."""
        key = (*self.prefix, *at)
        while key and key not in self.lines:
            key = key[:-1]
        return self.lines.get(key)

    def add(self, message: str, at: Key = (), line: int | None = None) -> None:
        """Note one mistake at the key `at`, or at a line of a file that could not be read. Raises TooManyError."""
        if len(self.diagnostics) == MOST:
            more = "there are more mistakes; mend these first: what follows is not used"
            self.diagnostics.append(Diagnostic("error", more, self.path))
        if len(self.diagnostics) > MOST:
            raise TooManyError
        name = ".".join(str(part) for part in at if isinstance(part, str))
        text = f"{name}: {message}" if name else message
        text = text if len(text) <= _TOLD else f"{text[: _TOLD // 2]} … {text[-_TOLD // 2 :]}"
        self.diagnostics.append(Diagnostic("error", text, self.path, line or self.line(at)))


@dataclass(frozen=True, slots=True)
class Node:
    """A value of the configuration and where it stands."""

    value: Any
    at: Key
    problems: Problems

    def fail(self, message: str) -> None:
        """Note a mistake at this value."""
        self.problems.add(message, self.at)

    def expected(self, what: str) -> None:
        """Note that this value is not what it should be."""
        self.fail(f"{what} is expected, not {_shown(self.value)}")

    def items(self) -> Iterator[tuple[str, Node]]:
        """Yield the entries of a table; a value that is no table is a mistake."""
        if not isinstance(self.value, dict):
            self.expected("a table")
            return
        for key, value in self.value.items():
            yield key, Node(value, (*self.at, key), self.problems)

    def elements(self, what: str = "a list") -> Iterator[Node]:
        """Yield the elements of a list; a value that is no list is a mistake."""
        if not isinstance(self.value, list):
            self.expected(what)
            return
        for index, value in enumerate(self.value):
            yield Node(value, (*self.at, index), self.problems)


Converter = Callable[[Node], T | None]


def read_table(node: Node, converters: Mapping[str, Converter[Any]]) -> dict[str, Any]:
    """Read the keys that `converters` names; unknown keys and refused values are noted and left out."""
    read: dict[str, Any] = {}
    for key, child in node.items():
        try:
            if key not in converters:
                node.problems.add(f"unknown key{did_you_mean(key, converters)}", child.at)
                continue
            value = converters[key](child)
        except TooManyError:
            break
        if value is not None:
            read[key.replace("-", "_")] = value
    return read


def reader(what: str, fits: Callable[[Any], bool], make: Callable[[Any], T] = lambda value: value) -> Converter[T]:
    """Make a reader of the values that fit; of any other it says that `what` is expected."""

    def read(node: Node) -> T | None:
        if fits(node.value):
            return make(node.value)
        node.expected(what)
        return None

    return read


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_interval(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_number, value)) and bool(value[0] <= value[1])


def whole_number(least: int) -> Converter[int]:
    """Make a reader of whole numbers from `least`."""
    return reader(f"a whole number from {least}", lambda value: type(value) is int and value >= least)


text: Converter[str] = reader("a string", lambda value: _is_text(value) and value != "")
truth: Converter[bool] = reader("`true` or `false`", lambda value: isinstance(value, bool))
seconds = reader("a positive number of seconds", lambda value: _is_number(value) and value > 0, float)
allowance = reader("a number from 0", lambda value: _is_number(value) and value >= 0, float)  # a tolerance
_ENDS = "the least and the greatest value, such as `[0, 1]`,"
interval = reader(_ENDS, _is_interval, lambda value: (float(value[0]), float(value[1])))


def list_of(what: str, one: Converter[T], empty: str = "") -> Converter[tuple[T, ...]]:
    """Make a reader of a list; what `one` refuses is left out of it. `empty` says what is wrong with an empty one."""

    def read(node: Node) -> tuple[T, ...] | None:
        values = tuple(value for child in node.elements(f"a list of {what}") if (value := one(child)) is not None)
        if empty and node.value == []:
            node.fail(empty)
        return values if values or (isinstance(node.value, list) and not empty) else None

    return read


texts = list_of("strings", text)
sizes = list_of("sizes", whole_number(1), "the list of sizes is empty")  # to try for a dim


def parsed(parse: Callable[[str], T], text: Converter[str] = text) -> Converter[T]:
    """Make a reader of the strings that a function can read, which raises ValueError for others."""

    def read(node: Node) -> T | None:
        value = text(node)
        try:
            return None if value is None else parse(value)
        except ValueError as error:
            node.fail(str(error))
            return None

    return read


def parse_release(value: str) -> str:
    """Read a version such as `2.14` or `2.14.1+cpu`. Raises ValueError."""
    if re.fullmatch(r"[0-9]{1,4}\.[0-9]{1,4}(\.[0-9]{1,4})?(\+[a-z0-9.]{1,40})?", value) is None:
        raise ValueError(f"a version such as `2.14` is expected, not `{value[:80]}`")
    return value


release = parsed(parse_release)


def parse_memory(value: str) -> int:
    """Read `4GiB`, `512MB` or a count of bytes. Raises ValueError."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", value, re.IGNORECASE)
    if match is None or match.group(2).lower() not in _UNITS:
        raise ValueError(f"a size such as `4GiB` or a number of bytes is expected, not `{value}`")
    size = float(match.group(1)) * _UNITS[match.group(2).lower()]
    if size < 1 or size >= 1 << 63:
        raise ValueError("a size above 0 is expected" if size < 1 else "this is more memory than there is")
    return int(size)


def memory(node: Node) -> int | None:
    """Read an amount of memory in bytes."""
    if type(node.value) is int and node.value > 0:
        return node.value
    return parsed(parse_memory, reader("a size such as `4GiB` or a number of bytes", _is_text))(node)


def one_of(*options: str) -> Converter[str]:
    """Make a reader of one of the given words."""

    def parse(value: str) -> str:
        if value not in options:
            raise ValueError(f"`{value}` is unknown{did_you_mean(value, options)}")
        return value

    return parsed(parse, reader(f"one of {', '.join(options)}", _is_text))


def words_of(what: str, one: Converter[str], valid: str) -> Converter[tuple[str, ...]]:
    """Make a reader of a list of words, each read by `one`, that is not empty."""

    several = list_of(what, one, f"the list is empty; valid: {valid}")
    return lambda node: tuple(dict.fromkeys(several(node) or ())) or None


def some_of(*options: str) -> Converter[tuple[str, ...]]:
    """Make a reader of a list of the given words that is not empty."""
    return words_of(", ".join(options), one_of(*options), ", ".join(options))


# The execution providers that onnxruntime is built with; which of them there are, the installed one knows.
_BUILT = "CUDA Tensorrt ROCM MIGraphX Dml CoreML OpenVINO Dnnl QNN XNNPACK CANN".split()
_PROVIDERS = tuple(f"{name}ExecutionProvider" for name in _BUILT)
_RUNTIMES = f"{ONNX_RUNTIME}, {OPENVINO}, or an execution provider of ONNX Runtime such as {_PROVIDERS[0]}"


def parse_runtime(name: str) -> str:
    """Read one name. Raises ValueError."""
    word = name.strip()
    if word.lower() in (ONNX_RUNTIME, OPENVINO):
        return word.lower()
    if word.lower() == "cpuexecutionprovider":
        return ONNX_RUNTIME
    provider = next((p for p in _PROVIDERS if p.lower() == word.lower()), None)
    if provider is not None or re.fullmatch(r"\w+ExecutionProvider", word):
        return provider or word
    short = next((p for p in _PROVIDERS if word and p.lower().startswith(word.lower())), None)
    near = short or nearest(word, (ONNX_RUNTIME, OPENVINO, *_PROVIDERS))
    raise ValueError(f"`{name}` is no runtime; " + (f"did you mean `{near}`?" if near else f"valid: {_RUNTIMES}"))


runtimes = words_of("runtimes", parsed(parse_runtime), _RUNTIMES)


def _parse_reference(value: str) -> str:
    module, colon, attribute = value.partition(":")
    if colon and _dotted(module) and _dotted(attribute):
        return value
    raise ValueError(f"`module:attribute` is expected, not `{value}`{_meant_reference(value)}")


reference = parsed(_parse_reference)  # `package.module:attribute`


def _dotted(name: str) -> bool:
    return all(part.isidentifier() for part in name.split("."))


def _meant_reference(value: str) -> str:
    path, colon, attribute = value.partition(":")
    module = path.removeprefix("./").removesuffix(".py").replace("/", ".").replace("\\", ".")
    if not colon and "." in module:
        module, _, attribute = module.rpartition(".")
    return f"; did you mean `{module}:{attribute}`?" if _dotted(module) and _dotted(attribute) else ""


def _parse_spec(value: str) -> TensorSpec:
    try:
        return parse_spec(value)
    except SpecError as error:
        raise ValueError(f"{error.message} (at column {error.position + 1} of `{value}`)") from error


spec = parsed(_parse_spec)  # such as `float32[batch, 3, height=224]`


def plain(node: Node) -> Any:
    """Read a value that Python has too: text, number, truth, or a list or table of these."""
    if isinstance(node.value, list):
        return [plain(child) for child in node.elements("a list")]
    return table_of(plain)(node) if isinstance(node.value, dict) else _scalar(node)


_scalar: Converter[Any] = reader(
    "text, a number, true, false, or a list or table of these,", lambda value: isinstance(value, (str, int, float))
)


def axis_names(node: Node) -> dict[int, str] | None:
    """Read `{ 0 = "batch" }`: keys are axes, counted from the end if negative; values name the dim.

    A table with any mistake is None, since a probe with fewer dynamic axes than meant proves something else.
    """
    axes: dict[int, str] = {}
    before = len(node.problems.diagnostics)
    for key, child in node.items():
        if not re.fullmatch(r"-?[0-9]{1,3}", key):
            child.fail(f'an axis number is expected as the key, not `{key}`; write `{{ 0 = "batch" }}`')
            continue
        name = text(child)
        if name is not None and not name.isidentifier():
            child.fail(f"`{name}` is no name for a dim: use letters, digits and `_`")
        elif name is not None:
            axes[int(key)] = name
    return axes if len(node.problems.diagnostics) == before else None


def table_of(one: Converter[T]) -> Converter[dict[str, T]]:
    """Make a reader of a table whose every value is read by `one`; None if any value is mistaken."""

    def read(node: Node) -> dict[str, T] | None:
        entries = {key: value for key, child in node.items() if (value := one(child)) is not None}
        return entries if isinstance(node.value, dict) and len(entries) == len(node.value) else None

    return read


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, str):
        return f'`"{value}"`' if value else "an empty string"
    return "a table" if isinstance(value, dict) else "a list" if isinstance(value, list) else f"`{value}`"
