"""Memory of a transformer on a rank of every stage of its pipeline."""

from __future__ import annotations

from collections.abc import Collection
from itertools import accumulate
from typing import NamedTuple

from perfmodel.equations.pipeline_orders import layers_of_chunks
from perfmodel.equations.pipeline_schedule import kept_of_stages
from perfmodel.model.transformers.held import tables_of_stage
from perfmodel.model.transformers.job import Job
from perfmodel.model.transformers.memory import (
    Memory,
    Stage,
    known_of,
    known_of_stage,
    memory_of,
    memory_of_stage,
    micro_batches_of_stage,
    with_dense_share,
)


class StageMemory(NamedTuple):
    """Memory of a rank of one stage."""

    stage: int
    """The first is 0."""
    layers: int
    """Layers of the network that a rank of it computes."""
    micro_batches: float
    """Micro-batches whose activations it keeps at the peak."""
    memory: Memory
    known: float
    """Bytes of states, which its options imply [B]."""


def memory_of_each_stage(job: Job, opened: Collection[str] = ()) -> list[StageMemory]:
    """Return the peak memory of a rank of each stage of one job, the first stage first.

    Parameters
    ----------
    job : of a single layout
    opened : names of options that are left to their defaults
    """
    layout = job.layout
    stages = int(layout.pipeline_parallel)
    if stages == 1:
        return [StageMemory(0, int(job.model.layers), 1.0, memory_of(job), float(known_of(job, opened)))]
    chunks, returns = int(layout.virtual_stages), bool(layout.returns_to_first)
    parts = 2 if returns else chunks
    held = layers_of_chunks(int(job.model.layers), stages, parts, layout.schedule_name, int(layout.end_slots))
    copies = int(layout.copies_of_stage)
    counts = [max(each) if copies > 1 else sum(each) for each in held]
    tables = tables_of_stage(job)
    if bool(layout.splits_backward):
        kept = kept_of_stages(layout.schedule_name, stages, chunks, int(layout.accumulation_steps))
    else:
        kept = [float(micro_batches_of_stage(job, stage)) for stage in range(stages)]
    starts = list(accumulate((each[0] for each in held[:-1]), initial=0))
    if copies > 1:  # of the copies that a rank holds, one begins earlier in the network
        starts = [min(*each) for each in zip(starts, starts[::-1], strict=True)]
    result = []
    for stage, (layers, micro_batches, before) in enumerate(zip(counts, kept, starts, strict=True)):
        first, last = stage == 0, (stage == 0 if returns else stage == stages - 1)
        of_stage = Stage(
            with_dense_share(job, float(before), float(layers)),
            float(layers),
            micro_batches,
            tables if first or last else 0.0,
            1.0 if first else 0.0,
            is_last=last,
        )
        memory, known = memory_of_stage(of_stage), float(known_of_stage(of_stage, opened))
        result.append(StageMemory(stage, layers * copies, micro_batches, memory, known))
    return result
