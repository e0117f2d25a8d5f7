"""What each of several purchases adds to a fleet, what it costs, and when it pays back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from perfmodel.core.errors import InputError, refusal
from perfmodel.core.units import plural
from perfmodel.decide.planning.fleets.card import card_of_fleets
from perfmodel.decide.planning.fleets.job import Job
from perfmodel.decide.planning.fleets.market import Market, check_used, purchase_of, work_value
from perfmodel.decide.planning.fleets.proposals import proposals
from perfmodel.decide.planning.fleets.result import (
    FleetOption,
    Fleets,
    Kind,
    LeftOut,
    Payback,
    Purchase,
    SameBatch,
    WorkValue,
)
from perfmodel.decide.planning.fleets.run_times import Length, by_length, from_today, run_check, samples_of
from perfmodel.decide.planning.fleets.same_batch import (
    steps_of_larger,
    steps_of_other_batches,
    steps_of_same_batch,
)
from perfmodel.decide.planning.fleets.spread import interval_of, ratio_of
from perfmodel.decide.planning.fleets.step import FleetStep, Part, Policy, Refused, steps_of
from perfmodel.decide.planning.fleets.verdict import notes_of, words_of
from perfmodel.decide.planning.fleets.written import (
    Addition,
    Fleet,
    Group,
    joined,
    names_taken,
    rate_words,
    read_addition,
    read_fleet,
)
from perfmodel.decide.price_kinds import HOUR, YEAR
from perfmodel.decide.prices import DEFAULT_SERVICE_YEARS
from perfmodel.equations.fleets import payback_time
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.machine_words import accelerator_words, link_words, machines_words, node_words
from perfmodel.hardware.other_links import RDMA
from perfmodel.model.prediction.card import limit_of
from perfmodel.model.prediction.names import network_name
from perfmodel.model.prediction.result import Interval, Ratio

HAVE = "what you have"
"""Name of the present fleet in a comparison."""


def fleets(
    job: Job,
    have: str,
    buy: Sequence[str] = (),
    market: Market | None = None,
    length: Length | None = None,
    deadline: float | None = None,
    run_time: float | None = None,
) -> Fleets:
    """Return speed, cost and payback of each purchase for a fleet.

    Parameters
    ----------
    job : that the fleet trains
    have : the fleet, such as ``8 x dgx-a100-80gb@ib-hdr-200g``
    buy : purchases, such as ``4 x dgx-h100`` or ``ib-ndr-400g``; by default those of ``proposals``
    market : prices; by default those of the catalogue
    length, deadline : of a run [s]; None where unknown
    run_time : that a run takes on the present fleet today [s]; None where unknown

    Raises
    ------
    InputError : an unknown name; the job does not run on the present fleet; no purchase can be predicted
    """
    catalogue, market = job.catalogue, market or Market()
    fleet = joined(read_fleet(have, catalogue), catalogue)
    samples = samples_of(job, length or Length())
    if deadline is not None and samples is None and run_time is None:
        raise refusal("length.deadline")
    refused: list[Refused] = []
    steps_by_policy = {step.policy: step for step in steps_of(job, fleet, refused)}
    before = max(steps_by_policy.values(), key=lambda step: step.samples_per_second)
    value = work_value(fleet, market, catalogue)
    case = _Comparison(job, steps_by_policy, before, market, value, samples, deadline, run_time)
    present = _option(case, before, None, False)
    additions = [read_addition(text, catalogue) for text in (buy or proposals(fleet, catalogue))]
    check_used(market, fleet, additions)
    options: list[FleetOption] = []
    left_out = _without(refused, HAVE)
    for addition in dict.fromkeys(additions):
        try:
            larger = joined(read_fleet(have, catalogue), catalogue, addition, fleet.network)
            refused = []
            steps = steps_of_larger(job, larger, refused)
            options += [_option(case, step, addition, not buy) for step in steps]
            left_out += _without(refused, addition.words)
        except InputError as error:
            left_out.append(LeftOut.model_construct(option=addition.words, reason=error.note()))
    if not options:
        raise refusal("fleet.bought", option_=left_out[-1].option, reason=left_out[-1].reason)
    answer: Fleets = Fleets.model_construct(
        workload=str(before.parts[0].prediction.scenario["workload"]),
        headline=_headline(before, fleet, job),
        is_batch_assumed=job.is_batch_assumed(before.parts[0].prediction.layout),
        have=present,
        ways={policy: step.samples_per_second for policy, step in steps_by_policy.items()},
        options=options,
        left_out=left_out,
        work_value=value,
        samples=samples,
        run_time=run_time,
        run_check=run_check(run_time, samples, before, present.interval),
        defaults=before.parts[0].prediction.defaults,
        deadline=deadline,
        card=lambda: card_of_fleets(answer, catalogue),
        words=[],
        notes=[],
    )
    notes = [*names_taken((have, *buy), catalogue), *notes_of(answer, market, _life(market))]
    return answer.model_copy(update={"words": words_of(answer), "notes": notes})


def _without(refused: Sequence[Refused], name: str) -> list[LeftOut]:
    """Return policies that cannot be used as left-out options."""
    return [LeftOut.model_construct(option=f"{name}, {one.policy}", reason=one.reason) for one in refused]


class _Comparison(NamedTuple):
    """Inputs that all purchases of a comparison share."""

    job: Job
    ways: Mapping[Policy, FleetStep]
    """Step of the present fleet, by policy."""
    before: FleetStep
    """The fastest of them."""
    market: Market
    value: WorkValue | None
    samples: float | None
    deadline: float | None
    run_time: float | None
    """That a run takes on the present fleet, as given [s]."""


def _option(case: _Comparison, step: FleetStep, addition: Addition | None, proposed: bool) -> FleetOption:
    """Return a fleet with a purchase, or the present one for None, with speed, cost and payback."""
    ratio = purchase = cost = same = None
    others: list[SameBatch] = []
    before = case.ways.get(step.policy, case.before)
    interval = interval_of(step)
    if addition is not None:
        ratio = ratio_of(step, before, HAVE, case.job.catalogue)
        purchase = purchase_of(addition, step, before, case.market, case.job.catalogue)
        same = _same_batch(case, steps_of_same_batch(case.job, step, before), purchase)
        if case.job.is_batch_assumed(step.parts[0].prediction.layout):
            pairs = steps_of_other_batches(case.job, step, before)
            others = [each for pair in pairs if (each := _same_batch(case, pair, purchase))]
    gain = _gain(case, step, interval, ratio, purchase)
    if case.value is not None and gain["run_time"] is not None:
        cost = _cost(case.value, case.market, purchase, gain["run_time"])
    layout = step.parts[0].prediction.layout
    tokens = case.job.network.sequence_length
    return FleetOption.model_construct(
        option=HAVE if addition is None else addition.words,
        words=HAVE if addition is None else _purchase_words(addition, case.job.catalogue),
        policy=step.policy,
        proposed=proposed,
        machines=step.fleet.machines,
        gpus=step.fleet.gpus,
        network=step.fleet.network,
        nics=step.fleet.nics,
        idle_machines=step.idle,
        kinds=[_kind(part, case.job.catalogue) for part in step.parts],
        paced_by=None if len(step.parts) == 1 else str(step.slowest),
        limit=_limit(step, case.job.catalogue),
        layout=dict(layout) if layout else None,
        iteration_time=step.iteration_time,
        interval=interval,
        samples_per_second=step.samples_per_second,
        tokens_per_second=step.samples_per_second * tokens if tokens else None,
        purchase=purchase,
        cost_of_run=cost,
        same_batch=same,
        other_batches=others,
        **gain,
        notes=[
            *_idle(step, HAVE if addition is None else _purchase_words(addition, case.job.catalogue)),
            *([] if addition is None else _of_network(step, before, addition, case.job.catalogue)),
            *_caveats(step, before),
        ],
    )


def _gain(
    case: _Comparison,
    step: FleetStep,
    interval: Interval | None,
    ratio: Ratio | None,
    purchase: Purchase | None,
) -> dict[str, Any]:
    """Return the fields of ``SameBatch``: batch, speed, time of a run, payback and worth of a step."""
    if case.run_time is None:
        run, low, high = by_length(case.samples, step, interval)
    else:
        run, low, high = from_today(case.run_time, ratio)
    payback = worth = None
    if case.value is not None and ratio is not None and purchase is not None:
        payback = _payback(case, ratio, purchase, run)
        worth = _worth(case, case.value, ratio, purchase)
    return {
        "global_batch_size": round(step.samples),
        "ratio": ratio,
        "run_time": run,
        "run_time_low_80": low,
        "run_time_high_80": high,
        "meets_deadline": None if run is None or case.deadline is None else run <= case.deadline,
        "payback": payback,
        "worth": worth,
    }


def _same_batch(
    case: _Comparison, steps: tuple[FleetStep, FleetStep] | None, purchase: Purchase
) -> SameBatch | None:
    """Return what a purchase adds by the steps of both fleets with as many samples; None without them."""
    if steps is None:
        return None
    then, now = steps
    ratio = ratio_of(then, now, HAVE, case.job.catalogue)
    return SameBatch.model_construct(**_gain(case, then, interval_of(then), ratio, purchase))


def _purchase_words(addition: Addition, catalogue: Catalogue) -> str:
    """Return a purchase as people say it: ``4 x NVIDIA DGX A100 80 GB``, a network by its name."""
    parts = []
    for group in addition.groups:
        link = f" on {link_words(catalogue.link(group.link))}" if group.link else ""
        parts.append(f"{_group_words(group, catalogue)}{link}")
    if addition.network is not None:
        parts.append(link_words(catalogue.link(addition.network)))
    return " + ".join(parts)


def _group_words(group: Group, catalogue: Catalogue) -> str:
    """Return machines of one kind as people say them: ``4 x NVIDIA DGX A100 80 GB``."""
    name = f"{group.machines} x {node_words(catalogue.node(group.node))}"
    if not group.takes_any:
        return name
    return f"{name} with {accelerator_words(catalogue.accelerator(group.accelerator))}"


def _limit(step: FleetStep, catalogue: Catalogue) -> str:
    """Return what takes most of an iteration; of a mixed fleet, on its slowest machines."""
    paces = next((part for part in step.parts if part.group.kind == step.slowest.kind), step.parts[0])
    words = limit_of(paces.prediction)
    slowest = _group_words(step.slowest, catalogue)
    return words if len(step.parts) == 1 else f"the slowest workers are those of {slowest}: {words}"


def _kind(part: Part, catalogue: Catalogue) -> Kind:
    """Return the machines of one kind and their times as an answer."""
    group = part.group
    node, accelerator = catalogue.node(group.node), catalogue.accelerator(group.accelerator)
    names = accelerator_words(accelerator), node_words(node)
    return Kind.model_construct(
        machines=group.machines,
        name=group.name,
        words=machines_words(group.machines, group.gpus, group.accelerators, *names),
        node=group.node,
        accelerator=group.accelerator,
        gpus=group.gpus,
        samples_per_gpu=part.samples,
        own_time=part.own_time,
        exposed_time=part.exposed_time,
        exchange_time=part.exchange_time,
        alone_time=part.prediction.iteration_time,
    )


def _caveats(step: FleetStep, before: FleetStep) -> list[str]:
    """Return the warnings on a fleet's predictions that do not apply to the present fleet."""
    known = {line for part in before.parts for line in part.prediction.warnings}
    new = [line for part in step.parts for line in part.prediction.warnings if line not in known]
    return list(dict.fromkeys(line for line in new if not line.startswith("stragglers cap")))


