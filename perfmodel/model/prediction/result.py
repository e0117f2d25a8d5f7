"""The records of a prediction; their fields are the JSON schema of its answers."""

import json
from typing import Any, Literal

from perfmodel.core.records.record import Record, fresh, late
from perfmodel.core.sentences import interval_80, likely_to_be
from perfmodel.core.units import per_cent, plural, rate, show, three_digits
from perfmodel.model.options.understood import Understood
from perfmodel.model.prediction.answer_card import Card
from perfmodel.model.prediction.memory_odds import states_exceed, verdict
from perfmodel.model.prediction.names import accelerator_name, training_name


class _Result(Record):
    """Built by ``predict`` without checks."""

    def to_json(self) -> str:
        """Return what ``model_dump_json`` returns, without building a serializer for it."""
        return json.dumps(self._values(), default=_Result._values)

    def table(self) -> dict[str, Any]:
        """Return the fields by name, all computed; their values are not copied."""
        return self._values()


class DeviceMemory(_Result):
    """Memory of some of the accelerators, equal on each of them."""

    first: int
    """Index of the first of them, from 0."""
    count: int
    """Number of these accelerators."""
    bytes: float
    """Memory that training needs on each [B]."""
    rows: dict[str, float]
    """Its parts, by name [B]."""


class Memory(_Result):
    """Memory of the fullest accelerator."""

    bytes: float
    """Memory that training needs [B]."""
    capacity: float
    """Memory that a program can use [B]."""
    fits: bool
    """Whether ``bytes`` is at most the capacity."""
    fits_probability: float | None = None
    """Probability that it fits; None, like the next two, in answers saved by older versions."""
    low_80: float | None = None
    """Lower end of the 80 % interval of ``bytes`` [B]."""
    high_80: float | None = None
    """Upper end of the 80 % interval of ``bytes`` [B]."""
    known_bytes: float | None = None
    """Weights, gradients and optimizer states, at least, by what is stated: no need is below [B]; None in
    answers saved by older versions."""
    host_bytes: float = 0.0
    """Of the memory of each machine's host, which ``--offload`` uses [B]."""
    host_capacity: float | None = None
    """Memory of a machine's host [B]; None where it is not known, or none of it is used."""
    not_stated: list[str] = fresh(list)
    """Options that affect the memory and are left to their defaults, which widens the interval."""
    largest_local_batch_size: int = late()
    """The largest batch whose predicted need is at most the capacity: it fits with even odds at least; 0 if
    not even the model does."""
    largest_sure_batch_size: int | None = late(None)
    """The largest batch that fits with a probability of 95 % at least; 0 if none does, None in answers saved
    by older versions."""
    rows: dict[str, float] = fresh(dict)
    """Parts that sum to ``bytes``, by name [B]; empty in answers saved by older versions."""
    devices: list[DeviceMemory] = fresh(list)
    """Memory by accelerator if it differs, the fullest first; empty if all have the same."""

    @property
    def verdict(self) -> str:
        """Whether it fits, as text, with the probability if that is not certain."""
        return verdict(self.probability)

    @property
    def states_exceed(self) -> str | None:
        """Text with what is known of the need, where that alone exceeds the capacity; else None."""
        return states_exceed(self.known_bytes or 0.0, self.capacity)

    @property
    def lacks_host(self) -> bool:
        """Whether a machine's host is known to have less memory than is needed."""
        return self.host_capacity is not None and self.host_bytes > self.host_capacity

    @property
    def host_words(self) -> str:
        """The memory that a job needs on each host, and what is there, as text; empty where it needs none."""
        if not self.host_bytes:
            return ""
        there = "" if self.host_capacity is None else f" of {show(self.host_capacity, 'B')}"
        unknown = " (how much it has is not known: state --host-memory)" if self.host_capacity is None else ""
        return f"{self.host_bytes / 2**30:,.1f} GiB{there} of each machine's host memory{unknown}"

    @property
    def probability(self) -> float:
        """Probability that it fits; 1 or 0 in answers saved by older versions."""
        return float(self.fits) if self.fits_probability is None else self.fits_probability


