"""Predict the time to train of MLPerf Training submissions: epochs times epoch time, plus evaluations.

No fit of the model learns from these rows.  A round is predicted from the other rounds: the curve of epochs
against batch size is fitted to their submissions, and an anchor, where the mode needs one, was measured in
one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from statistics import median
from typing import Any, NamedTuple

from perfmodel.core.errors import InputError
from perfmodel.evidence.accuracy.by_source import by_source
from perfmodel.evidence.accuracy.campaign import ENDS, Mode, Outcome
from perfmodel.evidence.accuracy.mlperf.mlperf_rows import (
    Submission,
    framework_of,
    held_out_submissions,
    scenario_of_submission,
    shipped_submissions,
)
from perfmodel.evidence.accuracy.mlperf.mlperf_rules import ROUNDS, rules_of
from perfmodel.evidence.accuracy.report.error_statistics import by_group, by_reason, statistics
from perfmodel.evidence.accuracy.scenarios import Refused, with_options
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict
from perfmodel.workloads.recipes.epochs_to_target import FEWEST_BATCH_SIZES, EpochsFit, fit_epochs

ANCHOR_STEPS = 4
"""Fixed-point steps that solve for the anchor's factor; each reduces the error about tenfold."""

NVIDIA = ("v100-", "a100-", "h100-", "h200-", "b200-", "b300-", "gb200-", "gb300-")
"""Prefixes of the ids of NVIDIA accelerators."""
OTHERS = "not NVIDIA's, whose software alone is modelled"
"""Reason why submissions on accelerators of other vendors are not predicted."""

EVALUATED = "evaluation included"
"""Text in the note of a row whose samples per second include the time of evaluations."""


def curve_without(round_: str, benchmark: str, submissions: Iterable[Submission]) -> EpochsFit:
    """Return the fitted curve of samples to the target against batch size, from all rounds but one.

    It uses the rounds with the same target if they have enough batch sizes; else all others, and the curve's
    target is blank.  As in the shipped curves, the median of each batch size is fitted, weighted by
    submissions on any accelerator.

    Parameters
    ----------
    round_ : round that is left out
    benchmark : of the curve
    submissions : of all rounds and benchmarks

    Raises
    ------
    Refused : the other rounds hold too few batch sizes
    """
    every = [each for each in submissions if each.benchmark == benchmark]
    others = [each for each in every if each.round != round_ and each.samples_to_target]
    target = rules_of(benchmark, round_).target
    for rows, common in ([each for each in others if each.rules.target == target], target), (others, ""):
        groups = by_source((float(each.batch), each.samples_to_target or 0.0) for each in rows)
        if len(groups) >= FEWEST_BATCH_SIZES:
            counts = [len(seen) for seen in groups.values()]
            curve = fit_epochs(list(groups), [*map(median, groups.values())], [*map(float, counts)])
            ends = min(groups), max(groups)
            return EpochsFit(benchmark, common, "samples", "samples", *curve, *ends, len(groups), sum(counts))
    raise Refused("no other round tells the epochs", benchmark)


class Iteration(Outcome):
    """Measured and predicted iteration time of a submission; times in seconds.

    Both contain a share of the evaluations where the row's rate does.
    """

    run: Submission
    """The submission."""


class Made(NamedTuple):
    """Components of a predicted time to train; None if the prediction is refused."""

    iteration: Iteration
    """Iteration time: predicted, and measured if the row states a rate."""
    samples_to_target: float | None = None
    """Samples until the target is met, by the curve of the other rounds."""
    samples_per_second: float | None = None
    """Training rate by the model, without evaluations."""
    evaluation_time: float | None = None
    """Time of all evaluations until the target is met [s]."""
    anchor: str | None = None
    """Accelerator, or architecture and chip, whose measured machines the prediction starts from."""
    curve: EpochsFit | None = None
    """Curve of samples to the target against batch size."""


class Row(Outcome):
    """Measured and predicted time to train of a submission; times in seconds."""

    run: Submission
    """The submission."""
    made: Made
    """Components of the prediction."""

    def to_dict(self) -> dict[str, Any]:
        """Return the row as a dictionary for JSON; times in seconds."""
        of, made = self.run, self.made
        return {
            "run_id": of.job.run_id,
            "round": of.round,
            "benchmark": of.benchmark,
            "system": of.system,
            "accelerator": of.job.accelerator,
            "software": framework_of(of),
            "precision": of.job.precision,
            "sequence_length": of.job.sequence_length,
            "overlap": of.job.overlap,
            "world_size": of.job.world_size,
            "global_batch_size": of.batch,
            "mode": self.mode,
            "measured_time_to_train": self.measured,
            "time_to_train": self.predicted,
            "naive_time_to_train": self.naive,
            "measured_samples_to_target": of.samples_to_target,
            "samples_to_target": made.samples_to_target,
            "measured_samples_per_second": of.job.samples_per_second,
            "samples_per_second": made.samples_per_second,
            "evaluation_time": made.evaluation_time,
            "measured_iteration_time": made.iteration.measured,
            "iteration_time": made.iteration.predicted,
            **made.iteration.ends,
            "anchor": made.anchor,
            "reason": self.reason,
        }


