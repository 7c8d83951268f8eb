"""What counts as user code: everything but torch, ONNX, their machinery, the standard library and onnxlint itself."""

import importlib.util
import inspect
import itertools
import linecache
import os
import re
import sys
import sysconfig
import traceback
from collections.abc import Iterable, Iterator
from functools import cache
from types import CodeType, FrameType

from onnxlint.base.records import Location

# Packages whose lines a user neither wrote nor reads as model code. A modelling library such as transformers is not
# among them: its lines are where its models go wrong.
MACHINERY = (
    *("beartype", "einops", "einx", "functorch", "jaxtyping", "mpmath", "numpy", "onnx", "onnx_ir", "onnxruntime"),
    *("onnxscript", "sympy", "torch", "torchgen", "triton", "typeguard", "typing_extensions"),
)

_ONNXLINT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
_STANDARD_LIBRARY = tuple(os.path.abspath(sysconfig.get_path(key)) + os.sep for key in ("stdlib", "platstdlib"))
_SITE = re.compile(r"[/\\](?:site|dist)-packages(?:[/\\]|$)")


@cache
def _machinery() -> tuple[str, ...]:
    """Folders, with a trailing separator, and single files of the machinery; looked up once, without importing any."""
    paths = [_ONNXLINT]
    for spec in filter(None, map(importlib.util.find_spec, MACHINERY)):
        if spec.submodule_search_locations:
            paths += (os.path.abspath(place) + os.sep for place in spec.submodule_search_locations)
        elif spec.origin:
            paths.append(os.path.abspath(spec.origin))
    return tuple(paths)


def is_installed(path: str) -> bool:
    """Whether a file or folder was installed with a package: not the user's own, though it may be user code."""
    return _SITE.search(path) is not None


def program_files() -> Iterator[str]:
    """The files of the modules that this process has imported and that are the user's own."""
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    loader = getattr(sys.modules.get("__main__"), "__loader__", None)
    for path in (*files, getattr(loader, "path", None)):  # Python takes `__file__` from a script that has ended
        if isinstance(path, str) and path.endswith(".py") and is_user_code(path) and not is_installed(path):
            yield os.path.abspath(path)


@cache
def is_user_code(filename: str) -> bool:
    """Whether a code object's file holds code that a user may want to read about."""
    if not filename or filename.startswith("<"):
        return False
    path = os.path.abspath(filename)
    return not path.startswith(_machinery()) and (not path.startswith(_STANDARD_LIBRARY) or is_installed(path))


def is_own(filename: str) -> bool:
    """Whether a code object's file belongs to onnxlint."""
    return filename.startswith(_ONNXLINT)


@cache
def relative(path: str, root: str | None) -> str:
    """The path relative to `root` if it lies below it, else absolute; always with forward slashes."""
    absolute = os.path.abspath(path)
    if root is not None:
        for whole, base in ((absolute, os.path.abspath(root)), (os.path.realpath(absolute), os.path.realpath(root))):
            if whole.startswith(base.rstrip(os.sep) + os.sep):
                return os.path.relpath(whole, base).replace(os.sep, "/")
    return absolute.replace(os.sep, "/")


def nearest(frames: Iterable[Location], root: str | None, limit: int) -> tuple[Location, ...]:
    """The first `limit` frames, and the first below `root` however far out: who called the library."""
    remaining = iter(frames)
    result = list(itertools.islice(remaining, limit))

    def at_home(frame: Location) -> bool:
        return not os.path.isabs(frame.path) and not is_installed(f"/{frame.path}")

    if root is not None and not any(map(at_home, result)):
        result += itertools.islice(filter(at_home, remaining), 1)
    return tuple(result)


def user_frames(frame: FrameType | None = None, root: str | None = None, limit: int = 8) -> tuple[Location, ...]:
    """The user's frames from `frame` (default: the caller's) outwards, innermost first, as far as onnxlint's call."""
    return nearest(_outwards(frame if frame is not None else sys._getframe(1), root), root, limit)


def _outwards(innermost: FrameType, root: str | None) -> Iterator[Location]:
    inside = False  # past onnxlint's own frames at the start of the walk: what it patched into the model's code
    for frame, line in traceback.walk_stack(innermost):
        code = frame.f_code
        ours = code.co_filename.startswith(_ONNXLINT)
        if ours and inside:
            break
        inside = inside or not ours
        if is_user_code(code.co_filename):
            yield Location(relative(code.co_filename, root), line, code.co_qualname)


def error_frames(error: BaseException | None, root: str | None = None, limit: int = 8) -> tuple[Location, ...]:
    """The user's frames of a traceback, innermost first."""
    raised = traceback.walk_tb(None if error is None else error.__traceback__)
    codes = [(frame.f_code, line) for frame, line in raised if is_user_code(frame.f_code.co_filename)]
    places = [Location(relative(code.co_filename, root), line, code.co_qualname) for code, line in codes]
    return nearest(reversed(places), root, limit)


_TORCHSCRIPT = re.compile(r"^\s*(?P<path>.+?)\((?P<line>\d+)\): (?P<function>.*)$", re.MULTILINE)
_PYTHON = re.compile(r'File "(?P<path>[^"]+)", line (?P<line>\d+)(?:, in (?P<function>.*))?')


def torchscript_frames(text: str, root: str | None = None, limit: int = 8) -> tuple[Location, ...]:
    """The user's frames of a `sourceRange()` or a TorchScript `doc_string` (innermost first there), innermost first."""
    return nearest(_places(_TORCHSCRIPT.finditer(text), root), root, limit)


def python_frames(text: str | None, root: str | None = None, limit: int = 8) -> tuple[Location, ...]:
    """The user's frames of a formatted Python stack (`stack_trace` of FX; innermost last there), innermost first."""
    return nearest(_places(reversed(list(_PYTHON.finditer(text or ""))), root), root, limit)


def _places(matches: Iterator[re.Match[str]], root: str | None) -> Iterator[Location]:
    inside = False
    for match in matches:
        path, line = match["path"], int(match["line"])
        if is_user_code(path):
            inside = True
            name = _definitions(path).get(line) or (match["function"] or "").strip()
            yield Location(relative(path, root), line, name)
        elif inside and path.startswith(_ONNXLINT):
            break


@cache
def _definitions(path: str) -> dict[int, str]:
    """The qualified name of the function around each line, as code objects spell it; empty without the source."""
    names: dict[int, str] = {}
    try:
        waiting = [(compile("".join(linecache.getlines(path)), path, "exec", dont_inherit=True), "")]
    except (SyntaxError, ValueError):
        return names
    while waiting:
        code, name = waiting.pop()
        if code.co_flags & inspect.CO_OPTIMIZED and not code.co_name.startswith("<"):  # a function
            name = code.co_qualname
        names |= {line: name for _, _, line in code.co_lines() if line and name}  # an inner one comes later
        waiting += ((inner, name) for inner in code.co_consts if isinstance(inner, CodeType))
    return names
