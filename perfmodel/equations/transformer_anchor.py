"""How far a measured run of a transformer moves the prediction of another one.

Validity
--------
Runs of the same network in the same source; how far a miss carries over falls with what differs
between two layouts, as learned from such pairs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfmodel import ops
from perfmodel.formula import formula

if TYPE_CHECKING:
    from perfmodel.ops import Real


@formula(cites=())
def anchor_weight(anchor_share: Real, anchor_distance: Real, anchor_reach: Real) -> Real:
    r"""Share of a measured run's miss that another run of the same network has as well.

    .. math:: w = s\,e^{-d/r}

    Share and reach are learned from pairs of measured runs of one network and source.

    Parameters
    ----------
    anchor_share : s [1], of runs at no distance
    anchor_distance : d [1], between the two runs
    anchor_reach : r [1], distance at which 1/e of the share is left

    Returns
    -------
    anchor_weight [1]

    Examples
    --------
    At no distance the share itself is left; half of it at ln 2 of the reach.

    >>> anchor_weight(0.8, 0, 2)
    0.8
    >>> round(anchor_weight(0.8, 2 * 0.693147, 2), 6)
    0.4
    """
    return anchor_share * ops.exp(-anchor_distance / anchor_reach)


@formula(cites=())
def weighted_anchor_factor(measured_time: Real, predicted_time: Real, anchor_weight: Real) -> Real:
    r"""Factor by which a measured run moves the times that are predicted of another run.

    .. math:: a = (T_m / T_p)^w

    Parameters
    ----------
    measured_time : T_m [s], of the measured run
    predicted_time : T_p [s], of the same run, from specs
    anchor_weight : w [1], 1 where the predicted run is the measured one

    Returns
    -------
    anchor_factor [1]

    Examples
    --------
    Measured 1.44 times as slow as predicted, which counts half: the root of 1.44.

    >>> weighted_anchor_factor(144, 100, 0.5)
    1.2
    """
    return (measured_time / predicted_time) ** anchor_weight
