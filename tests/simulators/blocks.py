"""Time of pipelined broadcasts and all-reduces cut into k blocks, of which the formulas take the best k."""

from __future__ import annotations

from math import ceil, log2


def chain_broadcast(n: int, size: float, latency: float, bandwidth: float, k: float) -> float:
    """Chan et al. 2007; none for one rank."""
    return min(n - 1, 1) * (n - 2 + k) * (latency + size / (k * bandwidth))


def two_tree_broadcast(n: int, size: float, latency: float, bandwidth: float, k: float) -> float:
    """Sanders et al. 2009: at most this; a schedule saves two or three of the 2(h+k) steps."""
    return min(n - 1, 1) * 2 * (ceil(log2(n)) + k) * (latency + size / (2 * k * bandwidth))


def double_tree_all_reduce(
    n: int, size: float, latency: float, bandwidth: float, reduction_bandwidth: float, k: float
) -> float:
    """Sanders et al. 2009: at most this; real schedules save four to six of the 4(h+k) steps, or more."""
    step = 2 * latency + size / (k * bandwidth) + size / (2 * k * reduction_bandwidth)
    return min(n - 1, 1) * 2 * (ceil(log2(n)) + k) * step
