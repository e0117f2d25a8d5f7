"""Why the bus bandwidth of a collective may exceed what the ports of a machine carry."""

from __future__ import annotations

from perfmodel.core.units import show, three_digits
from perfmodel.equations.bandwidths import BUS_FACTORS
from perfmodel.model.collectives.place import Point

WITHIN = ("all-reduce", "all-gather", "reduce-scatter")
"""Collectives of which part of the traffic that the bus bandwidth counts stays inside the machines."""


def above_ports(point: Point, bus_bandwidth: float) -> str | None:
    """Return why a bus bandwidth [B/s] exceeds the rate of a machine's ports; None where it does not.

    Between machines a byte of the message crosses as often as if each machine were one rank.
    """
    link = point.inter_link
    if link is None or point.nodes == 1 or point.collective not in WITHIN:
        return None
    ports = point.nics * link.bandwidth.value
    if bus_bandwidth <= ports:
        return None
    factor = BUS_FACTORS[point.collective]
    counted, crossing = (three_digits(float(factor(count))) for count in (point.group_size, point.nodes))
    return (
        f"a bus bandwidth above the {show(ports, 'B/s')} of a machine's ports is possible: it counts "
        f"{counted} bytes for each byte of the message, with only {crossing} through the ports"
    )
