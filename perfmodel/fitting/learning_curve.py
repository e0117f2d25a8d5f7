"""How error and interval fall with runs of the same source: none, some drawn at random, the others judged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from perfmodel.accuracy.leave_out import Fold, JudgedRow, summarise
from perfmodel.accuracy.leave_out_file import LEARNING_CURVE
from perfmodel.accuracy.leave_out_transformers import KIND as TRANSFORMERS
from perfmodel.accuracy.leave_out_transformers import TransformerFolds, shipped_transformers, spread_of
from perfmodel.accuracy.transformer_anchor import anchor_weights, anchored_logs, anchors_of, pairs_of
from perfmodel.accuracy.transformer_compare import novelty_of
from perfmodel.accuracy.transformer_fit import covering, spreads
from perfmodel.arrays import Array, Names, Places
from perfmodel.calibration import beside
from perfmodel.fitting.leave_out import KIND as DATA_PARALLEL
from perfmodel.fitting.leave_out import LeaveOut, judged_by
from perfmodel.fitting.out_of_sample import OutOfSample, shipped
from perfmodel.fitting.own_runs import OwnRun, update
from perfmodel.step.profiled import NORMAL_80, NORMAL_95
from perfmodel.transformers import uncertainty
from perfmodel.transformers.anchor import weight
from perfmodel.transformers.parameters import Fitted

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

    A transformer is anchored on the nearest of those of its network; data-parallel training is predicted by
    a fit that all of them update.  Of collectives there is no curve: no prediction of one starts from others.

    Parameters
    ----------
    jobs : processes that fit runs of data-parallel training
    """
    answers = {TRANSFORMERS: _transformers(shipped_transformers()), DATA_PARALLEL: _training(shipped(jobs))}
    rows: dict[tuple[str, int], list[JudgedRow]] = defaultdict(list)
    for kind, of in answers.items():
        for count, judged in of:
            rows[kind, count] += judged
    summaries = [summarise(kind, str(count), of) for (kind, count), of in rows.items()]
    return LeaveOut(
        LEARNING_CURVE, {f"{kind}, {count} given": of for (kind, count), of in rows.items()}, summaries
    )


def _transformers(fits: TransformerFolds) -> Iterator[tuple[int, list[JudgedRow]]]:
    """Yield what is said of the judged runs of each draw, by how many are given."""
    sources = fits.data.sources
    logs, known = np.empty(len(sources)), {}
    for source, own in _anchoring(fits).items():
        fold = Fold(sources == source, sources != source)
        logs[fold.judged] = fits.logs(fold)
        known[source] = own
    misses = fits.data.logs - logs
    for draw in draws(sources):
        for count in GIVEN:
            yield count, _anchored(fits, draw, count, misses, known[draw.source])


def _anchored(
    fits: TransformerFolds, draw: Draw, count: int, misses: Array, known: Fitted
) -> list[JudgedRow]:
    """Return what is said of the judged runs of a draw, each from the nearest of the first that are given."""
    given = np.isin(np.arange(len(misses)), draw.given[:count])
    of_source = np.sort(np.concatenate([draw.given, draw.judged]))
    anchors = anchors_of([fits.runs[place] for place in of_source], given[of_source])
    result = []
    for place, anchor in zip(of_source.tolist(), anchors, strict=True):
        run, error, width = fits.runs[place], misses[place], spread_of(fits.runs[place], known)
        if anchor is not None:
            share = weight(anchor.kind, anchor.apart, known.anchor_weights)
            error = error - share * misses[of_source[anchor.row]]
            width = uncertainty.spread_of(novelty_of(run, known), share, run.kind, known)
        result.append(JudgedRow(run.run_id, run.source, float(error), NORMAL_80 * width, NORMAL_95 * width))
    judged = np.isin(of_source, draw.judged).tolist()
    return [row for row, is_judged in zip(result, judged, strict=True) if is_judged]


def _anchoring(fits: TransformerFolds) -> dict[str, Fitted]:
    """Return what is known of widths and anchors without each source."""
    data, anchors = fits.data, anchors_of(fits.runs)
    misses = data.logs - fits.by_source
    pairs = pairs_of(fits.runs, misses)
    held = np.array([anchor is not None for anchor in anchors])
    result = {}
    for source in np.unique(data.sources).tolist():
        weights = anchor_weights(pairs, source)
        logs = anchored_logs(anchors, fits.by_source, misses, weights)
        seen = held & (data.sources != source)
        near = data.rows(seen)
        every = covering(np.abs(logs - data.logs)[seen], near.sources)
        known = fits.widths(data.sources != source)
        anchored = dict.fromkeys(known.spreads, every) | spreads(near, logs[seen])
        result[source] = known._replace(anchor_weights=weights, anchored_spreads=anchored)
    return result


def _training(learned: OutOfSample) -> Iterator[tuple[int, list[JudgedRow]]]:
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
                known = beside(constants, update(own[:count], constants, components, freedom, "").own)
            answers = zip(judged, *(each.tolist() for each in judged_by(judged, known)), strict=True)
            yield count, [JudgedRow(row.run.run_id, draw.source, *numbers) for row, *numbers in answers]
