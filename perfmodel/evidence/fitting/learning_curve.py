"""How error and interval fall with runs of the same source: none, some drawn at random, the others judged."""

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
from perfmodel.evidence.fitting.leave_out import LeaveOut, judged_by
from perfmodel.evidence.fitting.out_of_sample import OutOfSample, shipped
from perfmodel.evidence.fitting.own_runs import OwnRun, update
from perfmodel.model.fitted.calibration import NORMAL_80, NORMAL_95, with_own_effects
from perfmodel.model.transformers.levels import learned

GIVEN = (0, 1, 3, 6)
"""Runs of the source that are given."""
DRAWS = 3
"""Of the runs that are given, of each source."""
SEED = 20261126
LEAST_COMPONENT = 0.01
"""Of an error, over the deviation of its interval: without one source another may show nothing of a kind."""


class Draw(NamedTuple):
    """Runs of one source, by their place among all."""

    source: str
    given: Places
    """In the order in which they are given, shape (6,)."""
    judged: Places
    """The others, which are the same however many are given."""


def draws(sources: Names) -> Iterator[Draw]:
    """Yield the draws of every source that has more runs than are given."""
    random = np.random.default_rng(SEED)
    for source in np.unique(sources).tolist():
        places = np.flatnonzero(sources == source)
        if len(places) > GIVEN[-1]:
            for _ in range(DRAWS):
                drawn = random.permutation(places)
                yield Draw(source, drawn[: GIVEN[-1]], np.sort(drawn[GIVEN[-1] :]))


def learning_curve(jobs: int = 1) -> LeaveOut:
    """Return error and width by kind and number of runs given, from specs where there are none.

    Each is predicted with all that are given, data-parallel training by a fit that they update.  Of
    collectives there is no curve: no prediction of one starts from others.

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
    """Yield what is said of the judged runs of each draw, by how many are given.

    Of the ledger's sources, too, whose errors no fit has seen.
    """
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
    """Yield what is said of the judged runs of each draw, by how many update a fit to the other sources."""
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
            answers = zip(judged, *(each.tolist() for each in judged_by(judged, known)), strict=True)
            rows_of = [JudgedRow(row.run.run_id, draw.source, *numbers) for row, *numbers in answers]
            yield DATA_PARALLEL, count, rows_of
