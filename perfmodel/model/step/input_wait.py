"""The input term: the time that accelerators wait for samples."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from perfmodel.core import ops
from perfmodel.equations.input_pipeline import (
    cached_bandwidth,
    engine_input_rate,
    exposed_input_time,
    file_bandwidth,
    input_rate,
    serial_input_time,
    time_with_serial_input,
)
from perfmodel.equations.input_pipeline import epoch_start_time as start_time
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.input.data import unknown_samples
from perfmodel.model.input.feed import Feed
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.ports import bulk_bandwidth

if TYPE_CHECKING:
    from perfmodel.model.options.layout import Layout

NATIVE_SPEED = 3
"""Decoding rate of specialised compiled code, over a Python worker's (assumed)."""
SAMPLE_ELEMENT_BYTES = 4
"""Samples are copied to the accelerator as fp32, or as 32-bit token numbers."""


def decode_rate(setting: Setting, calibration: Calibration) -> float:
    """Return the samples/s that one loader worker decodes: as stated, or the calibrated rate of images."""
    if setting.decode_rate is not None:
        return setting.decode_rate
    return calibration.decode_rate * (NATIVE_SPEED if setting.framework.native_decoding else 1)


def stage_times(
    setting: Setting, accelerators: Any, samples: Any, calibration: Calibration
) -> dict[str, Any]:
    """Return the time of each stage of the input pipeline for one iteration's samples, without overlap [s].

    Parameters as for ``input_time``; samples are real.  ``serial`` is the part that no previous step hides.
    """
    feed, stored = _feed(setting), setting.workload.stored_bytes
    reading = input_rate(1, math.inf, read_bandwidth(setting, feed, calibration), stored)
    workers = _loaders(setting, feed, accelerators)
    decoding = input_rate(workers, decode_rate(setting, calibration), math.inf, stored)
    engines = _engines(math.inf, accelerators, feed)
    copied, host = _overlapped_copy_bytes(setting, feed), bulk_bandwidth(setting.host_link, calibration)
    times = {
        stage: exposed_input_time(accelerators, samples, rate, size, host, 0.0)
        for stage, rate, size in (
            ("reading", reading, 0.0),
            ("decoding", decoding, 0.0),
            ("engines", engines, 0.0),
            ("copying", math.inf, copied),
        )
    }
    serial = _serial(setting, feed, samples, calibration)
    return times | {"serial": 0.0 if serial is None else serial}


def read_bandwidth(setting: Setting, feed: Feed, calibration: Calibration) -> Any:
    """Return the rate at which one host reads samples in epochs after the first [B/s]."""
    workload = setting.workload
    bandwidth: Any = feed.storage_bandwidth
    if math.isfinite(ops.plain(feed.storage_requests)):
        bandwidth = file_bandwidth(bandwidth, feed.storage_requests, workload.stored_bytes)
    if not feed.host_memory_bytes:
        return bandwidth
    kept = calibration.page_cache_share * feed.host_memory_bytes
    every = workload.stored_bytes * (workload.dataset_samples or 0)
    return cached_bandwidth(bandwidth, feed.cache_bandwidth, kept, every)


def input_time(
    setting: Setting, accelerators: Any, samples: Any, busy_time: Any, calibration: Calibration
) -> Any:
    """Return the time [s] an accelerator waits for the samples of one iteration, number or array.

    Parameters
    ----------
    setting : with the source of samples
    accelerators : number of accelerators that share the host
    samples : of one accelerator in all micro-batches
    busy_time : the rest of the iteration [s]
    calibration : rates of decoding and copying
    """
    if setting.scenario.input == "synthetic":
        return 0.0
    if setting.profile is not None and setting.profile.measures_input:
        from perfmodel.model.step.profiled import profiled_input_time

        return profiled_input_time(setting, setting.profile, samples, busy_time)
    workload, feed = setting.workload, _feed(setting)
    if not workload.stored_bytes:
        raise unknown_samples(workload)
    rate = _engines(
        input_rate(
            _loaders(setting, feed, accelerators),
            decode_rate(setting, calibration),
            read_bandwidth(setting, feed, calibration),
            workload.stored_bytes,
        ),
        accelerators,
        feed,
    )
    serial = _serial(setting, feed, samples, calibration)
    if not feed.ahead:
        busy_time = 0.0
    elif serial is not None:
        busy_time = time_with_serial_input(busy_time, serial)
    waits = exposed_input_time(
        accelerators,
        samples,
        rate,
        _overlapped_copy_bytes(setting, feed),
        bulk_bandwidth(setting.host_link, calibration),
        busy_time,
    )
    return waits if serial is None else time_with_serial_input(waits, serial)


