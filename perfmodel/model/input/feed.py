"""The feed of real samples: storage, cache, decoder and copies, with their rates."""

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
"""Name of the storage whose bandwidth cached samples have."""


class Feed(NamedTuple):
    """Rates of storage, cache and decoder of real samples, and how they are copied."""

    storage_bandwidth: float
    """Bandwidth of reads of large blocks [B/s]."""
    storage_requests: float
    """Files of one sample read per second [1/s]; infinite if samples share large files."""
    cache_bandwidth: float
    """Bandwidth of samples cached in the host's memory [B/s]."""
    host_memory_bytes: float
    """Host memory, a share of which caches samples [B]; 0 without a cache."""
    decoder: Decoder | None
    """None for the framework's own decoder."""
    ahead: bool
    """Whether batches are loaded during the step before theirs."""
    pinned: bool
    copies_overlap: bool
    """Whether host and accelerator continue while a batch is copied."""
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
    """Return the feed of a scenario with real input, whose samples lie in storage ``stored``.

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
        host_memory_bytes=_cache_bytes(scenario, workload, node),
        decoder=_decoder(scenario, workload, accelerator, warnings),
        ahead=ahead,
        pinned=pinned,
        copies_overlap=ahead and pinned and scenario.non_blocking,
        persistent=scenario.persistent_workers and ahead,
    )


def _cache_bytes(scenario: Scenario, workload: Workload, node: Node) -> float:
    """Return the host memory in which samples may be cached [B]; 0 without a cache."""
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
    """Return the decoder that a scenario states; None for the framework's own."""
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
        measured = Catalogue.built_in().accelerator(family)
        error = "" if decoder.engine else _decoding_error(accelerator, measured)
        warnings.append(
            f"--decoder {name} was measured on {family} alone; {accelerator.id} is taken for one{error}"
        )
    return decoder


def _decoding_error(accelerator: Accelerator, measured: Accelerator) -> str:
    """Return a note whether decoding takes longer or less than on the accelerator it was measured on."""
    own, its = (chip.peak_flops.get("fp32") for chip in (accelerator, measured))
    if own is None or its is None or own.value == its.value:
        return ""
    longer = "longer" if own.value < its.value else "less"
    return f", with {own.value / its.value:.2g} times its fp32 peak it likely takes {longer}"
