"""Changes of a job's options by which it comes to fit, or nearest to it, and what each costs in time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, product
from typing import Any, NamedTuple

from perfmodel.core.errors import InputError
from perfmodel.decide.fits.measured import settled_by_runs_of
from perfmodel.decide.fits.ways import Options, Way, is_known, more_gpus, sharing_ways, unknown_of, ways_of
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction.memory import memory_needed
from perfmodel.model.prediction.result import Memory
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.evaluate import outcome

DEAR = 0.5
"""Slowdown from which one below it is looked for and named too: half as much accelerator time again [1]."""
GAIN = 0.02
"""Probability of fitting that another changed option has to add."""


class Changed(NamedTuple):
    """A changed job."""

    options: Options
    """Changed options, by name."""
    setting: Setting
    """Of the changed job."""
    constants: Calibration
    """What it is predicted with."""
    memory: Memory
    terms: Mapping[str, float]
    """Exposed times of a step of the same batch, or of as many tokens in shorter sequences [s]; of more
    samples where more accelerators need them."""
    same_training: bool
    """Whether optimizer, trained weights and samples are those of the job."""
    warnings: tuple[str, ...]
    """What is possible and poor of it, or not known of the software, that is not said of the job itself."""
    times_tokens: float = 1.0
    """Tokens of its step over those of the job's."""

    @property
    def iteration_time(self) -> float:
        """Sum of the terms [s]."""
        return sum(self.terms.values())

    @property
    def spent(self) -> float:
        """Accelerator-seconds for the tokens of the job's step."""
        return float(self.iteration_time * self.setting.world_size) / self.times_tokens


class _Job(NamedTuple):
    """A job to change, and what its changes are predicted with."""

    scenario: Scenario
    """With its batch stated."""
    setting: Setting
    confidence: float
    catalogue: Catalogue
    constants: Calibration

    def changed(self, options: Options) -> Scenario:
        """Return the job with other values of some options."""
        return self.scenario.model_copy(update=dict(options))


def changes_of(
    scenario: Scenario,
    setting: Setting,
    confidence: float,
    spent: float,
    catalogue: Catalogue,
    constants: Calibration,
) -> list[Changed]:
    """Return the changes by which a job comes to fit, or nearest to it, those on as many accelerators first.

    Single options are tried, then pairs, then more, at each step the one that makes fitting most probable.
    Where nothing makes the job fit on its accelerators, what comes nearest there stands first: with the same
    training, then with another.  Changes on more accelerators follow.  Of each, those that leave the training
    as it is come first, of these those that nothing warns of, and of these the cheapest for as many tokens.

    Parameters
    ----------
    scenario, setting : the job as stated, and with its defaults
    confidence : least probability with which a changed job fits
    spent : accelerator-seconds of a step of the job as it is, if it fitted
    catalogue, constants : as for ``predict``
    """
    job = _Job(scenario.model_copy(update=batch_of(setting)), setting, confidence, catalogue, constants)
    sure_batch = memory_needed(setting, constants).largest_sure_batch_size or 0
    savers = _savers(job, ways_of(setting, sure_batch))
    smallest = _smallest(savers)
    fitting = _alone(job, savers) or _pairs(job, savers, smallest)
    if fitting and not any(one.same_training for one in fitting):
        same = [each for each in savers if not each.way.changes_training]
        fitting += _pairs(job, same, _smallest(same)) if len(fitting[0].options) == 1 else []
    nearest = [] if fitting else _nearest(job, smallest)
    here = sorted(_least_of_each(fitting), key=_cost)
    is_settled = bool(here) and not any(_cost(here[0])[:2]) and here[0].spent < (1 + DEAR) * spent
    larger = _on_more(job, [] if here else smallest, shares=not is_settled)
    if here:
        larger = [one for one in larger if len(one.options) == 1 or _is_better(one, here[0])]
    if larger:
        nearest = [one for one in nearest if one.memory.probability >= GAIN]
    return [*here, *nearest, *sorted(_least_of_each(larger), key=_cost)]


class _Saver(NamedTuple):
    """A way that saves memory by itself."""

    way: Way
    bytes: float
    probability: float
    """Probability that the job fits with it alone."""
    is_unknown: bool
    """Whether the software is not known to do it."""
    lacks_host: bool
    """Whether the hosts have less memory than it needs there."""
    key: frozenset[int]
    """Of it and of what is taken in any case."""


