"""rules/*.md → Contract: the contracts, read quickly, with the file and the line of every mistake in them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from onnxlint.base.plugins import CODE, Plugin, PluginError, installed
from onnxlint.base.records import EXPORTERS, Cause, Outcome, Safety, Severity, grouped

_Once = StrEnum("_Once", {"FILE": "file"})
_Of = StrEnum("_Of", {"SIZES": "sizes"})
E = TypeVar("E", Severity, Safety, Outcome, Cause, _Once, _Of)

_FILE_NAME = re.compile(r"(?P<code>ONX[A-Z]*\d{3})-(?P<name>[a-z0-9]+(?:-[a-z0-9]+)*)\.md")
_KEYS = ("code", "name", "severity", "fix", *EXPORTERS)
_CAUSES = ("confirmed-by", "shows-here", "shows-in-file", "shows-in-function")
_OPTIONAL = *_CAUSES, *"spoken-for-by merged-into part-of operators shows-at-calls-of said-once of instead".split()
_PROSE = ("What it does", "Why is this bad?", "Fix", "How it is confirmed")
_EXAMPLES = ("Bad", "Good")
_RUN_TIME_FAMILIES = ("ONX7", "ONX9")  # found by running, not by reading: their contracts need no example code


class CatalogueError(ValueError):
    """A contract is missing or malformed; the message starts with its file and line."""


def _section(heading: str, doc: str) -> property:
    return property(lambda contract: contract.sections[heading], doc=doc)


@dataclass(frozen=True)
class Contract:
    """One rule's contract. `effects` maps an exporter to what becomes of it there; the prose is parsed when asked for.

    `fix` is None where the rule offers none; `text` is the Markdown after the front matter, `line` its first line.
    Evidence with a cause in `confirmed_by` confirms a finding in its statement. A consequence in `shows_here` does so
    before other explanations are tried; one in `shows_in_file` may lie anywhere in the file, and one in
    `shows_in_function` at the head of the function, since such a fault has no line of its own.
    Of the findings at one statement whose rules are linked by `spoken_for_by`, only that of the rule nearest to the
    start of the chain is reported. A finding at the span of one of the rule `merged_into` becomes a part of that one.
    A finding in the block of one of a rule that it is `part_of`, in the same function, is shown as one with that.
    What is found by running alone, at a call in its function of a name in `shows_at_calls_of`, is shown as one with it.
    What is `said_once` of several calls in a file, or in versions of it, in the same words is shown at the first.
    What is `of_sizes` is no matter where every export fixes all sizes on purpose.
    Every call of its `operators`, by canonical name, is observed. `instead` is what to write, in a line, where the rule
    says nothing else. `plugin` is where a rule of a package comes from, and `version` a hash of that.
    """

    code: str
    name: str
    severity: Severity
    fix: Safety | None
    effects: Mapping[str, Outcome]
    text: str
    path: str
    line: int
    confirmed_by: frozenset[Cause] = frozenset()
    shows_here: frozenset[Cause] = frozenset()
    shows_in_file: frozenset[Cause] = frozenset()
    shows_in_function: frozenset[Cause] = frozenset()
    spoken_for_by: str | None = None
    merged_into: str | None = None
    part_of: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    shows_at_calls_of: tuple[str, ...] = ()
    said_once: bool = False
    of_sizes: bool = False
    instead: str = ""
    plugin: Plugin | None = None
    version: bytes = b""

    @cached_property
    def sections(self) -> Mapping[str, str]:
        """The body of every `##` section by its heading, and the title under the empty heading."""
        return MappingProxyType({heading: body for heading, _, body in _split(self.text)})

    title = _section("", "The `# Title` of the contract.")
    what = _section("What it does", "Markdown: what it does.")
    why = _section("Why is this bad?", "Markdown: why this is bad.")
    advice = _section("Fix", "Markdown: what to write instead.")
    confirm = _section("How it is confirmed", "Markdown: how the dynamic pass confirms it, with example and witness.")

    @property
    def uri(self) -> str:
        """Where the contract can be opened."""
        return Path(self.path).resolve().as_uri()

    @property
    def bad(self) -> str:
        """Python code that the rule objects to; empty for rules that only running can find."""
        return _code(self.sections.get("Bad", ""))

    @property
    def good(self) -> str:
        """Python code that does the same and that the rule accepts; empty as for `bad`."""
        return _code(self.sections.get("Good", ""))


@cache
def load_catalogue(folder: Path | None = None) -> Mapping[str, Contract]:
    """Read every contract in `folder`, by code; by default those of onnxlint and of installed packages. Raises
    CatalogueError. What is wrong with the rule of a package is in `plugin_faults`."""
    if folder is None:
        return MappingProxyType(_with_plugins()[0])
    rules: dict[str, Contract] = {}
    for path in sorted(folder.glob("ONX*.md")):
        rule = read_rule(path)
        if rule.code in rules:
            raise CatalogueError(f"{path}:1: {rule.code} is already the code of {rules[rule.code].path}")
        rules[rule.code] = rule
    if not rules:
        raise CatalogueError(f"{folder}: no contract (ONXnnn-name.md) is in this folder")
    for rule in rules.values():
        _check_links(rule, rules)
    return MappingProxyType(rules)


def plugin_faults() -> Mapping[str, str]:
    """Why rules of installed packages are not in the catalogue, by code."""
    return _with_plugins()[1]


def is_of_package(code: str) -> bool:
    """Tell whether a code can only be that of a package's rule, be it installed or not."""
    return CODE.fullmatch(code.upper()) is not None


