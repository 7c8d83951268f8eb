"""Declared models and marked tests as tests, in a pytest of their own."""

from __future__ import annotations

import importlib.util
from xml.etree import ElementTree

import pytest

pytest_plugins = ["pytester"]
# Not imported to find out: pytester forgets what a test imported, and torch does not survive a second import.
TORCH = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="there is no torch")

GATE = """
    import torch

    class Gate(torch.nn.Module):
        def forward(self, x):
            if x.sum() > 0:
                return x * 2
            return x

    class Plain(torch.nn.Module):
        def forward(self, x):
            return x * 2
"""
CONFIGURATION = """
[[tool.onnxlint.models]]
factory = "models:Gate"
inputs = { x = "float32[batch, 3]" }
exporters = ["torchscript"]

[[tool.onnxlint.models]]
factory = "models:Plain"
inputs = { x = "float32[batch, 3]" }
exporters = ["torchscript"]

[[tool.onnxlint.models]]
factory = "models:Gone"
inputs = { x = "float32[batch, 3]" }
"""


def run(pytester: pytest.Pytester, *more: str) -> pytest.RunResult:
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", *more, timeout=120)


@pytest.mark.slow
@TORCH
def test_a_marked_test_fails_with_the_report(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(models=GATE)
    pytester.makepyfile(
        """
        import pytest, torch
        from models import Gate, Plain

        pytestmark = pytest.mark.exportable(exporters="torchscript")

        @pytest.fixture
        def x():
            return torch.ones(2, 3)

        def test_good(x):
            return Plain(), x

        def test_by_name():
            return Plain(), (), {"x": torch.ones(2, 3)}

        def test_bad(x):
            return Gate(), (x,)

        def test_nothing():
            pass

        @pytest.mark.exportable(exporter="dynamo")
        def test_settings(x):
            return Plain(), x

        def test_asserted(onnxlint, x):
            assert onnxlint.check(Gate(), x, exporters="torchscript").ok
            return Plain(), x
        """
    )
    result = run(pytester, "--strict-markers")
    result.assert_outcomes(passed=2, failed=4)
    out = result.stdout.str()
    assert "TorchScript: wrong values (ONX101 at " in out
    assert "returns a model, (model, args) or (model, args, kwargs), not NoneType" in out
    assert "there is no setting `exporter`" in out
    assert "where False = <onnxlint.Result: " in out
    assert "PytestReturnNotNoneWarning" not in out


@pytest.mark.slow
@TORCH
@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_every_declared_model_is_a_test(pytester: pytest.Pytester, workers: tuple[str, ...]) -> None:
    pytester.makepyfile(models=GATE)
    pytester.makepyprojecttoml(CONFIGURATION)
    pytester.makepyfile(test_other="def test_other(): pass")
    result = run(pytester, "--onnxlint", "-v", *workers)
    result.assert_outcomes(passed=2, failed=2)
    out = result.stdout.str()
    assert "models:Gate, TorchScript: wrong values (ONX101 at models.py:5)" in out
    assert "models:Gone was not probed" in out
    assert "Traceback" not in out
    run(pytester, *workers).assert_outcomes(passed=1)


@pytest.mark.slow
@TORCH
def test_a_model_that_is_declared_twice_fails_for_its_own_inputs_alone(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(models=GATE)
    folder = pytester.mkdir("service")  # whose configuration is none of the root folder
    twice = 'exporters = ["torchscript"]\nlatency = false\n' + "".join(
        f'[[models]]\nfactory = "models:Plain"\ninputs = {{ {name} = "float32[batch, 3]" }}\n'
        for name in ("x", "wrong")
    )
    (folder / "onnxlint.toml").write_text(twice)
    (folder / "models.py").write_text((pytester.path / "models.py").read_text())
    result = run(pytester, "--onnxlint", "-v", "service")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["service/onnxlint.toml::models:Plain PASSED*", "service/onnxlint.toml::models:Plain#2 FAILED*"]
    )
    assert "forward has no parameter `wrong`" in result.stdout.str()


@pytest.mark.slow
@TORCH
def test_a_mark_is_never_without_effect(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(models=GATE)
    pytester.makepyfile(
        """
        import unittest
        import pytest, torch
        from models import Gate, Plain

        class Refused(torch.nn.Module):
            def forward(self, x):
                raise RuntimeError("not today")

        class TestUnit(unittest.TestCase):
            @pytest.mark.exportable(exporters="torchscript")
            def test_unit(self):
                return Gate(), torch.ones(2, 3)

        class TestPlain:
            @pytest.mark.exportable(exporters="torchscript")
            @pytest.mark.parametrize("width", [2])
            def test_method(self, width):
                return Plain(), torch.ones(2, width)

        @pytest.mark.exportable
        async def test_async():
            return Plain(), torch.ones(2, 3)

        @pytest.mark.exportable
        def test_skipped():
            pytest.skip("not here")

        @pytest.mark.exportable(exporters="torchscript")
        def test_refused():
            return Refused(), torch.ones(2, 3)
        """
    )
    result = run(pytester, "--strict-markers", "--junitxml=report.xml")
    result.assert_outcomes(passed=1, failed=3, skipped=1)
    out = result.stdout.str()
    assert "from a function or a method of a plain class: what unittest calls returns nothing" in out
    assert "and this one is a coroutine" in out
    assert "RuntimeError: not today (test_a_mark_is_never_without_effect.py:7)" in out
    assert "site-packages" not in out, "the place is that of the test"
    assert "ONX101" not in out, "what stands beside the model is none of its faults"
    report = ElementTree.parse(pytester.path / "report.xml")
    failed = {case.get("name"): case.find("failure") for case in report.iter("testcase")}
    told = failed["test_refused"]
    assert told is not None
    assert str(told.get("message")).startswith("Failed: test_a_mark_is_never_without_effect:Refused was not probed")


@pytest.mark.slow
@TORCH
def test_declared_models_are_selected_like_tests(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(models=GATE)
    pytester.makepyprojecttoml(CONFIGURATION)
    pytester.makepyfile(test_other="def test_other(): pass")
    run(pytester, "--onnxlint", "-k", "Plain").assert_outcomes(passed=1, deselected=3)
    run(pytester, "--onnxlint", "-m", "onnxlint", "--collect-only", "-q").stdout.fnmatch_lines(
        ["pyproject.toml::models:Gate", "pyproject.toml::models:Plain", "pyproject.toml::models:Gone"]
    )
    run(pytester, "--onnxlint", "pyproject.toml::models:Plain").assert_outcomes(passed=1)


def test_a_model_that_nobody_ran_does_not_pass(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(models=GATE)
    pytester.makepyprojecttoml(CONFIGURATION)
    pytester.makeconftest(
        """
        import importlib.util
        find = importlib.util.find_spec
        importlib.util.find_spec = lambda name, package=None: None if name == "torch" else find(name, package)
        """
    )
    pytester.makepyfile(
        test_more="""
        import pytest

        @pytest.mark.exportable
        def test_marked():
            return len, ()

        def test_fixture(onnxlint):
            onnxlint.assert_exportable(len, ())
        """
    )
    result = run(pytester, "--onnxlint")
    result.assert_outcomes(failed=5)
    out = result.stdout.str()
    assert "models:Plain was not probed: the dynamic pass is off: torch not installed" in out
    assert "the mark `exportable`: torch not installed" in out
    assert "During handling" not in out
    assert "find_spec(" not in out, "the frames of onnxlint are not shown"


def test_without_declared_models_it_says_so(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_other(): pass")
    result = run(pytester, "--onnxlint")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--onnxlint: no configuration for * declares models*"])


def test_a_mistake_in_the_configuration_is_told(pytester: pytest.Pytester) -> None:
    pytester.makepyprojecttoml("[[tool.onnxlint.models]]\nfactory = 3\n")
    result = run(pytester, "--onnxlint")
    result.assert_outcomes(errors=1)
    assert "factory" in result.stdout.str()
