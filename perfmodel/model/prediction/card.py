"""The answer card of a prediction: what to plan with, how long, how sure, what limits it, and why."""

import re
from collections.abc import Mapping
from typing import Any

from perfmodel.core.units import percent, plural, show, three_digits
from perfmodel.hardware.software import DEFAULT_FOR_LAYOUTS, OF_YEAR, parts
from perfmodel.model.fitted.ledger_scales import FEW, sources_for, sources_words
from perfmodel.model.options.risk import PLANNING_CONFIDENCE, Risk
from perfmodel.model.prediction.answer_card import Card
from perfmodel.model.prediction.memory_odds import CERTAIN, if_as_assumed
from perfmodel.model.prediction.names import accelerator_name
from perfmodel.model.prediction.result import Memory, Prediction
from perfmodel.model.setting.link_caveats import PART_OF
from perfmodel.model.step.terms import bound_words, by_bound

GIB = 2**30
TOO_WIDE = 10.0
"""Upper over lower end of an 80 % interval above which a prediction is too uncertain for planning."""
EVEN = 0.5
"""Confidence at which the throughput to plan with is the median, whatever the interval."""
_FACTOR = re.compile(r"(; stated| \(x\d).*")
"""The end of a reason for a wide interval, with its factor."""
WORTH_SAYING = 0.01
"""Share of an iteration from which the second largest limit is named."""


def card_of(prediction: Prediction, confidence: float = PLANNING_CONFIDENCE) -> Card:
    """Return the answer card of a prediction, without a cost.

    Parameters
    ----------
    confidence : how sure to be of the throughput to plan with

    Examples
    --------
    >>> from perfmodel import predict
    >>> card_of(predict(gpus=1)).machines
    '1 x V100 SXM2 16 GB: 1 node for up to 8 accelerators'
    """
    return Card.model_construct(
        advice=advice(prediction, confidence),
        machines=_machines(prediction),
        time=prediction.time_words,
        throughput=throughput_words(prediction) if prediction.memory.fits else "",
        memory=memory_words(prediction),
        limit=limit_of(prediction),
        rests_on=rests_on(prediction, confidence),
    )


def _machines(prediction: Prediction) -> str:
    """Return the accelerators of a job by name, with their placement."""
    count, id = prediction.scenario["world_size"], prediction.scenario["accelerator"]
    return f"{count} x {accelerator_name(id)}: {prediction.placement}{_software(prediction)}"


def _software(prediction: Prediction) -> str:
    """Return the software taken for a job with a layout, where that is not the one of most; else nothing.

    Of software that was named only the year is said to be a default.
    """
    taken = next((line for line in prediction.defaults if line.startswith("--framework ")), "")
    release, of_year, _ = taken.removeprefix("--framework ").partition(OF_YEAR)
    name, year = parts(release)
    if prediction.layout is None or not release or name == DEFAULT_FOR_LAYOUTS:
        return ""
    return f"; {name} (year {year} by default)" if of_year else f"; {release} by default"


def with_card(fields: Mapping[str, Any], confidence: float = PLANNING_CONFIDENCE) -> Prediction:
    """Return the prediction of these fields, with a card that is made when it is first read."""
    made: Prediction = Prediction.model_construct(**fields, card=lambda: card_of(made, confidence))
    return made


def at_confidence(prediction: Prediction, risk: Risk) -> Prediction:
    """Return a prediction whose card plans with a throughput that is reached with a probability.

    >>> from perfmodel import predict
    >>> at_confidence(predict(gpus=32), Risk(confidence=0.5)).card.advice.partition(":")[2]
    ' half of the jobs like it are faster.'
    >>> sure = at_confidence(predict(gpus=32), Risk(confidence=0.99))
    >>> sure.card.advice.partition("; ")[2]
    'rough: 2 sources say how far off such jobs are; 99 % needs 99 sources.'
    """
    fields = {name: value for name, value in vars(prediction).items() if name != "card"}
    return with_card(fields, risk.confidence)


def slowest(longest: float, confidence: float) -> float:
    """Return the time that is kept with a probability, over the median.

    Parameters
    ----------
    longest : upper end of the 80 % interval over the median

    >>> slowest(1.5, 0.9), round(slowest(1.5, 0.95), 3), slowest(1.5, 0.5)
    (1.5, 1.683, 1.0)
    """
    if confidence == PLANNING_CONFIDENCE:
        return longest
    from statistics import NormalDist

    quantile = NormalDist().inv_cdf
    return float(longest ** (quantile(confidence) / quantile(PLANNING_CONFIDENCE)))


def throughput_range(prediction: Prediction) -> tuple[float, float] | None:
    """Return the throughput at the ends of the 80 % interval [samples/s], the lower first, or None."""
    interval = prediction.interval
    if interval is None:
        return None
    samples = prediction.samples_per_second * prediction.iteration_time
    return samples / interval.high_80, samples / interval.low_80


def is_too_wide(prediction: Prediction) -> bool:
    """Whether the interval of a prediction is wider than ``TOO_WIDE``."""
    rates = throughput_range(prediction)
    return rates is not None and rates[1] > TOO_WIDE * rates[0]


