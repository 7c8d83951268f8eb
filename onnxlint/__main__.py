"""The command `onnxlint`, and `python -m onnxlint`, from their first moment: Ctrl-C counts before all is imported."""

import sys


def run() -> None:
    """Run the command. Raises SystemExit with its exit code."""
    try:
        from onnxlint.cli import main

        main()
    except KeyboardInterrupt:
        sys.stderr.write("onnxlint: interrupted\n")
        sys.exit(130)


if __name__ == "__main__":
    run()
