"""Leave-out tests of transformers: categories of measured runs, and the fits that predict left-out runs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property

import numpy as np

from perfmodel.core.arrays import Array, Flags, Names
from perfmodel.core.files.resources import folder
from perfmodel.evidence.accuracy.by_source import covering
from perfmodel.evidence.accuracy.leave_out import Evidence, Facts, Fold, Judged, network_family
from perfmodel.evidence.accuracy.measured_runs import shipped_whole_transformers
from perfmodel.evidence.accuracy.measured_table import records
from perfmodel.evidence.accuracy.transformers.transformer_fit import (
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
from perfmodel.evidence.accuracy.transformers.transformer_novelty import novelty_of
from perfmodel.evidence.accuracy.transformers.transformer_rows import TransformerRun, shipped_transformer_runs
from perfmodel.evidence.accuracy.transformers.transformer_software import software_of_row
from perfmodel.model.fitted.calibration import NORMAL_80, NORMAL_95
from perfmodel.model.transformers.job import rows
from perfmodel.model.transformers.parameters import Fitted, fitted, neutral_scores

KIND = "transformers"


class TransformerFolds:
    """Fits to a part of the measured runs, which predict the others."""

    def __init__(self, runs: Sequence[TransformerRun], whole: Sequence[TransformerRun] = ()) -> None:
        """Fit the model to all runs; fits to a part of them are linear around that fit.

        Parameters
        ----------
        runs : runs that tests judge, each with a case
        whole : runs of a whole transformer on one accelerator, which fits only learn from
        """
        self.runs, self.whole = runs, whole
        self.data: Data = data_of([*runs, *whole])
        self._is_judged = np.arange(len(self.data.logs)) < len(runs)
        self.scores = fit(self.data)
        self._near = tangent(self.scores, self.data.jobs)

    @cached_property
    def accelerators(self) -> Names:
        """Accelerator of every run, shape (runs,)."""
        return np.array([run.accelerator for run in (*self.runs, *self.whole)])

    @cached_property
    def stacks(self) -> Names:
        """Software stack of every run, shape (runs,); the framework of a run of a whole transformer."""
        stacks = [software_of_row(run.framework).stack for run in self.runs]
        return np.array([*stacks, *(run.framework for run in self.whole)])

    @cached_property
    def by_source(self) -> Array:
        """ln(time [s]) of every run by a fit to the other sources, from which interval widths are learned."""
        return left_out(self.data, self.scores)

    @cached_property
    def _by_accelerator(self) -> Array:
        return left_out(self.data, self.scores, groups=self.accelerators)

    @cached_property
    def _by_software(self) -> Array:
        return left_out(self.data, self.scores, groups=self.stacks)

    def scores_without(self, seen: Flags) -> Array:
        """Return the standard scores of the parameters by a fit to the runs that are seen.

        A prior has its neutral mean if no run of the sources that it depends on is seen.
        """
        data = self.data.rows(seen)
        drawn_to = neutral_scores(seen=np.unique(data.sources).tolist())
        return fit_near(self._near.rows(seen), data, drawn_to)

    def logs(self, fold: Fold) -> Array:
        """Return ln(time [s]) of the judged runs of a fold by a fit to its seen runs."""
        return log_times(self.scores_without(fold.seen), rows(self.data.jobs, fold.judged))

    def widths(self, seen: Flags) -> Fitted:
        """Return the shipped fit with interval widths learned from the seen runs alone."""
        seen = seen & self._is_judged
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
        """Return errors and interval widths of the judged runs of a fold, by a fit to its seen runs."""
        known = self.widths(fold.seen)
        runs = [run for run, judged in zip(self.runs, fold.judged.tolist(), strict=False) if judged]
        width = np.array([spread_of(run, known) for run in runs])
        errors = self.data.logs[fold.judged] - self.logs(fold)
        return Judged(errors, NORMAL_80 * width, NORMAL_95 * width)


def spread_of(run: TransformerRun, known: Fitted) -> float:
    """Return the standard deviation of ln(measured / predicted) of a run predicted from specs.

    Parameters
    ----------
    run : with a case
    known : fit whose spreads, accelerators and stacks count
    """
    return float(novelty_of(run, known).spread_by(known.spreads, run.kind, known))


def fabric_of(run: TransformerRun) -> str:
    """Return the type of link between the nodes of a run, or inside its one node; "" for a single rank."""
    assert run.case is not None
    layout, fabric = run.case.layout, run.case.fabric
    if layout.world_size == 1:
        return ""
    return fabric.inter_link.kind if run.case.nodes > 1 else f"inside {fabric.link.kind}"


def evidence_of(fits: TransformerFolds) -> Evidence:
    """Return the measured runs with their categories, and the fits that judge them."""
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
    return Evidence(KIND, [*facts, *map(facts_of_whole, fits.whole)], fits.judge)


def facts_of_whole(run: TransformerRun) -> Facts:
    """Return the categories of a run of a whole transformer on one accelerator, which tests do not judge."""
    assert run.case is not None
    return Facts(
        run.run_id,
        run.source,
        network_family(run.workload),
        run.case.fabric.accelerator.architecture,
        run.framework.partition("-")[0],
        "",
        run.year,
        1.0,
        is_judged=False,
    )


@cache
def _families() -> dict[str, str]:
    rows = records(folder("validation") / "software_families.csv")
    return {row["stack"]: row["family"] for row in rows}


def family_of(stack: str) -> str:
    """Return the family of a software stack, by its main libraries; by default the stack itself."""
    return _families().get(stack, stack)


@cache
def shipped_transformers() -> TransformerFolds:
    """Return the folds over the shipped runs that fits learn from; computed once."""
    return TransformerFolds(learned_from(shipped_transformer_runs()), shipped_whole_transformers())
