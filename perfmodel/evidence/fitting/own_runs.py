"""Update the shipped fit by a user's own runs: a Bayesian regression on the logarithms of their times.

Prior: the error of a run is the sum of parts that runs with the same software, accelerator, network or all
three have in common.  ``evidence.fitting.components`` learned their standard deviations from left-out
sources, in units of the run's interval.  Likelihood: normal in the logarithm, with a noise that is learned.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from perfmodel.core.arrays import Array
from perfmodel.model.fitted.calibration import Calibration, with_own_effects
from perfmodel.model.fitted.own_effects import OwnEffects, effect_names
from perfmodel.model.prediction.intervals.interval import deviation
from perfmodel.model.prediction.intervals.widening import software_of, widening_strengths
from perfmodel.model.prediction.limits import crossed_link
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.communication import message_times
from perfmodel.model.step.evaluate import evaluate
from perfmodel.model.step.fabric import fabric
from perfmodel.model.step.inside import inside_link
from perfmodel.model.step.layer_rates import conditions

STEP = 0.02
"""Step of an effect's logarithm in finite differences."""
ROUNDS = 20
"""Largest number of Gauss-Newton steps."""
FIRST_ROUNDS = 3
"""Gauss-Newton steps from each start, after which only the best continues."""
ENOUGH = 1e-4
"""Gain of a step, in twice the logarithm of a probability, below which the search ends."""
HALVINGS = 6
"""Largest number of times that a step is halved until it helps."""
NOISE_ROUNDS = 40
"""Alternations between effects and noise in a Gauss-Newton step."""
STARTS = (-1.0, -2.0, -3.0)
"""Starts of the search in addition to 0: the effect of each link, in standard deviations of its prior.  A
link that is not the bottleneck has slope 0."""
MOST_REFITS = 24
"""Number of settings above which left-out errors follow from leverages instead of refits."""


class OwnRun(NamedTuple):
    """A measured run of a user: where in the file it is, and its job in words."""

    where: str
    name: str
    setting: Setting
    time: float
    """Measured iteration time [s]; for all-reduces the geometric mean over sizes."""
    message_bytes: tuple[float, ...] = ()
    """Sizes of stand-alone all-reduces, which determine the network alone; empty for training."""
    noise: float = 0.0
    """Variance of ln(time) from timing: of all-reduces, and of the mean of equal settings."""
    quantity: str = ""
    """What its file has, such as ``iteration_time``; empty where that is not known."""


class Answer(NamedTuple):
    """Errors of a run's prediction before and after the update: ln(predicted / measured)."""

    where: str
    """Place in the file, such as ``line 3``."""
    run: str
    """Description of the job in words."""
    time: float
    """Measured iteration time [s]."""
    before: float
    """Error of the shipped fit, which has not seen the run."""
    left_out: float
    """Error after an update by the runs of all other settings."""
    after: float
    """Error after an update by all runs; for a data-parallel job, of the mean of its repeats."""
    width_before: float = math.nan
    """Half-width of the job's 80 % interval by the shipped fit, in logarithms; nan for all-reduces."""
    width_after: float = math.nan
    """Half-width after the update, when the job itself was measured: the noise of repeats."""
    world_size: float = 1
    """Accelerators of the run."""
    rate: float = math.nan
    """Measured throughput, in ``unit``; nan for all-reduces."""
    unit: str = ""


class Update(NamedTuple):
    """Result of an update of the shipped fit by a user's runs."""

    own: OwnEffects
    """Learned effects, as predictions use them."""
    deviations: dict[str, tuple[float, float]]
    """Standard deviation of each effect's logarithm, before and after."""
    answers: list[Answer]
    """Errors of each run."""
    refitted: bool = True
    """Whether left-out errors come from refits; else from leverages, which approximate small ones."""


class _Prior(NamedTuple):
    """Prior of the effects, and variances of the runs."""

    names: list[str]
    """Names of the effects."""
    deviation: Array
    """Standard deviation of each effect's logarithm, shape (effects,)."""
    rest: Array
    """Variance of the part of the error that is a run's own, 0 for all-reduces; shape (runs,)."""
    timing: Array
    """Variance from timing, shape (runs,)."""
    held: Array
    """1 where an effect acts on a run, else 0; shape (runs, effects)."""

    @property
    def trains(self) -> Array:
        """1 for a run that trains, else 0; shape (runs,)."""
        return np.where(self.rest > 0, 1.0, 0.0)


