"""The numbers of predictions, of one job or of many as arrays.

``predict`` adds texts to those of one job; sweeps, plans and layouts of a transformer use arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.prediction.card import with_card
from perfmodel.model.prediction.intervals.absurd import checked
from perfmodel.model.prediction.intervals.bound import least_times
from perfmodel.model.prediction.intervals.interval import Width, width_of
from perfmodel.model.prediction.memory import need_of
from perfmodel.model.prediction.result import NO_UPDATES, Interval, Memory, Prediction, Traffic
from perfmodel.model.prediction.training.start_up import (
    epoch_starts,
    start_up,
    start_up_interval,
    startup_time,
)
from perfmodel.model.prediction.understood import understood
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.evaluate import Step
from perfmodel.model.step.memory import Need
from perfmodel.model.step.parts import figures
from perfmodel.model.step.terms import added


class Evaluated(NamedTuple):
    """The evaluation of one job, or of many as arrays."""

    setting: Setting
    terms: Mapping[str, Any]
    iteration_time: Any
    figures: Mapping[str, Any]
    """Result of ``model.step.parts.figures``."""
    baseline_time: Any
    communication_time: Any
    """Total communication, hidden or not [s]; or a function that returns it."""
    ends: Mapping[str, Any]
    """Ends of the intervals [s]; empty without learned spreads."""
    need: Need
    """Memory need."""
    copies: Any
    """Number of ranks with the same parameters."""
    link_bandwidth: Any
    """Bandwidth of the slowest link between them, for the initial broadcast of parameters [B/s]."""


def numbers(job: Evaluated, constants: Calibration) -> dict[str, Any]:
    """Return every number of a prediction by name; some as functions that return the number."""
    return {
        "iteration_time": job.iteration_time,
        **job.terms,
        **job.figures,
        "baseline_time": job.baseline_time,
        "communication_time": job.communication_time,
        "memory_bytes": job.need.bytes,
        "memory_known": partial(job.need.known, ()),
        "memory_capacity": job.need.capacity,
        "fits": job.need.fits,
        "largest_local_batch_size": job.need.largest_local_batch_size,
        **job.ends,
        "startup_time": partial(startup_time, job.setting, constants, job.copies, job.link_bandwidth),
        "epoch_start_time": partial(epoch_starts, job.setting, constants),
    }


def prediction_of(
    job: Evaluated,
    constants: Calibration,
    *,
    interval: Interval | None,
    mode: str,
    memory: Memory,
    verdict: Callable[[], str],
    network_limit: Callable[[], str | None],
    placement: Callable[[], str],
    warnings: Callable[[], list[str]],
    traffic: Callable[[], list[Traffic]],
    **others: Any,
) -> Prediction:
    """Return the prediction of one job from its numbers and texts.

    Parameters
    ----------
    job, constants : the evaluated job
    interval, mode, memory, verdict, network_limit, placement, warnings, traffic, others : fields of
        ``Prediction``
    """
    setting, sent = job.setting, job.communication_time
    startup = partial(checked, start_up, setting, constants, job.copies, job.link_bandwidth)
    fields: dict[str, Any] = {
        "iteration_time": float(job.iteration_time),
        "terms": {name: float(time) for name, time in job.terms.items()},
        "interval": interval,
        "mode": mode,
        "model": "data-parallel" if setting.layout is None else "transformer",
        "sample": setting.workload.sample,
        "scaling": "weak" if setting.scaling == "weak" else "strong",
        "baseline_time": float(job.baseline_time),
        "time_without_own_runs": setting.time_without_own_runs,
        "communication_time": (lambda: float(sent())) if callable(sent) else float(sent),
        **job.figures,
        "memory": memory,
        "verdict": verdict,
        "network_limit": network_limit,
        "placement": placement,
        "defaults": list(setting.defaults),
        "warnings": warnings,
        "scenario": partial(understood, setting),
        "traffic": traffic,
        "layout": None if setting.layout is None else setting.layout.words,
        "hfu": None,
        "model_flops": None,
        "bubble_fraction": None,
        "startup_time": lambda: sum(startup().values()),
        "startup": startup,
        "startup_80": lambda: start_up_interval(startup()),
        "epoch_start_time": float(epoch_starts(setting, constants)),
        **NO_UPDATES,
    }
    return with_card(fields | others)


class Exchange(NamedTuple):
    """Properties of the network for bounds and intervals; numbers, or arrays of placements."""

    unseen_link: Any
    """Result of ``widening.unseen_link``."""
    least_rate: Any
    """Least time to sum one byte of gradients [s/B]."""
    bandwidth: Any
    """Bandwidth of the slowest link, for the initial broadcast of parameters [B/s]."""


def job_of_copies(
    setting: Setting, step: Step, baseline_time: Any, over: Exchange, constants: Calibration
) -> tuple[Evaluated, Width | None]:
    """Return the evaluation of a data-parallel job, and its interval; None without learned spreads.

    Parameters
    ----------
    setting, step : of the job
    baseline_time : of one accelerator [s]
    over, constants : properties of the network, and learned constants
    """
    width = width_of(setting, step, over.unseen_link, least_times(setting, over.least_rate)[1], constants)
    job = Evaluated(
        setting,
        step.terms,
        step.iteration_time,
        figures(setting, step.iteration_time, baseline_time, added(step.terms)),
        baseline_time,
        step.communication_time,
        {} if width is None else width.ends,
        need_of(setting, constants),
        setting.world_size,
        over.bandwidth,
    )
    return job, width
