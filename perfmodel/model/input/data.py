"""The data of a workload: a named data set, or numbers that a scenario states."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from operator import attrgetter

from perfmodel.core.errors import InputError, refusal
from perfmodel.core.problem import Words
from perfmodel.core.records.options import declared
from perfmodel.hardware.dataset import DataSet, data_set, data_sets
from perfmodel.model.options.scenario import Scenario
from perfmodel.workloads.workload import Workload

COLOURS = 3
"""Colour channels of a pixel."""
_FIELDS = declared(Scenario)
OF_REAL_INPUT = (
    "sample_bytes",
    "decode_rate",
    "decoder",
    "loader_workers",
    "storage",
    "prefetch_depth",
    "pinned_memory",
    "non_blocking",
    "persistent_workers",
    "cache",
)
"""Options without effect on synthetic samples."""
_of_real_input = attrgetter(*OF_REAL_INPUT)
_USUAL = tuple(_FIELDS[name].default for name in OF_REAL_INPUT)
TOKEN_BYTES = 4
"""Token numbers are stored as 32-bit integers (an assumption)."""


@lru_cache(maxsize=64)
def fed_with(
    workload: Workload, dataset: str | None, dataset_samples: int | None, sample_bytes: float | None
) -> Workload:
    """Return a workload with the given data set, number and size of samples; unchanged if all are None.

    Parameters
    ----------
    workload : whose layers and elements of one sample stay, whatever the size of the data set's samples
    dataset : a name, or None for the workload's own
    dataset_samples : number of training samples, instead of the data set's
    sample_bytes : size of one stored sample, instead of the data set's [B]

    Raises
    ------
    InputError : an unknown name, or a data set whose samples the workload does not take
    """
    if (dataset, dataset_samples, sample_bytes) == (None, None, None):
        return workload
    name, count, stored = workload.dataset, workload.dataset_samples, workload.stored_bytes
    if dataset is not None:
        known = data_set(dataset)
        if known.sample != workload.sample:
            fitting = [key for key, one in data_sets().items() if one.sample == workload.sample]
            report = f"; of {workload.sample}s: {', '.join(fitting)}" if fitting else ""
            raise refusal(
                "input.other_samples",
                dataset=dataset,
                sample=known.sample,
                workload=workload.id,
                taken=workload.sample,
                report=Words(report),
            )
        if not known.objects and (own := _own_data(workload)) is not None and own.objects:
            fitting = [key for key, one in data_sets().items() if one.objects]
            raise refusal("input.no_objects", dataset=dataset, workload=workload.id, known=tuple(fitting))
        name, count = known.name, known.size(workload.sequence_length)
        stored = known.sample_bytes or TOKEN_BYTES * workload.input_elements
    return replace(
        workload,
        dataset=name or "your own",
        dataset_samples=dataset_samples or count,
        stored_bytes=sample_bytes or stored,
    )


def _own_data(workload: Workload) -> DataSet | None:
    """Return the data set that a network is usually trained on; None if it is not in the catalogue."""
    return next((one for one in data_sets().values() if one.name == workload.dataset), None)


def other_sizes(workload: Workload, dataset: str) -> str | None:
    """Return a note that a network is computed at another sample size than its data set has, or None.

    None if the data set is the network's usual one, or if either size is unknown.
    """
    known, own = data_set(dataset), _own_data(workload)
    if known is own:
        return None
    if known.sample == "sequence":
        if known.samples is None:  # cut into sequences of the network's length
            return None
        length = workload.sequence_length
        return (
            f"each sample of {dataset} counts as a sequence of {length:,} tokens, the length of {workload.id}"
        )
    pixels = workload.input_elements / COLOURS
    if not pixels or (known.image_size is None and own is None):
        return None
    if known.image_size is not None and math.prod(known.image_size) == pixels:
        return None
    size = "many sizes" if known.image_size is None else "{} x {} pixels".format(*known.image_size)
    return (
        f"{dataset} holds images of {size}, and {workload.id} is computed at its own {_size(pixels)}: "
        f"for a network of another input size, give its file to --workload"
    )


def _size(pixels: float) -> str:
    """Return the size of a network's input as text.

    >>> _size(50176), _size(1075200)
    ('224 x 224 pixels', '1,075,200 pixels')
    """
    side = math.isqrt(int(pixels))
    return f"{side} x {side} pixels" if side * side == pixels else f"{pixels:,.0f} pixels"


def fed(workload: Workload, scenario: Scenario, warnings: list[str]) -> Workload:
    """Return a workload with the data of a scenario; warn of other sample sizes and options without effect.

    Raises
    ------
    InputError : as for ``fed_with``; real input with samples of unknown size
    """
    own = workload
    workload = fed_with(workload, scenario.dataset, scenario.dataset_samples, scenario.sample_bytes)
    if scenario.dataset is not None and (sizes := other_sizes(own, scenario.dataset)) is not None:
        warnings.append(sizes)
    if scenario.input == "synthetic":
        if _of_real_input(scenario) != _USUAL:
            idle = [name for name in OF_REAL_INPUT if getattr(scenario, name) != _FIELDS[name].default]
            options = " and ".join(written(name, getattr(scenario, name)) for name in idle)
            warnings.append(f"{options} without effect: samples are synthetic; --input real reads them")
    elif not workload.stored_bytes and scenario.profile is None:
        raise unknown_samples(workload)
    return workload


def written(name: str, value: object) -> str:
    """Return an option's name on the command line; ``--no-NAME`` for a switch that is off.

    >>> written("decode_rate", 100.0), written("pinned_memory", False)
    ('--decode-rate', '--no-pinned-memory')
    """
    return f"--{'no-' if value is False else ''}{name.replace('_', '-')}"


def unknown_samples(workload: Workload) -> InputError:
    """Return the error for real input of samples whose stored size is unknown."""
    named, decoded = ("imagenet", ", and --decode-rate") if workload.sample == "image" else ("wikipedia", "")
    return refusal("input.no_data", workload=workload.id, named=named, decoded=Words(decoded))


def data_of(workload: Workload, scenario: Scenario) -> DataSet | None:
    """Return the data set that a scenario trains on; None if it is unknown."""
    return _own_data(workload) if scenario.dataset is None else data_set(scenario.dataset)


def is_encoded(workload: Workload, scenario: Scenario) -> bool:
    """Return whether samples must be decoded: encoded images, or any images of an unknown data set."""
    return workload.sample == "image" if scenario.dataset is None else data_set(scenario.dataset).encoded


def decoding(workload: Workload, scenario: Scenario) -> float | None:
    """Return the samples/s that one loader worker decodes; None for the calibrated rate of images.

    The scenario's rate takes precedence over its decoder's; infinite for samples that need no decoding.
    """
    if scenario.decode_rate is not None:
        return scenario.decode_rate
    if not is_encoded(workload, scenario):
        return math.inf
    if scenario.decoder is None:
        return None
    from perfmodel.hardware.decoder import decoders

    rate = decoders().decoder[scenario.decoder].host_rate
    return math.inf if rate is None else rate.value
