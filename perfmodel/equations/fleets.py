"""Fleets: shares of different machines in a batch, switches of a network, payback time of a purchase.

Validity
--------
One synchronous job over all machines, in which each model of machine runs as it would alone; how a library
would rearrange its rings for different links is not modelled. Payback assumes that there is enough work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfmodel.core import ops
from perfmodel.core.formula import formula

if TYPE_CHECKING:
    from perfmodel.core.ops import Real


@formula(cites=())
def share_by_speed(global_batch_size: Real, worker_speed: Real, fleet_speed: Real) -> Real:
    r"""Samples of one worker in proportion to its speed, so that all workers take equally long.

    .. math:: b = B \frac{v}{V}

    Parameters
    ----------
    global_batch_size : B [samples], of the whole fleet
    worker_speed : v [samples/s], of the worker
    fleet_speed : V [samples/s], of all workers together

    Returns
    -------
    local_batch_size [samples], not rounded

    Examples
    --------
    64 workers of 100 samples a second and 32 of 200 are 12,800; of 9,600 samples a fast one gets 150.

    >>> share_by_speed(9600, 200, 12800)
    150.0
    """
    return global_batch_size * worker_speed / fleet_speed


@formula(cites="alfares2008")
def fat_tree_switches(ports: Real, switch_ports: Real, switch_levels: Real) -> Real:
    r"""Number of switches of a non-blocking tree, in which as many links go up as down.

    .. math:: s = (d - 1) \left\lceil \frac{2 n_p}{k} \right\rceil + \left\lceil \frac{n_p}{k} \right\rceil

    A switch below the top has half of its ports down, one at the top all.  A full tree of three levels
    has k^3 / 4 ports and 5 k^2 / 4 switches.

    Parameters
    ----------
    ports : n_p [1], NICs to connect
    switch_ports : k [1], of one switch
    switch_levels : d [1], one for up to k NICs, two for up to k^2 / 2, three for up to k^3 / 4

    Returns
    -------
    switches [1]

    Examples
    --------
    96 NICs on switches of 40 ports: five below with 20 each, three at the top.

    >>> fat_tree_switches(96, 40, 2)
    8
    """
    return (switch_levels - 1) * ops.ceil(2 * ports / switch_ports) + ops.ceil(ports / switch_ports)


@formula(cites=())
def payback_time(purchase_cost: Real, work_value: Real, speed_ratio: Real, running_cost: Real) -> Real:
    r"""Working time after which a purchase has earned its price.

    .. math:: t = \frac{C}{w (r - 1) - c}

    A fleet that is r times as fast does in a second the work of r seconds of the earlier fleet.

    Parameters
    ----------
    purchase_cost : C [$]
    work_value : w [$/s], of the work of the earlier fleet
    speed_ratio : r [1], speed of the fleet with the purchase over its speed without
    running_cost : c [$/s], of the purchased machines, such as their electricity; less than w (r - 1)

    Returns
    -------
    wall_time [s]

    Examples
    --------
    Half as much work again, of work worth 0.05 $/s, less 0.005 $/s of electricity, earns 0.02 $/s: 1000 $
    take 50,000 s.

    >>> round(payback_time(1000, 0.05, 1.5, 0.005), 6)
    50000.0
    """
    return purchase_cost / (work_value * (speed_ratio - 1) - running_cost)
