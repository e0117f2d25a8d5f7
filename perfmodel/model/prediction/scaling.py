"""A table of the same job on different numbers of accelerators."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from perfmodel.core.files.tables import Record, Table, aligned
from perfmodel.core.units import per_cent, rate, show
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction.alone import predicted_alone, size_alone
from perfmodel.model.prediction.answer_card import Card
from perfmodel.model.prediction.intervals.bound import CUT_BY
from perfmodel.model.prediction.intervals.ratio import ratio_between
from perfmodel.model.prediction.names import accelerator_name, network_name
from perfmodel.model.prediction.result import Interval, Prediction, Ratio
from perfmodel.model.prediction.scaling_card import card_of_scaling, gpus
from perfmodel.model.step.terms import sent

COLUMNS = (
    "world_size",
    "iteration_time",
    "samples_per_second",
    "speedup",
    "scaling_efficiency",
    "exposed_communication_time",
    "low_80",
    "high_80",
)


@dataclass(frozen=True)
class ScalingRow:
    """One number of accelerators; times in seconds."""

    world_size: int
    iteration_time: float
    samples_per_second: float
    """Throughput of the whole job."""
    speedup: float
    """Speed-up over one accelerator."""
    scaling_efficiency: float
    exposed_communication_time: float
    scaling: Literal["weak", "strong"]
    """Whether the batch of one accelerator is fixed, or that of the job."""
    interval: Interval | None
    """Interval of the iteration time [s]."""
    low_80: float | None
    """Lower end of the 80 % interval of the iteration time [s]."""
    high_80: float | None
    """Upper end of the 80 % interval of the iteration time [s]."""
    ratio: Ratio | None
    """Speed over that of the first row; None for the first row."""
    fits: bool
    """Whether the job fits into the memory of an accelerator."""
    fits_probability: float
    """Probability that it fits."""


@dataclass(frozen=True, repr=False)
class Scaling(Table):
    """Throughput and efficiency against the number of accelerators."""

    rows: tuple[ScalingRow, ...]
    predictions: tuple[Prediction, ...]
    """The prediction of each row."""
    alone: Prediction | None
    """The prediction on one accelerator or replica, which linear scaling is counted from; None where that is
    impossible."""

    @property
    def card(self) -> Card:
        """The answer in short: up to how many accelerators it pays, how fast, how sure."""
        return card_of_scaling(self.predictions, alone=self.alone)

    @property
    def notes(self) -> list[str]:
        """Notes on the first row where it does not fit, and on cut intervals."""
        return notes_of(self.predictions)

    def records(self) -> list[Record]:
        """Return the rows, without redundant columns."""
        return [{name: getattr(row, name) for name in (*COLUMNS, "scaling", "fits")} for row in self.rows]

    def to_json(self) -> str:
        """Return JSON of ``card`` and ``rows``, and of ``model`` and ``scenario`` of the last row."""
        rows = [
            vars(row) | {name: _table(getattr(row, name)) for name in ("interval", "ratio")}
            for row in self.rows
        ]
        last = self.predictions[-1]
        answer = {"card": self.card.model_dump(), "rows": rows}
        return json.dumps(answer | {"model": last.model, "scenario": last.scenario})

    def __repr__(self) -> str:
        last = self.predictions[-1]
        scenario, sample = last.scenario, last.sample
        title = (
            f"Scaling: {network_name(scenario['workload'])} on {accelerator_name(scenario['accelerator'])}, "
            f"{scenario['precision']}, {scenario['strategy']}, {last.scaling} scaling"
        )
        rows = [
            (
                str(row.world_size),
                show(row.iteration_time, "s"),
                rate(row.samples_per_second),
                per_cent(row.scaling_efficiency),
            )
            for row in self.rows
        ]
        return aligned(title, ("GPUs", "iteration", f"{sample}s/s", "efficiency"), rows, left=0)


def scaling_of(
    jobs: Sequence[Scenario], predict_each: Callable[[Sequence[Scenario]], Sequence[Prediction]]
) -> Scaling:
    """Return the table of jobs that differ only in the number of accelerators, by what predicts them.

    Raises
    ------
    InputError : as ``predict_each``, of the jobs
    """
    predictions = tuple(predict_each(jobs))
    last = predictions[-1]
    rows = tuple(_row(each, predictions[0]) for each in predictions)
    for each in predictions:
        if each.scenario["world_size"] == size_alone(last) and not each.scenario["servers"]:
            return Scaling(rows, predictions, each)
    return Scaling(rows, predictions, predicted_alone(jobs[-1], last, predict_each))


def _table(record: Interval | Ratio | None) -> dict[str, object] | None:
    """Return the fields of a record as a dictionary; None for None."""
    return None if record is None else record.model_dump()


def _row(prediction: Prediction, first: Prediction) -> ScalingRow:
    """Return the row of a prediction; ``first`` is that of the first row."""
    interval = prediction.interval
    return ScalingRow(
        world_size=prediction.scenario["world_size"],
        iteration_time=prediction.iteration_time,
        samples_per_second=prediction.samples_per_second,
        speedup=prediction.speedup,
        scaling_efficiency=prediction.scaling_efficiency,
        exposed_communication_time=sent(prediction.terms),
        scaling=prediction.scaling,
        interval=interval,
        low_80=interval.low_80 if interval else None,
        high_80=interval.high_80 if interval else None,
        ratio=None if prediction is first else ratio_between(prediction, first, gpus(first)),
        fits=prediction.memory.fits,
        fits_probability=prediction.memory.probability,
    )


def notes_of(predictions: Sequence[Prediction]) -> list[str]:
    """Return notes on the first row where it does not fit, and on cut intervals."""
    first, last = predictions[0], predictions[-1]
    unfit = (
        [f"on {gpus(first)} it {first.memory.verdict}"] if first is not last and not first.memory.fits else []
    )
    return [*unfit, *_cut(predictions)]


def _cut(predictions: Sequence[Prediction]) -> list[str]:
    """Return a note for each bound at which 80 % intervals were cut."""
    counts: dict[str, list[str]] = {}
    for each in predictions:
        cut = each.interval
        if cut is not None and cut.is_cut:
            counts.setdefault(cut.clipped_by or "peaks and links", []).append(
                str(each.scenario["world_size"])
            )
    return [f"{_whose(some, predictions)} is cut at {CUT_BY[by]}" for by, some in counts.items()]


def _whose(some: Sequence[str], predictions: Sequence[Prediction]) -> str:
    """Return the 80 % intervals of some numbers of accelerators, in words."""
    every = len(some) == len(predictions) > 1
    return "every 80 % interval" if every else f"the 80 % interval of {', '.join(some)} GPUs"
