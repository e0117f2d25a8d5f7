"""Effects of measured runs of a transformer on its interval, and notes on them."""

from __future__ import annotations

import math

from perfmodel.core.units import per_cent, show
from perfmodel.model.fitted.calibration import NORMAL_80, Calibration
from perfmodel.model.prediction.intervals.anchor_slip import slip_note
from perfmodel.model.setting.anchor import parse_anchors
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.transformers.layout_words import short
from perfmodel.model.transformers.levels import Update, is_same, traits_of, updated
from perfmodel.model.transformers.uncertainty import Novelty, why_wider

IMPLAUSIBLE = 2.0
"""Ratio of measured and predicted time that hardly any measured run exceeds."""


def narrowed(setting: Setting, new: Novelty, start: Update) -> tuple[float, list[str], float]:
    """Return the spread of a job's error after runs, reasons for its width, and the ledger's factor in it."""
    job, factor = traits_of(setting), new.scale.factor

    def left(each: Novelty) -> float:
        return float(updated(job, each.plain.spread, start.runs).spread(each.stretch))

    spread = float(start.spread(new.stretch))
    runs = [run._replace(spread=run.spread / factor) for run in start.runs]
    unscaled = float(updated(job, new.plain.spread / factor, runs).spread(new.stretch))
    return spread, why_wider(new, left), max(1.0, spread / unscaled)


def remarks(
    setting: Setting,
    spreads: tuple[float, float],
    start: Update,
    constants: Calibration,
    time: float,
    least_time: float,
) -> list[str]:
    """Return notes on the effects of measured runs on a prediction, and warnings of implausible ones.

    Parameters
    ----------
    setting, start : the job, and its update by the runs
    spreads : standard deviations of its error without and with the runs
    constants : with the own runs of a calibration file
    time, least_time : predicted with the runs, and the physical lower bound [s]
    """
    lines, caveats = [], []
    anchors = parse_anchors(str(setting.scenario.anchor)) if setting.measured else []
    known = start.runs[len(start.runs) - len(anchors) :]  # after those of a calibration file
    for run, anchor, each in zip(setting.measured, anchors, known, strict=True):
        measured = float(anchor.iteration_time(run.global_batch_size, run.workload.sequence_length))
        ratio = math.exp(each.miss)
        assert run.layout is not None
        lines.append(
            f"anchored on {show(measured, 's')} measured on {run.world_size} GPUs "
            f"({short(run.layout.words())}), {ratio:.2f} x what is predicted of that run"
        )
        if (doubt := slip_note(anchor.words(), ratio)) is not None:
            caveats.append(doubt)
        elif not 1 / IMPLAUSIBLE < ratio < IMPLAUSIBLE:
            caveats.append("check the anchor's unit, batch and layout: few measured runs are as far off")
    if constants.own is not None and constants.own.transformers:
        lines.append(f"{constants.own.runs} runs of your own ({constants.own.file})")
    factor = math.exp(start.shift)
    lines.append(f"{_likeness_note(setting, start)}: all times x {factor:.2f}, {_width_note(*spreads)}")
    if time < least_time:
        caveats.append(
            f"{show(time, 's')} is less than the {show(least_time, 's')} that peaks and links allow: "
            "check the unit and the batch of what was measured"
        )
    return ["; ".join(lines), *caveats]


def _likeness_note(setting: Setting, start: Update) -> str:
    """Return, as text, whether the runs are of the same job or of its network."""
    job, runs = traits_of(setting), start.runs
    if any(is_same(job, run.traits) for run in runs):
        return "the same job"
    if start.follows_runs:
        return "the same job on other GPU counts"
    same = sum(run.traits.network == job.network for run in runs)
    return f"{same} of {len(runs)} of its network" if same < len(runs) else "of its network"


def _width_note(before: float, after: float) -> str:
    """Return, as text, the widths of the 80 % interval before and after the runs."""
    wide = [math.expm1(NORMAL_80 * spread) for spread in (before, after)]
    return f"80 % interval +{per_cent(wide[0], 0)} before, +{per_cent(wide[1], 0)} now"
