"""A file's bytes → text and tree, or one Diagnostic that says where and why not. Nothing is compiled or run."""

import ast
import codecs
import io
import re
import sys
import tokenize
import warnings
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate, islice
from pathlib import Path
from types import MappingProxyType

from onnxlint.base import files
from onnxlint.base.edits import Lines, lines_of
from onnxlint.base.paths import display_path
from onnxlint.base.records import Diagnostic

MAX_BYTES = 5_000_000
KEPT = 16  # trees of whole files that nobody keeps
MAX_TOKENS = 400_000  # Python's tree takes up to 700 bytes for each, and the analysis as much again
_TOKEN = re.compile(r'"""(?s:.*?)"""|\'\'\'(?s:.*?)\'\'\'|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|#.*|[\w.]+|\S')
# Python itself refuses a decimal one that it could not write. A literal first character is what makes the search fast.
_LONG_NUMBER = re.compile(r"0(?<!\w0)[xXoObB]\w{3000}")
_BEYOND = 1 << 64  # stands for all that are larger
# Codecs that Python has beside those of files: of names of hosts, in quadratic time, and of literals, where a comment
# can hold the end of a line.
_NO_ENCODING = frozenset({"idna", "punycode", "raw-unicode-escape", "unicode-escape"})
_REMEDY = "mend it, or leave it out with `exclude`"


@dataclass(frozen=True, eq=False)
class SourceFile:
    """One Python file as read. `display` is how reports write its path; `text` keeps its newlines, without a BOM.

    Lines and tree are made of the text when asked for, and kept for the files used last: together they take many times
    the memory of the text.
    """

    path: Path
    display: str
    text: str
    encoding: str = "utf-8"

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines as Python counts them (a form feed ends none), without their ends; the first has index 0."""
        return _lines_of(self)

    def rows(self, first: int, last: int) -> str:
        """The text of some lines, from 1, with newlines between them."""
        return self._places.rows(first, last)

    @cached_property
    def _places(self) -> Lines:
        return Lines(self.text)

    @property
    def tree(self) -> ast.Module:
        """The tree of the whole file."""
        return vars(self).get("_tree") or _tree_of(self)

    def keep_tree(self, tree: ast.Module) -> None:
        """Keep the tree as long as this: it takes 32 bytes and more for each character."""
        vars(self)["_tree"] = tree

    @property
    def keeps_tree(self) -> bool:
        """Whether the tree is kept."""
        return "_tree" in vars(self)

    @cached_property
    def functions(self) -> dict[int, ast.FunctionDef | ast.AsyncFunctionDef]:
        """The functions of a file that keeps its tree, by the line that names them."""
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
        return {s.lineno: s for s in _each_statement(self.tree.body) if isinstance(s, kinds)}

    @property
    def length(self) -> int:
        """How many lines there are."""
        return len(self.lines) if "\r" in self.text else self.text.count("\n") + 1

    def line(self, number: int) -> str:
        """Return a line by its number from 1; a line past the end is empty."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""

    def column(self, number: int, offset: int) -> int:
        """Turn an `ast` offset (UTF-8 bytes from 0) in a line into a column (characters from 1)."""
        line = self.line(number)
        return offset + 1 if line.isascii() else bisect_left(_starts(line), offset) + 1


@lru_cache(maxsize=64)  # of one long line are many columns asked
def _starts(line: str) -> list[int]:
    return list(accumulate((1 + (c > "\x7f") + (c > "\u07ff") + (c > "\uffff") for c in line), initial=0))


def read_source(path: Path) -> SourceFile | Diagnostic:
    """Read and parse one file. What cannot be read comes back as a Diagnostic with the line and the remedy."""
    data = read_bytes(path)
    return data if isinstance(data, Diagnostic) else parse_source(path, data, display_path(path))


