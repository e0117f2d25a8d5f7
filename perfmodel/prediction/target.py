"""How long training takes to a published quality: epochs grow with the batch, so machines are not free."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfmodel.epochs_to_target import epochs_fit
from perfmodel.errors import InputError
from perfmodel.prediction.result import Prediction
from perfmodel.specs.scenario import Scenario
from perfmodel.workloads import understood, workload

BENCHMARKS = {"resnet50": "resnet50", "resnet50-v1.5": "resnet50", "bert-large": "bert"}
"""Workloads whose epochs to a target have been published at several batch sizes."""
TOKENS = {"bert": 256}
"""Of one sample of a benchmark's data, padding left out.

BERT's sequences have at most 512 tokens, half of which would be padding (Krell et al. 2021, arXiv
2107.02027); the code that was submitted skips it.
"""


def target_tokens(workload_id: str) -> int | None:
    """Return the tokens of a sample of the data that a workload's target was reached with.

    None where a sample has none, or nothing was published.

    >>> target_tokens("bert-large"), target_tokens("resnet50")
    (256, None)
    """
    return TOKENS.get(BENCHMARKS.get(workload_id, ""))


def for_target(scenario: Scenario) -> Scenario:
    """Return a scenario whose samples are the target's, where it does not say how long they are."""
    tokens = target_tokens(understood(scenario.workload).id)
    if tokens is None or scenario.sequence_length is not None:
        return scenario
    return scenario.model_copy(update={"sequence_length": tokens})


def tokens_note(workload_id: str, sequence_length: int | None) -> str | None:
    """Return what must be said of the length of the samples that are counted; None where there is none.

    >>> tokens_note("bert-large", 128)
    'samples of 128 tokens; those that reach the target have about 256 (at most 512) without padding'
    """
    tokens = target_tokens(workload_id)
    if tokens is None:
        return None
    if sequence_length == tokens:
        return f"samples of {tokens} tokens: the target's have at most {2 * tokens}, half of it padding"
    return (
        f"samples of {sequence_length} tokens; those that reach the target have about {tokens} "
        f"(at most {2 * tokens}) without padding"
    )


def on_its_own_data(asked: Mapping[str, Any]) -> None:
    """Refuse a target on other data than it was published for.

    Raises
    ------
    InputError : a data set, or its size, is given
    """
    for name in ("dataset", "dataset_samples"):
        if asked.get(name) is not None:
            option = f"--{name.replace('_', '-')}"
            raise InputError(
                f"{option} {asked[name]}: a target was published for the network's own data; "
                f"leave {option} out, or give --epochs"
            )


def time_to_target(prediction: Prediction) -> dict[str, Any]:
    """Return target, epochs and time [s] for the batch of a prediction, and what to know of its samples.

    The prediction should be of ``for_target(scenario)``: a target is reached with samples of its own length.

    Raises
    ------
    InputError : nothing was published for this workload
    """
    asked = prediction.scenario
    on_its_own_data(asked)
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
        "sequence_length": asked["sequence_length"],
        "note": tokens_note(asked["workload"], asked["sequence_length"]),
    }
