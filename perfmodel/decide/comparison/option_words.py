"""Short words for an option with a value, of which names of cases are made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from perfmodel.core.records.options import declared
from perfmodel.core.units import counted
from perfmodel.decide.price_kinds import BASIS
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction.names import accelerator_name, link_name, network_name, node_name

CLEAR = ("strategy", "precision")
"""Options, in addition to names of hardware and networks, whose values are clear without their names."""
COUNTED = {"world_size": "GPU", "servers": "server"}
NAMED = {"local_batch_size": "batch"}
NAMES: dict[str, Callable[[str], str]] = {
    "workload": network_name,
    "accelerator": accelerator_name,
    "node": node_name,
    "server_node": node_name,
    "intra_link": link_name,
    "inter_link": link_name,
}
"""Options whose values are ids -> what people call them."""


def option_words(field: str, value: Any) -> str:
    """Return short text for an option with a value.

    Parameters
    ----------
    field : of a scenario, or of its conditions
    value : a number, a truth value or text

    >>> option_words("world_size", 16), option_words("overlap", "none")
    ('16 GPUs', 'overlap none')
    >>> option_words("inter_link", "ib-edr-100g"), option_words("network_cap", False)
    ('InfiniBand EDR 100 Gbit/s', 'network cap no')
    >>> option_words("pricing", "reserved-1y")
    'reserved for 1 year'
    """
    if field == "pricing" and value in BASIS:
        return BASIS[value]
    if isinstance(value, bool):
        value = "yes" if value else "no"
    text = f"{value:g}" if isinstance(value, float) else str(value)
    if field in COUNTED:
        return counted(int(text), COUNTED[field]) if text.isdecimal() else f"{text} {COUNTED[field]}s"
    if field in NAMES:
        return NAMES[field](text)
    known = declared(Scenario).get(field)
    if field in CLEAR or (known and known.info.offers):
        return text
    return f"{NAMED.get(field) or field.replace('_', ' ')} {text}"


def words_of_values(field: str, values: Iterable[Any]) -> dict[Any, str]:
    """Return the words of several values of an option; those that people call alike have their ids too.

    >>> words_of_values("node", ("dgx-1v", "dgx-1v-32gb", "dgx-2")).values()
    dict_values(['NVIDIA DGX-1 (dgx-1v)', 'NVIDIA DGX-1 (dgx-1v-32gb)', 'NVIDIA DGX-2'])
    """
    words = {value: option_words(field, value) for value in values}
    alike = Counter(words.values())
    return {value: word if alike[word] == 1 else f"{word} ({value})" for value, word in words.items()}
