"""What a search answers: the plans worth having, those rejected, and why; ``perfmodel.plan``."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
from typing_extensions import TypedDict

from perfmodel.core.choices import PriceKind
from perfmodel.core.errors import InputError, refusal
from perfmodel.core.files.tables import Record as Row
from perfmodel.core.files.tables import Table, aligned
from perfmodel.core.records.record import Record, late
from perfmodel.core.units import duration
from perfmodel.decide.planning.alternatives import alternatives
from perfmodel.decide.planning.each_kind import best_of_each_kind
from perfmodel.decide.planning.launch import predict_command, slurm_job, torchrun, with_options
from perfmodel.decide.planning.one_plan import Plan, RejectedPlan
from perfmodel.decide.planning.plan_card import card_of_plan
from perfmodel.decide.planning.plan_verdict import notes, verdict
from perfmodel.decide.planning.results import SearchResult
from perfmodel.decide.planning.table_words import front_records
from perfmodel.decide.planning.within import payment
from perfmodel.model.prediction.answer_card import Card


@dataclass(frozen=True)
class UnpricedMachine:
    """A machine whose price nobody has said."""

    name: str
    """Of the machine: its provider's, or the node's id."""
    machine: str
    """Its accelerators as people call them, and its name."""
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
    """Another length or limit, or another value of a default, with which a plan meets every limit."""

    option: str
    """As on the command line."""
    default: float | int | str
    """What was given or taken."""
    value: float | int | str
    """What would do in its place; a deadline in seconds, a budget in dollars."""
    meets: bool
    """Whether a plan then meets every limit with the probability asked for: true of all."""
    plan: Plan
    """The plan that is chosen then."""
    along_with: dict[str, float]
    """Another limit that must change with it, by name; empty where none must."""


@dataclass(frozen=True)
class Setting:
    """What another ``confidence`` would choose, of the plans that were tried."""

    confidence: float
    """How sure to be of memory, deadline and budget."""
    plan: Plan | None
    """The plan that is chosen then; None where none is that sure."""


@dataclass(frozen=True)
class OfKind:
    """The best plan at one kind of price."""

    kind: PriceKind
    """On demand, spot, reserved for a term, or owned."""
    plan: Plan | None
    """On the machine of the plan in question, where that has such a price, else on any.

    It would be chosen were no other kind asked for, else it is the surest; None where no price is known.
    """
    same_machine: bool = True
    """Whether it is on the machine of the plan in question."""
    wins_below_usd_per_hour: float | None = None
    """Rent of one machine of the plan in question at which it costs as much at this kind, whose price is not
    known [USD/h]; None where it is known."""
    never_ends: bool = False
    """Whether the price is known, of the machine in question or else of any, but no run at it ends: machines
    are taken back, or fail, faster than work restarts."""


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
    """``on demand``, ``spot``, ``reserved for 1 year`` or ``3 years``, ``given`` or ``owned``."""
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
    kind: PriceKind
    """On demand, spot, reserved for a term, or owned."""


_PRINTED = {"max_global_batch_size": "max_global_batch"}
"""Options of a goal that are printed under an older name."""


class Plans(Record, Table):
    """What to hire, and why not others; as a table, its front of run time against cost.

    Times in seconds, energy in kWh, carbon in grams.
    """

    goal: dict[str, Any]
    """What was asked for, with what was taken for the rest; by the names of the options."""
    card: Card = late()
    """The answer in short."""
    verdict: list[str] = late()
    """The advice of the card, then what else to consider."""
    met: bool
    """Whether a plan of known price meets every limit with the ``confidence`` of the goal: one is chosen."""
    chosen: Plan | None = late()
    """The cheapest that keeps within deadline and budget with the ``confidence`` of the goal; where only a
    budget is given, the fastest.  Null where none does."""
    cheapest: Plan | None = late()
    """The cheapest predicted to meet the deadline, at whatever risk."""
    fastest: Plan | None = late()
    """The fastest predicted to keep the budget, at whatever risk."""
    surest: Plan | None = late()
    """The one that most probably fits and is within deadline and budget; null without either where one is
    chosen."""
    by_confidence: list[Setting] = late()
    """What would be chosen with a confidence of 50, 80 and 95 %, and with that of the goal, of the plans
    that were tried."""
    by_kind: list[OfKind] = late()
    """The best plan at each kind of price that was asked for; empty where that is one."""
    alternatives: list[Alternative] = late()
    """What makes a plan possible, where none is chosen: fewer tokens, other limits, other values
    of defaults, each with the plan."""
    front: list[Plan] = late()
    """Plans that no other beats in time and cost at once, the fastest first."""
    energy_front: list[Plan] = late()
    """Plans that no other beats in time and energy at once, the fastest first."""
    lost: list[RejectedPlan] = late()
    """The best plan of every machine but the chosen, or the surest where none is, with the reason."""
    candidates: int
    """How many plans were tried."""
    layouts: int
    """How many layouts were tried, of which each plan that has one is the fastest that fits."""
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
    """How to predict and start the plan chosen, or the surest where none is; null without a plan."""
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
            card=lambda: card_of_plan(search),
            verdict=lambda: verdict(search),
            met=search.met,
            chosen=lambda: _plan(search.chosen),
            cheapest=lambda: _plan(search.cheapest),
            fastest=lambda: _plan(search.fastest),
            surest=lambda: _plan(search.surest),
            by_confidence=lambda: [
                Setting(confidence, _plan(row)) for confidence, row in search.by_confidence.items()
            ],
            by_kind=lambda: [
                OfKind(**each._asdict() | {"plan": _plan(each.plan)}) for each in best_of_each_kind(search)
            ],
            alternatives=lambda: [
                Alternative(
                    each.option,
                    each.default,
                    each.value,
                    True,
                    Plan.of(each.plan),
                    {name: value for name, (_, value) in each.along_with.items()},
                )
                for each in alternatives(search)
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
        """Return the front, a row for each plan, with a ``mark`` of the one to take and of missed limits."""
        plans = {
            name: plan and asdict(plan) for name, plan in (("chosen", self.chosen), ("surest", self.surest))
        }
        answer = {"goal": self.goal, **plans}
        return front_records(map(asdict, self.front), answer)

    def __repr__(self) -> str:
        rows = [
            (
                each.machines,
                str(each.world_size),
                duration(each.run_time),
                "-" if each.cost is None else f"{payment(asdict(each)):,.4g}",
                f"{each.global_batch_size:,}",
            )
            for each in self.front
        ]
        title = "Plans: " + "\n".join(self.verdict[:2])
        return aligned(title, ("front", "GPUs", "run", "USD", "batch"), rows)


def _plan(row: Mapping[str, Any] | None) -> Plan | None:
    return None if row is None else Plan.of(row)


def _launch(search: SearchResult) -> Launch | None:
    """Return the lines that predict and start the plan in question; None where there is none."""
    chosen, goal = search.in_question, search.goal
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
