"""Rules that installed packages bring: which distribution, class and contract; nothing of them is imported here.

Only what is installed into the site-packages of this interpreter counts, and what such a distribution calls its own: a
package of the same name in the working directory or on PYTHONPATH is refused, not imported.
"""

import importlib.machinery
import importlib.util
import os
import re
import site
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

from onnxlint.base.files import read_text

GROUP = "onnxlint.rules"
CODE = re.compile(r"ONX[A-Z]{2,}\d{3}")
_LIMIT = 10_000_000  # bytes of a file of a distribution's metadata
_TARGET = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*)")


class PluginError(Exception):
    """What is wrong with a rule of a package."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """One entry point of a distribution. `site` is where that is installed, `source` the folder of an editable one."""

    code: str
    target: str
    distribution: str
    site: str
    source: str

    def __str__(self) -> str:
        return f"{self.code} of {self.distribution}"

    @property
    def module(self) -> str:
        """The name of the module that holds the class."""
        return self.target.partition(":")[0]

    def package(self) -> Path:
        """The outermost folder with an `__init__.py` that holds the module. Raises PluginError; imports nothing."""
        if not CODE.fullmatch(self.code):
            raise PluginError("the code of a package's rule is ONX, two or more capital letters of its own, 3 digits")
        if not _TARGET.fullmatch(self.target):
            raise PluginError(f"`{self.target}` is not `module:Class`")
        parts, number = self.module.split("."), 1
        try:
            spec = importlib.util.find_spec(parts[0])
        except (ImportError, ValueError):
            spec = None
        while spec is not None and not spec.origin and number < len(parts):  # a namespace, which others share
            number += 1
            name = ".".join(parts[:number])
            spec = importlib.machinery.PathFinder.find_spec(name, list(spec.submodule_search_locations or ()))
        if spec is None or not spec.origin:
            raise PluginError(f"no package `{self.module}` is installed")
        folder = Path(os.path.realpath(spec.origin)).parent
        if not spec.submodule_search_locations:
            raise PluginError(f"`{spec.name}` is a single file; put it into a package, together with its contract")
        if not any(place and folder.is_relative_to(place) for place in (self.site, self.source)):
            raise PluginError(f"`{spec.name}` would be imported from {folder}, which is not where it is installed")
        return folder

    def read(self) -> tuple[Path, bytes]:
        """The contract, and a hash of all files of the package. Raises PluginError."""
        from onnxlint.base.cache import digest  # of no use where no package brings a rule

        package = self.package()
        paths = [path for path in sorted(package.rglob("*")) if path.is_file() and path.suffix != ".pyc"]
        contracts = [path for path in paths if path.suffix == ".md" and path.name.startswith(f"{self.code}-")]
        if len(contracts) != 1:
            named = ", ".join(path.name for path in contracts) or "none"
            raise PluginError(f"one contract {self.code}-some-name.md has to be in {package}; there is {named}")
        try:
            return contracts[0], digest(str(self), *(part for p in paths for part in (str(p), p.read_bytes())))
        except OSError as error:
            raise PluginError(f"{error.filename}: {error.strerror}") from error

    def inside(self, folder: Path) -> bool:
        """Tell whether an editable installation leads into a folder, or into the repository that this lies in."""
        place = Path(os.path.realpath(folder))
        top = next((p for p in (place, *place.parents) if (p / ".git").exists()), place)
        return bool(self.source) and self.package().is_relative_to(top)


@cache
def installed() -> tuple[Plugin, ...]:
    """The rules of all distributions, in the order in which Python would look for them."""
    seen: set[str] = set()
    return tuple(plugin for folder in _site_packages() for plugin in _in(folder, seen))


def _site_packages() -> list[str]:
    """The folders of this interpreter that packages are installed into, of those that it imports from."""
    places = [*site.getsitepackages(), *([site.getusersitepackages()] if site.ENABLE_USER_SITE else [])]
    ours = {os.path.realpath(place) for place in places}
    return [place for place in dict.fromkeys(map(os.path.realpath, filter(None, sys.path))) if place in ours]


def _in(folder: str, seen: set[str]) -> Iterator[Plugin]:
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".dist-info"))
    except OSError:
        return
    for name in names:
        title, _, version = name.removesuffix(".dist-info").partition("-")
        if title in seen:  # another one of that name hides it
            continue
        seen.add(title)
        text = read_text(f"{folder}/{name}/entry_points.txt", _LIMIT)
        if GROUP in text:
            label, source = f"{title.replace('_', '-')} {version}", _editable(f"{folder}/{name}/direct_url.json")
            yield from (Plugin(code, target, label, folder, source) for code, target in _entries(text))


def _entries(text: str) -> Iterator[tuple[str, str]]:
    section = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            section = line.strip("[] ")
        elif section == GROUP and "=" in line and not line.startswith(("#", ";")):
            code, _, target = line.partition("=")
            yield code.strip(), target.partition("[")[0].strip()


def _editable(path: str) -> str:
    """The folder that an editable installation leads to; empty for any other."""
    import json  # likewise

    try:
        origin = json.loads(read_text(path, _LIMIT) or "{}")
        return os.path.realpath(unquote(urlsplit(origin["url"]).path)) if origin["dir_info"]["editable"] else ""
    except (ValueError, LookupError, TypeError):
        return ""
