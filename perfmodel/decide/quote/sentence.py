"""The verdict on a claim in short sentences for a message to the vendor, and how measured runs compare."""

from __future__ import annotations

from collections.abc import Sequence

from perfmodel.core.sentences import in_sentences
from perfmodel.core.units import per_cent, percent
from perfmodel.decide.comparison.option_words import NAMES
from perfmodel.decide.quote.checked import Checked
from perfmodel.decide.quote.claim_words import shown, shown_range, software_words
from perfmodel.decide.quote.evidence import Near
from perfmodel.decide.quote.file import KINDS
from perfmodel.decide.quote.limits import IDEAL
from perfmodel.evidence.accuracy.source_titles import short_title
from perfmodel.model.options.scenario import field_of

RUN = "the log of a run like it: software and version, number format, batch, layout and throughput by step"
BETTER = "better than the model expects, but a measured run reached it"
"""Meaning of the verdict ``reached``."""
CONFIRMED = (
    *("--precision", "--framework", "--node", "--accelerators-per-node", "--intra-link", "--inter-link"),
    *("--nics", "--local-batch-size", "--global-batch-size", "--micro-batch-size", "--sequence-length"),
    *("--tensor-parallel", "--pipeline-parallel", "--virtual-stages", "--context-parallel"),
    *("--expert-parallel", "--sharding", "--recompute"),
)
"""Options that a message asks the vendor to confirm, where the quote leaves them open."""
EVEN = 0.495
"""Probability from which a claim can be relied on if the contract has it: 50 %, as written (a choice)."""
SHOWN = {"optimistic": "doubtful", "pessimistic": "cautious"}
"""Verdict -> its words in texts, where they are not its name."""
OPEN = "as likely as not"
"""What texts say of a plausible claim that the model can neither confirm nor refute."""
NEAR_EVEN = 0.1
"""Distance of its probability from 50 % up to which that is so (a choice)."""
SELDOM = 0.5
"""Probability of a claim below which a run that did as well is named (a choice)."""


def sentence_of(claim: Checked) -> str:
    """Return the verdict on a claim in sentences: limit, evidence, judgement, questions to the vendor."""
    claimed = _written(claim, claim.value)
    if not claim.quantity.endswith("per_second"):
        claimed = f"{KINDS[claim.quantity].words} of {claimed}"
    if claim.target is not None:
        claimed += f" ({claim.target})"
    parts = [f"The quote claims {claimed} for {_job(claim)[0]}", *_assumed(claim)]
    parts.append(limit_words(claim))
    parts += [measured_like_words(claim), evidence_words(claim) or "no measured run like it is known"]
    if claim.memory is not None:
        parts.append(f"the job does not fit: it {claim.memory}")
    parts += [
        unlikely_words(claim),
        other_accelerators(claim),
        *_sure(claim),
        *_conditions(claim),
        _ask(claim),
    ]
    return in_sentences(parts)


def _job(claim: Checked) -> tuple[str, str]:
    """Return the network and the accelerators of a claim in short, and as what it was checked."""
    accelerators, _, joined = claim.machines.partition(" in ")
    network, _, rest = claim.scenario.partition(claim.machines)
    return network + accelerators, ", ".join(filter(None, (joined, rest.removeprefix(", "))))


def _assumed(claim: Checked) -> list[str]:
    """Return as what a claim was checked, and what of that its quote leaves open, in parts of a sentence."""
    taken = [each for each in claim.defaults if each.split()[0] in CONFIRMED]
    taken = [each for each in taken if each.split()[0] != "--precision" or each.split()[1] == claim.precision]
    _, how = _job(claim)
    words = [f"we checked it in {how}"] if how else []
    if taken:
        words.append(f"we assumed {', '.join(map(_plain, taken))}: please confirm")
    return words


def _plain(option: str) -> str:
    """Return an option with its value in plain words.

    >>> _plain("--global-batch-size 512 (4 M tokens a step)"), _plain("--framework nemo@2025")
    ('global batch size 512 (4 M tokens a step)', 'framework nemo (2025)')
    >>> _plain("--inter-link ib-hdr-200g")
    'inter link InfiniBand HDR 200 Gbit/s'
    """
    name, _, value = option.removeprefix("--").partition(" ")
    id, space, rest = value.partition(" ")
    if name == "framework":
        return f"framework {software_words(id)}"
    called = NAMES[field](id) if (field := field_of(name)) in NAMES else id
    return f"{name.replace('-', ' ')} {called}{space}{rest}"


