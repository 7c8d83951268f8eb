"""The counterexamples that runs have kept: which there are, which finding each belongs to, and how one is named."""

from __future__ import annotations

import ast
import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from onnxlint.atomic import replace_file
from onnxlint.records import Finding

SCRIPT = "repro.py"
WHOLE = "found.npz"  # beside a script whose input was made small: the input as it was found
INDEX = "index.json"
_SHORTEST = 4  # characters of a fingerprint that name a finding


@dataclass(frozen=True, slots=True)
class Kept:
    """One counterexample: the name of its folder, its script, what it shows, and the findings that it belongs to."""

    name: str
    script: Path
    claim: str
    fingerprints: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether the input as it was found is there too."""
        return (self.script.parent / WHOLE).is_file()


def remember(findings: Sequence[Finding]) -> None:
    """Write down, beside the counterexamples, which finding each belongs to. Raises OSError."""
    by_folder: dict[Path, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for finding in findings:
        for evidence in finding.evidence:
            if evidence.repro is not None:
                place = Path(evidence.repro).absolute().parent
                by_folder[place.parent][place.name].add(finding.fingerprint)
    for folder, found in by_folder.items():
        if not folder.is_dir():
            continue  # the result came from the cache, and its counterexamples were thrown away
        known = {name: set(prints) for name, prints in _index(folder).items() if (folder / name / SCRIPT).is_file()}
        table = {name: sorted(prints) for name, prints in sorted({**known, **found}.items())}
        replace_file(folder / INDEX, (json.dumps(table, indent=1) + "\n").encode())


def kept(folder: Path) -> list[Kept]:
    """Every counterexample in a folder, by name; none where the folder is not there."""
    index = _index(folder)
    scripts = sorted(folder.glob(f"*/{SCRIPT}"))
    return [Kept(s.parent.name, s, _claim(s), tuple(index.get(s.parent.name, ()))) for s in scripts]


def named(all_kept: Sequence[Kept], wanted: str) -> list[Kept]:
    """Those that are meant: one by its name, else all of a finding by the beginning of its fingerprint, or of names."""
    exact = [k for k in all_kept if k.name == wanted]
    if exact:
        return exact
    prints = [k for k in all_kept if len(wanted) >= _SHORTEST and any(f.startswith(wanted) for f in k.fingerprints)]
    return prints or [k for k in all_kept if wanted and k.name.startswith(wanted)]


def _index(folder: Path) -> dict[str, list[str]]:
    """Fingerprints by name; empty where the index is missing or is not ours."""
    try:
        table = json.loads((folder / INDEX).read_bytes())
    except (OSError, ValueError):
        return {}
    if not isinstance(table, dict):
        return {}
    return {str(name): [str(p) for p in prints] for name, prints in table.items() if isinstance(prints, list)}


def _claim(script: Path) -> str:
    """The first line of what a script says it shows; empty where it cannot be read."""
    try:
        told = ast.get_docstring(ast.parse(script.read_bytes()))
    except (OSError, SyntaxError, ValueError):
        return ""
    return (told or "").partition("\n")[0]
