"""The commands that only say something: `cache`, `completion`, `explain` and `rules`."""

import json
from collections.abc import Mapping
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from onnxlint.base.cache import clean, default_folder, usage
from onnxlint.base.catalogue import load_catalogue, plugin_faults
from onnxlint.cli import FAILED
from onnxlint.cli.options import rule_items
from onnxlint.cli.output import deliver, tell, wants_color, width
from onnxlint.config.rule_selectors import unknown_selector


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--cache-dir", type=click.Path(path_type=Path), help="The folder [that of the user].")
@click.pass_context
def cache(ctx: click.Context, cache_dir: Path | None) -> None:
    """Show or empty the folder that results are kept in for the next run."""
    ctx.obj = cache_dir or default_folder()


@cache.command("dir")
@click.pass_obj
def show_folder(folder: Path) -> int:
    """Print where the folder is."""
    click.echo(folder)
    return 0


@cache.command("usage")
@click.pass_obj
def show_usage(folder: Path) -> int:
    """Print how many entries there are, and how much they take."""
    entries, size = usage(folder)
    click.echo(f"{entries} entries, {size / 1e6:.1f} MB in {folder}")
    return 0


@cache.command("clean")
@click.pass_obj
def empty(folder: Path) -> int:
    """Delete every entry, of whatever version of onnxlint."""
    click.echo(f"{clean(folder)} entries deleted from {folder}")
    return 0


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> int:
    """Print the script that makes SHELL complete commands, flags, rules and files.

    \b
    bash:  eval "$(onnxlint completion bash)"        in ~/.bashrc
    zsh:   eval "$(onnxlint completion zsh)"         in ~/.zshrc, after compinit
    fish:  onnxlint completion fish | source         in ~/.config/fish/config.fish
    """
    from onnxlint.cli import main

    completer = get_completion_class(shell)
    assert completer is not None
    script = completer(main, {}, "onnxlint", "_ONNXLINT_COMPLETE").source()
    # That for fish takes a comma in a value for its end; a list of rules has commas.
    return deliver(script.replace('(string split "," $completion)', '(string split -m 1 "," $completion)'), "text")


@click.command()
@click.argument("rule", shell_complete=rule_items)
def explain(rule: str) -> int:
    """Explain RULE, a code such as ONX101 or a name such as tensor-branch."""
    rules = load_catalogue()
    contract = next((r for r in rules.values() if rule.upper() == r.code or rule.lower() == r.name), None)
    if contract is None:
        names = {r.code: r.name for r in rules.values()}
        if rule.upper() in plugin_faults():
            raise click.ClickException(plugin_faults()[rule.upper()])
        raise click.BadParameter(unknown_selector(rule, names) or _several(rule, names), param_hint="RULE")
    from onnxlint.report.formats.rule_pages import explain_rule

    return deliver(explain_rule(contract, color=wants_color(), width=min(width(), 100)), "full")


def _several(prefix: str, names: Mapping[str, str]) -> str:
    meant = [f"{code} ({name})" for code, name in names.items() if code.startswith(prefix.upper())]
    return f"`{prefix}` means {len(meant)} rules; choose one: {', '.join(meant)}"


@click.command("rules")
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
def list_rules(output_format: str) -> int:
    """List every rule, with those of installed packages: code, name, severity, title."""
    rules = load_catalogue()
    for fault in plugin_faults().values():
        tell(f"onnxlint: {fault}")
    missing = FAILED if plugin_faults() else 0
    if output_format == "json":
        rows = [
            {"code": r.code, "name": r.name, "severity": r.severity.value, "title": r.title} for r in rules.values()
        ]
        return max(missing, deliver(json.dumps(rows, indent=2), output_format))
    from onnxlint.report.formats.rule_pages import rules_table

    return max(missing, deliver(rules_table(rules, color=wants_color(), width=width()), "full"))


COMMANDS = {"cache": cache, "completion": completion, "explain": explain, "rules": list_rules}
