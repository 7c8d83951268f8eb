"""The pytest plugin, in a pytest of its own."""

from __future__ import annotations

import importlib.util

import pytest

pytest_plugins = ["pytester"]
# Not imported to find out: pytester forgets what a test imported, and torch does not survive a second import.
TORCH = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="there is no torch")


def run(pytester: pytest.Pytester, *more: str) -> pytest.RunResult:
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", *more, timeout=120)


def test_it_loads_nothing_until_it_is_used(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_nothing():
            heavy = ("torch", "libcst", "onnxlint.api", "onnxlint.run", "onnxlint.integrations.pytest.model_tests")
            assert not [name for name in heavy if name in sys.modules]
        """
    )
    run(pytester).assert_outcomes(passed=1)


@pytest.mark.slow
@TORCH
def test_the_fixture_checks_models(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import torch

        class Gate(torch.nn.Module):
            def forward(self, x):
                if x.sum() > 0:
                    return x * 2
                return x

        def test_good(onnxlint):
            onnxlint.assert_exportable(torch.nn.Linear(3, 2), torch.ones(2, 3), exporters="torchscript")

        def test_bad(onnxlint):
            onnxlint.assert_exportable(Gate(), torch.ones(2, 3), exporters="torchscript")

        def test_looked_at(onnxlint):
            result = onnxlint.check(Gate(), torch.ones(2, 3), exporters="torchscript")
            assert [f.code for f in result.findings] == ["ONX101"]
        """
    )
    result = run(pytester)
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*:Gate, TorchScript: wrong values (ONX101 at *", "*if x.sum() > 0:*"])
    assert "__tracebackhide__" not in result.stdout.str(), "the frames of onnxlint are not shown"
