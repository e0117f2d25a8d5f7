"""``perfmodel.plan``: what to hire for a run, by when and for how much."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from perfmodel.core.files.tables import Record, Table, aligned
from perfmodel.core.records.options import documented
from perfmodel.core.units import dollars, duration
from perfmodel.decide.planning import Goal, SearchResult, search
from perfmodel.decide.planning.alternatives import alternatives as alternatives_of
from perfmodel.decide.planning.plan_verdict import named, notes, verdict
from perfmodel.decide.planning.search_tables import launch, report
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.run import Run
from perfmodel.model.prediction.result import Ratio
from perfmodel.model.transformers.layout_words import in_full

if TYPE_CHECKING:
    from typing import Unpack

    from perfmodel.hardware.catalogue.store import Catalogue
    from perfmodel.model.fitted.calibration import Calibration
    from perfmodel.model.options.keywords import RunOptions


@dataclass(frozen=True, repr=False)
class Plan:
    """Machines to hire and how to train on them; None where something is not known."""

    name: str
    """Of the machine: its provider's, or the node's id."""
    node: str
    """Id of the machine."""
    instance: str | None
    """The provider's name of it; None of one that no list of prices has."""
    provider: str | None
    """Who rents it out."""
    accelerator: str
    """Id of what it holds."""
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
    tokens_per_second: float | None
    mfu: float | None
    """By the model's FLOP that are computed."""
    mfu_nominal: float | None
    """By what most publications count."""
    memory_bytes: float
    """On the fullest accelerator."""
    memory_capacity: float | None
    """Of one accelerator [B]."""
    memory: dict[str, float]
    """``fits_probability``, and ``low_80`` and ``high_80`` of ``memory_bytes`` [B]."""
    framework: str | None
    """That trains it; of networks of which copies are trained by any, None."""
    layout: dict[str, int | str] | None
    """How a transformer is shared out; None of copies of the network."""
    also: list[str]
    """What other layouts change that are as fast within 1 %."""
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
    cost: float | None
    """[$]"""
    cost_low_80: float | None
    """Lower end of its 80 % interval [$]."""
    cost_high_80: float | None
    """Upper end of it [$]."""
    power: float | None
    """Of the whole job at rated power [W]."""
    energy: float | None
    """[kWh]"""
    carbon: float | None
    """[g]"""
    server_node: str | None
    """Id of the machines of parameter servers; None without any."""
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
    meets_deadline: bool | None
    """Whether the run ends in time; None without a deadline."""
    sure_of_deadline: bool | None
    """Whether the upper end of the 80 % interval meets it too."""
    deadline_risk: float | None
    """Probability that the run takes longer."""
    within_budget: bool | None
    """Whether it costs no more; None without a budget."""
    budget_risk: float | None
    """Probability that it costs more."""
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
        of = named(asdict(self))
        return f"<{type(self).__name__}: {of}: {duration(self.run_time)}, {cost}; {way}>"


@dataclass(frozen=True, repr=False)
class RejectedPlan(Plan):
    """The best plan of a machine that was not chosen."""

    reason: str
    """In a word or two: over the deadline, dearer."""
    why: str
    """In words, with the difference."""
    ratio: Ratio
    """How many times as fast it is as the plan chosen, in samples per second."""

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Self:
        """Return the plan of a search's row."""
        return super().of({**row, "ratio": Ratio.model_construct(**row["ratio"])})


@dataclass(frozen=True)
class UnpricedMachine:
    """A machine whose price nobody has said."""

    name: str
    """Of the machine: its provider's, or the node's id."""
    node: str
    """Id of the machine."""
    candidates: int
    """Plans for it that were tried."""
    best: Plan
    """Of fewest node hours in time, else the fastest."""
    worth_usd_per_hour: float | None
    """What a node may cost to be as cheap as the plan chosen."""


@dataclass(frozen=True)
class Launch:
    """Lines that predict and start a plan; None where torchrun cannot start it."""

    predict: str
    """The command that predicts it."""
    torchrun: str | None
    """The command that starts it on each node."""
    slurm: str | None
    """A batch script for Slurm."""


@dataclass(frozen=True)
class Alternative:
    """Another value of an option that nobody gave, and what it would do."""

    option: str
    """As on the command line."""
    default: int
    """What was taken."""
    value: int
    """What was tried in its place."""
    meets: bool
    """Whether a plan then meets every limit, as predicted."""
    is_likely: bool
    """Whether one does with a probability of 80 %."""
    plan: Plan
    """The plan that is chosen then, or comes nearest."""


