"""The result of a comparison of fleets; its models are the JSON schema."""

from typing import Literal

from perfmodel.core.files.tables import Record as Row
from perfmodel.core.files.tables import Table
from perfmodel.core.records.record import Record, late
from perfmodel.core.units import dollars
from perfmodel.model.prediction.answer_card import Card
from perfmodel.model.prediction.result import Interval, Ratio


class Kind(Record):
    """The machines of one kind in a fleet, and their times in an iteration."""

    machines: int
    """Number of these machines that take part."""
    name: str
    """Name of the machine, with its accelerator where it may have another."""
    words: str
    """The machines as people call them."""
    node: str
    """Id of the machine."""
    accelerator: str
    """Id of its accelerators."""
    gpus: int
    """Accelerators of all these machines."""
    samples_per_gpu: float
    """Samples of one accelerator in an iteration; with a layout, its share of its replica's."""
    own_time: float
    """Time of one worker without exchange and waiting for others [s]."""
    exposed_time: float
    """Exposed time of the exchange between all workers, if all machines were of this kind [s]."""
    exchange_time: float
    """Whole time of that exchange, hidden or not [s]."""
    alone_time: float
    """Iteration time with all accelerators of this kind and with these samples [s]."""


class Item(Record):
    """A machine, adapter or switch that is bought or rented."""

    what: str
    """Description of the item, by ids."""
    words: str
    """The same as people say it."""
    count: int
    """Number of them."""
    each: float
    """Price of one [USD]; of a rented one [USD/h]."""
    basis: Literal["purchase", "rent"]
    """Whether it is bought or rented."""
    source: str
    """Source of the price."""

    @property
    def at_price(self) -> str:
        """Number, item and price of each."""
        return f"{self.count} x {self.words} at {dollars(self.each)}{'/h' if self.basis == 'rent' else ''}"


class Purchase(Record):
    """The cost of an option; unknown prices are absent, never guessed."""

    items: list[Item]
    """Items with their prices."""
    capital: float | None
    """Price of all that is bought [USD]; null where a price is unknown, 0 where everything is rented."""
    rent: float | None
    """Price of all that is rented [USD/h]; null where a price is unknown."""
    electricity: float
    """Additional electricity of owned machines [USD/h]; 0 where its price is not given."""
    unknown: list[str]
    """Missing prices, each with the option that gives it."""
    left_out: list[str]
    """Adapters and switches for more machines on the present network, without a given price: not counted."""


class Payback(Record):
    """When an option has earned its price, by the value of an hour of the work."""

    gain_per_hour: float
    """Earnings of an hour at work: value of the added work, less rent and electricity [USD/h]."""
    time: float | None
    """Time at work until the price is earned [s]; 0 where nothing is bought, null where it never is."""
    soonest_80: float | None
    """That time at the upper end of the speed's 80 % interval [s]; null where never or unknown."""
    latest_80: float | None
    """That time at the lower end [s]; null where never or unknown."""
    calendar_time: float | None
    """``time`` over the fraction of the time at work [s]."""
    jobs: float | None
    """Runs until then; null where the length of a run is not given."""
    within_life: bool
    """Whether it is earned before it is written off."""


class SameBatch(Record):
    """What a purchase adds where a step has as many samples with it as without it."""

    global_batch_size: int
    """Samples of an iteration, of both fleets: the number nearest to today's that divides over both."""
    ratio: Ratio
    """Speed over that of the present fleet."""
    run_time: float | None
    """Time of a run [s]; null as that of the option."""
    run_time_low_80: float | None
    """Lower end of its 80 % interval [s]."""
    run_time_high_80: float | None
    """Upper end [s]."""
    meets_deadline: bool | None
    """Whether the run ends in time; null without a deadline."""
    payback: Payback | None
    """Null where a price, or the value of the work, is unknown."""
    worth: float | None
    """Highest price at which it pays back before it is written off [USD]; null where unknown."""


