"""All learned numbers of data-parallel training: from all sources, and without each source in turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from perfmodel.core.arrays import Flags, Names
from perfmodel.core.errors import refusal
from perfmodel.core.processes import each
from perfmodel.evidence.accuracy.anchors import Anchors
from perfmodel.evidence.accuracy.measured_runs import (
    Measured,
    measured,
    shipped_whole_transformers,
    whole_transformers,
)
from perfmodel.evidence.accuracy.scenarios import scenario_of_run
from perfmodel.evidence.accuracy.training_rows import TRUSTED, Run, shipped_runs
from perfmodel.evidence.accuracy.transformers.leave_out_transformers import (
    TransformerFolds,
    shipped_transformers,
)
from perfmodel.evidence.fitting.components import Scaled, learn_components, learn_freedom
from perfmodel.evidence.fitting.efficiency_fit import EfficiencyFit
from perfmodel.evidence.fitting.runs import reach
from perfmodel.evidence.fitting.runs import seen as seen_of
from perfmodel.evidence.fitting.scaling_fit import Anchored, AnchoredTime, ScalingFit
from perfmodel.evidence.fitting.spread import Miss, learn_spread
from perfmodel.evidence.fitting.straggler_fit import StragglerFit, predicted_runs, rows_of
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import Calibration, before_fit, with_scaling
from perfmodel.model.fitted.own_effects import component_keys
from perfmodel.model.prediction import time_and_strengths
from perfmodel.model.prediction.intervals.interval import deviation
from perfmodel.model.prediction.limits import crossed_link
from perfmodel.model.setting.resolve import resolve
from perfmodel.model.step.layer_rates import conditions
from perfmodel.model.transformers.parameters import fitted, named

LeftOut: TypeAlias = tuple[Literal["source", "architecture"], str]
"""The group that a fold leaves out: a source or an architecture, and its name."""


class Judged(NamedTuple):
    """A fit without a group of runs, and its errors on them."""

    constants: Calibration
    """Learned numbers of that fit, without spreads of intervals."""
    misses: dict[int, tuple[Miss, Miss | None]]
    """Errors by index of the run: from specs, and anchored if there is an anchor."""


class OutOfSample:
    """Fits to measured runs: to all, and without each source, so that no run is judged by a fit to itself."""

    def __init__(self, runs: Sequence[Run], catalogue: Catalogue | None = None, jobs: int = 1) -> None:
        """Select the runs of trust A and B that the model can predict; fit computation to them.

        Parameters
        ----------
        runs : measured runs
        catalogue : hardware that they name; by default the built-in catalogue
        jobs : number of processes that fit; it does not change the fits

        Raises
        ------
        InputError : no run on one accelerator can be learned from
        """
        self._catalogue = Catalogue.of(catalogue)
        self.jobs = jobs
        self._has_shipped = set(shipped_runs()) <= set(runs)
        self._runs = [run for run in runs if run.trust in TRUSTED]
        self.measured = measured(self._runs, self._catalogue)
        self._alone = np.array([row.run.world_size == 1 for row in self.measured])
        if not self._alone.any():
            raise refusal("fit.nothing")
        self.efficiency = EfficiencyFit(self.measured)
        self._anchors = Anchors(self._runs)
        self.sources = sorted({row.run.source for row in self.measured})
        self._groups: dict[str, Names] = {
            "source": np.array([row.run.source for row in self.measured]),
            "architecture": np.array([conditions(row.setting).architecture for row in self.measured]),
        }
        self.architectures = sorted(set(self._groups["architecture"][self._alone].tolist()))
        self._known: dict[str | None, Calibration] = {}

    @cached_property
    def transformers(self) -> TransformerFolds | None:
        """The fit to runs of transformers and to measured runs of a whole one; None without the latter."""
        whole = whole_transformers(self.measured)
        if not whole:
            return None
        times = [(run.run_id, run.time) for run in whole]
        if times == [(run.run_id, run.time) for run in shipped_whole_transformers()]:
            return shipped_transformers()
        return TransformerFolds(shipped_transformers().runs, whole)

    def of_transformers(self, seen: Flags | None = None, others: Flags | None = None) -> Mapping[str, float]:
        """Return the learned numbers of transformers by name, to six digits.

        Parameters
        ----------
        seen : which of the measured runs the fit learns from, shape (measured,); all by default
        others : which of the shipped runs of transformers it learns from, shape (runs,); all by default
        """
        folds = self.transformers
        if folds is None:
            return fitted().parameters
        ids = {run.run_id for run in folds.whole}
        is_whole = np.array([row.run.run_id in ids for row in self.measured])
        every = np.ones(len(folds.runs), dtype=bool) if others is None else others
        every = np.append(every, np.ones(len(folds.whole), dtype=bool) if seen is None else seen[is_whole])
        scores = folds.scores if every.all() else folds.scores_without(every)
        return {name: float(f"{value:.6g}") for name, value in named(scores).items()}

    @cached_property
    def stragglers(self) -> StragglerFit:
        """The fit of what spreads steps, to runs on several ranks; with the shipped ones of more sources."""
        runs = [*dict.fromkeys([*(predicted_runs() if self._has_shipped else ()), *self._runs])]
        constants = self._efficient(None)
        links = ScalingFit([*self._anchored()], constants, self.jobs).numbers()
        return StragglerFit(rows_of(runs, self._catalogue, with_scaling(constants, links)))

    @cached_property
    def scaling(self) -> ScalingFit:
        """The fit to runs on several accelerators."""
        constants = with_scaling(self._efficient(None), self.stragglers.learned().numbers)
        return ScalingFit([*self._anchored()], constants, self.jobs)

    def calibration(self, without: str | None = None) -> Calibration:
        """Return the learned numbers, spreads of intervals included, from all sources or without one."""
        if without not in self._known:
            others = {
                mode: [miss for miss in misses if miss.source != without]
                for mode, misses in self._misses.items()
            }
            farther = {"specs": [miss for _, miss in self._farther if miss.source != without]}
            spread = {
                mode: learn_spread(misses, farther.get(mode, [])) for mode, misses in others.items() if misses
            }
            if without in self.sources:
                whole = self._judged["source", without].constants
            else:
                whole = self._scaled(None, unseen=frozenset({without} if without else ()))
            self._known[without] = whole._replace(spread=spread)
        return self._known[without]

    def of(self, run: Run) -> Calibration:
        """Return the learned numbers without the source of ``run``."""
        return self.calibration(
            run.source if run.source in {*self.sources, *self.stragglers.sources} else None
        )

    def from_some(self, seen: Flags, others: Flags | None = None) -> Calibration:
        """Return the numbers learned from a part of the runs, with the spread of intervals from specs.

        Parameters
        ----------
        seen : which of ``measured`` the fit learns from, shape (measured,)
        others : as in ``of_transformers``
        """
        misses = [miss for place, miss in enumerate(self._misses["specs"]) if seen[place]]
        farther = [miss for place, miss in self._farther if seen[place]]
        left_out = frozenset(self.sources).difference(self._groups["source"][seen].tolist())
        some = self._scaled(seen, left_out, others, left_out, self._ids(seen))
        return some._replace(spread={"specs": learn_spread(misses, farther)})

    def _ids(self, seen: Flags) -> frozenset[str]:
        """Return the ids of a part of the measured runs."""
        kept = zip(self.measured, seen.tolist(), strict=True)
        return frozenset(row.run.run_id for row, is_kept in kept if is_kept)

    def counts(self) -> dict[str, int]:
        """Return the number of runs that each part was fitted to."""
        return {
            "one accelerator": int(self._alone.sum()),
            "anchored": len(self._misses.get("anchored", [])),
            "all": len(self.measured),
        }

    def components(self, without: str | None = None) -> dict[str, float]:
        """Return the standard deviations of ``learn_components``, and ``freedom`` of ``learn_freedom``.

        Empty if no source could be left out.

        Parameters
        ----------
        without : a source whose runs must not be used
        """
        if "specs" not in self._misses:
            return {}
        spread = self.calibration(without).spread["specs"]
        rows = []
        for row, miss in zip(self.measured, self._misses["specs"], strict=True):
            if miss.source == without:
                continue
            on = conditions(row.setting)
            keys = component_keys(on.framework, on.precision, on.accelerator, on.workload)
            link = crossed_link(row.setting).id if row.setting.world_size > 1 else None
            width, communication = deviation(miss.strengths, spread), miss.strengths["communication"]
            error = miss.error / width
            rows.append(Scaled(miss.source, error, width, communication, {**keys, "link": link}))
        return {**learn_components(rows), "freedom": learn_freedom(rows)}

    def _efficient(
        self, seen: Flags | None, left_out: frozenset[str] = frozenset(), others: Flags | None = None
    ) -> Calibration:
        """Return the learned numbers of computation, from a part of the measured runs or from all.

        Priors that depend on a source of ``left_out`` alone have their neutral means.
        """
        kept = [True] * len(self.measured) if seen is None else seen.tolist()
        rows = [row for row, is_kept in zip(self.measured, kept, strict=True) if is_kept]
        known = before_fit(left_out)._replace(seen=seen_of(rows), reach=reach(rows))
        efficiency = self.efficiency.efficiency(seen)
        return known._replace(
            efficiency=efficiency,
            transformers={**self.of_transformers(seen, others), **efficiency.of_transformers},
        )

    def _scaled(
        self,
        seen: Flags | None,
        left_out: frozenset[str] = frozenset(),
        others: Flags | None = None,
        unseen: frozenset[str] = frozenset(),
        only: frozenset[str] | None = None,
    ) -> Calibration:
        """Return all learned numbers but spreads, from a part of the measured runs or from all.

        Parameters
        ----------
        seen, left_out, others : as in ``_efficient``
        unseen, only : sources, and ids of all runs, that the spread of steps is not or only learned from
        """
        constants = self._efficient(seen, left_out, others)
        constants = with_scaling(constants, self.stragglers.learned(unseen, only).numbers)
        return with_scaling(constants, self.scaling.numbers(constants, seen))

    def _anchored(self) -> Iterator[Anchored]:
        """Yield the measured runs on several accelerators that have an anchor."""
        for place, row in enumerate(self.measured):
            anchor = self._anchor_time(row)
            if anchor is not None:
                setting = resolve(scenario_of_run(row.run, self._catalogue, anchor), self._catalogue)
                yield Anchored(row.run.source, row.run.trust, AnchoredTime(setting), row.time, place)

    def _anchor_time(self, row: Measured) -> float | None:
        """Return the time of one accelerator in the same source [s], None if unknown or ambiguous."""
        anchor = self._anchors.of(row.run) if row.run.world_size > 1 else None
        return anchor.iteration_time if anchor is not None and anchor.unique else None

    @cached_property
    def _misses(self) -> dict[str, list[Miss]]:
        """Errors of the runs by mode, each by a fit without its source."""
        of_rows: dict[int, tuple[Miss, Miss | None]] = {}
        for source in self.sources:
            of_rows |= self._judged["source", source].misses
        specs, anchored = zip(*(of_rows[place] for place in range(len(self.measured))), strict=True)
        result = {"specs": [*specs], "anchored": [miss for miss in anchored if miss is not None]}
        return {mode: misses for mode, misses in result.items() if misses}

    @cached_property
    def _farther(self) -> list[tuple[int, Miss]]:
        """Index and error of the runs on one accelerator, each by a fit without its architecture."""
        return [
            (place, miss)
            for architecture in self.architectures
            for place, (miss, _) in self._judged["architecture", architecture].misses.items()
        ]

    @cached_property
    def _judged(self) -> dict[LeftOut, Judged]:
        """The fit without each source and each architecture, and its errors on their runs."""
        _ = (
            self.transformers,
            self.stragglers,
            self.scaling,
        )  # fitted before processes start: folds are linear around them
        left_out: list[LeftOut] = [("source", source) for source in self.sources]
        left_out += [("architecture", name) for name in self.architectures]
        return dict(each(OutOfSample.judge, self, left_out, self.jobs))

    def judge(self, left_out: LeftOut) -> Judged:
        """Return the fit without a source, or without an architecture's runs, and its errors on these runs.

        Errors on an architecture are those of its runs on one accelerator.  Worker processes call this
        method.
        """
        what, name = left_out
        mine = self._groups[what] == name
        others = self._others(what, name)
        if what == "source":
            constants = self._scaled(~mine, others=others, unseen=frozenset({name}))
        else:
            constants, mine = self._efficient(~mine, others=others), mine & self._alone
        misses: dict[int, tuple[Miss, Miss | None]] = {}
        for place in np.flatnonzero(mine).tolist():
            row = self.measured[place]
            anchor = self._anchor_time(row) if what == "source" else None
            anchored = None if anchor is None else self._miss(row, constants, anchor)
            misses[place] = self._miss(row, constants, None), anchored
        return Judged(constants, misses)

    def _others(self, what: str, name: str) -> Flags | None:
        """Return which shipped runs of transformers a fit without a group learns from; None without any."""
        if self.transformers is None:
            return None
        runs = self.transformers.runs
        if what == "source":
            return np.array([run.source != name for run in runs])
        return np.array([run.case is None or run.case.fabric.accelerator.pool != name for run in runs])

    def _miss(self, row: Measured, constants: Calibration, anchor: float | None) -> Miss:
        """Return the error of a run, predicted from specs or from the time of an anchor [s]."""
        scenario = scenario_of_run(row.run, self._catalogue, anchor)
        time, strengths = time_and_strengths(scenario, self._catalogue, constants)
        return Miss(row.run.source, float(np.log(time / row.time)), strengths)


def with_shipped_runs(runs: Sequence[Run], catalogue: Catalogue | None = None, jobs: int = 1) -> OutOfSample:
    """Return fits to a user's runs and the shipped ones together, by which the user's runs are judged.

    Equal runs count once; other parameters are those of ``OutOfSample``.
    """
    return OutOfSample([*dict.fromkeys([*shipped_runs(), *runs])], catalogue, jobs)


def shipped(jobs: int = 1) -> OutOfSample:
    """Return fits to the shipped runs; computed once, by ``jobs`` processes."""
    result = _shipped()
    result.jobs = jobs
    return result


@cache
def _shipped() -> OutOfSample:
    return OutOfSample(shipped_runs())
