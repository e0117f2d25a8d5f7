"""A claim of a quote and the result of its check."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from perfmodel.decide.quote.claim_judgement import Judgement, Verdict
from perfmodel.decide.quote.evidence import Near
from perfmodel.decide.quote.expected import Expected
from perfmodel.decide.quote.file import Per
from perfmodel.decide.quote.limited import LimitedBy
from perfmodel.decide.quote.limits import IDEAL, SUPERLINEAR
from perfmodel.decide.quote.reached import ReachedBy
from perfmodel.decide.quote.tricks import Trick
from perfmodel.decide.quote.unstated import OnlyWith
from perfmodel.model.transformers.flops import Count


class OtherReading(BaseModel):
    """A claim in its other meaning, in SI: the other bandwidth, or FLOP by another convention."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    quantity: Literal["bus_bandwidth", "algorithm_bandwidth", "flops", "mfu"]
    """Quantity of the claim in that meaning."""
    convention: Count | None = None
    """How FLOP are counted in that meaning; null of a bandwidth."""
    limit: float
    """Physical limit of that quantity."""
    expected: float | None
    """Prediction of the model; null where it has none."""
    verdict: Verdict
    """Verdict on the claim in that meaning."""


class SimilarRun(BaseModel):
    """The measured run most like a claimed job, scaled to that job; values in SI."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    """Id of the measured run."""
    source: str
    """Source of the measurement."""
    words: str
    """Its machines, precision and batch, in one line."""
    value: float
    """Its result, times the ratio that the model predicts of the claimed job to it."""
    low_80: float
    """Lower end of the 80 % interval of this value."""
    high_80: float
    """Upper end of the 80 % interval of this value."""
    probability: float
    """Probability that the claimed job does as well as claimed, or better, by this run alone."""


class Checked(BaseModel):
    """A claim and the result of its check; values in SI."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    """The claim in words."""
    quantity: str
    """The claimed quantity."""
    per: Per
    """Whether it is of the job, of one node or of one accelerator."""
    value: float
    """The claimed value."""
    unit: str
    """Unit of value, limit, expected and the interval."""
    sample: str
    """Type of sample that throughputs count."""
    higher_is_better: bool
    """Whether larger values are better."""
    verdict: Verdict
    """Verdict on the claim: by the limit and the interval of ``similar_run``, else that of the model."""
    judgement: Judgement = "possible"
    """``impossible`` beyond the limit; ``doubtful`` where the job does not fit in memory, where the claim
    needs what the quote does not state (``only_with``), or where the probability is below 10 % and no
    measured run reached it with software that the quote allows; ``cautious`` where the claim is worse than
    the interval, so that the probability is above 90 %; else ``possible``."""
    probability: float | None = None
    """Probability that the job does as well as claimed, or better: by the same interval as the verdict, and
    no more than comparable measured runs leave (``limited_by``); 0 beyond the limit, null where it is not
    known."""
    limited_by: LimitedBy | None = None
    """Comparable measured runs that limit the probability, as one of them did not reach the claim; null where
    none do."""
    precision: str | None = None
    """Precision that the verdict assumes; null of a bandwidth."""
    assumed: str = ""
    """Precision and convention that the verdict assumes, in words."""
    only_with: list[OnlyWith] = []
    """Precisions and conventions that the quote does not exclude, with which a ``conditional`` claim is
    possible."""
    limit: float
    """The physical limit."""
    expected: float | None
    """Prediction of the model; null where it has none."""
    low_80: float | None
    """Lower end of the 80 % interval of the prediction."""
    high_80: float | None
    """Upper end of the 80 % interval of the prediction."""
    similar_run: SimilarRun | None = None
    """The most similar measured run, where its ratio is more certain than the model's prediction."""
    reached_by: ReachedBy | None = None
    """The most similar measured run of the same network and accelerator that did as well, possibly with other
    software; null where there is none."""
    tricks: list[Trick] = []
    """Likely reasons why the figure is larger than what a job reaches."""
    convention: Count | None = None
    """How FLOP of a transformer are counted: as the quote states, else those computed, or PaLM's count where
    the figure is too good for the former; null where no FLOP are counted."""
    other_reading: OtherReading | None = None
    """The other meaning of a bandwidth, or of FLOP where the quote states no convention."""
    layout: str | None = None
    """Layout of a model-parallel transformer: as stated, or the fastest that fits."""
    target: str | None = None
    """Target of training, where the quote states no length."""
    sentence: str = ""
    """The verdict in short sentences, ready for a message to the vendor."""
    memory: str | None
    """The memory that the job needs, where that is more than its accelerators have."""
    arithmetic: list[str]
    """The check in words, one line per step."""
    measured: list[Near]
    """Published measurements of similar jobs, the nearest first."""
    scenario: str
    """The job in short."""
    machines: str
    """Its accelerators, and how they are joined."""
    defaults: list[str]
    """Options that the quote leaves open, with their defaults."""
    source: str | None
    """Key of the claim's source; null where it names none."""
    reading: str
    """How the claim was read: printed, or off a plot."""

    @property
    def ideal(self) -> float:
        """The most that is possible, without what measurements scatter beyond it."""
        return self.limit / SUPERLINEAR if self.quantity in IDEAL else self.limit

    @property
    def judged_by(self) -> Expected | None:
        """What to expect with its 80 % interval, by the similar run, else by the model."""
        run = self.similar_run
        if run is not None:
            return Expected(run.value, run.low_80, run.high_80)
        if self.expected is None or self.low_80 is None or self.high_80 is None:
            return None
        return Expected(self.expected, self.low_80, self.high_80)
