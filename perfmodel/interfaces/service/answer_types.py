"""Types of the answers that no class of the package is already, for the schema."""

from typing import Any, NotRequired

from typing_extensions import TypedDict

from perfmodel.equations.sgd_variants import StragglerPrediction
from perfmodel.interfaces.api.layouts import LayoutCell, LayoutRow
from perfmodel.interfaces.api.ruled_out import RuledOut
from perfmodel.interfaces.service.answer_parts import Economics, TimeToLoss, TimeToTarget
from perfmodel.model.options.understood import Understood
from perfmodel.model.prediction import Prediction
from perfmodel.model.prediction.collectives.collective import Collective
from perfmodel.model.prediction.scaling import ScalingRow


class PredictAnswer(Prediction):
    """A prediction, and what was asked beside it."""

    time_to_target: TimeToTarget | None = None
    """Training to a published quality, where it was asked for."""
    time_to_loss: TimeToLoss | None = None
    """Error against time of every strategy, where it was asked for."""
    economics: Economics | None = None
    """Time, cost, energy and carbon, where they were asked for."""


CollectiveRows = list[Collective]
"""A collective by message size."""


StragglerRows = list[StragglerPrediction]
"""Variants of SGD."""


class ScaleAnswer(TypedDict):
    """A job on several numbers of accelerators."""

    rows: list[ScalingRow]
    """A row for each number, as they were asked for."""
    model: str
    """Which model answers: data-parallel or transformer."""
    scenario: Understood
    """Of the last row."""


class SweepAnswer(TypedDict):
    """Scenarios crossed, each a row."""

    rows: list[dict[str, float | int | str | bool | None]]
    """A value by the name of each column; null where it is not known.  Times in seconds."""
    scenarios: int
    """How many were crossed."""
    refused: dict[str, int]
    """How many could not be, by the reason."""
    notes: list[str]
    """What to know of the rows."""


class LayoutsAnswer(TypedDict):
    """Layouts that fit, the fastest first."""

    workload: str
    """Name of the network."""
    machine: str
    """The accelerators, in words."""
    capacity: float
    """Memory of one accelerator [B]."""
    layouts: list[LayoutRow]
    """The fastest first."""
    ruled_out: RuledOut | None
    """The fastest layout, where memory alone keeps it out."""
    notes: list[str]
    """What to know of the network."""
    wider_because: list[str]
    """What makes the intervals of all layouts wider than usual."""
    grid: list[LayoutCell]
    """Of every degree of tensor parallelism on every number of stages that a layout has."""
    fitting: int
    """Layouts that fit, also those that ``top`` leaves out."""
    candidates: int
    """Layouts that were tried."""
    rejected: dict[str, int]
    """How many do not fit or cannot be, by the reason."""
    economics: NotRequired[Economics]
    """Time, cost, energy and carbon by the first layout, where they were asked for."""


class ValidateAnswer(TypedDict):
    """Measured runs and what the model says of them."""

    rows: list[dict[str, Any]]
    """A row for each: its id and source, what was measured and predicted, the ends of the 80 %
    interval, and the reason where nothing is predicted; times in seconds.  Columns differ by ``kind``."""
    summary: dict[str, Any]
    """Errors (predicted over measured, less 1) in all and by group: how many, mean and median of their size,
    bias, shares within 10 % and 20 %, and how often the intervals hold."""
