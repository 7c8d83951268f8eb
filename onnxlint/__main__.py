"""The command `onnxlint`, and `python -m onnxlint`, from their first moment: Ctrl-C counts before all is imported."""

import gc
import sys

from onnxlint.base.interrupts import exit_code, forget, listen


def run() -> None:
    """Run the command. Raises SystemExit with its exit code."""
    gc.set_threshold(100_000)  # what is imported stays: the collector would walk all of it again and again
    try:
        listen()
        from onnxlint.cli import main

        main()
    except KeyboardInterrupt:
        sys.stderr.write("onnxlint: interrupted\n")
        sys.exit(exit_code())
    finally:
        forget()  # all is said: what Python raises while it tidies up would be a traceback


if __name__ == "__main__":
    run()
