"""The evaluation of a transformer with a layout, or with many layouts as arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

from perfmodel.core import ops
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.prediction.intervals.bound import cut_ends, least_times
from perfmodel.model.prediction.memory import need_of
from perfmodel.model.prediction.numbers import Evaluated
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.setting.unsupported import PRECISIONS
from perfmodel.model.step.evaluate import outcome_of
from perfmodel.model.step.input_wait import shared_input_time
from perfmodel.model.step.parts import figures
from perfmodel.model.step.ports import bulk_bandwidth
from perfmodel.model.step.step_context import StepContext
from perfmodel.model.step.terms import added, counted_alone, time_alone
from perfmodel.model.transformers.evaluate import network_of, one_replica
from perfmodel.model.transformers.job import Case, Job
from perfmodel.model.transformers.levels import Update
from perfmodel.model.transformers.many import evaluated
from perfmodel.model.transformers.parameters import fitted
from perfmodel.model.transformers.traffic import Row, scaled, traffic_of
from perfmodel.model.transformers.uncertainty import Novelty, ends, novelty, widenings, with_open


class Layouts(NamedTuple):
    """The evaluation of a transformer with one layout, or with several as arrays."""

    job: Evaluated
    ranks: Job
    """Job of the ranks."""
    traffic: Callable[[], list[Row]]
    """Returns the communication of every group of ranks."""
    new: Novelty
    """Novelty of the job, for its interval."""
    spread: Any
    least_time: Any
    """Physical lower bound [s]."""


def job_of_layouts(
    setting: Setting,
    case: Case,
    constants: Calibration,
    start: Update | None,
    opened: Mapping[str, Any],
) -> Layouts:
    """Return the evaluation of a transformer with one layout, or with several as arrays.

    Parameters
    ----------
    setting : of the job; its layout and counts are numbers, or arrays of shape (layouts,)
    case : the same layouts on the same accelerators
    constants, start : learned constants, and the update by measured runs
    opened : whether options are left to their defaults, as for ``left_open_by``
    """
    layout, learned = case.layout, fitted().parameters
    model, length = network_of(setting.workload)
    ranks, step, layer = evaluated(case)
    time, terms, factor = outcome_of(setting, step, constants, start)
    single = one_replica(layout, setting.scaling == "strong")
    # a single replica has a different layer if experts are split over replicas
    parts = layout.expert_tensor_parallel, layout.tensor_parallel
    same = None if layer is None or layout.expert_parallel > 1 or parts[0] > parts[1] else layer
    one = evaluated(case._replace(layout=single), same)[1]
    alone = one.iteration_time * factor
    alone = alone + shared_input_time(setting, single, alone, constants)
    if counted_alone():
        alone = time_alone(StepContext(setting._replace(layout=single), constants, one._asdict())) * factor
    # summed in another order, the same time differs in its last digit
    is_alone = (layout.data_parallel == 1) & (layout.expert_parallel == 1)
    baseline_time = ops.where(is_alone, time, alone)
    come_to = figures(setting, time, baseline_time, added(terms), layout.data_parallel)
    others = widenings(model, length, PRECISIONS[setting.precision], come_to["mfu"])
    new = novelty(model, setting.accelerator.id, setting.software, others=others)
    new = with_open(new, opened) if start is None else new
    spread = new.spread if start is None else start.spread(new.stretch)
    least_time = least_times(setting)[1]

    @cache
    def traffic() -> list[Row]:
        return [scaled(row, factor) for row in traffic_of(ranks, step, learned)]

    fast = [bulk_bandwidth(link, constants) for link in (setting.inter_link, setting.intra_link)]
    job = Evaluated(
        setting,
        terms,
        time,
        come_to,
        baseline_time,
        lambda: sum(row.time for row in traffic()),
        cut_ends(ends(time, spread, new.scale), time, least_time),
        need_of(setting, constants, ranks),
        layout.data_parallel,
        ops.where(setting.domains > 1, *fast),
    )
    return Layouts(job, ranks, traffic, new, spread, least_time)
