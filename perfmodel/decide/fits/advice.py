"""A change that makes a job fit, as the answer has it, and the advice that is made of such changes."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from perfmodel.core.records.record import Record, late
from perfmodel.core.sentences import interval_80
from perfmodel.core.units import counted, percent, show
from perfmodel.decide.fits.changes import DEAR
from perfmodel.decide.fits.ways import is_known, unknown_of
from perfmodel.decide.fits.words import change_words, gpu_time_words, other_training
from perfmodel.model.prediction.card import unfit_reason, unfit_verdict
from perfmodel.model.prediction.memory_odds import CERTAIN
from perfmodel.model.prediction.result import Memory


class Change(Record):
    """A change of options by which a job comes to fit."""

    options: dict[str, Any]
    """Changed options, by their names in Python."""
    words: str
    """The same as options of the command line."""
    command: str
    """Command line of the changed job."""
    anchor: str | None = None
    """Measured run of the job as it is, as an anchor of the changed one; null without an anchor."""
    iteration_time: float
    """Of a step: of the same batch, of as many tokens in shorter sequences, or of more samples where more
    accelerators need them [s]."""
    iteration_time_low_80: float | None = late()
    """Lower end of its 80 % interval [s]; null where none is known."""
    iteration_time_high_80: float | None = late()
    """Upper end of it [s]."""
    samples_per_second: float = late()
    """Of all accelerators [1/s]."""
    tokens_per_second: float | None = late()
    """The same in tokens [1/s]; null where samples are no sequences."""
    throughput: str = late()
    """Tokens per second, and samples, with their 80 % intervals, as text."""
    slowdown: float
    """Accelerator-seconds for as many tokens over those of the job, if it fitted: 0.28 for 28 % more [1]."""
    bytes: float
    """Memory that training then needs [B]."""
    low_80: float
    """Lower end of the 80 % interval of ``bytes`` [B]."""
    high_80: float
    """Upper end of it [B]."""
    rows: dict[str, float]
    """What then needs it on the fullest accelerator, by name [B]."""
    fits_probability: float
    """Probability that it then fits [1]."""
    if_as_assumed: str
    """Probability that it fits if options left to their defaults are as assumed, as text; empty where that is
    no other."""
    host_bytes: float
    """Of each machine's host memory that it then needs [B]."""
    host_memory: str
    """The same in words, with what is there; empty where it needs none."""
    limit: str
    """What then takes most of a step, and what comes second, with their shares."""
    same_training: bool
    """Whether optimizer, trained weights and samples stay as they are."""
    more_gpus: bool
    """Whether it takes more accelerators."""
    warnings: list[str]
    """What is possible and poor of it, or not known of the software."""

    @property
    def time(self) -> str:
        """The time of a step as text, with its 80 % interval."""
        low, high = self.iteration_time_low_80, self.iteration_time_high_80
        ends = "" if low is None or high is None else f" ({interval_80(low, high, 's')})"
        return f"{show(self.iteration_time, 's')}{ends}"


class Job(NamedTuple):
    """A job that does not fit as surely as asked."""

    name: str
    """Of the network, with what is trained of it."""
    memory: Memory
    gpus: int
    iteration_time: float
    """Of a step, if it fitted [s]."""
    software: str


