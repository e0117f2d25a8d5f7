"""MLPerf Training submissions, with their predicted time to train: epochs times epoch time.

Nothing of the model is learned from these rows.  A round is answered by what the other rounds know: the curve
of epochs against batch size is fitted to them, and an anchor, where one is asked for, was measured in them.
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
    scenario_of_submission,
    shipped_submissions,
)
from perfmodel.evidence.accuracy.mlperf.mlperf_rules import ROUNDS
from perfmodel.evidence.accuracy.report.error_statistics import by_group, by_reason, statistics
from perfmodel.evidence.accuracy.scenarios import Refused, with_options
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict
from perfmodel.workloads.recipes.epochs_to_target import FEWEST_BATCH_SIZES, EpochsFit, fit_epochs

ANCHOR_STEPS = 4
"""Steps of the anchor's iteration; each reduces the error about tenfold."""

NVIDIA = ("v100-", "a100-", "h100-", "h200-", "b200-", "b300-", "gb200-", "gb300-")
"""How the names of its accelerators begin."""
OTHERS = "not NVIDIA's, whose software alone is modelled"
"""Why submissions on other accelerators are not predicted."""

EVALUATED = "evaluation included"
"""In the note of a row whose samples per second count the time of evaluations."""


def curve_without(round_: str, benchmark: str, submissions: Iterable[Submission]) -> EpochsFit:
    """Return samples to a target against batch size, by the other rounds, on any accelerator.

    The rounds with the same target, where they hold enough batch sizes; else all, and the target is blank.
    As in the shipped curves, the medians of each batch size are fitted, weighted by submissions.

    Raises
    ------
    Refused : the other rounds hold too few batch sizes
    """
    every = [each for each in submissions if each.benchmark == benchmark]
    others = [each for each in every if each.round != round_ and each.samples_to_target]
    target = next(each.rules.target for each in every if each.round == round_)
    for rows, common in ([each for each in others if each.rules.target == target], target), (others, ""):
        groups = by_source((float(each.batch), each.samples_to_target or 0.0) for each in rows)
        if len(groups) >= FEWEST_BATCH_SIZES:
            counts = [len(seen) for seen in groups.values()]
            curve = fit_epochs(list(groups), [*map(median, groups.values())], [*map(float, counts)])
            ends = min(groups), max(groups)
            return EpochsFit(benchmark, common, "samples", "samples", *curve, *ends, len(groups), sum(counts))
    raise Refused("no other round tells the epochs", benchmark)


class Iteration(Outcome):
    """The iteration of a submission; times in seconds."""

    run: Submission
    """What was measured."""


class Made(NamedTuple):
    """What a predicted time to train is made of; None where it is refused."""

    iteration: Iteration
    """Measured [s], where the row states a rate, and predicted."""
    samples_to_target: float | None = None
    """By the curve of the other rounds."""
    samples_per_second: float | None = None
    """By the model, evaluations apart."""
    evaluation_time: float | None = None
    """Of all evaluations until the target is met [s]."""
    anchor: str | None = None
    """Accelerator that was anchored on."""
    curve: EpochsFit | None = None


class Row(Outcome):
    """A submission and what the model says of its time to train; times in seconds."""

    run: Submission
    """What was measured."""
    made: Made
    """What the prediction is made of."""

    def to_dict(self) -> dict[str, Any]:
        """Return the row as people script against it."""
        of, made = self.run, self.made
        return {
            "run_id": of.job.run_id,
            "round": of.round,
            "benchmark": of.benchmark,
            "system": of.system,
            "accelerator": of.job.accelerator,
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
) -> list[Row]:
    """Predict the time to train of every submission, in order; what is refused stays in, with the reason.

    Parameters
    ----------
    mode : ``specs``: from specs alone; ``anchored``: from single machines of the other rounds with that
        accelerator, or with another of its architecture
    submissions : by default those that come along; other makers' tell about epochs and nothing else
    catalogue : hardware; by default what comes with the package
    earlier : whether a round is predicted from earlier rounds alone, as a forecast must be
    others : submissions beside them that tell of other rounds; one with the id of one of them is left out
    """
    asked = shipped_submissions() if submissions is None else submissions
    names = {each.job.run_id for each in asked}
    seen = [*(each for each in others if each.job.run_id not in names), *asked]
    rounds = _Rounds(seen, Catalogue.of(catalogue), earlier)
    return [rounds.row(each, mode) for each in asked]


@cache
def shipped_rows(mode: Mode, earlier: bool = False) -> list[Row]:
    """Return the rows of the submissions that come along, as ``compare_mlperf`` makes them; made once."""
    return compare_mlperf(mode, earlier=earlier)


