"""Check the claims of a quote against physical limits, the model's interval and measured runs."""

from __future__ import annotations

from pathlib import Path

from perfmodel.core.errors import InputError, refusal
from perfmodel.core.records.arguments import FILE, TEXT, a, expect
from perfmodel.core.units import per_cent, three_digits
from perfmodel.decide.quote.checked import Checked, OtherReading, SimilarRun
from perfmodel.decide.quote.claim_judgement import (
    EXACT,
    judgement_of,
    probability_within,
    verdict_of,
)
from perfmodel.decide.quote.claim_words import job_words, layout_words, machine_words, shown
from perfmodel.decide.quote.completed_job import CompletedJob, completed_job
from perfmodel.decide.quote.evidence import (
    COUNTED,
    Evidence,
    FromRun,
    of_bandwidth,
    of_efficiency,
    of_peak,
    of_rate,
)
from perfmodel.decide.quote.expected import Expected, flops_of, is_counted_in_ways
from perfmodel.decide.quote.file import BANDWIDTHS, KINDS, SYNONYMS, Claim, Quote, scenario_of_claim
from perfmodel.decide.quote.limited import limited_by
from perfmodel.decide.quote.other_reading import bandwidth_words, count_words, other_bandwidth
from perfmodel.decide.quote.sentence import sentence_of
from perfmodel.decide.quote.stated_precision import in_stated_precision
from perfmodel.decide.quote.tricks import tricks_of
from perfmodel.decide.quote.unstated import assumed_words, only_with, only_with_words
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction.intervals.bound import above_peak
from perfmodel.model.setting.resolve import Setting, resolve
from perfmodel.model.transformers.flops import COMPUTED, NOMINAL

_FAR = 1000.0
"""Ratio to the expected value above which a figure was probably written in another unit."""


TOO_GOOD = {"optimistic": 1, "conditional": 2, "impossible": 3}
"""How much too good a figure with this verdict is; other verdicts are not too good."""
NO_PROBABILITY = {"impossible": 0.0, "conditional": None}
"""Probability of claims beyond the limit; that of a conditional one depends on what its quote leaves open."""
_OF_MACHINES = ("accelerator", "node", "accelerators-per-node", "intra-link", "inter-link", "precision")


def check_quote(
    quote: Quote,
    catalogue: Catalogue | None = None,
    where: str = "quote",
    calibration: str | Path | None = None,
) -> list[Checked]:
    """Check every claim of a quote.

    Parameters
    ----------
    quote : as ``read_quote`` returns it
    catalogue : where its hardware is looked up; by default the built-in one
    where : the file's name, for errors
    calibration : file of ``perfmodel calibrate --data`` with a fit to the user's own runs, for every claim

    Raises
    ------
    InputError : a scenario that cannot be predicted, or a claim that its workload cannot have; the
        message names file and claim

    Examples
    --------
    Eight V100 cannot train a million images per second:

    >>> from perfmodel.decide.quote import Quote, Claim
    >>> claim = Claim(quantity="images_per_second", value=1e6)
    >>> quote = Quote(title="Too good", scenario={"gpus": 8}, claims=(claim,))
    >>> check_quote(quote)[0].verdict
    'impossible'
    """
    expect(a(Quote), quote=quote)
    expect(TEXT, where=where)
    expect(FILE.or_none, calibration=calibration)
    if calibration is not None:
        quote = quote.model_copy(update={"scenario": quote.scenario | {"calibration": str(calibration)}})
    catalogue = Catalogue.of(catalogue)
    checked = []
    for index, claim in enumerate(quote.claims, 1):
        here = f"{where}: claim {index}"
        scenario = scenario_of_claim(quote, claim, here, catalogue)
        try:
            checked.append(_check(claim, in_stated_precision(claim, scenario, catalogue), catalogue))
        except InputError as error:
            raise error.under("claims", index - 1, said=here) from None
    return checked


