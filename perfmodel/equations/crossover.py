"""Message size at which one algorithm overtakes another.

Validity
--------
Two times that are linear in the bytes; those of real collectives bend where protocols change.
"""

from __future__ import annotations

from perfmodel.core.formula import formula
from perfmodel.core.ops import Real


@formula(cites="hockney1994")
def crossover_bytes(
    fixed_time: Real, time_per_byte: Real, other_fixed_time: Real, other_time_per_byte: Real
) -> Real:
    r"""Size at which two algorithms whose time is a + b S are equally fast.

    .. math:: S = \frac{a_1 - a_2}{b_2 - b_1}

    Negative if one of them is faster at every size.

    Parameters
    ----------
    fixed_time : a_1 [s], of the first algorithm
    time_per_byte : b_1 [s/B]
    other_fixed_time : a_2 [s], of the second
    other_time_per_byte : b_2 [s/B]

    Returns
    -------
    message_bytes [B]

    Examples
    --------
    3 s + 1 s/B against 1 s + 2 s/B: both take 5 s for 2 bytes.

    >>> crossover_bytes(3, 1, 1, 2)
    2.0
    """
    return (fixed_time - other_fixed_time) / (other_time_per_byte - time_per_byte)
