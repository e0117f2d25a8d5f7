"""Language models that read images through an encoder: LLaVA-1.5, Qwen2-VL, Qwen3-VL and Gemma 3.

The language model is one of the published transformers with the vocabulary of its multimodal version.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from perfmodel.workloads.images import left_out, remarks, with_images
from perfmodel.workloads.networks.transformer import check_positions, input_elements, layers_of, variant
from perfmodel.workloads.presets import preset
from perfmodel.workloads.tower import Tower
from perfmodel.workloads.workload import Workload

_CLIP = Tower(
    1024, 24, 16, 4096, 3 * 14**2, 0, "mlp", patches=576, class_token=True, learned_positions=577,
    outer_norms=2, frozen=True,
)  # fmt: skip
_SIGLIP = Tower(
    1152, 27, 16, 4304, 3 * 14**2, 0, "pool", 16, patches=4096, patch_bias=True, learned_positions=4096,
    outer_norms=1, frozen=True,
)  # fmt: skip
_QWEN2 = Tower(1280, 32, 16, 5120, 3 * 2 * 14**2, 0, "merge", 4)
_QWEN3 = Tower(
    1152, 27, 16, 4304, 3 * 2 * 16**2, 0, "merge", 4, patch_bias=True, learned_positions=2304, mergers=4
)
_QWEN3_SMALL = _QWEN3._replace(hidden=1024, layers=24, feed_forward=4096)


class Model(NamedTuple):
    """A language model and its tower."""

    title: str
    source: str
    text: str
    """The language model, by its name among the published transformers."""
    tower: Tower
    changes: tuple[tuple[str, Any], ...] = ()
    """Fields of the architecture that differ from those of the language model alone."""
    sequence_length: int = 4096


_LLAVA_WORDS = (("vocabulary", 32_064),)
_GEMMA_WORDS = (("vocabulary", 262_208),)
_MODELS = {
    "llava-1.5-7b": Model("LLaVA-1.5 7B", "llava2023", "llama-2-7b", _CLIP, _LLAVA_WORDS, 2048),
    "llava-1.5-13b": Model("LLaVA-1.5 13B", "llava2023", "llama-2-13b", _CLIP, _LLAVA_WORDS, 2048),
    "qwen2vl-2b": Model("Qwen2-VL 2B", "wang2024qwen", "qwen2.5-1.5b", _QWEN2),
    "qwen2vl-7b": Model("Qwen2-VL 7B", "wang2024qwen", "qwen2.5-7b", _QWEN2),
    "qwen2vl-72b": Model("Qwen2-VL 72B", "wang2024qwen", "qwen2.5-72b", _QWEN2),
    "qwen3vl-2b": Model("Qwen3-VL 2B", "bai2025", "qwen3-1.7b", _QWEN3_SMALL),
    "qwen3vl-4b": Model("Qwen3-VL 4B", "bai2025", "qwen3-4b", _QWEN3_SMALL),
    "qwen3vl-8b": Model("Qwen3-VL 8B", "bai2025", "qwen3-8b", _QWEN3),
    "qwen3vl-32b": Model("Qwen3-VL 32B", "bai2025", "qwen3-32b", _QWEN3),
    "qwen3vl-30b-a3b": Model("Qwen3-VL 30B-A3B", "bai2025", "qwen3-30b-a3b", _QWEN3),
    "gemma-3-4b-vision": Model("Gemma 3 4B with images", "gemma2025", "gemma-3-4b", _SIGLIP, _GEMMA_WORDS),
    "gemma-3-12b-vision": Model("Gemma 3 12B with images", "gemma2025", "gemma-3-12b", _SIGLIP, _GEMMA_WORDS),
    "gemma-3-27b-vision": Model("Gemma 3 27B with images", "gemma2025", "gemma-3-27b", _SIGLIP, _GEMMA_WORDS),
}

NAMES = tuple(_MODELS)


def build(name: str, sequence_length: int | None = None, image_tokens: int | None = None) -> Workload:
    """Return the workload of one of ``NAMES``.

    One sample is a sequence of words and images, by default with one image; without images the tower is left
    out.  Pixels count as 32-bit numbers of the input.

    Raises
    ------
    InputError : image tokens that are no whole images, or more than the sequence has
    """
    m = _MODELS[name]
    architecture = preset(m.text).architecture._replace(**dict(m.changes))
    length = sequence_length or m.sequence_length
    check_positions(name, architecture, length)
    whole = m.tower._replace(text_hidden=architecture.hidden)
    tower = with_images(whole, name, image_tokens, length)
    architecture = architecture._replace(tower=tower)
    elements = input_elements(architecture, length)
    return Workload(
        id=name,
        name=m.title,
        family="transformer",
        layers=tuple(layers_of(architecture, length)),
        variant=f"{variant(architecture)}; {tower.images if tower else 'no'} images",
        source=m.source,
        sample="sequence",
        sequence_length=length,
        image_tokens=tower.tokens if tower else 0,
        input_elements=float(elements),
        stored_bytes=4.0 * elements,
        default_local_batch_size=1,
        default_optimizer="adam",
        architecture=architecture,
        without="" if tower else left_out(whole),
        remarks=remarks(tower),
    )
