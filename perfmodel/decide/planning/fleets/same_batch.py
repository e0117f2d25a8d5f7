"""Steps of the present fleet and of a larger one with the same number of samples: strong scaling."""

from __future__ import annotations

import math

from perfmodel.core.errors import InputError
from perfmodel.decide.planning.fleets.job import Job
from perfmodel.decide.planning.fleets.step import FleetStep, Refused, steps_of
from perfmodel.decide.planning.fleets.written import Fleet

TIMES = (4, 16)
"""Other batches that are tried where nobody says which one a job has, as multiples of the default."""


def steps_of_larger(job: Job, fleet: Fleet, refused: list[Refused]) -> list[FleetStep]:
    """Return the steps of a larger fleet; of a batch that its GPUs cannot share equally, of the nearest.

    Parameters and errors as of ``steps_of``.
    """
    try:
        return steps_of(job, fleet, refused)
    except InputError as error:
        unit, batch = fleet.gpus * (job.scenario.accumulation_steps or 1), job.scenario.global_batch_size
        is_indivisible = any(problem.code == "batch.indivisible" for problem in error.problems)
        if not is_indivisible or batch is None:
            raise
        refused.clear()
        return steps_of(job.with_batch(nearest_multiple(batch, unit)), fleet, refused)


def steps_of_same_batch(job: Job, step: FleetStep, before: FleetStep) -> tuple[FleetStep, FleetStep] | None:
    """Return the steps of a larger fleet and of the present one with as many samples, about those of today.

    None where the step of the larger fleet has no more samples than today's, or where no number up to its
    samples divides over both fleets and fits in memory.

    Parameters
    ----------
    step, before : of both fleets, each with its own number of samples
    """
    today = round(before.samples)
    if round(step.samples) <= today:
        return None
    batch = today if step.parts[0].prediction.layout else _shared_batch(job, step, before, today)
    return None if batch > round(step.samples) else _steps_with(job, step, before, batch)


def steps_of_other_batches(job: Job, step: FleetStep, before: FleetStep) -> list[tuple[FleetStep, FleetStep]]:
    """Return the steps of both fleets with about ``TIMES`` as many samples as today; none with a layout."""
    if step.parts[0].prediction.layout:
        return []
    batches = [_shared_batch(job, step, before, times * round(before.samples)) for times in TIMES]
    return [steps for batch in batches if (steps := _steps_with(job, step, before, batch))]


def _shared_batch(job: Job, step: FleetStep, before: FleetStep, samples: int) -> int:
    """Return the number of samples nearest to one that divides over both fleets."""
    unit = math.lcm(step.fleet.gpus, before.fleet.gpus) * (job.scenario.accumulation_steps or 1)
    return nearest_multiple(samples, unit)


def _steps_with(
    job: Job, step: FleetStep, before: FleetStep, batch: int
) -> tuple[FleetStep, FleetStep] | None:
    """Return the steps of both fleets with a number of samples; None where one cannot take it."""
    same = job.with_batch(batch)
    try:
        larger, present = (
            {one.policy: one for one in steps_of(same, fleet)} for fleet in (step.fleet, before.fleet)
        )
    except InputError:
        return None
    if step.policy not in larger:
        return None
    return larger[step.policy], present.get(before.policy) or next(iter(present.values()))


def nearest_multiple(number: int, unit: int) -> int:
    """Return the positive multiple of a unit that is nearest to a number.

    >>> nearest_multiple(1024, 192), nearest_multiple(64, 192)
    (960, 192)
    """
    return max(1, round(number / unit)) * unit