class FleetOption(Record):
    """A fleet: the present one, or with a purchase."""

    option: str
    """The purchase, as it may be typed; ``what you have`` of the present fleet."""
    words: str
    """The same as people say it."""
    policy: Literal["one kind", "slowest paces", "shares by speed"]
    """How unlike machines share the samples: equally, or in proportion to their speed."""
    proposed: bool
    """Whether it is a default proposal."""
    machines: int
    """Number of machines, idle ones included."""
    gpus: int
    """Accelerators that take part."""
    network: str | None
    """The link that limits the exchange between machines; null on one machine without a network."""
    nics: int
    """Adapters of one machine on it."""
    idle_machines: int
    """Machines that take no part because the step is faster without them: degrees of a layout divide the
    others.
    """
    kinds: list[Kind]
    """The machines by kind."""
    paced_by: str | None
    """The machines with the slowest workers; null of one kind."""
    limit: str
    """What takes most of an iteration; of a mixed fleet, on its slowest machines."""
    layout: dict[str, int | str] | None
    """Layout of a model-parallel transformer, else null."""
    iteration_time: float
    """Time of one iteration [s]."""
    interval: Interval | None
    """Interval of the iteration time [s]; null where it was not learned."""
    global_batch_size: int
    """Samples of an iteration."""
    samples_per_second: float
    """Of the whole job [samples/s]."""
    tokens_per_second: float | None
    """Of the whole job [tokens/s]; None where samples have no tokens."""
    ratio: Ratio | None
    """Speed over that of the present fleet; null of the present fleet."""
    run_time: float | None
    """Time of a run [s]; null where neither its length nor the time that it takes today is given."""
    run_time_low_80: float | None
    """Lower end of its 80 % interval [s]: from that of the speed ratio where the time of today is given, else
    from that of the iteration time.
    """
    run_time_high_80: float | None
    """Upper end [s]."""
    meets_deadline: bool | None
    """Whether the run ends in time; None without a deadline."""
    purchase: Purchase | None
    """Cost of the purchase; null of the present fleet."""
    payback: Payback | None
    """Null where a price, or the value of the work, is unknown."""
    cost_of_run: float | None
    """Cost of a run: hourly value of the present fleet, depreciation of the purchase, rent and electricity
    [USD]; null where unknown."""
    worth: float | None
    """Highest price at which it pays back before it is written off [USD]; null where unknown."""
    notes: list[str]
    """Notes on idle machines, network limits and warnings."""
    same_batch: SameBatch | None
    """What it adds without a larger step; null where its step is not larger than that of the present fleet,
    or no number of samples suits both.
    """
    other_batches: list[SameBatch]
    """What it adds with 4 and 16 times as many samples a step, before and after, where these divide and fit;
    empty where the batch of the job is given, or a layout is searched for each.
    """

    @property
    def at_same_batch(self) -> "FleetOption | None":
        """The option with speed, run, payback and worth of ``same_batch``; None without one."""
        return None if self.same_batch is None else self._with(self.same_batch)

    @property
    def at_other_batches(self) -> "list[FleetOption]":
        """The option with those of each of ``other_batches``."""
        return [self._with(each) for each in self.other_batches]

    def _with(self, batch: SameBatch) -> "FleetOption":
        changed = {name: getattr(batch, name) for name in SameBatch.model_fields}
        return self.model_copy(update={**changed, "same_batch": None, "other_batches": []})


class LeftOut(Record):
    """An option that could not be predicted."""

    option: str
    """The purchase."""
    reason: str
    """Why it could not be predicted."""


class WorkValue(Record):
    """The value of an hour of the present fleet's work."""

    usd_per_hour: float
    """Of one hour of the fleet [USD/h]."""
    source: str
    """``given``, or the offers whose rent it is."""
    service_years: float
    """Years until a purchase is written off [year]."""
    used_fraction: float
    """Fraction of these years at work [1]."""


class RunCheck(Record):
    """The time that a run takes today by prediction, against the time given."""

    given: float
    """As given [s]."""
    predicted: float
    """As predicted from its length [s]."""
    low_80: float | None
    """Lower end of the 80 % interval [s]; null where it was not learned."""
    high_80: float | None
    """Upper end [s]."""
    is_far: bool
    """Whether the time given lies outside the 95 % interval, or the 80 % one where no wider one is known."""


class Fleets(Record, Table):
    """Speed, cost and payback of each purchase for a fleet."""

    workload: str
    """Network of the job."""
    headline: str
    """The job in one line."""
    is_batch_assumed: bool
    """Whether the samples of a step today are a default, as no batch of the job was given."""
    have: FleetOption
    """The present fleet with its fastest policy."""
    ways: dict[str, float]
    """Samples per second of the present fleet by policy, with which options are compared."""
    options: list[FleetOption]
    """In the order in which they were given; a mixed fleet once per policy."""
    left_out: list[LeftOut]
    """Options that could not be predicted."""
    work_value: WorkValue | None
    """Value of an hour of the work; null where no price is known."""
    samples: float | None
    """Samples of a run; null where its length is not given."""
    run_time: float | None
    """Time of a run on the present fleet, as given [s]; null where it is not."""
    run_check: RunCheck | None
    """That time by prediction; null where the time or the length of a run is not given."""
    defaults: list[str]
    """Options of the job left open, with the defaults taken."""
    deadline: float | None
    """Of a run [s]; null where none is given."""
    card: Card = late()
    """The answer in short."""
    words: list[str]
    """The answer in a few sentences."""
    notes: list[str]
    """Assumptions, and options that change them."""

    def to_json(self) -> str:
        """Return what ``perfmodel plan --have ... --json`` prints."""
        return self.model_dump_json()

    def records(self) -> list[Row]:
        """Return a row for each fleet, without the details of each kind."""
        return [record(one) for one in (self.have, *self.options)]

    def __repr__(self) -> str:
        return f"<Fleets: {' '.join(self.words)}>"


def record(one: FleetOption) -> Row:
    """Return a fleet as a row of plain values."""
    ratio, purchase, payback, same = one.ratio, one.purchase, one.payback, one.same_batch
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
        "same_batch_size": None if same is None else same.global_batch_size,
        "same_batch_ratio": None if same is None else same.ratio.value,
        "same_batch_run_time": None if same is None else same.run_time,
        "same_batch_worth": None if same is None else same.worth,
    }
