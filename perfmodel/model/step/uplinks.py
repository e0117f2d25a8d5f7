"""Slowdown of a setting's adapters by oversubscribed uplinks of racks."""

from __future__ import annotations

from typing import Any

from perfmodel.model.collectives.racks import Racks
from perfmodel.model.setting.resolve import Setting


def racks_of(setting: Setting) -> Racks | None:
    """Return the racks of a setting; None without oversubscription."""
    scenario = setting.scenario
    if scenario.oversubscription == 1 or scenario.rack_nodes is None:
        return None
    return Racks(scenario.rack_nodes, scenario.oversubscription, scenario.placement)


def rack_factor(setting: Setting) -> float:
    """Return the slowdown of adapters by uplinks in an all-reduce; 1 within one rack."""
    racks = racks_of(setting)
    if racks is None or setting.strategy == "parameter-server":
        return 1.0
    slower: float = racks.slowdown("all-reduce", setting.domains, setting.nodes)
    return slower


def exchange_slowdown(setting: Setting) -> Any:
    """Return the slowdown of an all-to-all by uplinks, over that of an all-reduce."""
    racks = racks_of(setting)
    if racks is None or setting.strategy != "all-reduce":
        return 1.0
    return racks.slowdown("all-to-all", setting.domains, setting.nodes) / rack_factor(setting)
