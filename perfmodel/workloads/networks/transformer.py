"""Transformers over tokens: the workload of an architecture, built in or read from a file."""

from __future__ import annotations

from math import ceil

from perfmodel.core.errors import refusal
from perfmodel.core.units import plural
from perfmodel.workloads.architecture import Architecture
from perfmodel.workloads.networks.transformer_stacks import (
    bert_layers,
    decoder_layers,
    t5_layers,
    translation_layers,
)
from perfmodel.workloads.preset_names import LANGUAGE
from perfmodel.workloads.presets import preset
from perfmodel.workloads.workload import Layer, Workload

NAMES = tuple(name for names in LANGUAGE.values() for name in names)


def build(name: str, sequence_length: int | None = None) -> Workload:
    """Return the workload of one of ``NAMES``.

    One sample is one sequence (of an encoder with a decoder a pair), as long as the first phase of its
    training has it.  Identifiers are stored as 32-bit integers (an assumption).
    """
    known = preset(name)
    length = sequence_length or known.sequence_length
    check_positions(name, known.architecture, length)
    elements = input_elements(known.architecture, length)
    return Workload(
        id=name,
        name=known.title,
        family="transformer",
        layers=tuple(layers_of(known.architecture, length)),
        variant=known.variant or variant(known.architecture),
        source=known.source,
        sample="sequence",
        sequence_length=length,
        input_elements=float(elements),
        stored_bytes=4.0 * elements,
        dataset=known.dataset,
        dataset_samples=known.dataset_samples,
        default_local_batch_size=known.local_batch_size,
        default_optimizer="adam",
        padded=known.padded,
        architecture=known.architecture,
        without=known.without,
    )


def layers_of(architecture: Architecture, sequence_length: int) -> list[Layer]:
    """Return the layer table of an architecture for one sequence, with its images, or pair of sequences."""
    if architecture.tower is not None:
        from perfmodel.workloads.networks.vision_tower import tower_layers

        return [*tower_layers(architecture.tower), *decoder_layers(architecture, sequence_length)]
    if architecture.encoder_layers:
        both = t5_layers if architecture.relative_positions else translation_layers
        return both(architecture, sequence_length)
    if architecture.bidirectional:
        pairs = architecture.types > 0  # pairs of sentences, with segment types
        return bert_layers(architecture, sequence_length, pooler=pairs, sentences=pairs)
    return decoder_layers(architecture, sequence_length)


def input_elements(architecture: Architecture, sequence_length: int) -> int:
    """Return the count of numbers in one sample: identifiers, labels, BERT's segments and mask, pixels."""
    a = architecture
    if a.encoder_layers:
        return sequence_length + 2 * a.targets(sequence_length)
    if a.bidirectional:
        return 3 * sequence_length + ceil(a.predicted_fraction * sequence_length)
    return 2 * sequence_length + (a.tower.input_elements if a.tower else 0)


def check_positions(name: str, architecture: Architecture, sequence_length: int) -> None:
    """Raise InputError for a sequence longer than the position embeddings."""
    limit = architecture.learned_positions
    if limit and sequence_length > limit:
        raise refusal(
            "workload.too_long", "sequence_length", name=name, sequence_length=sequence_length, limit=limit
        )


def variant(architecture: Architecture) -> str:
    """Return text on how an architecture differs from a plain decoder.

    >>> variant(preset("gpt2").architecture)
    'dense'
    """
    a = architecture
    words = [f"{a.top_k} of {a.experts} experts" if a.experts else "dense"]
    if a.shared_experts:
        words.append(f"{a.shared_experts} shared")
    if a.kv_rank:
        words.append("latent attention")
    elif a.kv_heads < a.heads:
        words.append(f"{a.kv_heads} {plural('key-value head', a.kv_heads)}")
    if a.scan:
        words.append(f"{a.scan.type} in {a.scan_layers} of {a.layers} layers")
    if a.index_top_k:
        words.append(f"{a.index_top_k:,} positions selected by an indexer")
    if a.window:
        words.append(f"{'chunks' if a.chunked else 'window'} of {a.window:,}")
    return "; ".join(words)
