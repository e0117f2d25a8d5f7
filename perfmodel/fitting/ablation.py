"""Ablation: how much each part of the model reduces the error on unseen sources."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import fmean, median
from typing import NamedTuple

import numpy as np

from perfmodel.accuracy.compare import compare
from perfmodel.accuracy.runs import Run
from perfmodel.accuracy.summary import counted
from perfmodel.calibration import Calibration
from perfmodel.fitting.efficiency_fit import EfficiencyFit
from perfmodel.fitting.out_of_sample import OutOfSample
from perfmodel.templating import render


class Without(NamedTuple):
    """The errors that are left when one ingredient is taken out and everything is fitted again."""

    ingredient: str
    n: int
    mean: float
    median: float


NOTHING = -20.0
"""Logarithm of a constant small enough to have no effect."""
FROM_ONE = (
    ("size-dependent efficiency", (("half_", NOTHING),)),
    ("launch floor", (("kernel_floor", NOTHING),)),
    ("host dispatch", (("dispatch_time", NOTHING),)),
    ("fixed time of an iteration", (("iteration_overhead", NOTHING),)),
    ("optimizer's kernels", (("optimizer_kernels", NOTHING),)),
    ("transposes of channels-first images", (("channels_first", NOTHING),)),
    ("effects of architectures", (("architecture", 0.0),)),
    ("power of matrix units", (("power", 0.0),)),
    ("year of the software", (("year", 0.0),)),
    ("fusion by the framework", (("fused", 0.0), ("unfused", 0.0))),
    ("effects of networks", (("workload", 0.0),)),
    ("fitting at all: priors alone", (("", None),)),
)
"""Ingredients of one accelerator's time -> the numbers that carry it, and what they are held at."""


def on_one_accelerator(learned: OutOfSample) -> Iterator[Without]:
    """Error from specs on runs with one accelerator, by ingredient left out."""
    rows = [row for row in learned.measured if row.run.world_size == 1]
    yield _judged("all of them", EfficiencyFit(rows))
    for ingredient, held in FROM_ONE:
        yield _judged(ingredient, EfficiencyFit(rows, held))
    yield _judged("pooling: no priors on effects", EfficiencyFit(rows, loosened=10.0))
    yield _judged("layer by layer roofline: one rate for all products", EfficiencyFit(rows, one_class=True))


def _judged(ingredient: str, fitted: EfficiencyFit) -> Without:
    errors = np.abs(np.expm1(fitted.out_of_sample_errors()))
    return Without(ingredient, len(errors), float(errors.mean()), float(np.median(errors)))


FROM_SEVERAL: tuple[tuple[str, dict[str, object]], ...] = (
    ("stragglers", {"jitter": "none"}),
    ("overlap", {"overlap": "none"}),
    ("topology: links of its kind at the nominal rate", {}),
    ("input", {"input": "synthetic"}),
)


def on_several(runs: Sequence[Run], learned: OutOfSample) -> Iterator[Without]:
    """Anchored error on several accelerators, by ingredient left out."""
    yield _anchored("all of them", runs, learned.of, {})
    for ingredient, changed in FROM_SEVERAL:
        constants = learned.of if changed else _nominal(learned)
        yield _anchored(ingredient, runs, constants, changed)
    yield _anchored("contention for what computes", runs, _changed(learned, contention=0.0), {})
    yield _anchored("host memory between cards", runs, _changed(learned, staged_fraction=1.0), {})
    yield _anchored("ceiling of the kernel's TCP", runs, _changed(learned, tcp_ceiling=1e12), {})
    yield _anchored("replicas made in Python", runs, _changed(learned, replica_dispatches=0.0), {})


def _changed(learned: OutOfSample, **numbers: float) -> Callable[[Run], Calibration]:
    return lambda run: learned.of(run)._replace(**numbers)  # type: ignore[arg-type]


def _nominal(learned: OutOfSample) -> Callable[[Run], Calibration]:
    def constants(run: Run) -> Calibration:
        known = learned.of(run)
        return known._replace(
            link_fraction=dict.fromkeys(known.link_fraction, 1.0), tcp_ceiling=1e12, staged_fraction=1.0
        )

    return constants


def _anchored(
    ingredient: str, runs: Sequence[Run], constants: Callable[[Run], Calibration], changed: dict[str, object]
) -> Without:
    rows = compare(runs, "anchored", constants=constants, changed=changed)
    errors = [abs(row.error) for row in rows if counted(row) and row.error is not None]
    return Without(ingredient, len(errors), fmean(errors), median(errors))


def section(runs: Sequence[Run], learned: OutOfSample) -> str:
    """Return the section of the report, as Markdown; the first row of each table is the whole model."""
    return render(
        "ablation.md.j2",
        tables={
            "from specs, one accelerator, without": list(on_one_accelerator(learned)),
            "anchored, several accelerators, without": list(on_several(runs, learned)),
        },
    )
