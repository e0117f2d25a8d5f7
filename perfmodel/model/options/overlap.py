"""The default overlap of gradient exchange and backward pass, and overlaps a strategy cannot have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from perfmodel.core.errors import refusal
from perfmodel.core.problem import Words
from perfmodel.core.updates import KINDS, network_of

if TYPE_CHECKING:
    from perfmodel.model.options.scenario import Scenario

OVERLAPS: Final = {
    "all-reduce": "bucketed",
    "parameter-server": "wfbp",
    "parameter-server-local": "wfbp",
}
"""The usual framework's overlap, by strategy; a single process exchanges after the backward pass."""


def usual_overlap(scenario: Scenario) -> str | None:
    """Return the default overlap of a scenario; None if it has no communication that could be hidden.

    Raises
    ------
    InputError : an overlap that the strategy cannot have
    """
    strategy, requested = scenario.strategy, scenario.overlap
    averages = strategy in KINDS and KINDS[strategy].option == "local_steps"
    single = strategy == "data-parallel-single-process" and scenario.world_size > 1
    if requested not in (None, "none") and (averages or single):
        why = (
            f"{strategy} sends parameters, after its local steps"
            if averages
            else "a single process exchanges gradients after the backward pass"
        )
        raise refusal("overlap.not_possible", asked=requested, why=Words(why))
    network = network_of(strategy)
    if averages or (scenario.world_size == 1 and network != "parameter-server"):
        return None
    return OVERLAPS.get(network, "none")
