"""Learn the interval widths of predicted transformer memory from published peaks, and test its verdicts.

``python -m perfmodel.evidence.accuracy.memory_fit`` writes the widths, which ``model/prediction/memory_odds``
reads.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from hashlib import sha256
from statistics import fmean, median
from typing import Any, NamedTuple

from perfmodel.core.files.resources import folder
from perfmodel.core.files.writing import write_whole
from perfmodel.evidence.accuracy.by_source import COVERED, by_source, quantile
from perfmodel.evidence.accuracy.ledger.held_out import learned_part
from perfmodel.evidence.accuracy.transformers.transformer_memory import (
    Peak,
    known_bytes,
    needed_bytes,
    new_cells,
    peaks,
)
from perfmodel.evidence.accuracy.transformers.transformer_rows import (
    TransformerRun,
    read_transformer_runs,
    shipped_transformer_runs,
)
from perfmodel.evidence.accuracy.transformers.transformer_rules import of_ladder
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.prediction.memory_odds import CERTAIN, OPEN, RESULT, STATED, odds

FILES = "transformer_memory.csv", "measured/transformer_memory.csv"
NO_OPTION = {
    "8-bit": "an optimizer with states of 8 bits",
    "optimizer in backward": "updates during the backward pass",
    "offload": "activations or parameters on the host",
}
"""Words in the workload or note of a published peak -> the technique, which no option of ``predict``
describes."""


class Outcome(NamedTuple):
    """A run that fitted into memory, or did not."""

    run: TransformerRun
    fits: bool

    @property
    def kind(self) -> str:
        """Class of its interval width: whether layout, recomputation, sharding and software are stated."""
        run = self.run
        stated = run.states_layout and run.states_memory and not run.nearest_stack
        return STATED if stated else OPEN


class Judged(NamedTuple):
    """Verdicts and errors of peaks of one source, with interval widths learned from the other sources."""

    new: bool
    """Whether the source was added after the model was made."""
    certain: list[bool]
    """Whether the verdict is certain, for each run that states its layout, recomputation and sharding."""
    right: list[bool]
    """Whether the verdict is right, for each certain one."""
    errors: list[float]
    """Absolute values of predicted / published peak - 1."""
    covered: list[bool]
    """Whether each peak is inside its 80 % interval."""

    @property
    def mean(self) -> float:
        """Mean absolute error."""
        return fmean(self.errors)

    @property
    def median(self) -> float:
        """Median absolute error."""
        return median(self.errors)


@cache
def runs() -> tuple[TransformerRun, ...]:
    """Return the shipped runs, and those of ``measured/transformer_memory.csv``, whose times are held out."""
    path, _ = learned_part("transformer_runs.csv")
    new = {row["memory_id"]: row for row in new_cells()}
    every = read_transformer_runs(path, Catalogue.built_in())
    return (
        *shipped_transformer_runs(),
        *(_as_published(run, new[run.run_id]) for run in every if run.run_id in new),
    )


def _as_published(run: TransformerRun, row: Mapping[str, str]) -> TransformerRun:
    """Return a run with only the facts that the row of its peak states; the row of its time may state more.

    A run with a technique of ``NO_OPTION`` loses its case, and gets the reason.

    Parameters
    ----------
    run : as read from the row of its time
    row : of its peak, in ``measured/transformer_memory.csv``
    """
    words = re.sub(r"\(.*?\)", "", f"{row['workload']} {row['note']}")
    beyond = next((what for word, what in NO_OPTION.items() if word in words), None)
    if beyond and not of_ladder(row["locator"]):
        return run._replace(case=None, reason=f"no option for what it does: {beyond}")
    stated = bool(row["recompute"] and row["sharding"])
    return run._replace(states_memory=run.states_memory and stated)


def refused() -> dict[str, int]:
    """Return by reason the number of rows of ``measured/transformer_memory.csv`` without a prediction."""
    reasons = {run.run_id: run.reason for run in runs()}
    each = (reasons.get(row["memory_id"], "no run of that name") for row in new_cells())
    return dict(Counter(reason.partition(":")[0] for reason in each if reason).most_common())


@cache
def outcomes() -> tuple[Outcome, ...]:
    """Return the runs that state layout and memory options, and whether they fitted; timed runs did."""
    failed = {row["memory_id"] for row in new_cells() if row["outcome"] != "fits"}
    return tuple(
        Outcome(run, run.run_id not in failed)
        for run in runs()
        if run.case is not None and run.states_layout and run.states_memory
    )


@cache
def shipped_peaks() -> tuple[Peak, ...]:
    """Return the published peaks that can be predicted."""
    return tuple(peak for peak in peaks(runs()) if math.isfinite(peak.published))


def kind_of(peak: Peak) -> str:
    """Return the class of interval widths that a peak belongs to: ``STATED`` or ``OPEN``."""
    return OPEN if peak.open else Outcome(peak.run, True).kind


def half_width(of: Sequence[Peak]) -> float:
    """Return the 80 % quantile of what peaks miss, each source with the same weight.

    With K sources the quantile is taken at 0.8 (1 + 1/K), at most 1, which covers 80 % of a further source.
    """
    errors = by_source((peak.run.source, peak.missed) for peak in of)
    return quantile(errors, min(COVERED * (1 + 1 / len(errors)), 1.0))


def half_widths(without: str = "") -> dict[str, float]:
    """Return the half-width of each class, in the logarithm of memory, learned without one source."""
    others = [peak for peak in shipped_peaks() if peak.run.source != without]
    return {kind: half_width([each for each in others if kind_of(each) == kind]) for kind in (STATED, OPEN)}


@cache
def judged() -> dict[str, Judged]:
    """Return verdicts and errors by source, with interval widths learned from the other sources."""
    known = {run.source for run in shipped_transformer_runs()}
    sources = {each.run.source for each in outcomes()} | {peak.run.source for peak in shipped_peaks()}
    return {source: _judged(source, source not in known) for source in sorted(sources)}


def _judged(source: str, new: bool) -> Judged:
    """Return verdicts and errors of one source, with interval widths learned from the other sources."""
    widths = half_widths(source)
    own = [peak for peak in shipped_peaks() if peak.run.source == source]
    covered = [peak.missed <= widths[kind_of(peak)] for peak in own]
    of = [each for each in outcomes() if each.run.source == source]
    verdicts = [
        (needed_bytes(each.run), known_bytes(each.run), _capacity(each.run), widths[each.kind], each.fits)
        for each in of
    ]
    return Judged(new, *_verdicts(verdicts), [abs(peak.error) for peak in own], covered)


def _capacity(run: TransformerRun) -> float:
    """Return the memory capacity of the run's accelerator [B]."""
    assert run.case is not None
    return float(run.case.chip.memory_bytes)


