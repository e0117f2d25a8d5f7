"""Learn which parts of transformer errors jobs share by source, by network and by similarity.

The errors are those of development rows, each source predicted by a fit to the others, and of entries of the
ledger.  The standard deviations of the parts maximise the likelihood of the errors, in which a source with n
rows weighs as sqrt(n) rows.  Those among jobs of one source are then scaled so that 80 % intervals hold 80 %
of the rows when a few runs of a source are given, every source alike.
``python -m perfmodel.evidence.accuracy.ledger.levels`` writes them, and the scales of the ledger, into
``evidence.json``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from perfmodel.core.arrays import Array, Places
from perfmodel.core.files.reading import read_table
from perfmodel.core.files.resources import folder
from perfmodel.core.files.writing import write_whole
from perfmodel.core.least_squares import solved
from perfmodel.evidence.accuracy.by_source import COVERED, quantile
from perfmodel.evidence.accuracy.ledger.anchoring import Source, source_of
from perfmodel.evidence.accuracy.ledger.held_out import learned_part
from perfmodel.evidence.accuracy.ledger.ledger import NAME, ledger, left_out, scales
from perfmodel.evidence.accuracy.report.facts import KINDS, facts
from perfmodel.evidence.accuracy.transformers.leave_out_transformers import (
    TransformerFolds,
    shipped_transformers,
)
from perfmodel.evidence.accuracy.transformers.transformer_novelty import novelty_of
from perfmodel.evidence.accuracy.transformers.transformer_rows import read_transformer_runs
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import NORMAL_80
from perfmodel.model.fitted.ledger_scales import RESULT, TRANSFORMERS
from perfmodel.model.transformers.levels import DISTANCES, Levels, conditioned
from perfmodel.model.transformers.uncertainty import Novelty

DEVIATIONS = ("source", "network", "row", "rest")
OF_LEDGER = "source of the ledger"
"""Standard deviation shared by rows of one source of the ledger, whose errors are larger; it is fitted but
not kept, because the width of an interval includes it."""
PRIOR_MEANS = {"source": 0.1, OF_LEDGER: 0.2, "network": 0.1, "row": 0.1, "rest": 0.03}
"""Prior means of the standard deviations (assumed)."""
PRIOR_SPREAD, PRIOR_SPREAD_OF_FALLS = 1.0, 1.5
"""Prior standard deviations of the logarithms of the deviations, and of those of the falls."""
FALL = 0.5
"""Prior mean of a fall: the rate at which similarity decreases with a distance (assumed)."""
MOST = 60
"""Largest number of rows of a source that the fit uses; larger sources are sampled at random."""
SEED = 20261126
STEPS = (0.5, 0.2, 0.07)
"""Steps of the pattern search in logarithms; each is tried up and down on every number until none helps."""
GIVEN = (1, 3, 6)
"""Numbers of runs of a source that are given when intervals are scaled to hold 80 %."""
DRAWS = 10
"""Random choices of the given runs, for each number of them."""


def _spread(new: Novelty, factors: dict[str, tuple[float, int]]) -> float:
    """Return the standard deviation of an error, with the scale of ``factors`` instead of the shipped one."""
    return float(new.spread / new.scale.factor * factors[new.job][0])


def sources(fits: TransformerFolds | None = None, logs: Array | None = None) -> list[Source]:
    """Return the errors of all sources: those of development rows, then the named ones of the ledger.

    Parameters
    ----------
    fits : fits to development rows; by default the shipped rows
    logs : ln(predicted time [s]) of those rows; by default each source by a fit to the other sources
    """
    fits = fits or shipped_transformers()
    misses = fits.data.logs - (fits.by_source if logs is None else logs)
    factors = scales(ledger())[TRANSFORMERS]
    spreads = np.array([_spread(novelty_of(run).plain, factors) for run in fits.runs])
    result = []
    names = fits.data.sources[: len(fits.runs)]
    for name in np.unique(names).tolist():
        of = np.flatnonzero(names == name).tolist()
        result.append(source_of(name, False, [fits.runs[n] for n in of], misses[of], spreads[of]))
    path, _ = learned_part("transformer_runs.csv")
    rows = {run.run_id: run for run in read_transformer_runs(path, Catalogue.built_in()) if run.case}
    judged = [
        each
        for each in left_out(ledger())
        if each.entry.scaled_as and each.entry.scaled_as[0] == TRANSFORMERS and each.entry.id in rows
    ]
    for name in dict.fromkeys(each.source for each in judged):
        of_source = [each for each in judged if each.source == name]
        errors = np.array([each.entry.error for each in of_source])
        widths = np.array([each.half_width / NORMAL_80 for each in of_source])
        runs = [rows[each.entry.id] for each in of_source]
        result.append(source_of(name, True, runs, errors, widths))
    return result


def _sampled(each: Source) -> Source:
    """Return a source with at most ``MOST`` of its rows, drawn at random with a fixed seed."""
    if len(each.misses) <= MOST:
        return each
    some = np.sort(np.random.default_rng(SEED).permutation(len(each.misses))[:MOST])
    within = np.ix_(some, some)
    return each._replace(
        misses=each.misses[some],
        spreads=each.spreads[some],
        apart={name: of[within] for name, of in each.apart.items()},
        is_same_network=each.is_same_network[within],
    )


def as_levels(logs: dict[str, float]) -> Levels:
    """Return fitted logarithms of standard deviations and falls as levels."""
    value = {name: float(np.exp(log)) for name, log in logs.items()}
    return Levels(
        **{name: value[name] for name in DEVIATIONS}, falls={name: value[name] for name in DISTANCES}
    )


def _cost(logs: dict[str, float], every: Sequence[Source]) -> float:
    """Return the negative logarithm of the posterior probability of the deviations, up to a constant."""
    levels, of_ledger = as_levels(logs), float(np.exp(logs[OF_LEDGER]))
    total = sum((logs[name] - np.log(mean)) ** 2 for name, mean in PRIOR_MEANS.items()) / PRIOR_SPREAD**2
    total += sum((logs[name] - np.log(FALL)) ** 2 for name in DISTANCES) / PRIOR_SPREAD_OF_FALLS**2
    total /= 2
    for each in every:
        triangle = np.linalg.cholesky(each.covariance(levels, of_ledger if each.is_new else levels.source))
        scores = solved(triangle, each.misses)
        whole = np.log(np.diag(triangle)).sum() + scores @ scores / 2
        total += whole / np.sqrt(len(each.misses))
    return float(total)


def fit(every: Sequence[Source], start: dict[str, float] | None = None) -> dict[str, float]:
    """Return the logarithms of the most probable deviations and falls, by pattern search.

    Parameters
    ----------
    every : errors of all sources
    start : logarithms to start from; by default the means of the priors
    """
    samples = [_sampled(each) for each in every]
    prior = {name: float(np.log(value)) for name, value in PRIOR_MEANS.items()}
    logs = start or prior | dict.fromkeys(DISTANCES, float(np.log(FALL)))
    best = _cost(logs, samples)
    for step in STEPS if start is None else STEPS[1:]:
        moved = True
        while moved:
            moved = False
            for name, change in [(name, change) for name in logs for change in (step, -step)]:
                tried = logs | {name: logs[name] + change}
                if (cost := _cost(tried, samples)) < best - 1e-3:
                    logs, best, moved = tried, cost, True
    return logs


def covering(every: Sequence[Source], levels: Levels) -> Levels:
    """Return levels scaled so that 80 % intervals hold 80 % when a few runs are given, every source alike."""
    ratios: dict[str, list[float]] = {}
    for each in map(_sampled, every):
        random = np.random.default_rng(SEED)
        for count in GIVEN:
            for _ in range(DRAWS):
                order = random.permutation(len(each.misses))
                if len(order) > count:
                    error, spread = posterior(each, order[:count], order[count:], levels)
                    ratios.setdefault(f"{each.name}, {count}", []).extend(abs(error) / (NORMAL_80 * spread))
    factor = quantile(ratios, COVERED)
    return levels._replace(**{name: factor * getattr(levels, name) for name in ("network", "row", "rest")})


def posterior(each: Source, given: Places, judged: Places, levels: Levels) -> tuple[Array, Array]:
    """Return errors of judged rows updated by given rows, and their predicted standard deviations.

    Parameters
    ----------
    each : errors of one source
    given : indices of the rows whose errors are known
    judged : indices of the rows to predict
    levels : standard deviations of the parts of an error
    """
    matrix = each.covariance(levels, levels.of_source(each.spreads))
    variances = np.diag(matrix)[judged]
    if not len(given):
        return each.misses[judged], np.sqrt(variances)
    own, among = matrix[np.ix_(judged, given)], matrix[np.ix_(given, given)]
    shift, left = conditioned(variances, own, among, each.misses[given])
    return each.misses[judged] - shift, np.sqrt(left)


def _table(levels: Levels) -> dict[str, Any]:
    """Return levels as they are written to JSON, to four figures."""
    numbers = {name: float(f"{getattr(levels, name):.4g}") for name in DEVIATIONS}
    return numbers | {"falls": {name: float(f"{of:.4g}") for name, of in levels.falls.items()}}


def _learned(every: Sequence[Source]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield names and levels: "" and those of all sources, then each source and those learned without it."""
    logs = fit(every)
    yield "", _table(covering(every, as_levels(logs)))
    for name in dict.fromkeys(each.name for each in every):
        others = [each for each in every if each.name != name]
        yield name, _table(covering(others, as_levels(fit(others, logs))))


def refit() -> None:
    """Learn the ledger's scales, the worth of stated options, and the levels; write ``evidence.json``.

    Raises
    ------
    InputError : the file cannot be written; it is then unchanged
    """
    by_source = dict(_learned(sources()))
    table = {
        "made_by": "python -m perfmodel.evidence.accuracy.ledger.levels",
        "sha256": hashlib.sha256(read_table(folder("validation") / NAME).getvalue().encode()).hexdigest(),
        "scales": {
            kind: {
                job: {"factor": float(f"{factor:.4g}"), "sources": sources}
                for job, (factor, sources) in of.items()
            }
            for kind, of in scales(ledger()).items()
        },
        "facts": {kind: facts(kind) for kind in KINDS},
        "levels": {TRANSFORMERS: {"all": by_source.pop(""), "without": by_source}},
    }
    write_whole(RESULT, json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    refit()
