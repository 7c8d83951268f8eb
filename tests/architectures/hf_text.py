"""Encoders and decoders of text from transformers, two layers of width 32 each."""

from __future__ import annotations

from typing import Any

import transformers as t
from net import TOKENS, Net, Text, Tokens, finder

WIDTH = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
SMALL: dict[str, Any] = {"vocab_size": 100, "intermediate_size": 64, **WIDTH}
GROUPED = {"num_key_value_heads": 2, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, **SMALL}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}


def encoder(name: str, **options: Any) -> Net:
    """A model that reads all tokens at once."""
    return Net(lambda: Text(_model(name, {**SMALL, **options})), TOKENS)


def decoder(name: str, **options: Any) -> Net:
    """A model that reads from left to right, without its cache of keys and values."""
    return Net(lambda: Text(_model(name, {**GROUPED, **options}), use_cache=False), TOKENS)


def only(name: str, **options: Any) -> Net:
    """A decoder that takes these options and no usual ones."""
    return Net(lambda: Text(_model(name, {"vocab_size": 100, **options}), use_cache=False), TOKENS)


def half(name: str, **options: Any) -> Net:
    """The encoder of a model that has two halves."""
    config = {"vocab_size": 100, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_ffn_dim": 64}
    heads = {"decoder_ffn_dim": 64, "encoder_attention_heads": 4, "decoder_attention_heads": 4}
    return Net(lambda: Text(_model(name, {**config, **heads, **options}).get_encoder()), TOKENS)


def _model(name: str, options: dict[str, Any]) -> Any:
    return getattr(t, name + "Model")(getattr(t, name + "Config")(**options))


def _t5() -> Text:
    return Text(t.T5EncoderModel(t.T5Config(vocab_size=100, d_model=32, num_layers=2, num_heads=4, d_kv=8, d_ff=64)))


def _umt5() -> Text:
    config = t.UMT5Config(vocab_size=100, d_model=32, num_layers=2, num_heads=4, d_kv=8, d_ff=64)
    return Text(t.UMT5EncoderModel(config))


NETS = {
    "bert": encoder("Bert"),
    "roberta": encoder("Roberta"),
    "xlm_roberta": encoder("XLMRoberta"),
    "distilbert": Net(
        lambda: Text(t.DistilBertModel(t.DistilBertConfig(vocab_size=100, dim=32, n_layers=2, n_heads=4))), TOKENS
    ),
    "electra": encoder("Electra", embedding_size=16),
    "albert": encoder("Albert", embedding_size=16),
    "deberta": encoder("Deberta", relative_attention=True, pos_att_type=["c2p", "p2c"]),
    "deberta_v2": encoder("DebertaV2", relative_attention=True, pos_att_type=["c2p", "p2c"], position_buckets=8),
    "mpnet": encoder("MPNet"),
    "xlnet": Net(
        lambda: Text(t.XLNetModel(t.XLNetConfig(vocab_size=100, d_model=32, n_layer=2, n_head=4, d_inner=64))), TOKENS
    ),
    "longformer": encoder("Longformer", attention_window=4),
    "big_bird": Net(
        encoder("BigBird", attention_type="block_sparse", block_size=4).build,
        {name: spec.replace("9", "48") for name, spec in TOKENS.items()},
    ),
    "convbert": encoder("ConvBert", embedding_size=16),
    "mobilebert": encoder("MobileBert", embedding_size=16, intra_bottleneck_size=32),
    "ernie": encoder("Ernie"),
    "roformer": encoder("RoFormer", embedding_size=32),
    "rembert": encoder("RemBert", input_embedding_size=16, output_embedding_size=16),
    "fnet": Net(lambda: Tokens(t.FNetModel(t.FNetConfig(**SMALL))), {"input_ids": TOKENS["input_ids"]}),
    "nystromformer": encoder("Nystromformer", num_landmarks=9, segment_means_seq_len=9, conv_kernel_size=3),
    "funnel": Net(
        lambda: Text(
            t.FunnelBaseModel(
                t.FunnelConfig(vocab_size=100, block_sizes=[1, 1], d_model=32, n_head=4, d_head=8, d_inner=64)
            )
        ),
        TOKENS,
    ),
    "squeezebert": encoder("SqueezeBert", embedding_size=32),
    "ibert": encoder("IBert"),
    "splinter": encoder("Splinter"),
    "modernbert": encoder("ModernBert", pad_token_id=0, reference_compile=False),
    "canine": Net(
        lambda: Text(t.CanineModel(t.CanineConfig(downsampling_rate=2, local_transformer_stride=4, **SMALL))),
        {name: spec.replace("9", "32") for name, spec in TOKENS.items()},
    ),
    "gpt2": only("GPT2", n_embd=32, n_layer=2, n_head=4, n_positions=64),
    "gpt_neo": only(
        "GPTNeo", hidden_size=32, num_layers=2, num_heads=4, attention_types=[[["global", "local"], 1]], window_size=4
    ),
    "gpt_neox": decoder("GPTNeoX"),
    "gptj": only("GPTJ", n_embd=32, n_layer=2, n_head=4, rotary_dim=4),
    "gpt_bigcode": only("GPTBigCode", n_embd=32, n_layer=2, n_head=4, n_positions=64),
    "codegen": only("CodeGen", n_embd=32, n_layer=2, n_head=4, rotary_dim=4),
    "opt": only("OPT", hidden_size=32, num_hidden_layers=2, num_attention_heads=4, ffn_dim=64, word_embed_proj_dim=32),
    "bloom": only("Bloom", hidden_size=32, n_layer=2, n_head=4),
    "falcon": only("Falcon", **WIDTH),
    "mpt": only("Mpt", d_model=32, n_layers=2, n_heads=4),
    "llama": decoder("Llama"),
    "mistral": decoder("Mistral", sliding_window=4),
    "mixtral": decoder("Mixtral", num_local_experts=4, num_experts_per_tok=2),
    "qwen2": decoder("Qwen2"),
    "qwen3": decoder("Qwen3", head_dim=8),
    "qwen2_moe": decoder("Qwen2Moe", shared_expert_intermediate_size=32, **EXPERTS),
    "qwen3_moe": decoder("Qwen3Moe", head_dim=8, **EXPERTS),
    "phi": decoder("Phi"),
    "phi3": decoder("Phi3"),
    "gemma": decoder("Gemma", head_dim=8),
    "gemma2": decoder("Gemma2", head_dim=8, sliding_window=4),
    "gemma3": Net(
        lambda: Text(t.Gemma3TextModel(t.Gemma3TextConfig(head_dim=8, sliding_window=4, **GROUPED)), use_cache=False),
        TOKENS,
    ),
    "cohere": decoder("Cohere"),
    "olmo": decoder("Olmo"),
    "olmo2": decoder("Olmo2"),
    "olmoe": decoder("Olmoe", num_experts=4, num_experts_per_tok=2),
    "stablelm": decoder("StableLm"),
    "starcoder2": decoder("Starcoder2"),
    "granite": decoder("Granite"),
    "nemotron": decoder("Nemotron"),
    "persimmon": decoder("Persimmon"),
    "smollm3": decoder("SmolLM3"),
    "deepseek_v3": decoder(
        "DeepseekV3",
        num_key_value_heads=4,
        n_routed_experts=4,
        num_experts_per_tok=2,
        n_group=2,
        topk_group=1,
        moe_intermediate_size=32,
        q_lora_rank=16,
        kv_lora_rank=16,
        qk_rope_head_dim=4,
        qk_nope_head_dim=4,
        v_head_dim=8,
        first_k_dense_replace=1,
        n_shared_experts=1,
    ),
    "mamba": only("Mamba", hidden_size=32, num_hidden_layers=2, state_size=4),
    "mamba2": only(
        "Mamba2", hidden_size=32, num_hidden_layers=2, state_size=4, num_heads=8, head_dim=8, n_groups=1, chunk_size=4
    ),
    "rwkv": Net(
        lambda: Tokens(
            t.RwkvModel(t.RwkvConfig(vocab_size=100, hidden_size=32, num_hidden_layers=2, context_length=64)),
            use_cache=False,
        ),
        {"input_ids": TOKENS["input_ids"]},
    ),
    "t5_encoder": Net(_t5, TOKENS),
    "umt5_encoder": Net(_umt5, TOKENS),
    "bart_encoder": half("Bart"),
    "mbart_encoder": half("MBart"),
    "pegasus_encoder": half("Pegasus"),
    "led_encoder": half("LED", attention_window=4),
    "m2m_100_encoder": half("M2M100"),
}
__getattr__ = finder(NETS)
