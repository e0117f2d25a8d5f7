"""The possible layout nearest to one that is none, by all rules at once: advice that can be followed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from perfmodel.workloads.architecture import Architecture


class Asked(NamedTuple):
    """Degrees and batch as a scenario gives them; None where it leaves a part of the batch open."""

    tensor_parallel: int
    pipeline_parallel: int
    virtual_stages: int
    context_parallel: int
    expert_parallel: int
    micro_batch_size: int | None
    global_batch_size: int | None
    accumulation_steps: int | None


def advice(asked: Asked, possible: Asked) -> str:
    """Return the options to change, as they are written on the command line."""
    changed = {name: value for name, value in possible._asdict().items() if value != getattr(asked, name)}
    return " ".join(f"--{name.replace('_', '-')} {value}" for name, value in changed.items())


def nearest(asked: Asked, world_size: int, model: Architecture, sequence_length: int) -> Asked:
    """Return what differs from the asked by the least factors, all factors multiplied, and is possible.

    The number of accelerators stays.  There is always one: replicas, and any batch that they divide.
    """
    best, least = asked, math.inf
    for tensor, far in _nearest(asked.tensor_parallel, math.gcd(world_size, model.heads)):
        if far >= least:
            break
        for stages, farther in _nearest(asked.pipeline_parallel, world_size // tensor):
            if far + farther >= least:
                break
            if stages > model.layers:
                continue
            rest = world_size // (tensor * stages)
            for context, more in _nearest(asked.context_parallel, math.gcd(rest, sequence_length)):
                so_far = far + farther + more
                if so_far >= least:
                    break
                able = math.gcd(model.experts or 1, rest)
                expert, by_experts = _nearest(asked.expert_parallel, able)[0]
                degrees = asked._replace(
                    tensor_parallel=tensor,
                    pipeline_parallel=stages,
                    context_parallel=context,
                    expert_parallel=expert,
                )
                for one, by_batch in _batches(degrees, rest // context, model.layers):
                    if so_far + by_experts + by_batch < least:
                        best, least = one, so_far + by_experts + by_batch
    return best


def _batches(asked: Asked, data: int, layers: int) -> Iterator[tuple[Asked, float]]:
    """Yield possible chunks of layers with possible batches of so many replicas, and how far each is off."""
    stages = asked.pipeline_parallel
    for chunks in {min(asked.virtual_stages, layers // stages), 1}:
        off = _apart(chunks, asked.virtual_stages)
        in_turn = stages if chunks > 1 else 1
        micro, whole, steps = asked[-3:]
        one = asked._replace(virtual_stages=chunks)
        if steps is not None or whole is None:
            passes = _multiple(steps or 1, in_turn)
            off += _apart(passes, steps or 1)
            if passes != (steps or 1):
                one = one._replace(accumulation_steps=passes)
            if whole is not None:
                samples = data * passes * (micro or 1)
                right = samples if micro else _multiple(whole, samples)
                off += _apart(right, whole)
                one = one._replace(global_batch_size=right)
        else:
            right = _multiple(whole, data * (micro or 1) * in_turn)
            off += _apart(right, whole)
            one = one._replace(global_batch_size=right)
        yield one, off


@lru_cache(maxsize=1024)
def _nearest(asked: int, whole: int) -> tuple[tuple[int, float], ...]:
    """Return the divisors of a number with how far they are from the asked one, the nearest first."""
    small = [each for each in range(1, math.isqrt(whole) + 1) if whole % each == 0]
    every = {*small, *(whole // each for each in small)}
    return tuple(sorted(((each, _apart(each, asked)) for each in every), key=lambda pair: pair[1]))


def _multiple(asked: int, of: int) -> int:
    """Return the multiple of a number that is nearest to the asked one."""
    below = asked // of * of
    return min((each for each in (below, below + of) if each), key=lambda each: _apart(each, asked))


def _apart(one: int, other: int) -> float:
    return abs(math.log(one / other))
