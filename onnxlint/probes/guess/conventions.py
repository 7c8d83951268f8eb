"""What names mean by convention: parameters of `forward` and of constructors, axes, keys of a configuration."""

import re
from typing import Any

BATCH = 2
LENGTH = 8
LENGTHS = (LENGTH, 16, 12, 7, 32, 64)
SIDES = ((64, 64), (32, 32), (16, 16), (224, 224), (8, 8), (7, 7), (14, 14), (128, 128), (256, 256))
SAMPLES = 4000

TOKENS = re.compile(r"(^|_)(ids?|idx|tokens?|src|tgt|text|texts|words?|indices|captions?|prompts?|input_seq)$")
MASK = re.compile(r"(^|_)masks?$|^mask")
IMAGE = re.compile(r"(^|_)(images?|imgs?|pixel_values|pixels|picture|photo|rgb|depth_map)$")
VIDEO = re.compile(r"(^|_)(videos?|clips?|frames)$")
AUDIO = re.compile(r"(^|_)(audio|wave|waveforms?|wav|speech|input_values|samples)$")
SPECTRUM = re.compile(r"(^|_)(input_features|mels?|spectrograms?|spec)$")
LENGTH_OF = re.compile(r"(^|_)(len|lens|length|lengths)$")
TIME = re.compile(r"^(t|timesteps?|time|times|time_steps?|sigmas?|noise_levels?|log_snr)$")
CLASS = re.compile(r"(^|_)(class|classes|class_labels?|labels?|y|target|targets)$")
PAIR = re.compile(r"(^|_)(shape|size|hw|resolution|grid|spatial_shape|spatial_size)$")
HEIGHT = re.compile(r"^(h|height|patch_height)$", re.IGNORECASE)
WIDTH = re.compile(r"^(w|width|patch_width)$", re.IGNORECASE)
PAST = re.compile(
    r"^(past|prev(ious)?|cached?)_|_(cache|past)$|^(kv?|v|key|value)cache$|^(cache|past)([kv]|(key|value)s?)?$"
)
STATE = re.compile(r"^([hc](x|_?[0n]|_prev)?|hidden|cell|((hidden|cell|memory)_)?state)$")
POSITION = re.compile(r"(^|_)(position_ids|positions?|pos)$")

ANSWER = re.compile(r"^(?!class_)(\w*_)?(labels?|label_ids|targets?)$|^(start|end)_positions$")

FIRST = ("input_ids", "pixel_values", "input_values", "input_features", "inputs_embeds", "hidden_states", "x", "input")
FIXED = {"use_cache": False}  # a cache in the output is no tensor: what is exported leaves it out

IMAGE_SIZE = ("image_size", "img_size", "input_size", "resolution", "input_resolution", "size")
CHANNELS = ("num_channels", "in_channels", "in_chans", "channels", "input_channels", "in_chs", "num_input_channels")
FRAMES = ("frames", "num_frames", "n_frames")
WIDTHS = (
    *("hidden_size", "d_model", "dim", "embed_dim", "n_embd", "model_dim", "input_dim", "in_features", "in_dim"),
    *("embedding_dim", "input_size", "num_features", "hidden_dim", "emb_dim", "d_in"),
)
HEADS = (
    *("num_key_value_heads", "num_kv_heads", "kv_heads", "n_kv_heads", "num_attention_heads"),
    *("num_heads", "n_heads", "heads", "n_head", "nhead"),
)
HEAD_WIDTHS = ("head_dim", "dim_head", "head_size", "d_head", "hd", "d_k")
LONGEST = (
    *("max_position_embeddings", "n_positions", "max_seq_len", "seq_len", "context_length", "block_size", "max_len"),
)
BANDS = ("num_mel_bins", "n_mels", "feature_size", "input_feat_per_channel", "num_mels")


def _by_name(*rows: tuple[Any, str]) -> dict[str, Any]:
    return {name: value for value, names in rows for name in names.split()}


