"""Types of the answers that no class of the package is already, for the schema."""

from typing import Any, NotRequired

from typing_extensions import TypedDict

from perfmodel.equations.sgd_variants import StragglerPrediction
from perfmodel.interfaces.api.layouts import LayoutCell, LayoutRow
from perfmodel.interfaces.api.plan import Alternative, Launch, Plan, RejectedPlan, UnpricedMachine
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


class MachinePrice(TypedDict):
    """The price of a machine that plans were made for."""

    name: str
    """Of the machine: its provider's, or the node's id."""
    node: str
    """Id of the machine."""
    provider: str | None
    """Who rents it out; null where nobody does."""
    usd_per_hour: float
    """Of one node [USD/h]."""
    basis: str
    """``on demand``, ``given`` or ``purchase``."""
    instance: str | None
    """The provider's name of it; null where nobody rents it out."""
    region: str | None
    """Where the price holds; null where it was given."""
    date: str | None
    """When it was read; null where it was given."""
    source: str | None
    """Who says so; null where it was given."""
    carbon_intensity: float | None
    """Of the grid of the region [g CO2/kWh]; null where that is not known."""


class PlanAnswer(TypedDict):
    """What to hire, and why not others; times in seconds, energy in kWh, carbon in grams."""

    goal: dict[str, Any]
    """What was asked for, with what was taken for the rest; by the names of the options."""
    verdict: list[str]
    """What to hire, how sure that is, and what else to consider."""
    met: bool
    """Whether a plan of known price meets every limit."""
    chosen: Plan | None
    """The cheapest that meets the deadline with a probability of 80 %; where none does, the most probable of
    those that cost at most 10 % more than the cheapest predicted to.  Where only a budget is given, the
    fastest within it, likewise."""
    cheapest: Plan | None
    """The cheapest that meets the deadline."""
    fastest: Plan | None
    """The fastest within the budget."""
    surest: Plan | None
    """The cheapest that meets the deadline at the upper end of its 80 % interval too."""
    alternatives: list[Alternative]
    """Other values of defaults that may decide, where no plan likely meets the limits: option, default,
    value, meets (whether a plan then meets them all) and the plan."""
    front: list[Plan]
    """Plans that no other beats in time and cost at once, the fastest first."""
    energy_front: list[Plan]
    """Plans that no other beats in time and energy at once, the fastest first."""
    lost: list[RejectedPlan]
    """The best plan of every machine that was not chosen, with the reason."""
    candidates: int
    """How many plans were tried."""
    layouts: int
    """How many layouts were timed, of which each plan that has one is the fastest that fits."""
    left_out: dict[str, int]
    """How many plans could not be, by the reason."""
    impossible: list[str]
    """Machines on which no plan could be made."""
    unpriced: list[UnpricedMachine]
    """Machines without a price, and what would be worth paying."""
    prices: list[MachinePrice]
    """Of every machine that has one."""
    target: str | None
    """Quality that ends the run; null where its length is given."""
    recipe: str | None
    """How training to it goes; null without a target."""
    launch: Launch | None
    """How to predict and start the plan chosen; null where torchrun cannot start it."""
    notes: list[str]
    """What was taken for granted, and what would make the answer better."""
    plans: NotRequired[list[Plan]]
    """A page of all plans that were tried, the cheapest first; only where ``limit`` asks for it."""
    next_offset: NotRequired[int | None]
    """Where the next page begins; null after the last."""


class ExplainedRowsAnswer(TypedDict):
    """Measured rows of one id, each as it was read."""

    rows: list[dict[str, Any]]
    """A row for each: its table and source, what it states and what that was read as, what was measured and
    predicted, the ends of the 80 % interval, and the nearest command; times in seconds."""


class ValidateAnswer(TypedDict):
    """Measured runs and what the model says of them."""

    rows: list[dict[str, Any]]
    """A row for each: its id and source, what was measured and predicted, the ends of the 80 %
    interval, and the reason where nothing is predicted; times in seconds.  Columns differ by ``kind``."""
    summary: dict[str, Any]
    """Errors (predicted over measured, less 1) in all and by group: how many, mean and median of their size,
    bias, shares within 10 % and 20 %, and how often the intervals hold."""
