"""Error against wall clock: what each variant's pace and staleness come to, in the bound of Dutta et al."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from perfmodel.equations.convergence import error_after, error_floor, staleness_discount, updates_in
from perfmodel.equations.stragglers import StragglerPrediction

SMOOTHNESS = 1.0
STRONG_CONVEXITY = 0.5
GRADIENT_VARIANCE = 10.0
LOCAL_BATCH_SIZE = 32
INITIAL_ERROR = 2.0
STALENESS_BOUND = 0.2
"""An example objective; a real one's constants are not known, so compare the curves, do not read them off."""
POINTS = 12


def error_curves(found: Sequence[StragglerPrediction], learning_rate: float) -> dict[str, Any]:
    """Return the error bound of each variant over a common span of time.

    Returns
    -------
    times [s], for each variant its error at those times, and a note on what was assumed
    """
    slowest = max(row.time_per_gradient for row in found)
    times = np.geomspace(1, 10_000, POINTS) * slowest
    curves = []
    for row in found:
        stale = row.mean_staleness > 0
        discount = staleness_discount(STALENESS_BOUND, row.fresh_fraction or 0.0) if stale else 1.0
        floor = error_floor(
            learning_rate,
            SMOOTHNESS,
            GRADIENT_VARIANCE,
            STRONG_CONVEXITY,
            discount,
            row.gradients_per_update,
            LOCAL_BATCH_SIZE,
        )
        updates = updates_in(times, row.update_time)
        error = error_after(INITIAL_ERROR, floor, learning_rate, STRONG_CONVEXITY, discount, updates)
        curves.append(
            {"variant": row.variant, "floor": float(floor), "error": [float(e) for e in np.asarray(error)]}
        )
    note = (
        f"bound for an example objective: L = {SMOOTHNESS:g}, c = {STRONG_CONVEXITY:g}, "
        f"variance {GRADIENT_VARIANCE:g} a sample, {LOCAL_BATCH_SIZE} samples a gradient, "
        f"error {INITIAL_ERROR:g} at 0; "
        f"stale gradients within {STALENESS_BOUND:g} of the fresh ones"
    )
    return {"times": times.tolist(), "variants": curves, "note": note}
