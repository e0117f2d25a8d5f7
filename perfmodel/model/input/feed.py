"""How samples reach the accelerators: storage, cache, decoder and copies, names and numbers."""

from __future__ import annotations

import math
from typing import NamedTuple

from perfmodel.core.errors import refusal
from perfmodel.hardware.accelerator import Accelerator
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.decoder import Decoder, decoders
from perfmodel.hardware.node import Node
from perfmodel.hardware.storage import storage, storage_requests
from perfmodel.model.input.data import data_of, is_encoded
from perfmodel.model.options.scenario import Scenario
from perfmodel.workloads.workload import Workload

CACHE = "ram"
"""The storage that cached samples are read as."""


class Feed(NamedTuple):
    """Where real samples come from, and by what."""

    storage_bandwidth: float
    """Of large blocks [B/s]."""
    storage_requests: float
    """Files of one sample that are read in a second; infinite where samples share large files."""
    cache_bandwidth: float
    """Of samples in the host's memory [B/s]."""
    host_memory_bytes: float
    """Of which a share keeps samples; 0 without a cache [B]."""
    decoder: Decoder | None
    """None: as the framework decodes."""
    ahead: bool
    """Whether batches are loaded and copied beside the step before."""
    pinned: bool
    copied_beside: bool
    """Whether the host and the accelerator go on while a batch is copied."""
    persistent: bool
    """Whether loader workers outlive an epoch."""


def feed_of(
    scenario: Scenario,
    workload: Workload,
    node: Node,
    accelerator: Accelerator,
    stored: str,
    warnings: list[str],
) -> Feed:
    """Return how the samples of a scenario with real input reach its accelerators.

    Raises
    ------
    InputError : a decoder for samples that are not encoded, or a cache of unknown size
    """
    if scenario.prefetch_depth == 0 and scenario.loader_workers is not None:
        raise refusal("input.prefetch")
    ahead, pinned = scenario.prefetch_depth != 0, scenario.pinned_memory
    known = data_of(workload, scenario)
    single = known is not None and known.has_files_of_one_sample
    return Feed(
        storage_bandwidth=storage(stored),
        storage_requests=storage_requests(stored) if single else math.inf,
        cache_bandwidth=storage(CACHE),
        host_memory_bytes=_cache(scenario, workload, node),
        decoder=_decoder(scenario, workload, accelerator, warnings),
        ahead=ahead,
        pinned=pinned,
        copied_beside=ahead and pinned and scenario.non_blocking,
        persistent=scenario.persistent_workers and ahead,
    )


def _cache(scenario: Scenario, workload: Workload, node: Node) -> float:
    if scenario.cache == "none":
        return 0.0
    if node.host_memory_bytes is None:
        raise refusal("input.no_memory", node=node.id)
    if not workload.dataset_samples:
        raise refusal("input.no_size")
    return node.host_memory_bytes.value


def _decoder(
    scenario: Scenario, workload: Workload, accelerator: Accelerator, warnings: list[str]
) -> Decoder | None:
    name = scenario.decoder
    if name is None:
        return None
    if not is_encoded(workload, scenario):
        stored = scenario.dataset or workload.dataset or workload.id
        raise refusal("input.not_encoded", name=name, stored=stored)
    decoder = decoders().decoder[name]
    if decoder.engine and accelerator.chip not in decoders().jpeg_engines.chips:
        warnings.append(f"{accelerator.id} has no JPEG engine: its cores decode, in turns with training")
        decoder = decoder.model_copy(update={"engine": False, "accelerator_rate": decoder.cores_rate})
    family = decoder.measured_on
    if family and accelerator.family != family:
        errs = "" if decoder.engine else _errs(accelerator, Catalogue.built_in().accelerator(family))
        warnings.append(
            f"--decoder {name} was measured on {family} alone; {accelerator.id} is taken for one{errs}"
        )
    return decoder


def _errs(accelerator: Accelerator, measured: Accelerator) -> str:
    """Return the words for which way decoding by the cores errs, where it was measured on another."""
    own, its = (chip.peak_flops.get("fp32") for chip in (accelerator, measured))
    if own is None or its is None or own.value == its.value:
        return ""
    longer = "longer" if own.value < its.value else "less"
    return f", with {own.value / its.value:.2g} times its fp32 peak it likely takes {longer}"
