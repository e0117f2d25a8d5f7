"""Types of the answers that no class of the package is already, for the schema."""

from typing import Any, NotRequired

from typing_extensions import TypedDict

from perfmodel.api.layouts import LayoutCell, LayoutRow, RuledOut
from perfmodel.api.plan import Launch, Plan
from perfmodel.api.scale import ScalingRow
from perfmodel.prediction import Prediction
from perfmodel.specs.understood import Understood


class PredictAnswer(Prediction):
    """A prediction, and what was asked beside it."""

    time_to_target: dict[str, Any] | None = None
    """Target, recipe, epochs and time [s], where it was asked for."""
    time_to_loss: dict[str, Any] | None = None
    """Time to a loss [s] of every strategy, where it was asked for."""
    economics: dict[str, Any] | None = None
    """Time [s], cost [USD], energy [kWh] and carbon [g], where they were asked for."""


class ScaleAnswer(TypedDict):
    """A job on several numbers of accelerators."""

    rows: list[ScalingRow]
    scenario: Understood
    """Of the last row."""


class SweepAnswer(TypedDict):
    """Scenarios crossed, each a row."""

    rows: list[dict[str, Any]]
    """A value by the name of each column; null where it is not known.  Times in seconds."""
    scenarios: int
    """How many were crossed."""
    refused: dict[str, int]
    """How many could not be, by the reason."""
    notes: list[str]


class LayoutsAnswer(TypedDict):
    """Layouts that fit, the fastest first."""

    workload: str
    machine: str
    capacity: float
    """Memory of one accelerator [B]."""
    layouts: list[LayoutRow]
    ruled_out: RuledOut | None
    """The fastest layout, where memory alone keeps it out."""
    grid: list[LayoutCell]
    """Of every degree of tensor parallelism on every number of stages that a layout has."""
    fitting: int
    candidates: int
    rejected: dict[str, int]


class PlanAnswer(TypedDict):
    """What to hire, and why not others; times in seconds, energy in kWh, carbon in grams."""

    goal: dict[str, Any]
    verdict: list[str]
    met: bool
    """Whether a plan of known price meets every limit."""
    chosen: Plan | None
    cheapest: Plan | None
    fastest: Plan | None
    surest: Plan | None
    front: list[Plan]
    """Plans that no other beats in time and cost at once, the fastest first."""
    energy_front: list[Plan]
    lost: list[dict[str, Any]]
    candidates: int
    layouts: int
    left_out: dict[str, int]
    impossible: list[str]
    unpriced: list[dict[str, Any]]
    prices: list[dict[str, Any]]
    target: str | None
    recipe: str | None
    launch: Launch | None
    notes: list[str]
    plans: NotRequired[list[dict[str, Any]]]
    """A page of all plans that were tried, the cheapest first; only where ``limit`` asks for it."""
    next_offset: NotRequired[int | None]
    """Where the next page begins; null after the last."""


class ValidateAnswer(TypedDict):
    """Measured runs and what the model says of them."""

    rows: list[dict[str, Any]]
    summary: dict[str, Any]


class TraceAnswer(TypedDict, total=False):
    """What profilers saw; times in seconds."""

    devices: list[dict[str, Any]]
    recommendations: Any
    nccl_tests: list[Any]