@cache
def _with_plugins() -> tuple[dict[str, Contract], dict[str, str]]:
    rules = dict(load_catalogue(_shipped()))
    names = {rule.name: rule.code for rule in rules.values()}
    faults: dict[str, str] = {}
    by_code = grouped(installed(), lambda plugin: plugin.code)
    for code, plugins in sorted(by_code.items()):
        try:
            if len(plugins) > 1:
                raise PluginError(f"{plugins[1].distribution} brings a rule {code} too; uninstall one of them")
            path, version = plugins[0].read()
            rule = replace(read_rule(path), plugin=plugins[0], version=version)
            if rule.name in names:
                raise PluginError(f"`{rule.name}` is the name of {names[rule.name]} already")
        except (PluginError, CatalogueError) as error:
            faults[code] = f"{plugins[0]} cannot be used: {error}"
        else:
            names[rule.name], rules[code] = code, rule
    waiting = [code for code in by_code if code in rules]
    while waiting:  # one that goes may take along another that is linked to it
        code = waiting.pop()
        try:
            _check_links(rules[code], rules)
        except CatalogueError as error:
            faults[code] = f"{rules.pop(code).plugin} cannot be used: {error}"
            waiting = [code for code in by_code if code in rules]
    return rules, faults


def watched(catalogue: Mapping[str, Contract]) -> frozenset[str]:
    """The operators of which some rule looks at every call."""
    return frozenset(name for rule in catalogue.values() for name in rule.operators)


def speakers(rule: Contract, catalogue: Mapping[str, Contract]) -> tuple[str, ...]:
    """The codes of the rules that speak for `rule` at the same statement: the start of the chain first, itself last."""
    chain = [rule.code]
    while (before := catalogue[chain[-1]].spoken_for_by) is not None:
        chain.append(before)
    return tuple(reversed(chain))


def read_rule(path: Path) -> Contract:
    """Read one contract. Raises CatalogueError."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CatalogueError(f"{path}:1: the contract cannot be read: {error}") from error
    header, body = _front_matter(path, lines)
    named = _FILE_NAME.fullmatch(path.name)
    if named is None:
        raise CatalogueError(f"{path}:1: the file is not named ONXnnn-some-name.md")
    for key in ("code", "name"):
        value, line = header[key]
        if value != named[key]:
            raise CatalogueError(f"{path}:{line}: {key} is `{value}`, but the file's name says `{named[key]}`")
    causes: dict[str, Any] = {key.replace("-", "_"): _causes(path, header, key) for key in _CAUSES}
    rule = Contract(
        code=named["code"],
        name=named["name"],
        severity=_value(path, header, "severity", Severity),
        fix=None if header["fix"][0] == "none" else _value(path, header, "fix", Safety),
        effects=MappingProxyType({exporter: _value(path, header, exporter, Outcome) for exporter in EXPORTERS}),
        text="\n".join(lines[body:]),
        path=str(path),
        line=body + 1,
        **causes,
        spoken_for_by=header.get("spoken-for-by", (None,))[0],
        merged_into=header.get("merged-into", (None,))[0],
        part_of=_names(header, "part-of"),
        operators=_names(header, "operators"),
        shows_at_calls_of=_names(header, "shows-at-calls-of"),
        said_once="said-once" in header and bool(_value(path, header, "said-once", _Once)),
        of_sizes="of" in header and bool(_value(path, header, "of", _Of)),
        instead=header.get("instead", ("",))[0],
    )
    _check_sections(rule)
    return rule


def _shipped() -> Path:
    """The contracts: package data in a wheel, the repository's own folder in an editable checkout."""
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "contracts", package.parent / "rules"):
        if folder.is_dir():
            return folder
    raise CatalogueError(f"{package / 'contracts'}: the rules' contracts are not there; the installation is incomplete")


