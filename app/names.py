"""What people call the hardware and networks whose ids options take, as lists to choose from show them."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

from perfmodel.hardware.catalogue.kinds import Kind
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.machine_words import accelerator_words, link_words, machine_words
from perfmodel.workloads.built_in import MODULES
from perfmodel.workloads.catalogue import words_of

HARDWARE: tuple[Kind, ...] = ("accelerators", "links", "nodes")


@lru_cache(maxsize=4096)
def shown(id: str, catalogue: Catalogue) -> str:
    """Return what people call an entry of the catalogue or a network; its id too where others are called so.

    >>> built_in = Catalogue.built_in()
    >>> shown("llama-2-70b", built_in), shown("ncf", built_in), shown("mine", built_in)
    ('Llama 2 70B', 'NeuMF (ncf)', 'mine')
    >>> shown("dgx-1v", built_in)
    'DGX-1, 8 x V100 SXM2 16 GB'
    """
    words = called(id, catalogue)
    return f"{words} ({id})" if words in _of_several(catalogue) and words != id else words


def price_kind(kind: str) -> str:
    """Return a kind of price as answers call it.

    >>> price_kind("reserved-1y")
    'reserved for 1 year'
    """
    from perfmodel.decide.price_kinds import BASIS

    return next((words for name, words in BASIS.items() if name == kind), kind)


@lru_cache(maxsize=8)
def _of_several(catalogue: Catalogue) -> frozenset[str]:
    """Return what several entries of the catalogue, or several networks, are called."""
    known = (*MODULES, *(id for kind in HARDWARE for id in catalogue.ids(kind)))
    return frozenset(
        words for words, times in Counter(called(id, catalogue) for id in known).items() if times > 1
    )


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
