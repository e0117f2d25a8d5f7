"""A claim of a quote and the result of its check."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from perfmodel.decide.quote.claim_judgement import Judgement, Verdict
from perfmodel.decide.quote.evidence import Near
from perfmodel.decide.quote.file import Per
from perfmodel.decide.quote.reached import ReachedBy
from perfmodel.decide.quote.tricks import Trick
from perfmodel.model.transformers.flops import Count


class OtherReading(BaseModel):
    """A figure taken otherwise, in SI: a bandwidth for the other of the two that nccl-tests print, arithmetic
    of a transformer for what another convention counts."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    quantity: Literal["bus_bandwidth", "algorithm_bandwidth", "flops", "mfu"]
    """What the claim would then be of."""
    convention: Count | None = None
    """How FLOP would then be counted; None of a bandwidth."""
    limit: float
    """The best that physics allows."""
    expected: float | None
    """The model's own answer; None where it has none."""
    verdict: Verdict
    """What holds of the claim then."""


class SimilarRun(BaseModel):
    """What the measured run most like a claimed job lets one expect of it, in SI."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    """Of the measured run."""
    source: str
    """Who measured it."""
    value: float
    """Its own result, times the ratio that the model predicts of both jobs."""
    low_80: float
    """Lower end of the 80 % interval of what is expected, by the run."""
    high_80: float
    """As that ratio's interval has it."""
    probability: float
    """That the claimed job does as well as claimed, or better."""


class Checked(BaseModel):
    """A claim and the result of its check; values in SI."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    """The claim in words."""
    quantity: str
    """What is claimed."""
    per: Per
    """Of what it is claimed."""
    value: float
    """As claimed."""
    unit: str
    """Of value, limit, expected and the interval."""
    sample: str
    """What one sample is, of which throughputs count."""
    higher_is_better: bool
    """Whether more of it is better."""
    verdict: Verdict
    """What holds of the claim."""
    judgement: Judgement = "possible"
    """``impossible`` beyond the limit; ``doubtful`` where it does not fit, or is reached with less than 10 %
    probability and no measured run reached it with software that the quote allows; else ``possible``."""
    probability: float | None = None
    """That the job does as well as claimed, or better: by the similar run where there is one, else by the
    model's interval; 0 beyond the limit, None where neither is known."""
    limit: float
    """The best that physics allows."""
    expected: float | None
    """The model's own answer; None where it has none."""
    low_80: float | None
    """Lower end of the 80 % interval of what is expected."""
    high_80: float | None
    """Upper end of the 80 % interval."""
    similar_run: SimilarRun | None = None
    """The measured run most like it, where the ratio to it is surer than the model alone."""
    reached_by: ReachedBy | None = None
    """The measured run most like it of those of its network and accelerator that did as well, where there
    is one; it may have used other software."""
    tricks: list[Trick] = []
    """What makes the figure larger than a job will see, where that can be told."""
    convention: Count | None = None
    """How FLOP of a transformer are counted: as the quote states, else as they are computed, or by PaLM's
    count where the figure is too good for that alone; None where nothing is counted."""
    other_reading: OtherReading | None = None
    """Of a bandwidth, and of a transformer's arithmetic where the quote states no convention."""
    layout: str | None = None
    """How a transformer is shared out: as stated, or the fastest way that fits."""
    target: str | None = None
    """Until when it is trained, where the quote states no length."""
    sentence: str = ""
    """The verdict, to be pasted into a mail."""
    memory: str | None
    """What the job needs, where that is more than its accelerators have."""
    arithmetic: list[str]
    """The check in words, line by line."""
    measured: list[Near]
    """Published measurements most like it, the nearest first."""
    scenario: str
    """The job in short."""
    defaults: list[str]
    """Options the quote left open, with what they were taken to be."""
    source: str | None
    """Key of the quote's sources that the claim names; None where it names none."""
    reading: str
    """How the claim was read, printed or off a plot."""
