"""Options of a scenario in one text: ``tensor_parallel=8,micro_batch_size=2``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from perfmodel.core.errors import refusal, unknown_name
from perfmodel.core.problem import Words
from perfmodel.model.options.layout import CHOSEN
from perfmodel.model.options.scenario import Scenario, field_of

AGAINST = (
    *CHOSEN,
    "schedule",
    "embedding_slots",
    "shard_group",
    "context_method",
    "context_inner",
)
"""Options of a layout that is named to be compared with others."""
TRUTHS = {"true": True, "false": False}


def stated_pairs(
    field: str, text: str, written: Iterable[str], known: tuple[str, ...], whose: str
) -> dict[str, Any]:
    """Return options by name, with the values that a ``Scenario`` has of them.

    Parameters
    ----------
    field, text : of the input, and its whole text
    written : each an option, an equals sign and a value
    known, whose : names that are possible, and what they are of: an anchor, or --against

    Raises
    ------
    InputError : no pair, an unknown option or one given twice, or a value that does not fit it

    >>> stated_pairs("against", "", ["tensor-parallel=8", "sharding=zero1"], AGAINST, "a layout")
    {'tensor_parallel': 8, 'sharding': 'zero1'}
    """
    result: dict[str, Any] = {}
    for each in written:
        key, equals, value = (part.strip() for part in each.partition("="))
        name = field_of(key)
        if not equals or not value:
            raise refusal("options.pair", field, whose=Words(whose), text=text, each=each)
        if name not in known:
            raise unknown_name(f"option of {whose}", key, known)
        if name in result:
            raise refusal("options.pair_twice", field, whose=Words(whose), text=text, name=name)
        number = int(value) if re.fullmatch(r"\d{1,12}", value, re.ASCII) else TRUTHS.get(value, value)
        read: dict[str, Any] = {name: number}
        result[name] = getattr(Scenario(**read), name)
    return result