# Constructor arguments by name: small, and such that they fit each other.
ARGUMENTS: dict[str, Any] = _by_name(
    (32, "dim embed_dim d_model hidden_size hidden_dim model_dim n_embd emb_dim in_features out_features in_dim"),
    (32, "out_dim input_dim output_dim latent_dim in_chs out_chs num_features planes inplanes channel"),
    (32, "embedding_dim dims out_channels feature_dim features width query_dim cond_dim encoder_dim context_dim"),
    (32, "key_dim value_dim decoder_dim dim_in dim_out emb_size"),
    (64, "mlp_dim dim_feedforward intermediate_size hidden_features ffn_dim ff_dim"),
    (4, "heads num_heads nhead n_heads n_head num_attention_heads"),
    (2, "depth num_layers n_layers layers n_layer num_hidden_layers num_blocks"),
    (1, "spatial_depth temporal_depth cls_depth enc_depth dec_depth depth_scale"),
    (3, "channels in_channels in_chans num_channels input_channels"),
    (10, "num_classes n_classes classes num_labels num_outputs"),
    (32, "image_size img_size input_size image_height image_width"),
    (8, "patch_size image_patch_size dim_head head_dim rd_channels"),
    (100, "vocab_size num_tokens num_embeddings n_vocab vocab ntoken num_words"),
    (16, "seq_len max_seq_len max_len context_length block_size num_patches n_patches"),
    (4, "window_size num_memory_tokens num_groups groups stride num_queries"),
    (2, "frame_patch_size temporal_patch_size ff_mult mlp_ratio expansion scale"),
    (8, "frames num_frames size sequence_length n_steps steps"),
    ((8, 8), "feat_size input_resolution grid_size"),
    (3, "kernel_size kernel"),
    (0.0, "dropout p drop drop_rate rate attn_drop prob"),
    (1e-05, "eps epsilon layer_norm_eps"),
    (2, "mlp_mult mult ndim n_dims factor reduction_factor downsample upsample"),
    (1, "padding num_register_tokens n_register_tokens dilation"),
    (0.5, "masking_ratio mask_ratio ratio alpha temperature momentum"),
    (True, "use_flash bias causal training batch_first"),
    (0, "layer_idx"),
    (4, "num_experts"),
    (16, "nb_features"),
)

# The keys of a configuration class that make a model small.
TINY: dict[str, int] = _by_name(
    (32, "hidden_size d_model n_embd embed_dim dim embedding_size projection_dim"),
    (64, "intermediate_size encoder_ffn_dim decoder_ffn_dim ffn_dim d_ff hidden_dim"),
    (2, "num_hidden_layers n_layer n_layers encoder_layers decoder_layers num_layers"),
    (4, "num_attention_heads n_head n_heads encoder_attention_heads num_heads decoder_attention_heads"),
    (4, "num_key_value_heads num_experts num_local_experts"),
    (100, "vocab_size decoder_vocab_size"),
    (64, "max_position_embeddings n_positions n_ctx max_source_positions max_target_positions"),
    (64, "moe_intermediate_size n_inner"),
    (8, "head_dim d_kv patch_size num_mel_bins"),
    (32, "image_size"),
    (2, "num_decoder_layers"),
)


def axis_name(parameter: str, rank: int, axis: int, feature: int | None) -> str:
    """Return what an axis is called by convention; `feature` is the axis that holds channels or features."""
    if axis == 0:
        return "batch"
    if PAST.search(parameter):
        return "past"
    other = f"{parameter}_{axis}"
    if rank == 5 or (rank == 4 and feature is not None and not MASK.search(parameter)):
        names = ("frames", "height", "width")[5 - rank :]
        free = [a for a in range(1, rank) if a != feature]
        return dict(zip(free, names, strict=True)).get(axis, other) if len(free) == len(names) else other
    if rank <= 3 and AUDIO.search(parameter):
        return "samples"
    if rank <= 3 or MASK.search(parameter):
        return "sequence"
    return other


def suggestion(parameter: str) -> str:
    """The spec that most likely needs the least correction, for a parameter of which only the name is available."""
    return next((spec for pattern, spec in _SUGGESTED if re.search(pattern, parameter.lower())), "float32[batch, 16]")


_ROWS = r"(^|_)(hidden_states|embeds|embeddings|context|memory|sequence|series|tokens_embed|feats|features)$"
_SUGGESTED: tuple[tuple[re.Pattern[str] | str, str], ...] = (
    (MASK, "bool[batch, sequence]"),
    (VIDEO, "float32[batch, 3, frames, 64, 64]"),
    (r"(^|_)(latents?|noise|z_t|x_t|noisy\w*)$", "float32[batch, 4, height, width]"),
    (IMAGE, "float32[batch, 3, height, width]"),
    (SPECTRUM, "float32[batch, 80, frames]"),
    (AUDIO, "float32[batch, samples]"),
    (PAST, "float32[batch, 4, past, 16]"),
    *((pattern, "int64[batch, sequence]") for pattern in (POSITION, TOKENS)),
    *((pattern, "int64[batch]") for pattern in (LENGTH_OF, TIME, CLASS)),
    (r"^edge_index$", "int64[2, edges]"),
    (r"^(points?|xyz|coords?|point_?cloud)$", "float32[batch, points, 3]"),
    (r"^(boxes|bboxes|rois)$", "float32[boxes, 4]"),
    (_ROWS, "float32[batch, sequence, 16]"),
)
