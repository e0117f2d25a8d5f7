"""Types of parts of answers that have no class elsewhere, for the schema."""

from typing import NotRequired

from typing_extensions import TypedDict

from perfmodel.decide.commitments import Commitment
from perfmodel.decide.prices import NodePrice
from perfmodel.workloads.recipes.recipes import Evidence


class ServerNodes(TypedDict):
    """Machines of parameter servers."""

    count: int
    """Number of machines."""
    node: str
    """Id of the machine type."""
    price: NodePrice | None
    """Price of each; null where unknown."""


class Span(TypedDict):
    """Time, cost, energy and carbon of a part of training."""

    time: float
    """Time [s]."""
    cost: float | None
    """[USD]; null where no price is known."""
    energy: float | None
    """[kWh]; null where the power is not known."""
    carbon: float | None
    """[g CO2]; null where the grid is not known."""


class RunSpan(Span):
    """Time, cost, energy and carbon of a run, including failures, checkpoints and restarts."""

    epochs: float | None
    """Epochs of the run; null where its length is given otherwise."""
    samples: float | None
    """Samples of the run."""
    tokens: float | None
    """Tokens of the run; null where its length is given otherwise."""


class Reliability(TypedDict):
    """Losses to failures."""

    goodput: float
    """Fraction of the time that is kept work [1]."""
    failure_interval: float
    """Mean time between failures of the job [s]."""
    checkpoint_interval: float | None
    """Time between two checkpoints [s]; null where the run is too short to write any."""
    failures: float | None
    """Expected failures in the run; null where its length is not given."""
    loss_low_80: float | None
    """Half-width of the 80 % interval of the run's time due to interruptions, in log time, below it."""
    loss_high_80: float | None
    """The same above it."""


class Economics(TypedDict):
    """Time, cost, energy and carbon of a job."""

    price: NodePrice | None
    """Price of one node; null where unknown."""
    servers: ServerNodes | None
    """Parameter servers; null where there are none."""
    per_iteration: Span
    """Of one iteration."""
    per_epoch: Span | None
    """Of one epoch; null where the size of the data set is unknown."""
    run: RunSpan | None
    """Of the run; null where its length is not given."""
    commitment: Commitment | None
    """What a reserved price commits to; null at another."""
    reliability: Reliability | None
    """Losses to failures; null without a failure rate."""
    assumed: list[str]
    """Assumptions."""
    unknown: list[str]
    """Missing inputs, each with the option that gives it."""


class TrainingPhase(TypedDict):
    """A phase of a recipe."""

    sequence_length: int
    """Tokens of a sample."""
    amount: float
    """Length of the phase in the recipe's unit."""
    time: float
    """Time of the phase [s]."""


class WarmedRate(TypedDict):
    """The learning rate of a recipe at the batch."""

    rule: str
    """Rule by which it grows with the batch."""
    learning_rate: float
    """Learning rate at the batch [1]."""
    validity: str
    """Range in which the rule holds."""
    within_published: bool | None
    """Whether the batch is in that range; null where unknown."""
    source: str
    """Source of the rule."""
    formula: str
    """Formula of the rule."""
    warm_up_epochs: float
    """Epochs until it is reached [1]."""
    warm_up_from: float
    """Learning rate at the start [1]."""


class TimeToTarget(TypedDict):
    """Training to a published quality."""

    target: str
    """The quality."""
    unit: str
    """Unit of amounts: epochs, samples or tokens."""
    amount: float
    """Length of the run, in ``unit``."""
    steps: int
    """Updates of the run."""
    tokens: float | None
    """Tokens of the run, for a recipe that counts them."""
    time: float
    """Time of the run [s]."""
    within_range: bool
    """Whether the batch is within the published ones."""
    batch_sizes: list[float]
    """The smallest and the largest published batch."""
    sequence_length: int | None
    """Tokens of a sample; null of several phases, and of samples without tokens."""
    note: str | None
    """Note on the samples; null without one."""
    recipe: str
    """Name of the recipe."""
    framework: str
    """Framework of the recipe."""
    recipe_words: str
    """The recipe in words."""
    recipe_source: str
    """Source of the recipe."""
    evidence: list[Evidence]
    """Published results, a row for each batch."""
    phases: list[TrainingPhase]
    """Phases of different sequence lengths; empty for a single phase."""
    learning_rate: WarmedRate | None
    """Learning rate at the batch; null where none was published."""


class StrategyToLoss(TypedDict):
    """Time of an update strategy to a loss."""

    strategy: str
    """Name of the strategy."""
    updates_per_second: NotRequired[float]
    """Rate of updates [1/s]."""
    gradients_per_update: NotRequired[float]
    """Gradients in an update [1]."""
    mean_staleness: NotRequired[float | None]
    """Updates between reading weights and applying their gradient [1]."""
    fresh_fraction: NotRequired[float | None]
    """Share of gradients that are of the newest weights [1]."""
    floor: NotRequired[float | None]
    """Error that the bound never falls below [1]; null where unknown."""
    updates: NotRequired[float | None]
    """Updates to the loss; null where it is not reached."""
    time: float | None
    """Time to the loss [s]; null where it is not reached."""
    note: str | None
    """Why there is no time; null otherwise."""


class AheadToLoss(TypedDict):
    """An update strategy that is ahead for some time."""

    strategy: str
    """Name of the strategy."""
    from_time: float
    """Time at which it takes the lead [s]."""
    to_time: float
    """Time at which it loses the lead [s]."""
    to_loss: float
    """Loss at that time [1]."""


class ErrorCurve(TypedDict):
    """Error against time."""

    times: list[float]
    """Points in time [s]."""
    errors: dict[str, list[float]]
    """Error at each of the times, by strategy [1]."""


class TimeToLoss(TypedDict):
    """Error against time of every update strategy, by a bound."""

    loss: float
    """The requested loss [1]."""
    strategy: str
    """Strategy of the job."""
    time: float | None
    """Time to the loss [s]; null where the job does not reach it."""
    updates: float | None
    """Updates to the loss; null where the job does not reach it."""
    learning_rate: float
    """Learning rate of the bound [1]."""
    rows: list[StrategyToLoss]
    """A row for each strategy."""
    ahead: list[AheadToLoss]
    """The strategies that reach each loss first."""
    curve: ErrorCurve
    """Error against time."""
    note: str
    """The objective of the bound."""
