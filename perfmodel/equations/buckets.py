"""Buckets into which PyTorch's DistributedDataParallel merges gradients.

Validity
--------
PyTorch's DistributedDataParallel from its second iteration, with tensors ready in the order of the
backward pass; static graphs and unused parameters change the first.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from perfmodel.core.formula import formula
from perfmodel.core.tracing.tracing import numeric

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FIRST_BUCKET_BYTES = 2**20
"""PyTorch's first bucket closes at 1 MiB, so that communication starts early."""
BUCKET_CAP_BYTES = 25 * 2**20
"""PyTorch's default ``bucket_cap_mb``."""


@numeric
@formula(cites="li2020", symbolic=False)
def ddp_buckets(
    tensor_bytes: Iterable[float],
    first_bucket_bytes: float = FIRST_BUCKET_BYTES,
    bucket_cap_bytes: float = BUCKET_CAP_BYTES,
) -> NDArray[np.intp]:
    r"""The bucket of every gradient tensor, as PyTorch's DistributedDataParallel fills them.

    .. math:: \text{close bucket } k \text{ once } \sum_{i \in k} m_i \ge C_k, \quad C_0 = C_f,\ C_{k>0} = C

    A bucket closes when it has reached its cap, so that it may exceed it; a tensor is never split.  Tensors
    of another type need a separate call.  PyTorch fills buckets in the order of registration in the first
    iteration, and in the order in which gradients become ready afterwards.

    Parameters
    ----------
    tensor_bytes : m [B], shape (L,), in the order the gradients become ready
    first_bucket_bytes : C_f [B]
    bucket_cap_bytes : C [B]

    Returns
    -------
    bucket index, shape (L,), non-decreasing

    Examples
    --------
    Caps of 1 and 4: the 3 overshoots the first; 2 + 1 is below 4, so the
    second also takes the 5.

    >>> ddp_buckets([3, 2, 1, 5, 1], first_bucket_bytes=1, bucket_cap_bytes=4).tolist()
    [0, 1, 1, 1, 2]
    """
    import numpy as np

    buckets = []
    bucket, filled, cap = 0, 0.0, first_bucket_bytes
    for size in tensor_bytes:
        buckets.append(bucket)
        filled += size
        if filled >= cap:
            bucket, filled, cap = bucket + 1, 0.0, bucket_cap_bytes
    return np.array(buckets, dtype=np.intp)
