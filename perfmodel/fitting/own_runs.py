"""Update the shipped fit by a user's own runs: a Bayesian regression on the logarithms of their times.

Prior: the error of a run is the sum of what its software, accelerator, network and all three share, as
``fitting.components`` learned it of sources left out of the fit, as wide as the run's interval.  Likelihood:
the runs, normal around their predictions, by a noise that is itself learned from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perfmodel.calibration import Calibration, beside
from perfmodel.own_effects import OwnEffects, effect_names
from perfmodel.prediction.interval import deviation, software_of, widening_strengths
from perfmodel.prediction.limits import crossed_link
from perfmodel.resolve import Setting
from perfmodel.step.communication import message_times
from perfmodel.step.evaluate import evaluate
from perfmodel.step.fabric import fabric
from perfmodel.step.layer_rates import conditions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

STEP = 0.02
"""Of a logarithm, for differences."""
ROUNDS = 6
"""Of Gauss and Newton: times are all but proportional to what is moved."""
NOISE_ROUNDS = 40


class OwnRun(NamedTuple):
    """A measured run of a user."""

    where: str
    """In the file: ``line 3``."""
    name: str
    setting: Setting
    time: float
    """Measured iteration time [s]; of all-reduces the geometric mean."""
    message_bytes: tuple[float, ...] = ()
    """Of all-reduces on their own, which tell of the network alone; of training none."""
    noise: float = 0.0
    """Variance of those' logarithmic errors."""


class Answer(NamedTuple):
    """How far a run is missed; logarithms of predicted over measured."""

    where: str
    """In the file: ``line 3``."""
    run: str
    """What ran."""
    time: float
    """Measured [s]."""
    before: float
    """By the shipped fit, which has not seen it."""
    left_out: float
    """With the other runs learned from, and this one left out."""
    after: float
    """With all of them."""


class Update(NamedTuple):
    """What the runs taught."""

    own: OwnEffects
    deviations: dict[str, tuple[float, float]]
    """Standard deviation of each logarithm, before the runs and after."""
    answers: list[Answer]


class _Prior(NamedTuple):
    names: list[str]
    deviation: Array
    """Of each effect, shape (effects,)."""
    noise: Array
    """Variance of each run, shape (runs,)."""
    trains: Array
    """Whether a run trains, so that its noise is learned; shape (runs,)."""
    held: Array
    """Which effects act on the computation of a run, and on its link, shape (2, runs, effects)."""


class _Posterior(NamedTuple):
    mean: Array
    covariance: Array
    noise: float
    leverage: Array
    """Of each run on its own prediction, shape (runs,)."""


def update(
    runs: Sequence[OwnRun], constants: Calibration, components: dict[str, float], freedom: float, file: str
) -> Update:
    """Return what runs move of a fit, and how far each is missed before, after, and left out.

    Parameters
    ----------
    runs : measured
    constants : the shipped fit
    components : standard deviations of an error's parts over that of its interval, of ``learn_components``
    freedom : with which the noise of runs varies, of ``learn_freedom``
    file : name of what is to be written
    """
    variances = {name: value * value for name, value in components.items()}
    scales = np.array([_variance(run.setting, constants) for run in runs])
    kept = np.array([not run.message_bytes for run in runs])
    scale = float(scales[kept].mean()) if kept.any() else float(scales.mean())
    prior = _prior(runs, variances, scales)
    measured = np.log([run.time for run in runs])
    own = OwnEffects(file, len(runs), {}, {}, variances, scale, 1.0, 0.0, _seen(runs))
    mean = np.zeros(len(prior.names))
    before = _times(runs, constants, own, prior.names, mean)
    for _ in range(ROUNDS):
        times = _times(runs, constants, own, prior.names, mean)
        slopes = _slopes(runs, constants, own, prior, mean, times)
        posterior = _posterior(slopes, measured - times + slopes @ mean, prior, freedom)
        done = np.abs(posterior.mean - mean).max() < 1e-6
        mean = posterior.mean
        if done:
            break
    after = _times(runs, constants, own, prior.names, mean) - measured
    left_out = after / (1 - posterior.leverage)
    settled = np.diag(prior.deviation**2) - posterior.covariance
    own = own._replace(
        logarithms=_rounded(prior.names, mean),
        settled={
            name: _rounded([*prior.names], row)
            for name, row in zip(prior.names, settled, strict=True)
            if not name.startswith("link/")
        },
        noise=float(f"{posterior.noise:.6g}"),
        scatter=float(f"{np.sqrt(np.square(left_out[kept]).mean()):.6g}") if kept.any() else 0.0,
    )
    errors = zip(runs, (before - measured).tolist(), left_out.tolist(), after.tolist(), strict=True)
    spreads = np.stack([prior.deviation, np.sqrt(np.diag(posterior.covariance))], axis=1)
    return Update(
        own,
        {name: (first, last) for name, (first, last) in zip(prior.names, spreads.tolist(), strict=True)},
        [Answer(run.where, run.name, run.time, *each) for run, *each in errors],
    )


