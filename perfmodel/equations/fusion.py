"""Messages into which Horovod fuses gradients: cycle by cycle, up to a threshold of bytes.

Validity
--------
Horovod with a fixed cycle time and threshold (no autotuning) and a warm response cache; tensors become
ready in the order of the backward pass.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from perfmodel.core import ops
from perfmodel.core.formula import formula

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CYCLE_TIME = 1e-3
"""Horovod's default ``HOROVOD_CYCLE_TIME`` [s]; 5 ms in versions before 0.21."""
FUSION_THRESHOLD_BYTES = 128 * 2**20
"""Horovod's default ``HOROVOD_FUSION_THRESHOLD`` [B]; 64 MiB in versions before 0.21."""
GUESSES = 33
"""Number of sizes whose times are computed before the first guess of the messages."""


@formula(cites=("sergeev2018", "horovod-tensor-fusion"), symbolic=False)
def fused_messages(
    ready_times: Sequence[float],
    tensor_bytes: Sequence[float],
    message_time: Callable[[NDArray[np.float64]], Any],
    cycle_time: float = CYCLE_TIME,
    fusion_threshold_bytes: float = FUSION_THRESHOLD_BYTES,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Time at which each fused message could be sent on an idle network, and its size.

    .. math:: s_{j+1} = \max(s_j + t_y,\; e_j), \quad r_i \le s_j,\ \sum_{i \in k} m_i \le C_y

    A cycle begins at s, a time t_y after the previous one or, if that is later,
    when the messages of the previous one have ended (e).  It sends the tensors
    that are ready when it begins, in order and one message after another; each
    message has as many tensors as fit under the threshold, and a larger tensor
    is sent alone.  So tensors accumulate during a message, and slow messages are few.

    Which tensors are sent together depends on the times of the messages.  It is
    guessed from interpolated times, and guessed again until the times of all
    messages are known; ``message_time`` is called once for each round.

    Parameters
    ----------
    ready_times : r [s], shape (L,), since the start of the backward pass and of the first cycle,
        non-decreasing
    tensor_bytes : m [B], shape (L,), above 0
    message_time : function from the bytes of messages, shape (K,), to their times [s], shape (K,)
    cycle_time : t_y [s], above 0
    fusion_threshold_bytes : C_y [B]

    Returns
    -------
    ready times [s] and sizes [B] of the messages, shape (K,) each, as
    ``communication_finish_time`` takes them: a message is ready with its last
    tensor, and if the network was idle, with the cycle that sends it

    Examples
    --------
    A cycle each second, 10 bytes at most, messages of 1.5 s.  The cycle at 1 sends 4 + 5, and then the 3,
    which was too much, until 4; the next begins at once and sends the 20, that was ready at 2.5.

    >>> ready, size = fused_messages([0.2, 0.5, 1.0, 2.5], [4, 5, 3, 20], lambda s: 1.5 + 0 * s, 1, 10)
    >>> ready.tolist(), size.tolist()
    ([1.0, 1.0, 2.5], [9.0, 3.0, 20.0])
    """
    import numpy as np

    tensors = ops.plain(ops.array(tensor_bytes))
    sent = np.concatenate([[0.0], np.cumsum(tensors)])
    largest = min(sent[-1], max(fusion_threshold_bytes, np.max(tensors)))
    sizes = np.geomspace(np.min(tensors), largest, GUESSES)

    def plain_times(of: Any) -> list[float]:
        times: list[float] = ops.array(ops.plain(message_time(of))).tolist()
        return times

    usual = plain_times(sizes)
    steps: list[float] = sizes.tolist()
    known: dict[float, float] = {}

    def guessed(size: float) -> float:
        result = known.get(size)
        if result is not None:
            return result
        # linear interpolation, ten times as fast as numpy's interp for one number
        above = min(max(bisect_right(steps, size), 1), GUESSES - 1)
        low, high = steps[above - 1], steps[above]
        if size <= low or size >= high:
            return usual[above - 1] if size <= low else usual[above]
        return usual[above - 1] + (size - low) * (usual[above] - usual[above - 1]) / (high - low)

    queue = list(map(ops.plain, ready_times)), sent.tolist()
    while True:
        messages = _cycles(*queue, guessed, cycle_time, fusion_threshold_bytes)
        unknown = [size for _, size in messages if size not in known]
        if not unknown:
            break
        known.update(zip(unknown, plain_times(np.array(unknown)), strict=True))
    if (
        ops.plain(ready := ops.array(ready_times)) is not ready
    ):  # traced numbers: repeat the last round with them
        sent = np.cumsum(ops.array(tensor_bytes), axis=-1)
        queue = ready.tolist(), [0.0, *sent.tolist()]
        messages = _cycles(
            *queue, lambda size: message_time(ops.array([size]))[0], cycle_time, fusion_threshold_bytes
        )
        ready, size = zip(*messages, strict=True)
        return ops.array(ready), ops.array(size)
    ready, size = np.array(messages).T
    return ready, size


def _cycles(
    ready: list[float], sent: list[float], time: Callable[[float], float], cycle: float, threshold: float
) -> list[tuple[float, float]]:
    """Return ready time and bytes of each message; ``sent`` has the bytes of all tensors before each."""
    messages: list[tuple[float, float]] = []
    first, queued, start, end = 0, 0, -cycle, 0.0
    while first < len(ready):
        if first == queued:
            start = max(start + cycle, end)
            if ready[first] > start:  # cycles with nothing to send
                start += -(-(ready[first] - start) // cycle) * cycle
            queued = max(bisect_right(ready, start), first + 1)
        last = bisect_right(sent, sent[first] + threshold, first + 1, queued + 1) - 1
        last = max(last, first + 1)
        size = sent[last] - sent[first]
        is_idle = start > end
        messages.append((start if is_idle else ready[last - 1], size))
        end = max(start, end) + time(size)
        first = last
    return messages


@formula(cites="sergeev2018", symbolic=False)
def cycle_wait_time(ready_times: Any, communication_times: Any, backward_time: Any) -> NDArray[np.float64]:
    r"""Time after the backward pass in which gradients wait for a cycle and nothing is sent.

    .. math:: t_w = \sum_k \max\left(0,\; r_k - \max(t_b, e_{k-1})\right), \quad
              e_k = \max(r_k, e_{k-1}) + c_k

    Parameters
    ----------
    ready_times : r [s], shape (..., K), since the start of the backward pass, non-decreasing
    communication_times : c [s], shape (..., K), each message on its own
    backward_time : t_b [s], shape (...)

    Returns
    -------
    wait [s], shape (...)

    Examples
    --------
    The backward pass ends at 4, the first message at 3; the second waits for the cycle at 5.

    >>> float(cycle_wait_time([2, 5], [1, 1], 4))
    1.0
    """
    import numpy as np

    lasting, ready = ops.array(communication_times), ops.array(ready_times)
    before = np.cumsum(lasting, axis=-1) - lasting
    # the start of each message: the latest ready time of those before it, plus the messages in between
    start = np.maximum.accumulate(ready - before, axis=-1) + before
    ends = (start + lasting)[..., :-1]
    free = np.maximum(ends, ops.array(backward_time)[..., None])
    wait: NDArray[np.float64] = np.maximum(start[..., 1:] - free, 0.0).sum(axis=-1)
    return wait + np.maximum(start[..., 0] - ops.array(backward_time), 0.0)
