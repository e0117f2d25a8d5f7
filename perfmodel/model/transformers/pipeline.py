"""The schedule of a setting's pipeline: layers of each stage, and times of a micro-batch on each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from perfmodel.core.units import show
from perfmodel.equations.pipeline_orders import TWO_CHUNKS, Kind
from perfmodel.equations.pipeline_schedule import times_of_chunks
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.evaluate import outcome
from perfmodel.model.transformers.evaluate import case_of_setting
from perfmodel.model.transformers.job import job_of
from perfmodel.model.transformers.layer import rates_of
from perfmodel.model.transformers.leading import LayerPasses, stage_layers
from perfmodel.model.transformers.paired import layer_of
from perfmodel.model.transformers.parameters import fitted
from perfmodel.model.transformers.schedule import Schedule, schedule_of
from perfmodel.model.transformers.step import head_times, step_of
from perfmodel.model.transformers.tower import tower_of

NEGLIGIBLE = 0.005
"""Share of a pipeline's time below which a difference is not reported."""


class Pipeline(NamedTuple):
    """A schedule, with the times that the prediction's closed form gives for it."""

    schedule: Schedule
    predicted_time: float
    """Time of all micro-batches on the slowest stage, and of the bubble [s]."""
    predicted_idle_time: float
    """``bubble_time`` and ``unequal_stages_time`` of the prediction [s]."""

    @property
    def beyond_prediction(self) -> float:
        """Time of the schedule minus the predicted time [s]."""
        return self.schedule.end - self.predicted_time

    @property
    def words(self) -> str:
        """Difference of schedule and prediction with its reason, as text; empty if negligible."""
        apart = self.beyond_prediction / self.predicted_time
        if abs(apart) < NEGLIGIBLE:
            return ""
        times = (
            f"takes {show(self.schedule.end, 's')}, and the closed form says {show(self.predicted_time, 's')}"
        )
        if self.schedule.name == "zb-h2":
            return (
                f"played through, the pipeline {times}: the next step begins before all stages end this one"
            )
        return f"played through, the pipeline {times}: that takes later rounds as the first ones"


def pipeline_of(setting: Setting, constants: Calibration) -> Pipeline | None:
    """Return the schedule of a setting's step; None for a single stage.

    A pass contains computation, launches and communication of its layers inside the stage.  Embeddings are
    part of the first stage, logits and loss of the last one.  The factor of an anchor is in all times.

    For stages of one chunk the closed form of 1F1B equals the schedule.  For other schedules the prediction
    uses the schedule's own recurrence, except for linear interpolation and steps of many micro-batches
    (``equations.interleaved_pipeline``, ``equations.pipeline_schedule``).

    Raises
    ------
    InputError : a step with too many passes to simulate
    """
    layout = setting.layout
    if layout is None or layout.pipeline_parallel == 1:
        return None
    job, learned = job_of(case_of_setting(setting)), fitted().parameters
    on = rates_of(job, learned)
    layer = layer_of(job, learned, on)
    logits, embedding = head_times(job, learned, on)
    step = step_of(job, learned, layer)
    factor = float(outcome(setting, constants).anchor_factor)
    name = layout.schedule_name
    stages = int(layout.pipeline_parallel)
    chunks = 2 if name in TWO_CHUNKS else int(layout.virtual_stages)
    parts, of_leading = (_by_kind(each, factor) for each in stage_layers(job, learned, on, layer))
    times = times_of_chunks(
        name,
        int(job.model.layers),
        stages,
        chunks,
        parts,
        factor * float(logits),
        factor * float(embedding),
        int(layout.end_slots),
        (int(job.model.first_dense), of_leading),
    )
    ahead, back = times["forward"], times["backward"]
    if job.model.tower is not None:
        images = tower_of(job, learned)
        ahead = _longer_first(ahead, factor * float(images.time - images.backward))
        back = _longer_first(back, factor * float(images.backward))
    weights = times["weights"] if layout.splits_backward else None
    schedule = schedule_of(ahead, back, int(layout.accumulation_steps), weights, name)
    idle = factor * float(step.bubble_time + step.unequal_stages_time)
    return Pipeline(schedule, schedule.end - schedule.idle_time + idle, idle)


def _by_kind(layer: LayerPasses, factor: float) -> dict[Kind, float]:
    """Return the passes of a layer by kind, with the factor of an anchor [s]."""
    return {
        "forward": factor * float(layer.forward),
        "backward": factor * float(layer.time - layer.forward),
        "weights": factor * float(layer.weights),
    }


def _longer_first(times: Sequence[Sequence[float]], added: float) -> list[list[float]]:
    """Return the times of chunks by stage, with a longer first chunk of the first stage."""
    first, *others = map(list, times)
    return [[first[0] + added, *first[1:]], *others]