def _conditions(claim: Checked) -> list[str]:
    """Return with what a figure that is too good would be possible, in a sentence's part."""
    known = dict.fromkeys(trick.condition for trick in claim.tricks if trick.condition)
    return [f"it would be possible if {', or if '.join(known)}"] if known else []


def needs_reached(claim: Checked) -> bool:
    """Return whether a measured run that did as well is the main evidence for a claim."""
    return claim.reached_by is not None and (claim.probability or 0.0) < SELDOM


def limit_words(claim: Checked) -> str:
    """Return what physics allows, of the claimed quantity."""
    if claim.quantity in IDEAL:
        error = per_cent(claim.limit / claim.ideal - 1, 0)
        return f"at most {_written(claim, claim.ideal)} is possible, and a measurement may err by {error}"
    assumed = f" in {claim.precision}" if claim.only_with else ""
    most = "allows at most" if claim.higher_is_better else "needs at least"
    return f"physics {most} {_written(claim, claim.limit)}{assumed}"


def needed_words(claim: Checked) -> str:
    """Return with what a conditional claim would be possible, in words."""
    return f"only with {', or '.join(each.words for each in claim.only_with)}"


def probability_words(claim: Checked) -> str:
    """Return the probability of a claim, marked where it is what measured runs leave; empty where unknown."""
    if claim.probability is None:
        return ""
    return f"{'at most ' if claim.limited_by else ''}{percent(claim.probability)}"


def likely_words(claim: Checked, how: str = "") -> str:
    """Return the probability of a claim in words, how it would be reached, and the runs that limit it."""
    likely = f"{probability_words(claim)} likely to be reached{how}"
    if claim.limited_by is None:
        return likely
    runs, reached = claim.limited_by.runs, claim.limited_by.reached
    if runs == 1:
        return f"{likely}, as the one similar measured run was not as good"
    return f"{likely}, as {reached or 'none'} of {runs} similar measured runs did as well"


def reached_words(claim: Checked) -> str:
    """Return the measured run that reached a claim, in words: source, value, software, machines."""
    run = claim.reached_by
    assert run is not None
    value, software = _written(claim, run.value), software_words(run.software)
    return f"{run.source} reached {value} with {software} on {run.words}"


def shown_verdict(claim: Checked) -> str:
    """Return the verdict as texts have it."""
    if claim.verdict == "plausible" and abs((claim.probability or 0.0) - 0.5) <= NEAR_EVEN:
        return OPEN
    return SHOWN.get(claim.verdict, claim.verdict)


def judgement_words(claim: Checked) -> str:
    """Return the judgement in short, with the probability and the software or run it is for."""
    words = f"{claim.judgement}: {BETTER}" if claim.verdict == "reached" else claim.judgement
    if claim.only_with:
        return f"{words}: {needed_words(claim)}"
    if claim.judgement == "impossible" or claim.probability is None:
        return words
    how = ""
    if claim.reached_by is not None and needs_reached(claim):
        how = f" with {software_words(claim.reached_by.software_taken)}"
    elif claim.similar_run is not None and claim.limited_by is None:
        how = f", by the ratio to a run of {short_title(claim.similar_run.source)}"
    likely = likely_words(claim, how)
    return f"{words}{';' if claim.verdict == 'reached' else ','} {likely}"


def open_clause(claim: Checked) -> str:
    """Return which property the quote leaves open, or states, in which the faster run differs."""
    run = claim.reached_by
    assert run is not None
    if run.left_open:
        return f"the quote states no {' and no '.join(run.left_open)}"
    if run.is_other:
        return f"the quote states {software_words(run.software_taken)}"
    return "that is the software that was checked"


def _written(claim: Checked, value: float) -> str:
    """Return a value of a claim's quantity in words."""
    return shown(value, claim.quantity, claim.sample, claim.per)


def ranged(claim: Checked, value: float, low: float, high: float) -> str:
    """Return a value with its 80 % interval in words."""
    ends = shown_range(low, high, claim.quantity, claim.sample, claim.per)
    return f"{_written(claim, value)} (80 %: {ends})"


def expected_words(claim: Checked) -> str | None:
    """Return what to expect, as verdict and probability of a claim take it; None where it is not known."""
    return None if claim.judged_by is None else ranged(claim, *claim.judged_by)


def measured_like_words(claim: Checked) -> str:
    """Return the measured run from which the expected value is scaled, in words; empty where there is none.

    Its value is that of its rate on each accelerator, of which it may have had others or fewer.
    """
    if claim.similar_run is None:
        return ""
    run = _run_like(claim)
    if run is None:
        like = claim.similar_run
        return (
            f"the measured run most like it, of the same network: {like.words} ({short_title(like.source)})"
        )
    what = ", ".join(filter(None, (run.software and software_words(run.software), run.words)))
    source = short_title(run.source)
    return f"a measured run like it comes to {_written(claim, run.value)} ({what}; source: {source})"