def _savers(job: _Job, ways: Iterable[Way], first: Sequence[Way] = ()) -> list[_Saver]:
    """Return the ways that save memory.

    Parameters
    ----------
    ways : to choose from
    first : ways that are taken in any case
    """
    without = _settled(job, first)
    before = float("inf") if without is None else without.memory.bytes
    result = []
    for way in ways:
        with_it = _settled(job, [*first, way])
        if with_it is not None and with_it.memory.bytes < before:
            new = set(with_it.setting.warnings) - set(job.setting.warnings)
            is_unknown = bool(unknown_of(new))
            memory, key = with_it.memory, _key([*first, way])
            odds = memory.bytes, memory.probability
            result.append(_Saver(way, *odds, is_unknown, memory.lacks_host, key))
    return result


def _key(ways: Iterable[Way]) -> frozenset[int]:
    """Return what tells a choice of ways from others, in any order."""
    return frozenset(map(id, ways))


def _smallest(savers: Sequence[_Saver]) -> list[_Saver]:
    """Return of each kind of way the one that leaves the least memory, of those that hosts have room for."""
    least: dict[str, _Saver] = {}
    for each in sorted(savers, key=lambda saver: (saver.lacks_host, saver.bytes)):
        least.setdefault(each.way.kind, each)
    return list(least.values())


def _alone(job: _Job, savers: Sequence[_Saver], first: Sequence[Way] = ()) -> list[Changed]:
    """Return the jobs that fit with one way besides those that are taken in any case."""
    return _each(job, [(*first, each.way) for each in savers if each.probability >= job.confidence])


def _pairs(job: _Job, savers: Sequence[_Saver], smallest: Sequence[_Saver]) -> list[Changed]:
    """Return the jobs that fit with two ways, of kinds with whose smallest a job fits.

    Parameters
    ----------
    savers : ways that save memory
    smallest : of each kind the one that saves most
    """
    result: list[Changed] = []
    for pair in combinations([each.way for each in smallest], 2):
        if (least := _changed(job, pair, job.confidence)) is None:
            continue
        first, second = ([each.way for each in savers if each.way.kind == way.kind] for way in pair)
        others = [each for each in product(first, second) if each != pair]
        result += [least, *_each(job, others)]
    return result


def _on_more(job: _Job, others: Sequence[_Saver], shares: bool) -> list[Changed]:
    """Return the jobs that fit on more accelerators, on the fewest that do also with one other way.

    Where none does with one that the software is known to do, all that helps is tried, and what comes nearest
    is returned, whether it fits or not.

    Parameters
    ----------
    others : what saves most of each kind on its own accelerators; empty where the job can fit on these,
        when only what shares the network among more is tried
    shares : whether other ways are tried at all, not more accelerators alone
    """
    result: list[Changed] = []
    tried: list[tuple[Way, list[_Saver]]] = []
    for of_size in more_gpus(job.setting):
        result += _each(job, [(way,) for way in of_size])
        if any(map(is_known, result)) or not shares:
            continue
        sharing = list(sharing_ways(job.setting, of_size[0].options["world_size"]))
        kinds = {way.kind for way in sharing}
        apart = [each.way for each in others if each.way.kind not in kinds]
        of_this, untried = list[tuple[Way, list[_Saver]]](), sharing
        for way in of_size:
            # where the batch has too few samples for more replicas, only what leaves fewer of them can help
            savers = _savers(job, [*untried, *apart] if way is of_size[-1] else sharing, (way,))
            untried = [each for each in sharing if all(each is not saver.way for saver in savers)]
            of_this.append((way, savers))
            result += _alone(job, savers, (way,))
        if any(savers for _, savers in of_this):  # else the machines' network is not known
            tried = of_this
    if any(map(is_known, result)) or not others:
        return result
    helping = [saver for _, savers in tried for saver in savers]
    for way, _ in tried:
        result += _nearest(job, _smallest(helping), (way,))
        fitting = [one for one in result if one.memory.probability >= job.confidence]
        if any(map(is_known, fitting)):
            return fitting
    return result


def _each(job: _Job, chosen: Iterable[tuple[Way, ...]]) -> list[Changed]:
    """Return the jobs that fit with each choice of ways."""
    return [changed for ways in chosen if (changed := _changed(job, ways, job.confidence)) is not None]


def _nearest(job: _Job, savers: Sequence[_Saver], first: Sequence[Way] = ()) -> list[Changed]:
    """Return the jobs that come nearest to fitting.

    Only what the software is known to do comes first, then also what it is not known to do, then another
    training, each where it adds.

    Parameters
    ----------
    savers : one of each kind
    first : ways that are taken in any case
    """
    result: list[Changed] = []
    known = {each.key: _Odds(each.probability, each.bytes) for each in savers}
    for unknown, others in ((False, False), (True, False), (True, True)):
        allowed = (each for each in savers if unknown or not each.is_unknown)
        ways = [each.way for each in allowed if others or not each.way.changes_training]
        nearest = _changed(job, tuple(_climbed(job, first, ways, known)), 0.0)
        if nearest is None or not nearest.options:
            continue
        odds = _Odds(nearest.memory.probability, nearest.memory.bytes)
        if not result or odds.gains_on(_Odds(result[-1].memory.probability, result[-1].memory.bytes)):
            result.append(nearest)
        if odds.probability >= job.confidence:
            break
    return result


