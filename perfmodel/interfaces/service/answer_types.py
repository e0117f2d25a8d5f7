"""Types of answers that have no class elsewhere, for the schema."""

from typing import Any, NotRequired

from typing_extensions import TypedDict

from perfmodel.equations.sgd_variants import StragglerPrediction
from perfmodel.interfaces.api.layout_row import LayoutRow
from perfmodel.interfaces.api.layout_ties import AgainstFirst, Ties
from perfmodel.interfaces.api.layouts import LayoutCell
from perfmodel.interfaces.api.ruled_out import RuledOut
from perfmodel.interfaces.service.answer_parts import Economics, TimeToLoss, TimeToTarget
from perfmodel.model.options.understood import Understood
from perfmodel.model.prediction import Prediction
from perfmodel.model.prediction.answer_card import Card
from perfmodel.model.prediction.collectives.collective import Collective
from perfmodel.model.prediction.collectives.measured_collective import MeasuredCollective
from perfmodel.model.prediction.scaling import ScalingRow


class PredictAnswer(Prediction):
    """A prediction, with further results on request."""

    time_to_target: TimeToTarget | None = None
    """Training to a published quality, if requested."""
    time_to_loss: TimeToLoss | None = None
    """Error against time of every update strategy, if requested."""
    economics: Economics | None = None
    """Time, cost, energy and carbon, if requested."""


CollectiveRows = list[Collective]
"""A collective by message size."""

MeasuredCollectiveRows = list[MeasuredCollective]
"""A collective by message size, next to a listing."""


StragglerRows = list[StragglerPrediction]
"""Variants of SGD."""


class ScaleAnswer(TypedDict):
    """A job on several numbers of accelerators."""

    card: Card
    """The answer in short: up to how many accelerators it pays, how fast, how sure."""
    rows: list[ScalingRow]
    """A row for each number, in the order of the request."""
    model: str
    """The model that predicts: data-parallel or transformer."""
    scenario: Understood
    """Scenario of the last row."""


class SweepAnswer(TypedDict):
    """Crossed scenarios, a row for each."""

    rows: list[dict[str, float | int | str | bool | None]]
    """Values by the names of the columns; null where unknown.  Times in seconds."""
    scenarios: int
    """Number of crossed scenarios."""
    refused: dict[str, int]
    """Number of refused scenarios, by reason."""
    notes: list[str]
    """Notes on the rows."""


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
    ties: Ties
    """The layouts of which the model cannot tell whether they or the first are faster."""
    card: Card
    """The answer in short: which layout to take, and how likely it is the fastest."""
    ruled_out: RuledOut | None
    """The fastest layout, if only memory rules it out."""
    notes: list[str]
    """Notes on the network."""
    wider_because: list[str]
    """Reasons why the intervals of all layouts are wider than usual."""
    grid: list[LayoutCell]
    """A cell for every degree of tensor and pipeline parallelism of a layout."""
    fitting: int
    """Number of layouts that fit, including those that ``top`` leaves out."""
    candidates: int
    """Number of layouts that were tried."""
    rejected: dict[str, int]
    """Number of layouts that do not fit or are impossible, by reason."""
    against: AgainstFirst | None
    """The layout that was named, against the first."""
    economics: NotRequired[Economics]
    """Time, cost, energy and carbon with the layout to take, if requested."""


class ExplainedRowsAnswer(TypedDict):
    """Measured rows of one id, each as it was read."""

    rows: list[dict[str, Any]]
    """A row for each: its table and source, what it states and what that was read as, what was measured and
    predicted, the ends of the 80 % interval, and the nearest command; times in seconds."""


class ValidateAnswer(TypedDict):
    """Measured runs compared with the model's predictions."""

    rows: list[dict[str, Any]]
    """A row for each run: id, source, measured and predicted time, ends of the 80 % interval, and the reason
    where there is no prediction; times in seconds.  Columns differ by ``kind``."""
    summary: dict[str, Any]
    """Errors (predicted over measured, less 1) overall and by group: number, mean and median of their size,
    bias, shares within 10 % and 20 %, and coverage of the intervals."""
