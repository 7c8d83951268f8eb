"""Arguments of a factory: what is built of them, and how a script spells them."""

from __future__ import annotations

from fractions import Fraction

from onnxlint.probes.examples.factory_arguments import build, spell


def test_a_script_spells_the_arguments_that_build_the_same() -> None:
    arguments = {
        "dim": 3,
        "depth": [1, 2],
        "config": {"_target_": "fractions:Fraction", "numerator": 1, "denominator": 2},
    }
    namespace: dict[str, object] = {}
    exec(f"import importlib\nmade = dict({spell(arguments)})", namespace)
    assert namespace["made"] == build(arguments) == {"dim": 3, "depth": (1, 2), "config": Fraction(1, 2)}
