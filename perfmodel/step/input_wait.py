"""The input pipeline's term: how long accelerators wait for samples."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from perfmodel import ops
from perfmodel.calibration import Calibration
from perfmodel.equations.input_pipeline import exposed_input_time, input_rate
from perfmodel.equations.iteration import accumulated_time
from perfmodel.resolve import Setting
from perfmodel.step.fabric import bulk_bandwidth
from perfmodel.workloads.data import unknown_samples

if TYPE_CHECKING:
    from perfmodel.specs.layout import Layout

NATIVE_SPEED = 3
"""Of decoding by compiled code made for it, over a Python worker's (assumed)."""
SAMPLE_ELEMENT_BYTES = 4
"""Samples are copied to the accelerator as fp32, or as 32-bit token numbers."""


def decode_rate(setting: Setting, calibration: Calibration) -> float:
    """Return the samples/s that one loader worker decodes: as asked, or the calibrated rate of images."""
    if setting.decode_rate is not None:
        return setting.decode_rate
    return calibration.decode_rate * (NATIVE_SPEED if setting.framework.native_decoding else 1)


def stage_times(
    setting: Setting, accelerators: Any, samples: Any, calibration: Calibration
) -> dict[str, Any]:
    """Return what each stage of the pipeline takes for the samples of one iteration, were it alone [s].

    Takes what ``input_time`` takes; samples are real.
    """
    from perfmodel.specs.storage import storage

    stored = setting.workload.stored_bytes
    reading = input_rate(1, math.inf, storage(setting.storage), stored)
    decoding = input_rate(setting.loader_workers, decode_rate(setting, calibration), math.inf, stored)
    copied = setting.workload.input_elements * SAMPLE_ELEMENT_BYTES
    host = bulk_bandwidth(setting.host_link, calibration)
    return {
        stage: exposed_input_time(accelerators, samples, rate, size, host, 0.0)
        for stage, rate, size in (
            ("reading", reading, 0.0),
            ("decoding", decoding, 0.0),
            ("copying", math.inf, copied),
        )
    }


def input_time(
    setting: Setting, accelerators: Any, samples: Any, busy_time: Any, calibration: Calibration
) -> Any:
    """Return the time [s] an accelerator waits for the samples of one iteration, number or array.

    Parameters
    ----------
    setting : says where samples come from
    accelerators : which share the host
    samples : of one accelerator, all micro-batches together
    busy_time : the rest of the iteration [s]
    calibration : rates of decoding and copying
    """
    if setting.scenario.input == "synthetic":
        return 0.0
    if setting.profile is not None and setting.profile.measures_input:
        from perfmodel.step.profiled import profiled_input_time

        return profiled_input_time(setting, setting.profile, samples, busy_time)
    workload = setting.workload
    if not workload.stored_bytes:
        raise unknown_samples(workload)
    from perfmodel.specs.storage import storage

    rate = input_rate(
        setting.loader_workers,
        decode_rate(setting, calibration),
        storage(setting.storage),
        workload.stored_bytes,
    )
    return exposed_input_time(
        accelerators,
        samples,
        rate,
        workload.input_elements * SAMPLE_ELEMENT_BYTES,
        bulk_bandwidth(setting.host_link, calibration),
        busy_time,
    )


def shared_input_time(setting: Setting, layout: Layout, busy_time: Any, calibration: Calibration) -> Any:
    """Return the time [s] that a transformer which is shared out waits for the samples of one step.

    Of the ranks that split a sample by tensors or positions one reads it and sends it to the others.

    Parameters
    ----------
    setting : as ``input_time`` takes it
    layout : its own, or that of one replica
    busy_time, calibration : as ``input_time`` takes them
    """
    if setting.scenario.input == "synthetic":
        return 0.0
    on_node = ops.minimum(setting.accelerators_per_node, layout.world_size)
    readers = ops.maximum(on_node / (layout.tensor_parallel * layout.context_parallel), 1.0)
    samples = accumulated_time(layout.accumulation_steps, layout.micro_batch_size)
    return input_time(setting, readers, samples, busy_time, calibration)
