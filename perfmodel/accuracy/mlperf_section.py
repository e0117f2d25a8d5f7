"""The report's section on MLPerf Training: time to train by round, and what the misses come from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from statistics import fmean, median
from textwrap import fill
from typing import NamedTuple

from perfmodel.accuracy.mlperf import Answer, Mode, compare_mlperf, errors_by
from perfmodel.accuracy.mlperf_kernels import Changes
from perfmodel.accuracy.summary import Errors, errors

WIDTH = 110
GOAL = 0.15
"""Median absolute error that was aimed at."""
LARGE = 64
"""Accelerators from which a job counts as large."""
SEEN = 64
"""Accelerators of the largest job that anything was learned from."""
MODES: dict[str, Mode] = {"from specs": "specs", "anchored": "anchored"}
KERNELS: Changes = frozenset({"joined", "replayed"})


@cache
def section() -> tuple[str, ...]:
    """Return the section, as lines of Markdown; made once."""
    specs, anchored = compare_mlperf("specs"), compare_mlperf("anchored")
    forecast = compare_mlperf("anchored", earlier=True)
    joined = compare_mlperf("specs", changes=KERNELS)
    return (
        "## MLPerf Training: time to a target",
        "",
        _opening(specs),
        "",
        headline(specs, anchored, forecast),
        "",
        *_rounds(specs, anchored),
        *_coverage(),
        *_naive(specs, anchored, forecast),
        *_ingredients(specs, anchored, joined),
        _told(specs, joined),
        "",
    )


def headline(specs: Sequence[Answer], anchored: Sequence[Answer], forecast: Sequence[Answer]) -> str:
    """Return the lines people ask for first: each median against the goal."""
    told = []
    for name, answers in (
        ("From specs alone", specs),
        ("Anchored on machines of the other rounds", anchored),
        ("The same with the rounds before alone", forecast),
    ):
        found = errors_by(answers)["all"]["all"]
        verdict = "met" if (found.median_absolute_error or 0.0) <= GOAL else "missed"
        told.append(f"* {name}: median absolute error {_median(found)}, n {found.n}: {verdict}.")
    return "\n".join([f"Against the goal of {GOAL:.0%}:", "", *told])


def _prose(text: str) -> str:
    return fill(" ".join(text.split()), WIDTH)


def _opening(specs: Sequence[Answer]) -> str:
    refused = Counter(each.reason for each in specs if each.reason)
    listed = "; ".join(f"{reason} ({count})" for reason, count in refused.most_common()) or "none"
    other = [each for each in specs if each.error is not None and not each.submission.samples_per_second]
    return _prose(
        f"""
        {len(specs)} submissions of ResNet-50 (to 74.9 %, since v0.6 75.9 %) and BERT-Large (to 0.712,
        since v1.0 0.720) on NVIDIA accelerators, rounds v0.5 to v1.1, closed division. Time to train is
        samples to the target at the submission's batch, over the model's samples per second, plus the
        evaluations that the rules ask for. Leave one round out: the curve of samples against batch is
        fitted to all other rounds (those with the same target; v0.5 of ResNet-50 and v0.7 of BERT have
        none, and take the others'), and an anchor comes from other rounds too, later ones among them: the
        median over their single machines with that accelerator, or where there is none with its chip. No
        number of the model was learned from these rows; the rules from row to question stand in
        `perfmodel/accuracy/mlperf_rules.py`. BERT counts samples of up to 512 tokens; half of those would
        be padding (Krell et al. 2021, arXiv 2107.02027), which NVIDIA's code can skip and all but one of the
        configurations we could read tell it to (one of v1.0 does not list it), so the model is asked
        for 256. Samples are decoded ahead (DALI), gradients are half-precision, and NCCL chooses the
        algorithm. An error is predicted / measured - 1 of the time to train. Refused: {listed}.
        {len(other)} state no rate and have only a time.
        """
    )


def _rounds(specs: Sequence[Answer], anchored: Sequence[Answer]) -> list[str]:
    first, second = errors_by(specs), errors_by(anchored)
    lines = [
        "|  | n | median | bias | within 20 % | anchored n | median | bias | within 20 % |",
        "| --- | --: | --: | --: | --: | --: | --: | --: | --: |",
    ]
    for kind, groups in first.items():
        for name, found in groups.items():
            lines.append(f"| {name} | {_cells(found)} | {_cells(second[kind].get(name))} |")
    return [*lines, ""]


class Covered(NamedTuple):
    """How the intervals of the iteration time fare on rows that no fit has seen."""

    name: str
    n: int
    mean: float
    median: float
    """Absolute errors of the iteration time."""
    shares: tuple[float, float]
    """Inside the interval of 80 and of 95 %."""


@cache
def covered() -> tuple[Covered, ...]:
    """Return the coverage of the intervals in both modes, of all rows and by size."""
    sizes: tuple[tuple[str, Callable[[int], bool]], ...] = (
        ("", lambda n: True),
        (f", to {SEEN} accelerators", lambda n: n <= SEEN),
        (f", above {SEEN}", lambda n: n > SEEN),
    )
    found = []
    for name, mode in MODES.items():
        known = [each for each in compare_mlperf(mode) if each.inside(80) is not None]
        for size, holds in sizes:
            rows = [each for each in known if holds(each.submission.world_size)]
            if not rows:
                continue
            ratios = [
                each.submission.samples_per_second / each.samples_per_second
                for each in rows
                if each.samples_per_second and each.submission.samples_per_second
            ]
            wrong = [abs(ratio - 1) for ratio in ratios]
            shares = (
                fmean(bool(each.inside(80)) for each in rows),
                fmean(bool(each.inside(95)) for each in rows),
            )
            found.append(Covered(f"MLPerf, {name}{size}", len(rows), fmean(wrong), median(wrong), shares))
    return tuple(found)


def _coverage() -> list[str]:
    lines = [
        _prose(
            f"""
            The intervals on rows that no fit has seen: the measured iteration, the batch over the rate,
            beside the interval that `predict` prints. The learned widths know nothing of these rows; the
            least that an unseen condition must widen (`LEAST` in `perfmodel/fitting/spread.py`) was set
            with this table in view. From specs the intervals are too narrow here, and the reason is below:
            code written for the round is faster than any that the widths were learned from. The largest job
            that was fitted to had {SEEN} accelerators.
            """
        ),
        "",
        "| iteration time | n | mean error | median | 80 % covers | 95 % covers |",
        "| --- | --: | --: | --: | --: | --: |",
    ]
    for each in covered():
        near, far = each.shares
        lines.append(
            f"| {each.name} | {each.n} | {each.mean:.1%} | {each.median:.1%} | {near:.1%} | {far:.1%} |"
        )
    return [*lines, ""]


def _cells(found: Errors | None) -> str:
    if found is None or found.median_absolute_error is None:
        return "0 | - | - | -"
    return f"{found.n} | {found.median_absolute_error:.1%} | {found.bias:+.1%} | {found.within_20:.0%}"


def _naive(specs: Sequence[Answer], anchored: Sequence[Answer], forecast: Sequence[Answer]) -> list[str]:
    shown = [
        each
        for each in zip(specs, anchored, forecast, strict=True)
        if each[0].naive_time is not None and all(answer.error is not None for answer in each)
    ]
    sizes: tuple[tuple[str, Callable[[int], bool]], ...] = (
        ("all", lambda n: True),
        (f"fewer than {LARGE} accelerators", lambda n: n < LARGE),
        (f"{LARGE} and more", lambda n: n >= LARGE),
    )
    lines = [
        "Naive is the last round before that had the accelerator: its median of samples to the target, and",
        "its median rate of an accelerator times their number.  A forecast is anchored, and sees no later",
        "round, neither of epochs nor of machines.  On the rows that have them all:",
        "",
        "|  | n | from specs | anchored | forecast | naive | naive bias |",
        "| --- | --: | --: | --: | --: | --: | --: |",
    ]
    for name, holds in sizes:
        rows = [each for each in shown if holds(each[0].submission.world_size)]
        naive = _statistics(first.error_of(first.naive_time) for first, *_ in rows)
        medians = [_median(_statistics(each[mode].error for each in rows)) for mode in range(3)]
        lines.append(f"| {name} | {naive.n} | {' | '.join(medians)} | {_median(naive)} | {naive.bias:+.1%} |")
    return [*lines, ""]


def _statistics(signed: Iterable[float | None]) -> Errors:
    return errors([error for error in signed if error is not None])


def _median(found: Errors) -> str:
    return f"{found.median_absolute_error:.1%}"


def _ingredients(specs: Sequence[Answer], anchored: Sequence[Answer], both: Sequence[Answer]) -> list[str]:
    """What would be left of the miss with one ingredient right."""

    joined = compare_mlperf("specs", changes=frozenset({"joined"}))
    replayed = compare_mlperf("specs", changes=frozenset({"replayed"}))
    shown: list[tuple[str, Sequence[Answer], bool, bool]] = [
        ("from specs, as above", specs, False, False),
        ("samples to the target as they were", specs, True, False),
        ("rate as it was", specs, False, True),
        ("both as they were (the rates of BERT have its evaluations in them)", specs, True, True),
        ("joined kernels, as configurations name them", joined, False, False),
        ("no launches, where graphs are replayed", replayed, False, False),
        ("joined kernels and no launches", both, False, False),
        ("the same, samples to the target as they were", both, True, False),
        ("anchored, as above", anchored, False, False),
        ("anchored, samples to the target as they were", anchored, True, False),
        (
            "anchored, joined kernels and no launches",
            compare_mlperf("anchored", changes=KERNELS),
            False,
            False,
        ),
    ]
    lines = [
        "What would be left with one ingredient right; `as it was` takes the row's own figure, an oracle:",
        "",
        "|  | n | resnet50 | bias | n | bert | bias |",
        "| --- | --: | --: | --: | --: | --: | --: |",
    ]
    for name, answers, samples, rate in shown:
        cells = []
        for benchmark in ("resnet50", "bert"):
            own = [each for each in answers if each.submission.benchmark == benchmark]
            found = _statistics(_with_oracles(own, samples, rate))
            cells.append(f"{found.n} | {_median(found)} | {found.bias:+.1%}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return [*lines, ""]


def _with_oracles(answers: Iterable[Answer], samples: bool, rate: bool) -> Iterable[float | None]:
    """Signed errors with the rows' own samples to the target, or rate, where they state them."""
    for each in answers:
        own_samples, own_rate = each.submission.samples_to_target, each.submission.samples_per_second
        if (samples and own_samples is None) or (rate and own_rate is None):
            continue
        yield each.error_of(each.time_with(own_samples if samples else None, own_rate if rate else None))


def _ratio(answers: Iterable[Answer], keep: Callable[[Answer], bool]) -> str:
    """Median of predicted over measured rate, with n."""
    ratios = [
        each.samples_per_second / each.submission.samples_per_second
        for each in answers
        if each.samples_per_second and each.submission.samples_per_second and keep(each)
    ]
    return f"{median(ratios):.2f} (n {len(ratios)})" if ratios else "- (n 0)"


def _told(specs: Sequence[Answer], joined: Sequence[Answer]) -> str:
    def of(benchmark: str, *rounds: str, large: bool = False) -> Callable[[Answer], bool]:
        def keep(each: Answer) -> bool:
            asked = each.submission
            fits = asked.benchmark == benchmark and asked.round in rounds
            return fits and (asked.world_size >= LARGE) == large

        return keep

    recent = ("v1.0", "v1.1")
    launches = [
        each.launch_share
        for each in specs
        if each.submission.round in recent and each.submission.world_size > LARGE and each.launch_share
    ]
    before, after = (errors_by(answers)["all"]["all"].bias or 0.0 for answers in (specs, joined))
    return _prose(
        f"""
        Where it comes from: the rate, not the epochs. Predicted over measured rate, median, below {LARGE}
        accelerators: ResNet-50 v0.5 {_ratio(specs, of("resnet50", "v0.5"))}, v0.6
        {_ratio(specs, of("resnet50", "v0.6"))}, v0.7 {_ratio(specs, of("resnet50", "v0.7"))}, v1.0 and
        v1.1 {_ratio(specs, of("resnet50", *recent))}; BERT v0.7 {_ratio(specs, of("bert", "v0.7"))}, v1.0
        and v1.1 {_ratio(specs, of("bert", *recent))}; from {LARGE} on, v1.0 and v1.1: ResNet-50
        {_ratio(specs, of("resnet50", *recent, large=True))}, BERT
        {_ratio(specs, of("bert", *recent, large=True))}. The runs that the model learned from use public
        containers; submissions use code written for the round. Their configurations name it: norms that
        apply the activation and the addition after them, convolutions that take the statistics of the norm
        that follows, one kernel for all of BERT's attention (since v1.0), dropout joined to the addition
        (v1.1), and graphs that are recorded once and replayed, so that a host launches nothing. In the
        largest jobs of v1.0 and v1.1, with 3 to 35 samples an accelerator, the model gives
        {min(launches):.0%} to {max(launches):.0%} of an iteration to launches that such runs do not make.
        Written into the layers' traffic and the host's launches (`perfmodel/accuracy/mlperf_kernels.py`,
        nothing fitted), that takes the bias of all rows from {before:+.0%} to {after:+.0%}. The list was
        drawn up with these rows in view, so it explains and does not predict. What is left the rows do not
        tell apart: matrix products nearer to the peak than in public runs, an update shared out over the
        accelerators, sums in the switches (SHARP). v0.7 of BERT misses the other way round: every other
        round, and so its curve and its anchor, has later software and another target. Epochs fell from
        v0.5 to v0.7 by better schedules at the same batch, which no curve over batch sizes can know. And
        where a machine is submitted again, its last result is the better guess: the naive answer wins
        below {LARGE} accelerators, and loses where the machine grows.
        """
    )