def _check(claim: Claim, scenario: Scenario, catalogue: Catalogue) -> Checked:
    """Return the result of checking one claim.

    Raises
    ------
    InputError : a claim that its workload cannot have
    """
    names_workload = "workload" in scenario.model_fields_set
    job = completed_job(scenario, catalogue) if names_workload else CompletedJob(scenario)
    setting = resolve(job.scenario, catalogue)
    _check_sample(claim, setting)
    if claim.convention is not None and not (names_workload and is_counted_in_ways(setting)):
        what = f"{setting.workload.id} is no transformer" if names_workload else "no workload is named"
        raise refusal("quote.convention", "convention", convention=claim.convention, what=what)
    if claim.kind in BANDWIDTHS:
        evidence = of_bandwidth(claim, setting)
    elif claim.kind == "flops" and (claim.format or not names_workload):
        evidence = of_peak(claim, setting)
    elif claim.kind in ("scaling_efficiency", "speedup"):
        evidence = of_efficiency(claim, job.scenario, setting, catalogue)
    elif claim.kind in COUNTED and claim.convention is None and is_counted_in_ways(setting):
        return _checked_by_both_conventions(claim, setting, job, catalogue)
    else:
        evidence = of_rate(claim, job.scenario, setting, catalogue)
    return _checked(claim, setting, job, evidence, catalogue)


def _checked_by_both_conventions(
    claim: Claim, setting: Setting, job: CompletedJob, catalogue: Catalogue
) -> Checked:
    """Check a claim of FLOP by those computed, or by PaLM's count if it is too good for the former."""
    first, other = (
        _checked(read, setting, job, of_rate(read, job.scenario, setting, catalogue), catalogue)
        for read in (claim.model_copy(update={"convention": count}) for count in (COMPUTED, NOMINAL))
    )
    if TOO_GOOD.get(other.verdict, 0) < TOO_GOOD.get(first.verdict, 0):
        first, other = other, first
    reading = OtherReading(
        quantity="mfu" if claim.kind == "mfu" else "flops",
        convention=other.convention,
        limit=other.limit,
        expected=other.expected,
        verdict=other.verdict,
    )
    lines = [*first.arithmetic, count_words(first, reading)]
    result = first.model_copy(update={"other_reading": reading, "arithmetic": lines})
    return result.model_copy(update={"sentence": sentence_of(result)})


def _check_sample(claim: Claim, setting: Setting) -> None:
    """Raise an InputError for a quantity of other samples than those of the workload."""
    synonym = SYNONYMS.get(claim.quantity)
    if synonym is not None and synonym.sample not in ("", setting.workload.sample):
        raise refusal(
            "quote.quantity",
            "quantity",
            quantity=claim.quantity,
            workload=setting.workload.id,
            sample=synonym.sample,
        )


def _checked(
    claim: Claim, setting: Setting, job: CompletedJob, evidence: Evidence, catalogue: Catalogue
) -> Checked:
    """Return a claim with its verdict, from the evidence on it."""
    better, value, limit = KINDS[claim.kind].higher_is_better, claim.number, evidence.limit.value
    expected = None
    if evidence.expected is not None and evidence.memory is None:
        expected = evidence.expected.within(limit, better)
    ratio = value / limit if better else limit / value
    similar = None if evidence.memory else _similar(claim, evidence.from_run)
    judged_by = Expected(similar.value, similar.low_80, similar.high_80) if similar else expected
    verdict = verdict_of(value, ratio, better, judged_by)
    if evidence.memory is not None and verdict == "possible":
        verdict = "oversized"
    needed = only_with(claim, setting, job.scenario, evidence, catalogue) if verdict == "impossible" else []
    if needed:
        verdict = "conditional"
    probability = None if judged_by is None else probability_within(value, *judged_by, better)
    reaching_run = None if evidence.memory or verdict == "impossible" else evidence.reached
    limiting = limited_by(probability, evidence.measured, reaching_run, value, better)
    if limiting is not None:
        probability = limiting.most
        verdict = "plausible" if verdict == "pessimistic" else verdict  # some run was not as good
    if verdict in NO_PROBABILITY:
        probability, limiting = NO_PROBABILITY[verdict], None
    interval = None if expected is None else (expected.low_80, expected.high_80)
    too_good = verdict in ("impossible", "conditional") or (verdict == "optimistic" and reaching_run is None)
    if verdict == "optimistic" and reaching_run is not None and reaching_run.is_allowed:
        verdict = "reached"
    tricks = tricks_of(claim, setting, limit, interval, too_good, evidence.of_a_workload)
    lines = [*evidence.limit.because, _compared(claim, limit, ratio, setting)]
    lines += [only_with_words(each, claim, setting) for each in needed]
    lines += [f"{'it may be ' * (trick.factor is not None)}{trick.name}: {trick.words}" for trick in tricks]
    lines += [*([f"trained to {evidence.target}"] if evidence.target else []), *evidence.notes]
    lines += [job.note] if job.note and evidence.of_a_workload else []
    other = other_bandwidth(claim, setting, evidence) if claim.kind in BANDWIDTHS else None
    lines += [bandwidth_words(claim, other)] if other is not None else []
    if expected is not None:
        lines += _cut(expected, limit, better)
        lines += _unit(value, expected.expected, better)
    if evidence.memory is not None:
        lines.append(
            f"the job {evidence.memory}: smaller batches, or more and larger accelerators, would fit"
        )
    result = Checked(
        text=claim.text,
        quantity=claim.kind,
        per=claim.whose,
        value=value,
        unit=KINDS[claim.kind].unit,
        sample=setting.workload.sample,
        higher_is_better=better,
        verdict=verdict,
        judgement=judgement_of(verdict, probability, reaching_run),
        probability=probability,
        limited_by=limiting,
        precision=None if claim.kind in BANDWIDTHS else claim.format or setting.precision,
        assumed=assumed_words(claim, setting, evidence.of_a_workload),
        only_with=needed,
        limit=limit,
        memory=evidence.memory,
        **(expected._asdict() if expected else dict.fromkeys(Expected._fields)),
        similar_run=similar,
        reached_by=reaching_run,
        tricks=tricks,
        convention=claim.convention,
        other_reading=other,
        layout=layout_words(setting) if evidence.of_a_workload else None,
        target=evidence.target,
        arithmetic=lines,
        measured=evidence.measured,
        scenario=job_words(setting) if evidence.of_a_workload else machine_words(setting),
        machines=machine_words(setting),
        defaults=_defaults(setting, job, evidence.of_a_workload),
        source=claim.source,
        reading=claim.reading,
    )
    return result.model_copy(update={"sentence": sentence_of(result)})


