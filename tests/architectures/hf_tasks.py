"""Detection, segmentation, encoders with decoders, forecasting, experts and recurrent models of transformers."""

from __future__ import annotations

from typing import Any

import torch
import transformers as t
from net import TOKENS, Net, One, Text, Tokens, finder, image
from torch import nn

SMALL: dict[str, Any] = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
WORDS: dict[str, Any] = {
    "vocab_size": 100,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
BOTH: dict[str, Any] = {
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
}
DETECTION: dict[str, Any] = {
    **BOTH,
    "use_timm_backbone": False,
    "use_pretrained_backbone": False,
    "backbone": None,
    "num_queries": 7,
}
SERIES: dict[str, Any] = {**BOTH, "prediction_length": 4, "context_length": 8, "lags_sequence": [1, 2], "input_size": 1}
SERIES["num_time_features"] = 1


class Pair(nn.Module):
    """The tokens of an encoder and those of its decoder in, the decoder's states out."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: torch.Tensor, decoder_input_ids: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids=input_ids, decoder_input_ids=decoder_input_ids, use_cache=False)[0]


class Forecast(nn.Module):
    """A series and its past in, the states of the decoder out."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, past_values: torch.Tensor, past_time_features: torch.Tensor) -> torch.Tensor:
        seen = torch.ones_like(past_values)
        return self.model(past_values, past_time_features, seen)[0]


def of(name: str, inputs: dict[str, str], kind: str = "Model", **options: Any) -> Net:
    """One tensor in."""
    return Net(lambda: One(getattr(t, name + kind)(getattr(t, name + "Config")(**options))), inputs)


def tokens(name: str, kind: str = "Model", **options: Any) -> Net:
    """Tokens and their mask in."""

    def build() -> nn.Module:
        return Text(getattr(t, name + kind)(getattr(t, name + "Config")(**{**WORDS, **options})), use_cache=False)

    return Net(build, TOKENS)


def pair(name: str, **options: Any) -> Net:
    """An encoder and a decoder."""

    def build() -> nn.Module:
        return Pair(getattr(t, name + "Model")(getattr(t, name + "Config")(**{**WORDS, **options})))

    return Net(build, {"input_ids": "int64[batch, tokens=9]", "decoder_input_ids": "int64[batch, steps=5]"})


def forecast(name: str, **options: Any) -> Net:
    """A transformer of time series."""
    inputs = {"past_values": "float32[batch, 10]", "past_time_features": "float32[batch, 10, 1]"}
    return Net(lambda: Forecast(getattr(t, name + "Model")(getattr(t, name + "Config")(**SERIES, **options))), inputs)


def resnet() -> Any:
    """The backbone of detectors."""
    return t.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1], out_features=["stage2", "stage3", "stage4"]
    )


def detector(name: str, side: int = 64, **options: Any) -> Net:
    """Boxes over a small ResNet."""

    def build() -> nn.Module:
        config = getattr(t, name + "Config")(**{**DETECTION, "backbone_config": resnet(), **options})
        return One(getattr(t, name + "ForObjectDetection")(config))

    return Net(build, image(side))


NETS = {
    "detr": detector("Detr"),
    "conditional_detr": detector("ConditionalDetr"),
    "deformable_detr": detector("DeformableDetr", num_feature_levels=3),
    "rt_detr": Net(
        lambda: One(
            t.RTDetrForObjectDetection(
                t.RTDetrConfig(
                    backbone_config=t.RTDetrResNetConfig(
                        embedding_size=8,
                        hidden_sizes=[8, 16, 24, 32],
                        depths=[1, 1, 1, 1],
                        layer_type="basic",
                        out_features=["stage2", "stage3", "stage4"],
                    ),
                    encoder_hidden_dim=32,
                    encoder_in_channels=[16, 24, 32],
                    encoder_ffn_dim=64,
                    encoder_attention_heads=4,
                    d_model=32,
                    num_queries=10,
                    decoder_in_channels=[32, 32, 32],
                    decoder_ffn_dim=64,
                    decoder_layers=2,
                    decoder_attention_heads=4,
                    anchor_image_size=None,
                )
            )
        ),
        image(64),
    ),
    "dpt": of(
        "DPT",
        image(32),
        "ForDepthEstimation",
        image_size=32,
        patch_size=8,
        backbone_out_indices=[0, 1],
        neck_hidden_sizes=[8, 16],
        fusion_hidden_size=16,
        reassemble_factors=[2, 1],
        is_hybrid=False,
        **SMALL,
    ),
    "upernet": Net(
        lambda: One(
            t.UperNetForSemanticSegmentation(
                t.UperNetConfig(
                    backbone_config=t.ConvNextConfig(
                        hidden_sizes=[8, 16, 24, 32],
                        depths=[1, 1, 1, 1],
                        out_features=["stage1", "stage2", "stage3", "stage4"],
                    ),
                    hidden_size=32,
                    use_auxiliary_head=False,
                    num_labels=3,
                )
            )
        ),
        image(64),
    ),
    "sam_vision": of(
        "SamVision",
        image(64),
        image_size=64,
        patch_size=8,
        output_channels=16,
        window_size=4,
        global_attn_indexes=[1],
        **SMALL,
    ),
    "t5": pair("T5", d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, decoder_start_token_id=0),
    "bart": pair("Bart", **BOTH),
    "marian": pair("Marian", **BOTH, decoder_start_token_id=0),
    "prophetnet": pair(
        "ProphetNet",
        hidden_size=32,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        num_encoder_layers=2,
        num_decoder_layers=2,
        num_encoder_attention_heads=4,
        num_decoder_attention_heads=4,
    ),
    "switch": pair(
        "SwitchTransformers",
        d_model=32,
        d_kv=8,
        d_ff=64,
        num_layers=2,
        num_decoder_layers=2,
        num_heads=4,
        num_experts=4,
        decoder_start_token_id=0,
    ),
    "informer": forecast("Informer"),
    "autoformer": forecast("Autoformer"),
    "series_transformer": forecast("TimeSeriesTransformer"),
    "wav2vec2_bert": of(
        "Wav2Vec2Bert", {"x": "float32[batch, frames=12, 16]"}, feature_projection_input_dim=16, **SMALL
    ),
    "phimoe": tokens("Phimoe", num_key_value_heads=2, num_local_experts=4, **SMALL),
    "gpt_oss": tokens("GptOss", num_key_value_heads=2, head_dim=8, num_local_experts=4, **SMALL),
    "jamba": tokens("Jamba", num_key_value_heads=2, use_mamba_kernels=False, mamba_d_state=4, num_experts=2, **SMALL),
    "falcon_mamba": Net(
        lambda: Tokens(
            t.FalconMambaModel(t.FalconMambaConfig(vocab_size=100, hidden_size=32, num_hidden_layers=2, state_size=4)),
            use_cache=False,
        ),
        {"input_ids": "int64[batch, tokens=9]"},
    ),
    "recurrent_gemma": tokens(
        "RecurrentGemma", num_key_value_heads=2, lru_width=32, attention_window_size=8, head_dim=8, **SMALL
    ),
    "xlstm": Net(
        lambda: Tokens(
            t.xLSTMModel(
                t.xLSTMConfig(vocab_size=100, hidden_size=32, embedding_dim=32, num_hidden_layers=2, num_heads=4)
            ),
            use_cache=False,
        ),
        {"input_ids": "int64[batch, tokens=9]"},
    ),
    "lfm2": tokens("Lfm2", num_key_value_heads=2, **SMALL),
}
__getattr__ = finder(NETS)