def shared_input_time(setting: Setting, layout: Layout, busy_time: Any, calibration: Calibration) -> Any:
    """Return the time that a transformer with a layout waits for the samples of one step [s].

    One of the ranks that split a sample by tensors or positions reads it and sends it to the others.  The
    first stage of a pipeline reads for the others: stages are outermost, and the ranks of a stage are
    neighbours.

    Parameters
    ----------
    setting : as for ``input_time``
    layout : of the setting, or of one replica
    busy_time, calibration : as for ``input_time``
    """
    if setting.scenario.input == "synthetic":
        return 0.0
    of_one_stage = layout.world_size / layout.pipeline_parallel
    on_node = ops.minimum(setting.accelerators_per_node, of_one_stage)
    readers = ops.maximum(on_node / (layout.tensor_parallel * layout.context_parallel), 1.0)
    samples = layout.accumulation_steps * layout.micro_batch_size
    return input_time(setting, readers, samples, busy_time, calibration)


def epoch_start_time(setting: Setting, calibration: Calibration, persistent: bool | None = None) -> Any:
    """Return the time before the first batch of an epoch [s], number or array; 0 for synthetic samples.

    Parameters
    ----------
    setting, calibration : as for ``input_time``
    persistent : whether loader workers are already running; by default the scenario's option
    """
    profiled = setting.profile is not None and setting.profile.measures_input
    if setting.feed is None or profiled or not setting.workload.stored_bytes:
        return 0.0
    feed, decoder = setting.feed, setting.feed.decoder
    single = setting.strategy == "data-parallel-single-process"
    processes = 1 if single else setting.accelerators_per_node
    pool = setting.framework.native_decoding if decoder is None else decoder.pool
    kept = feed.persistent if persistent is None else persistent
    loaders = 0.0 if pool or kept or not feed.ahead else setting.loader_workers / processes
    own = setting.loader_workers / processes if feed.ahead else 1
    rate = decode_rate(setting, calibration) * (own if pool else 1)
    batch = setting.local_batch_size * (setting.accelerators_per_node if single else 1)
    return start_time(loaders, calibration.worker_start_time, batch, rate)


def _feed(setting: Setting) -> Feed:
    """Return the feed of a setting, which must have one."""
    assert setting.feed is not None
    return setting.feed


def _loaders(setting: Setting, feed: Feed, accelerators: Any) -> Any:
    """Return the number of loading processes of a host: its workers, or its training processes."""
    if feed.ahead:
        return setting.loader_workers
    return 1 if setting.strategy == "data-parallel-single-process" else accelerators


def _engines(rate: Any, accelerators: Any, feed: Feed) -> Any:
    """Return the input rate of a host, limited by its accelerators' decoding engines if they decode."""
    decoder = feed.decoder
    if decoder is None or decoder.accelerator_rate is None or not decoder.engine:
        return rate
    return engine_input_rate(rate, accelerators, decoder.accelerator_rate.value)


def _overlapped_copy_bytes(setting: Setting, feed: Feed) -> float:
    """Return the bytes of a sample that are copied during the previous step."""
    return setting.workload.input_elements * SAMPLE_ELEMENT_BYTES if feed.copies_overlap else 0.0


def _serial(setting: Setting, feed: Feed, samples: Any, calibration: Calibration) -> Any:
    """Return the time of samples that does not overlap with training [s]; None if all of it does."""
    decoder = feed.decoder
    by_cores = decoder is not None and decoder.accelerator_rate is not None and not decoder.engine
    if feed.copies_overlap and not by_cores:
        return None
    rate = decoder.accelerator_rate.value if by_cores else math.inf  # type: ignore[union-attr]
    host = bulk_bandwidth(setting.host_link, calibration)
    if feed.copies_overlap:
        host = math.inf
    elif not feed.pinned:
        host = host * calibration.pageable_fraction
    return serial_input_time(samples, rate, setting.workload.input_elements * SAMPLE_ELEMENT_BYTES, host)
