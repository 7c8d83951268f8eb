"""Rule by rule: the header says what the remedy promises; Bad, fixed, lints clean and computes the same."""

from __future__ import annotations

import copy
import importlib.util
import types
from pathlib import Path
from typing import Any

import pytest
from applying import fix_all, lint
from contracts import Contract, contracts, probe_options

from onnxlint.base.records import Safety
from onnxlint.config.declared_models import ModelConfig
from onnxlint.rules.engine.registry import all_rules

ALL = contracts()
FIXED = [c for c in ALL if c.code in all_rules() and all_rules()[c.code].safety is not Safety.MANUAL]
# Remedies of forms that the contract's own example does not show.
OTHER_FORMS = {"ONX109", "ONX110", "ONX402", "ONX405"}
# With a batch of one, squeeze drops an axis more than it says.
NOT_ON_THE_WITNESS = {"ONX205"}
every_fixed = pytest.mark.parametrize("contract", FIXED, ids=[c.code for c in FIXED])


@pytest.mark.parametrize("contract", ALL, ids=[c.code for c in ALL])
def test_the_header_promises_a_remedy_where_the_rule_has_one(contract: Contract) -> None:
    rule = all_rules().get(contract.code)
    assert (contract.header["fix"] in ("safe", "unsafe")) == (rule is not None and rule.mends)


def written(contract: Contract, folder: Path) -> Path:
    path = folder / "bad.py"
    path.write_text(contract.source("bad"))
    return path


def declared(contract: Contract) -> tuple[ModelConfig, ...]:
    """The model of Bad with the dynamic axes that the contract declares, where it says how it is fed."""
    if "def example_inputs()" not in contract.source("bad"):
        return ()
    dynamic = probe_options(contract, "bad")["dynamic"]
    return (ModelConfig(factory="bad:Model", inputs="bad:example_inputs", dynamic=dynamic),)


@every_fixed
def test_bad_is_fixed_and_lints_clean(contract: Contract, tmp_path: Path) -> None:
    path = written(contract, tmp_path)
    fixed = fix_all(path, (contract.code,), models=declared(contract))
    if contract.code in OTHER_FORMS:
        assert fixed == [], "the example has a fix now: take the code out of OTHER_FORMS"
        return
    assert {f.code for f in fixed} == {contract.code}
    assert lint(tmp_path, (contract.code,), declared(contract)) == ()


def namespace(path: Path) -> types.ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def results(path: Path, inputs: list[Any]) -> list[Any]:
    """What Model gives in eval mode; None where eager raises."""
    import torch

    module = namespace(path)
    torch.manual_seed(0)
    model = module.Model().eval()
    found: list[Any] = []
    for given in inputs:
        torch.manual_seed(1)
        try:
            with torch.no_grad():
                given = copy.deepcopy(given)
                out = model(*given) if isinstance(given, tuple) else model(**given)
        except (RuntimeError, AssertionError, ValueError, IndexError):
            out = None
        found.append(out)
    return found


def inputs_of(contract: Contract) -> list[Any]:
    """The example and the witness of the contract."""
    scope: dict[str, Any] = {}
    exec(contract.source("bad").split("\nclass ")[0] + "\n" + contract.block("How it is confirmed"), scope)
    return [scope["example"], scope["witness"]]


@every_fixed
def test_eager_computes_the_same(contract: Contract, tmp_path: Path) -> None:
    """Bit for bit where the fix is safe, up to rounding where it is not; where eager raised, nothing is asked."""
    torch = pytest.importorskip("torch")
    if all_rules()[contract.code].changes_output:
        pytest.skip("the output changes, which is the point")
    path = written(contract, tmp_path)
    inputs = inputs_of(contract)
    before = results(path, inputs)
    path.unlink()
    path = written(contract, tmp_path)
    fixed = fix_all(path, (contract.code,), models=declared(contract))
    (tmp_path / "good.py").write_text(path.read_text())
    after = results(tmp_path / "good.py", inputs)
    safe = all(f.fix is not None and f.fix.safety is Safety.SAFE for f in fixed)

    def close(a: Any, b: Any) -> None:
        torch.testing.assert_close(a, b, rtol=0 if safe else 1e-5, atol=0 if safe else 1e-6, equal_nan=True)

    for old, new in list(zip(before, after, strict=True))[: 1 if contract.code in NOT_ON_THE_WITNESS else 2]:
        if old is not None:
            close(new, old)
