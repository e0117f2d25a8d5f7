"""Published peaks of transformers' memory, and their predictions."""

from __future__ import annotations

import math
from functools import cache
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from perfmodel.core.files.resources import folder
from perfmodel.evidence.accuracy.by_source import by_source
from perfmodel.evidence.accuracy.measured_table import records
from perfmodel.model.prediction.open_options import OPTIONS
from perfmodel.model.transformers.job import bare_job
from perfmodel.model.transformers.layout_words import short
from perfmodel.model.transformers.memory import known_of, memory_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from perfmodel.evidence.accuracy.transformers.transformer_rows import TransformerRun

GIB = 2**30
RESERVED = "reserved"
"""A peak that includes all that PyTorch's allocator holds, used or not."""
COUNTED = {"allocated": "allocated", "active": "allocated", "used": RESERVED}
"""Word of ``peak_kind`` -> what such a peak includes."""


PRINT_RESERVED = ("torchtitan", "prime-rl")
"""Software whose log prints ``torch.cuda.max_memory_reserved`` (their repositories, read 2026-11-27)."""


class Peak(NamedTuple):
    """Published and predicted peak of a run's memory; bytes of PyTorch's allocator."""

    run: TransformerRun
    published: float
    predicted: float
    """Bytes of tensors or, if the source counts reserved bytes, of all that the allocator reserves."""
    counted: str
    """``reserved`` or ``allocated``; empty if the source does not say."""
    open: str
    """What the source does not state of the run; empty if it states all."""
    known: float
    """Bytes of states, which what the source states implies, at least."""

    @property
    def error(self) -> float:
        """Signed error, predicted / published - 1."""
        return self.predicted / self.published - 1

    @property
    def missed(self) -> float:
        """The half-width with which the 80 % interval of ``memory_odds.odds`` ends at the published peak.

        Infinite if that is less than what is known.
        """
        if self.published >= self.predicted:
            return math.log(self.published / self.predicted)
        left, rest = self.published - self.known, self.predicted - self.known
        return rest / self.predicted * math.log(rest / left) if left > 0 else math.inf


def peaks(runs: Iterable[TransformerRun]) -> list[Peak]:
    """Return published and predicted peaks of runs, in the order of their files.

    PyTorch's allocator reserves more than is used at once, because it can seldom use all of the gaps between
    blocks.  If a source publishes reserved bytes, the prediction is the bytes used times
    ``reserved_over_used`` of the other sources.
    """
    known = {run.run_id: run for run in runs if run.case is not None}
    used = [
        _peak(run, float(row["peak_gib"]) * GIB, row["counted"], row["open"])
        for row in records(folder("validation") / "transformer_memory.csv")
        if (run := known.get(row["run_id"]))
    ]
    used += [_new_peak(known[row["memory_id"]], row) for row in new_cells() if row["memory_id"] in known]
    factors = {peak.run.source: reserved_over_used(used, peak.run.source) for peak in used}
    return [
        peak._replace(predicted=peak.predicted * factors[peak.run.source])
        if peak.counted == RESERVED
        else peak
        for peak in used
    ]


def reserved_over_used(used: Sequence[Peak], without: str) -> float:
    """Return the factor from used to reserved bytes: the median over sources of published / predicted.

    It is at least 1.

    Parameters
    ----------
    used : peaks whose predictions are the bytes used
    without : a source whose peaks must not be used
    """
    ratios = by_source(
        (peak.run.source, peak.published / peak.predicted)
        for peak in used
        if peak.counted == RESERVED and not peak.open and peak.run.source != without
    )
    return max(median(map(median, ratios.values())), 1.0) if ratios else 1.0


@cache
def new_cells() -> list[dict[str, str]]:
    """Return the rows of ``measured/transformer_memory.csv``, which were added after the model was made."""
    return records(folder("validation") / "measured" / "transformer_memory.csv")


def _new_peak(run: TransformerRun, row: dict[str, str]) -> Peak:
    """Return the peak of a row of ``measured/transformer_memory.csv``."""
    kind, unknown = row["peak_kind"], "software" if run.nearest_stack else ""
    counted = next((counted for word, counted in COUNTED.items() if word in kind), "")
    if not counted and row["framework"] in PRINT_RESERVED:
        counted = RESERVED
    if not unknown and not (run.states_layout and run.states_memory):
        unknown = "layout"
    return _peak(run, float(row["peak_memory_bytes"] or "nan"), counted, unknown)


def _peak(run: TransformerRun, published: float, counted: str, unknown: str) -> Peak:
    """Return a peak with its prediction.

    Of a run that leaves something open is known what ``predict`` knows of a job that states neither software
    nor sharding; nothing if its source states neither layout nor options.
    """
    known = known_bytes(run, OPTIONS if unknown else ()) if run.states_layout or run.states_memory else 0.0
    return Peak(run, published, _tensors(run), counted, unknown, known)


def _tensors(run: TransformerRun) -> float:
    """Return the predicted bytes of tensors on the fullest rank of a run, which must have a case."""
    assert run.case is not None
    return float(memory_of(bare_job(run.case)).tensors)


def layout_words(run: TransformerRun) -> str:
    """Return the layout of a run, which must have a case, in short words."""
    assert run.case is not None
    layout = run.case.layout
    return f"{short(layout.words())}, {layout.micro_batch_size:g} x {layout.accumulation_steps:g}"


def known_bytes(run: TransformerRun, opened: Collection[str] = ()) -> float:
    """Return the bytes of states of a run, which must have a case [B].

    Parameters
    ----------
    run : its software is left open too if it is not described
    opened : options that its source leaves open
    """
    assert run.case is not None
    return float(known_of(bare_job(run.case), ("framework", *opened) if run.nearest_stack else opened))


def needed_bytes(run: TransformerRun) -> float:
    """Return the predicted memory of the fullest rank of a run, which must have a case [B]."""
    assert run.case is not None
    return float(memory_of(bare_job(run.case)).total)


def shares_needed(runs: Iterable[TransformerRun]) -> list[tuple[float, TransformerRun]]:
    """Return predicted memory over capacity of runs that state recomputation and sharding, largest first."""
    stated = [run for run in runs if run.case is not None and run.states_memory]
    shares = [(needed_bytes(run) / run.case.chip.memory_bytes, run) for run in stated if run.case is not None]
    return sorted(shares, key=lambda each: -each[0])
