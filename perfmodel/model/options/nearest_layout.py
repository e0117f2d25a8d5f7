"""The nearest possible layout to an impossible one, as advice in an error message."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from perfmodel.hardware.software import Release
    from perfmodel.workloads.architecture import Architecture


class Degrees(NamedTuple):
    """Degrees and batch as a scenario gives them; None where it leaves a part of the batch open."""

    tensor_parallel: int
    pipeline_parallel: int
    virtual_stages: int
    context_parallel: int
    expert_parallel: int
    micro_batch_size: int | None
    global_batch_size: int | None
    accumulation_steps: int | None
    expert_tensor_parallel: int | None = None
    """None: as the software has it."""


def advice(requested: Degrees, possible: Degrees) -> str:
    """Return the options to change, as they are written on the command line."""
    changed = {name: value for name, value in possible._asdict().items() if value != getattr(requested, name)}
    return " ".join(f"--{name.replace('_', '-')} {value}" for name, value in changed.items())


def nearest(
    requested: Degrees,
    world_size: int,
    model: Architecture,
    sequence_length: int,
    facts: Release,
    places: int | None = None,
) -> Degrees:
    """Return the possible layout with the smallest product of factors between its degrees and the requested.

    The number of accelerators stays the same.  A possible layout always exists: replicas alone.

    Parameters
    ----------
    requested : the impossible layout
    world_size, model, sequence_length : of the job
    facts : its software
    places : layers, with embedding and head where these count; by default layers
    """
    places = model.layers if places is None else places
    best, least = requested, math.inf
    for tensor, far in _nearest_divisors(requested.tensor_parallel, math.gcd(world_size, model.heads)):
        if far >= least:
            break
        for stages, farther in _nearest_divisors(requested.pipeline_parallel, world_size // tensor):
            if far + farther >= least:
                break
            if stages > places:
                continue
            rest = world_size // (tensor * stages)
            for context, more in _nearest_divisors(
                requested.context_parallel, math.gcd(rest, sequence_length)
            ):
                so_far = far + farther + more
                if so_far >= least:
                    break
                ranks = tensor * rest // (context if facts.copies_tokens else 1)
                parts, expert, by_experts = _experts(requested, tensor, ranks, model, facts.whole_experts)
                degrees = requested._replace(
                    tensor_parallel=tensor,
                    pipeline_parallel=stages,
                    context_parallel=context,
                    expert_parallel=expert,
                    expert_tensor_parallel=parts,
                )
                copies = expert if facts.copies_tokens else 1
                if rest // context % copies:
                    continue
                for one, by_batch in _batches(degrees, rest // context // copies, places):
                    if so_far + by_experts + by_batch < least:
                        best, least = one, so_far + by_experts + by_batch
    return best


def _experts(
    requested: Degrees, tensor: int, ranks: int, model: Architecture, whole_experts: bool
) -> tuple[int | None, int, float]:
    """Return the degrees of experts nearest to the requested on the ranks of a stage, with their distance."""
    far, given = 0.0, requested.expert_tensor_parallel
    if given is not None:
        able = math.gcd(ranks, model.expert_feed_forward) if model.experts else 1
        given, far = _nearest_divisors(given, able)[0]
    parts = given or (1 if whole_experts else tensor)
    able = math.gcd(model.experts or 1, ranks // parts)
    expert, farther = _nearest_divisors(requested.expert_parallel, able)[0]
    return given, expert, far + farther


def _batches(requested: Degrees, data: int, layers: int) -> Iterator[tuple[Degrees, float]]:
    """Yield degrees with possible chunks and batch of ``data`` replicas, each with its log distance."""
    stages = requested.pipeline_parallel
    for chunks in {min(requested.virtual_stages, layers // stages), 1}:
        off = _log_distance(chunks, requested.virtual_stages)
        in_turn = stages if chunks > 1 else 1
        micro, whole, steps = (
            requested.micro_batch_size,
            requested.global_batch_size,
            requested.accumulation_steps,
        )
        one = requested._replace(virtual_stages=chunks)
        if steps is not None or whole is None:
            passes = _nearest_multiple(steps or 1, in_turn)
            off += _log_distance(passes, steps or 1)
            if passes != (steps or 1):
                one = one._replace(accumulation_steps=passes)
            if whole is not None:
                samples = data * passes * (micro or 1)
                right = samples if micro else _nearest_multiple(whole, samples)
                off += _log_distance(right, whole)
                one = one._replace(global_batch_size=right)
        else:
            right = _nearest_multiple(whole, data * (micro or 1) * in_turn)
            off += _log_distance(right, whole)
            one = one._replace(global_batch_size=right)
        yield one, off


@lru_cache(maxsize=1024)
def _nearest_divisors(number: int, whole: int) -> tuple[tuple[int, float], ...]:
    """Return the divisors of ``whole`` with their log distances from a number, the nearest first."""
    small = [each for each in range(1, math.isqrt(whole) + 1) if whole % each == 0]
    every = {*small, *(whole // each for each in small)}
    return tuple(sorted(((each, _log_distance(each, number)) for each in every), key=lambda pair: pair[1]))


def _nearest_multiple(number: int, factor: int) -> int:
    """Return the multiple of ``factor`` that is nearest to a number."""
    below = number // factor * factor
    return min(
        (each for each in (below, below + factor) if each), key=lambda each: _log_distance(each, number)
    )


def _log_distance(one: int, other: int) -> float:
    """Return the absolute logarithm of the ratio of two numbers."""
    return abs(math.log(one / other))
