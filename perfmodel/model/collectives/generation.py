"""What an accelerator, or a link inside a node, says of the tables that NCCL goes by."""

from __future__ import annotations

from perfmodel.equations.nccl_constants import GENERATIONS
from perfmodel.hardware.accelerator import Accelerator
from perfmodel.hardware.link import Link

_BY_NVLINK = {1: "volta", 2: "volta", 3: "ampere", 4: "hopper", 5: "blackwell"}
_BY_HOST_LINK = {2: "volta", 3: "volta", 4: "ampere", 5: "hopper", 6: "blackwell"}
"""GPUs of the time, by the link's own generation."""
_GENERATIONS = ((10.0, "blackwell"), (9.0, "hopper"), (8.0, "ampere"))
"""Least compute capability of each; any other is taken as Volta."""


def generation(link: Link, accelerator: Accelerator | None = None) -> str:
    """The GPU generation that NCCL's tables are indexed by: the GPU's own, or the one of its link's time."""
    if accelerator is not None and accelerator.compute_capability is not None:
        for least, name in _GENERATIONS:
            if accelerator.compute_capability >= least:
                return name
        return "volta"
    known = _BY_NVLINK if link.kind == "nvlink" else _BY_HOST_LINK
    return known.get(link.generation or 0, "volta")


def generation_index(link: Link, accelerator: Accelerator | None = None) -> int:
    """Return that generation as a whole number, the oldest 0."""
    return GENERATIONS.index(generation(link, accelerator))


def adds(link: Link, accelerator: Accelerator | None = None) -> bool:
    """Whether a switch in the node adds what passes it (NVLink SHARP): from Hopper on, GPU and switch."""
    return link.switch_adds and generation(link, accelerator) in ("hopper", "blackwell")
