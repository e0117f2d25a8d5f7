"""The refusal of requests with more candidates than the service allows, with ways to have fewer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfmodel.core.candidates import TooManyCandidates
from perfmodel.interfaces.service.problems import Mistake, Refused, shown

_FEWER = {
    "plan": "a lower max_gpus or max_nodes, or by name the accelerators, instances, nodes, precisions or "
    "local_batch_sizes to try",
    "layouts": "gpus or a global_batch_size of fewer divisors",
    "check-quote": "a quote that states the job's layout",
}
_USUAL = "shorter lists"
_FIELDS = {"plan": ("max_gpus", "max_nodes"), "layouts": ("gpus",), "check-quote": ("quote",)}
"""Options on which the number of candidates depends most."""


def too_many(error: TooManyCandidates, command: str, table: Mapping[str, Any]) -> Refused:
    """Return the refusal of a request that would try too many candidates.

    Parameters
    ----------
    error : with the number of candidates
    command : name of the command
    table : the parsed body
    """
    right = f"at most {error.most:,}: {_FEWER.get(command, _USUAL)}"
    at_least = "at least " if command == "plan" else ""  # whose copies and layouts are counted one by one
    words = f"this asks for {at_least}{error.requested:,} candidates; this service tries {right}"
    field = _field(command, table)
    return Refused(words, [Mistake(field, shown(table[field]) if field else None, words)])


def refuse_too_long(answer: Any) -> None:
    """Refuse an answer of more rows than JSON of one piece may have.

    Raises
    ------
    Refused : it has more; nothing of it was computed
    """
    from perfmodel.decide.sweeps.table import MOST_IN_JSON

    if len(answer) > MOST_IN_JSON:
        right = f"at most {MOST_IN_JSON:,}; a stream has any number: Accept: application/x-ndjson"
        raise Refused(f"{len(answer):,} scenarios as JSON: {right}", [Mistake(None, len(answer), right)])


def _field(command: str, table: Mapping[str, Any]) -> str | None:
    """Return the option to change: one on which candidates depend, or the longest list."""
    for name in _FIELDS.get(command, ()):
        if name in table:
            return name
    lists = {key: len(value) for key, value in table.items() if isinstance(value, list) and value}
    return max(lists, key=lambda key: lists[key]) if lists and command not in _FIELDS else None
