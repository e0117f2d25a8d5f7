"""One plan of a search as a record: machines to hire, how to train on them, time, cost and risk."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from perfmodel.core.units import dollars, duration
from perfmodel.model.prediction.result import Ratio
from perfmodel.model.transformers.layout_words import in_full


@dataclass(frozen=True, repr=False)
class Plan:
    """Machines to hire and how to train on them; None where something is not known."""

    name: str
    """Of the machine: its provider's, or the node's id."""
    machines: str
    """The machines as people call them, with parameter servers: ``8 x H100 SXM5 80 GB (AWS p5.48xlarge)``."""
    accelerator_name: str
    """What people call the accelerator."""
    node: str
    """Id of the machine."""
    instance: str | None
    """The provider's name of it; None of one that no list of prices has."""
    provider: str | None
    """Who rents it out."""
    accelerator: str
    """Id of what it holds."""
    framework: str | None
    """That trains it; of networks of which copies are trained by any, None."""
    layout: dict[str, int | str] | None
    """How a transformer is shared out; None of copies of the network."""
    mfu: float | None
    """By the model's FLOP that are computed."""
    mfu_nominal: float | None
    """By what most publications count."""
    memory_capacity: float | None
    """Of one accelerator [B]."""
    world_size: int
    nodes: int
    servers: int | None
    strategy: str
    """How gradients are combined."""
    algorithm: str | None
    """Of all-reduce; None where there is none."""
    precision: str
    """Of the arithmetic."""
    local_batch_size: int
    global_batch_size: int
    iteration_time: float
    """[s]"""
    samples_per_second: float
    memory_bytes: float
    """On the fullest accelerator."""
    sequence_length: int | None
    samples: float
    """Of the run."""
    epochs: float | None
    goodput: float
    run_time: float
    """[s], failures and checkpoints included."""
    run_time_low_80: float | None
    """Lower end of its 80 % interval [s]; None where it was not learned."""
    run_time_high_80: float | None
    """Upper end of it [s]."""
    power: float | None
    """Of the whole job at rated power [W]."""
    cost: float | None
    """[$]"""
    energy: float | None
    """[kWh]"""
    carbon: float | None
    """[g]"""
    server_node: str | None
    """Id of the machines of parameter servers; None without any."""
    also: list[str]
    """What other layouts change that are as fast within 1 %."""
    tokens_per_second: float | None
    cost_low_80: float | None
    """Lower end of its 80 % interval [$]."""
    cost_high_80: float | None
    """Upper end of it [$]."""
    run_time_at_most: float | None
    """That the run takes no more than, with the ``confidence`` of the goal, the risk not to fit into memory
    included [s]; None where that risk alone is larger."""
    cost_at_most: float | None
    """That no more must be paid than, with that probability: at a reserved price at least the term [$]."""
    samples_per_second_at_least: float | None
    """That it reaches, with that probability."""
    usd_per_hour: float | None
    """Of one node."""
    price_basis: str | None
    """What kind of price it is."""
    price_region: str | None
    """Where it holds."""
    price_date: str | None
    """When it was read."""
    price_source: str | None
    """Who says so."""
    interruptions: float | None
    """Expected in the run at a spot price; None at another."""
    committed_cost: float | None
    """Of the whole term of a reserved price [$]; None at another."""
    unused_cost: float | None
    """Of the rest of that term after the run [$]."""
    meets_deadline: bool | None
    """Whether the run ends in time; None without a deadline."""
    deadline_risk: float | None
    """Probability that the run takes longer."""
    within_budget: bool | None
    """Whether no more must be paid, for a reserved price the whole term; None without a budget."""
    budget_risk: float | None
    """Probability that more must be paid."""
    probability: float | None
    """Of fitting into memory and keeping within all limits; None where it is not known."""
    memory: dict[str, float]
    """``fits_probability``, and ``low_80`` and ``high_80`` of ``memory_bytes`` [B]."""
    within_published: bool | None
    """Whether somebody has trained with such a batch."""

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Self:
        """Return the plan of a search's row."""
        return cls(**{field.name: row[field.name] for field in fields(cls)})

    def __repr__(self) -> str:
        cost = "price unknown" if self.cost is None else dollars(self.cost)
        way = f"{self.strategy}, {self.precision}, batch {self.local_batch_size} each"
        if self.layout is not None:
            way = f"{in_full(self.layout)}, {self.precision}"
        return f"<{type(self).__name__}: {self.machines}: {duration(self.run_time)}, {cost}; {way}>"


@dataclass(frozen=True, repr=False)
class RejectedPlan(Plan):
    """The best plan of a machine other than that of the plan in question."""

    reason: str
    """In a word or two: over the deadline, dearer."""
    why: str
    """In words, with the difference."""
    ratio: Ratio
    """How many times as fast it is as that plan, in samples per second."""

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Self:
        """Return the plan of a search's row."""
        return super().of({**row, "ratio": Ratio.model_construct(**row["ratio"])})