def compare_mlperf(
    mode: Mode = "specs",
    submissions: Sequence[Submission] | None = None,
    catalogue: Catalogue | None = None,
    earlier: bool = False,
    others: Sequence[Submission] = (),
    held_out: bool = False,
) -> list[Row]:
    """Predict the time to train of every submission, in order; refused ones stay in, with the reason.

    Parameters
    ----------
    mode : ``specs``: from specs alone; ``anchored``: from single machines of the other rounds with that
        accelerator, or with another of its architecture
    submissions : to predict, by default the shipped ones; those on accelerators of other vendors than NVIDIA
        serve the curves of epochs alone
    catalogue : hardware; by default the built-in catalogue
    earlier : whether a round is predicted from earlier rounds alone, as a forecast must be
    others : further submissions, which serve curves and anchors but are not predicted; those with the id of a
        predicted one are dropped
    held_out : whether the others alone serve curves and anchors
    """
    predicted = shipped_submissions() if submissions is None else submissions
    names = {each.job.run_id for each in predicted}
    known = [each for each in others if each.job.run_id not in names]
    known += [] if held_out else predicted
    rounds = _Rounds(known, Catalogue.of(catalogue), earlier)
    return [rounds.row(each, mode) for each in predicted]


def held_out_rows(mode: Mode, catalogue: Catalogue | None = None) -> list[Row]:
    """Return the held-out submissions, predicted with curves and anchors of the other shipped ones alone."""
    return compare_mlperf(
        mode, held_out_submissions(), catalogue, others=shipped_submissions(), held_out=True
    )


@cache
def shipped_rows(mode: Mode, earlier: bool = False) -> list[Row]:
    """Return ``compare_mlperf`` of the shipped submissions; computed once for each mode."""
    return compare_mlperf(mode, earlier=earlier)


class _Rounds:
    """Predicts submissions from other rounds; curves and anchors of each round are computed once."""

    def __init__(self, submissions: Sequence[Submission], catalogue: Catalogue, earlier: bool) -> None:
        self.submissions = submissions
        self.catalogue = catalogue
        self.earlier = earlier
        self.curve = cache(lambda round_, benchmark: curve_without(round_, benchmark, self.seen(round_)))
        self.factor = cache(self._factor)
        self.known = frozenset(catalogue.ids("accelerators"))

    def is_nvidia(self, accelerator: str) -> bool:
        """Whether NVIDIA makes the accelerator: by its spec, else by the prefix of its id."""
        if accelerator in self.known:
            return self.catalogue.accelerator(accelerator).vendor == "NVIDIA"
        return accelerator.startswith(NVIDIA)

    def seen(self, round_: str) -> Sequence[Submission]:
        """Return the submissions that may serve predictions of a round: all, or those up to that round."""
        held = ROUNDS[: ROUNDS.index(round_) + 1] if self.earlier else ROUNDS
        return [each for each in self.submissions if each.round in held]

    def row(self, submission: Submission, mode: Mode) -> Row:
        """Return a submission with its predicted time to train, or with the reason why there is none."""
        iteration = Iteration(submission.iteration_time, mode=mode, run=submission)
        row = Row(submission.time_to_train, mode=mode, run=submission, made=Made(iteration))
        try:
            if not self.is_nvidia(submission.job.accelerator):
                return row._replace(reason=OTHERS)
            curve: EpochsFit = self.curve(submission.round, submission.benchmark)
            scenario, anchor = scenario_of_submission(submission, self.catalogue), None
            if mode == "anchored":
                anchor, factor = self._anchor(submission)
                scenario = self._anchored(submission, factor)
            result = predict(scenario, self.catalogue)
        except Refused as error:
            return row._replace(reason=str(error))
        except InputError as error:
            return row._replace(reason=error.note())
        batch = submission.batch
        samples, rate = float(curve.epochs(batch)), batch / result.iteration_time
        evaluating = submission.rules.evaluation_time(samples, batch, result.terms["forward_time"])
        evaluated = _evaluated_time(submission, result.terms["forward_time"])
        ends: dict[str, Any] = {}
        for name in ENDS if result.interval else ():
            end = getattr(result.interval, name)
            ends[name] = None if end is None else end + evaluated
        iteration = iteration._replace(predicted=batch / rate + evaluated, **ends)
        made = Made(iteration, samples, rate, evaluating, anchor, curve)
        return row._replace(predicted=samples / rate + evaluating, naive=self._naive(submission), made=made)

    def _anchored(self, submission: Submission, factor: float) -> Scenario:
        """Return a submission's scenario, anchored on ``factor`` times one accelerator's predicted time."""
        scenario = scenario_of_submission(submission, self.catalogue)
        alone = predict(with_options(scenario, world_size=1, accelerators_per_node=None), self.catalogue)
        return with_options(scenario, anchor=f"iteration_time={factor * alone.iteration_time!r}s@1")

    def _anchor(self, submission: Submission) -> tuple[str, float]:
        """Return what a submission is anchored on, and the median factor of single machines in other rounds.

        It is the accelerator or, if no other round measured that, its architecture and chip.

        Raises
        ------
        Refused : no other round measured one machine with this architecture
        """
        others = [
            each
            for each in self.seen(submission.round)
            if each.benchmark == submission.benchmark
            and each.round != submission.round
            and each.job.nodes == 1
            and each.job.samples_per_second
            and each.job.accelerator in self.known
            and self.is_nvidia(each.job.accelerator)
        ]
        accelerator = submission.job.accelerator
        design = self._design(accelerator)
        same = [each for each in others if each.job.accelerator == accelerator]
        similar = [each for each in others if self._design(each.job.accelerator) == design]
        factors = [factor for each in same or similar if (factor := self.factor(each)) is not None]
        if not factors:
            raise Refused("unanchored", "no other round measured one machine with this architecture")
        return (accelerator if same else design), median(factors)

    def _design(self, accelerator: str) -> str:
        """Return architecture and chip of an accelerator."""
        spec = self.catalogue.accelerator(accelerator)
        return f"{spec.architecture} {spec.chip}"

    def _factor(self, single: Submission) -> float | None:
        """Return the factor on one accelerator's computation time that reproduces a machine's measured time.

        None if the submission has no scenario.
        """
        try:
            scenario = scenario_of_submission(single, self.catalogue)
        except Refused:
            return None
        measured, factor = single.iteration_time or 0.0, 1.0
        forward_time = predict(scenario, self.catalogue).terms["forward_time"]
        evaluating = _evaluated_time(single, forward_time)
        for _ in range(ANCHOR_STEPS):
            trained = predict(self._anchored(single, factor), self.catalogue).iteration_time
            factor *= measured / (trained + factor * evaluating)
        return factor

    def _naive(self, submission: Submission) -> float | None:
        """Return the naive time to train [s], None if no earlier round has the same accelerator.

        It is the median samples to the target over the median rate per accelerator, both of the latest such
        round.
        """
        job = submission.job
        alike = [
            each
            for each in self.submissions
            if (each.benchmark, each.job.accelerator) == (submission.benchmark, job.accelerator)
        ]
        for held in reversed(ROUNDS[: ROUNDS.index(submission.round)]):
            of = [each for each in alike if each.round == held]
            rates = [rate / each.job.world_size for each in of if (rate := each.job.samples_per_second)]
            samples = [each.samples_to_target for each in of if each.samples_to_target]
            if rates and samples:
                return median(samples) / (median(rates) * job.world_size)
        return None


