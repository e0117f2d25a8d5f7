"""What a search answers: the plans worth having, those rejected, and why; ``perfmodel.plan``."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

import numpy as np
from typing_extensions import TypedDict

from perfmodel.core.errors import InputError, refusal
from perfmodel.core.files.tables import Record as Row
from perfmodel.core.files.tables import Table, aligned
from perfmodel.core.records.record import Record, late
from perfmodel.core.units import dollars, duration
from perfmodel.decide.planning.alternatives import alternatives
from perfmodel.decide.planning.launch import predict_command, slurm_job, torchrun, with_options
from perfmodel.decide.planning.plan_verdict import named, notes, verdict
from perfmodel.decide.planning.results import SearchResult
from perfmodel.model.prediction.result import Ratio
from perfmodel.model.transformers.layout_words import in_full


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


_PRINTED = {"max_global_batch_size": "max_global_batch"}
"""Options of a goal that are printed under an older name."""


class Plans(Record, Table):
    """What to hire, and why not others; as a table, its front of run time against cost.

    Times in seconds, energy in kWh, carbon in grams.
    """

    goal: dict[str, Any]
    """What was asked for, with what was taken for the rest; by the names of the options."""
    verdict: list[str] = late()
    """What to hire, how sure that is, and what else to consider."""
    met: bool
    """Whether a plan of known price meets every limit."""
    chosen: Plan | None = late()
    """The cheapest that meets the deadline with a probability of 80 %; where none does, the most probable of
    those that cost at most 10 % more than the cheapest predicted to.  Where only a budget is given, the
    fastest within it, likewise."""
    cheapest: Plan | None = late()
    """The cheapest that meets the deadline."""
    fastest: Plan | None = late()
    """The fastest within the budget."""
    surest: Plan | None = late()
    """The cheapest that meets the deadline at the upper end of its 80 % interval too."""
    alternatives: list[Alternative] = late()
    """Other values of defaults that may decide, where no plan likely meets the limits: option, default,
    value, meets (whether a plan then meets them all) and the plan."""
    front: list[Plan] = late()
    """Plans that no other beats in time and cost at once, the fastest first."""
    energy_front: list[Plan] = late()
    """Plans that no other beats in time and energy at once, the fastest first."""
    lost: list[RejectedPlan] = late()
    """The best plan of every machine that was not chosen, with the reason."""
    candidates: int
    """How many plans were tried."""
    layouts: int
    """How many layouts were timed, of which each plan that has one is the fastest that fits."""
    left_out: dict[str, int]
    """How many plans could not be, by the reason."""
    impossible: list[str]
    """Machines on which no plan could be made."""
    unpriced: list[UnpricedMachine] = late()
    """Machines without a price, and what would be worth paying."""
    prices: list[MachinePrice] = late()
    """Of every machine that has one."""
    target: str | None
    """Quality that ends the run; null where its length is given."""
    recipe: str | None
    """How training to it goes; null without a target."""
    launch: Launch | None = late()
    """How to predict and start the plan chosen; null where torchrun cannot start it."""
    notes: list[str] = late()
    """What was taken for granted, and what would make the answer better."""
    plans: list[Plan] | None = None
    """A page of all plans that were tried, the cheapest first; only where ``limit`` asks for it."""
    next_offset: int | None = None
    """Where the next page begins; null after the last."""

    @classmethod
    def of(cls, search: SearchResult, limit: int | None = None, offset: int = 0) -> Self:
        """Return the answer of a search.

        Parameters
        ----------
        limit : plans of a page of all that were tried
        offset : plans before it
        """
        asked = {_PRINTED.get(name, name): value for name, value in vars(search.goal).items()}
        one = cls.model_construct(
            goal=asked | {"conditions": search.goal.conditions.model_dump()},
            verdict=lambda: verdict(search),
            met=search.met,
            chosen=lambda: _plan(search.chosen),
            cheapest=lambda: _plan(search.cheapest),
            fastest=lambda: _plan(search.fastest),
            surest=lambda: _plan(search.surest),
            alternatives=lambda: [
                Alternative(**each._asdict() | {"plan": Plan.of(each.plan)}) for each in alternatives(search)
            ],
            front=lambda: list(map(Plan.of, search.front)),
            energy_front=lambda: list(map(Plan.of, search.energy_front)),
            lost=lambda: list(map(RejectedPlan.of, search.rejected)),
            candidates=len(search),
            layouts=search.layouts,
            left_out=search.left_out,
            impossible=list(search.impossible),
            unpriced=lambda: [
                UnpricedMachine(**row | {"best": Plan.of(row["best"])}) for row in search.unpriced
            ],
            prices=search.prices,
            target=search.fit.target if search.fit else None,
            recipe=search.goal.recipe,
            launch=lambda: _launch(search),
            notes=lambda: notes(search),
            **({} if limit is None else _page(search, limit, offset)),
        )
        one.__dict__["search"] = search  # no field: it is not in the JSON
        return one

    @property
    def search(self) -> SearchResult:
        """Every candidate, in arrays.

        Raises
        ------
        InputError : the answer is of a service, which does not send them
        """
        if "search" not in self.__dict__:
            raise refusal("plan.of_service")
        search: SearchResult = self.__dict__["search"]
        return search

    @property
    def rejected(self) -> list[RejectedPlan]:
        """What ``lost`` holds."""
        return self.lost

    def report(self) -> dict[str, Any]:
        """Return the answer as a table of plain values."""
        return self.model_dump(exclude_unset=True)

    def to_json(self) -> str:
        """Return what ``perfmodel plan --json`` prints."""
        return json.dumps(self.report())

    def records(self) -> list[Row]:
        """Return the front, a row for each plan."""
        return [asdict(each) for each in self.front]

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


def _launch(search: SearchResult) -> Launch | None:
    """Return the lines that predict and start the plan chosen; None where there is none."""
    chosen, goal = search.chosen, search.goal
    if chosen is None:
        return None
    predict = predict_command(chosen, goal.workload, goal.options)
    plan = with_options(chosen, goal)
    return Launch(predict, *(_started(by, plan, goal.workload) for by in (torchrun, slurm_job)))


def _started(by: Callable[[Any, str], str], plan: Any, workload: str) -> str | None:
    try:
        return by(plan, workload)
    except InputError:
        return None


def _page(search: SearchResult, limit: int, offset: int) -> dict[str, Any]:
    """Return some of the plans that were tried, the cheapest first, those without a price last."""
    table = search.candidates
    order = np.lexsort((table["run_time"], table["cost"]))  # what is not a number comes last
    plans = [Plan.of(search.row(int(index))) for index in order[offset : offset + limit]]
    after = offset + len(plans)
    return {"plans": plans, "next_offset": after if after < len(search) else None}
