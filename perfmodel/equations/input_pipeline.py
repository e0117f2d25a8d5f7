"""Time to bring samples to the accelerators: storage, decoding, the copy from the host."""

from perfmodel import ops
from perfmodel.formula import formula
from perfmodel.ops import Real


@formula(cites="shi2018-dag")
def input_rate(
    loader_workers: Real,
    decode_rate: Real,
    storage_bandwidth: Real,
    stored_bytes: Real,
) -> Real:
    r"""Samples per second that one host can read and decode.

    .. math:: R = \min\left(w\,r,\; \frac{B_d}{d}\right)

    Parameters
    ----------
    loader_workers : w [1], processes or threads of the host
    decode_rate : r [samples/s], of one worker
    storage_bandwidth : B_d [B/s]
    stored_bytes : d [B], one sample as stored

    Returns
    -------
    input rate of one host [samples/s]

    Examples
    --------
    Four workers at 100 a second give 400; storage of 50 MB/s at 100 kB a sample gives 500.

    >>> input_rate(4, 100, 50e6, 100e3)
    400
    """
    return ops.minimum(loader_workers * decode_rate, storage_bandwidth / stored_bytes)


@formula(cites="shi2018-dag")
def exposed_input_time(
    accelerators_per_node: Real,
    local_batch_size: Real,
    input_rate: Real,
    sample_bytes: Real,
    host_bandwidth: Real,
    busy_time: Real,
) -> Real:
    r"""Time an accelerator waits for its next batch, when batches are fetched ahead.

    .. math:: t_i = \max\left(0,\; \max\left(\frac{g\,b}{R}, \frac{b\,x}{B_h}\right) - t\right)

    Reading, decoding and copying run beside the step before, each stage on its own resource.

    Parameters
    ----------
    accelerators_per_node : g [1], which share the host
    local_batch_size : b [samples]
    input_rate : R [samples/s], of the host
    sample_bytes : x [B], one sample as it is copied to the accelerator
    host_bandwidth : B_h [B/s], from host memory to one accelerator
    busy_time : t [s], the rest of the iteration

    Returns
    -------
    input_time [s]

    Examples
    --------
    Two accelerators with 50 samples each, 500 samples/s: a batch every 0.2 s; a step of 0.15 s waits 50 ms.

    >>> round(exposed_input_time(2, 50, 500, 1e6, 10e9, 0.15), 12)
    0.05
    """
    prepared = accelerators_per_node * local_batch_size / input_rate
    copied = local_batch_size * sample_bytes / host_bandwidth
    return ops.maximum(0, ops.maximum(prepared, copied) - busy_time)