class _Posterior(NamedTuple):
    """Posterior of the effects' logarithms, and of the noise."""

    mean: Array
    covariance: Array
    noise: float
    """Factor on the expected variance of the runs."""
    leverage: Array
    """Leverage of each run on its own prediction, shape (runs,)."""
    cost: float
    """Minus twice the logarithm of the posterior probability, up to a constant; the noise integrated out."""


def update(
    runs: Sequence[OwnRun], constants: Calibration, components: dict[str, float], freedom: float, file: str
) -> Update:
    """Return the effects that a user's runs determine, and the errors of each run before, after and left out.

    Parameters
    ----------
    runs : measured runs, of training or of all-reduces
    constants : the shipped fit
    components : standard deviations of the parts of an error, from ``learn_components``
    freedom : degrees of freedom of the noise's prior, from ``learn_freedom``
    file : name of the file that the result is written to
    """
    variances = {name: value * value for name, value in components.items()}
    points, of_run = _points(runs)
    scales = [_variance(point.setting, constants) for point in points]
    kept = np.array([not point.message_bytes for point in points])
    scale = float(np.mean(scales, where=kept if kept.any() else True))
    own = OwnEffects(file, len(runs), {}, {}, variances, scale, 1.0, 0.0, _seen(runs))
    times = _Times(constants, own)
    prior = _prior(points, variances, scales)
    posterior = _best(points, prior, times, freedom)
    zero = times.of(points, prior.names, np.zeros(len(prior.names)))
    after = times.of(points, prior.names, posterior.mean)
    measured = np.log([point.time for point in points])
    refitted = len(points) <= MOST_REFITS
    if refitted:
        left_out = np.array(
            [_without(n, points, scales, variances, times, freedom) for n in range(len(points))]
        )
    else:
        left_out = measured + (after - measured) / (1 - posterior.leverage)
    settled = np.diag(prior.deviation**2) - posterior.covariance
    own = own._replace(
        logarithms=_rounded(prior.names, posterior.mean),
        settled={
            name: _rounded(prior.names, row)
            for name, row in zip(prior.names, settled, strict=True)
            if not _is_link(name)
        },
        noise=float(f"{posterior.noise:.6g}"),
        scatter=float(f"{np.sqrt(np.square((left_out - measured)[kept]).mean()):.6g}") if kept.any() else 0.0,
    )
    predicted = np.stack([zero, left_out, after], axis=1)[of_run]
    errors = (predicted - np.log([[run.time] for run in runs])).tolist()
    spreads = np.stack([prior.deviation, np.sqrt(np.diag(posterior.covariance))], axis=1)
    return Update(
        own,
        {name: (first, last) for name, (first, last) in zip(prior.names, spreads.tolist(), strict=True)},
        [Answer(run.where, run.name, run.time, *each) for run, each in zip(runs, errors, strict=True)],
        refitted,
    )


def nothing_learned(components: dict[str, float], file: str) -> Update:
    """Return an update without effects, for no runs."""
    variances = {name: value * value for name, value in components.items()}
    return Update(OwnEffects(file, 0, {}, {}, variances, 1.0, 1.0, 0.0, _seen([])), {}, [])


def _points(runs: Sequence[OwnRun]) -> tuple[list[OwnRun], list[int]]:
    """Return one run for each setting, with the mean of its logarithmic times, and each run's setting.

    Repeats of a setting time it more precisely, but tell nothing more about other settings.
    """
    groups: list[list[OwnRun]] = []
    of_run = []
    for run in runs:
        same = (n for n, group in enumerate(groups) if _equal(run, group[0]))
        number = next(same, len(groups))
        if number == len(groups):
            groups.append([])
        groups[number].append(run)
        of_run.append(number)
    return [_mean(group) for group in groups], of_run


def _equal(one: OwnRun, other: OwnRun) -> bool:
    """Whether two runs train with the same setting."""
    return not one.message_bytes and not other.message_bytes and one.setting == other.setting