def scaled_words(claim: Checked) -> str:
    """Return how the expected value follows from the similar run, with the software that is assumed."""
    taken = next((each.split()[1] for each in claim.defaults if each.startswith("--framework ")), None)
    run = _run_like(claim)
    if taken is None or (run is not None and run.software == taken):
        return "as the model scales that run to this job"
    return f"as the model scales that run to this job with {software_words(taken)}, which is assumed"


def _run_like(claim: Checked) -> Near | None:
    """Return the measurement of the similar run; None where it is not listed."""
    run = claim.similar_run
    return None if run is None else next((near for near in claim.measured if near.id == run.id), None)


def evidence_words(claim: Checked) -> str | None:
    """Return what to expect by the best available evidence, in words; None without evidence."""
    if claim.similar_run is not None:
        return f"expect {expected_words(claim)}, {scaled_words(claim)}"
    if claim.expected is not None:
        return f"expect {expected_words(claim)}, by a model fitted to measured runs"
    if claim.measured:
        near = claim.measured[0]
        return f"measured: {near.words} ({near.source})"
    return None


def unlikely_words(claim: Checked) -> str:
    """Return that a figure better than expected, but within the 80 % interval, is no sign that it is false.

    Empty of other figures, and where comparable measured runs did not reach it.
    """
    probability = claim.probability
    if claim.verdict != "plausible" or claim.limited_by is not None or claim.judged_by is None:
        return ""
    if probability is None or probability >= EVEN:
        return ""
    return (
        f"{_written(claim, claim.value)} is better than expected, but within the 80 % interval, in which "
        "four of five true figures lie: no sign that it is false"
    )


def other_accelerators(claim: Checked) -> str:
    """Return that no similar measured run is of the claim's accelerator; empty of others."""
    if not claim.measured or any("accelerator" not in near.differs for near in claim.measured):
        return ""
    if len(claim.measured) == 1:
        return "the similar measured run is of another accelerator"
    return "the similar measured runs are all of other accelerators"


def _sure(claim: Checked) -> list[str]:
    """Return the judgement with its probability and any run that reached the claim, in sentences."""
    if claim.judgement == "impossible":
        return ["so it is impossible as stated"]
    if claim.only_with:
        needed = f"possible {needed_words(claim)}, which the quote does not state"
        return [f"so it is {claim.judgement}: {needed}"]
    if claim.probability is None:
        return [f"so it is {claim.judgement}"]
    likely = likely_words(claim)
    run = claim.reached_by
    if run is None or not needs_reached(claim):
        return [f"so it is {claim.judgement} ({likely})"]
    taken = f"{software_words(run.software_taken)}, {claim.scenario.partition(', ')[2]}"
    though = ", though better than the model expects" if claim.verdict == "reached" else ""
    return [
        f"so it is {claim.judgement}{though}",
        reached_words(claim),
        open_clause(claim),
        f"with {taken}, it is {likely}",
    ]


def asked_of(claim: Checked) -> list[str]:
    """Return what a vendor left open on which it depends whether a claim is possible, as questions."""
    needed = {
        "which precision it is in": any(each.precision for each in claim.only_with),
        "whether it counts 2:4 sparsity": any(each.counts_sparsity for each in claim.only_with),
    }
    return [question for question, asked in needed.items() if asked]


def _ask(claim: Checked) -> str:
    """Return what to ask the vendor, in words."""
    questions = list(dict.fromkeys(trick.ask.removeprefix("ask ") for trick in claim.tricks))
    questions += asked_of(claim)
    other = claim.other_reading
    if other is not None and other.convention is not None and other.verdict != claim.verdict:
        questions.append("whether its FLOP count masked scores")
    run = claim.reached_by
    if run is not None and needs_reached(claim) and (run.left_open or run.is_other):
        questions.append(f"which {' and '.join(run.left_open or ['software'])} it holds for")
    if claim.judgement in ("possible", "cautious"):
        questions.append(f"for {RUN}, and for the figure in the contract")
    elif not questions or claim.judgement == "doubtful":
        questions.append(f"for {RUN}")
    return f"ask the vendor {_listed(questions)}"


def _listed(parts: Sequence[str]) -> str:
    """Return a list of questions joined by commas."""
    return ", and ".join(parts)
