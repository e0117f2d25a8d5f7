"""Gradient messages as Horovod fuses them: at the ticks of a cycle, up to a threshold of bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from perfmodel.formula import formula

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CYCLE_TIME = 1e-3
"""Horovod's default ``HOROVOD_CYCLE_TIME`` [s]; 5 ms in versions before 0.21."""
FUSION_THRESHOLD_BYTES = 128 * 2**20
"""Horovod's default ``HOROVOD_FUSION_THRESHOLD`` [B]; 64 MiB in versions before 0.21."""


@formula(cites="sergeev2018", symbolic=False)
def fused_messages(
    ready_times: Sequence[float],
    tensor_bytes: Sequence[float],
    cycle_time: float = CYCLE_TIME,
    fusion_threshold_bytes: float = FUSION_THRESHOLD_BYTES,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""When each fused message is released, and its bytes.

    .. math:: r_k = t_y\left\lceil\frac{r}{t_y}\right\rceil, \quad \sum_{i \in k} m_i \le C_y

    Tensors that became ready since the last tick go together, in order, as long
    as they fit under the threshold; a larger tensor goes alone.  A tick every t_y
    is meant; where a tick waits for the messages before it, times are longer.

    Parameters
    ----------
    ready_times : r [s], shape (L,), since the backward pass began, not falling
    tensor_bytes : m [B], shape (L,)
    cycle_time : t_y [s], above 0
    fusion_threshold_bytes : C_y [B]

    Returns
    -------
    release times [s] and sizes [B] of the messages, shape (K,) each

    Examples
    --------
    A tick each second, 10 bytes at most: 4 + 5 leave at 1, the 3 would be too
    much and leaves after them; the 20 leaves at 3.

    >>> release, size = fused_messages([0.2, 0.5, 1.0, 2.5], [4, 5, 3, 20], 1, 10)
    >>> release.tolist(), size.tolist()
    ([1.0, 1.0, 3.0], [9.0, 3.0, 20.0])
    """
    import numpy as np

    ticks = np.ceil(np.asarray(ready_times, dtype=np.float64) / cycle_time) * cycle_time
    release: list[float] = []
    sizes: list[float] = []
    for tick, size in zip(ticks.tolist(), tensor_bytes, strict=True):
        if release and release[-1] == tick and sizes[-1] + size <= fusion_threshold_bytes:
            sizes[-1] += size
        else:
            release.append(tick)
            sizes.append(float(size))
    return np.array(release), np.array(sizes)