class Traffic(_Result):
    """Communication of one group of ranks in an iteration."""

    group: str
    """The group: ``replicas``; of a transformer with a layout also ``tensor``, ``context``, ``experts``,
    ``expert parts`` and ``stages``; of sharded embedding tables ``tables``."""
    collective: str
    """Name of the collective."""
    ranks: int
    """Ranks of the group."""
    messages: float
    """Messages of one rank in an iteration; for gradients 1, in any number of buckets, or the number of
    updates of all workers, or of averages."""
    message_bytes: float
    """Size of each message, as nccl-tests counts it [B]."""
    time: float
    """Time without overlap [s]; for a transformer at the rate left during computation."""
    exposed_time: float
    """Time not hidden by computation [s]; hidden communication may slow computation, ``contention_time``."""


class Interval(_Result):
    """Interval of the mean iteration time with 80 and, if enough sources are known, 95 % confidence [s]."""

    low_80: float
    """Lower end of the 80 % interval."""
    high_80: float
    """Upper end of the 80 % interval."""
    low_95: float | None
    """Lower end of the 95 % interval; None if too few sources measured such jobs."""
    high_95: float | None
    """Upper end of the 95 % interval; None if ``low_95`` is."""
    no_95: str | None = None
    """Reason for no 95 % interval; None if there is one."""
    wider_because: list[str] = late()
    """Properties of the scenario that widen the interval, outside the measured runs."""
    clipped_at: float | None = None
    """The least possible time [s], if a lower end was below it and was raised to it, or to the prediction
    itself if an anchor is below it too; that of the 80 % interval, if it was raised.  Else None."""
    clipped_by: Literal["peaks and links", "one accelerator"] | None = None
    """The bound: physics, or the time of one accelerator alone with its share of the work."""
    sources: int | None = None
    """Published sources whose errors on new rows its width rests on; None if none were counted."""
    scale: float = 1.0
    """Factor on its width, in log time, over that by development rows, due to the errors on new rows and to
    options left to their defaults.  Ratios of two predictions do not contain it, since both share it."""

    @property
    def is_cut(self) -> bool:
        """Whether the lower end of the 80 % interval was raised to ``clipped_at``."""
        return self.clipped_at is not None and self.low_80 <= self.clipped_at


class Ratio(_Result):
    """The speed of one job over that of another, in samples per second."""

    to: str
    """Name of the other job."""
    value: float
    """Predicted ratio."""
    low_80: float | None
    """Lower end of the 80 % interval; None, like ``sure``, without intervals of both jobs."""
    high_80: float | None
    """Upper end of the 80 % interval."""
    sure: float | None
    """Probability that the job predicted to be faster is faster."""
    clipped_at: float | None = None
    """The ratio of their accelerators, if all else is alike and an end of the interval was cut at it."""

    @property
    def words(self) -> str:
        """The ratio with its interval and the probability of the order: how every answer words a speed.

        >>> Ratio(to="A", value=1.26, low_80=1.1, high_80=1.4, sure=0.97).words
        '1.26 x as fast (80 %: 1.1 to 1.4), 97 % likely to be faster'
        >>> Ratio(to="A", value=0.5, low_80=0.0005, high_80=4390.0, sure=0.53).words
        '0.5 x as fast (80 %: 0.0005 to 4,390), 53 % likely to be slower'
        >>> Ratio(to="A", value=1.0, low_80=0.9, high_80=1.1, sure=0.5).words
        'as fast (80 %: 0.9 to 1.1)'
        >>> Ratio(to="A", value=1.0, low_80=1.0, high_80=1.0, sure=1.0).words
        'as fast'
        """
        return self._of("")

    def speed(self, whom: str = "") -> str:
        """Return ``words`` without the order and its probability, with the name of the other job as given.

        >>> Ratio(to="A", value=1.04, low_80=1.0, high_80=1.16, sure=1.0).speed(" as A")
        '1.04 x as fast as A (80 %: 1 to 1.16)'
        """
        times = self.times(whom)
        if self.low_80 is None or self.high_80 is None:
            return f"{times} (no interval is known)"
        if {three_digits(end) for end in (self.low_80, self.value, self.high_80)} == {"1"}:
            return times
        return f"{times} (80 %: {three_digits(self.low_80)} to {three_digits(self.high_80)})"

    def times(self, whom: str = "") -> str:
        """Return ``speed`` without the interval."""
        value = three_digits(self.value)
        return f"as fast{whom}" if value == "1" else f"{value} x as fast{whom}"

    @property
    def sentence(self) -> str:
        """``words``, with the name of the other job.

        >>> Ratio(to="A", value=1.5, low_80=None, high_80=None, sure=None).sentence
        '1.5 x as fast as A (no interval is known)'
        """
        return self._of(f" as {self.to}")

    @property
    def order(self) -> str:
        """Which job is faster, with which probability, as text; empty where that is not known.

        Empty too where it is certain, but the difference may be none: the interval, which ends at 1, says so.

        >>> Ratio(to="A", value=1.04, low_80=1.0, high_80=1.2, sure=1.0).order
        ''
        """
        direction = self.direction
        return likely_to_be(direction, self.sure) if direction and self.sure is not None else ""

    @property
    def direction(self) -> str:
        """``order`` without the probability."""
        if self.sure is None or self.may_be_nothing or three_digits(self.value) == "1":
            return ""
        return "faster" if self.value > 1 else "slower"

    @property
    def may_be_nothing(self) -> bool:
        """Whether the order is certain, as of two networks, but the difference may be none."""
        return self.sure == 1 and 1.0 in (self.low_80, self.high_80)

    def _of(self, whom: str) -> str:
        """Return ``words`` with the name of the other job after the ratio."""
        if not self.order or self.low_80 is None or self.high_80 is None:
            return self.speed(whom)
        return f"{self.speed(whom)}, {self.order}"


