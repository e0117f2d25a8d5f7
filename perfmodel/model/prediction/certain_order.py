"""Why the order of two speeds is surer than their interval says."""

from __future__ import annotations


def why_certain(ratio: float, low_80: float, high_80: float, probability: float | None) -> str:
    """Return why an order is certain though twice the half-width of its interval reaches 1; else empty.

    Such an order is that of two networks of which one is nowhere worse.

    Parameters
    ----------
    ratio, low_80, high_80 : of a speed over another, with the ends of its 80 % interval
    probability : of the order

    >>> [why_certain(1.2, 1.05, 1.37, sure) for sure in (1.0, 0.99)], why_certain(2.0, 1.8, 2.2, 1.0)
    ([', as a better network is never slower', ''], '')
    """
    nearest = low_80 if ratio > 1 else high_80
    reaches_one = (nearest**2 / ratio - 1) * (ratio - 1) < 0
    return ", as a better network is never slower" if probability == 1 and reaches_one else ""
