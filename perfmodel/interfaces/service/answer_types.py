"""Types of answers that have no class elsewhere, for the schema."""

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
    """A prediction, with further results on request."""

    time_to_target: TimeToTarget | None = None
    """Training to a published quality, if requested."""
    time_to_loss: TimeToLoss | None = None
    """Error against time of every update strategy, if requested."""
    economics: Economics | None = None
    """Time, cost, energy and carbon, if requested."""


CollectiveRows = list[Collective]
"""A collective by message size."""


StragglerRows = list[StragglerPrediction]
"""Variants of SGD."""


class ScaleAnswer(TypedDict):
    """A job on several numbers of accelerators."""

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
    economics: NotRequired[Economics]
    """Time, cost, energy and carbon with the first layout, if requested."""


class MachinePrice(TypedDict):
    """The price of a machine of the plans."""

    name: str
    """The provider's name of the machine, or the node's id."""
    node: str
    """Id of the machine."""
    provider: str | None
    """The provider; null where nobody rents it out."""
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
    """Where the price was read; null where it was given."""
    carbon_intensity: float | None
    """Of the grid of the region [g CO2/kWh]; null where that is not known."""


class PlanAnswer(TypedDict):
    """Machines to hire, and reasons against others; times in seconds, energy in kWh, carbon in grams."""

    goal: dict[str, Any]
    """The goal with defaults filled in, by the names of the options."""
    verdict: list[str]
    """Sentences: which plan to take, how sure that is, and what else to consider."""
    met: bool
    """Whether a plan of known price meets every limit."""
    chosen: Plan | None
    """The cheapest plan that meets the deadline with a probability of 80 %; where none does, the most
    probable of those that cost at most 10 % more than the cheapest predicted to meet it.  With only a
    budget, the fastest plan within it by the same rule."""
    cheapest: Plan | None
    """The cheapest that meets the deadline."""
    fastest: Plan | None
    """The fastest within the budget."""
    surest: Plan | None
    """The cheapest whose 80 % interval ends before the deadline."""
    alternatives: list[Alternative]
    """Other values of defaults that help where no plan likely meets the limits: option, default, value, meets
    (whether a plan then meets them all) and the plan."""
    front: list[Plan]
    """The Pareto front of time and cost, the fastest first."""
    energy_front: list[Plan]
    """The Pareto front of time and energy, the fastest first."""
    lost: list[RejectedPlan]
    """The best plan of every machine that was not chosen, with the reason."""
    candidates: int
    """Number of plans tried."""
    layouts: int
    """Number of layouts timed; a plan with a layout has the fastest of its machine, size and precision."""
    left_out: dict[str, int]
    """Number of impossible plans, by reason."""
    impossible: list[str]
    """Machines without a possible plan."""
    unpriced: list[UnpricedMachine]
    """Machines without a price, with the price worth paying."""
    prices: list[MachinePrice]
    """Prices of the machines that have one."""
    target: str | None
    """Quality that ends the run; null where its length is given."""
    recipe: str | None
    """Name of the training recipe; null without a target."""
    launch: Launch | None
    """Commands that predict and start the chosen plan; null where there is no such plan."""
    notes: list[str]
    """Assumptions, and options that change them."""
    plans: NotRequired[list[Plan]]
    """A page of all plans that were tried, the cheapest first; only with ``limit``."""
    next_offset: NotRequired[int | None]
    """Offset of the next page; null after the last."""


class ValidateAnswer(TypedDict):
    """Measured runs compared with the model's predictions."""

    rows: list[dict[str, Any]]
    """A row for each run: id, source, measured and predicted time, ends of the 80 % interval, and the reason
    where there is no prediction; times in seconds.  Columns differ by ``kind``."""
    summary: dict[str, Any]
    """Errors (predicted over measured, less 1) overall and by group: number, mean and median of their size,
    bias, shares within 10 % and 20 %, and coverage of the intervals."""