def samples_per_second(prediction: Prediction, samples: float) -> str:
    """Return a throughput of all accelerators [samples/s] as text with its unit."""
    words = three_digits(samples)
    return f"{words} {plural(prediction.sample, 1 if words == '1' else 2)}/s"


def per_second(prediction: Prediction, samples: float) -> str:
    """Return a throughput as text with its unit, after tokens/s where the job trains on tokens.

    Parameters
    ----------
    prediction : of the job
    samples : throughput of all accelerators [samples/s]
    """
    words = samples_per_second(prediction, samples)
    if not prediction.tokens_per_second:
        return words
    tokens = prediction.tokens_per_second / prediction.samples_per_second
    return f"{three_digits(samples * tokens)} tokens/s ({words})"


def throughput_words(prediction: Prediction) -> str:
    """Return the throughput with its 80 % interval, as text: tokens/s first where the job trains on tokens.

    >>> from perfmodel import predict
    >>> job = {"workload": "llama-3-8b", "accelerator": "h100-sxm5-80gb", "gpus": 8, "sharding": "zero3"}
    >>> [each.partition(" ")[2].partition(" (")[0] for each in throughput_words(predict(**job)).split("; ")]
    ['tokens/s', 'sequences/s']
    """
    samples, rates = prediction.samples_per_second, throughput_range(prediction)

    def words(each: float, unit: str) -> str:
        said = f"{three_digits(each * samples)} {unit}/s"
        if rates is None:
            return said
        return f"{said} (80 %: {' to '.join(three_digits(each * end) for end in rates)})"

    tokens = prediction.tokens_per_second
    of_samples = words(1.0, plural(prediction.sample, 1 if three_digits(samples) == "1" else 2))
    return f"{words(tokens / samples, 'tokens')}; {of_samples}" if tokens else of_samples


def advice(prediction: Prediction, confidence: float = PLANNING_CONFIDENCE) -> str:
    """Return the advice about a prediction: the throughput to plan with and its confidence, or what to do."""
    rates, memory = throughput_range(prediction), prediction.memory
    if not memory.fits:
        return f"It {unfit_verdict(memory)}: {unfit_reason(memory)}. What to do: {_smaller(prediction)}."
    if rates is None:
        return f"Plan with {per_second(prediction, prediction.samples_per_second)}; no interval is known."
    if is_too_wide(prediction):
        between = " to ".join(map(three_digits, rates))
        return (
            "Measure before you plan: the model does not know this job well enough. "
            f"With 80 % confidence it does {between} {plural(prediction.sample, 2)}/s."
        )
    start = "Plan with" if memory.probability >= CERTAIN else f"It {memory.verdict}; if it does, plan with"
    median = prediction.samples_per_second
    sure = median / slowest(median / rates[0], confidence)
    if confidence == EVEN:
        return f"{start} {per_second(prediction, sure)}: half of the jobs like it are faster."
    # up to that confidence the basis says that the evidence is rough
    rough = rough_words(prediction, confidence) if confidence > PLANNING_CONFIDENCE else ""
    return (
        f"{start} {per_second(prediction, sure)}: {percent(confidence)} of jobs like it are faster, "
        f"half are faster than {per_second(prediction, median)}{rough}."
    )


def rough_words(prediction: Prediction, confidence: float) -> str:
    """Return that fewer sources are known of such jobs than a confidence takes; empty where enough are."""
    interval = prediction.interval
    if interval is None or interval.sources is None:
        return ""
    needed, known = sources_for(confidence), interval.sources
    if known >= needed:
        return ""
    return f"; rough: {sources_words(known)}; {percent(confidence)} needs {needed} sources"


def unfit_verdict(memory: Memory) -> str:
    """Return that a job does not fit, without a subject."""
    if memory.probability > 1 - CERTAIN:
        return f"probably does not fit ({percent(memory.probability)} that it does)"
    return memory.verdict


def unfit_reason(memory: Memory) -> str:
    """Return the memory that a job needs and that is there, as a clause."""
    if memory.states_exceed is not None:
        return memory.states_exceed
    if memory.lacks_host:
        return f"it needs {memory.host_words}"
    needed, there = (f"{size / GIB:,.1f}" for size in (memory.bytes, memory.capacity))
    return f"{needed} GiB of memory are needed on each GPU, {there} are there"


def _smaller(prediction: Prediction) -> str:
    """Return the advice for a job that does not fit: the largest batch that would, if any."""
    sure, most = prediction.memory.largest_sure_batch_size, prediction.memory.largest_local_batch_size
    of = "samples for each GPU" if prediction.layout is None else "samples in a micro-batch"
    others = "what perfmodel fits names for this job"
    if prediction.memory.lacks_host and not most:
        return f"take machines with more host memory, or {others}"
    if sure:
        return f"take fewer {of}, at most {sure:,} to be sure, or {others}"
    if most:
        return f"take at most {most:,} {of}, which fit with even odds, or {others}"
    return f"take {others}, as not even 1 of the {of} fits"


