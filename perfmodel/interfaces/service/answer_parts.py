"""Types of parts of answers that no class of the package is already, for the schema."""

from typing import NotRequired

from typing_extensions import TypedDict

from perfmodel.decide.prices import NodePrice
from perfmodel.workloads.recipes.recipes import Evidence


class ServerNodes(TypedDict):
    """Machines of parameter servers."""

    count: int
    """How many."""
    node: str
    """Id of each."""
    price: NodePrice | None
    """Of each; null where none is known."""


class Span(TypedDict):
    """What a time of training comes to."""

    time: float
    """[s]"""
    cost: float | None
    """[USD]; null where no price is known."""
    energy: float | None
    """[kWh]; null where the power is not known."""
    carbon: float | None
    """[g CO2]; null where the grid is not known."""


class RunSpan(Span):
    """What a run comes to; its time with failures, checkpoints and restarts."""

    epochs: float | None
    """Of the run; null where it is said otherwise."""
    samples: float | None
    """Of the run."""
    tokens: float | None
    """Of the run; null where it is said otherwise."""


class Reliability(TypedDict):
    """What failures cost."""

    goodput: float
    """Share of the time that trains [1]."""
    failure_interval: float
    """Between two failures of the job [s]."""
    checkpoint_interval: float | None
    """Between two checkpoints [s]; null where the run is too short to write any."""
    failures: float | None
    """To expect in the run; null where its length is not known."""


class Economics(TypedDict):
    """Time, cost, energy and carbon of a job."""

    price: NodePrice | None
    """Of one node; null where none is known."""
    servers: ServerNodes | None
    """Of parameter servers; null where there are none."""
    per_iteration: Span
    """Of one iteration."""
    per_epoch: Span | None
    """Of one epoch; null where the size of the data set is not known."""
    run: RunSpan | None
    """Of the run; null where nobody says how long it is."""
    reliability: Reliability | None
    """What failures cost; null where nobody says how often one fails."""
    assumed: list[str]
    """What was taken for granted."""
    unknown: list[str]
    """What is not known, and what to give for it."""


class TrainingPhase(TypedDict):
    """One of the phases of a recipe."""

    sequence_length: int
    """Tokens of a sample."""
    amount: float
    """Of the recipe's unit."""
    time: float
    """[s]"""


class WarmedRate(TypedDict):
    """The learning rate of a recipe at the batch."""

    rule: str
    """By which it grows with the batch."""
    learning_rate: float
    """At the batch [1]."""
    validity: str
    """Where the rule holds."""
    within_published: bool | None
    """Whether the batch lies there; null where that is not known."""
    source: str
    """Who says so."""
    formula: str
    """Of the rule."""
    warm_up_epochs: float
    """Until it is reached."""
    warm_up_from: float
    """Where it begins [1]."""


class TimeToTarget(TypedDict):
    """Training to a published quality."""

    target: str
    """The quality."""
    unit: str
    """Of amounts: epochs, samples or tokens."""
    amount: float
    """That the run takes, in ``unit``."""
    steps: int
    """Updates of the run."""
    tokens: float | None
    """Of a recipe that counts them."""
    time: float
    """[s]"""
    within_range: bool
    """Whether the batch is one that something was published of."""
    batch_sizes: list[float]
    """The smallest and the largest of those."""
    sequence_length: int | None
    """Tokens of a sample; null of several phases, and where it has none."""
    note: str | None
    """What to know of it."""
    recipe: str
    """How training goes, by its name."""
    framework: str
    """That goes with it."""
    recipe_words: str
    """How training goes."""
    recipe_source: str
    """Who says so."""
    evidence: list[Evidence]
    """What was published, a row for each batch."""
    phases: list[TrainingPhase]
    """Of different sequence lengths; none where there is one."""
    learning_rate: WarmedRate | None
    """At the batch; null where none was published."""


class StrategyToLoss(TypedDict):
    """How soon one way to update reaches a loss."""

    strategy: str
    """The way."""
    updates_per_second: NotRequired[float]
    """[1/s]"""
    gradients_per_update: NotRequired[float]
    """[1]"""
    mean_staleness: NotRequired[float | None]
    """Updates between reading weights and applying their gradient [1]."""
    fresh_fraction: NotRequired[float | None]
    """Share of gradients that are of the newest weights [1]."""
    floor: NotRequired[float | None]
    """Error that the bound never falls below [1]; null where none is known."""
    updates: NotRequired[float | None]
    """To the loss; null where it is not reached."""
    time: float | None
    """To the loss [s]; null where it is not reached."""
    note: str | None
    """Why there is no time."""


class AheadToLoss(TypedDict):
    """Which way to update is ahead, and how long."""

    strategy: str
    """The way."""
    from_time: float
    """[s]"""
    to_time: float
    """[s]"""
    to_loss: float
    """[1]"""


class ErrorCurve(TypedDict):
    """Error against time."""

    times: list[float]
    """[s]"""
    errors: dict[str, list[float]]
    """At each of the times, by the way to update [1]."""


class TimeToLoss(TypedDict):
    """Error against time of every way to update, by a bound."""

    loss: float
    """That was wanted [1]."""
    strategy: str
    """Of the job."""
    time: float | None
    """To the loss [s]; null where the job does not reach it."""
    updates: float | None
    """To the loss; null where the job does not reach it."""
    learning_rate: float
    """Of the bound [1]."""
    rows: list[StrategyToLoss]
    """Of each way to update."""
    ahead: list[AheadToLoss]
    """Who reaches each loss first."""
    curve: ErrorCurve
    """Error against time."""
    note: str
    """What the bound is of."""
