"""What people call the hardware and networks whose ids options take, as lists to choose from show them."""

from __future__ import annotations

from functools import lru_cache

from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.machine_words import accelerator_words, link_words, machine_words
from perfmodel.workloads.built_in import MODULES
from perfmodel.workloads.catalogue import words_of

BETWEEN = " · "
"""Between a name and its id: both are found by typing a part of them."""


@lru_cache(maxsize=4096)
def shown(id: str, catalogue: Catalogue) -> str:
    """Return what people call an entry of the catalogue or a network, and its id; of anything else the id.

    >>> built_in = Catalogue.built_in()
    >>> shown("llama-2-70b", built_in), shown("rtx-4090", built_in), shown("mine", built_in)
    ('Llama 2 70B · llama-2-70b', 'RTX 4090 · rtx-4090', 'mine')
    >>> shown("dgx-1v", built_in)
    'DGX-1, 8 x V100 SXM2 16 GB · dgx-1v'
    """
    words = called(id, catalogue)
    return id if words == id else f"{words}{BETWEEN}{id}"


@lru_cache(maxsize=4096)
def called(id: str, catalogue: Catalogue) -> str:
    """Return what people call an entry of the catalogue or a network; of anything else its id."""
    if id in MODULES:
        return words_of(id)
    if id in catalogue.ids("accelerators"):
        return accelerator_words(catalogue.accelerator(id))
    if id in catalogue.ids("links"):
        return link_words(catalogue.link(id))
    if id in catalogue.ids("nodes"):
        node = catalogue.node(id)
        return machine_words(node, catalogue.accelerator(node.accelerator) if node.accelerator else None)
    return id
