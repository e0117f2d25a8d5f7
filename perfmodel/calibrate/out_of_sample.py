"""Everything that is learned, once from all sources and once without each of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from perfmodel.calibrate.efficiency_fit import EfficiencyFit
from perfmodel.calibrate.runs import TRUSTED, Measured, measured
from perfmodel.calibrate.spread import Miss, learn_spread
from perfmodel.calibration import Calibration, calibration
from perfmodel.prediction import doubted
from perfmodel.specs.store import Catalogue
from perfmodel.validate.anchors import Anchors
from perfmodel.validate.runs import Run
from perfmodel.validate.scenarios import scenario_of


class OutOfSample:
    """The calibrations that each source's runs are judged by."""

    def __init__(self, runs: Sequence[Run], catalogue: Catalogue | None = None) -> None:
        """Take every measured run; each is judged by a calibration that has not seen its source."""
        self._catalogue = catalogue or Catalogue.built_in()
        self._runs = [run for run in runs if run.trust in TRUSTED]
        self._measured = measured(self._runs, self._catalogue)
        self.efficiency = EfficiencyFit(self._measured)
        self.sources = sorted({row.run.source for row in self._measured})
        self._known: dict[str | None, Calibration] = {}

    def calibration(self, without: str | None = None) -> Calibration:
        """Return what is learned from all sources but one, the width of its intervals included."""
        if without not in self._known:
            mine = self._numbers(without)
            spread = {
                mode: learn_spread([miss for miss in misses if miss.source != without])
                for mode, misses in self._misses.items()
            }
            self._known[without] = mine._replace(spread=spread)
        return self._known[without]

    def of(self, run: Run) -> Calibration:
        """The calibration that judges ``run``."""
        return self.calibration(run.source if run.source in self.sources else None)

    def seen(self, without: str | None = None) -> dict[str, frozenset[str]]:
        """What the remaining runs were made with."""
        rows = [row for row in self._measured if row.run.source != without]
        return {
            "accelerator": frozenset(row.setting.accelerator.id for row in rows),
            "link": frozenset(_link(row) for row in rows if row.run.world_size > 1),
        }

    def _numbers(self, without: str | None) -> Calibration:
        return calibration()._replace(
            efficiency=self.efficiency.efficiency(without), seen=self.seen(without), spread={}
        )

    @cached_property
    def _misses(self) -> dict[str, list[Miss]]:
        """How far each source is missed, by mode, when it is left out."""
        anchors = Anchors(self._runs)
        found: dict[str, list[Miss]] = {"specs": [], "anchored": []}
        folds = {source: self._numbers(source) for source in self.sources}
        for row in self._measured:
            found["specs"].append(self._miss(row, folds[row.run.source], None))
            anchor = anchors.of(row.run) if row.run.world_size > 1 else None
            if anchor is not None and anchor.unique:
                found["anchored"].append(self._miss(row, folds[row.run.source], anchor.iteration_time))
        return {mode: misses for mode, misses in found.items() if misses}

    def _miss(self, row: Measured, constants: Calibration, anchor: float | None) -> Miss:
        scenario = scenario_of(row.run, self._catalogue, anchor)
        time, doubts = doubted(scenario, self._catalogue, constants)
        strengths = {doubt.name: doubt.strength for doubt in doubts}
        return Miss(row.run.source, float(np.log(time / row.time)), strengths)


def _link(row: Measured) -> str:
    setting = row.setting
    return setting.inter_link.id if setting.nodes > 1 else setting.intra_link.id
