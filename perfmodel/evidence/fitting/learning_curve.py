"""Learning curve: errors and interval widths against the number of runs of the same source that are given."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from perfmodel.core.arrays import Names, Places
from perfmodel.evidence.accuracy.by_source import JudgedRow, summarise
from perfmodel.evidence.accuracy.leave_out import Fold
from perfmodel.evidence.accuracy.ledger.levels import posterior, sources
from perfmodel.evidence.accuracy.report.leave_out_file import LEARNING_CURVE
from perfmodel.evidence.accuracy.transformers.leave_out_transformers import KIND as TRANSFORMERS
from perfmodel.evidence.accuracy.transformers.leave_out_transformers import (
    TransformerFolds,
    shipped_transformers,
)
from perfmodel.evidence.fitting.leave_out import KIND as DATA_PARALLEL
from perfmodel.evidence.fitting.leave_out import LeaveOut, judge_from_specs
from perfmodel.evidence.fitting.out_of_sample import OutOfSample, shipped
from perfmodel.evidence.fitting.own_runs import OwnRun, update
from perfmodel.model.fitted.calibration import NORMAL_80, NORMAL_95, with_own_effects
from perfmodel.model.transformers.levels import learned

GIVEN = (0, 1, 3, 6)
"""Numbers of runs of the source that are given."""
DRAWS = 3
"""Random choices of the given runs, for each source."""
SEED = 20261126
LEAST_COMPONENT = 0.01
"""Least standard deviation of a component of an error, over that of its interval: without one source, a
component may be 0."""


class Draw(NamedTuple):
    """A random split of the runs of one source, as indices among all runs."""

    source: str
    given: Places
    """Given runs, in their order, shape (6,)."""
    judged: Places
    """All other runs; the same for every number of given ones."""


def draws(sources: Names) -> Iterator[Draw]:
    """Yield the splits of every source that has more runs than are given, with a fixed seed."""
    random = np.random.default_rng(SEED)
    for source in np.unique(sources).tolist():
        places = np.flatnonzero(sources == source)
        if len(places) > GIVEN[-1]:
            for _ in range(DRAWS):
                drawn = random.permutation(places)
                yield Draw(source, drawn[: GIVEN[-1]], np.sort(drawn[GIVEN[-1] :]))


def learning_curve(jobs: int = 1) -> LeaveOut:
    """Return errors and interval widths by kind of rows and number of given runs.

    Data-parallel runs are predicted by a fit that the given runs update, transformers by
    ``levels.posterior``.  Collectives have no curve: a prediction of one does not use others.

    Parameters
    ----------
    jobs : processes that fit runs of data-parallel training
    """
    rows: dict[tuple[str, int], list[JudgedRow]] = defaultdict(list)
    for kind, count, judged in (*_transformers(shipped_transformers()), *_training(shipped(jobs))):
        rows[kind, count] += judged
    summaries = [summarise(kind, str(count), of) for (kind, count), of in rows.items()]
    return LeaveOut(
        LEARNING_CURVE, {f"{kind}, {count} given": of for (kind, count), of in rows.items()}, summaries
    )


def _transformers(fits: TransformerFolds) -> Iterator[tuple[str, int, list[JudgedRow]]]:
    """Yield kind, number of given runs, and the judged runs of each draw; sources of the ledger, too."""
    logs = np.empty(len(fits.data.logs))
    for source in np.unique(fits.data.sources).tolist():
        fold = Fold(fits.data.sources == source, fits.data.sources != source)
        logs[fold.judged] = fits.logs(fold)
    for each in sources(fits, logs):
        kind = f"{TRANSFORMERS}, ledger" if each.is_new else TRANSFORMERS
        for draw in draws(np.array([each.name] * len(each.misses))):
            for count in GIVEN:
                errors, spreads = posterior(each, draw.given[:count], draw.judged, learned(each.name))
                rows = zip(draw.judged.tolist(), errors.tolist(), spreads.tolist(), strict=True)
                yield (
                    kind,
                    count,
                    [
                        JudgedRow(each.ids[place], each.name, error, NORMAL_80 * spread, NORMAL_95 * spread)
                        for place, error, spread in rows
                    ],
                )


def _training(learned: OutOfSample) -> Iterator[tuple[str, int, list[JudgedRow]]]:
    """Yield kind, number of runs that update a fit to the other sources, and the judged runs of each draw."""
    rows = learned.measured
    for draw in draws(np.array([row.run.source for row in rows])):
        constants, components = learned.calibration(draw.source), learned.components(draw.source)
        freedom = components.pop("freedom")
        components = {name: max(value, LEAST_COMPONENT) for name, value in components.items()}
        judged = [rows[place] for place in draw.judged]
        own = [
            OwnRun(f"run {place}", rows[place].run.run_id, rows[place].setting, rows[place].time)
            for place in draw.given
        ]
        for count in GIVEN:
            known = constants
            if count:
                known = with_own_effects(
                    constants, update(own[:count], constants, components, freedom, "").own
                )
            answers = zip(judged, *(each.tolist() for each in judge_from_specs(judged, known)), strict=True)
            rows_of = [JudgedRow(row.run.run_id, draw.source, *numbers) for row, *numbers in answers]
            yield DATA_PARALLEL, count, rows_of
