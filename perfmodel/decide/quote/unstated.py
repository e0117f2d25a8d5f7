"""Precision and convention of a claim: what a check assumes, and with what the claim would be possible."""

from __future__ import annotations

import re

from pydantic import BaseModel, ConfigDict

from perfmodel.core.errors import InputError
from perfmodel.decide.quote.claim_judgement import Verdict, verdict_of
from perfmodel.decide.quote.claim_words import CONVENTION_WORDS, shown
from perfmodel.decide.quote.comparable import reaches
from perfmodel.decide.quote.completed_job import changed
from perfmodel.decide.quote.evidence import Evidence, limit_of
from perfmodel.decide.quote.expected import Expected, is_counted_in_ways
from perfmodel.decide.quote.file import BANDWIDTHS, KINDS, Claim
from perfmodel.decide.quote.mentions import mentions
from perfmodel.decide.quote.similar_runs import peak_in
from perfmodel.decide.quote.stated_precision import states_precision, words_of
from perfmodel.decide.quote.tricks import OF_A_STEP, SPARSITY, has_sparsity
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.formats import FORMATS
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict
from perfmodel.model.setting.resolve import Setting

_SPARSITY = r"\bspars\w*\b|\b2:4\b"
_DENSE = r"\bdense\b"


class OnlyWith(BaseModel):
    """A precision or convention, not excluded by the quote, with which a claim would be possible; in SI."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    precision: str | None
    """Precision that the claim needs; null where that of the check is enough."""
    counts_sparsity: bool
    """Whether the claim must also count the products that 2:4 structured sparsity skips."""
    limit: float
    """Physical limit with these, of the claimed quantity as the check counts it."""
    expected: float | None
    """Prediction of the model with these; null where it has none."""
    low_80: float | None
    """Lower end of the 80 % interval of the prediction."""
    high_80: float | None
    """Upper end of the 80 % interval of the prediction."""
    verdict: Verdict
    """Verdict on the claim with these."""

    @property
    def words(self) -> str:
        """What the claim needs, in words."""
        parts = [self.precision] if self.precision else []
        parts += ["2:4 sparsity counted"] if self.counts_sparsity else []
        return " and ".join(parts)


def assumed_words(claim: Claim, setting: Setting, of_a_workload: bool) -> str:
    """Return the precision and the convention by which a claim is checked, in words."""
    if claim.kind in BANDWIDTHS:
        return f"{KINDS[claim.kind].words} of {claim.collective}, as nccl-tests defines it"
    words = claim.format or setting.precision
    if not states_precision(claim, setting):
        words += ", as the quote states no precision"
    if claim.kind in ("flops", "mfu"):
        words += "; dense products, without those that sparsity skips"
        if of_a_workload:
            words += f"; {_counted_words(claim, setting)}, recomputation not counted"
    if claim.kind == "mfu":
        words += f", over the {setting.peak_format} peak"
    if claim.kind in ("scaling_efficiency", "speedup"):
        words += f"; {setting.scaling} scaling"
    return words


def _counted_words(claim: Claim, setting: Setting) -> str:
    if not is_counted_in_ways(setting):
        return "every product of the network counted"
    assert claim.convention is not None
    return f"FLOP {CONVENTION_WORDS[claim.convention]}"


def only_with(
    claim: Claim, setting: Setting, scenario: Scenario, evidence: Evidence, catalogue: Catalogue
) -> list[OnlyWith]:
    """Return what would make a claim possible that is beyond its limit, the widest precision first.

    These are precisions of a higher peak, where the quote states none; and counting what 2:4 sparsity skips,
    for FLOP/s of hardware that no words call dense: training a dense network skips nothing.  Both together
    are named only where neither is enough.

    Parameters
    ----------
    claim, setting, scenario, evidence : the claim, the job, its options and the evidence on it
    catalogue : where hardware is looked up
    """
    if claim.kind not in OF_A_STEP:
        return []
    precisions = [] if states_precision(claim, setting) else _faster_precisions(setting)

    def reading(precision: str | None, counts_sparsity: bool) -> OnlyWith | None:
        return _reading(precision, counts_sparsity, claim, setting, scenario, evidence, catalogue)

    alone = {precision: reading(precision, False) for precision in precisions}
    named = [each for each in alone.values() if each is not None]
    if evidence.of_a_workload or not _may_count_sparsity(claim):
        return named
    sparse = reading(None, True)
    if sparse is not None:
        return [*named, sparse]
    both = (reading(precision, True) for precision, each in alone.items() if each is None)
    return [*named, *(each for each in both if each is not None)]


def only_with_words(reading: OnlyWith, claim: Claim, setting: Setting) -> str:
    """Return a reading with which a claim would be possible in words: limit, prediction and verdict."""

    def written(value: float) -> str:
        return shown(value, claim.kind, setting.workload.sample, claim.whose)

    ends = "at most" if KINDS[claim.kind].higher_is_better else "at least"
    over = f" of the {setting.peak_format} peak" if claim.kind == "mfu" else ""
    words = f"only with {reading.words}: then {ends} {written(reading.limit)}{over}"
    if reading.expected is not None:
        words += f", {written(reading.expected)} expected, and the claim would be {reading.verdict}"
    elif reading.verdict == "oversized":
        words += ", but the job would not fit"
    return f"{words}; the quote does not exclude it"


def _reading(
    precision: str | None,
    counts_sparsity: bool,
    claim: Claim,
    setting: Setting,
    scenario: Scenario,
    evidence: Evidence,
    catalogue: Catalogue,
) -> OnlyWith | None:
    """Return a claim with another precision or count; None where it is still beyond the limit."""
    better, value = KINDS[claim.kind].higher_is_better, claim.number
    at = setting if precision is None else _in_precision(setting, precision)
    number_format = claim.format if precision is None and claim.format else at.peak_format
    if counts_sparsity and not has_sparsity(setting.accelerator, number_format):
        return None
    times = SPARSITY if counts_sparsity else 1.0
    limit = times * (evidence.limit.value if precision is None else limit_of(claim, at, evidence))
    if not reaches(limit, value, better):
        return None
    expected, fits = evidence.expected, evidence.memory is None
    if precision is not None:
        expected, fits = _predicted(precision, scenario, evidence, catalogue)
    if expected is not None:
        expected = Expected(*(times * each for each in expected)).within(limit, better) if fits else None
    verdict = verdict_of(value, 1.0, better, expected) if fits else "oversized"
    ends = expected._asdict() if expected else dict.fromkeys(Expected._fields)
    return OnlyWith(
        precision=precision, counts_sparsity=counts_sparsity, limit=limit, verdict=verdict, **ends
    )


def _predicted(
    precision: str, scenario: Scenario, evidence: Evidence, catalogue: Catalogue
) -> tuple[Expected | None, bool]:
    """Return the model's prediction in a precision, None where it has none, and whether the job fits."""
    if evidence.measure is None:
        return None, True
    try:
        prediction = predict(changed(scenario, precision=precision), catalogue)
    except InputError:
        return None, True
    return evidence.measure.expected(prediction), prediction.memory.fits


def _faster_precisions(setting: Setting) -> list[str]:
    """Return the precisions of a higher peak than the assumed one, one for each peak, the slowest first.

    Of software that the quote states only those that its release has.
    """
    peaks: dict[float, str] = {}
    for precision in FORMATS:
        if setting.scenario.framework is not None and not setting.framework.computes_in(precision):
            continue
        peak = peak_in(precision, setting)
        if peak > setting.peak_flops:
            peaks.setdefault(peak, precision)
    return [precision for _, precision in sorted(peaks.items())]


def _in_precision(setting: Setting, precision: str) -> Setting:
    """Return a setting in another precision, for its physical limit."""
    peak, number_format = setting.accelerator.training_peak(precision)
    return setting._replace(
        precision=precision, format=FORMATS[precision], peak_flops=peak, peak_format=number_format
    )


def _may_count_sparsity(claim: Claim) -> bool:
    """Return whether a claim is of FLOP/s whose words neither say dense nor deny sparsity."""
    words = words_of(claim)
    denied = re.search(_SPARSITY, words, re.IGNORECASE) and not mentions(_SPARSITY, words)
    return claim.kind == "flops" and not denied and not mentions(_DENSE, words)