def _evaluated_time(submission: Submission, forward_time: float) -> float:
    """Return the time of evaluations that a row's rate adds to each iteration [s]; 0 if it has none in it."""
    samples, batch = submission.samples_to_target, submission.batch
    if EVALUATED not in submission.job.note or not samples:
        return 0.0
    return submission.rules.evaluation_time(samples, batch, forward_time) * batch / samples


KEYS: dict[str, Callable[[Row], str]] = {
    "benchmark": lambda row: row.run.benchmark,
    "round": lambda row: f"{row.run.benchmark} {row.run.round}",
}
"""Name of a grouping -> function from a row to the label of its group."""
ITERATION_TIME = "iteration_time"
"""Key of the statistics of iteration times, which no fit has seen, in a summary."""
SEEN = 64
"""Number of accelerators of the largest job in any fit."""
SIZES: dict[str, Callable[[int], bool]] = {
    "": lambda n: True,
    f", to {SEEN} accelerators": lambda n: n <= SEEN,
    f", above {SEEN}": lambda n: n > SEEN,
}


def by_size(rows: Iterable[Row], name: str) -> dict[str, dict[str, Any]]:
    """Return the error statistics of iteration times by size of job.

    Parameters
    ----------
    rows : of which those with a measured and a predicted iteration time count
    name : with which the label of each size begins
    """
    iterations = [row.made.iteration for row in rows if row.made.iteration.holds_80 is not None]
    result = {}
    for size, holds in SIZES.items():
        if alike := [each for each in iterations if holds(each.run.job.world_size)]:
            result[name + size] = statistics(alike)
    return result


def summarise_mlperf(rows: Sequence[Row], skipped: Sequence[str] = ()) -> dict[str, Any]:
    """Return error statistics of all rows, of each benchmark, and of each round of a benchmark.

    Those of iteration times are by size of job, and of held-out rounds apart.

    Parameters
    ----------
    rows : predicted or refused
    skipped : reasons why further rows of the file were not read as submissions
    """
    reasons = [*skipped, *(row.reason for row in rows)]
    late = {each.round for each in held_out_submissions()}
    iterations = {
        **by_size((row for row in rows if row.run.round not in late), "iterations"),
        **by_size((row for row in rows if row.run.round in late), f"iterations of {', '.join(sorted(late))}"),
    }
    return {
        "refused_by_reason": by_reason(reasons),
        "all": {"all": statistics(rows)},
        **by_group(rows, KEYS),
        ITERATION_TIME: iterations,
    }
