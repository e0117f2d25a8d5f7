"""What oversubscribed uplinks of racks do to the adapters of a setting's nodes."""

from __future__ import annotations

from typing import Any

from perfmodel.model.collectives.racks import Racks
from perfmodel.model.setting.resolve import Setting


def racks_of(setting: Setting) -> Racks | None:
    """Return the racks of a setting; None where their uplinks carry all that nodes send."""
    asked = setting.scenario
    if asked.oversubscription == 1 or asked.rack_nodes is None:
        return None
    return Racks(asked.rack_nodes, asked.oversubscription, asked.placement)


def rack_factor(setting: Setting) -> float:
    """Return how many times less adapters send out of racks in an all-reduce; 1 within one rack."""
    racks = racks_of(setting)
    if racks is None or setting.strategy == "parameter-server":
        return 1.0
    slower: float = racks.slowdown("all-reduce", setting.domains, setting.nodes)
    return slower


def exchange_slowdown(setting: Setting) -> Any:
    """Return how many times less they send in an all-to-all than in an all-reduce."""
    racks = racks_of(setting)
    if racks is None or setting.strategy != "all-reduce":
        return 1.0
    return racks.slowdown("all-to-all", setting.domains, setting.nodes) / rack_factor(setting)
