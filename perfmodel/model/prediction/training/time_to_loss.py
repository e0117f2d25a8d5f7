"""Error against wall-clock time of every update strategy on the same hardware, and the best one over time.

The time between updates is predicted; the gain of an update is the bound of Dutta et al. for an example
objective with constants unknown for real networks: it compares strategies, and its losses have no other
meaning.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from perfmodel.core.errors import InputError, refusal
from perfmodel.core.updates import KINDS, OPTIONS, network_of
from perfmodel.equations.convergence import updates_to_error
from perfmodel.equations.sgd_variants import AVERAGING, StragglerPrediction
from perfmodel.equations.wall_clock import ErrorBound, Objective, error_bound
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.prediction.assemble import predict
from perfmodel.model.prediction.result import Prediction
from perfmodel.model.prediction.training.sgd_error_bound import (
    GRADIENT_VARIANCE,
    INITIAL_ERROR,
    SMOOTHNESS,
    STALENESS_BOUND,
    STRONG_CONVEXITY,
)

LEARNING_RATE = 0.05
LOSSES = 400
"""Number of losses, from the initial to the requested one, at which strategies are compared."""
POINTS = 12


def time_to_loss(
    prediction: Prediction,
    loss: float,
    catalogue: Catalogue | None = None,
    constants: Calibration | None = None,
) -> dict[str, Any]:
    """Return the time to a loss [s] of a prediction and of every other strategy on its hardware.

    Parameters
    ----------
    prediction : of one iteration, by servers, by all-reduce or by any strategy of ``core.updates``
    loss : above 0 and below 2, the error that the example objective starts from
    catalogue, constants : of the prediction

    Raises
    ------
    InputError : a loss out of its range, or a transformer with a layout
    """
    if not 0 < loss < INITIAL_ERROR:
        raise refusal("bound.loss", loss=loss, initial_error=INITIAL_ERROR)
    if prediction.layout is not None:
        raise refusal("bound.layout", workload=prediction.scenario["workload"])
    scenario: dict[str, Any] = dict(prediction.scenario)
    own = scenario["strategy"]
    in_step = (
        own if own not in KINDS else "all-reduce" if network_of(own) == "all-reduce" else "parameter-server"
    )
    rows: list[dict[str, Any]] = []
    bounds: dict[str, ErrorBound] = {}
    for strategy in (in_step, *KINDS):
        try:
            answer = prediction if strategy == own else _with(scenario, strategy, catalogue, constants)
        except InputError as error:
            rows.append({"strategy": strategy, "time": None, "note": error.note()})
            continue
        row, bound = _row(strategy, answer, loss)
        rows.append(row)
        if bound is not None:
            bounds[strategy] = bound
    mine = next(row for row in rows if row["strategy"] == own)
    return {
        "loss": loss,
        "strategy": own,
        "time": mine["time"],
        "updates": mine.get("updates"),
        "learning_rate": LEARNING_RATE,
        "rows": rows,
        "ahead": _ahead(bounds, loss),
        "curve": _curve(bounds, loss),
        "note": (
            f"bound of Dutta et al. 2018 for an example: L = {SMOOTHNESS:g}, c = {STRONG_CONVEXITY:g}, "
            f"variance {GRADIENT_VARIANCE:g} a sample, error {INITIAL_ERROR:g} at 0, learning rate "
            f"{LEARNING_RATE:g}, stale gradients within {STALENESS_BOUND:g} of fresh ones; "
            "compare strategies by it, its losses are no network's"
        ),
    }


def _with(
    scenario: dict[str, Any], strategy: str, catalogue: Catalogue | None, constants: Calibration | None
) -> Prediction:
    """Return the prediction of another strategy, with the stated options that it takes."""
    served = network_of(strategy) == "parameter-server"
    dropped = {"strategy", "overlap", "connections", *OPTIONS}
    if not served:
        dropped |= {"servers", "server_shards", "server_node"}
    options = {name: value for name, value in scenario.items() if name not in dropped}
    takes = KINDS[strategy].option if strategy in KINDS else None
    if takes is not None:
        options[takes] = scenario[takes]
    return predict(options | {"strategy": strategy}, catalogue, constants)


def _row(strategy: str, answer: Prediction, loss: float) -> tuple[dict[str, Any], ErrorBound | None]:
    """Return the row of one strategy, and its error bound if it has one."""
    one = _as_variant(strategy, answer)
    row: dict[str, Any] = {
        "strategy": strategy,
        "updates_per_second": 1 / one.update_time,
        "gradients_per_update": one.gradients_per_update,
        "mean_staleness": one.mean_staleness,
        "fresh_fraction": one.fresh_fraction,
        "floor": None,
        "updates": None,
        "time": None,
        "note": None,
    }
    if one.variant in AVERAGING:
        return row | {"note": "no bound on the same error is known"}, None
    scenario = answer.scenario
    objective = Objective(
        LEARNING_RATE,
        SMOOTHNESS,
        STRONG_CONVEXITY,
        GRADIENT_VARIANCE,
        scenario["local_batch_size"] * scenario["accumulation_steps"],
        INITIAL_ERROR,
        staleness_bound=STALENESS_BOUND,
    )
    try:
        bound = error_bound(one, objective)
        row["floor"] = bound.floor
        row["updates"] = updates_to_error(loss, INITIAL_ERROR, bound.floor, 1 - bound.decay)
    except InputError as error:
        return row | {"note": error.note()}, None if row["floor"] is None else bound
    return row | {"time": row["updates"] * bound.update_time}, bound


def _as_variant(strategy: str, answer: Prediction) -> StragglerPrediction:
    """Return a prediction as input of the bound; synchronous iterations are updates of all gradients."""
    if answer.updates_per_second is None:
        time, n = answer.iteration_time, answer.scenario["world_size"]
        return StragglerPrediction("sync", time, time / n, n, 0.0, 1.0, "exact", time, time)
    time, n = 1 / answer.updates_per_second, int(answer.gradients_per_update or 1)
    stale = float(answer.mean_staleness or 0.0)
    return StragglerPrediction(
        strategy, time, time / n, n, stale, answer.fresh_fraction, "approximation", time, time
    )


def _ahead(bounds: dict[str, ErrorBound], loss: float) -> list[dict[str, Any]]:
    """Return the spans of losses that each strategy reaches first, from the initial to the requested loss."""
    result: list[dict[str, Any]] = []
    for level in np.geomspace(INITIAL_ERROR, loss, LOSSES + 1)[1:].tolist():
        times = {name: _time_to_level(bound, level) for name, bound in bounds.items()}
        first = min(times, key=times.__getitem__, default=None)
        if first is None or not math.isfinite(times[first]):
            break
        if not result or result[-1]["strategy"] != first:
            result.append({"strategy": first, "from_time": result[-1]["to_time"] if result else 0.0})
        result[-1] |= {"to_time": times[first], "to_loss": level}
    return result


def _time_to_level(bound: ErrorBound, level: float) -> float:
    """Return the time until a bound falls to a level [s]; infinite if it never does."""
    if level <= bound.floor:
        return math.inf
    return updates_to_error(level, INITIAL_ERROR, bound.floor, 1 - bound.decay) * bound.update_time


def _curve(bounds: dict[str, ErrorBound], loss: float) -> dict[str, Any]:
    """Return the error bounds over time, until the last strategy reaches the loss."""
    ends = [time for bound in bounds.values() if math.isfinite(time := _time_to_level(bound, loss))]
    if not ends:
        return {"times": [], "errors": {}}
    times = np.linspace(0, max(ends), POINTS)
    errors = {name: np.asarray(bound.at(times)).tolist() for name, bound in bounds.items()}
    return {"times": times.tolist(), "errors": errors}


def ahead_words(ahead: Sequence[dict[str, Any]], shown: Any) -> str:
    """Return a note which strategy is best over which time; ``shown`` formats a time."""
    if not ahead:
        return "none reaches it"
    spans = [
        f"{span['strategy']} to {span['to_loss']:.3g}, in {shown(span['to_time'], 's')}" for span in ahead
    ]
    return "ahead: " + "; then ".join(spans)
