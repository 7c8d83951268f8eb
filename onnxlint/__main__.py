"""`python -m onnxlint` is the command `onnxlint`."""

from onnxlint.cli import main

if __name__ == "__main__":
    main()
