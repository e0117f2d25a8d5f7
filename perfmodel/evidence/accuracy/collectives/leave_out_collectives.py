"""Leave-out tests of collectives: categories of measured rows, and the fits that predict left-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from perfmodel.evidence.accuracy.collectives.collective_fit import Judged as LeftOut
from perfmodel.evidence.accuracy.collectives.collective_fit import (
    data_of,
    fit,
    judged,
    learned_from,
    log_times,
    spreads,
)
from perfmodel.evidence.accuracy.collectives.collective_rows import Measurement, shipped_measurements
from perfmodel.evidence.accuracy.leave_out import Evidence, Facts, Fold, Judged
from perfmodel.model.collectives.parameters import means
from perfmodel.model.fitted.calibration import NORMAL_80, NORMAL_95
from perfmodel.model.fitted.learned import neutral_means
from perfmodel.model.fitted.ledger_scales import COLLECTIVES
from perfmodel.model.prediction.collectives.collective_spread import spread_of, transport_of

KIND = "collectives"


class CollectiveFolds:
    """Fits to a part of the measured collectives, which predict the others."""

    def __init__(self, measured: Sequence[Measurement]) -> None:
        """Prepare the data of measurements, each of which must have a point."""
        self.measured = measured
        self._points = [each.point for each in measured if each.point is not None]
        self._data = data_of(measured)
        self._left_out = judged(self._data)

    def judge(self, fold: Fold) -> Judged:
        """Return errors and interval widths of the judged rows of a fold, by a fit to its seen rows.

        Unlike in a prediction, an interval may here reach below the shortest time that the links allow.
        """
        seen, out = self._data.rows(fold.seen), self._data.rows(fold.judged)
        known = spreads(seen, LeftOut(*(logs[fold.seen] for logs in self._left_out)))
        transports = set(seen.transports.tolist())
        points = [self._points[place] for place in np.flatnonzero(fold.judged).tolist()]
        width = np.array([spread_of(point, transport_of(point) in transports, known) for point in points])
        neutral = neutral_means(COLLECTIVES, set(seen.sources.tolist()))
        parameters = fit(seen, means(neutral)[0])
        return Judged(out.logs - log_times(parameters, out), NORMAL_80 * width, NORMAL_95 * width)


def evidence_of(fits: CollectiveFolds) -> Evidence:
    """Return the measured rows with their categories, and the fits that judge them; networks are blank."""
    facts = [
        Facts(
            each.run_id,
            each.source,
            "",
            point.accelerator.architecture if point.accelerator else "",
            (point.accelerator and point.accelerator.collective_library) or "",
            transport_of(point),
            point.year,
            float(point.group_size),
        )
        for each in fits.measured
        if (point := each.point) is not None
    ]
    return Evidence(KIND, facts, fits.judge)


@cache
def shipped_collectives() -> CollectiveFolds:
    """Return the folds over the shipped collectives that fits learn from; computed once."""
    return CollectiveFolds(learned_from(shipped_measurements()))
