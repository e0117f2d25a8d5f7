"""What a prediction says; the model is the JSON schema people script against."""

import json
from typing import Any, Literal

from perfmodel.core.records.record import Record, fresh, late
from perfmodel.core.units import plural, rate, show, three_digits
from perfmodel.model.options.understood import Understood
from perfmodel.model.prediction.memory_odds import verdict


class _Result(Record):
    """Built by ``predict`` without checks."""

    def to_json(self) -> str:
        """Return what ``model_dump_json`` returns, without building a serializer for it."""
        return json.dumps(self._values(), default=_Result._values)

    def table(self) -> dict[str, Any]:
        """Return the fields by name, all worked out; what they hold is not copied."""
        return self._values()


class DeviceMemory(_Result):
    """Memory of some of the accelerators, which keep the same."""

    first: int
    """Number of the first of them, from 0."""
    count: int
    """Accelerators that need so much."""
    bytes: float
    """What training needs of each."""
    rows: dict[str, float]
    """What it is made of."""


class Memory(_Result):
    """Memory of the fullest accelerator."""

    bytes: float
    """What training needs."""
    capacity: float
    """What a program can use."""
    fits: bool
    """Whether that is at most the capacity."""
    fits_probability: float | None = None
    """Probability that it fits; None, as the next two, in answers saved before there was one."""
    low_80: float | None = None
    """Lower end of the 80 % interval of ``bytes`` [B]."""
    high_80: float | None = None
    """Upper end of it [B]."""
    not_stated: list[str] = fresh(list)
    """Options that decide the memory and are left to their defaults: the interval is wider for them."""
    largest_local_batch_size: int = late()
    """The largest that fits; 0 where not even the model does."""
    rows: dict[str, float] = fresh(dict)
    """What it is made of, summing to ``bytes``; empty in answers saved before there were any."""
    devices: list[DeviceMemory] = fresh(list)
    """By accelerator where they differ, the fullest first; empty where all keep the same."""

    @property
    def verdict(self) -> str:
        """Whether it fits, with the probability where that is not certain."""
        return verdict(self.probability)

    @property
    def probability(self) -> float:
        """That it fits; 1 or 0 in answers saved before there was one."""
        return float(self.fits) if self.fits_probability is None else self.fits_probability


class Traffic(_Result):
    """What one group of ranks sends in an iteration."""

    group: str
    """Who takes part: ``replicas``; of a transformer that is shared out also ``tensor``, ``context``,
    ``experts`` and ``stages``; of embedding tables that are, ``tables``."""
    collective: str
    """What the ranks do."""
    ranks: int
    """That exchange it with each other."""
    messages: float
    """In an iteration, of one rank; 1 of gradients, whatever buckets they travel in, or as many as there are
    updates of all workers, or averages."""
    message_bytes: float
    """Of each, as the size of a collective is counted [B]."""
    time: float
    """All of it, nothing hidden [s]; of a transformer at the rate that is left beside computation."""
    exposed_time: float
    """What no computation hides [s]; what is hidden may slow computation, ``contention_time``."""


class Interval(_Result):
    """Where the mean iteration time lies, with 80 and, where enough is known, 95 % confidence [s]."""

    low_80: float
    """Lower end of the 80 % interval."""
    high_80: float
    """Upper end of the 80 % interval."""
    low_95: float | None
    """Lower end of the 95 % interval; None where too few sources say how far off such jobs are."""
    high_95: float | None
    """Upper end of the 95 % interval; likewise."""
    no_95: str | None = None
    """Why there is no 95 % interval; None where there is one."""
    wider_because: list[str] = late()
    """What about this scenario lies beyond the measured runs."""
    clipped_at: float | None = None
    """The least time that is possible [s], where a lower end lay below it and was moved up to it (or to the
    prediction itself, where an anchor put that below it too); of both ends that of the 80 % interval, if it
    was moved.  Else None."""
    clipped_by: Literal["peaks and links", "one accelerator"] | None = None
    """What makes it the least: physics, or the time of one accelerator that does its share alone."""
    scale: float = 1.0
    """How many times as wide it is, in log time, as development rows ask for, since rows that were new did,
    and since options are left to their defaults.  It is not in ratios of two predictions: they share both."""


