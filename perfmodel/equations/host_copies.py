"""Copies between the memory of the host and that of its accelerators, where the host keeps shards of weights.

Validity
--------
Pinned memory, and accelerators that copy at the same time, each over a link of its own or its share of one.
Processors and their memory keep up with the links.
"""

from __future__ import annotations

from perfmodel.core.formula import formula
from perfmodel.core.ops import Real


@formula(cites=("pytorch-cpu-offload", "deepspeed-offload"))
def host_copy_time(
    weight_copies: Real,
    shard_bytes: Real,
    gradient_copies: Real,
    gradient_bytes: Real,
    host_bandwidth: Real,
) -> Real:
    r"""Time to copy a rank's shard of the weights from the host, and its shard of the gradients back.

    .. math:: T = \frac{c_w\,S_w + c_g\,S}{B_h}

    Shards are copied to the accelerator before each gather, of the forward and of the backward pass;
    gradients are copied to the host after they are scattered.

    Parameters
    ----------
    weight_copies : c_w [1], gathers of the weights in a step
    shard_bytes : S_w [B], the rank's shard of the weights, as it is stored
    gradient_copies : c_g [1], scatters of the gradients in a step
    gradient_bytes : S [B], the rank's shard of the gradients
    host_bandwidth : B_h [B/s], of copies between the host's memory and one accelerator

    Returns
    -------
    communication_time [s]

    Examples
    --------
    20 GB twice, and 10 GB once, at 25 GB/s: 50 / 25.

    >>> host_copy_time(2, 20e9, 1, 10e9, 25e9)
    2.0
    """
    return (weight_copies * shard_bytes + gradient_copies * gradient_bytes) / host_bandwidth
