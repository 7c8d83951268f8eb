"""Variations: which there are, and that their values stay what the example's are."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from onnxlint.base.probe_records import Probe
from onnxlint.base.records import EXPORTERS
from onnxlint.probes.examples.examples import ProbeFailure
from onnxlint.probes.examples.value_domains import Mode
from onnxlint.probes.examples.vary import Variation, size_changes, telling, variations
from onnxlint.probes.exporters import Example

MODES: tuple[Mode, ...] = get_args(Mode)


def probe(**changes: Any) -> Probe:
    made: dict[str, Any] = {"name": "m", "factory": "m:f", "path": "p", "line": 1, "source": "config", "opset": 18}
    made |= {"inputs": None, "dynamic": {}, "sizes": {}, "vary": None, "exporters": EXPORTERS, "search_path": ()}
    made |= {"root": "", "repro_dir": ""}
    return Probe(**(made | changes))


def vary(*args: Any, dynamic: dict[str, dict[int, str]] | None = None, **changes: Any) -> dict[str, Variation]:
    names = tuple("abcd"[: len(args)])
    example = Example(args, {}, names, dynamic or {})
    return {v.label: v for v in variations(probe(**changes), torch.nn.Identity(), example)}


def test_values_come_in_modes_and_sizes_one_at_a_time_and_together() -> None:
    by_label = vary(torch.randn(2, 7, 3), torch.randn(7), dynamic={"a": {0: "batch", 1: "seq"}, "b": {0: "seq"}})
    assert list(by_label) == [
        "values[normal#0]",
        "values[normal#1]",
        "values[scaled#2]",
        "values[negative#3]",
        "values[positive#4]",
        "values[small#5]",
        "values[zeros#6]",
        "values[equal#7]",
        "values[huge#12]",
        "values[constant#13]",
        "batch=1",
        "batch=3",
        "batch=5",
        "seq=1",
        "seq=3",
        "seq=5",
        "all-sizes",
        "layout[strided]",
        "layout[expanded]",
    ]
    assert {v.kind for label, v in by_label.items() if label.startswith("values")} == {"values"}
    assert [label for label, v in by_label.items() if v.scout] == [
        "values[huge#12]",
        "values[constant#13]",
        "layout[strided]",
        "layout[expanded]",
    ]
    assert [tuple(t.shape) for t in by_label["seq=3"].args] == [(2, 3, 3), (3,)]
    assert [tuple(t.shape) for t in by_label["all-sizes"].args] == [(5, 5, 3), (5,)]
    assert by_label["all-sizes"].sizes == {"batch": 5, "seq": 5}


def test_declared_sizes_replace_the_usual_ones_and_the_examples_own_is_not_tried_again() -> None:
    by_label = vary(torch.randn(4, 3), dynamic={"a": {0: "n"}}, sizes={"n": (4, 20, 4, 8)})
    assert [label for label, v in by_label.items() if v.kind == "sizes"] == ["n=20", "n=8"]


@given(
    st.dictionaries(st.sampled_from("xyz"), st.integers(1, 9)),
    st.dictionaries(st.sampled_from("xyz"), st.lists(st.integers(1, 9), max_size=7).map(tuple)),
)
def test_every_change_of_size_changes_something_and_only_declared_dims(
    sizes: dict[str, int], declared: dict[str, tuple[int, ...]]
) -> None:
    seen = []
    for label, changed in size_changes(sizes, declared):
        assert changed.keys() == sizes.keys()
        different = {dim for dim in sizes if changed[dim] != sizes[dim]}
        assert len(different) > 1 if label == "all-sizes" else len(different) == 1 or label == "small-sizes"
        assert different
        assert label != "equal-sizes" or len(set(changed.values())) < len(changed)
        seen.append(label)
    assert len(seen) == len(set(seen)) <= 4 * len(sizes) + 3


def test_long_dims_are_made_short_once_unless_their_sizes_are_declared() -> None:
    assert dict(size_changes({"n": 2, "h": 64, "w": 96}, {}))["small-sizes"] == {"n": 2, "h": 8, "w": 12}
    assert dict(size_changes({"n": 2, "h": 64, "w": 96}, {"w": (128,)}))["small-sizes"] == {"n": 2, "h": 8, "w": 96}
    assert "small-sizes" not in dict(size_changes({"n": 2, "h": 64}, {"h": (128,)}))


def test_two_dims_of_a_like_size_are_made_equal_once() -> None:
    by_label = vary(torch.randn(2, 64, 96), dynamic={"a": {0: "n", 1: "h", 2: "w"}})
    assert by_label["equal-sizes"].sizes == {"n": 2, "h": 96, "w": 96}
    assert "equal-sizes" not in vary(torch.randn(2, 64), dynamic={"a": {0: "n", 1: "length"}})


def test_masks_are_varied_alone_full_empty_and_ragged() -> None:
    x, mask = torch.randn(3, 4), torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0], [1, 1, 0, 0]])
    by_label = vary(x, mask)
    rows = {mode: by_label[f"values[{mode}#{seed}]"] for mode, seed in (("full", 8), ("empty", 9), ("ragged", 10))}
    assert all(torch.equal(v.args[0], x) and v.args[1].dtype == mask.dtype for v in rows.values())
    assert {mode: v.args[1].sum(-1).tolist() for mode, v in rows.items()} == {
        "full": [4, 4, 4],
        "empty": [0, 0, 0],
        "ragged": [1, 2, 3],
    }
    assert not any("full" in label for label in vary(x))


def test_the_first_and_the_last_index_are_tried() -> None:
    model = torch.nn.Embedding(50, 4)
    example = Example((torch.ones(2, 8, dtype=torch.int64),), {}, ("ids",))
    (edges,) = (v.args[0] for v in variations(probe(), model, example) if v.label == "values[edges#11]")
    assert set(edges.unique().tolist()) == {0, 49}


def test_extreme_values_are_finite_in_half_precision_too() -> None:
    for scale in (1e-3, 1.0, 60.0):
        torch.manual_seed(4)
        extreme = vary((torch.randn(4, 9) * scale).half())["values[huge#12]"].args[0]
        assert bool(extreme.isfinite().all())
        assert float(extreme.float().abs().max()) > 1e3


def test_layouts_keep_the_values_or_the_rows() -> None:
    x = torch.randn(3, 4, 5)
    by_label = vary(x)
    strided, expanded = (by_label[f"layout[{name}]"].args[0] for name in ("strided", "expanded"))
    assert torch.equal(strided, x)
    assert not strided.is_contiguous()
    assert expanded.stride(0) == 0
    assert torch.equal(expanded, x[:1].expand(3, 4, 5))


def test_ranges_hold_for_every_variation_of_values() -> None:
    for variation in vary(torch.rand(4, 9), ranges={"a": (0.0, 1.0)}).values():
        assert float(variation.args[0].min()) >= 0, variation.label
        assert float(variation.args[0].max()) <= 1, variation.label


def test_an_image_stays_in_range_in_most_variations_and_leaves_it_in_some() -> None:
    image = torch.rand(2, 3, 8, 8) * 0.9
    by_label = {label: v.args[0] for label, v in vary(image).items()}
    inside = [label for label, x in by_label.items() if float(x.min()) >= 0 and float(x.max()) <= 1]
    assert {"values[normal#0]", "values[normal#1]", "values[positive#4]", "values[small#5]"} <= set(inside)
    assert float(by_label["values[scaled#2]"].max()) > 100
    assert float(by_label["values[negative#3]"].max()) <= 0


def test_containers_keep_their_structure_and_plain_values_stay() -> None:
    by_label = vary([torch.randn(2), {"k": (torch.ones(3), 4)}], True, None, 0.5)["values[normal#0]"]
    assert by_label.args[1:] == (True, None, 0.5)
    first, second = by_label.args[0]
    assert (tuple(first.shape), second["k"][1]) == ((2,), 4)


def test_one_tensor_passed_twice_stays_one_tensor() -> None:
    x = torch.randn(2, 3)
    for variation in vary(x, x, dynamic={"a": {0: "n"}, "b": {0: "n"}}).values():
        assert variation.args[0] is variation.args[1]


def test_variations_are_the_same_every_time() -> None:
    x = torch.randn(2, 3)
    one, two = vary(x), vary(x)
    assert all(torch.equal(one[label].args[0], two[label].args[0]) for label in one)


def test_scaling_brings_small_signals_to_a_common_scale() -> None:
    by_label = vary(torch.randn(2, 100) * 0.001)
    assert 1 < float(by_label["values[scaled#2]"].args[0].std()) < 10


def test_the_most_telling_inputs_are_other_values_and_every_dim_once() -> None:
    example = {"batch": 2, "length": 7}
    values = [Variation(f"values {k}", (), {}, example) for k in range(8)]
    sizes = [
        Variation(f"{dim}={size}", (), {}, {**example, dim: size}, "sizes") for dim in example for size in (1, 3, 5)
    ]
    chosen = [change.label for change in telling([*values, *sizes], 6)]
    assert chosen == ["values 0", "batch=1", "values 1", "length=1", "values 2", "batch=3"]


@pytest.fixture
def module(tmp_path: Path) -> Iterator[Path]:
    path = list(sys.path)
    yield tmp_path / "varied.py"
    sys.path[:] = path
    sys.modules.pop("varied", None)


def test_the_users_own_vary_is_asked_for_every_mode_and_size(module: Path) -> None:
    module.write_text("def vary(sizes, seed, mode):\n    return sizes['n'], seed, mode\n")
    changes = {"vary": "varied:vary", "search_path": (str(module.parent),)}
    by_label = vary(torch.ones(2), dynamic={"a": {0: "n"}}, **changes)
    assert [v.args for label, v in by_label.items() if label.startswith("values")] == [
        (2, 0, "normal"),
        (2, 1, "normal"),
        (2, 2, "scaled"),
        (2, 3, "negative"),
        (2, 4, "positive"),
        (2, 5, "small"),
    ]
    assert [by_label[label].args[0] for label in ("n=1", "n=3", "n=5")] == [1, 3, 5]


def test_a_vary_that_fails_in_one_mode_loses_that_variation_and_says_so(module: Path) -> None:
    module.write_text(
        "def vary(sizes, seed, mode):\n    return {'small': 1}.get(mode) or (sizes['n'] / (mode != 'scaled'),)\n"
    )
    lost: list[str] = []
    model, example = torch.nn.Identity(), Example((torch.ones(2),), {}, ("a",), {"a": {0: "n"}})
    asked = probe(vary="varied:vary", search_path=(str(module.parent),), root=str(module.parent))
    labels = [v.label for v in variations(asked, model, example, lost)]
    assert "values[negative#3]" in labels
    assert [text.partition(" was")[0] for text in lost] == ["values[scaled#2]", "values[small#5]"]
    assert "ZeroDivisionError" in lost[0]
    assert "returned a `int`" in lost[1]


def test_a_vary_that_always_fails_is_a_probe_failure_at_its_line(module: Path) -> None:
    module.write_text("def vary(sizes, seed, mode):\n    raise KeyError('seq')\n")
    with pytest.raises(ProbeFailure) as caught:
        vary(torch.ones(2), vary="varied:vary", search_path=(str(module.parent),), root=str(module.parent))
    assert "KeyError: 'seq'" in caught.value.reason
    assert caught.value.location is not None
    assert (caught.value.location.path, caught.value.location.line) == ("varied.py", 2)