def _defaults(setting: Setting, job: CompletedJob, of_a_workload: bool) -> list[str]:
    """Return the defaults that the check of a claim rests on."""
    if of_a_workload:
        return [*setting.defaults, *job.defaults]
    return [each for each in setting.defaults if each.about in _OF_MACHINES]


def _similar(claim: Claim, run: FromRun | None) -> SimilarRun | None:
    """Return the most similar run with its probability of the claim; None without such a run."""
    if run is None:
        return None
    better = KINDS[claim.kind].higher_is_better
    return SimilarRun(
        id=run.id,
        source=run.source,
        words=run.words,
        value=run.expected,
        low_80=run.low_80,
        high_80=run.high_80,
        probability=probability_within(claim.number, run.expected, run.low_80, run.high_80, better),
    )


def _cut(expected: Expected, limit: float, higher_is_better: bool) -> list[str]:
    """Return a note if the model's interval ends at the limit, or its prediction is beyond it."""
    beyond = EXACT if higher_is_better else -EXACT
    if (expected.expected > limit * (1 + beyond)) == higher_is_better:
        return ["the model's own point lies beyond this limit: check what it starts from"]
    end = expected.high_80 if higher_is_better else expected.low_80
    if abs(end / limit - 1) > EXACT:
        return []
    return ["the model's interval is cut at this limit"]


def _unit(value: float, expected: float, higher_is_better: bool) -> list[str]:
    """Return a note if a figure is so far off that its unit is probably another."""
    worse = expected / value if higher_is_better else value / expected
    if worse < _FAR:
        return []
    return [f"{worse:.2g} times worse than expected: check its unit; a bare number is in SI"]


def _compared(claim: Claim, limit: float, ratio: float, setting: Setting) -> str:
    """Return a line that compares a claim with the limit."""
    best = shown(limit, claim.kind, setting.workload.sample, claim.whose)
    if claim.kind == "mfu" and limit > 1.001:
        best += f" ({above_peak(setting, flops_of(setting, claim.convention))})"
    ends = "at most" if KINDS[claim.kind].higher_is_better else "at least"
    if ratio > 1 + EXACT:
        times = f"{ratio:.3g}" if ratio > 1.01 else f"{ratio:.6g}"
        better = "as fast" if claim.kind not in ("cost_per_token", "cost_to_train") else "as cheap"
        return f"so {ends} {best}; the claim is {times} times {'that' if ends == 'at most' else better}"
    if ends == "at most":
        return f"so {ends} {best}; the claim reaches {per_cent(ratio)} of it"
    as_bad = "as much" if claim.kind in ("cost_per_token", "cost_to_train") else "as long"
    return f"so {ends} {best}; the claim is {three_digits(1 / ratio)} times {as_bad}"
