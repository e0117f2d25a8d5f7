"""Measured runs of transformers for leave-out tests: their categories, and the fit that judges them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from perfmodel.accuracy.by_source import covering
from perfmodel.accuracy.leave_out import Evidence, Facts, Fold, Judged, network_family
from perfmodel.accuracy.measured_table import records
from perfmodel.accuracy.transformer_compare import novelty_of
from perfmodel.accuracy.transformer_fit import (
    Data,
    data_of,
    fit,
    fit_near,
    learned_from,
    left_out,
    log_times,
    spread_between,
    spreads,
    tangent,
)
from perfmodel.accuracy.transformer_rows import TransformerRun, shipped_transformer_runs
from perfmodel.accuracy.transformer_software import software_of_row
from perfmodel.arrays import Array, Flags
from perfmodel.resources import folder
from perfmodel.step.profiled import NORMAL_80, NORMAL_95
from perfmodel.transformers.job import rows
from perfmodel.transformers.parameters import Fitted, fitted, neutral_scores

KIND = "transformers"


class TransformerFolds:
    """Fits to some of the measured runs, and what they say of the others."""

    def __init__(self, runs: Sequence[TransformerRun]) -> None:
        """Take runs that have a case; the fit to all is what others are linearised at."""
        self.runs = runs
        self.data: Data = data_of(runs)
        self.accelerators = np.array([run.accelerator for run in runs])
        self.stacks = np.array([software_of_row(run.framework).stack for run in runs])
        self.scores = scores = fit(self.data)
        self._near = tangent(scores, self.data.jobs)
        self.by_source = left_out(self.data, scores)
        """Logarithm of the time by a fit to the other sources [s]: what widths are learned from."""
        self._by_accelerator = left_out(self.data, scores, groups=self.accelerators)
        self._by_software = left_out(self.data, scores, groups=self.stacks)

    def logs(self, fold: Fold) -> Array:
        """Return the logarithm of the time of the judged runs, by a fit to those that are seen [s].

        Priors have their neutral means where no run of the sources that they rest on is seen.
        """
        data = self.data.rows(fold.seen)
        drawn_to = neutral_scores(seen=np.unique(data.sources).tolist())
        scores = fit_near(self._near.rows(fold.seen), data, drawn_to)
        return log_times(scores, rows(self.data.jobs, fold.judged))

    def widths(self, seen: Flags) -> Fitted:
        """Return what the shipped fit says of widths, learned in the same way from some of the runs alone."""
        data, logs = self.data.rows(seen), self.by_source[seen]
        every = covering(np.abs(logs - data.logs), data.sources)
        accelerators, stacks = self.accelerators[seen], self.stacks[seen]
        return fitted()._replace(
            spreads=dict.fromkeys(np.unique(self.data.kinds).tolist(), every) | spreads(data, logs),
            accelerator_spread=spread_between(data, self._by_accelerator[seen], accelerators),
            software_spread=spread_between(data, self._by_software[seen], stacks),
            accelerators=frozenset(accelerators.tolist()),
            stacks=frozenset(stacks.tolist()),
        )

    def judge(self, fold: Fold) -> Judged:
        """Return how far the judged runs are missed, and how wide their intervals are."""
        known = self.widths(fold.seen)
        runs = [run for run, judged in zip(self.runs, fold.judged.tolist(), strict=True) if judged]
        width = np.array([spread_of(run, known) for run in runs])
        errors = self.data.logs[fold.judged] - self.logs(fold)
        return Judged(errors, NORMAL_80 * width, NORMAL_95 * width)


def spread_of(run: TransformerRun, known: Fitted) -> float:
    """Return the standard deviation of ln(measured / predicted) of a run, from specs."""
    return float(novelty_of(run, known).spread_by(known.spreads, run.kind, known))


def fabric_of(run: TransformerRun) -> str:
    """Return the kind of link between the nodes of a run, or inside its one node; of one rank nothing."""
    assert run.case is not None
    layout, fabric = run.case.layout, run.case.fabric
    if layout.world_size == 1:
        return ""
    return fabric.inter_link.kind if run.case.nodes > 1 else f"inside {fabric.link.kind}"


def evidence_of(fits: TransformerFolds) -> Evidence:
    """Return what is fitted to as evidence."""
    facts = [
        Facts(
            run.run_id,
            run.source,
            network_family(run.workload),
            run.case.fabric.accelerator.architecture,
            family_of(software_of_row(run.framework).stack),
            fabric_of(run),
            run.year,
            float(run.case.layout.world_size),
        )
        for run in fits.runs
        if run.case is not None
    ]
    return Evidence(KIND, facts, fits.judge)


@cache
def _families() -> dict[str, str]:
    rows = records(folder("validation") / "software_families.csv")
    return {row["stack"]: row["family"] for row in rows}


def family_of(stack: str) -> str:
    """Return the family of a stack, by the libraries that do most of its work; others are their own."""
    return _families().get(stack, stack)


@cache
def shipped_transformers() -> TransformerFolds:
    """Return fits to the shipped runs that are learned from; made once."""
    return TransformerFolds(learned_from(shipped_transformer_runs()))
