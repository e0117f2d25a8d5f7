"""How answers call the options of a comparison of fleets, and what they make of a run."""

from __future__ import annotations

from perfmodel.core.units import duration
from perfmodel.decide.planning.fleets.payback_words import MACHINES, step_words
from perfmodel.decide.planning.fleets.result import FleetOption, Fleets, RunCheck

POLICY_WORDS = {"slowest paces": "equal shares"}
"""Policy of a mixed fleet -> what people read, where that is not its name."""
EQUAL_SHARES_SAID = (
    "equal shares: each GPU gets as many samples, as in stock data parallelism, and the slowest sets the pace"
)
SHARES_SAID = (
    f"{EQUAL_SHARES_SAID}; shares by speed: a faster GPU gets more, which stock software does not do"
)
GROWS = "if the job's batch may grow"
"""What most options rest on where no batch of the job is given."""


def name_of(one: FleetOption) -> str:
    """Return an option, with the policy of a mixed fleet."""
    return one.words if one.policy == "one kind" else f"{one.words}, {policy_words(one.policy)}"


def policy_words(policy: str) -> str:
    """Return how a mixed fleet shares a step's samples, in words."""
    return POLICY_WORDS.get(policy, policy)


def more_of(one: FleetOption) -> str:
    """Return an option as what comes to the present fleet: machines of one kind with ``more`` after them."""
    if not MACHINES.fullmatch(one.option):
        return name_of(one)
    policy = "" if one.policy == "one kind" else f", {policy_words(one.policy)}"
    return f"{one.words} more{policy}"


def assumed_batch_words(answer: Fleets) -> str:
    """Return the samples of a step of the present fleet, in words for a batch that is assumed."""
    have = answer.have
    each = (
        ""
        if have.layout or len(have.kinds) > 1
        else f" ({have.kinds[0].samples_per_gpu:g} on each of {have.gpus:,} GPUs)"
    )
    return f"a step of {have.global_batch_size:,} samples today{each}"


def grown_words(answer: Fleets, one: FleetOption) -> str:
    """Return on which larger batch an option rests, as a condition; empty where its batch is not larger."""
    samples, more = answer.have.global_batch_size, one.global_batch_size
    assumed = " (assumed)" if answer.is_batch_assumed else ""
    return f"{GROWS} from {samples:,} samples{assumed} to {more:,}" if more > samples else ""


def grown_step(answer: Fleets, one: FleetOption) -> str:
    """Return the samples of a step of an option, behind a comma, where they are more than those of today."""
    return f", with {step_words(one)}" if grown_words(answer, one) else ""


def gain_words(answer: Fleets, one: FleetOption, in_full: bool = False, with_condition: bool = True) -> str:
    """Return how much faster an option is, and what that makes of a run.

    Parameters
    ----------
    in_full : with how likely it is
    with_condition : with ``grown_words``
    """
    assert one.ratio is not None
    today, run = answer.have.run_time, one.run_time
    speed = one.ratio.words if in_full else one.ratio.speed()
    samples, more = answer.have.global_batch_size, one.global_batch_size
    condition = grown_words(answer, one) if with_condition else ""
    grown = f", {condition}" if condition else ""
    if more < samples and not one.layout:
        grown = f", with {more:,} samples a step: {one.gpus:,} GPUs cannot share {samples:,} equally"
    if today is None or run is None:
        return f"{speed}{grown}"
    if answer.run_time is None:
        return f"{speed}, a predicted {duration(run)} instead of {duration(today)}{grown}"
    order = f", {one.ratio.order}" if in_full and one.ratio.order else ""
    return f"{duration(today)} become {run_words(one)}, {one.ratio.times()}{order}{grown}"


def run_words(one: FleetOption) -> str:
    """Return the time of a run with its 80 % interval; empty where it is unknown."""
    if one.run_time is None:
        return ""
    if one.run_time_low_80 is None or one.run_time_high_80 is None:
        return duration(one.run_time)
    ends = f"{duration(one.run_time_low_80)} to {duration(one.run_time_high_80)}"
    return f"{duration(one.run_time)} (80 %: {ends})"


def check_words(check: RunCheck) -> str:
    """Return the time that a run takes today by prediction, as a clause."""
    ends = ""
    if check.low_80 is not None and check.high_80 is not None:
        ends = f" (80 %: {duration(check.low_80)} to {duration(check.high_80)})"
    return f"we would have predicted {duration(check.predicted)}{ends}"
