"""How long training takes to a published quality: epochs grow with the batch, so machines are not free."""

from __future__ import annotations

from typing import Any

from perfmodel.epochs_to_target import epochs_fit
from perfmodel.errors import InputError
from perfmodel.prediction.result import Prediction
from perfmodel.workloads import workload

BENCHMARKS = {"resnet50": "resnet50", "resnet50-v1.5": "resnet50", "bert-large": "bert"}
"""Workloads whose epochs to a target have been published at several batch sizes."""


def time_to_target(prediction: Prediction) -> dict[str, Any]:
    """Return target, epochs and time [s] for the batch of a prediction.

    Raises
    ------
    InputError : nothing was published for this workload
    """
    asked = prediction.scenario
    if asked["workload"] not in BENCHMARKS:
        known = ", ".join(BENCHMARKS)
        raise InputError(f"no published epochs to a target for {asked['workload']}; known: {known}")
    network = workload(asked["workload"], asked["sequence_length"])
    fit = epochs_fit(BENCHMARKS[asked["workload"]])
    batch = float(asked["global_batch_size"])
    samples = float(network.dataset_samples or 1)
    epochs = float(fit.epochs(batch))
    return {
        "target": fit.target,
        "unit": fit.unit,
        "amount": epochs,
        "time": float(fit.time(batch, prediction.samples_per_second, samples)),
        "within_range": fit.within_range(batch),
        "batch_sizes": [fit.smallest_batch_size, fit.largest_batch_size],
    }