class Ratio(_Result):
    """How many times as fast one job is as another, in samples per second."""

    to: str
    """The other job."""
    value: float
    """As predicted."""
    low_80: float | None
    """With 80 % confidence; None where the intervals of both were not learned, as ``sure``."""
    high_80: float | None
    """Upper end of the 80 % interval."""
    sure: float | None
    """Probability that the one that seems faster is."""
    clipped_at: float | None = None
    """The ratio of their accelerators, where the jobs differ in nothing else and an end of the interval lay
    beyond it and was moved to it; else None."""

    @property
    def words(self) -> str:
        """The interval, and how sure the order is.

        >>> Ratio(to="A", value=1.07, low_80=1.03, high_80=1.11, sure=0.99).words
        '80 %: 1.03 to 1.11, 99 % sure'
        >>> Ratio(to="A", value=1.5, low_80=0.0005, high_80=4390.0, sure=0.53).words
        '80 %: 0.0005 to 4,390, 53 % sure'
        """
        if self.low_80 is None or self.high_80 is None or self.sure is None:
            return "no interval is known"
        return f"80 %: {three_digits(self.low_80)} to {three_digits(self.high_80)}, {sureness(self.sure)}"

    @property
    def sentence(self) -> str:
        """How many times as fast as the other, with ``words``."""
        return f"{three_digits(self.value)} times as fast as {self.to} ({self.words})"


def sureness(sure: float) -> str:
    """Return how sure an order is, which no model is wholly.

    >>> sureness(0.9999), sureness(0.523)
    ('over 99 % sure', '52 % sure')
    """
    return f"{sure * 100:.0f} % sure" if sure < 0.995 else "over 99 % sure"


class UpdateBounds(_Result):
    """What updates a second lie between."""

    status: Literal["exact", "bound", "approximation"]
    """exact: the mean of the law of times; bound: an estimate between proven bounds; approximation: also
    of the queue at the servers, between what no queue can pass."""
    low: float
    """Fewest updates per second."""
    high: float
    """Most updates per second."""


NO_UPDATES = dict.fromkeys(
    ("updates_per_second", "gradients_per_update", "mean_staleness", "fresh_fraction", "update_bounds")
)
"""Of training in step, whose updates are its iterations."""


