"""Flags in, exit code out: the group `main`, which imports a command only when it is called."""

import importlib
import io
import os
import sys
import tomllib
import traceback
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import click

from onnxlint import __version__
from onnxlint.base import interrupts
from onnxlint.base.files import own_text

FAILED = 2
COMPLETE = "_ONNXLINT_COMPLETE"  # the variable by which a shell asks for completions, as click names it
WATCHED = "ONNXLINT_WATCHED"  # in the environment of a check that `--watch` has started: it does not watch itself

_COMMANDS: Mapping[str, str] = tomllib.loads(own_text(__file__, "commands.toml"))


class Main(click.Group):
    """A group whose commands live in modules of their own, and whose failures are one line each."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of one command and return the command."""
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"onnxlint.cli.commands.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the arguments name; a wrong name is answered with the nearest right one."""
        name = args[0] if args else ""
        if name and name not in _COMMANDS and not name.startswith("-"):
            from onnxlint.config.typed_values import did_you_mean

            ctx.fail(f"there is no command `{name}`{did_you_mean(name, _COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Complete the name of a command without importing any."""
        from click.shell_completion import CompletionItem

        items = [CompletionItem(name, help=text) for name, text in _COMMANDS.items() if name.startswith(incomplete)]
        return [*items, *click.Command.shell_complete(self, ctx, incomplete)]

    def main(self, args: Sequence[str] | None = None, *_: Any, **__: Any) -> NoReturn:
        """Run, and leave the process with an exit code; a traceback is shown only where `--debug` asks for it."""
        argv = list(sys.argv[1:] if args is None else args)
        if instruction := os.environ.get(COMPLETE):
            from click.shell_completion import shell_complete

            sys.exit(shell_complete(self, {"obj": argv}, "onnxlint", COMPLETE, instruction))
        try:
            # What click's own `main` does, but for the empty line that it writes, into files too, at an interrupt.
            with self.make_context("onnxlint", [*argv], obj=argv) as ctx:
                code = self.invoke(ctx)
            sys.exit(code if isinstance(code, int) else 0)
        except click.exceptions.Exit as ended:
            sys.exit(ended.exit_code)
        except click.ClickException as error:
            shown = io.StringIO()
            error.show(shown)
            click.echo(_harmless(shown.getvalue()), nl=False, err=True)
            sys.exit(FAILED)
        except (click.Abort, KeyboardInterrupt):
            click.echo("\n" * sys.stderr.isatty() + "onnxlint: interrupted", err=True)  # `^C` stands on a line there
            sys.exit(interrupts.exit_code())
        except BrokenPipeError:
            silence_stdout()
            sys.exit(FAILED)
        except Exception as error:
            if "--debug" in argv:
                traceback.print_exc()
            message = f"onnxlint: {describe(error)}; `--debug` shows the traceback, please report it"
            click.echo(_harmless(message), err=True)
            raise SystemExit(FAILED) from error


def describe(error: BaseException) -> str:
    """Return an unforeseen error in one line, with the place in the code that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {os.path.basename(os.path.dirname(frames[-1].filename))}/" if frames else ""
    place += f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
    return f"internal error{place}: {type(error).__name__}: {(str(error).splitlines() or [''])[0]}"


def _harmless(message: str) -> str:
    """Return a message in which nothing that was given steers the terminal or the log; its own lines stay."""
    from onnxlint.report.common.printed import printed

    return printed(message)


def silence_stdout() -> None:
    """Send what is still to be written to a closed pipe nowhere, so that the interpreter can leave without a word."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(cls=Main, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="onnxlint", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help="Show the traceback of an internal error.")
def main(debug: bool) -> None:
    """Find the PyTorch code that will not survive the export to ONNX, and prove it."""
