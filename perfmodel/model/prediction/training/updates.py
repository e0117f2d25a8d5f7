"""Figures of asynchronous and partially synchronous training: updates per second, staleness, bounds."""

from __future__ import annotations

import math
from typing import Any

from perfmodel.core.updates import Updates
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.prediction.result import UpdateBounds
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.evaluate import Step
from perfmodel.model.step.parts import visit_time
from perfmodel.model.step.terms import added, alike
from perfmodel.model.step.updates import in_step, round_bounds, round_of, update_figures

NOTHING = 1e-9
"""Share of a round below which communication is a rounding error."""


def updates_of(setting: Setting, step: Step, constants: Calibration) -> dict[str, Any]:
    """Return the fields of a ``Prediction`` for asynchronous and partially synchronous training."""
    figures = update_figures(setting, step.iteration_time, constants)
    fresh = float(figures["fresh_fraction"])
    return {
        "updates_per_second": float(figures["updates_per_second"]),
        "gradients_per_update": int(figures["gradients_per_update"]),
        "mean_staleness": float(figures["mean_staleness"]),
        "fresh_fraction": None if math.isnan(fresh) else fresh,
        "update_bounds": _bounds(setting, step, constants),
    }


def discarded_note(updates: Updates, workers: int) -> str | None:
    """Return a note on discarded gradients, whose time counts as waiting for stragglers; None if none are."""
    if not updates.kind.in_step or updates.kind.averages or workers == 1:
        return None
    counted = "their time counts as waiting for stragglers"
    if updates.variant == "k-batch-sync":
        return f"gradients under way when an update ends are discarded; {counted}"
    lost = workers - int(updates.awaited(workers))
    if not lost:
        return None
    return f"{lost} of {workers} gradients of every update are pushed and discarded; {counted}"


def _bounds(setting: Setting, step: Step, constants: Calibration) -> UpdateBounds:
    """Return the bounds of the updates per second."""
    exposed = added(step.terms)
    round_means, work, fabric = round_of(setting, constants), step.work, step.fabric
    visit = 0.0 if in_step(setting) else visit_time(setting, work, fabric, constants)
    times = round_bounds(setting, work, exposed, visit, fabric, constants)
    same = float(alike(step.terms))
    rates = [setting.world_size / (round_means.gradients * (time + same)) for time in times]
    status = round_means.status if exposed <= NOTHING * step.iteration_time else "approximation"
    return UpdateBounds.model_construct(status=status, low=min(rates), high=max(rates))