def memory_words(prediction: Prediction) -> str:
    """Return whether a job fits, with what it needs and what is there, as text."""
    memory = prediction.memory
    need, known = memory.bytes, memory.known_bytes or 0.0
    stated = if_as_assumed(need, known, memory.capacity, memory.not_stated)
    words = f"{memory.verdict} ({stated})" if stated else memory.verdict
    words += f": {need / GIB:.1f} of {memory.capacity / GIB:.1f} GiB"
    if memory.low_80 is not None and memory.high_80 is not None:
        words += f" (80 %: {memory.low_80 / GIB:.1f} to {memory.high_80 / GIB:.1f})"
    return f"{words}; {memory.host_words}" if memory.host_bytes else words


def limit_of(prediction: Prediction) -> str:
    """Return the two largest limits of an iteration (computation, network, ...) as text with their shares."""
    return limit_words(prediction.terms)


def limit_words(terms: Mapping[str, float]) -> str:
    """Return the same of the terms of an iteration [s]."""
    times, whole = by_bound(terms), sum(terms.values())
    shares = {bound: time / whole for bound, time in times.items()}
    first, second = sorted(shares, key=lambda bound: -shares[bound])[:2]
    words = f"{bound_words(first)}, {shares[first] * 100:.0f} % of the time"
    if shares[second] < WORTH_SAYING:
        return words
    return f"{words}, then {bound_words(second)}, {shares[second] * 100:.0f} %"


def _with_own_runs(prediction: Prediction, basis: str) -> str:
    """Return what a prediction rests on, with own runs that move it and its time without them, as text."""
    time = prediction.time_without_own_runs
    if time is None or show(time, "s") == show(prediction.iteration_time, "s"):
        return basis
    is_measured = prediction.mode == "anchored" and prediction.scenario["anchor"] is None
    runs = "your own runs of this job" if is_measured else f"{basis}, and your own runs"
    return f"{runs} ({show(time, 's')} without them)"


def rests_on(prediction: Prediction, confidence: float = EVEN) -> str:
    """Return what the interval was learned from, and its first reason to be wider, as text.

    Parameters
    ----------
    confidence : of a throughput to plan with, if the text says what it would be without that reason
    """
    interval = prediction.interval
    if interval is None:
        return "a job whose errors nobody knows"
    fit = "data sheets and a fit to published runs"
    basis = {"specs": fit, "anchored": "the measured run given", "traced": "the trace given"}
    words = _with_own_runs(prediction, basis[prediction.mode])
    if interval.sources is not None:
        count = interval.sources
        says = "1 published source says" if count == 1 else f"{count or 'no'} published sources say"
        words += f"; {says} how far off such jobs are{': rough' if count < FEW else ''}"
    wider = [
        f"wider, as {_FACTOR.sub('', reason)}{_without(prediction, reason, confidence)}"
        for reason in interval.wider_because[:1]
    ]
    return "; ".join([words, *wider, *part_of_adapters(prediction)])


def nics_assumed(prediction: Prediction) -> str:
    """Return the default taken for ``--nics``, as it is stated; empty where the number was given."""
    option = "--nics "
    return next((line for line in prediction.defaults if line.startswith(option)), "").removeprefix(option)


def part_of_adapters(prediction: Prediction) -> list[str]:
    """Return what was assumed of the network adapters of machines that are used in part, at most one line.

    >>> from perfmodel import predict
    >>> one_each = predict(gpus=4, accelerators_per_node=1, inter_link="ethernet-25g-tcp")
    >>> part_of_adapters(one_each)
    ['1 network adapter a machine (of 4, for 1 of 8 GPUs): --nics for another number']
    >>> served = {"strategy": "parameter-server", "servers": 4}
    >>> part_of_adapters(predict(gpus=4, accelerators_per_node=1, **served))[0].partition(" (of")[0]
    '1 network adapter a machine, servers too'
    """
    count, _, part = nics_assumed(prediction).partition(PART_OF)
    if not part:
        return []
    adapters, job = plural("network adapter", int(count)), prediction.scenario
    servers = ", servers too" if job["servers"] and job["server_node"] == job["node"] else ""
    return [f"{count} {adapters} a machine{servers}{PART_OF}{part}: --nics for another number"]


def _without(prediction: Prediction, reason: str, confidence: float) -> str:
    """Return what one would plan with over a measured network, behind the reason; empty for others."""
    factor, rates = re.match(r"no measured run over .*\(x([\d.]+)", reason), throughput_range(prediction)
    if factor is None or rates is None or is_too_wide(prediction) or confidence == EVEN:
        return ""
    median = prediction.samples_per_second
    sure = median / slowest((median / rates[0]) ** (1 / float(factor[1])), confidence)
    return f" (over a measured one plan with some {samples_per_second(prediction, _rounded(sure))})"


def _rounded(rate: float) -> float:
    """Return a rate to two digits.

    >>> _rounded(7925.0)
    7900.0
    """
    return float(f"{rate:.2g}")
