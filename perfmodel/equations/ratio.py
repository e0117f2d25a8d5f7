"""Interval of the ratio of two predictions whose errors are correlated.

Validity
--------
Two predictions of one model, whose logarithmic errors are normal. Their correlation is learned from pairs
of runs in one source; for pairs of a type that no source has, that of the nearest type is assumed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfmodel.core import ops
from perfmodel.core.formula import formula

if TYPE_CHECKING:
    from perfmodel.core.ops import Real


@formula(cites=())
def ratio_half_width(one_half_width: Real, other_half_width: Real, unshared: Real) -> Real:
    r"""Half-width of the interval of a ratio of two predictions, as a logarithm.

    .. math:: h = \sqrt{(h_1 - h_2)^2 + 2 h_1 h_2 \min(u, 1)}

    This is the deviation of a difference of two errors with correlation 1 - u: for u = 1 that of independent
    predictions, for u = 0 the difference of both half-widths.  The correlation is learned from pairs of runs
    of one source.

    Parameters
    ----------
    one_half_width : h_1 [1], logarithm of the upper end of one prediction's interval over the prediction
    other_half_width : h_2 [1], of the other's
    unshared : u [1], share of the error that the two do not have in common

    Returns
    -------
    ratio_half_width [1]

    Examples
    --------
    Independent errors add in quadrature, 3 and 4 to 5; fully correlated ones leave the difference.

    >>> ratio_half_width(0.3, 0.4, 1)
    0.5
    >>> round(ratio_half_width(0.3, 0.4, 0), 12)
    0.1
    """
    difference = one_half_width - other_half_width
    return ops.sqrt(
        difference * difference + 2 * one_half_width * other_half_width * ops.minimum(unshared, 1.0)
    )