def _of_network(step: FleetStep, before: FleetStep, addition: Addition, catalogue: Catalogue) -> list[str]:
    """Return notes on a new network: adapters it needs, and the limit that both networks share."""
    now, then = step.fleet.network, before.fleet.network
    if now == then or now is None or then is None:
        return []
    old, new = catalogue.link(then), catalogue.link(now)
    notes, name = [], _purchase_words(addition, catalogue)
    if old.passes_kernel and new.kind in RDMA and old.bandwidth.value == new.bandwidth.value:
        notes.append(f"{name}: on the ports of {link_words(old)}, if their adapters do RDMA")
    limits = [each.parts[0].prediction.network_limit for each in (step, before)]
    if limits[0] is not None and limits[0] == limits[1]:
        notes.append(f"{name}: on both networks binds {limits[0]}")
    return notes


def _idle(step: FleetStep, name: str) -> list[str]:
    """Return a note on machines that take no part; none where all do."""
    if not step.idle:
        return []
    every, stay = step.fleet.machines, "stays" if step.idle == 1 else "stay"
    return [
        f"{name}: {step.idle} of {every} machines {stay} idle: a step on {every - step.idle} is faster, as "
        "tensors, stages, replicas and the batch divide"
    ]


def _life(market: Market) -> float:
    """Return the time at work until a purchase is written off [s]."""
    conditions = market.conditions
    return (conditions.service_years or DEFAULT_SERVICE_YEARS) * YEAR * (conditions.used_fraction or 1.0)


