"""Tensors for declared specs: sizes for named dims, and values that a model can take."""

from __future__ import annotations

import torch

from onnxlint.base.probe_records import DimSpec, TensorSpec
from onnxlint.base.specs import parse_spec
from onnxlint.probes.examples.synthesis import choose_sizes, integer_range, tensors_for


def test_numbers_that_are_written_out_are_the_example() -> None:
    spec = TensorSpec("int64", (DimSpec("batch", 2), DimSpec(None, 2)), (5, 1, 4, 7))
    made = tensors_for({"lengths": spec}, {}, torch.nn.Identity())["lengths"]
    assert torch.equal(made, torch.tensor([[5, 1], [4, 7]]))


def test_unsized_names_get_sizes_that_no_other_dim_has() -> None:
    specs = {"a": parse_spec("float32[batch, 2, height, width, other]"), "b": parse_spec("float32[n=6, batch, more]")}
    sizes = choose_sizes(specs, {})
    assert len({*sizes.values(), 2, 6}) == len(sizes) + 1
    assert min(sizes.values()) >= 2
    assert sizes["height"] % 32 == sizes["width"] % 32 == 0


def test_integers_are_bounded_by_the_embedding_whose_name_fits() -> None:
    model = torch.nn.ModuleDict({"words": torch.nn.Embedding(50, 2), "user_embeddings": torch.nn.Embedding(7, 2)})
    assert integer_range("input_ids", model) == (0, 50)
    assert integer_range("user_ids", model) == (0, 7)
    assert integer_range("lengths", model)[0] == 1
    assert integer_range("x", torch.nn.Linear(2, 2))[1] <= 8


def test_tokens_are_not_bounded_by_the_positions_that_stand_before_them() -> None:
    places, tokens = torch.nn.Embedding(512, 2), torch.nn.Embedding(50, 2)
    model = torch.nn.ModuleDict({"position_embeddings": places, "embeddings": tokens})
    assert integer_range("x", model) == integer_range("input_ids", model) == (0, 50)
    assert integer_range("position_ids", model) == (0, 512)
    assert integer_range("x", torch.nn.ModuleDict({"positions": places})) == (0, 512)
