"""The counterexamples that runs have kept: which there are, which finding each belongs to, and how one is named."""

import ast
import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from onnxlint.base import files
from onnxlint.base.atomic import replace_file
from onnxlint.base.records import Finding, from_json

SCRIPT = "repro.py"
WHOLE = "found.npz"  # beside a script whose input was made small: the input as it was found
INDEX = "index.json"
MAX_BYTES = 5_000_000
_SHORTEST = 4  # characters of a fingerprint that name a finding


@dataclass(frozen=True, slots=True)
class Saved:
    """One counterexample: the name of its folder, its script, what it shows, and the findings that it belongs to."""

    name: str
    script: Path
    claim: str
    fingerprints: tuple[str, ...] = ()
    places: tuple[str, ...] = ()  # `path:line` of the findings

    @property
    def whole(self) -> bool:
        """Whether the input as it was found is there too."""
        return (self.script.parent / WHOLE).is_file()


def remember(findings: Sequence[Finding]) -> None:
    """Write down, beside the counterexamples, which finding each belongs to. Raises OSError."""
    by_folder: dict[Path, dict[str, set[tuple[str, str]]]] = defaultdict(lambda: defaultdict(set))
    for finding in findings:
        for evidence in finding.evidence:
            if evidence.repro is not None:
                folder = Path(evidence.repro).absolute().parent
                place = f"{finding.span.path}:{finding.span.line}"
                by_folder[folder.parent][folder.name].add((finding.fingerprint, place))
    for folder, new in by_folder.items():
        if not folder.is_dir():
            continue  # the result came from the cache, and its counterexamples were thrown away
        old = {name: places for name, places in _index(folder).items() if (folder / name / SCRIPT).is_file()}
        table = {name: dict(sorted(places)) for name, places in sorted({**old, **new}.items())}
        if (folder / INDEX).is_symlink():  # the checked tree's: it may lead anywhere
            (folder / INDEX).unlink()
        replace_file(folder / INDEX, (json.dumps(table, indent=1) + "\n").encode())


def saved(folder: Path) -> list[Saved]:
    """Every counterexample in a folder, by name; none where the folder is not there."""
    index, there = _index(folder), []
    for script in sorted(folder.glob(f"*/{SCRIPT}")):
        pairs = sorted(index.get(script.parent.name, ()))
        fingerprints, places = tuple(f for f, _ in pairs), tuple(dict.fromkeys(place for _, place in pairs))
        there.append(Saved(script.parent.name, script, _claim(script), fingerprints, places))
    return there


def named(candidates: Sequence[Saved], wanted: str) -> list[Saved]:
    """Those that are meant: one by its name, else all of a finding by the beginning of its fingerprint, or of names."""
    exact = [k for k in candidates if k.name == wanted]
    if exact:
        return exact
    prints = [k for k in candidates if len(wanted) >= _SHORTEST and any(f.startswith(wanted) for f in k.fingerprints)]
    return prints or [k for k in candidates if wanted and k.name.startswith(wanted)]


def _index(folder: Path) -> dict[str, set[tuple[str, str]]]:
    """Fingerprints with the places of their findings, by name; empty where the index is missing or is not ours."""
    try:
        table = from_json(dict[str, dict[str, str]], json.loads(files.read_bytes(folder / INDEX, MAX_BYTES)))
    except (OSError, ValueError, RecursionError):
        return {}
    return {name: set(places.items()) for name, places in table.items()}


def _claim(script: Path) -> str:
    """The first line of what a script says it shows; empty where it cannot be read."""
    try:
        docstring = ast.get_docstring(ast.parse(files.read_bytes(script, MAX_BYTES)))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    return (docstring or "").partition("\n")[0]
