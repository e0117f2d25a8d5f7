"""Measured runs of a user's transformers: anchors of a job, and runs of a calibration file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from perfmodel.core import ops
from perfmodel.core.tracing.tracing import given
from perfmodel.equations.iteration import iteration_time
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.fitted.ledger_scales import repeat_noise
from perfmodel.model.options.layout import Layout
from perfmodel.model.setting.anchor import parse_anchors
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.step_context import StepContext
from perfmodel.model.step.terms import terms_of
from perfmodel.model.transformers.evaluate import network_of, step_of_setting
from perfmodel.model.transformers.levels import (
    Run,
    Traits,
    Update,
    is_same,
    traits_of,
    updated,
)
from perfmodel.model.transformers.uncertainty import Novelty, novelty

if TYPE_CHECKING:
    from perfmodel.model.fitted.own_effects import OwnEffects


def novelty_of(setting: Setting) -> Novelty:
    """Return the novelty of a setting with a layout."""
    return novelty(network_of(setting.workload)[0], setting.accelerator.id, setting.software)


def measured_run(run: Setting, time: Any, predicted: Any) -> Run:
    """Return the measured run of a setting, from measured and predicted times [s]."""
    return Run(traits_of(run), novelty_of(run).spread, np.log(time / predicted))


def run_of(run: Setting, time: float, constants: Calibration) -> Run:
    """Return the measured run of a setting, from its time [s] and the shipped fit's prediction."""
    terms = terms_of(StepContext(run, constants, step_of_setting(run)._asdict()))
    predicted = ops.number(iteration_time(**terms))
    return measured_run(run, ops.number(time), predicted)


def runs_of(setting: Setting, constants: Calibration) -> list[Run]:
    """Return the measured runs for a job: those of the calibration file, and its anchors."""
    runs = [] if constants.own is None else runs_of_file(constants.own)
    if setting.measured:
        anchors = parse_anchors(str(setting.scenario.anchor))
        for count, (run, anchor) in enumerate(zip(setting.measured, anchors, strict=True), start=1):
            name = f"anchor{count if anchors[1:] else ''}.{anchor.quantity}"
            anchor = anchor._replace(value=given(anchor.value, name, "the anchor"))
            time = anchor.iteration_time(run.global_batch_size, run.workload.sequence_length)
            runs.append(run_of(run, time, constants))
    return runs


def update_of(setting: Setting, runs: Sequence[Run]) -> Update:
    """Return the update of a setting's prediction by runs; the layout may be of arrays."""
    update = updated(traits_of(setting), novelty_of(setting).spread, runs)
    return update if np.ndim(update.shift) else update._replace(shift=ops.number(update.shift))


def merged(runs: Iterable[Run]) -> list[Run]:
    """Merge repeated runs of the same job into one, with their mean and scatter."""
    groups: list[list[Run]] = []
    for run in runs:
        group = next((each for each in groups if is_same(each[0].traits, run.traits)), None)
        if group is None:
            groups.append([run])
        else:
            group.append(run)
    return [_mean_run(group) for group in groups]


def _mean_run(group: Sequence[Run]) -> Run:
    """Return repeated runs as one, with their mean error and scatter."""
    mean = sum(run.miss for run in group) / len(group)
    squares = float(sum((run.miss - mean) ** 2 for run in group))
    return group[0]._replace(miss=mean, noise=repeat_noise(squares, len(group)), repeats=len(group))


def row_of(run: Run) -> dict[str, Any]:
    """Return a run as a row of a calibration file."""
    traits = run.traits._asdict() | {
        "layout": {name: float(value) for name, value in run.traits.layout._asdict().items()},
        "machine": list(run.traits.machine),
    }
    return traits | {
        "spread": float(f"{run.spread:.6g}"),
        "miss": float(f"{run.miss:.9g}"),
        "noise": float(f"{run.noise:.6g}"),
        "repeats": run.repeats,
    }


def runs_of_file(own: OwnEffects) -> list[Run]:
    """Return the runs of transformers in a calibration file."""
    return [_run_from_row(row) for row in own.transformers]


def _run_from_row(row: Mapping[str, Any]) -> Run:
    """Return the run in a row of a calibration file."""
    names = [name for name in Traits._fields if name not in ("layout", "machine")]
    traits = Traits(
        **{name: row[name] for name in names},
        layout=Layout(**row["layout"]),
        machine=tuple(row["machine"]),
    )
    return Run(traits, row["spread"], row["miss"], row["noise"], row["repeats"])
