"""Memory of measured transformers beside the model: published peaks, and runs that seem not to fit."""

from __future__ import annotations

import csv
from functools import cache
from statistics import fmean, median
from typing import TYPE_CHECKING, NamedTuple

from perfmodel.reading import read_table
from perfmodel.resources import folder
from perfmodel.transformers.job import bare_job
from perfmodel.transformers.memory import memory_of
from perfmodel.transformers.words import short

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from perfmodel.accuracy.transformer_rows import TransformerRun

GIB = 2**30
RESERVED = "reserved"
"""What PyTorch's allocator holds, used or not."""
COUNTED = {"allocated": "allocated", "active": "allocated", "used": RESERVED}
"""What a peak counts, by a word of its ``peak_kind``."""


class Peak(NamedTuple):
    """A run's published peak beside what the model says of it; bytes of PyTorch's allocator."""

    run: TransformerRun
    published: float
    predicted: float
    """What is used, or where the source counts what is reserved, what that comes to."""
    counted: str
    """``reserved`` or ``allocated``; nothing where the source does not say."""
    open: str
    """What the source does not say of the run."""

    @property
    def error(self) -> float:
        """Predicted over published, less 1."""
        return self.predicted / self.published - 1


class PeakErrors(NamedTuple):
    """Errors of peaks, sizes alone."""

    rows: int
    mean: float
    median: float
    worst: float
    within_15: float


class Beyond(NamedTuple):
    """A run that did fit, and seems not to."""

    run: TransformerRun
    share: float
    """Predicted need over the accelerator's memory."""


class Fitting(NamedTuple):
    """Runs that state recomputation and sharding, all of which did fit."""

    rows: int
    beyond: list[Beyond]
    """The largest first."""

    @property
    def share(self) -> float:
        """Of the runs: those that seem not to fit."""
        return len(self.beyond) / self.rows


def peaks(runs: Iterable[TransformerRun]) -> list[Peak]:
    """Return the published peaks of some runs, in the order of their file.

    PyTorch's allocator reserves more than is used at once, as it can seldom use all of what lies between
    blocks: where a source publishes what was reserved, the prediction is what is used times
    ``reserved_over_used`` of the other sources.
    """
    known = {run.run_id: run for run in runs if run.case is not None}
    used = [_peak(known[row["run_id"]], row) for row in _of_known_runs() if row["run_id"] in known]
    used += [_new_peak(known[row["memory_id"]], row) for row in new_cells() if row["memory_id"] in known]
    factors = {peak.run.source: reserved_over_used(used, peak.run.source) for peak in used}
    return [
        peak._replace(predicted=peak.predicted * factors[peak.run.source])
        if peak.counted == RESERVED
        else peak
        for peak in used
    ]


def reserved_over_used(used: Sequence[Peak], without: str) -> float:
    """Return published over predicted peaks of what is reserved: the median of sources but one, at least 1.

    Parameters
    ----------
    used : with what is used as their prediction
    without : a source that must not be looked at
    """
    ratios: dict[str, list[float]] = {}
    for peak in used:
        if peak.counted == RESERVED and not peak.open and peak.run.source != without:
            ratios.setdefault(peak.run.source, []).append(peak.published / peak.predicted)
    return max(median(map(median, ratios.values())), 1.0) if ratios else 1.0


@cache
def _of_known_runs() -> list[dict[str, str]]:
    """The rows of ``transformer_memory.csv``."""
    with read_table(folder("validation") / "transformer_memory.csv") as file:
        return list(csv.DictReader(file))


@cache
def new_cells() -> list[dict[str, str]]:
    """Return the rows of ``measured/transformer_memory.csv``, which came after the model was made."""
    with read_table(folder("validation") / "measured" / "transformer_memory.csv") as file:
        return list(csv.DictReader(file))


def _new_peak(run: TransformerRun, row: dict[str, str]) -> Peak:
    kind, unknown = row["peak_kind"], "software" if run.nearest_stack else ""
    counted = next((counted for word, counted in COUNTED.items() if word in kind), "")
    if not unknown and not (run.states_layout and run.states_memory):
        unknown = "layout"
    return Peak(run, float(row["peak_memory_bytes"] or "nan"), _tensors(run), counted, unknown)


def _tensors(run: TransformerRun) -> float:
    assert run.case is not None
    return float(memory_of(bare_job(run.case)).tensors)


def _peak(run: TransformerRun, row: dict[str, str]) -> Peak:
    return Peak(run, float(row["peak_gib"]) * GIB, _tensors(run), row["counted"], row["open"])


def layout_words(run: TransformerRun) -> str:
    """Return a run's layout in short; it must have a case."""
    assert run.case is not None
    layout = run.case.layout
    return f"{short(layout.words())}, {layout.micro_batch_size:g} x {layout.accumulation_steps:g}"


def needed_bytes(run: TransformerRun) -> float:
    """Return what the fullest rank of a run needs [B]; it must have a case."""
    assert run.case is not None
    return float(memory_of(bare_job(run.case)).total)


def peak_errors(of: Sequence[Peak]) -> dict[str, PeakErrors]:
    """Return errors by source, and by what it leaves open."""
    groups: dict[str, list[float]] = {}
    for peak in of:
        name = f"{peak.run.source}, open: {peak.open}" if peak.open else peak.run.source
        groups.setdefault(name, []).append(abs(peak.error))
    return {
        name: PeakErrors(
            len(each), fmean(each), median(each), max(each), fmean(error <= 0.15 for error in each)
        )
        for name, each in groups.items()
    }


def fitting(runs: Iterable[TransformerRun]) -> Fitting:
    """Return the runs that state what they keep, and of them those that seem not to fit."""
    stated = [run for run in runs if run.case is not None and run.states_memory]
    shares = ((run, needed_bytes(run) / run.case.chip.memory_bytes) for run in stated if run.case is not None)
    beyond = [Beyond(run, share) for run, share in shares if share > 1]
    return Fitting(len(stated), sorted(beyond, key=lambda each: -each.share))
