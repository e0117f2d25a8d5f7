"""The GPU generation that indexes NCCL's tables, from an accelerator or a link inside a node."""

from __future__ import annotations

from perfmodel.equations.nccl_constants import GENERATIONS
from perfmodel.hardware.accelerator import Accelerator
from perfmodel.hardware.link import Link

_BY_NVLINK = {1: "volta", 2: "volta", 3: "ampere", 4: "hopper", 5: "blackwell", 6: "blackwell"}
_BY_HOST_LINK = {2: "volta", 3: "volta", 4: "ampere", 5: "hopper", 6: "blackwell"}
"""Contemporary GPU generations, by the generation of the link; the newest of the tables for NVLink 6."""
_GENERATIONS = ((10.0, "blackwell"), (9.0, "hopper"), (8.0, "ampere"))
"""Least compute capability of each generation; lower ones count as Volta."""


def generation(link: Link, accelerator: Accelerator | None = None) -> str:
    """Return the GPU generation for NCCL's tables: the GPU's own, or that contemporary with its link."""
    if accelerator is not None and accelerator.compute_capability is not None:
        for least, name in _GENERATIONS:
            if accelerator.compute_capability >= least:
                return name
        return "volta"
    known = _BY_NVLINK if link.kind == "nvlink" else _BY_HOST_LINK
    return known.get(link.generation or 0, "volta")


def generation_index(link: Link, accelerator: Accelerator | None = None) -> int:
    """Return the GPU generation as an index into ``GENERATIONS``, the oldest 0."""
    return GENERATIONS.index(generation(link, accelerator))


def adds(link: Link, accelerator: Accelerator | None = None) -> bool:
    """Return whether the switch of a node reduces (NVLink SHARP): GPU and switch from Hopper on."""
    return link.switch_adds and generation(link, accelerator) in ("hopper", "blackwell")
