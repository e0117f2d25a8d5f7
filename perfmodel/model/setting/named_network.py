"""The network of a scenario, with the lengths of its samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from perfmodel.workloads.catalogue import LENGTHS, network
from perfmodel.workloads.workload import Workload

if TYPE_CHECKING:
    from perfmodel.model.options.scenario import Scenario


def named_network(scenario: Scenario, take: Callable[[str, object], None]) -> Workload:
    """Return the network that a scenario names.

    Parameters
    ----------
    scenario : of the job
    take : called with option and value of each length that the scenario leaves open
    """
    length, images = (getattr(scenario, option) for option in LENGTHS)
    whole = network(scenario.workload, length, images, scenario.mtp_layers)
    for option in LENGTHS:
        if getattr(scenario, option) is None and (length := getattr(whole, option)):
            take(option.replace("_", "-"), length)
    return whole