def advice_of(job: Job, changes: Sequence[Change], confidence: float) -> str:
    """Return that a job does not fit as surely as asked, what to take, and what else there is.

    Parameters
    ----------
    job : whose memory is asked for
    changes : what is listed
    confidence : how sure to be
    """
    name, memory = job.name, job.memory
    verdict = memory.verdict if memory.fits else unfit_verdict(memory)
    reason = "" if memory.fits else f" As it is, {unfit_reason(memory)}."
    fitting = [change for change in changes if change.fits_probability >= confidence]
    nearest = [change for change in changes if change.fits_probability < confidence]
    if fitting:
        words = f"{name} {verdict}{_taken(fitting, job, reason)}"
        known = [change for change in nearest if is_known(change) and not change.more_gpus]
        if known:
            most = percent(known[0].fits_probability)
            gpus = counted(job.gpus, "GPU")
            words += f" With changes that {job.software} is known to do, {gpus} fit it with {most} at most."
    elif nearest:
        of_known = next(filter(is_known, nearest), nearest[0])
        here = nearest[:1] if of_known is nearest[0] else [nearest[0], of_known]
        words = f"{name} {verdict}, and nothing tried makes it fit with {percent(confidence)}.{reason}"
        listed = "; or ".join(f"{change_words(each.options)}: {_odds(each)}{_but(each)}" for each in here)
        words += f" Nearest: {listed}. GPUs with more memory may do."
    else:
        words = f"{name} {verdict}, and no change of options was found that makes it fit.{reason}"
        words += " Take GPUs with more memory."
    return words


def _taken(fitting: Sequence[Change], job: Job, reason: str) -> str:
    """Return the first change that makes a job fit, and where something speaks against it another.

    Parameters
    ----------
    fitting : the changes by which it fits
    job : as it is
    reason : why it does not fit as it is, a sentence
    """
    change = fitting[0]
    sure = f" ({change.if_as_assumed})" if change.if_as_assumed else ""
    aim = "be surer" if job.memory.fits else "make it fit"
    words = (
        f"; to {aim}, take {change_words(change.options)}: it then "
        f"fits with {percent(change.fits_probability)}{sure}, {_at_cost(change, job)}. "
        f"It then does {change.throughput.partition('; ')[0]}.{reason}"
    )
    is_dear = change.slowdown >= DEAR
    others = [each for each in fitting if _but(each) != _but(change)] if _but(change) else []
    others += [each for each in fitting if is_dear and each.slowdown < DEAR]
    if not others:
        return words
    other = min(others, key=lambda each: (bool(_but(each)), not is_known(each)))
    return (
        f"{words} Or else {change_words(other.options)}: {percent(other.fits_probability)}, "
        f"{_at_cost(other, job)}."
    )


def _at_cost(change: Change, job: Job) -> str:
    """Return what a change costs, and what speaks against it, as the end of a sentence.

    That is accelerator time, of more accelerators with the steps that it comes from, and memory of the hosts.
    """
    words = f"at {gpu_time_words(change.slowdown)} it"
    if change.more_gpus:
        gpus, batch = change.options["world_size"], change.options.get("global_batch_size")
        samples = "" if batch is None else f" of {counted(batch, 'sample')}"
        words += f" (a step{samples} takes {show(change.iteration_time, 's')} on {gpus}, "
        words += f"{show(job.iteration_time, 's')} on {job.gpus}: {change.limit})"
    if change.host_memory:
        words += f" and {change.host_memory}"
    return words + _but(change)


def _odds(change: Change) -> str:
    """Return the probability of fitting with a change, or the memory needed where it cannot fit."""
    if change.fits_probability <= 1 - CERTAIN:
        return _gib(change.bytes)
    return percent(change.fits_probability)


def _gib(size: float) -> str:
    """Return a size [B] as text."""
    return f"{size / 2**30:,.1f} GiB"


def is_sure(change: Change, confidence: float) -> bool:
    """Return whether a job fits with a change, by what its software is known to do."""
    return change.fits_probability >= confidence and is_known(change)


def reasons_against(change: Change) -> list[str]:
    """Return what speaks against a change: what it trains otherwise, what its software may not do."""
    unknown = [line.partition(";")[0] for line in unknown_of(change.warnings)]
    return [*([] if change.same_training else [other_training(change.options)]), *unknown]


def _but(change: Change) -> str:
    """Return what speaks against a change as the end of a sentence; empty where nothing does."""
    reasons = reasons_against(change)
    return f", but {' and '.join(reasons)}" if reasons else ""
