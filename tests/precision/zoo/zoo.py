"""More tiny models of transformers with random weights: what the static pass says of them is held against evidence."""

import torch
import transformers as t
from torch import nn

SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
TEXT = {"vocab_size": 100, **SMALL}
PIXELS = {"image_size": 32, "patch_size": 8, **SMALL}


class Text(nn.Module):
    """Token ids and their mask in, hidden states out."""

    def __init__(self, model: nn.Module, **options: bool) -> None:
        super().__init__()
        self.model = model
        self.options = options

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids=input_ids, attention_mask=attention_mask, **self.options)[0]


class One(nn.Module):
    """One tensor in, hidden states out."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.model(x)[0]


def text(model: nn.Module, **options: bool) -> nn.Module:
    return Text(model, **options).eval()


def one(model: nn.Module) -> nn.Module:
    return One(model).eval()


def distilbert() -> nn.Module:
    return text(t.DistilBertModel(t.DistilBertConfig(vocab_size=100, dim=32, n_layers=2, n_heads=4, hidden_dim=64)))


def deberta_v2() -> nn.Module:
    return text(
        t.DebertaV2Model(
            t.DebertaV2Config(relative_attention=True, pos_att_type=["c2p", "p2c"], position_buckets=8, **TEXT)
        )
    )


def mpnet() -> nn.Module:
    return text(t.MPNetModel(t.MPNetConfig(**TEXT)))


def xlnet() -> nn.Module:
    return text(t.XLNetModel(t.XLNetConfig(vocab_size=100, d_model=32, n_layer=2, n_head=4, d_inner=64)))


def longformer() -> nn.Module:
    return text(t.LongformerModel(t.LongformerConfig(attention_window=4, **TEXT)))


def big_bird() -> nn.Module:
    return text(t.BigBirdModel(t.BigBirdConfig(attention_type="block_sparse", block_size=4, **TEXT)))


def llama() -> nn.Module:
    return text(t.LlamaModel(t.LlamaConfig(num_key_value_heads=2, **TEXT)), use_cache=False)


def falcon() -> nn.Module:
    return text(
        t.FalconModel(t.FalconConfig(vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=4)),
        use_cache=False,
    )


def bloom() -> nn.Module:
    return text(t.BloomModel(t.BloomConfig(vocab_size=100, hidden_size=32, n_layer=2, n_head=4)), use_cache=False)


def mamba() -> nn.Module:
    config = t.MambaConfig(vocab_size=100, hidden_size=32, num_hidden_layers=2, state_size=4)
    return text(t.MambaModel(config), use_cache=False)


def olmoe() -> nn.Module:
    config = t.OlmoeConfig(num_experts=4, num_experts_per_tok=2, num_key_value_heads=4, **TEXT)
    return text(t.OlmoeModel(config), use_cache=False)


def bart_encoder() -> nn.Module:
    config = t.BartConfig(vocab_size=100, d_model=32, encoder_layers=2, encoder_attention_heads=4, encoder_ffn_dim=64)
    return text(t.BartModel(config).get_encoder())


def deit() -> nn.Module:
    return one(t.DeiTModel(t.DeiTConfig(**PIXELS)))


def beit() -> nn.Module:
    return one(t.BeitModel(t.BeitConfig(**PIXELS)))


def dinov2() -> nn.Module:
    return one(t.Dinov2Model(t.Dinov2Config(**PIXELS)))


def mobilevit() -> nn.Module:
    return one(t.MobileViTModel(t.MobileViTConfig(image_size=64, patch_size=2, hidden_sizes=[16, 24, 32])))


def swinv2() -> nn.Module:
    return one(t.Swinv2Model(t.Swinv2Config(image_size=32, patch_size=4, embed_dim=16, depths=[2], num_heads=[2])))


def donut_swin() -> nn.Module:
    config = t.DonutSwinConfig(image_size=32, patch_size=4, embed_dim=16, depths=[2], num_heads=[2], window_size=4)
    return one(t.DonutSwinModel(config))


def wav2vec2() -> nn.Module:
    config = t.Wav2Vec2Config(
        conv_dim=(16, 16), conv_stride=(4, 4), conv_kernel=(8, 8), num_conv_pos_embeddings=4,
        num_conv_pos_embedding_groups=2, num_feat_extract_layers=2, **SMALL,
    )  # fmt: skip
    return one(t.Wav2Vec2Model(config))


def encodec() -> nn.Module:
    return one(t.EncodecModel(t.EncodecConfig(num_filters=4, hidden_size=16, codebook_size=16, codebook_dim=16)))


def patchtst() -> nn.Module:
    config = t.PatchTSTConfig(
        num_input_channels=2, context_length=32, patch_length=8, patch_stride=8, d_model=16, num_attention_heads=2
    )
    return one(t.PatchTSTModel(config))
