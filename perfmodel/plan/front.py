"""Which plans no other beats in time and in money at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def front(time: Any, cost: Any) -> NDArray[np.intp]:
    """Return the indices of the pairs that none other is at most as large as in both and smaller in one.

    Of equal pairs the first is kept, so each index differs from the next in both.  Ordered by time rising,
    hence cost falling.  A pair with a number that is not finite is never on the front.

    Parameters
    ----------
    time, cost : shape (plans,); any two quantities of which less is better

    Examples
    --------
    Three hours for $2 beat three hours for $4 and five hours for $3; one hour for $9 stays.

    >>> front([3.0, 1.0, 5.0, 3.0], [4.0, 9.0, 3.0, 2.0]).tolist()
    [1, 3]
    """
    time, cost = np.asarray(time, dtype=np.float64), np.asarray(cost, dtype=np.float64)
    able = np.flatnonzero(np.isfinite(time) & np.isfinite(cost))
    order = able[np.lexsort((able, cost[able], time[able]))]
    costs = cost[order]
    before = np.concatenate(([np.inf], np.minimum.accumulate(costs)[:-1])) if len(costs) else costs
    best: NDArray[np.intp] = order[costs < before]
    return best
