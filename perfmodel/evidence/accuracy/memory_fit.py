"""How far predicted memory of transformers is off: widths of ``model/prediction/memory_odds``, and verdicts.

``python -m perfmodel.evidence.accuracy.memory_fit`` writes the widths.
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
from perfmodel.evidence.accuracy.transformers.transformer_memory import Peak, needed_bytes, new_cells, peaks
from perfmodel.evidence.accuracy.transformers.transformer_rows import (
    TransformerRun,
    read_transformer_runs,
    shipped_transformer_runs,
)
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.prediction.memory_odds import CERTAIN, OPEN, RESULT, STATED, odds

FILES = "transformer_memory.csv", "measured/transformer_memory.csv"
NO_OPTION = {
    "QLoRA": "4-bit weights",
    "8-bit": "an optimizer with states of 8 bits",
    "optimizer in backward": "updates during the backward pass",
    "offload": "activations or parameters on the host",
}
"""Words in a published peak's workload or note -> what no option describes, here as in ``predict``."""


class Outcome(NamedTuple):
    """A run that did fit, or did not."""

    run: TransformerRun
    fits: bool

    @property
    def kind(self) -> str:
        """What is stated of it: the class of its width."""
        run = self.run
        stated = run.states_layout and run.states_memory and not run.nearest_stack
        return STATED if stated else OPEN


class Judged(NamedTuple):
    """Verdicts and peaks of a source, by widths learned without it."""

    new: bool
    """Whether the source came after the model was made."""
    certain: list[bool]
    """Of each run that states its layout, recomputation and sharding, whether its verdict is certain."""
    right: list[bool]
    """Of the certain ones."""
    errors: list[float]
    """Predicted over published peaks, less 1; sizes alone."""
    covered: list[bool]
    """Whether each peak is inside its 80 % interval."""

    @property
    def mean(self) -> float:
        """Of the errors."""
        return fmean(self.errors)

    @property
    def median(self) -> float:
        """Of the errors."""
        return median(self.errors)


@cache
def runs() -> tuple[TransformerRun, ...]:
    """Return the shipped runs, and those of ``measured/transformer_memory.csv``: their times are held out."""
    path, _ = learned_part("transformer_runs.csv")
    new = {row["memory_id"]: row for row in new_cells()}
    every = read_transformer_runs(path, Catalogue.built_in())
    return (
        *shipped_transformer_runs(),
        *(_as_published(run, new[run.run_id]) for run in every if run.run_id in new),
    )


def _as_published(run: TransformerRun, row: Mapping[str, str]) -> TransformerRun:
    """Return a run with what the line of its peak says: it may state less than the line of its time."""
    words = re.sub(r"\(.*?\)", "", f"{row['workload']} {row['note']}")
    if beyond := next((what for word, what in NO_OPTION.items() if word in words), None):
        return run._replace(case=None, reason=f"no option for what it does: {beyond}")
    stated = bool(row["recompute"] and row["sharding"])
    return run._replace(states_memory=run.states_memory and stated)


def refused() -> dict[str, int]:
    """Return how many rows of ``measured/transformer_memory.csv`` cannot be predicted, by reason."""
    reasons = {run.run_id: run.reason for run in runs()}
    each = (reasons.get(row["memory_id"], "no run of that name") for row in new_cells())
    return dict(Counter(reason.partition(":")[0] for reason in each if reason).most_common())


@cache
def outcomes() -> tuple[Outcome, ...]:
    """Return the runs that state their layout, and whether they fit: all that were timed did."""
    failed = {row["memory_id"] for row in new_cells() if row["outcome"] != "fits"}
    return tuple(
        Outcome(run, run.run_id not in failed)
        for run in runs()
        if run.case is not None and run.states_layout and run.states_memory
    )


@cache
def shipped_peaks() -> tuple[Peak, ...]:
    """Return every published peak that can be predicted."""
    return tuple(peak for peak in peaks(runs()) if math.isfinite(peak.published))


def kind_of(peak: Peak) -> str:
    """Return what is stated of a peak's run."""
    return OPEN if peak.open else Outcome(peak.run, True).kind


def half_width(of: Sequence[Peak]) -> float:
    """Return the 80 % quantile of the logarithmic errors of peaks, each source with the same weight.

    With K sources it is read at 0.8 (1 + 1/K), at most 1, as is right for one more source of their kind.
    """
    errors = by_source((peak.run.source, abs(math.log(1 + peak.error))) for peak in of)
    return quantile(errors, min(COVERED * (1 + 1 / len(errors)), 1.0))


def half_widths(without: str = "") -> dict[str, float]:
    """Return the half-width of each class, learned without one source."""
    others = [peak for peak in shipped_peaks() if peak.run.source != without]
    return {kind: half_width([each for each in others if kind_of(each) == kind]) for kind in (STATED, OPEN)}


@cache
def judged() -> dict[str, Judged]:
    """Return what comes of each source, by widths learned without it."""
    known = {run.source for run in shipped_transformer_runs()}
    sources = {each.run.source for each in outcomes()} | {peak.run.source for peak in shipped_peaks()}
    return {source: _judged(source, source not in known) for source in sorted(sources)}


def _judged(source: str, new: bool) -> Judged:
    widths = half_widths(source)
    own = [peak for peak in shipped_peaks() if peak.run.source == source]
    covered = [abs(math.log(1 + peak.error)) <= widths[kind_of(peak)] for peak in own]
    of = [each for each in outcomes() if each.run.source == source]
    verdicts = [(needed_bytes(each.run), _capacity(each.run), widths[each.kind], each.fits) for each in of]
    return Judged(new, *_verdicts(verdicts), [abs(peak.error) for peak in own], covered)


def _capacity(run: TransformerRun) -> float:
    assert run.case is not None
    return float(run.case.chip.memory_bytes)


def _verdicts(of: Iterable[tuple[float, float, float, bool]]) -> tuple[list[bool], list[bool]]:
    """Whether verdicts on needs in capacities, by widths, are certain, and whether those are right."""
    each = [(float(odds(need, size, width).fits_probability), fits) for need, size, width, fits in of]
    certain = [max(chance, 1 - chance) >= CERTAIN for chance, _ in each]
    right = [(chance >= 0.5) == fits for (chance, fits), sure in zip(each, certain, strict=True) if sure]
    return certain, right


def on_other_accelerators() -> dict[str, Judged]:
    """Return by source the verdicts on runs with a peak and a stated layout, had memory been of other sizes.

    A run fits if its published peak does, with what the allocator and the driver take as we predict them.
    """
    catalogue = Catalogue.built_in()
    sizes = sorted({catalogue.accelerator(name).memory_capacity for name in catalogue.ids("accelerators")})
    stated = [peak for peak in shipped_peaks() if peak.run.states_layout and peak.run.states_memory]
    result: dict[str, Judged] = {}
    for source, own in by_source((peak.run.source, peak) for peak in stated).items():
        widths, needs = half_widths(source), [(peak, needed_bytes(peak.run)) for peak in own]
        verdicts = (
            (need, size, widths[kind_of(peak)], need / (1 + peak.error) <= size)
            for peak, need in needs
            for size in sizes
        )
        result[source] = Judged(False, *_verdicts(verdicts), [], [])
    return result


def main() -> None:
    """Learn the widths, and write them."""
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
