"""Tiny models with random weights from transformers, with inputs and dynamic axes: what the benchmarks probe."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn


@dataclass(frozen=True)
class Case:
    """A model by its factory, and by parameter of its forward: the example, and which axes are dynamic."""

    factory: str
    inputs: str
    dynamic: dict[str, dict[int, str]]


_TOKENS = {"x": {0: "batch", 1: "length"}}
_BATCH = {"x": {0: "batch"}}
CASES = {
    "BERT": Case("tiny_models:bert", "tiny_models:tokens", {"x": {0: "batch", 1: "length"}}),
    "GPT-2": Case("tiny_models:gpt2", "tiny_models:tokens", {"x": {0: "batch", 1: "length"}}),
    "ViT": Case("tiny_models:vit", "tiny_models:pixels", {"x": {0: "batch"}}),
    "ConvNeXt": Case("tiny_models:convnext", "tiny_models:pixels", {"x": {0: "batch"}}),
    "DistilBERT": Case("tiny_models:distilbert", "tiny_models:tokens", _TOKENS),
    "ALBERT": Case("tiny_models:albert", "tiny_models:tokens", _TOKENS),
    "Llama": Case("tiny_models:llama", "tiny_models:tokens", _TOKENS),
    "T5 encoder": Case("tiny_models:t5_encoder", "tiny_models:tokens", _TOKENS),
    "ResNet": Case("tiny_models:resnet", "tiny_models:pixels", _BATCH),
    "DeiT": Case("tiny_models:deit", "tiny_models:pixels", _BATCH),
    "CLIP vision": Case("tiny_models:clip_vision", "tiny_models:pixels", _BATCH),
    "MobileNetV2": Case("tiny_models:mobilenet", "tiny_models:pixels", _BATCH),
}


class Core(nn.Module):
    """One tensor in, the last hidden state out: the many defaults of these forwards are more than TorchScript takes."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.model(x).last_hidden_state


class Masked(Core):
    """The same with a mask of ones: without one, GPT-2 looks for packed sequences, which TorchScript cannot export."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.model(x, attention_mask=torch.ones_like(x)).last_hidden_state


def seeded(build: Callable[[], nn.Module]) -> nn.Module:
    """Build a model in evaluation mode, with the same weights every time."""
    torch.manual_seed(0)
    return build().eval()


def bert() -> nn.Module:
    """BERT with 2 layers of width 32."""
    from transformers import BertConfig, BertModel

    config = BertConfig(vocab_size=99, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=37)
    return seeded(lambda: Masked(BertModel(config)))


def gpt2() -> nn.Module:
    """GPT-2 with 2 layers of width 32, without its cache of keys and values."""
    from transformers import GPT2Config, GPT2Model

    config = GPT2Config(vocab_size=99, n_positions=64, n_embd=32, n_layer=2, n_head=4, use_cache=False)
    return seeded(lambda: Masked(GPT2Model(config)))


def vit() -> nn.Module:
    """ViT with 2 layers of width 32 on 32 × 32 pixels."""
    from transformers import ViTConfig, ViTModel

    config = ViTConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=37,
        image_size=32,
        patch_size=8,
    )
    return seeded(lambda: Core(ViTModel(config)))


def convnext() -> nn.Module:
    """ConvNeXt with 4 stages of one or two blocks."""
    from transformers import ConvNextConfig, ConvNextModel

    config = ConvNextConfig(hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 2, 1])
    return seeded(lambda: Core(ConvNextModel(config)))


def distilbert() -> nn.Module:
    """DistilBERT with 2 layers of width 32."""
    from transformers import DistilBertConfig, DistilBertModel

    config = DistilBertConfig(vocab_size=99, dim=32, n_layers=2, n_heads=4, hidden_dim=37)
    return seeded(lambda: Masked(DistilBertModel(config)))


def albert() -> nn.Module:
    """ALBERT with 2 layers of width 32 that share their weights."""
    from transformers import AlbertConfig, AlbertModel

    config = AlbertConfig(
        vocab_size=99,
        embedding_size=16,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=37,
    )
    return seeded(lambda: Masked(AlbertModel(config)))


def llama() -> nn.Module:
    """Llama with 2 layers of width 32, without its cache of keys and values."""
    from transformers import LlamaConfig, LlamaModel

    config = LlamaConfig(
        vocab_size=99,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=37,
        use_cache=False,
    )
    return seeded(lambda: Masked(LlamaModel(config)))


def t5_encoder() -> nn.Module:
    """The encoder of T5 with 2 layers of width 32."""
    from transformers import T5Config, T5EncoderModel

    config = T5Config(vocab_size=99, d_model=32, num_layers=2, num_heads=4, d_kv=8, d_ff=37)
    return seeded(lambda: Masked(T5EncoderModel(config)))


def resnet() -> nn.Module:
    """ResNet with 4 stages of one or two basic layers."""
    from transformers import ResNetConfig, ResNetModel

    config = ResNetConfig(embedding_size=8, hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 2, 1], layer_type="basic")
    return seeded(lambda: Core(ResNetModel(config)))


def deit() -> nn.Module:
    """DeiT with 2 layers of width 32 on 32 × 32 pixels."""
    from transformers import DeiTConfig, DeiTModel

    config = DeiTConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=37,
        image_size=32,
        patch_size=8,
    )
    return seeded(lambda: Core(DeiTModel(config)))


def clip_vision() -> nn.Module:
    """The image tower of CLIP with 2 layers of width 32."""
    from transformers import CLIPVisionConfig, CLIPVisionModel

    config = CLIPVisionConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=37,
        image_size=32,
        patch_size=8,
    )
    return seeded(lambda: Core(CLIPVisionModel(config)))


def mobilenet() -> nn.Module:
    """MobileNetV2 with a tenth of its channels."""
    from transformers import MobileNetV2Config, MobileNetV2Model

    config = MobileNetV2Config(image_size=32, depth_multiplier=0.35)
    return seeded(lambda: Core(MobileNetV2Model(config)))


def tokens() -> dict[str, torch.Tensor]:
    """Three sentences of seven tokens."""
    return {"x": torch.randint(0, 99, (3, 7), generator=torch.Generator().manual_seed(0))}


def pixels() -> dict[str, torch.Tensor]:
    """Three images."""
    return {"x": torch.randn(3, 3, 32, 32, generator=torch.Generator().manual_seed(0))}