def parse_source(path: Path, data: bytes, display: str) -> SourceFile | Diagnostic:
    """Decode and parse the bytes of a file."""
    source = decode_source(path, data, display)
    parsed = source if isinstance(source, Diagnostic) else tree_or_fault(source, keep=True)
    return parsed if isinstance(parsed, Diagnostic) else source


def read_bytes(path: Path) -> bytes | Diagnostic:
    """The bytes of a file that is not too long."""
    display = display_path(path)
    try:
        return files.read_bytes(path, MAX_BYTES)
    except files.TooLong as error:
        return Diagnostic("warning", f"{error.strerror}; it is left out".replace("it", "the file", 1), display)
    except files.NotAFile as error:
        return Diagnostic("error", f"the file cannot be read: {error.strerror}; leave it out with `exclude`", display)
    except OSError as error:
        return Diagnostic("error", f"the file cannot be read: {error.strerror}; check the rights on it", display)


def decode_source(path: Path, data: bytes, display: str) -> SourceFile | Diagnostic:
    """Decode the bytes of a file, which may not parse yet."""
    decoded = _decode(data, display)
    if isinstance(decoded, Diagnostic):
        return decoded
    text, encoding = decoded
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        return Diagnostic("error", f"the file holds a null byte, so it is no Python source; {_REMEDY}", display, line)
    if len(text) > MAX_TOKENS and any(islice(_TOKEN.finditer(text), MAX_TOKENS, None)):
        message = f"the file has over {MAX_TOKENS:,} names, literals and operators, too many to analyse; it is left out"
        return Diagnostic("warning", message, display)
    return SourceFile(path, display, text, encoding)


def tree_or_fault(source: SourceFile, keep: bool = False) -> ast.Module | Diagnostic:
    """The tree of a file, or what keeps it from being parsed. One that is not kept leaves its memory to the next."""
    try:
        return _tree_of(source) if keep else tree_of(source.text, source.display)
    except SyntaxError as error:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        message = f"the file does not parse as Python {version}: {error.msg}; {_REMEDY}"
        return Diagnostic("error", message, source.display, error.lineno)
    except (RecursionError, MemoryError):
        return Diagnostic("error", f"the source is nested too deeply to be parsed; {_REMEDY}", source.display)
    except ValueError as error:  # such as a lone surrogate out of an exotic encoding
        return Diagnostic("error", f"the file does not parse: {error}; {_REMEDY}", source.display)


@lru_cache(maxsize=256)
def _lines_of(source: SourceFile) -> tuple[str, ...]:
    return tuple(lines_of(source.text))


@lru_cache(maxsize=KEPT)
def _tree_of(source: SourceFile) -> ast.Module:
    return tree_of(source.text, source.display)


