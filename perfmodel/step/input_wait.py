"""The input pipeline's term: how long accelerators wait for samples."""

from __future__ import annotations

from typing import Any

from perfmodel.calibration import Calibration
from perfmodel.equations.input_pipeline import exposed_input_time, input_rate
from perfmodel.resolve import Setting
from perfmodel.step.fabric import bulk_bandwidth
from perfmodel.workloads.data import unknown_samples

NATIVE_SPEED = 3
"""Of decoding by compiled code made for it, over a Python worker's (assumed)."""
SAMPLE_ELEMENT_BYTES = 4
"""Samples are copied to the accelerator as fp32, or as 32-bit token numbers."""


def decode_rate(setting: Setting, calibration: Calibration) -> float:
    """Return the samples/s that one loader worker decodes: as asked, or the calibrated rate of images."""
    if setting.decode_rate is not None:
        return setting.decode_rate
    return calibration.decode_rate * (NATIVE_SPEED if setting.framework.native_decoding else 1)


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
    if setting.scenario.profile is not None:
        from perfmodel.profile import read_profile
        from perfmodel.step.profiled import measures_input, profiled_input_time

        profile = read_profile(setting.scenario.profile)
        if measures_input(profile):
            return profiled_input_time(setting, profile, samples, busy_time)
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