def _running(purchase: Purchase) -> float:
    """Return rent and electricity of a purchase [USD/h]."""
    return (purchase.rent or 0.0) + purchase.electricity


def _payback(case: _Comparison, ratio: Ratio, purchase: Purchase, run: float | None) -> Payback | None:
    """Return when a purchase has earned its price, with an interval; None where a price is unknown."""
    if case.value is None or purchase.capital is None:
        return None
    capital, running = purchase.capital, _running(purchase)
    value = case.value.usd_per_hour

    def until(speed: float | None) -> float | None:
        if speed is None or value * (speed - 1) <= running:
            return None
        return float(payback_time(capital, value / HOUR, speed, running / HOUR))

    time = until(ratio.value)
    used = case.market.conditions.used_fraction or 1.0
    return Payback.model_construct(
        gain_per_hour=value * (ratio.value - 1) - running,
        time=time,
        soonest_80=until(ratio.high_80),
        latest_80=until(ratio.low_80),
        calendar_time=None if time is None else time / used,
        jobs=None if time is None or run is None else time / run,
        within_life=time is not None and time <= _life(case.market),
    )


def _worth(case: _Comparison, value: WorkValue, ratio: Ratio, purchase: Purchase) -> float:
    """Return the highest price at which a purchase pays back before it is written off [USD]."""
    gain = value.usd_per_hour * (ratio.value - 1) - _running(purchase)
    return max(0.0, gain * _life(case.market) / HOUR)


def _cost(value: WorkValue, market: Market, purchase: Purchase | None, run: float) -> float | None:
    """Return the cost of a run on the fleet [USD]: hourly value, depreciation, rent and electricity."""
    hourly = value.usd_per_hour
    if purchase is not None:
        if purchase.capital is None:
            return None
        hourly += purchase.capital / (_life(market) / HOUR) + _running(purchase)
    return hourly * run / HOUR


def _headline(before: FleetStep, fleet: Fleet, job: Job) -> str:
    """Return workload, fleet, network, precision and batch, in one line."""
    first = before.parts[0].prediction
    scenario = first.scenario
    batch = f"batch {scenario['local_batch_size']} each"
    if first.layout is not None or first.scaling == "strong" or len(before.parts) > 1:
        samples = round(before.samples)
        batch = f"{samples:,} {plural(first.sample, samples)} a step"
    machines = " + ".join(_group_words(group, job.catalogue) for group in fleet.groups)
    network, precision = rate_words(fleet, job.catalogue), scenario["precision"]
    assumed = " (assumed)" if job.is_batch_assumed(first.layout) else ""
    return f"{network_name(scenario['workload'])} on {machines} ({network}), {precision}, {batch}{assumed}"