class _Rounds:
    """Submissions, with what each round takes from the others worked out once."""

    def __init__(self, submissions: Sequence[Submission], catalogue: Catalogue, earlier: bool) -> None:
        self.submissions = submissions
        self.catalogue = catalogue
        self.earlier = earlier
        self.curve = cache(lambda round_, benchmark: curve_without(round_, benchmark, self.seen(round_)))
        self.factor = cache(self._factor)
        self.known = frozenset(catalogue.ids("accelerators"))

    def is_nvidia(self, accelerator: str) -> bool:
        """Whether the accelerator is NVIDIA's; its id says so where no memory, and so no spec, is stated."""
        if accelerator in self.known:
            return self.catalogue.accelerator(accelerator).vendor == "NVIDIA"
        return accelerator.startswith(NVIDIA)

    def seen(self, round_: str) -> Sequence[Submission]:
        """Every submission, or those up to a round where later ones are not to be known."""
        held = ROUNDS[: ROUNDS.index(round_) + 1] if self.earlier else ROUNDS
        return [each for each in self.submissions if each.round in held]

    def row(self, asked: Submission, mode: Mode) -> Row:
        iteration = Iteration(asked.iteration_time, mode=mode, run=asked)
        row = Row(asked.time_to_train, mode=mode, run=asked, made=Made(iteration))
        try:
            if not self.is_nvidia(asked.job.accelerator):
                return row._replace(reason=OTHERS)
            curve: EpochsFit = self.curve(asked.round, asked.benchmark)
            scenario, anchor = scenario_of_submission(asked, self.catalogue), None
            if mode == "anchored":
                anchor, factor = self._anchor(asked)
                scenario = self._anchored(asked, factor)
            result = predict(scenario, self.catalogue)
        except Refused as error:
            return row._replace(reason=str(error))
        except InputError as error:
            return row._replace(reason=error.note())
        samples, rate = float(curve.epochs(asked.batch)), asked.batch / result.iteration_time
        evaluating = asked.rules.evaluation_time(samples, asked.batch, result.terms["forward_time"])
        ends = {name: getattr(result.interval, name) for name in ENDS if result.interval}
        iteration = iteration._replace(predicted=asked.batch / rate, **ends)
        made = Made(iteration, samples, rate, evaluating, anchor, curve)
        return row._replace(predicted=samples / rate + evaluating, naive=self._naive(asked), made=made)

    def _anchored(self, asked: Submission, factor: float) -> Scenario:
        """The scenario of a submission, from one accelerator that takes ``factor`` times the model's time."""
        scenario = scenario_of_submission(asked, self.catalogue)
        alone = predict(with_options(scenario, world_size=1, accelerators_per_node=None), self.catalogue)
        return with_options(scenario, anchor=f"iteration_time={factor * alone.iteration_time!r}s@1")

    def _anchor(self, asked: Submission) -> tuple[str, float]:
        """Accelerator anchored on, and the median factor of its single machines in the other rounds."""
        others = [
            each
            for each in self.seen(asked.round)
            if each.benchmark == asked.benchmark
            and each.round != asked.round
            and each.job.nodes == 1
            and each.job.samples_per_second
            and each.job.accelerator in self.known
            and self.is_nvidia(each.job.accelerator)
        ]
        accelerator = asked.job.accelerator
        built = self._design(accelerator)
        same = [each for each in others if each.job.accelerator == accelerator]
        similar = [each for each in others if self._design(each.job.accelerator) == built]
        factors = [factor for each in same or similar if (factor := self.factor(each)) is not None]
        if not factors:
            raise Refused("unanchored", "no other round measured one machine with this architecture")
        return (accelerator if same else built), median(factors)

    def _design(self, accelerator: str) -> str:
        """Architecture and chip."""
        spec = self.catalogue.accelerator(accelerator)
        return f"{spec.architecture} {spec.chip}"

    def _factor(self, single: Submission) -> float | None:
        """What the computation of one accelerator must be multiplied by for a machine's measured time."""
        try:
            scenario = scenario_of_submission(single, self.catalogue)
        except Refused:
            return None
        measured, factor, evaluating = single.iteration_time or 0.0, 1.0, 0.0
        if EVALUATED in single.job.note and single.samples_to_target:
            forward_time = predict(scenario, self.catalogue).terms["forward_time"]
            whole = single.rules.evaluation_time(single.samples_to_target, single.batch, forward_time)
            evaluating = whole * single.batch / single.samples_to_target
        for _ in range(ANCHOR_STEPS):
            trained = predict(self._anchored(single, factor), self.catalogue).iteration_time
            factor *= measured / (trained + factor * evaluating)
        return factor

    def _naive(self, asked: Submission) -> float | None:
        """The last round before with the same accelerator: its samples, and its rate per accelerator."""
        alike = [
            each
            for each in self.submissions
            if (each.benchmark, each.job.accelerator) == (asked.benchmark, asked.job.accelerator)
        ]
        for held in reversed(ROUNDS[: ROUNDS.index(asked.round)]):
            of = [each for each in alike if each.round == held]
            rates = [rate / each.job.world_size for each in of if (rate := each.job.samples_per_second)]
            samples = [each.samples_to_target for each in of if each.samples_to_target]
            if rates and samples:
                return median(samples) / (median(rates) * asked.job.world_size)
        return None


KEYS: dict[str, Callable[[Row], str]] = {
    "benchmark": lambda row: row.run.benchmark,
    "round": lambda row: f"{row.run.benchmark} {row.run.round}",
}
"""What rows are grouped by -> the group of a row."""


def summarise_mlperf(rows: Sequence[Row], skipped: Sequence[str] = ()) -> dict[str, Any]:
    """Return errors of all, of each benchmark, and of each round in each benchmark.

    Parameters
    ----------
    skipped : reasons of what is no submission
    """
    reasons = [*skipped, *(row.reason for row in rows)]
    return {"refused_by_reason": by_reason(reasons), "all": {"all": statistics(rows)}, **by_group(rows, KEYS)}
