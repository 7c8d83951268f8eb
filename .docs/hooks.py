"""Pages of the documentation that are made of what the repository says anyway: README, contracts, contributing."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from onnxlint.base.catalogue import Contract, load_catalogue
from onnxlint.base.records import EXPORTER_NAMES, Outcome
from onnxlint.report.common.words import OUTCOME_SENTENCES
from onnxlint.report.formats.rule_pages import FAMILIES, sections

EXPORTERS = {name: told for name, told in EXPORTER_NAMES.items() if name != "eager"}
ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"\[([^\]\n]+)\]\((?!https?:|#|mailto:)([^)#]+)(#[^)]*)?\)")
RULE = re.compile(r"^```.*?^```|`[^`\n]+`|\[[^\]\n]+\]\([^)]*\)|\b(ONX\d{3})\b", re.MULTILINE | re.DOTALL)
STYLE = """\
.md-grid { max-width: 78rem; }
.md-typeset pre > code { font-size: .68rem; }
.md-typeset table:not([class]) code { white-space: nowrap; }
.md-typeset table:not([class]) th { min-width: 4rem; }
"""
PAGES = {
    "README.md": "index.md",
    "rules/": "rules/index.md",
    ".github/CONTRIBUTING.md": "contributing.md",
    ".github/SECURITY.md": "security.md",
    ".docs/pages/own-rules.md": "own-rules.md",
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages."""
    catalogue = load_catalogue(ROOT / "rules")
    pages = {
        "index.md": _linked((ROOT / "README.md").read_text(encoding="utf-8"), Path()),
        "contributing.md": _linked((ROOT / ".github/CONTRIBUTING.md").read_text(encoding="utf-8"), Path(".github")),
        "security.md": _linked((ROOT / ".github/SECURITY.md").read_text(encoding="utf-8"), Path(".github")),
        "rules/index.md": _index(catalogue),
    }
    pages |= {f"rules/{code}.md": _rule(rule) for code, rule in catalogue.items()}
    pages["stylesheets/onnxlint.css"] = STYLE
    for uri, text in pages.items():
        files.append(File.generated(config, uri, content=text))
    return files


def _linked(text: str, folder: Path) -> str:
    """Text of the repository in which links lead to pages; what is no page is named, not linked."""

    def target(found: re.Match[str]) -> str:
        path = posixpath.normpath((folder / found[2]).as_posix())
        page = PAGES.get(path) or PAGES.get(path + "/")
        rule = re.fullmatch(r"rules/(ONX\d+)-[\w-]+\.md", path)
        if rule:
            page = f"rules/{rule[1]}.md"
        if page:
            return f"[{found[1]}]({page}{found[3] or ''})"
        return f"`{found[1]}`" if re.search(r"[./]", found[1]) and "`" not in found[1] else found[1]

    return LINK.sub(target, text)


def _index(catalogue: Mapping[str, Contract]) -> str:
    lines = ["# Rules", "", f"{len(catalogue)} rules. `onnxlint explain CODE` shows one in the terminal.", ""]
    for family, rules in groupby(sorted(catalogue.values(), key=lambda r: r.code), key=lambda r: r.code[:4]):
        lines += [f"## {family}: {FAMILIES[family]}", ""]
        lines += ["| code | rule | TorchScript | dynamo | fix |", "|---|---|---|---|---|"]
        for rule in rules:
            effects = [_effect(rule, exporter) for exporter in EXPORTERS]
            cells = [f"[{rule.code}]({rule.code}.md)", f"{rule.title}<br>`{rule.name}`", *effects, _promise(rule)]
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        lines.append("")
    return "\n".join(lines)


def _effect(rule: Contract, exporter: str) -> str:
    outcome: Any = rule.effects.get(exporter)
    if outcome is Outcome.OK:
        return "not affected"
    return OUTCOME_SENTENCES[outcome] if outcome is not None else "–"


def _promise(rule: Contract) -> str:
    return rule.fix.value if rule.fix is not None else "none"


def _rule(rule: Contract) -> str:
    """The contract under its code, with what becomes of it in a table."""
    body = RULE.sub(lambda found: f"[{found[1]}]({found[1]}.md)" if found[1] else found[0], sections(rule))
    rows = [f"| {name} | {_effect(rule, exporter)} |" for exporter, name in EXPORTERS.items()]
    return "\n".join(
        [
            "---",
            f"title: {rule.code} {rule.name}",
            "---",
            f"# {rule.code}: {rule.title}",
            "",
            f"`{rule.name}` · {rule.severity.value} · fix: {_promise(rule)}",
            "",
            "| exporter | what becomes of it |",
            "|---|---|",
            *rows,
            "",
            body,
            "",
        ]
    )
