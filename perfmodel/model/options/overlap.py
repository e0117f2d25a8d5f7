"""How gradients travel during the backward pass where nobody says so, and ways that cannot be."""

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
"""What the usual framework of each strategy does; a single process exchanges after the backward pass."""


def usual_overlap(scenario: Scenario) -> str | None:
    """Return what is taken and named where a scenario says nothing; None where nothing is to be hidden.

    Raises
    ------
    InputError : an overlap that the strategy cannot have
    """
    strategy, asked = scenario.strategy, scenario.overlap
    averages = strategy in KINDS and KINDS[strategy].option == "local_steps"
    single = strategy == "data-parallel-single-process" and scenario.world_size > 1
    if asked not in (None, "none") and (averages or single):
        why = (
            f"{strategy} sends parameters, after its local steps"
            if averages
            else "a single process exchanges gradients after the backward pass"
        )
        raise refusal("overlap.not_possible", asked=asked, why=Words(why))
    network = network_of(strategy)
    if averages or (scenario.world_size == 1 and network != "parameter-server"):
        return None
    return OVERLAPS.get(network, "none")
