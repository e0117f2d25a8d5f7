"""Probability of a success by those counted in similar trials.

Validity
--------
Trials that are alike and independent, of whose common rate of success nothing else is known: every rate is
equally probable before the trials.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfmodel.core.formula import formula

if TYPE_CHECKING:
    from perfmodel.core.ops import Real


@formula(cites=("laplace1814",))
def next_success_probability(successes: Real, trials: Real) -> Real:
    r"""Probability that the next trial succeeds, by Laplace's rule of succession.

    .. math:: P = \frac{k+1}{n+2}

    The mean of the rate of success after k of n trials succeeded, all rates being equally probable before.

    Parameters
    ----------
    successes : k [1], at most n
    trials : n [1]

    Returns
    -------
    next_success_probability [1]

    Examples
    --------
    Two of three succeeded: (2 + 1) / (3 + 2).  Without trials one half.

    >>> next_success_probability(2, 3), next_success_probability(0, 0)
    (0.6, 0.5)
    """
    return (successes + 1) / (trials + 2)
