"""Observation, variations and graph differences on tiny models of transformers: one hazard, no false alarm."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from torch import nn

from onnxlint.base.probe_records import Probe
from onnxlint.base.records import EXPORTERS
from onnxlint.base.specs import parse_spec
from onnxlint.probes.examples.examples import example_inputs
from onnxlint.probes.examples.vary import variations
from onnxlint.probes.exporters.graph import canonical_jit, diff
from onnxlint.probes.observe.observe import divergences, observe

transformers = pytest.importorskip("transformers")

pytestmark = pytest.mark.slow

TOKENS = {"input_ids": "int64[batch, seq=9]"}
TEXT = {**TOKENS, "attention_mask": "int64[batch, seq=9]"}
IMAGE = {"pixel_values": "float32[batch, 3, 32, 32]"}


class Picked(nn.Module):
    """A model of transformers with a plain tensor for an output."""

    def __init__(self, model: nn.Module, output: str = "last_hidden_state", **options: Any) -> None:
        super().__init__()
        self.model, self.output, self.options = model.eval(), output, options

    def run(self, **inputs: Any) -> torch.Tensor:
        return getattr(self.model(**inputs, **self.options), self.output)  # type: ignore[no-any-return]


class Text(Picked):
    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor | None = None) -> torch.Tensor:
        return self.run(input_ids=input_ids, attention_mask=attention_mask)


class Image(Picked):
    def forward(self, pixel_values: torch.Tensor) -> torch.Tensor:
        return self.run(pixel_values=pixel_values)


def build(name: str) -> tuple[nn.Module, dict[str, str]]:
    torch.manual_seed(0)
    small = {"vocab_size": 100, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    if name == "bert":
        return Text(transformers.BertModel(transformers.BertConfig(**small, intermediate_size=37))), TEXT
    if name == "gpt2":
        sizes = {"vocab_size": 100, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}
        tokens = {"bos_token_id": 1, "eos_token_id": 2}
        model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes, **tokens))
        return Text(model, "logits", use_cache=False), TEXT
    if name == "swin":
        sizes = {"image_size": 32, "patch_size": 4, "embed_dim": 16, "window_size": 4}
        return Image(transformers.SwinModel(transformers.SwinConfig(**sizes, depths=[2, 2], num_heads=[2, 4]))), IMAGE
    moe = {"num_key_value_heads": 2, "intermediate_size": 64, "num_local_experts": 4, "num_experts_per_tok": 2}
    config = transformers.MixtralConfig(**small, **moe, max_position_embeddings=64)
    config._experts_implementation = "eager"
    return Text(transformers.MixtralModel(config), use_cache=False), TOKENS


def probe(specs: dict[str, str]) -> Probe:
    return Probe(
        name="real",
        factory="real:build",
        path="onnxlint.toml",
        line=1,
        source="config",
        inputs={name: parse_spec(text) for name, text in specs.items()},
        dynamic={},
        sizes={"batch": (3, 5)} | ({"seq": (4, 12)} if "input_ids" in specs else {}),
        vary=None,
        exporters=EXPORTERS,
        opset=18,
        search_path=(),
        root="",
        repro_dir="",
    )


@pytest.mark.parametrize("name", ["bert", "gpt2", "swin"])
def test_a_model_without_hazards_stays_on_one_path_under_every_variation(name: str) -> None:
    model, specs = build(name)
    specs = IMAGE if specs is IMAGE else TOKENS
    example = example_inputs(probe(specs), model)
    assert set(example.dynamic) == set(specs)
    with torch.no_grad():
        plain = model(*example.args, **example.kwargs)
    base = observe(model, example.args, example.kwargs)
    assert torch.equal(base.outputs, plain)
    others = [
        observe(model, v.args, v.kwargs)
        for v in variations(probe(specs), model, example)
        if not v.label.startswith(("values[zeros", "values[equal"))
    ]
    assert [str(other.error) for other in others if other.error is not None] == []
    assert [(d.kind, d.location, d.detail) for d in divergences(base, others)] == []


def test_the_shortcut_for_a_full_mask_is_the_only_branch_that_a_mask_moves() -> None:
    model, specs = build("bert")
    example = example_inputs(probe(specs), model)
    base = observe(model, example.args, example.kwargs)
    others = [observe(model, v.args, v.kwargs) for v in variations(probe(specs), model, example)]
    found = divergences(base, others)
    assert {d.location.path.rpartition("/")[2] for d in found} == {"masking_utils.py"}


def test_the_expert_loop_of_a_mixture_is_found_with_equal_tokens() -> None:
    model, specs = build("mixtral")
    example = example_inputs(probe(specs), model)
    base = observe(model, example.args, example.kwargs)
    others = {v.label: observe(model, v.args, v.kwargs) for v in variations(probe(specs), model, example)}
    found = divergences(base, [others["values[equal#7]"]])
    assert {d.kind for d in found} == {"branch", "escape"}
    assert {d.location.function for d in found} == {"MixtralExperts.forward"}


@pytest.mark.parametrize("name", ["bert", "gpt2", "swin"])
def test_traces_of_other_values_and_sizes_are_the_same_graph(name: str) -> None:
    model, specs = build(name)
    wanted = probe(specs)
    example = example_inputs(wanted, model)
    chosen = [v for v in variations(wanted, model, example) if v.label in ("values[normal#0]", "batch=3", "seq=12")]

    def traced(inputs: tuple[Any, ...]) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return canonical_jit(torch.jit.trace(model, inputs, check_trace=False).inlined_graph)

    first = traced(example.args)
    assert sum(node.location is not None for node in first) >= 0.99 * len(first)
    for variation in chosen:
        assert diff(first, traced(variation.args)) == (), variation.label