class UpdateBounds(_Result):
    """Bounds of the updates per second."""

    status: Literal["exact", "bound", "approximation"]
    """exact: the mean of the distribution of times; bound: an estimate between proven bounds; approximation:
    with an estimate of the queue at the servers, between the extremes of a queue."""
    low: float
    """Fewest updates per second."""
    high: float
    """Most updates per second."""


NO_REPEATS = "how far repeats of a job scatter is assumed, or known from few"
"""Reason for no 95 % interval of a job that was measured itself."""
NO_UPDATES = dict.fromkeys(
    ("updates_per_second", "gradients_per_update", "mean_staleness", "fresh_fraction", "update_bounds")
)
"""Fields of synchronous training, whose updates are its iterations."""


class Prediction(_Result):
    """The prediction of one training iteration; times in seconds.

    Fields that only explain it are computed when they are first read.
    """

    iteration_time: float
    """Wall-clock time of one optimizer update."""
    terms: dict[str, float]
    """Exposed times by name, which sum to ``iteration_time``."""
    interval: Interval | None
    """None without a fit to measured runs."""
    mode: Literal["specs", "anchored", "traced"]
    """Basis of the prediction: specs, an anchor, or a traced profile."""
    model: Literal["data-parallel", "transformer"] | None = None
    """The model that answers, by network, layout and exchange; None in answers saved by older versions."""
    samples_per_second: float
    """Of the whole job."""
    sample: str
    """What one sample is: image, sequence, rating, click."""
    tokens_per_second: float | None
    """Tokens per second, if samples are sequences."""
    speedup: float
    """Speed-up over one accelerator, or over one replica of a transformer with a layout."""
    scaling_efficiency: float
    scaling: Literal["weak", "strong"]
    """Weak: the batch of one accelerator is fixed; strong: that of the job."""
    baseline_time: float
    """Time of the same iteration on one accelerator, or by one replica."""
    communication_time: float = late()
    """All communication, hidden or not."""
    communication_overhead: float
    """Time that communication adds, exposed or by slowing computation, over the rest of the iteration."""
    epoch_time: float | None
    """Time of one pass over the data set; None if its size is unknown."""
    mfu: float
    """Computed model FLOP over the peak's in the iteration time; for a transformer without the scores that a
    mask or a window leaves out, and without its embedding table."""
    memory: Memory
    """Memory of the fullest accelerator; null if unknown."""
    card: Card | None = late(None)
    """The answer in short; None in answers saved by older versions."""
    verdict: str = late()
    """The bottleneck, and the saving by a better network; computed when it is first read, as it needs the
    iteration on other networks."""
    network_limit: str | None = late(None)
    """The limit of the exchange other than its link, with a remedy; None if the link is the limit, or without
    an exchange."""
    placement: str = late()
    """Placement of the job on its nodes, as text."""
    defaults: list[str]
    """Options left open, with the defaults taken."""
    warnings: list[str] = late()
    """Doubts about the prediction, as text."""
    scenario: Understood = late()
    """The scenario with every default filled in."""
    traffic: list[Traffic] = late(fresh(list))
    """Communication by group of ranks; empty without any."""
    layout: dict[str, int | str] | None = late(None)
    """Layout of a transformer: degrees by name, ``sharding`` and ``recompute``; else None."""
    hfu: float | None = None
    """As ``mfu``, with recomputation; for a transformer with a layout, else None."""
    mfu_nominal: float | None = None
    """Utilisation by the count of most publications, which may exceed 1: for a transformer attention to all
    positions and all parameters (PaLM), for a convolution every product; None in answers saved by older
    versions."""
    model_flops: float | None = None
    """Model FLOP of an iteration, counted as for ``mfu``; None as for ``hfu``."""
    bubble_fraction: float | None = None
    """Share of the iteration in which pipeline stages wait for each other; None as for ``hfu``."""
    time_without_own_runs: float | None = None
    """Iteration time predicted without the own runs that ``calibration`` names [s]; None without them."""
    startup_time: float | None = late(None)
    """Time before the first iteration, once in a job [s]; None in answers saved by older versions."""
    startup: dict[str, float] = late(fresh(dict))
    """Parts that sum to ``startup_time``, by name [s]."""
    startup_80: list[float] | None = late(None)
    """80 % interval of ``startup_time``: lower and upper end [s]; None as for ``startup_time``."""
    epoch_start_time: float = 0.0
    """Time before the first batch of each epoch, which is not prefetched [s]; not part of ``epoch_time``.  0
    for synthetic samples."""
    updates_per_second: float | None = None
    """Updates of the shared parameters per second in asynchronous or partially synchronous training, whose
    iteration is the time in which as many gradients count as there are workers.  None, like all fields below,
    for synchronous training."""
    gradients_per_update: int | None = None
    mean_staleness: float | None = None
    """Updates between reading the parameters and applying the gradient."""
    fresh_fraction: float | None = None
    """Share of gradients without staleness, by jitter of the computation alone; None if unknown."""
    update_bounds: UpdateBounds | None = None
    """Bounds of ``updates_per_second``, given the times of computation and network."""

    @property
    def headline(self) -> str:
        """The job in one line."""
        scenario = self.scenario
        batch = f"batch {scenario['local_batch_size']} each"
        if self.layout is not None:
            samples, length = scenario["global_batch_size"], scenario["sequence_length"]
            each = f" of {length:,} tokens" if length and self.sample == "sequence" else ""
            batch = f"{samples:,} {plural(self.sample, samples)}{each} a step"
        return (
            f"{training_name(scenario['workload'], scenario)} on {scenario['world_size']} x "
            f"{accelerator_name(scenario['accelerator'])}, "
            f"{scenario['precision']}, "
            f"{batch}, {scenario['strategy']}"
        )

    @property
    def time_words(self) -> str:
        """The iteration time with its 80 % interval, as text."""
        time, interval = show(self.iteration_time, "s"), self.interval
        if interval is None:
            return time
        return f"{time} ({interval_80(interval.low_80, interval.high_80, 's')})"

    def __repr__(self) -> str:
        lines = [
            f"<Prediction: {self.headline}",
            f"  iteration {self.time_words}, {rate(self.samples_per_second)} {self.sample}s/s",
            f"  speed-up {self.speedup:.2f}, {self.scaling} scaling efficiency "
            f"{per_cent(self.scaling_efficiency)}",
            f"  {self.verdict}>",
        ]
        if not self.memory.fits:
            need, have = (size / 2**30 for size in (self.memory.bytes, self.memory.capacity))
            verdict_text = f"{self.memory.verdict.upper()}: {need:.1f} of {have:.1f} GiB"
            lines[1:3] = [f"  {verdict_text}; iteration {self.time_words} if it did"]
        return "\n".join(lines)

    __str__ = __repr__
