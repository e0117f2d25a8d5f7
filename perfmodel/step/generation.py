"""What an accelerator, or a link inside a node, tells of the tables that NCCL goes by."""

from __future__ import annotations

from perfmodel.equations.nccl_graph import LEAST_CAPABILITY_FOR_LL128
from perfmodel.specs.accelerator import Accelerator
from perfmodel.specs.link import Link

_NVLINK_GENERATIONS = {"1": "volta", "2": "volta", "3": "ampere", "4": "hopper", "5": "blackwell"}
_NVLINK_CAPABILITIES = {"1": 6.0}
"""Compute capability of the only GPUs with a link; those of the others are Volta's or later."""
_PCIE_GENERATIONS = {"2": "volta", "3": "volta", "4": "ampere", "5": "hopper", "6": "blackwell"}
_GENERATIONS = ((10.0, "blackwell"), (9.0, "hopper"), (8.0, "ampere"))
"""Least compute capability of each; any other is taken as Volta."""


def generation(link: Link, accelerator: Accelerator | None = None) -> str:
    """The GPU generation that NCCL's tables are indexed by, told by the GPU or else by its link."""
    if accelerator is not None and accelerator.compute_capability is not None:
        reached = accelerator.compute_capability
        return next((name for least, name in _GENERATIONS if reached >= least), "volta")
    digits = _digit(link)
    if link.kind == "nvlink":
        return "blackwell" if link.id == "nvl72" else _NVLINK_GENERATIONS.get(digits, "volta")
    return _PCIE_GENERATIONS.get(digits, "volta")


def capability(link: Link, accelerator: Accelerator | None = None) -> float:
    """Compute capability, as far as LL128 asks for it: of the GPU, or the least of those a link joins."""
    if accelerator is not None and accelerator.compute_capability is not None:
        return accelerator.compute_capability
    return _NVLINK_CAPABILITIES.get(_digit(link), LEAST_CAPABILITY_FOR_LL128)


def _digit(link: Link) -> str:
    return "".join(c for c in link.id if c.isdigit())[:1]


def adds(link: Link, accelerator: Accelerator | None = None) -> bool:
    """Whether a switch in the node adds what passes it (NVLink SHARP): from Hopper on, GPU and switch."""
    able = "nvswitch" in link.id or link.id == "nvl72"
    return able and {generation(link), generation(link, accelerator)} <= {"hopper", "blackwell"}
