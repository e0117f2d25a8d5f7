"""What linear scaling is counted from: the job on one accelerator, or on one replica."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from perfmodel.core.errors import InputError
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction.intervals.ratio import is_measured, ratio_between
from perfmodel.model.prediction.result import Prediction


def size_alone(prediction: Prediction) -> int:
    """Return the accelerators of one replica of a job, 1 without a layout."""
    if prediction.layout is None:
        return 1
    return int(prediction.scenario["world_size"]) // int(prediction.layout["data_parallel"])


def job_alone(scenario: Scenario, prediction: Prediction) -> Scenario:
    """Return a predicted job on one accelerator, or on one replica, which may be impossible."""
    changed: dict[str, Any] = {"world_size": size_alone(prediction)}
    if prediction.scenario["servers"]:
        changed |= {"strategy": "all-reduce", "servers": None, "server_shards": None, "server_node": None}
    if prediction.scaling == "strong" and prediction.layout is not None:
        changed["accumulation_steps"] = None
    return scenario.model_copy(update=changed)


def predicted_alone(
    scenario: Scenario,
    prediction: Prediction,
    predict_each: Callable[[Sequence[Scenario]], Sequence[Prediction]],
) -> Prediction | None:
    """Return the prediction of ``job_alone``; None where that is impossible."""
    try:
        (alone,) = predict_each([job_alone(scenario, prediction)])
    except InputError:
        return None
    return alone


def efficiency_range(prediction: Prediction, alone: Prediction | None) -> tuple[float, float] | None:
    """Return the ends of the 80 % interval of the scaling efficiency, the lower first, or None.

    It is as uncertain as the speed over that of one accelerator; where own runs measured that one, linear
    scaling is known, and the efficiency is as uncertain as the throughput.

    Parameters
    ----------
    prediction : of the job
    alone : of ``job_alone``; None where that is impossible
    """
    if alone is None or prediction.interval is None:
        return None
    efficiency, interval = prediction.scaling_efficiency, prediction.interval
    if is_measured(alone) and math.isclose(alone.iteration_time, prediction.baseline_time):
        if prediction.scenario["world_size"] == alone.scenario["world_size"]:
            return efficiency, efficiency
        time = efficiency * prediction.iteration_time
        return time / interval.high_80, time / interval.low_80
    ratio = ratio_between(prediction, alone, "one alone")
    if ratio.low_80 is None or ratio.high_80 is None:
        return None
    each = efficiency / ratio.value
    return each * ratio.low_80, each * ratio.high_80
