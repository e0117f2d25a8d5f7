"""How many images of which size make the image tokens of a sample."""

from __future__ import annotations

from math import ceil

from perfmodel.core.errors import refusal
from perfmodel.workloads.tower import Tower

LARGEST_IMAGE = 16_384
"""Most tokens of an image of any size: 12,845,056 pixels of 28 x 28 to a token, the default of Qwen2-VL's
processor."""
USUAL_IMAGE = 1024
"""Tokens of an image of any size unless stated: 896 pixels a side for Qwen2-VL, 1,024 for Qwen3-VL (an
assumption)."""


def usual_tokens(tower: Tower) -> int:
    """Return the tokens of one image."""
    return tower.patches // tower.patches_per_token if tower.patches else USUAL_IMAGE


def with_images(tower: Tower, name: str, image_tokens: int | None, sequence_length: int) -> Tower | None:
    """Return a tower with its images of a sample; None for a sample without images.

    Images of any size are as few and as large as the tower allows.

    Parameters
    ----------
    tower, name : of the network
    image_tokens : tokens of a sample that are of images; None for one image
    sequence_length : tokens of a sample

    Raises
    ------
    InputError : no whole number of images, or more image tokens than tokens

    Examples
    --------
    >>> any_size = Tower(1280, 32, 16, 5120, 1176, 3584, "merge", patches_per_token=4)
    >>> with_images(any_size, "qwen2vl-7b", 20_000, 32_768)[-8:-6]
    (2, 10000)
    """
    each = usual_tokens(tower)
    tokens = each if image_tokens is None else image_tokens
    if tokens > sequence_length:
        raise refusal(
            "workload.image_tokens_beyond",
            "image_tokens",
            name=name,
            image_tokens=tokens,
            sequence_length=sequence_length,
        )
    if not tokens:
        return None
    images = tokens // each if tower.patches else ceil(tokens / LARGEST_IMAGE)
    if images * (each if tower.patches else tokens // images) != tokens:
        raise refusal("workload.whole_images", "image_tokens", name=name, image_tokens=tokens, each=each)
    return tower._replace(images=images, image_tokens=tokens // images)


def left_out(tower: Tower) -> str:
    """Return text on a tower that is left out."""
    return f"its vision tower ({tower.parameters / 1e9:.2g} B parameters)"


def remarks(tower: Tower | None) -> tuple[str, ...]:
    """Return notes on how a tower is trained."""
    frozen = tower is not None and tower.frozen
    return ("its vision tower is frozen, its projector trained, as by its authors",) if frozen else ()
