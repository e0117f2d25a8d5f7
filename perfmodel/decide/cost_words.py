"""What a cost takes for granted and what is unknown of it, in sentences."""

from __future__ import annotations

from perfmodel.core.units import per_cent
from perfmodel.decide.price_kinds import interruption_words
from perfmodel.decide.prices import DEFAULT_SERVICE_YEARS, Price, carbon_intensity_of, kind_of, no_price_words
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.conditions import Conditions

COMMUNICATING, IDLE = 0.5, 0.15
"""Share of the rated power drawn while only communicating, and while waiting: assumed, not measured."""


def assumed(
    conditions: Conditions, price: Price | None, powered: bool, servers: bool, catalogue: Catalogue
) -> list[str]:
    """Return a sentence for each assumption.

    Parameters
    ----------
    conditions, price : of the job
    powered : whether the accelerator's power is known
    servers : whether there are parameter servers
    catalogue : has measured interruptions
    """
    lines = []
    if powered:
        lines.append(
            f"accelerators draw their rated power at work, {per_cent(COMMUNICATING, 0)} of it communicating, "
            f"{per_cent(IDLE, 0)} waiting"
        )
        if conditions.host_power is None:
            lines.append("hosts draw nothing (--host-power)")
        if conditions.pue is None:
            lines.append("cooling draws nothing (--pue)")
        grid = carbon_intensity_of(price, conditions)
        if price is not None and grid is not None and conditions.carbon_intensity is None:
            lines.append(f"the grid of {price.region} emits {grid:.0f} g CO2/kWh (--carbon-intensity)")
    if price is not None and price.kind == "owned":
        if conditions.service_years is None:
            lines.append(f"written off in {DEFAULT_SERVICE_YEARS:g} years (--service-years)")
        if conditions.used_fraction is None:
            lines.append("always at work (--used-fraction)")
    spot = kind_of(price, conditions) == "spot"
    if spot:
        provider, instance = (price.provider, price.instance) if price is not None else (None, None)
        lines += interruption_words(conditions, provider, instance, catalogue)
    elif conditions.node_failure_interval is not None and conditions.restart_time is None:
        lines.append("a restart takes no time (--restart-time)")
    if servers:
        lines.append("a parameter server draws what a host does, and its accelerators wait (--server-node)")
    return lines


def unknown(
    conditions: Conditions, price: Price | None, node: str, powered: bool, catalogue: Catalogue
) -> list[str]:
    """Return a line for each missing input: what is unknown, and the option that gives it."""
    lines = []
    if price is None:
        kind = kind_of(price, conditions)
        if kind == "on-demand":
            first = f"price of {node}: "
        else:
            first = f"{no_price_words(catalogue, node, kind, node)}; or "
        lines.append(f"{first}give --price, USD per hour of one node, or --purchase-price")
    elif price.kind == "owned" and conditions.electricity_price is None:
        lines.append("electricity: give --electricity-price, USD per kWh; left out of the cost")
    if not powered:
        lines.append("power of the accelerator: its data sheet does not say")
    elif carbon_intensity_of(price, conditions) is None:
        lines.append("carbon: give --carbon-intensity, grams per kWh")
    return lines
