"""Speed-up of one model-parallel replica over machines (DistBelief), fitted to reported values.

There are two closed forms: the universal scalability law (``scaling.usl_speedup``: 1/n of the work,
activations broadcast to the others, messages to each peer), and square tiles that exchange their borders.

Validity
--------
Each law is fitted to one reported point, which it reproduces by construction: an independent check is not
possible, and one point does not distinguish the two laws.
"""

from dataclasses import dataclass
from typing import Literal

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real
from perfmodel.equations.scaling import usl_speedup


@formula(cites=("dean2012", "gunther2008"))
def coherency_of_peak(machines: Real, speedup: Real) -> Real:
    r"""Coherency of a model whose speed-up peaks at a known number of machines.

    .. math:: \kappa = \frac{1 - 1/S}{(n_m - 1)^2}

    Two facts determine two parameters: only the decrease beyond the peak is a prediction.  DistBelief's fully
    connected speech model (42 million parameters) has 2.2 at 8 machines.

    Parameters
    ----------
    machines : n_m [1], at which the speed-up is largest
    speedup : S [1], at that number

    Returns
    -------
    coherency [1]

    Examples
    --------
    1 - 1/2 over 2 squared.

    >>> coherency_of_peak(3, 2)
    0.125
    """
    return (1 - 1 / speedup) / (machines - 1) ** 2


@formula(cites=("dean2012", "gunther2008"))
def contention_of_peak(machines: Real, coherency: Real) -> Real:
    r"""Contention of a model whose speed-up peaks at a known number of machines.

    .. math:: \sigma = 1 - \kappa n_m^2

    Parameters
    ----------
    machines : n_m [1], at which the speed-up is largest
    coherency : kappa [1]

    Returns
    -------
    contention [1]

    Examples
    --------
    A peak at 8 machines with 1 % coherency.

    >>> round(contention_of_peak(8, 0.01), 12)
    0.36
    """
    return 1 - coherency * machines**2


@formula(cites=("dean2012", "gunther2008"))
def contention_of_point(machines: Real, speedup: Real) -> Real:
    r"""Contention that alone explains one measured speed-up.

    .. math:: \sigma = \frac{n_m / S - 1}{n_m - 1}

    DistBelief's locally connected image model (1.7 billion parameters) has 12 at 81 machines, so at most
    1 / sigma = 13.9 on any number.  ``halo_of_point`` is another explanation of the same value.

    Parameters
    ----------
    machines : n_m [1]
    speedup : S [1]

    Returns
    -------
    contention [1]

    Examples
    --------
    Ten machines, speed-up 5: 1/9.

    >>> round(1 / contention_of_point(10, 5), 12)
    9.0
    """
    return (machines / speedup - 1) / (machines - 1)


@formula(cites="dean2012")
def tiled_speedup(machines: Real, halo: Real) -> Real:
    r"""Speed-up of a locally connected model cut into square tiles, one for each machine.

    .. math:: S(n_m) = \left[ \frac{1}{n_m} + 4 h \frac{1 - 1/\sqrt{n_m}}{\sqrt{n_m}} \right]^{-1}

    Each machine exchanges the border of its tile, which is proportional to the side of the tile, not to its
    area.

    Parameters
    ----------
    machines : n_m [1], a square number
    halo : h [1], time to exchange one side of the whole image, in single-machine times; fitted

    Returns
    -------
    speedup [1]

    Examples
    --------
    Four machines, a sixteenth for the whole side: 1/4 + 1/16.

    >>> tiled_speedup(4, 1 / 16)
    3.2
    """
    side = ops.sqrt(machines)
    return 1 / (1 / machines + 4 * halo * (1 - 1 / side) / side)


@formula(cites="dean2012")
def halo_of_point(machines: Real, speedup: Real) -> Real:
    r"""Halo that alone explains one measured speed-up of a tiled model.

    .. math:: h = \frac{1/S - 1/n_m}{4 (1 - 1/\sqrt{n_m}) / \sqrt{n_m}}

    One value cannot distinguish it from ``contention_of_point``; they differ for other numbers of machines.

    Parameters
    ----------
    machines : n_m [1], a square number above 1
    speedup : S [1]

    Returns
    -------
    halo [1]

    Examples
    --------
    The inverse of ``tiled_speedup``.

    >>> halo_of_point(4, 3.2)
    0.0625
    """
    side = ops.sqrt(machines)
    return (1 / speedup - 1 / machines) / (4 * (1 - 1 / side) / side)


@dataclass(frozen=True)
class FittedModel:
    """The universal scalability law, fitted to one reported speed-up."""

    facts: str
    machines: float
    speedup: float
    peaks_there: bool
    status: Literal["fitted"] = "fitted"

    def contention_and_coherency(self) -> tuple[float, float]:
        """Return the two parameters of the universal scalability law."""
        if not self.peaks_there:
            return float(contention_of_point(self.machines, self.speedup)), 0.0
        coherency = float(coherency_of_peak(self.machines, self.speedup))
        return float(contention_of_peak(self.machines, coherency)), coherency

    def speedup_on(self, machines: Real) -> Real:
        """Return the speed-up on another number of machines."""
        return usl_speedup(machines, *self.contention_and_coherency())


DISTBELIEF: dict[str, FittedModel] = {
    "speech": FittedModel("fully connected, 42 million parameters, fastest on 8 machines", 8, 2.2, True),
    "image": FittedModel(
        "locally connected, 1.7 billion parameters, over 12 on 81 machines", 81, 12.0, False
    ),
}
"""Speed-ups that Dean et al. (2012) report, over a single machine that used about 20 of its cores."""
