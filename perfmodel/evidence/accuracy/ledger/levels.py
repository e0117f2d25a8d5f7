"""Learn what errors of transformers are shared by source, network and likeness; judge what runs then say.

Errors are those of development rows, each source predicted by a fit to the others, and of the ledger.  The
numbers are those under which they are likeliest, a source counting for the root of its rows; then deviations
among jobs of one source are those by which 80 % intervals hold 80 % with a few runs given, every source
alike.  ``python -m perfmodel.evidence.accuracy.ledger.levels`` writes them, and the scales of the ledger,
into ``evidence.json``.
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
"""Deviation of its sources, which are missed by more; an interval's own width says it, so it is not kept."""
BELIEVED = {"source": 0.1, OF_LEDGER: 0.2, "network": 0.1, "row": 0.1, "rest": 0.03}
"""Deviations before any row was looked at (assumed)."""
DOUBT, DOUBT_OF_FALLS = 1.0, 1.5
"""Standard deviation of their logarithms, and of those of falls, which are believed to be ``FALL``."""
FALL = 0.5
MOST = 60
"""Rows of a source, drawn at random, that are learned from."""
SEED = 20261126
STEPS = (0.5, 0.2, 0.07)
"""Of logarithms, tried up and down one number after the other until none helps."""
GIVEN = (1, 3, 6)
"""Runs that are given where intervals are made to hold 80 %."""
DRAWS = 10


def _spread(new: Novelty, factors: dict[str, tuple[float, int]]) -> float:
    """By the scales of the ledger as they are worked out now."""
    return float(new.spread / new.scale.factor * factors[new.job][0])


def sources(fits: TransformerFolds | None = None, logs: Array | None = None) -> list[Source]:
    """Return all sources: of development rows, then the named ones of the ledger.

    Parameters
    ----------
    fits : to development rows; by default those that come with the package
    logs : predicted logarithms of them [s]; by default those of fits to the other sources
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


def _drawn(each: Source) -> Source:
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
    """Return the logarithms of a fit as levels."""
    value = {name: float(np.exp(log)) for name, log in logs.items()}
    return Levels(
        **{name: value[name] for name in DEVIATIONS}, falls={name: value[name] for name in DISTANCES}
    )


def _cost(logs: dict[str, float], every: Sequence[Source]) -> float:
    """Return less the logarithm of the probability, but for a constant."""
    levels, of_ledger = as_levels(logs), float(np.exp(logs[OF_LEDGER]))
    total = sum((logs[name] - np.log(mean)) ** 2 for name, mean in BELIEVED.items()) / DOUBT**2
    total += sum((logs[name] - np.log(FALL)) ** 2 for name in DISTANCES) / DOUBT_OF_FALLS**2
    total /= 2
    for each in every:
        triangle = np.linalg.cholesky(each.covariance(levels, of_ledger if each.is_new else levels.source))
        scores = solved(triangle, each.misses)
        whole = np.log(np.diag(triangle)).sum() + scores @ scores / 2
        total += whole / np.sqrt(len(each.misses))
    return float(total)


def fit(every: Sequence[Source], start: dict[str, float] | None = None) -> dict[str, float]:
    """Return the logarithms of the likeliest deviations and falls, by pattern search from ``start``."""
    drawn = [_drawn(each) for each in every]
    believed = {name: float(np.log(value)) for name, value in BELIEVED.items()}
    logs = start or believed | dict.fromkeys(DISTANCES, float(np.log(FALL)))
    best = _cost(logs, drawn)
    for step in STEPS if start is None else STEPS[1:]:
        moved = True
        while moved:
            moved = False
            for name, way in [(name, way) for name in logs for way in (step, -step)]:
                tried = logs | {name: logs[name] + way}
                if (cost := _cost(tried, drawn)) < best - 1e-3:
                    logs, best, moved = tried, cost, True
    return logs


def covering(every: Sequence[Source], levels: Levels) -> Levels:
    """Return levels whose 80 % intervals hold 80 % with a few runs given, every source alike."""
    ratios: dict[str, list[float]] = {}
    for each in map(_drawn, every):
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
    """Return errors of judged rows with others given, and the standard deviations that are stated.

    Parameters
    ----------
    each : the source
    given, judged : places of its rows
    levels : learned
    """
    matrix = each.covariance(levels, levels.of_source(each.spreads))
    variances = np.diag(matrix)[judged]
    if not len(given):
        return each.misses[judged], np.sqrt(variances)
    own, among = matrix[np.ix_(judged, given)], matrix[np.ix_(given, given)]
    shift, left = conditioned(variances, own, among, each.misses[given])
    return each.misses[judged] - shift, np.sqrt(left)


def _table(levels: Levels) -> dict[str, Any]:
    numbers = {name: float(f"{getattr(levels, name):.4g}") for name in DEVIATIONS}
    return numbers | {"falls": {name: float(f"{of:.4g}") for name, of in levels.falls.items()}}


def _learned(every: Sequence[Source]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the levels of all sources, then those without each."""
    logs = fit(every)
    yield "", _table(covering(every, as_levels(logs)))
    for name in dict.fromkeys(each.name for each in every):
        others = [each for each in every if each.name != name]
        yield name, _table(covering(others, as_levels(fit(others, logs))))


def refit() -> None:
    """Learn the ledger's scales, what stated options are worth, and the levels; write them, whole or not."""
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
