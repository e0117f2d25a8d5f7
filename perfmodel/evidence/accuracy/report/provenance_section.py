"""The sources that determine each learned number, and the effect of priors that depend on one source."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from perfmodel.core.arrays import Array, Names
from perfmodel.core.files.templating import render
from perfmodel.evidence.accuracy.collectives import collective_fit as of_collectives
from perfmodel.evidence.accuracy.collectives.collective_rows import shipped_measurements
from perfmodel.evidence.accuracy.measured_runs import shipped_whole_transformers
from perfmodel.evidence.accuracy.transformers import transformer_fit as of_transformers
from perfmodel.evidence.accuracy.transformers.transformer_rows import shipped_transformer_runs
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.collectives import parameters as collectives
from perfmodel.model.collectives.model import fitted as fitted_to_collectives
from perfmodel.model.fitted.calibration import facts
from perfmodel.model.fitted.learned import neutral_means, origins
from perfmodel.model.fitted.ledger_scales import COLLECTIVES, TRANSFORMERS
from perfmodel.model.transformers import parameters as transformers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Shares: TypeAlias = dict[str, dict[str, float]]
"""Name of a number -> source -> its share of the information on the number."""

INFORMATION_SHARE = 0.9
"""Share of the information on a number that the sources which it depends on hold together."""


def information_shares(names: list[str], slopes: Array, weights: Array, sources: Names) -> Shares:
    """Return by number the fewest sources with ``INFORMATION_SHARE`` of its information, and their shares.

    The information of a row on a number is its weight times the square of its slope.

    Parameters
    ----------
    names : of the numbers
    slopes : of the logarithms of predicted times by standard scores of the priors, shape (rows, numbers)
    weights, sources : of the rows, shape (rows,)

    Examples
    --------
    >>> information_shares(["a"], np.array([[3.0], [1.0]]), np.ones(2), np.array(["x", "y"]))
    {'a': {'x': 0.9}}
    """
    keys, of = np.unique(sources, return_inverse=True)
    information = np.zeros((len(keys), len(names)))
    np.add.at(information, of, weights[:, None] * slopes**2)
    result: Shares = {}
    for name, each in zip(names, information.T, strict=True):
        order = np.argsort(-each, kind="stable")
        held = np.cumsum(each[order]) / (each.sum() or 1.0)
        needed = order[: int(np.searchsorted(held, INFORMATION_SHARE)) + 1 if each.any() else 0]
        result[name] = {str(keys[i]): round(float(each[i] / each.sum()), 2) for i in needed}
    return result


@cache
def _runs() -> of_transformers.Data:
    """Return the runs of transformers that fits learn from."""
    runs = of_transformers.learned_from(shipped_transformer_runs())
    return of_transformers.data_of([*runs, *shipped_whole_transformers()])


@cache
def _near() -> of_transformers.Tangent:
    """Return the model of transformers, linearised at the shipped fit."""
    return of_transformers.tangent(transformers.scores_of(transformers.fitted().parameters), _runs().jobs)


@cache
def _measured() -> of_collectives.Data:
    """Return the collectives that fits learn from."""
    return of_collectives.data_of(of_collectives.learned_from(shipped_measurements()))


def transformer_shares() -> Shares:
    """Return the sources that determine the numbers learned from transformers, by number."""
    data = _runs()
    weights = of_transformers.weights(data)
    return information_shares([*transformers.PARAMETERS], _near().slopes, weights, data.sources)


def collective_shares() -> Shares:
    """Return the sources that determine the numbers learned from collectives, by number."""
    data, names, spread = _measured(), [*collectives.PARAMETERS], collectives.means()[1]
    _, slopes = of_collectives.times_and_slopes(
        np.log([fitted_to_collectives().parameters[name] for name in names]), data
    )
    return information_shares(names, slopes * spread, of_collectives.weights(data), data.sources)


class OneSource(NamedTuple):
    """A prior that depends on one source, and mean errors of that source's rows by fits to the others."""

    kind: str
    name: str
    """Name of the number."""
    source: str
    share: float
    """Share of the source in the information on the number."""
    prior: float
    """Mean of the prior."""
    learned: float
    """Fitted value."""
    neutral: float
    """Mean of the prior without the source."""
    because: str
    """Reason for the neutral mean."""
    error: float
    """Error of a fit with the prior as it is."""
    neutral_error: float
    """Error of a fit with the neutral mean, all other priors as they are."""


def one_source() -> list[OneSource]:
    """Return every prior that depends on one source, with its effect on that source's errors."""
    return [
        *_lines(TRANSFORMERS, transformers.PARAMETERS, transformers.fitted().parameters, _error_of_runs),
        *_lines(
            COLLECTIVES, collectives.PARAMETERS, fitted_to_collectives().parameters, _error_of_collectives
        ),
    ]


def _lines(
    kind: str,
    priors: Mapping[str, transformers.Prior | collectives.Prior],
    learned: Mapping[str, float],
    error: Callable[..., float],
) -> list[OneSource]:
    """Return the priors of one kind that depend on one source.

    Parameters
    ----------
    kind : of measured rows
    priors : by number
    learned : fitted values by number
    error : from source, name of a number and its neutral mean to the error of the source's rows
    """
    result = []
    for name, mean in neutral_means(kind).items():
        origin = origins(kind)[name]
        ((source, share),) = origin.sources.items()
        numbers = (priors[name].mean, learned[name], mean, origin.because)
        result.append(
            OneSource(kind, name, source, share, *numbers, error(source), error(source, name, mean))
        )
    return result


@cache
def _error_of_runs(source: str, name: str = "", mean: float = 0.0) -> float:
    """Return the mean absolute error of a source's runs by a fit to the others, one prior mean replaced."""
    data = _runs()
    seen = data.sources != source
    drawn_to = transformers.scores_of({name: mean})
    scores = of_transformers.fit_near(_near().rows(seen), data.rows(seen), drawn_to)
    out = data.rows(~seen)
    return float(np.abs(np.expm1(of_transformers.log_times(scores, out.jobs) - out.logs)).mean())


@cache
def _error_of_collectives(source: str, name: str = "", mean: float = 0.0) -> float:
    """Return the mean absolute error of a source's collectives by such a fit, one prior mean replaced."""
    data = _measured()
    seen = data.sources != source
    parameters = of_collectives.fit(data.rows(seen), collectives.means({name: mean})[0])
    out = data.rows(~seen)
    return float(np.abs(np.expm1(of_collectives.log_times(parameters, out) - out.logs)).mean())


def section() -> str:
    """Return the report's section on numbers that depend on one source as Markdown."""
    return render("provenance.md.j2", priors=one_source(), facts=facts(), assumed=assumed_of_software())


def assumed_of_software() -> dict[str, tuple[str, ...]]:
    """Return the assumed facts about software, and the sources whose runs support each."""
    catalogue = Catalogue.built_in()
    every = (stated for id in catalogue.ids("software") for stated in catalogue.software(id).provenance)
    return {stated.note: stated.runs for stated in every if stated.runs}
