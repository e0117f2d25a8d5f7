"""Steps of the present fleet and of a larger one with the same number of samples: strong scaling."""

from __future__ import annotations

import math

from perfmodel.core.errors import InputError
from perfmodel.decide.planning.fleets.job import Job
from perfmodel.decide.planning.fleets.step import FleetStep, steps_of


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
    batch = today
    if step.parts[0].prediction.layout is None:
        unit = math.lcm(step.fleet.gpus, before.fleet.gpus) * (job.scenario.accumulation_steps or 1)
        batch = nearest_multiple(today, unit)
    if batch > round(step.samples):
        return None
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