def _verdicts(of: Iterable[tuple[float, float, float, float, bool]]) -> tuple[list[bool], list[bool]]:
    """Return whether each verdict is certain, and whether each of the certain ones is right.

    Parameters
    ----------
    of : needed bytes, known of them, capacity [B], half-width of the interval in logarithms, and whether the
        run did fit
    """
    each = [(float(odds(*numbers).fits_probability), fits) for *numbers, fits in of]
    certain = [max(chance, 1 - chance) >= CERTAIN for chance, _ in each]
    right = [(chance >= 0.5) == fits for (chance, fits), sure in zip(each, certain, strict=True) if sure]
    return certain, right


def on_other_accelerators() -> dict[str, Judged]:
    """Return by source the verdicts on runs with a published peak, for the memory sizes of all accelerators.

    A run counts as fitting if its published peak, plus the predicted bytes of allocator and driver, fits.
    """
    catalogue = Catalogue.built_in()
    sizes = sorted({catalogue.accelerator(name).memory_capacity for name in catalogue.ids("accelerators")})
    stated = [peak for peak in shipped_peaks() if peak.run.states_layout and peak.run.states_memory]
    result: dict[str, Judged] = {}
    for source, own in by_source((peak.run.source, peak) for peak in stated).items():
        widths, needs = half_widths(source), [(peak, needed_bytes(peak.run)) for peak in own]
        verdicts = (
            (need, peak.known, size, widths[kind_of(peak)], need / (1 + peak.error) <= size)
            for peak, need in needs
            for size in sizes
        )
        result[source] = Judged(False, *_verdicts(verdicts), [], [])
    return result


def main() -> None:
    """Learn the interval widths and write them to ``memory_odds.RESULT``."""
    learned: dict[str, Any] = {
        "half_width": {kind: float(f"{width:.3g}") for kind, width in half_widths().items()},
        "sources": {
            kind: sorted({peak.run.source for peak in shipped_peaks() if kind_of(peak) == kind})
            for kind in (STATED, OPEN)
        },
        "sha256": {name: sha256((folder("validation") / name).read_bytes()).hexdigest() for name in FILES},
    }
    write_whole(RESULT, json.dumps(learned, indent=1) + "\n")


if __name__ == "__main__":
    main()
