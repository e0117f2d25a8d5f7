"""Time of the input pipeline: storage, cache, decoding, copies, the start of an epoch.

Validity
--------
Loading in steady state, with batches fetched ahead; each stage on its own resource. Storage that other
jobs use, and samples of very different sizes, increase the times.
"""

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real


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

    Reading, decoding and copying run during the previous step, each stage on its own resource.

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


@formula(cites="shi2018-dag")
def file_bandwidth(storage_bandwidth: Real, storage_requests: Real, stored_bytes: Real) -> Real:
    r"""Bandwidth of reading files that have one sample each.

    .. math:: B = \min\left(B_d,\; I\,d\right)

    Every file needs a request; for small files the rate of requests is the limit, not the bandwidth.

    Parameters
    ----------
    storage_bandwidth : B_d [B/s], in large blocks
    storage_requests : I [1/s]
    stored_bytes : d [B], one sample as stored

    Returns
    -------
    bandwidth [B/s]

    Examples
    --------
    3,000 requests a second of 3 kB each are 9 MB/s; at 100 kB they would be 300 MB/s, above the 125 MB/s of
    the storage.

    >>> file_bandwidth(125e6, 3000, 3e3), file_bandwidth(125e6, 3000, 100e3)
    (9000000.0, 125000000.0)
    """
    return ops.minimum(storage_bandwidth, storage_requests * stored_bytes)


@formula(cites="shi2018-dag")
def cached_bandwidth(
    storage_bandwidth: Real, cache_bandwidth: Real, cache_bytes: Real, dataset_bytes: Real
) -> Real:
    r"""Bandwidth of reading a data set, a part of which stays in the host's memory after the first epoch.

    .. math:: B = \left(\frac{h}{B_c} + \frac{1-h}{B_d}\right)^{-1}, \quad h = \min\left(1, \frac{M}{D}\right)

    Samples come in random order, so that the share of cache hits is the share of the data set that fits.

    Parameters
    ----------
    storage_bandwidth : B_d [B/s]
    cache_bandwidth : B_c [B/s], of memory
    cache_bytes : M [B]
    dataset_bytes : D [B]

    Returns
    -------
    bandwidth [B/s]

    Examples
    --------
    Half fits: a byte takes half of 1/400 MB/s and half of 1/100 MB/s, 160 MB/s over both.

    >>> round(cached_bandwidth(100e6, 400e6, 50e9, 100e9))
    160000000
    """
    cached = ops.minimum(1, cache_bytes / dataset_bytes)
    return 1 / (cached / cache_bandwidth + (1 - cached) / storage_bandwidth)


@formula(cites="shi2018-dag")
def engine_input_rate(input_rate: Real, accelerators_per_node: Real, accelerator_decode_rate: Real) -> Real:
    r"""Samples per second of a host whose accelerators decode in a separate engine while they train.

    .. math:: R' = \min\left(R,\; g\,r_a\right)

    Parameters
    ----------
    input_rate : R [samples/s], of the host's part of the work
    accelerators_per_node : g [1]
    accelerator_decode_rate : r_a [samples/s], of the engine of one accelerator

    Returns
    -------
    input rate of one host [samples/s]

    Examples
    --------
    Eight engines of 5,000 a second decode 40,000, more than the 17,000 from the disk.

    >>> engine_input_rate(17e3, 8, 5e3)
    17000.0
    """
    return ops.minimum(input_rate, accelerators_per_node * accelerator_decode_rate)


@formula(cites="shi2018-dag")
def serial_input_time(
    local_batch_size: Real, accelerator_decode_rate: Real, sample_bytes: Real, host_bandwidth: Real
) -> Real:
    r"""Input time of a batch that fetching ahead cannot hide.

    .. math:: t_a = \frac{b}{r_a} + \frac{b\,x}{B_h}

    Decoding on the accelerator's own cores, and a copy for which the host waits: from pageable memory, or
    without ``non_blocking``.  The rate of a stage that does not exist is infinite.

    Parameters
    ----------
    local_batch_size : b [samples]
    accelerator_decode_rate : r_a [samples/s], of one accelerator
    sample_bytes : x [B], one sample as it is copied
    host_bandwidth : B_h [B/s], from host memory to one accelerator

    Returns
    -------
    serial_input_time [s]

    Examples
    --------
    100 samples at 5,000 a second take 20 ms, and 100 of 0.6 MB over 6 GB/s another 10 ms.

    >>> round(serial_input_time(100, 5000, 0.6e6, 6e9), 12)
    0.03
    """
    return local_batch_size / accelerator_decode_rate + local_batch_size * sample_bytes / host_bandwidth


@formula(cites="shi2018-dag")
def time_with_serial_input(input_time: Real, serial_input_time: Real) -> Real:
    r"""Sum of a time and the input time that fetching ahead cannot hide.

    .. math:: t_i + t_a

    Parameters
    ----------
    input_time : t_i [s], waiting for samples, or the rest of the iteration
    serial_input_time : t_a [s]

    Returns
    -------
    time [s]

    Examples
    --------
    >>> time_with_serial_input(2, 3)
    5
    """
    return input_time + serial_input_time


@formula(cites="shi2018-dag")
def epoch_start_time(
    loader_workers: Real, worker_start_time: Real, local_batch_size: Real, decode_rate: Real
) -> Real:
    r"""Time until the first batch of an epoch is ready, which is not fetched ahead.

    .. math:: t_e = w\,t_w + \frac{b}{r}

    A process starts its workers one after another, unless they persist; then one worker, or all threads of a
    pool, prepare the first batch.

    Parameters
    ----------
    loader_workers : w [1], that one training process starts
    worker_start_time : t_w [s]
    local_batch_size : b [samples], of one training process
    decode_rate : r [samples/s], of the worker or the pool that prepares that batch

    Returns
    -------
    time [s]

    Examples
    --------
    Five workers of 0.1 s, and 64 samples at 128 a second: 0.5 + 0.5 s.

    >>> epoch_start_time(5, 0.1, 64, 128)
    1.0
    """
    return loader_workers * worker_start_time + local_batch_size / decode_rate