class Prediction(_Result):
    """One answer; times in seconds.

    What only explains it, and takes part in no other number, is worked out when it is first read.
    """

    iteration_time: float
    """One optimizer update, wall clock."""
    terms: dict[str, float]
    """What it is made of: exposed times only, summing to ``iteration_time``."""
    interval: Interval | None
    """None without a fit to measured runs."""
    mode: Literal["specs", "anchored", "traced"]
    """What the prediction stands on."""
    model: Literal["data-parallel", "transformer"] | None = None
    """Which model answers, by network, layout and exchange; None in answers saved before they named it."""
    samples_per_second: float
    """Of the whole job."""
    sample: str
    """What one sample is: image, sequence, rating, click."""
    tokens_per_second: float | None
    """Where samples are sequences."""
    speedup: float
    """Over one accelerator, or over one replica of a transformer that is shared out."""
    scaling_efficiency: float
    scaling: Literal["weak", "strong"]
    """Weak: the batch of one accelerator is fixed; strong: that of the job."""
    baseline_time: float
    """The same iteration on one accelerator, or by one replica."""
    communication_time: float = late()
    """All communication, hidden or not."""
    communication_overhead: float
    """What communication adds, exposed or by slowing computation, over the rest of the iteration."""
    epoch_time: float | None
    """One pass over the data set, where its size is known."""
    mfu: float
    """Model FLOPs that are computed, over what the peaks could do in the time: of a transformer without the
    scores that a mask or a window leaves out, and without its table of embeddings."""
    memory: Memory
    """Of the fullest accelerator; null where it is not known."""
    verdict: str = late()
    """What binds, and what a better network would bring; worked out when it is first read, as it asks for
    the iteration on other networks."""
    network_limit: str | None = late(None)
    """What binds the exchange other than its link, and what would lift it, in words; None where the link
    does, or nothing is exchanged."""
    placement: str = late()
    """How the job lies on its nodes."""
    defaults: list[str]
    """Options left open, with what they were taken to be."""
    warnings: list[str] = late()
    """What to doubt, in words."""
    scenario: Understood = late()
    """The question as it was understood."""
    traffic: list[Traffic] = late(fresh(list))
    """What travels, by the group of ranks that sends it; empty where nothing does."""
    layout: dict[str, int | str] | None = late(None)
    """How a transformer is shared out: degrees by name, ``sharding`` and ``recompute``; else None."""
    hfu: float | None = None
    """As ``mfu``, with what is computed again; of a transformer that is shared out, else None."""
    mfu_nominal: float | None = None
    """By what most publications count, which may pass 1: of a transformer attention to all positions, and
    all parameters (PaLM), of a convolution every product; None in answers saved before there was one."""
    model_flops: float | None = None
    """Of an iteration, counted as for ``mfu`` [FLOP]; likewise."""
    bubble_fraction: float | None = None
    """Share of the iteration in which pipeline stages wait for each other; likewise."""
    startup_time: float | None = late(None)
    """Before the first iteration, once in a job [s]; None in answers saved before there was one."""
    startup: dict[str, float] = late(fresh(dict))
    """What it is made of, summing to ``startup_time``."""
    epoch_start_time: float = 0.0
    """Before the first batch of each epoch, for which nothing was fetched ahead [s]; no part of
    ``epoch_time``.  0 of synthetic samples."""
    updates_per_second: float | None = None
    """Of the shared parameters, where gradients become updates otherwise than all in step: an iteration is
    then the time in which as many gradients count as there are workers.  None elsewhere, as all below."""
    gradients_per_update: int | None = None
    mean_staleness: float | None = None
    """Updates between reading the parameters and applying the gradient."""
    fresh_fraction: float | None = None
    """Share of gradients without staleness, by the spread of computation alone; None where unknown."""
    update_bounds: UpdateBounds | None = None
    """How sure ``updates_per_second`` is, given the times of computation and network."""

    @property
    def headline(self) -> str:
        """The job in a line."""
        asked = self.scenario
        batch = f"batch {asked['local_batch_size']} each"
        if self.layout is not None:
            samples = asked["global_batch_size"]
            batch = f"{samples:,} {plural(self.sample, samples)} a step"
        return (
            f"{asked['workload']} on {asked['world_size']} x {asked['accelerator']}, {asked['precision']}, "
            f"{batch}, {asked['strategy']}"
        )

    def __repr__(self) -> str:
        lines = [
            f"<Prediction: {self.headline}",
            f"  iteration {_times(self)}, {rate(self.samples_per_second)} {self.sample}s/s",
            f"  speed-up {self.speedup:.2f}, {self.scaling} scaling efficiency {self.scaling_efficiency:.1%}",
            f"  {self.verdict}>",
        ]
        if not self.memory.fits:
            need, have = (size / 2**30 for size in (self.memory.bytes, self.memory.capacity))
            said = f"{self.memory.verdict.upper()}: {need:.1f} of {have:.1f} GiB"
            lines[1:3] = [f"  {said}; iteration {_times(self)} if it did"]
        return "\n".join(lines)

    __str__ = __repr__


def _times(prediction: Prediction) -> str:
    time, interval = show(prediction.iteration_time, "s"), prediction.interval
    if interval is None:
        return time
    return f"{time} (80 %: {show(interval.low_80, 's')} to {show(interval.high_80, 's')})"