class _Odds(NamedTuple):
    """How near a job comes to fitting."""

    probability: float
    bytes: float

    def gains_on(self, other: _Odds) -> bool:
        """Return whether it comes nearer by enough: in probability, or in memory where neither can fit."""
        if max(self.probability, other.probability) >= GAIN:
            return self.probability >= other.probability + GAIN
        return self.bytes <= other.bytes * (1 - GAIN)


def _climbed(
    job: _Job, first: Sequence[Way], ways: Sequence[Way], known: dict[frozenset[int], _Odds]
) -> list[Way]:
    """Return ways, each next one that which brings a job nearest to fitting, while one does.

    Parameters
    ----------
    first : ways that are taken in any case
    ways : that may follow
    known : odds of ways that were tried, which are added to
    """

    def odds(chosen: Sequence[Way]) -> _Odds:
        key = _key(chosen)
        if key not in known:
            changed = _settled(job, chosen)
            refused = _Odds(0.0, float("inf"))
            memory = None if changed is None else changed.memory
            known[key] = refused if memory is None else _Odds(memory.probability, memory.bytes)
        return known[key]

    chosen, at = list(first), odds(first)
    while at.probability < job.confidence:
        taken = {way.kind for way in chosen}
        tried = [(odds([*chosen, way]), way) for way in ways if way.kind not in taken]
        best = max(tried, key=lambda pair: (pair[0].probability, -pair[0].bytes), default=None)
        if best is None or not best[0].gains_on(at):
            break
        at = best[0]
        chosen.append(best[1])
    return chosen


class _Settled(NamedTuple):
    """A changed job without its time."""

    setting: Setting
    constants: Calibration
    memory: Memory


def _settled(job: _Job, ways: Iterable[Way]) -> _Settled | None:
    """Return a job with some ways; None where it is refused."""
    try:
        changed = job.changed(_options(ways))
        setting, constants = settled_by_runs_of(job.setting, changed, job.catalogue, job.constants)
        return _Settled(setting, constants, memory_needed(setting, constants))
    except (InputError, FloatingPointError, OverflowError):
        return None


def _cost(changed: Changed) -> tuple[bool, bool, float]:
    return not changed.same_training, bool(changed.warnings), changed.spent


def _is_better(larger: Changed, here: Changed) -> bool:
    """Return whether a change on more accelerators spends less than one on as many, or is better known."""
    return larger.spent < here.spent or (bool(here.warnings) and not larger.warnings)


def _least_of_each(changes: list[Changed]) -> list[Changed]:
    """Return of the changes of the same options, to as much of the training, only the cheapest."""
    result: dict[tuple[bool, frozenset[str]], Changed] = {}
    for one in sorted(changes, key=_cost):
        result.setdefault((one.same_training, frozenset(one.options)), one)
    return list(result.values())


def batch_of(setting: Setting) -> dict[str, Any]:
    """Return the options that hold the batch of a job as it is."""
    layout = setting.layout
    if layout is None:
        return {
            "local_batch_size": int(setting.local_batch_size),
            "accumulation_steps": int(setting.accumulation_steps),
            "global_batch_size": None,
        }
    return {
        "micro_batch_size": int(layout.micro_batch_size),
        "global_batch_size": int(layout.global_batch_size),
        "local_batch_size": None,
        "accumulation_steps": None,
    }


def _options(ways: Iterable[Way]) -> dict[str, Any]:
    """Return the options of several ways."""
    return {name: value for way in ways for name, value in way.options.items()}


def _changed(job: _Job, ways: tuple[Way, ...], confidence: float) -> Changed | None:
    """Return a changed job with its time; None if it is refused, or fits with less than a probability."""
    changed = _settled(job, ways)
    if changed is None or changed.memory.probability < confidence:
        return None
    setting = changed.setting
    try:
        terms = outcome(setting, changed.constants).terms
    except (InputError, FloatingPointError, OverflowError):
        return None
    same = not any(way.changes_training for way in ways)
    new = tuple(line for line in setting.warnings if line not in job.setting.warnings)
    times = _tokens(setting) / _tokens(job.setting)
    return Changed(_options(ways), setting, changed.constants, changed.memory, terms, same, new, times)


def _tokens(setting: Setting) -> float:
    """Return the tokens of a step, or its samples where these are no sequences."""
    return float(setting.global_batch_size * (setting.workload.sequence_length or 1))
