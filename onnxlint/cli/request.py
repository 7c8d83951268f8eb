"""What a command line asks of a check: its paths and flags, and the files and settings that they name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from onnxlint.base.catalogue import load_catalogue
from onnxlint.cli.options import PLAIN, Configuration
from onnxlint.config.config_files import INLINE

if TYPE_CHECKING:
    from onnxlint.base.records import Finding
    from onnxlint.run.changed_lines import Base
    from onnxlint.run.scopes import Request, Scope

STDIN = Path("-")


def settings_request(config: Configuration, isolated: bool, **overrides: Any) -> Request:
    """Return how settings are found with the values of `--config` and `--isolated`."""
    from onnxlint.run.scopes import Request

    explicit, inline = config
    return Request(explicit, isolated, inline, overrides, {rule.code: rule.name for rule in load_catalogue().values()})


@dataclass(frozen=True)
class Asked:
    """What the command line asks for: paths and flags, by the names that click gives them."""

    paths: tuple[Path, ...]
    flags: Mapping[str, Any]

    def __getitem__(self, flag: str) -> Any:
        return self.flags[flag]

    @property
    def stdin(self) -> bool:
        """Whether the file to check comes from standard input."""
        return STDIN in self.paths

    @property
    def show_all(self) -> bool:
        """Whether notes and findings that were not reproduced are shown as well."""
        return bool(self["show"] == "all")

    def shows(self, finding: Finding) -> bool:
        """Whether a finding is among those that are shown."""
        from onnxlint.report.common.words import hidden

        return self.show_all or not hidden(finding)

    def require_sense(self) -> None:
        """End the run where something is wrong with the flags together."""
        baseline = self["write_baseline"] or self["prune_baseline"]
        writes = baseline or self["add_noqa"]
        faults = {
            "--write-baseline and --prune-baseline are one or the other": self["write_baseline"]
            and self["prune_baseline"],
            "--reason needs --add-noqa": self["reason"] is not None and not self["add_noqa"],
            "--stdin-filename needs `-` as the path": self["stdin_filename"] is not None and not self.stdin,
            "`-` stands alone: without other paths, a baseline to write, --add-noqa or --changed-since": self.stdin
            and (len(self.paths) > 1 or writes or self["changed_since"]),
            "--add-noqa and a baseline to write are one or the other": self["add_noqa"] and baseline,
            "--fix and --diff go without --add-noqa and a baseline to write": (self["fix"] or self["diff"]) and writes,
            "--open needs --report FILE": self["open_report"] and self["report"] is None,
            "--report goes without --diff, --add-noqa and a baseline to write": self["report"] is not None
            and (writes or self["diff"]),
            "--statistics has the output formats full and json": self["statistics"]
            and self["output_format"] not in ("full", "concise", "json"),
        }
        fault = next((fault for fault, wrong in faults.items() if wrong), None)
        if fault is None and self["reason"] is not None:
            from onnxlint.source.annotate import fault_in_reason

            mistake = fault_in_reason(self["reason"])
            fault = mistake and f"--reason: {mistake}"
        if fault is not None:
            raise click.UsageError(fault)

    def request(self) -> Request:
        """Return how settings are found: with the flags on top that are called like one of them."""
        from onnxlint.config.settings import Settings

        flags = {field.name: self.flags.get(field.name) for field in fields(Settings)}
        given = {name: value for name, value in flags.items() if value not in (None, ())}
        overrides = {name: value for name, value in given.items() if value is not False or name not in PLAIN}
        if self.stdin:
            overrides["static_only"] = True
        return settings_request(self["config"], self["isolated"], **overrides)

    def scopes(self) -> tuple[Scope, ...]:
        """Return the files to check with their settings; a wrong `--config KEY=VALUE` ends the run."""
        from onnxlint.run.scopes import scopes, single

        asked = self.request()
        checked = single(self["stdin_filename"] or STDIN, asked) if self.stdin else scopes(self.paths, asked)
        faults = [d.message for scope in checked for d in scope.diagnostics if d.path == INLINE]
        if faults:
            raise click.UsageError(f"{INLINE}: {'; '.join(dict.fromkeys(faults))}")
        return checked

    def base(self) -> Base | None:
        """Return what files are compared with, if that is asked for; a revision that git does not know ends the run."""
        if self["changed_since"] is None:
            return None
        from onnxlint.run.changed_lines import ChangedError, changed_since

        try:
            return changed_since(self["changed_since"], self.paths)
        except ChangedError as error:
            raise click.UsageError(f"--changed-since: {error}") from error
