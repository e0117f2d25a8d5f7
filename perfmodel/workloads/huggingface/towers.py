"""Encoders of images that a multimodal config.json describes next to its language model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from perfmodel.core.errors import refusal
from perfmodel.workloads.huggingface.config import Config, shown
from perfmodel.workloads.tower import Tower

COLOURS = 3


def tower_of(whole: Config, text_hidden: int) -> Tower:
    """Return the tower of a multimodal model.

    Raises
    ------
    InputError : the type of the model is not one of ``TOWERS``, or a number is missing or wrong
    """
    kind = str(whole.values.get("model_type"))
    if kind not in TOWERS:
        raise refusal("network.tower", "image_tokens", kind=shown(kind), known=tuple(TOWERS)).under(
            whole.path
        )
    return TOWERS[kind](whole, whole.table("vision_config"), text_hidden)


def _llava(whole: Config, vision: Config, text_hidden: int) -> Tower:
    """Return CLIP's encoder of images with two products; the class token is left out behind it."""
    _check(
        whole, "vision_feature_select_strategy", whole.values.get("vision_feature_select_strategy", "default")
    )
    _check(vision, "model_type", vision.values.get("model_type", "clip_vision_model"))
    patches, patch = _grid(vision)
    return Tower(
        **_widths(vision),
        feed_forward=vision.whole("intermediate_size"),
        patch_elements=COLOURS * patch**2,
        text_hidden=text_hidden,
        projector="mlp",
        patches=patches,
        class_token=True,
        learned_positions=patches + 1,
        outer_norms=2,
        frozen=True,
    )


def _gemma3(whole: Config, vision: Config, text_hidden: int) -> Tower:
    """Return SigLIP's encoder of images; the mean of neighbouring patches makes a token."""
    _check(vision, "model_type", vision.values.get("model_type", "siglip_vision_model"))
    patches, patch = _grid(vision)
    tokens = whole.whole("mm_tokens_per_image", 256)
    if patches % tokens:
        raise refusal("network.image_tokens", patches=patches, tokens=tokens).under(whole.path)
    return Tower(
        **_widths(vision),
        feed_forward=vision.whole("intermediate_size"),
        patch_elements=COLOURS * patch**2,
        text_hidden=text_hidden,
        projector="pool",
        patches_per_token=patches // tokens,
        patches=patches,
        patch_bias=True,
        learned_positions=patches,
        outer_norms=1,
        frozen=True,
    )


def _qwen2(whole: Config, vision: Config, text_hidden: int) -> Tower:
    """Return Qwen2-VL's encoder of images of any size, without a table of positions."""
    hidden = vision.whole("embed_dim", 1280)
    return Tower(
        hidden=hidden,
        layers=vision.layers("depth", 32),
        heads=vision.whole("num_heads", 16),
        feed_forward=vision.whole("mlp_ratio", 4) * hidden,
        **_merged(vision, text_hidden, 14),
    )


def _qwen3(whole: Config, vision: Config, text_hidden: int) -> Tower:
    """Return Qwen3-VL's encoder of images, which also feeds first layers of the language model."""
    return Tower(
        hidden=vision.whole("hidden_size"),
        layers=vision.layers("depth"),
        heads=vision.whole("num_heads"),
        feed_forward=vision.whole("intermediate_size"),
        patch_bias=True,
        learned_positions=vision.whole("num_position_embeddings"),
        mergers=1 + len(vision.items("deepstack_visual_indexes")),
        **_merged(vision, text_hidden, 16),
    )


TOWERS: dict[str, Callable[[Config, Config, int], Tower]] = {
    "gemma3": _gemma3,
    "llava": _llava,
    "qwen2_vl": _qwen2,
    "qwen3_vl": _qwen3,
    "qwen3_vl_moe": _qwen3,
}
"""``model_type`` of the file -> function that returns its tower."""

_EXPECTED = {
    "vision_feature_select_strategy": ("default",),
    "model_type": ("clip_vision_model", "siglip_vision_model"),
}


def _check(config: Config, key: str, value: object) -> None:
    if value not in _EXPECTED[key]:
        raise refusal("network.tower_part", key=key, shown=shown(value), known=_EXPECTED[key]).under(
            config.path
        )


def _widths(vision: Config) -> dict[str, Any]:
    return {
        "hidden": vision.whole("hidden_size"),
        "layers": vision.layers("num_hidden_layers"),
        "heads": vision.whole("num_attention_heads"),
    }


def _grid(vision: Config) -> tuple[int, int]:
    """Return the patches of a square image, and the pixels on a side of one."""
    image, patch = vision.whole("image_size"), vision.whole("patch_size")
    if image % patch:
        raise refusal("network.patches", image=image, patch=patch).under(vision.path)
    return (image // patch) ** 2, patch


def _merged(vision: Config, text_hidden: int, patch: int) -> dict[str, Any]:
    frames, patch = vision.whole("temporal_patch_size", 2), vision.whole("patch_size", patch)
    return {
        "patch_elements": COLOURS * frames * patch**2,
        "patches_per_token": vision.whole("spatial_merge_size", 2) ** 2,
        "text_hidden": text_hidden,
        "projector": "merge",
    }
