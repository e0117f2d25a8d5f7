"""What a comparison of fleets says; the models are the JSON schema people script against."""

from typing import Literal

from perfmodel.core.files.tables import Record as Row
from perfmodel.core.files.tables import Table
from perfmodel.core.records.record import Record
from perfmodel.model.prediction.result import Interval, Ratio


class Kind(Record):
    """The machines of one kind in a fleet, and what they do in an iteration."""

    machines: int
    """How many take part."""
    name: str
    """Of the machine, with its accelerator where it may hold another."""
    node: str
    """Id of the machine."""
    accelerator: str
    """Id of what it holds."""
    gpus: int
    """Accelerators of all these machines."""
    samples_per_gpu: float
    """In an iteration, of one accelerator; of a transformer that is shared out, its part of a replica's."""
    own_time: float
    """Of one worker without exchange and waiting for others [s]."""
    exposed_time: float
    """Of the exchange between all workers, after overlap, were all machines of this kind [s]."""
    exchange_time: float
    """All of that exchange, hidden or not [s]."""
    alone_time: float
    """An iteration of as many accelerators, were all of this kind and had these samples [s]."""


class Item(Record):
    """Something that is bought or rented."""

    what: str
    """In words."""
    count: int
    """How many."""
    each: float
    """[USD]; of what is rented [USD/h]."""
    basis: Literal["purchase", "rent"]
    """Whether it is bought or rented."""
    source: str
    """Who says what it costs."""


class Purchase(Record):
    """What an option costs; unknown prices are absent, never guessed."""

    items: list[Item]
    """Each with its price."""
    capital: float | None
    """Of all that is bought [USD]; None where a price is unknown, 0 where everything is rented."""
    rent: float | None
    """Of all that is rented [USD/h]; None where nothing says whether it is rented or bought."""
    electricity: float
    """Of machines of one's own, more than before [USD/h]; 0 where its price is not given."""
    unknown: list[str]
    """What to give for the rest."""
    left_out: list[str]
    """What more machines need on the network that is there and nobody gave a price of: not counted."""


class Payback(Record):
    """When an option has earned what it costs, by what an hour of the work is worth."""

    gain_per_hour: float
    """What an hour at work earns: the work added, less rent and electricity [USD/h]."""
    time: float | None
    """At work until the price is earned [s]; 0 where nothing is bought, None where it never is."""
    soonest_80: float | None
    """With the speed at the upper end of its 80 % interval [s]; None where never or unknown."""
    latest_80: float | None
    """With the speed at the lower end [s]; None where never, or no interval is known."""
    calendar_time: float | None
    """``time`` over the share of its life at work [s]."""
    jobs: float | None
    """Runs until then; None where nobody says how long a run is."""
    within_life: bool
    """Whether that is before it is written off."""


class FleetOption(Record):
    """A fleet, as it is or with something bought."""

    option: str
    """What is bought, as it may be typed; ``what you have``."""
    policy: Literal["one kind", "slowest paces", "shares by speed"]
    """How unlike machines share the samples: all as many, or each as many as it is fast."""
    proposed: bool
    """Whether the command named it, where nobody did."""
    machines: int
    """In all, idle ones included."""
    gpus: int
    """Accelerators that take part."""
    network: str | None
    """The link that paces the exchange between machines; None on one machine without any."""
    nics: int
    """Adapters of a machine on it."""
    idle_machines: int
    """That take no part, as it is faster without them: degrees of a layout divide those that do."""
    kinds: list[Kind]
    """A row for each kind of machine."""
    paced_by: str | None
    """The machines whose workers are slowest; None of one kind."""
    layout: dict[str, int | str] | None
    """How a transformer is shared out, else None."""
    iteration_time: float
    """[s]"""
    interval: Interval | None
    """Of the iteration time [s]; None where it was not learned."""
    global_batch_size: int
    """Samples of an iteration."""
    samples_per_second: float
    """Of the whole job [samples/s]."""
    tokens_per_second: float | None
    """Of the whole job [tokens/s]; None where samples have no tokens."""
    ratio: Ratio | None
    """How many times as fast it is as what there is; None of that."""
    run_time: float | None
    """[s]; None where nobody says how long a run is."""
    run_time_low_80: float | None
    """With the speed at the upper end of its 80 % interval [s]."""
    run_time_high_80: float | None
    """With the speed at the lower end [s]."""
    meets_deadline: bool | None
    """Whether the run ends in time; None without a deadline."""
    purchase: Purchase | None
    """None of what there is."""
    payback: Payback | None
    """None where a price, or what the work is worth, is unknown."""
    cost_of_run: float | None
    """What an hour of the fleet before is worth, and what was bought written off over its life with rent and
    electricity, over the run [USD]; None where not known."""
    worth: float | None
    """What may be paid for it, to pay back before it is written off [USD]; None where unknown."""
    notes: list[str]
    """What to know of it."""


