"""The best way to merge gradients into messages, where each message has a start-up time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from perfmodel.formula import formula

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@formula(cites="shi2019", symbolic=False)
def optimal_buckets(
    ready_times: Sequence[float],
    tensor_bytes: Sequence[float],
    fixed_time: float,
    time_per_byte: float,
) -> tuple[NDArray[np.intp], float]:
    r"""The merging of consecutive gradients that ends first, where a message of S bytes takes a + b S.

    .. math:: f_j = \min_{i<j}\left(\max(r_j, f_i) + a_1 + b_1\sum_{i<l\le j} m_l\right), \quad f_0 = 0

    A merged message can start when its last gradient is ready.  The recursion
    tries every last bucket, O(L^2); the greedy rule of MG-WFBP is up to a fifth slower.

    Parameters
    ----------
    ready_times : r [s], shape (L,), since the backward pass began, not falling
    tensor_bytes : m [B], shape (L,)
    fixed_time : a_1 [s], of one message
    time_per_byte : b_1 [s/B]

    Returns
    -------
    bucket index, shape (L,), not falling, and the finish time [s]

    Examples
    --------
    Start-up 1 s, 1 s a byte.  Apart, the first ends at 1 + 2 and the second at
    3 + 2; merged they are ready at 1.5 and end at 1.5 + 1 + 2.

    >>> buckets, finish = optimal_buckets([1, 1.5], [1, 1], 1, 1)
    >>> buckets.tolist(), finish
    ([0, 0], 4.5)
    """
    import numpy as np

    sizes = np.concatenate([[0.0], np.cumsum(np.asarray(tensor_bytes, dtype=np.float64))])
    finish = np.zeros(len(sizes))
    previous = np.zeros(len(sizes), dtype=np.intp)
    for j, ready in enumerate(ready_times, start=1):
        candidates = np.maximum(ready, finish[:j]) + fixed_time + time_per_byte * (sizes[j] - sizes[:j])
        previous[j] = np.argmin(candidates)
        finish[j] = candidates[previous[j]]
    buckets = np.zeros(len(sizes) - 1, dtype=np.intp)
    end, cuts = len(buckets), []
    while end > 0:
        cuts.append(end)
        end = int(previous[end])
    for start in cuts[1:]:
        buckets[start:] += 1
    return buckets, float(finish[-1])
