"""The mark that user code carries: it stores, and imports nothing heavy."""

import subprocess
import sys

import onnxlint


def test_the_mark_keeps_the_class_and_stores_the_specs() -> None:
    @onnxlint.example(x="float32[batch, 3]")
    class Model:
        pass

    assert Model.__name__ == "Model"
    assert Model.__onnxlint_example__ == {"x": "float32[batch, 3]"}  # type: ignore[attr-defined]


def test_the_mark_imports_neither_torch_nor_libcst() -> None:
    code = (
        "import sys, onnxlint; onnxlint.example(x='bool[]'); "
        "assert not {'torch', 'libcst', 'numpy'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
