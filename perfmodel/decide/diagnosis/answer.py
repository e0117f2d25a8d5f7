"""The answer of ``diagnose``: where a measurement lies, what may hold the gap, what to do next."""

import json
from typing import Any, Literal

from perfmodel.core.files.tables import Record as Row
from perfmodel.core.records.record import Record, fresh, late
from perfmodel.model.prediction.answer_card import Card

Pace = Literal["normal", "slow", "fast"]
"""Where a measurement lies: inside what is predicted, slower or faster."""
Verdict = Literal["normal", "slow", "fast", "unclear"]


class DiagnosedSize(Record):
    """One message size of a listing."""

    message_bytes: float
    """Message size as nccl-tests counts it [B]."""
    measured_time: float
    """Time of the listing [s]."""
    predicted_time: float
    """Predicted time with nothing wrong [s]."""
    low_80: float
    """Lower end of the 80 % interval of the time [s]."""
    high_80: float
    """Upper end [s]."""
    measured_bus_bandwidth: float
    """As nccl-tests defines it [B/s]."""
    predicted_bus_bandwidth: float
    """The same, predicted [B/s]."""
    ratio: float
    """Measured over predicted bandwidth [1]."""
    verdict: Pace
    """Whether the measured time is inside the interval of its own size: normal; above it: slow."""


class DiagnosedCause(Record):
    """What may have slowed a run, and how well it explains what was measured."""

    id: str
    """For programs: tcp, few-adapters, precision, ..."""
    name: str
    """In a few words, for charts and lists."""
    words: str
    """What it is."""
    change: str
    """The changed input whose prediction comes nearest."""
    probability: float
    """Probability that it is what happened, among all that were weighed."""
    predicted_time: float
    """Predicted time with it [s]: of an iteration, or of a message of ``message_bytes``."""
    measured_time: float
    """The same, measured [s]."""
    message_bytes: float | None
    """Of a listing the size that shows the cause: the largest at which it changes much of the time [B]."""
    next: str
    """What tells it from others, or mends it."""
    is_assumption: bool = False
    """Whether it is that the job or the machines are not as they were taken, and nothing is wrong."""


class DiagnosedTerm(Record):
    """One term of the iteration, and how much it would have to grow to hold the whole gap."""

    name: str
    """Key of ``Prediction.terms``."""
    time: float
    """Predicted [s]."""
    needed: float
    """Time that would explain what was measured [s]."""
    reached: float
    """The most that it takes with one of the causes [s]."""
    by: str | None
    """That cause; None where no cause lengthens it."""
    plausible: bool
    """Whether a cause lengthens it by at least as much, within the interval."""


class TurningDefault(Record):
    """An option that was not given, and a usual value of it that changes the verdict."""

    option: str
    """Its name in Python."""
    taken: int | str
    """The default."""
    other: int | str
    """The other value."""
    verdict: Verdict
    """The verdict with it."""
    words: str
    """The default as a clause."""
    other_words: str
    """The other value in words."""


class AssumedAdapters(Record):
    """The number of network adapters of a machine that nothing states, and another that fits the listing."""

    taken: int
    """The number that was assumed."""
    other: int
    """Of the other usual numbers the one that fits best."""
    probability: float
    """Probability that it is another number, and nothing is wrong."""
    predicted: float
    """Bus bandwidth of the largest message with the other number [B/s]."""
    low_80: float
    """Lower end of its 80 % interval [B/s]."""
    high_80: float
    """Upper end [B/s]."""


class SimilarMeasurement(Record):
    """A published measurement most like the run."""

    id: str
    """Id of the row, as of ``explain-row``."""
    source: str
    """Its source in ``validation/sources.csv``, or in words."""
    title: str
    """What its source is called."""
    value: float
    """Iteration time of this job at its rate for each accelerator [s]; of collectives bus bandwidth [B/s]."""
    words: str
    """What was measured."""
    software: str | None
    """As NAME@YEAR; None where there was none or it is unknown."""


class NextMeasurement(Record):
    """A measurement that would tell causes apart."""

    words: str
    """What to run."""
    options: dict[str, Any]
    """Options that differ from those of the job."""
    expected: dict[str, float]
    """Its iteration time [s], of a listing the bus bandwidth of its largest message [B/s], by cause;
    ``normal`` where nothing is wrong and all is as it was taken."""
    spread: float
    """How well it tells them apart: standard deviation of the logarithm of these values, each weighed by the
    probability of its cause."""


class Diagnosis(Record):
    """A measured run or listing against the prediction of its job."""

    kind: Literal["collective", "training"]
    """What was measured: collectives by message size, or a training run."""
    verdict: Verdict
    """Of the job and the machines as they were taken. normal or slow, where the measurement lies there and
    what is likeliest says the same: that nothing is wrong, or that something is; unclear, where they differ.
    fast: faster than normal.  A training run is normal inside its 80 % interval, a listing where nothing is
    wrong with a probability of at least one half."""
    card: Card = late()
    """The answer in short."""
    sentence: str = late()
    """The answer in a sentence."""
    reading: str
    """What was read, and how."""
    mismatch: str | None = None
    """What the measurement says of the hardware that contradicts the stated one; None where nothing does."""
    turns: list[TurningDefault] = fresh(list)
    """Options left open of which another usual value changes the verdict."""
    adapters: AssumedAdapters | None = None
    """Of a slow or unclear listing the network adapters that were assumed, where others may explain it."""
    job: str
    """The machines and the job, in words."""
    normal: float
    """Probability that nothing is wrong and all is as it was taken; with those of the causes that are
    assumptions, the probability that nothing is wrong."""
    unknown: float
    """Probability that something is wrong that no cause names."""
    measured: float
    """Iteration time [s]; of a listing the bus bandwidth of its largest message [B/s]."""
    predicted: float
    """The same, predicted."""
    low_80: float
    """Lower end of its 80 % interval."""
    high_80: float
    """Upper end."""
    quantile: float
    """Share of such jobs that are at least as fast, by the interval."""
    causes: list[DiagnosedCause]
    """The likeliest first; their probabilities, ``normal`` and ``unknown`` sum to 1."""
    sizes: list[DiagnosedSize] = fresh(list)
    """Of a listing, by message size."""
    terms: list[DiagnosedTerm] = fresh(list)
    """Of a training run, the largest first."""
    similar: list[SimilarMeasurement] = fresh(list)
    """Published measurements, the nearest first."""
    next: list[NextMeasurement] = fresh(list)
    """Where it is slow or unclear, what tells causes apart best, first."""
    above_ports: str | None = None
    """Of a listing why a bus bandwidth may exceed what the ports carry; None where none does."""
    defaults: list[str] = fresh(list)
    """Options left open, with the defaults taken."""
    notes: list[str] = fresh(list)
    """What a reader should know."""

    def records(self) -> list[Row]:
        """Return the message sizes of a listing, or the causes of a training run, as rows."""
        rows: list[Any] = self.sizes if self.kind == "collective" else self.causes
        return [row.model_dump() for row in rows]

    def to_json(self) -> str:
        """Return the answer as JSON, as ``perfmodel diagnose --json`` prints it."""
        return json.dumps(self.model_dump())

    def __repr__(self) -> str:
        return f"<Diagnosis: {self.card.advice}>"

    __str__ = __repr__