@dataclass(frozen=True, repr=False)
class Plans(Table):
    """The answer of a search; as a table, its front of run time against cost."""

    search: SearchResult
    """Every candidate, in arrays."""

    @cached_property
    def verdict(self) -> list[str]:
        """What to hire, how sure that is, and what else to consider."""
        return verdict(self.search)

    @cached_property
    def notes(self) -> list[str]:
        """What was taken for granted, and what would make the answer better."""
        return notes(self.search)

    @property
    def met(self) -> bool:
        """Whether a plan of known price meets every limit."""
        return self.search.met

    @cached_property
    def chosen(self) -> Plan | None:
        """The cheapest that meets the deadline with a probability of 80 %.

        Where none does, the most probable of those that cost at most 10 % more than the cheapest predicted to
        meet it.  Where only a budget is given, the fastest that keeps within it, likewise.
        """
        return _plan(self.search.chosen)

    @property
    def alternatives(self) -> list[Alternative]:
        """What other values of defaults that may decide would do, where no plan likely meets the limits."""
        return [
            Alternative(**one._asdict() | {"plan": Plan.of(one.plan)}) for one in alternatives_of(self.search)
        ]

    @cached_property
    def cheapest(self) -> Plan | None:
        """The cheapest plan that meets the deadline."""
        return _plan(self.search.cheapest)

    @cached_property
    def fastest(self) -> Plan | None:
        """The fastest plan within the budget."""
        return _plan(self.search.fastest)

    @cached_property
    def surest(self) -> Plan | None:
        """The cheapest that meets the deadline at the upper end of its 80 % interval too."""
        return _plan(self.search.surest)

    @cached_property
    def front(self) -> tuple[Plan, ...]:
        """Plans that no other beats in time and cost at once, the fastest first."""
        return tuple(map(Plan.of, self.search.front))

    @cached_property
    def energy_front(self) -> tuple[Plan, ...]:
        """Plans that no other beats in time and energy at once, the fastest first."""
        return tuple(map(Plan.of, self.search.energy_front))

    @cached_property
    def rejected(self) -> tuple[RejectedPlan, ...]:
        """The best plan of every machine that was not chosen, with the reason; ``lost`` in the JSON."""
        return tuple(map(RejectedPlan.of, self.search.rejected))

    @cached_property
    def unpriced(self) -> tuple[UnpricedMachine, ...]:
        """Machines without a price, and what would be worth paying."""
        return tuple(UnpricedMachine(**row | {"best": Plan.of(row["best"])}) for row in self.search.unpriced)

    @cached_property
    def launch(self) -> Launch | None:
        """How to predict and start the plan chosen."""
        lines = launch(self.search)
        if lines is None:
            return None
        return Launch(str(lines["predict"]), lines["torchrun"], lines["slurm"])

    @property
    def candidates(self) -> int:
        """How many plans were tried."""
        return len(self.search)

    @property
    def layouts(self) -> int:
        """How many layouts were timed, of which each plan that has one is the fastest that fits."""
        return self.search.layouts

    @property
    def left_out(self) -> dict[str, int]:
        """How many plans could not be, by the reason."""
        return self.search.left_out

    def records(self) -> list[Record]:
        """Return the front, a row for each plan."""
        return [asdict(each) for each in self.front]

    def to_json(self) -> str:
        """Return what ``perfmodel plan --json`` prints."""
        return json.dumps(report(self.search))

    def __repr__(self) -> str:
        rows = [
            (
                f"{each.nodes} x {each.name}",
                str(each.world_size),
                duration(each.run_time),
                "-" if each.cost is None else f"{each.cost:,.4g}",
                f"{each.global_batch_size:,}",
            )
            for each in self.front
        ]
        return aligned(f"Plans: {' '.join(self.verdict[:2])}", ("front", "GPUs", "run", "USD", "batch"), rows)


def _plan(row: Mapping[str, Any] | None) -> Plan | None:
    return None if row is None else Plan.of(row)


@documented(Run)
def plan(
    workload: str = "resnet50",
    *,
    epochs: float | None = None,
    samples: float | str | None = None,
    tokens: float | str | None = None,
    target: str | None = None,
    recipe: str | None = None,
    deadline: float | str | None = None,
    budget: float | str | None = None,
    power_limit: float | str | None = None,
    accelerators: str | Sequence[str] = (),
    instances: str | Sequence[str] = (),
    nodes: str | Sequence[str] = (),
    max_gpus: int = 512,
    max_nodes: int | None = None,
    strategies: str | Sequence[str] = (),
    algorithms: str | Sequence[str] = (),
    precisions: str | Sequence[str] = (),
    local_batch_sizes: int | Sequence[int] = (),
    max_global_batch_size: int | None = None,
    global_batch_size: int | None = None,
    server_node: str | None = None,
    prices: Mapping[str, float] | None = None,
    purchase_prices: Mapping[str, float] | None = None,
    conditions: Conditions | None = None,
    catalogue: Catalogue | None = None,
    constants: Calibration | None = None,
    **options: Unpack[RunOptions],
) -> Plans:
    """Search what to hire for a run: the cheapest in time, the fastest within budget, and why not others.

    Parameters
    ----------
    catalogue, constants : as for ``predict``

    Raises
    ------
    InputError : something unknown or impossible; no plan at all

    Examples
    --------
    >>> found = plan("resnet50", epochs=90, deadline="24h", accelerators="v100-sxm2-16gb", max_gpus=32)
    >>> found.chosen.run_time < 86400, found.chosen.cost == min(each.cost for each in found.front)
    (True, True)
    """
    asked: dict[str, Any] = {
        "workload": workload,
        "epochs": epochs,
        "samples": samples,
        "tokens": tokens,
        "target": target,
        "recipe": recipe,
        "deadline": deadline,
        "budget": budget,
        "power_limit": power_limit,
        "accelerators": accelerators,
        "instances": instances,
        "nodes": nodes,
        "max_gpus": max_gpus,
        "max_nodes": max_nodes,
        "strategies": strategies,
        "algorithms": algorithms,
        "precisions": precisions,
        "server_node": server_node,
        "local_batch_sizes": local_batch_sizes,
        "max_global_batch": max_global_batch_size,
        "global_batch_size": global_batch_size,
        "prices": {} if prices is None else prices,
        "purchase_prices": {} if purchase_prices is None else purchase_prices,
        "conditions": Conditions() if conditions is None else Conditions.model_validate(conditions),
        "options": {name: value for name, value in options.items() if value is not None},
    }
    goal = Goal(**asked)
    return Plans(search(goal, catalogue, constants))
