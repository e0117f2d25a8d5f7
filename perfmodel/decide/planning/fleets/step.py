"""One iteration of a fleet: of one kind of machine as predicted, of several paced by the slowest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from perfmodel.core.errors import InputError, refusal
from perfmodel.core.problem import Words
from perfmodel.decide.planning.fleets.job import Job, Layout
from perfmodel.decide.planning.fleets.shares import shares_beside, units_of, whole_shares
from perfmodel.decide.planning.fleets.written import Fleet, Group
from perfmodel.equations.fleets import share_by_speed
from perfmodel.equations.heterogeneous import slowest_of_kinds
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import Prediction
from perfmodel.model.prediction.assemble import settled
from perfmodel.model.step.stragglers import law_of
from perfmodel.model.step.terms import alike

Policy = Literal["one kind", "slowest paces", "shares by speed"]
MOST_ROUNDS = 16
"""Rounds in which shares that take equally long on every kind are sought."""
BETWEEN_REPLICAS = ("exposed_communication_time", "contention_time", "node_growth_time")
"""Terms of the exchange between replicas; other traffic stays within one kind of machine."""


class Part(NamedTuple):
    """The machines of one kind in an iteration of the fleet."""

    group: Group
    prediction: Prediction
    """Of as many accelerators as the fleet has, all of this kind."""
    samples: float
    """Samples of one of its accelerators in an iteration."""

    @property
    def own_time(self) -> float:
        """Time of one of its workers without exchange and waiting for others [s]."""
        terms = self.prediction.terms
        return sum(terms.values()) - self.exposed_time - terms.get("straggler_time", 0.0)

    @property
    def exposed_time(self) -> float:
        """Exposed time of the exchange between replicas [s]."""
        return sum(self.prediction.terms.get(name, 0.0) for name in BETWEEN_REPLICAS)

    @property
    def exchange_time(self) -> float:
        """Whole time of the exchange between replicas, hidden or not [s]."""
        return sum(one.time for one in self.prediction.traffic if one.group == "replicas")


class FleetStep(NamedTuple):
    """One iteration of a whole fleet."""

    fleet: Fleet
    policy: Policy
    parts: tuple[Part, ...]
    iteration_time: float
    """[s]"""
    samples: float
    """Samples of the whole fleet in an iteration."""
    slowest: Group
    """The machines that pace the others."""
    idle: int = 0
    """Machines that take no part because the step is faster without them."""

    @property
    def samples_per_second(self) -> float:
        """Samples per second of the whole fleet."""
        return self.samples / self.iteration_time


class Refused(NamedTuple):
    """A policy that a fleet cannot use, and why."""

    policy: Policy
    reason: str


def steps_of(job: Job, fleet: Fleet, refused: list[Refused] | None = None) -> list[FleetStep]:
    """Return an iteration of a fleet for every possible policy: one for one kind, at most two for several.

    Parameters
    ----------
    job, fleet : the job, and the machines that train it
    refused : list to which impossible policies are added

    Raises
    ------
    InputError : as ``predict``; a batch that does not fit in memory; a replica split between kinds
    """
    if len(fleet.groups) == 1:
        return [_of_one_kind(job, fleet)]
    failures: list[InputError] = []
    layouts = _layouts(job, fleet, failures)
    steps: list[FleetStep] = []
    for policy, step_by in _BY_POLICY.items():
        possible, reasons = [], list(failures)
        for layout in layouts:
            try:
                possible.append(step_by(job, fleet, layout))
            except InputError as error:
                reasons.append(error)
        if possible:
            steps.append(max(possible, key=lambda step: step.samples_per_second))
        elif refused is not None:
            refused.append(Refused(policy, reasons[-1].note()))
        failures = failures or reasons
    if not steps:
        raise failures[0]
    return steps


def _of_one_kind(job: Job, fleet: Fleet) -> FleetStep:
    """Return the fastest step of a fleet of one kind, possibly with some machines idle.

    Degrees of a layout divide the accelerators, so fewer machines may be faster: 17 allow hardly any, 16
    many.
    """
    group = fleet.groups[0]
    best: FleetStep | None = None
    failure: InputError | None = None
    for machines in _rounder(group.machines):
        part_of_group = group._replace(machines=machines)
        at_work = fleet._replace(groups=(part_of_group,))
        is_data_parallel = False
        try:
            layout = job.layout(part_of_group, at_work)
            is_data_parallel = layout is None
            prediction = job.on(part_of_group, at_work, **(layout or {}))
            _check_memory(prediction, part_of_group)
        except InputError as error:
            if is_data_parallel:
                raise
            failure = failure or error
            continue
        samples = float(prediction.scenario["global_batch_size"])
        part = Part(part_of_group, prediction, samples / at_work.gpus)
        idle = group.machines - machines
        step = FleetStep(fleet, "one kind", (part,), prediction.iteration_time, samples, part_of_group, idle)
        if best is None or step.samples_per_second > best.samples_per_second:
            best = step
        if is_data_parallel:
            break
    if best is None:
        assert failure is not None
        raise failure
    return best


def _rounder(machines: int) -> list[int]:
    """Return a number and those below it with more factors of two.

    >>> _rounder(23), _rounder(16)
    ([23, 22, 20, 16], [16])
    """
    return list(dict.fromkeys(machines >> k << k for k in range(machines.bit_length())))


def _layouts(job: Job, fleet: Fleet, failures: list[InputError]) -> list[Layout | None]:
    """Return the layouts to try: the fastest of each kind, or None for a data-parallel job."""
    layouts: list[Layout | None] = []
    for group in fleet.groups:
        try:
            layout = job.layout(group, fleet)
        except InputError as error:
            failures.append(error)
            continue
        if layout is None:
            return [None]
        if layout not in layouts:
            layouts.append(layout)
    return layouts


def _slowest_paces(job: Job, fleet: Fleet, layout: Layout | None) -> FleetStep:
    """Return the step in which every accelerator, or replica, has the same samples."""
    parts = []
    for group in fleet.groups:
        prediction = job.on(group, fleet, **(layout or {}))
        _check_mixed(prediction)
        _check_memory(prediction, group)
        parts.append(Part(group, prediction, prediction.scenario["global_batch_size"] / fleet.gpus))
    return mixed_step(job, fleet, parts, "slowest paces")


def mixed_step(job: Job, fleet: Fleet, parts: Sequence[Part], policy: Policy) -> FleetStep:
    """Return the iteration of several kinds, each with its own samples.

    The times of workers spread around the mean of their kind, and the slowest of all is waited for: with
    fewer slow ones the wait is shorter.  A message is sent when the slowest worker has it ready, so the last
    message ends with the kind that would end last alone, by its own work and the exchange it adds.
    """
    constants = job.constants
    pacing = max(parts, key=lambda part: part.own_time)
    setting, constants = settled(Scenario(**_asked(pacing.prediction)), job.catalogue, constants)
    law = law_of(setting, constants) if pacing.prediction.layout is None else None
    same = [float(alike(part.prediction.terms)) for part in parts]
    spreading = [(part.own_time - each, part.group.gpus) for part, each in zip(parts, same, strict=True)]
    slowest = slowest_of_kinds(spreading, law) + max(same)
    time = slowest + max(part.own_time + part.exposed_time for part in parts) - pacing.own_time
    samples = sum(part.samples * part.group.gpus for part in parts)
    return FleetStep(fleet, policy, tuple(parts), time, samples, pacing.group)


def _asked(prediction: Prediction) -> dict[str, Any]:
    """Return the scenario of a prediction as options."""
    return dict(prediction.scenario)


def _shares_by_speed(job: Job, fleet: Fleet, layout: Layout | None) -> FleetStep:
    """Return the fastest step with shares in proportion to speed, sought from equal shares."""
    first = _slowest_paces(job, fleet, layout)
    units = units_of(fleet, {part.group: part.prediction for part in first.parts}, layout)
    equal = dict.fromkeys(fleet.groups, units.equal)
    best, best_shares, seen = first, equal, {tuple(equal.values())}

    def tried(shares: dict[Group, int]) -> FleetStep | None:
        key = tuple(shares.values())
        if key in seen:
            return None
        seen.add(key)
        parts = [_part(job, fleet, group, layout, share) for group, share in shares.items()]
        return mixed_step(job, fleet, parts, "shares by speed")

    step, shares = first, equal
    for _ in range(MOST_ROUNDS):
        speeds = {part.group: shares[part.group] / part.own_time for part in step.parts}
        together = sum(speeds[group] * units.takers[group] for group in fleet.groups)
        shares = whole_shares(
            {group: float(share_by_speed(units.total, speeds[group], together)) for group in fleet.groups},
            units,
        )
        if (after := tried(shares)) is None:
            break
        step = after
        if step.samples_per_second > best.samples_per_second:
            best, best_shares = step, shares
    for _ in range(MOST_ROUNDS):  # the exchange, too, differs by who is slowest: one unit more or less
        near = [(other, tried(other)) for other in shares_beside(best_shares, units)]
        better = [(step, other) for other, step in near if step is not None]
        if not better or (most := max(better, key=_pace))[0].samples_per_second <= best.samples_per_second:
            break
        best, best_shares = most
    return best._replace(policy="shares by speed")


def _pace(one: tuple[FleetStep, object]) -> float:
    """Return the speed of a step with its shares [samples/s]."""
    return one[0].samples_per_second


_BY_POLICY: Mapping[Policy, Callable[[Job, Fleet, Layout | None], FleetStep]] = {
    "slowest paces": _slowest_paces,
    "shares by speed": _shares_by_speed,
}


def _part(job: Job, fleet: Fleet, group: Group, layout: Layout | None, share: int) -> Part:
    """Return the machines of one kind with their share of the samples, predicted."""
    if layout is None:
        prediction = job.on(group, fleet, local_batch_size=share, global_batch_size=None)
    else:
        prediction = job.on(group, fleet, **{**layout, "accumulation_steps": share})
    return Part(group, prediction, prediction.scenario["global_batch_size"] / fleet.gpus)


def _check_mixed(prediction: Prediction) -> None:
    """Raise an InputError for sharded embedding tables, which mixed fleets do not support."""
    if any(one.group == "tables" for one in prediction.traffic):
        raise refusal("fleet.tables")


def _check_memory(prediction: Prediction, group: Group) -> None:
    """Raise an InputError where the batch does not fit in the memory of the machines."""
    memory = prediction.memory
    if not memory.fits:
        most = memory.largest_local_batch_size
        batch = prediction.scenario["local_batch_size"]
        hint = f"at most {most} do (--local-batch-size)" if most else "not even one sample does"
        raise refusal("fleet.batch", batch=batch, accelerator=group.accelerator, hint=Words(hint))