def tree_of(text: str, name: str = "<unknown>") -> ast.Module:
    """Parse a text, or raise what `ast.parse` raises. A number that Python cannot write as text is another there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(text, filename=name)
    if _LONG_NUMBER.search(text):
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value > _BEYOND:
                node.value = _BEYOND
    return tree


def nodes_of(source: SourceFile, first: int, last: int) -> Iterator[ast.AST]:
    """The nodes of a few lines of a file, where they stand there; those of the whole file if the lines need it."""
    text = source.rows(first, last)
    above = "\n" * (first - 2) + "if 1:\n" if text[:1].isspace() else "\n" * (first - 1)
    try:
        return ast.walk(tree_of(f"{above}{text}\n"))
    except (SyntaxError, ValueError):  # such as `else: x = 1`
        return ast.walk(source.tree)


@lru_cache(maxsize=64)
def _cached_lines(path: str) -> tuple[str, ...]:
    try:
        data = files.read_bytes(path, MAX_BYTES)
    except OSError:
        return ()
    return tuple(lines_of_bytes(data))


def source_lines(path: str, overlay: Mapping[Path, bytes] = MappingProxyType({})) -> list[str]:
    """Return the lines of a file for display: as `overlay` has it by resolved path, or else as it is on the disk.

    There are none where it cannot be read, which reading it has reported already.
    """
    data = overlay.get(Path(path).resolve()) if overlay else None
    return list(_cached_lines(path)) if data is None else lines_of_bytes(data)


def lines_of_bytes(data: bytes) -> list[str]:
    """Return the lines of bytes that stand for a file; none where they cannot be decoded."""
    decoded = _decode(data, "")
    return [] if isinstance(decoded, Diagnostic) else lines_of(decoded[0])


def _decode(data: bytes, display: str) -> tuple[str, str] | Diagnostic:
    encoding = "utf-8"
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        if codecs.lookup(encoding).name in _NO_ENCODING:
            raise LookupError(f"`{encoding}` is no encoding of files")
        return data.decode(encoding).removeprefix("\ufeff"), encoding
    except UnicodeDecodeError as error:
        line = len(lines_of(data[: error.start].decode("latin-1")))
        what = "UTF-8" if encoding.startswith("utf-8") else f"{encoding}, which its first lines name"
        return Diagnostic("error", f"the file is not {what}; save it as UTF-8, or name its encoding", display, line)
    except (SyntaxError, LookupError, UnicodeError) as error:
        return _no_encoding(data, display, error)


def _no_encoding(data: bytes, display: str, error: Exception) -> Diagnostic:
    """Tell a wrong cookie from bytes that are not UTF-8 in the first two lines: the error is the same."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as fault:
        line = data.count(b"\n", 0, fault.start) + 1
        return Diagnostic("error", "the file is not UTF-8; save it as UTF-8, or name its encoding", display, line)
    line = next((n for n, row in enumerate(data.split(b"\n")[:2], 1) if b"coding" in row), 1)
    message = f"the encoding that the file names is unusable: {str(error)[:80]}; save it as UTF-8"
    return Diagnostic("error", message, display, line)


def logical_lines(source: SourceFile) -> Iterator[tuple[int, list[tokenize.TokenInfo]]]:
    """Yield the tokens of each logical line, or line without one, and the first line of it.

    Raises tokenize.TokenError or SyntaxError: the parser is laxer than tokenize in a few corners.
    """
    first = 0
    tokens: list[tokenize.TokenInfo] = []
    for token in tokenize.generate_tokens(io.StringIO("\n".join(source.lines) + "\n").readline):
        tokens.append(token)
        if token.type in (tokenize.NEWLINE, tokenize.ENDMARKER) or (token.type == tokenize.NL and not first):
            yield first or token.start[0], tokens
            first, tokens = 0, []
        elif not first and token.type not in (tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT):
            first = token.start[0]


def statement_spans(tree: ast.Module) -> list[tuple[int, int]]:
    """Return first and last line of every statement; of a compound one, of its header."""
    return [_header(statement) for statement in _each_statement(tree.body)]


def statement_at(spans: Sequence[tuple[int, int]], line: int) -> tuple[int, int]:
    """Return the shortest of `spans` that holds a line; the line alone where none does."""
    best = (line, line)
    for first, last in spans:
        if first <= line <= last and (best == (line, line) or last - first < best[1] - best[0]):
            best = (first, last)
    return best


def _each_statement(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Every statement of a block and of the blocks in it; expressions are not walked."""
    for s in body:
        yield s
        for block in blocks(s):
            yield from _each_statement(block)


def blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of statements in a statement that has some."""
    for name in ("body", "orelse", "finalbody"):
        if isinstance(block := getattr(statement, name, None), list) and block:
            yield block
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield part.body


def first_line(statement: ast.stmt) -> int:
    """Where a statement begins: at its first decorator, if it has one."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(d.lineno for d in decorators)])


def _header(statement: ast.stmt) -> tuple[int, int]:
    last = statement.end_lineno or statement.lineno
    body = getattr(statement, "body", None)
    if isinstance(body, list) and body:
        last = max(statement.lineno, body[0].lineno - 1)
    return first_line(statement), last