def _variance(setting: Setting, constants: Calibration) -> float:
    """Variance of a run's logarithmic error, as its interval says."""
    step = evaluate(setting, constants)
    result = widening_strengths(setting, step.work, step.terms, constants)
    return float(deviation(result, constants.spread["specs"])) ** 2


def _prior(runs: Sequence[OwnRun], variances: dict[str, float], scales: Array) -> _Prior:
    names: dict[str, list[int]] = {}
    for row, run in enumerate(runs):
        for name in () if run.message_bytes else effect_names(conditions(run.setting)):
            names.setdefault(name, []).append(row)
        if run.setting.world_size > 1:
            names.setdefault(f"link/{crossed_link(run.setting).id}", []).append(row)
    held = np.zeros((2, len(runs), len(names)))
    spread = np.zeros(len(names))
    for number, (name, rows) in enumerate(names.items()):
        kind = name.partition("/")[0]
        held[int(kind == "link"), rows, number] = 1.0
        if kind == "link":
            spread[number] = np.sqrt(variances[kind])
        else:
            spread[number] = np.sqrt(variances[kind] * scales[rows].mean())
    trains = np.array([not run.message_bytes for run in runs])
    noise = np.where(trains, variances["rest"] * scales, [run.noise for run in runs])
    return _Prior([*names], spread, noise, trains, held)


def _times(
    runs: Sequence[OwnRun], constants: Calibration, own: OwnEffects, names: Sequence[str], values: Array
) -> Array:
    """Predicted logarithms under given effects, shape (runs,)."""
    moved = beside(constants, own._replace(logarithms=dict(zip(names, values.tolist(), strict=True))))
    return np.array([_log_time(run, moved) for run in runs])


def _log_time(run: OwnRun, constants: Calibration) -> float:
    if not run.message_bytes:
        return float(np.log(float(evaluate(run.setting, constants).iteration_time)))
    on = fabric(run.setting, constants)
    return float(np.log(message_times(run.setting, np.array(run.message_bytes), on)).mean())


def _slopes(
    runs: Sequence[OwnRun], constants: Calibration, own: OwnEffects, prior: _Prior, at: Array, times: Array
) -> Array:
    """Derivatives of the logarithms by every effect, shape (runs, effects).

    Effects on computation all act alike, so that one step of any tells of all; so do those on links.
    """
    slopes = np.zeros((len(runs), len(prior.names)))
    for kind, held in zip(("run", "link"), prior.held, strict=True):
        step = np.array([STEP * (name.partition("/")[0] == kind) for name in prior.names])
        if step.any():
            by = (_times(runs, constants, own, prior.names, at + step) - times) / STEP
            slopes += held * by[:, None]
    return slopes


def _posterior(slopes: Array, target: Array, prior: _Prior, freedom: float) -> _Posterior:
    """Return the effects that explain ``target``, and the noise of the runs over what is expected.

    The noise has an inverse chi-square prior around 1; each round sets it to its mode given the effects, and
    those to theirs given it.
    """
    noise, precision = 1.0, np.diag(1 / prior.deviation**2)
    for _ in range(NOISE_ROUNDS):
        weights = 1 / (np.where(prior.trains, noise, 1.0) * prior.noise)
        covariance: Any = np.linalg.inv((slopes * weights[:, None]).T @ slopes + precision)
        mean = covariance @ (slopes.T @ (weights * target))
        uncertain = np.einsum("ij,jk,ik->i", slopes, covariance, slopes)
        squares = (np.square(target - slopes @ mean) + uncertain) / prior.noise
        noise = float((freedom + squares[prior.trains].sum()) / (freedom + prior.trains.sum()))
    return _Posterior(mean, covariance, noise, uncertain * weights)


def _rounded(names: Sequence[str], values: Array) -> dict[str, float]:
    return {name: float(f"{value:.9g}") for name, value in zip(names, values.tolist(), strict=True)}


def _seen(runs: Sequence[OwnRun]) -> dict[str, Any]:
    several = [run for run in runs if run.setting.world_size > 1]
    trained = [run for run in runs if not run.message_bytes]
    return {
        "accelerator": sorted({run.setting.accelerator.id for run in trained}),
        "network": sorted({run.setting.workload.id for run in trained}),
        "software": sorted({software_of(run.setting) for run in trained}),
        "link": sorted({crossed_link(run.setting).id for run in several}),
    }
