"""Where a report goes: standard output or a file, in any encoding, also into a pipe that closes."""

import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

import click

from onnxlint.base.atomic import replace_file
from onnxlint.base.paths import keep_inside
from onnxlint.base.records import Diagnostic
from onnxlint.cli import FAILED, silence_stdout
from onnxlint.report import MACHINE_FORMATS

_FIRST_VTE = 5001  # 0.50.0 crashes at links


def wants_color(choice: str = "auto") -> bool:
    """Tell whether to colour standard output: as asked, else by NO_COLOR and FORCE_COLOR, else on a terminal."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):  # https://no-color.org
        return False
    if os.environ.get("FORCE_COLOR"):  # https://force-color.org
        return True
    stream = sys.stdout
    return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"


def wants_links() -> bool:
    """Tell whether rule codes are links (OSC 8): by FORCE_HYPERLINK, else on a terminal that is known to show them."""
    forced = os.environ.get("FORCE_HYPERLINK")
    if forced is not None:
        return forced != "0"
    stream = sys.stdout
    if stream is None or not stream.isatty() or os.environ.get("CI"):
        return False
    of = os.environ.get
    return bool(
        of("TERM_PROGRAM") in ("iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "zed")
        or of("TERM") in ("xterm-kitty", "alacritty", "foot", "foot-extra", "xterm-ghostty", "wezterm")
        or any(of(name) for name in ("WT_SESSION", "KONSOLE_VERSION", "DOMTERM"))
        or (of("VTE_VERSION", "0").isdecimal() and int(of("VTE_VERSION", "0")) >= _FIRST_VTE)
    )


def width() -> int:
    """Return the columns of the terminal; 100 where there is none."""
    return shutil.get_terminal_size((100, 24)).columns


def encode(text: str, encoding: str) -> bytes:
    """Encode a report; what the encoding cannot say is written as an escape."""
    return text.encode(encoding, "backslashreplace")


def tell(message: str) -> None:
    """Say something to the user on standard error; nothing in it steers the terminal, a file's name least of all."""
    from onnxlint.report.common.printed import printed
    from onnxlint.report.common.words import visible

    click.echo(printed(visible(message)), err=True)


def tell_errors(diagnostics: Iterable[Diagnostic], *, level: str | None = "error") -> int:
    """Print the diagnostics of a level, or all, where no report shows them; return 2 if there are any, else 0."""
    code = 0
    for diagnostic in diagnostics:
        if level in (None, diagnostic.level):
            place = f"{diagnostic.path}:{diagnostic.line or 1}: " if diagnostic.path else ""
            tell(f"onnxlint: {place}{diagnostic.message}")
            code = FAILED
    return code


def write_bytes(data: bytes) -> str | None:
    """Write to standard output as it is, and return why that failed, or None. A closed pipe is no failure."""
    if sys.stdout is None:
        return None
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        silence_stdout()
    except OSError as error:
        silence_stdout()
        return error.strerror or str(error)
    return None


def deliver(text: str, form: str) -> int:
    """Write to standard output and return the exit code: 0, or 2 with one message if that failed.

    A closed pipe is no failure. What is no report, and so not safe to print yet, is made so here.
    """
    if form in ("text", "json"):
        from onnxlint.report.common.printed import in_json, printed

        text = (printed if form == "text" else in_json)(text)
    encoding = "utf-8" if form in MACHINE_FORMATS else (getattr(sys.stdout, "encoding", None) or "utf-8")
    fault = write_bytes(encode(text if text.endswith("\n") or not text else text + "\n", encoding))
    if fault is None:
        return 0
    tell(f"onnxlint: the report cannot be written to standard output: {fault}")
    return FAILED


def write_file(path: Path, text: str) -> str | None:
    """Replace a file by a report in UTF-8, and return why that failed, or None."""
    try:
        if path.is_dir():
            return f"{path}: the report cannot be written: this is a folder; name a file"
        if path.exists() and not path.is_file():  # such as /dev/stderr, which cannot be replaced
            path.write_bytes(encode(text, "utf-8"))
            return None
        keep_inside(path)
        replace_file(path, encode(text, "utf-8"))
    except OSError as error:
        return f"{path}: the report cannot be written: {error.strerror}; name a file in a folder that you may write to"
    return None
