"""Learn the efficiencies of an accelerator's computation from the runs on one accelerator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from perfmodel.core.arrays import Flags
from perfmodel.core.least_squares import least_squares
from perfmodel.evidence.accuracy.measured_runs import Measured
from perfmodel.evidence.accuracy.report.provenance_section import Shares, information_shares
from perfmodel.evidence.fitting.design import Design
from perfmodel.evidence.fitting.row_weights import HUBER, NOISE, row_weights
from perfmodel.model.fitted.efficiency import Efficiency

REFIT: dict[str, Any] = {"converged": 1e-5}
"""Options of a fit to a part of the rows, which starts from the fit to all and needs less precision."""


class EfficiencyFit:
    """The fit to all runs on one accelerator, and fits to a part of them."""

    def __init__(self, measured: Sequence[Measured]) -> None:
        """Fit to the measured runs on one accelerator; ignore the others.

        Runs of transformers determine the rates of linear layers, norms and the like in any network.
        """
        self._alone = np.array([row.is_alone for row in measured])
        rows = [row for row in measured if row.is_alone]
        self._sources = np.array([row.run.source for row in rows])
        self._design = Design([row.setting for row in rows])
        self.parameters = self._design.parameters
        self._times = np.log([row.time for row in rows])
        self._weights = row_weights(self._sources, [row.run.trust for row in rows])
        self._all = self._fit(self._weights)

    def _fit(self, weights: np.ndarray, **options: Any) -> np.ndarray:
        p = self.parameters
        return least_squares(
            self._design.evaluate,
            self._times,
            weights,
            p.mean,
            p.deviation,
            noise=NOISE,
            robust=HUBER,
            longest_step=0.6,
            **options,
        )

    def numbers(self, seen: Flags | None = None) -> dict[str, float]:
        """Return the learned numbers by name, to six digits.

        The numbers of an architecture or a network without a run are left out.

        Parameters
        ----------
        seen : which of all measured runs the fit learns from, shape (measured,); by default all
        """
        kept = np.ones(len(self._times), bool) if seen is None else seen[self._alone]
        if kept.all():
            return self._named(self._all, kept)
        weights = np.where(kept, self._weights, 0.0)
        return self._named(self._fit(weights, start=self._all, **REFIT), kept)

    def shares(self) -> Shares:
        """Return the sources that determine each learned number, as ``information_shares`` does."""
        p = self.parameters
        slopes = self._design.evaluate(self._all)[1] * p.deviation
        return information_shares(p.names, slopes, self._weights, self._sources)

    def _named(self, numbers: np.ndarray, kept: np.ndarray) -> dict[str, float]:
        """Return numbers by name, without those of architectures and networks that have no row."""
        every = zip(self.parameters.effects, self._design.effects, strict=True)
        silent = {number for effect, (number, _, on) in every if effect.level and not on[kept].any()}
        named = zip(self.parameters.names, numbers.tolist(), strict=True)
        return {
            name: float(f"{value:.6g}") for number, (name, value) in enumerate(named) if number not in silent
        }

    def efficiency(self, seen: Flags | None = None) -> Efficiency:
        """Return the learned efficiencies, for ``predict``; ``seen`` is that of ``numbers``."""
        return Efficiency(self.numbers(seen))