def _front_matter(path: Path, lines: list[str]) -> tuple[dict[str, tuple[str, int]], int]:
    if not lines or lines[0].strip() != "---":
        raise CatalogueError(f"{path}:1: the front matter does not begin with `---`")
    header: dict[str, tuple[str, int]] = {}
    for number, line in enumerate(lines[1:], start=2):
        if line.strip() == "---":
            missing = [key for key in _KEYS if key not in header]
            if missing:
                raise CatalogueError(f"{path}:{number}: the front matter lacks {', '.join(missing)}")
            return header, number
        key, colon, value = (part.strip() for part in line.partition(":"))
        if not colon or not value:
            raise CatalogueError(f"{path}:{number}: `key: value` was expected, not `{line.strip()}`")
        if key not in (*_KEYS, *_OPTIONAL):
            raise CatalogueError(f"{path}:{number}: `{key}` is not one of {', '.join((*_KEYS, *_OPTIONAL))}")
        if key in header:
            raise CatalogueError(f"{path}:{number}: `{key}` is given twice")
        header[key] = (value, number)
    raise CatalogueError(f"{path}:{len(lines)}: the front matter does not end with `---`")


def _causes(path: Path, header: Mapping[str, tuple[str, int]], key: str) -> frozenset[Cause]:
    text, line = header.get(key, ("", 0))
    names = [name.strip() for name in text.split(",")] if text else []
    causes = frozenset(_value(path, {key: (name, line)}, key, Cause) for name in names)
    if len(causes) < len(names):
        raise CatalogueError(f"{path}:{line}: {key} names a cause twice")
    if key != "confirmed-by" and causes - _causes(path, header, "confirmed-by"):
        raise CatalogueError(f"{path}:{line}: {key} names a cause that confirmed-by does not")
    return causes


def _names(header: Mapping[str, tuple[str, int]], key: str) -> tuple[str, ...]:
    return tuple(name for name in re.split(r"[,\s]+", header.get(key, ("",))[0]) if name)


def _check_links(rule: Contract, rules: Mapping[str, Contract]) -> None:
    for key, code in (("spoken-for-by", rule.spoken_for_by), ("merged-into", rule.merged_into)):
        if code is not None and code not in rules:
            raise CatalogueError(f"{rule.path}:1: {key} is `{code}`, which is the code of no rule")
    passed, code = {rule.code}, rule.spoken_for_by
    while code is not None and code in rules:
        if code in passed:
            raise CatalogueError(f"{rule.path}:1: spoken-for-by leads from {rule.code} back to {code}")
        passed.add(code)
        code = rules[code].spoken_for_by


def _value(path: Path, header: Mapping[str, tuple[str, int]], key: str, kind: type[E]) -> E:
    value, line = header[key]
    try:
        return kind(value)
    except ValueError as error:
        raise CatalogueError(f"{path}:{line}: {key} is `{value}`, which is not one of {', '.join(kind)}") from error


def _check_sections(rule: Contract) -> None:
    wanted = [*_PROSE] if rule.code.startswith(_RUN_TIME_FAMILIES) else [*_PROSE, *_EXAMPLES]
    seen: dict[str, int] = {}
    for heading, offset, body in _split(rule.text):
        line = rule.line + offset
        if heading in seen:
            raise CatalogueError(f"{rule.path}:{line}: `## {heading}` is there twice")
        if heading and heading not in (*_PROSE, *_EXAMPLES):
            raise CatalogueError(f"{rule.path}:{line}: `## {heading}` is not a section of a contract")
        if not body:
            where = f"`## {heading}`" if heading else "the title"
            raise CatalogueError(f"{rule.path}:{line}: {where} is empty")
        if heading in _EXAMPLES and not _code(body):
            raise CatalogueError(f"{rule.path}:{line}: `## {heading}` holds no ```python block")
        seen[heading] = line
    if "" not in seen:
        raise CatalogueError(f"{rule.path}:{rule.line}: the contract has no `# Title`")
    missing = [heading for heading in wanted if heading not in seen]
    if missing:
        raise CatalogueError(f"{rule.path}:{rule.line}: the contract lacks `## {missing[0]}`")


def _split(text: str) -> Iterator[tuple[str, int, str]]:
    """The sections as (heading, offset of its line, body); the `# Title` comes as ("", offset, title)."""
    sections: list[tuple[str, int, list[str]]] = []
    body: list[str] = []  # what stands above the first section, or below the title, is of none
    fenced = False
    for offset, line in enumerate(text.split("\n")):
        fenced ^= line.startswith("```")
        if not fenced and line.startswith(("# ", "## ")):
            level, _, rest = line.partition(" ")
            body = []
            sections.append(("", offset, [rest]) if level == "#" else (rest.strip(), offset, body))
        else:
            body.append(line)
    return ((heading, offset, "\n".join(lines).strip()) for heading, offset, lines in sections)


def _code(section: str) -> str:
    return "\n".join(re.findall(r"^```python\n(.*?)^```", section + "\n", flags=re.MULTILINE | re.DOTALL))