class LeftOut(Record):
    """An option that no step was predicted of."""

    option: str
    """What would have been bought."""
    reason: str
    """Why nothing is predicted of it."""


class WorkValue(Record):
    """What an hour of the work of the fleet before is worth."""

    usd_per_hour: float
    """Of an hour of the fleet [USD/h]."""
    source: str
    """Given, or whose rent of as many such machines."""


class Fleets(Record, Table):
    """What each option adds to a fleet, what it costs, and when it pays back."""

    workload: str
    """Network of the job."""
    headline: str
    """The job in a line."""
    have: FleetOption
    """The fastest way to share samples on what there is."""
    ways: dict[str, float]
    """Samples a second of what there is by each such way: what options are held against."""
    options: list[FleetOption]
    """In the order they were named; a mixed fleet by each policy."""
    left_out: list[LeftOut]
    """Options that no step was predicted of."""
    work_value: WorkValue | None
    """What an hour of the work is worth; None where no price is known."""
    samples: float | None
    """Of a run."""
    deadline: float | None
    """[s]"""
    words: list[str]
    """The answer in a few sentences."""
    notes: list[str]
    """What to know of the comparison."""

    def to_json(self) -> str:
        """Return what ``perfmodel plan --have ... --json`` prints."""
        return self.model_dump_json()

    def records(self) -> list[Row]:
        """Return a row for each fleet, without what its kinds do."""
        return [record(one) for one in (self.have, *self.options)]

    def __repr__(self) -> str:
        return f"<Fleets: {' '.join(self.words)}>"


def record(one: FleetOption) -> Row:
    """Return a fleet as a row of plain values."""
    ratio, purchase, payback = one.ratio, one.purchase, one.payback
    return {
        "option": one.option,
        "policy": one.policy,
        "machines": one.machines,
        "gpus": one.gpus,
        "idle_machines": one.idle_machines,
        "network": one.network,
        "iteration_time": one.iteration_time,
        "global_batch_size": one.global_batch_size,
        "samples_per_second": one.samples_per_second,
        "ratio": None if ratio is None else ratio.value,
        "ratio_low_80": None if ratio is None else ratio.low_80,
        "ratio_high_80": None if ratio is None else ratio.high_80,
        "run_time": one.run_time,
        "run_time_low_80": one.run_time_low_80,
        "run_time_high_80": one.run_time_high_80,
        "meets_deadline": one.meets_deadline,
        "capital": None if purchase is None else purchase.capital,
        "rent": None if purchase is None else purchase.rent,
        "gain_per_hour": None if payback is None else payback.gain_per_hour,
        "payback_time": None if payback is None else payback.time,
        "payback_soonest_80": None if payback is None else payback.soonest_80,
        "payback_latest_80": None if payback is None else payback.latest_80,
        "payback_jobs": None if payback is None else payback.jobs,
        "cost_of_run": one.cost_of_run,
        "worth": one.worth,
    }