def _mean(group: Sequence[OwnRun]) -> OwnRun:
    """Return repeats of a setting as one run, with the variance of its mean."""
    if len(group) == 1:
        return group[0]
    logarithms = np.log([run.time for run in group])
    noise = float(logarithms.var(ddof=1)) / len(group)
    return group[0]._replace(time=float(np.exp(logarithms.mean())), noise=noise)


def _variance(setting: Setting, constants: Calibration) -> float:
    """Return the variance of a run's logarithmic error that its interval states."""
    step = evaluate(setting, constants)
    result = widening_strengths(setting, step.work, step.terms, constants)
    return float(deviation(result, constants.spread["specs"])) ** 2


def effects_on(run: OwnRun) -> list[str]:
    """Return the names of the effects on a run: on computation (not for all-reduces) and on links."""
    names = [] if run.message_bytes else effect_names(conditions(run.setting))
    if run.setting.world_size > 1:
        links = (crossed_link(run.setting).id, inside_link(run.setting).id)
        names += [f"link/{link}" for link in dict.fromkeys(links)]
    return names


def _prior(runs: Sequence[OwnRun], variances: dict[str, float], scales: Sequence[float]) -> _Prior:
    """Return the prior of the effects on runs.

    Parameters
    ----------
    runs : one for each setting
    variances : of the components of an error, in units of the interval's variance
    scales : variance of each run's interval
    """
    of_runs = [effects_on(run) for run in runs]
    names = [*dict.fromkeys(name for effects in of_runs for name in effects)]
    held = np.array([[float(name in effects) for name in names] for effects in of_runs])
    spread = np.array([variances[name.partition("/")[0]] for name in names])
    spread *= [
        1.0 if _is_link(name) else np.average(scales, weights=held[:, n]) for n, name in enumerate(names)
    ]
    rest = np.where([bool(run.message_bytes) for run in runs], 0.0, variances["rest"] * np.array(scales))
    return _Prior(names, np.sqrt(spread), rest, np.array([run.noise for run in runs]), held)


def _is_link(name: str) -> bool:
    return name.startswith("link/")


class _Times:
    """Predicts ln(time [s]) of runs under given effects, each combination once."""

    def __init__(self, constants: Calibration, own: OwnEffects) -> None:
        self._constants, self._own = constants, own
        self._known: dict[tuple[str, tuple[float, ...]], float] = {}

    def of(self, runs: Sequence[OwnRun], names: Sequence[str], values: Array) -> Array:
        """Return ln(predicted time [s]), shape (runs,), under logarithms of the named effects."""
        logarithms = dict(zip(names, values.tolist(), strict=True))
        moved = with_own_effects(self._constants, self._own._replace(logarithms=logarithms))
        return np.array([self._one(run, logarithms, moved) for run in runs])

    def _one(self, run: OwnRun, logarithms: dict[str, float], moved: Calibration) -> float:
        key = run.where, tuple(logarithms.get(name, 0.0) for name in effects_on(run))
        if key not in self._known:
            self._known[key] = _log_time(run, moved)
        return self._known[key]


def _log_time(run: OwnRun, constants: Calibration) -> float:
    """Return ln(predicted time [s]) of a run; for all-reduces the mean over sizes."""
    if not run.message_bytes:
        return float(np.log(float(evaluate(run.setting, constants).iteration_time)))
    on = fabric(run.setting, constants)
    return float(np.log(message_times(run.setting, np.array(run.message_bytes), on)).mean())


def _without(
    number: int,
    runs: Sequence[OwnRun],
    scales: Sequence[float],
    variances: dict[str, float],
    times: _Times,
    freedom: float,
) -> float:
    """Return ln(predicted time [s]) of one run after an update by the others."""
    others = [run for n, run in enumerate(runs) if n != number]
    if not others:
        return float(times.of(runs, [], np.zeros(0))[0])
    prior = _prior(others, variances, [scale for n, scale in enumerate(scales) if n != number])
    return float(times.of([runs[number]], prior.names, _best(others, prior, times, freedom).mean)[0])


def _best(runs: Sequence[OwnRun], prior: _Prior, times: _Times, freedom: float) -> _Posterior:
    """Return the most probable effects, searched from several starts.

    A link that is not the bottleneck without an effect has slope 0 there, but may be one if it is slow
    enough.
    """
    links = np.diag(prior.deviation)[[_is_link(name) for name in prior.names]]
    starts = [np.zeros(len(prior.names)), *(far * link for link in links for far in STARTS)]
    tried = (_from(start, runs, prior, times, freedom, FIRST_ROUNDS) for start in starts)
    best = min(tried, key=lambda one: one.cost)
    return _from(best.mean, runs, prior, times, freedom, ROUNDS)


