"""What a link inside a node tells of the accelerators it joins."""

from __future__ import annotations

from perfmodel.specs.link import Link

_NVLINK_GENERATIONS = {"1": "volta", "2": "volta", "3": "ampere", "4": "hopper", "5": "blackwell"}
_PCIE_GENERATIONS = {"2": "volta", "3": "volta", "4": "ampere", "5": "hopper", "6": "blackwell"}


def generation(link: Link) -> str:
    """The GPU generation that NCCL's tables are indexed by, told by the link inside the node."""
    digits = "".join(c for c in link.id if c.isdigit())[:1]
    if link.kind == "nvlink":
        return "blackwell" if link.id == "nvl72" else _NVLINK_GENERATIONS.get(digits, "volta")
    return _PCIE_GENERATIONS.get(digits, "volta")


def adds(link: Link) -> bool:
    """Whether a switch in the node adds what passes it (NVLink SHARP)."""
    return ("nvswitch" in link.id or link.id == "nvl72") and generation(link) in ("hopper", "blackwell")
