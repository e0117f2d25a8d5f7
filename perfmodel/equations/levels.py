"""Covariance of the errors of two jobs of one source, by how similar the jobs are.

Validity
--------
Errors are ln(measured / predicted) of jobs that one source measured: an owner of machines, or a published
series.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfmodel.core import ops
from perfmodel.core.formula import formula

if TYPE_CHECKING:
    from perfmodel.core.ops import Real


@formula(cites=())
def likeness(distance: Real) -> Real:
    r"""Share of the row error that two jobs have in common.

    .. math:: \rho = e^{-d}

    Parameters
    ----------
    distance : d [1], sum of the differences between the jobs, each weighted by its fall

    Returns
    -------
    likeness [1]

    Examples
    --------
    >>> likeness(0)
    1.0
    """
    return ops.exp(-1.0 * distance)


@formula(cites=())
def shared_variance(
    source_variance: Real, network_deviation: Real, row_deviation: Real, likeness: Real
) -> Real:
    r"""Covariance of the errors of two jobs of one source.

    .. math:: k = s^2 + n^2 + r^2 \rho

    Parameters
    ----------
    source_variance : s^2 [1], of the error of the whole source
    network_deviation : n [1], of a further error of the network; 0 for jobs of two networks
    row_deviation : r [1], of the part that similar jobs have in common
    likeness : rho [1]

    Returns
    -------
    shared_variance [1]

    Examples
    --------
    >>> round(shared_variance(0.04, 0.1, 0.2, 0.5), 6)
    0.07
    """
    return source_variance + network_deviation**2 + row_deviation**2 * likeness


@formula(cites=())
def own_runs_factor(shift: Real) -> Real:
    r"""Factor by which a user's own runs correct the predicted times of a job.

    .. math:: a = e^m

    Parameters
    ----------
    shift : m [1], posterior mean of ln(measured / predicted)

    Returns
    -------
    anchor_factor [1]

    Examples
    --------
    >>> own_runs_factor(0)
    1.0
    """
    return ops.exp(1.0 * shift)