def _from(
    start: Array, runs: Sequence[OwnRun], prior: _Prior, times: _Times, freedom: float, rounds: int
) -> _Posterior:
    """Return the effects that Gauss-Newton steps reach from ``start``, each of which lowers the cost."""
    measured = np.log([run.time for run in runs])
    at, predicted = start, times.of(runs, prior.names, start)

    def cost(values: Array, errors: Array, noise: float) -> float:
        of_runs = np.square(errors) / (noise * prior.rest + prior.timing)
        return float(of_runs.sum() + np.square(values / prior.deviation).sum())

    for _ in range(rounds):
        slopes = _slopes(runs, prior, at, predicted, times)
        posterior = _posterior(slopes, measured - predicted + slopes @ at, prior, freedom)
        step, now = posterior.mean - at, cost(at, measured - predicted, posterior.noise)
        for _ in range(HALVINGS):
            there = times.of(runs, prior.names, at + step)
            gain = now - cost(at + step, measured - there, posterior.noise)
            if gain >= 0:
                at, predicted = at + step, there
                break
            step = step / 2
        if gain < ENOUGH:
            break
    squares = np.square(measured - predicted) / (prior.rest + prior.timing)
    training = freedom + (squares * prior.trains).sum()
    whole = (freedom + prior.trains.sum()) * np.log(training) + (squares * (1 - prior.trains)).sum()
    return posterior._replace(mean=at, cost=float(whole + np.square(at / prior.deviation).sum()))


def _slopes(runs: Sequence[OwnRun], prior: _Prior, at: Array, predicted: Array, times: _Times) -> Array:
    """Return the derivatives of ln(time) by every effect, shape (runs, effects).

    Effects on computation have the same derivative, which one step gives; each link needs its own.
    """
    slopes = np.zeros((len(runs), len(prior.names)))
    links = np.array([_is_link(name) for name in prior.names])
    run = np.array([name.startswith("run/") for name in prior.names])
    for step, which in [(run, ~links), *((unit, unit) for unit in np.eye(len(links), dtype=bool)[links])]:
        if step.any():
            by = (times.of(runs, prior.names, at + STEP * step) - predicted) / STEP
            slopes += prior.held * which * by[:, None]
    return slopes


def _posterior(slopes: Array, target: Array, prior: _Prior, freedom: float) -> _Posterior:
    """Return the posterior of effects and noise in the linear model ``target = slopes @ effects``.

    The noise has an inverse chi-square prior around 1.  Each round sets the effects to their mode given the
    noise, and the noise to its mode given the effects.
    """
    noise, precision = 1.0, np.diag(1 / prior.deviation**2)
    for _ in range(NOISE_ROUNDS):
        weights = 1 / (noise * prior.rest + prior.timing)
        covariance: Any = np.linalg.inv((slopes * weights[:, None]).T @ slopes + precision)
        mean = covariance @ (slopes.T @ (weights * target))
        uncertain = np.einsum("ij,jk,ik->i", slopes, covariance, slopes)
        squares = noise * weights * (np.square(target - slopes @ mean) + uncertain)
        noise = float((freedom + (squares * prior.trains).sum()) / (freedom + prior.trains.sum()))
    return _Posterior(mean, covariance, noise, uncertain * weights, 0.0)


def _rounded(names: Sequence[str], values: Array) -> dict[str, float]:
    return {name: float(f"{value:.9g}") for name, value in zip(names, values.tolist(), strict=True)}


def _seen(runs: Sequence[OwnRun]) -> dict[str, Any]:
    """Return the accelerators, networks, software and links that the runs used."""
    several = [run for run in runs if run.setting.world_size > 1]
    trained = [run for run in runs if not run.message_bytes]
    return {
        "accelerator": sorted({run.setting.accelerator.id for run in trained}),
        "network": sorted({run.setting.workload.id for run in trained}),
        "software": sorted({software_of(run.setting) for run in trained}),
        "link": sorted({crossed_link(run.setting).id for run in several}),
    }
