"""Learn what errors of transformers are shared by source, network and likeness; judge what runs then say.

Errors are those of development rows, each source predicted by a fit to the others, and of the ledger.  The
numbers are those under which they are likeliest, a source counting for the root of its rows; then deviations
among jobs of one source are those by which 80 % intervals hold 80 % with a few runs given, every source
alike.  ``python -m perfmodel.accuracy.levels`` writes them, and the scales of the ledger, into
``evidence.json``.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from perfmodel.accuracy.by_source import COVERED, quantile
from perfmodel.accuracy.facts import KINDS, facts
from perfmodel.accuracy.held_out import learned_part
from perfmodel.accuracy.leave_out_transformers import TransformerFolds, shipped_transformers
from perfmodel.accuracy.ledger import NAME, ledger, left_out, scales
from perfmodel.accuracy.runs import TRUSTED
from perfmodel.accuracy.transformer_compare import novelty_of
from perfmodel.accuracy.transformer_rows import TransformerRun, read_transformer_runs
from perfmodel.arrays import Array, Flags, Places
from perfmodel.calibration import NORMAL_80
from perfmodel.evidence import RESULT, TRANSFORMERS
from perfmodel.least_squares import solved
from perfmodel.reading import read_table
from perfmodel.resources import folder
from perfmodel.specs.store import Catalogue
from perfmodel.transformers.job import rows as rows_of
from perfmodel.transformers.job import stacked
from perfmodel.transformers.levels import DISTANCES, Levels, Traits, apart, conditioned
from perfmodel.transformers.uncertainty import Novelty
from perfmodel.writing import write_whole

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


class Source(NamedTuple):
    """Errors of one source's rows."""

    name: str
    is_new: bool
    """Whether they are the ledger's."""
    ids: tuple[str, ...]
    misses: Array
    """ln(measured / predicted), shape (rows,)."""
    spreads: Array
    """Standard deviations that intervals stand for without any run given, shape (rows,)."""
    apart: dict[str, Array]
    """By each of ``DISTANCES``, shape (rows, rows)."""
    is_same_network: Array
    """Shape (rows, rows)."""

    def covariance(self, levels: Levels, of_source: Any) -> Array:
        """Return that of the errors, shape (rows, rows), by the deviation of the source's error."""
        source = of_source * np.broadcast_to(of_source, len(self.misses))[:, None]
        rest = levels.rest**2 * np.eye(len(self.misses))
        return np.asarray(levels.shared(source, self.is_same_network, self.apart) + rest)


def source_of(
    name: str, is_new: bool, runs: Sequence[TransformerRun], misses: Array, spreads: Array
) -> Source:
    """Return runs of a source, each with a case, as arrays."""
    traits: Traits = stacked([traits_of(run) for run in runs])
    one: Traits = rows_of(traits, (slice(None), None))
    same = np.asarray(one.network == traits.network, float)
    ids = tuple(run.run_id for run in runs)
    return Source(name, is_new, ids, misses, spreads, apart(one, traits), same)


def traits_of(run: TransformerRun) -> Traits:
    """Return the traits of a published run, which is never known to be the same as another."""
    case = run.case
    assert case is not None
    software = f"{run.framework} {run.year}"
    return Traits(run.workload, run.accelerator, run.precision, software, case.layout, case.sequence_length)


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


class Anchored(NamedTuple):
    """What is said of runs, each from the most alike other of its network and source; shape (runs,)."""

    shifts: Array
    """Of logarithms of predicted times."""
    spreads: Array
    is_anchored: Flags


def anchored(
    runs: Sequence[TransformerRun], misses: Array, spreads: Array, levels: dict[str, Levels]
) -> Anchored:
    """Predict each run from the most alike other one of its network and source.

    Parameters
    ----------
    runs : measured, each with a case
    misses, spreads : without any run given, shape (runs,)
    levels : by source
    """
    result = Anchored(np.zeros(len(runs)), np.array(spreads), np.zeros(len(runs), dtype=bool))
    unsure = np.array([run.trust not in TRUSTED for run in runs])
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for place, run in enumerate(runs):
        groups[run.source, run.workload].append(place)
    for (name, _), of in groups.items():
        if len(of) == 1:
            continue
        known = levels[name]
        each = source_of(name, False, [runs[n] for n in of], misses[of], result.spreads[of])
        matrix = each.covariance(known, known.of_source(each.spreads))
        doubted = unsure[of] & ~unsure[of][:, None]  # anchors nothing better
        alike = np.where(doubted, -np.inf, matrix)
        np.fill_diagonal(alike, -np.inf)
        nearest = alike.argmax(axis=1)
        able = np.isfinite(alike.max(axis=1))
        variances, own = np.diag(matrix), matrix[np.arange(len(of)), nearest]
        among = variances[nearest][:, None, None]
        shift, left = conditioned(variances, own[:, None], among, each.misses[nearest][:, None])
        result.shifts[of] = np.where(able, shift, 0.0)
        result.spreads[of] = np.where(able, np.sqrt(left), each.spreads)
        result.is_anchored[of] = able
    return result


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
        "made_by": "python -m perfmodel.accuracy.levels",
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
