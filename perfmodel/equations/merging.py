"""Optimal merging of gradients into messages, each of which has a start-up time.

Validity
--------
Messages of time a + b S over one network, sent in the order in which they become ready; exact for that
model, as compared with all mergings of small cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from perfmodel.core.formula import formula
from perfmodel.core.tracing.tracing import numeric

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@numeric
@formula(cites="shi2019", symbolic=False)
def optimal_buckets(
    ready_times: Sequence[float],
    tensor_bytes: Sequence[float],
    fixed_time: float,
    time_per_byte: float,
    hiding_cost: float = 0.0,
) -> tuple[NDArray[np.intp], float]:
    r"""Merging of consecutive gradients that adds the least time, if a message of S bytes takes a + b S.

    .. math:: \min_k\left((1-c) f_{L,k} + c\,a_1 k\right), \quad
              f_{j,k} = \min_{i<j}\left(\max(r_j, f_{i,k-1}) + a_1 + b_1\sum_{i<l\le j} m_l\right),
              \quad f_{0,k} = 0

    A merged message can start when its last gradient is ready.  The recursion
    tries every last bucket, O(L^2); the greedy rule of MG-WFBP is up to a fifth slower.
    If hidden messages slow the computation by c of their time (``contention_time``), a further message must
    save more than its start-up costs: the recursion is then repeated for at most k messages, while another
    one may help.

    Parameters
    ----------
    ready_times : r [s], shape (L,), since the start of the backward pass, non-decreasing
    tensor_bytes : m [B], shape (L,)
    fixed_time : a_1 [s], of one message
    time_per_byte : b_1 [s/B]
    hiding_cost : c [1], computation lost for each second hidden; 0 to 1

    Returns
    -------
    bucket index, shape (L,), non-decreasing, and the finish time [s]

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
    if hiding_cost:
        return _with_few(np.asarray(ready_times), sizes, fixed_time, time_per_byte, hiding_cost, finish[-1])
    return _buckets([previous] * len(previous)), float(finish[-1])


def _with_few(
    ready: NDArray[np.float64],
    sizes: NDArray[np.float64],
    fixed: float,
    per_byte: float,
    cost: float,
    first: float,
) -> tuple[NDArray[np.intp], float]:
    """Return buckets and finish time [s] with the best number of messages if hiding them has a cost.

    Parameters
    ----------
    ready : ready times of the gradients [s]
    sizes : bytes of all gradients before each, and of all
    fixed, per_byte : time of one message [s], and of a byte [s/B]
    cost : computation lost for each second hidden [1]
    first : earliest finish time with any number of messages [s]
    """
    import numpy as np

    lasting = fixed + per_byte * (sizes[None, 1:] - sizes[:-1, None])
    lasting[np.tril_indices(len(ready), -1)] = np.inf  # a message holds at least one gradient
    finish = np.where(np.arange(len(sizes)) == 0, 0.0, np.inf)
    steps: list[NDArray[np.intp]] = []
    best, chosen, ends = np.inf, 0, np.inf
    while len(steps) < len(ready) and (1 - cost) * first + cost * fixed * (len(steps) + 1) < best:
        candidates = np.maximum(finish[:-1, None], ready) + lasting
        previous = np.argmin(candidates, axis=0)
        finish = np.concatenate([[0.0], np.take_along_axis(candidates, previous[None], axis=0)[0]])
        steps.append(np.concatenate([[0], previous]))
        added = (1 - cost) * finish[-1] + cost * fixed * len(steps)
        if added < best:
            best, chosen, ends = added, len(steps), float(finish[-1])
    return _buckets(steps[:chosen][::-1]), ends


def _buckets(previous: Sequence[NDArray[np.intp]]) -> NDArray[np.intp]:
    """Return the bucket of each gradient, from the first gradient of each message, the last message first."""
    import numpy as np

    end = len(previous[0]) - 1
    buckets = np.zeros(end, dtype=np.intp)
    for begins in previous:
        end = int(begins[end])
        if end == 0:
            break
        buckets[end:] += 1
    return buckets
