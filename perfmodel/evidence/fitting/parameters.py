"""The parameters fitted to one accelerator's iterations, with their priors.

The prior of each number has a mean and a standard deviation of its logarithm, chosen before any fit:
efficiencies of products from the vendors' guides, memory bandwidth at the share that copies reach, effects of
an architecture or a network at zero.  The fit is drawn towards them (partial pooling), so that a number with
few rows stays close to that of its family.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from perfmodel.core.arrays import Array
from perfmodel.model.fitted.efficiency import CLASSES, GROUPS, KINDS, SIZES, UNITS, Efficiency

SHARE_OF_PEAK: dict[str, tuple[float, ...]] = {
    "vector": (1.35, 0.75, 0.75, 0.90, 0.60, 0.85, 0.60, 0.45, 0.35),
    "vector-fp16": (0.85, 0.75, 0.75, 0.90, 0.60, 0.85, 0.60, 0.45, 0.35),
    "matrix-16": (0.75, 0.60, 0.70, 0.50, 0.15, 0.80, 0.60, 0.0, 0.20),
    "matrix-tf32": (0.75, 0.60, 0.70, 0.50, 0.15, 0.80, 0.60, 0.0, 0.15),
}
"""Unit -> share of the peak that a very large product of each class reaches, in the order of ``CLASSES``.

It may exceed 1 by Winograd's algorithm.  Matrix units run no depthwise convolutions."""
HALF = {"half_work": (3000.0, 4000.0), "half_depth": (30.0, 60.0), "half_columns": (8.0, 30.0)}
"""Size at which a product reaches half its rate, on vector and matrix units."""
SHARE_OF_BANDWIDTH = 0.78
"""Share of the nominal memory bandwidth that a copy inside the device reaches."""


LAUNCHES = {
    "kernel_floor": (math.log(4e-6), 0.2),
    "product_set_up": (math.log(30e-6), 0.3),
    "dispatch_time": (math.log(15e-6), 0.3),
    "iteration_overhead": (math.log(0.5e-3), 0.5),
}
"""Mean and standard deviation of the logarithm of each time [s].

Published: 6 us from Python for each ``zero_`` of a small tensor (pytorch/pytorch pull request 47286), 10 us
for a linear module's forward pass (50431), 20 us from a launch on the host to its kernel on a V100 (NVIDIA's
"Understanding the Visualization of Overhead and Latency in Nsight Systems"), 0.13 ms for a call of a session
of TensorFlow that does nothing (sillycross/tfcpptest); all read 2026-11-26.  An iteration also calls a loader
and reads a loss; it is assumed to take a few such calls.

The prior of a product's set-up is an exception, chosen with the rows in view: with means of 10 to 20 us,
errors of ResNets left out by source were larger by 5 % of their value.  The rows that determine it
(ryujaehun, batches of 12) also include a copy of the batch from the host, so that it may be too long.
"""


class Effect(NamedTuple):
    """A number that acts on one component of a row's time, if a condition holds or in proportion to it."""

    number: int
    """Index of the number."""
    component: str
    """Field of ``Effects``."""
    condition: str
    """Field of ``Conditions``."""
    level: str | None
    """Value that the condition must have; None if the effect is proportional to it."""


class Parameters:
    """The numbers that a fit learns: names, priors, and the part of the time that each acts on."""

    def __init__(self, architectures: Iterable[str], workloads: Iterable[str]) -> None:
        """List the numbers for the architectures and networks of the measured rows."""
        self.names: list[str] = []
        self._mean: list[float] = []
        self._deviation: list[float] = []
        self.effects: list[Effect] = []
        self.slowdown = np.full((len(UNITS), len(CLASSES) + 1), -1)
        for column, product in enumerate(CLASSES):
            for row, unit in enumerate(UNITS):
                share = SHARE_OF_PEAK[unit][column]
                if share:
                    spread = 0.32 if product == "depthwise" else 0.2
                    name = f"slowdown/{unit}/{product}"
                    self.slowdown[row, column] = self._add(name, -math.log(share), spread)
        copy = -math.log(SHARE_OF_BANDWIDTH)
        self.traffic = np.array([self._add(f"traffic/{kind}", copy, 0.1) for kind in KINDS])
        self.half = np.array(
            [
                [self._add(f"{size}/{g}", math.log(HALF[size][i]), 0.7) for i, g in enumerate(GROUPS)]
                for size in SIZES
            ]
        )
        self.kernel_floor = self._add("kernel_floor", *LAUNCHES["kernel_floor"])
        self.product_set_up = self._add("product_set_up", *LAUNCHES["product_set_up"])
        self.dispatch_time = self._add("dispatch_time", *LAUNCHES["dispatch_time"])
        self.iteration_overhead = self._add("iteration_overhead", *LAUNCHES["iteration_overhead"])
        self.optimizer_kernels = self._add("optimizer_kernels", math.log(2.0), 0.5)
        self.channels_first = self._add("channels_first", 0.0, 0.5)
        for architecture in sorted(architectures):
            for component, spread in (("vector", 0.4), ("matrix", 0.15), ("traffic", 0.15)):
                name = f"architecture/{component}/{architecture}"
                self._effect(name, component, "architecture", 0.0, spread, architecture)
        self._effect("power", "matrix", "power", 0.3, 0.4)
        self._effect("year/matrix", "matrix", "year", -0.05, 0.05)
        self._effect("year/elementwise", "elementwise", "year", -0.03, 0.05)
        self._effect("year/light", "light", "year", -0.15, 0.1)
        self._effect("fused", "elementwise", "fused", -0.25, 0.15)
        self._effect("unfused_transformer", "elementwise", "unfused_transformer", 0.5, 0.3)
        self._effect("detection", "total", "detection", 0.3, 0.2)
        for workload in sorted(workloads):
            self._effect(f"workload/{workload}", "total", "workload", 0.0, 0.1, workload)
        self.mean: Array = np.array(self._mean)
        """Prior means, shape (parameters,)."""
        self.deviation: Array = np.array(self._deviation)
        """Prior standard deviations, shape (parameters,)."""

    def _add(self, name: str, mean: float, deviation: float) -> int:
        self.names.append(name)
        self._mean.append(mean)
        self._deviation.append(deviation)
        return len(self.names) - 1

    def _effect(
        self, name: str, component: str, condition: str, mean: float, spread: float, level: str | None = None
    ) -> None:
        self.effects.append(Effect(self._add(name, mean, spread), component, condition, level))

    def efficiency(self, numbers: Array) -> Efficiency:
        """Return numbers, shape (parameters,), as the efficiencies that predictions use."""
        return Efficiency(dict(zip(self.names, numbers.tolist(), strict=True)))
