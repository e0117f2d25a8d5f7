"""Bandwidth of each way NCCL has of doing a collective: its channels, and what limits them."""

from __future__ import annotations

from typing import Any

from perfmodel import ops
from perfmodel.formula import formula
from perfmodel.ops import Real


@formula(cites="nccl-tuning", symbolic=False)
def channels(link_bandwidth: Any, nominal_channel_bandwidth: Any) -> Any:
    r"""How many channels NCCL runs side by side.

    .. math:: c = \max\left(1, \left\lfloor B / b_0 + \frac{1}{2} \right\rfloor\right)

    Parameters
    ----------
    link_bandwidth : B [B/s], of the slower level
    nominal_channel_bandwidth : b_0 [B/s]

    Returns
    -------
    channels [1]

    Examples
    --------
    150 GB/s in channels of 20.

    >>> float(channels(150e9, 20e9))
    8.0
    """
    import numpy as np

    return np.maximum(1.0, np.rint(link_bandwidth / nominal_channel_bandwidth))


@formula(cites="nccl-tuning")
def channel_bandwidth(link_bandwidth: Real, channels: Real) -> Real:
    r"""What falls to each channel.

    .. math:: b = B / c

    Parameters
    ----------
    link_bandwidth : B [B/s], of the slower level
    channels : c [1]

    Returns
    -------
    channel_bandwidth [B/s]

    Examples
    --------
    >>> channel_bandwidth(120e9, 6)  # 120 GB/s over six
    20000000000.0
    """
    return link_bandwidth / channels


@formula(cites="nccl-tuning")
def way_bandwidth(
    channels: Real,
    channel_bandwidth: Real,
    nominal_channel_bandwidth: Real,
    bus_share: Real,
    channel_share: Real,
    most_channels: Real,
    bus_traffic: Real,
) -> Real:
    r"""Bandwidth of an algorithm and protocol of NCCL over what its channels carry.

    .. math:: B_a = \frac{1}{v} \min\left(s\,c\,b,\; q\,c\,b_0,\; m\,b_0\right)

    Parameters
    ----------
    channels : c [1]
    channel_bandwidth : b [B/s]
    nominal_channel_bandwidth : b_0 [B/s]
    bus_share : s [1]
    channel_share : q [1]
    most_channels : m [1]
    bus_traffic : v [1]

    Returns
    -------
    algorithm_bandwidth [B/s]

    Examples
    --------
    A ring of eight by LL128 takes 0.92 of six channels of 20 GB/s, each of which could do 20: 110.4 GB/s on
    the bus, where 1.75 bytes pass for each.

    >>> round(way_bandwidth(6, 20e9, 20e9, 0.92, 1, 1e30, 1.75) / 1e9, 3)
    63.086
    """
    rate = bus_share * (channels * channel_bandwidth)
    capped = ops.minimum(rate, channel_share * (nominal_channel_bandwidth * channels))
    return ops.minimum(capped, most_channels * nominal_channel_bandwidth) / bus_traffic


@formula(cites="nccl-tuning")
def bandwidth_by_switch(
    algorithm_bandwidth: Real,
    switch_efficiency: Real,
    link_bandwidth: Real,
    channels: Real,
    bus_traffic: Real,
) -> Real:
    r"""Bandwidth of a way of NCCL, where a switch that adds up is on it.

    .. math:: B_a' = \min\left(B_a,\; \frac{2\,\eta_v B}{v}\left(1 - \frac{1}{\max(c, 2)}\right)\right)

    Parameters
    ----------
    algorithm_bandwidth : B_a [B/s], without that switch
    switch_efficiency : \eta_v [1], endless for a way that does not pass it
    link_bandwidth : B [B/s], of one rank to the switch
    channels : c [1]
    bus_traffic : v [1]

    Returns
    -------
    algorithm_bandwidth [B/s]

    Examples
    --------
    Twice 0.85 of 450 GB/s, 15/16 of it, where 1.75 bytes pass for each: 409.82.

    >>> round(bandwidth_by_switch(1e30, 0.85, 450e9, 16, 1.75) / 1e9, 2)
    409.82
    """
    of_switch = 2 * switch_efficiency * link_bandwidth * (1 - 1 / ops.maximum(channels, 2))
    return ops.minimum(algorithm_bandwidth, of_switch / bus_traffic)
