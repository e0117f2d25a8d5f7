"""MLPerf Training submissions, with their predicted time to train: epochs times epoch time.

Nothing of the model is learned from these rows.  A round is answered by what the other rounds know: the curve
of epochs against batch size is fitted to them, and an anchor, where one is asked for, was measured in them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from statistics import median
from typing import Any, Literal, NamedTuple

from perfmodel.accuracy.mlperf_kernels import Changes, iteration_time
from perfmodel.accuracy.mlperf_rows import ROUNDS, Submission, shipped_submissions
from perfmodel.accuracy.mlperf_rules import evaluation_of, scenario_of_submission, target_of
from perfmodel.accuracy.scenarios import Refused, with_options
from perfmodel.accuracy.summary import Errors, errors
from perfmodel.epochs_to_target import FEWEST_BATCH_SIZES, fit_epochs
from perfmodel.equations.critical_batch import epochs_to_target
from perfmodel.errors import InputError
from perfmodel.prediction import predict
from perfmodel.prediction.result import Interval
from perfmodel.specs.scenario import Scenario
from perfmodel.specs.store import Catalogue

Mode = Literal["specs", "anchored"]
ANCHOR_STEPS = 4
"""Steps of the anchor's iteration; each reduces the error about tenfold."""

NVIDIA = ("v100-", "a100-", "h100-", "h200-", "b200-", "b300-", "gb200-", "gb300-")
"""How the names of its accelerators begin."""
OTHERS = "not NVIDIA's, whose software alone is modelled"
"""Why submissions on other accelerators are not predicted."""

EVALUATED = "evaluation included"
"""In the note of a row whose samples per second count the time of evaluations."""


class Curve(NamedTuple):
    """Samples to a target against batch size, fitted to some rounds."""

    smallest_samples: float
    critical_batch_size: float | None
    """None where no growth with the batch is seen."""
    same_target: bool
    """Whether those rounds had the same target."""
    submissions: int

    def samples(self, global_batch_size: float) -> float:
        """Samples until the target is met."""
        if self.critical_batch_size is None:
            return self.smallest_samples
        return float(epochs_to_target(self.smallest_samples, self.critical_batch_size, global_batch_size))


def curve_without(round_: str, benchmark: str, submissions: Iterable[Submission]) -> Curve:
    """Fit the other rounds of a benchmark, on any accelerator.

    The rounds with the same target, where they hold enough batch sizes; else all.  As in the shipped curves,
    the medians of each batch size are fitted, weighted by submissions.

    Raises
    ------
    Refused : the other rounds hold too few batch sizes
    """
    others = [
        s for s in submissions if s.benchmark == benchmark and s.round != round_ and s.samples_to_target
    ]
    target = next(target_of(s) for s in submissions if s.benchmark == benchmark and s.round == round_)
    similar = _by_batch(s for s in others if target_of(s) == target)
    same_target = len(similar) >= FEWEST_BATCH_SIZES
    groups = similar if same_target else _by_batch(others)
    if len(groups) < FEWEST_BATCH_SIZES:
        raise Refused("no other round tells the epochs", benchmark)
    smallest, critical, _ = fit_epochs(
        list(groups), [median(seen) for seen in groups.values()], [len(seen) for seen in groups.values()]
    )
    return Curve(smallest, critical, same_target, sum(map(len, groups.values())))


def _by_batch(submissions: Iterable[Submission]) -> dict[float, list[float]]:
    groups: defaultdict[float, list[float]] = defaultdict(list)
    for each in submissions:
        if each.samples_to_target:
            groups[float(each.global_batch_size)].append(each.samples_to_target)
    return dict(groups)


class Answer(NamedTuple):
    """A submission and what the model says of it; numbers are None where it had to refuse."""

    submission: Submission
    """What was measured."""
    mode: Mode
    """Whether it is predicted from specs or from an anchor."""
    samples_to_target: float | None = None
    """By the curve of the other rounds."""
    samples_per_second: float | None = None
    """By the model, evaluations apart."""
    evaluation_time: float | None = None
    """Of all evaluations until the target is met [s]."""
    naive_time: float | None = None
    """What a previous round alone would say [s]; None in the first."""
    anchor: str = ""
    """Accelerator that was anchored on."""
    launch_share: float | None = None
    """Share of an iteration that the model gives to launches."""
    interval: Interval | None = None
    """Of the iteration time, as ``predict`` gives it."""
    reason: str = ""
    """Why there is no prediction."""

    @property
    def iteration_time(self) -> float | None:
        """Measured [s], where the row states a rate."""
        rate = self.submission.samples_per_second
        return None if rate is None else self.submission.global_batch_size / rate

    @property
    def is_inside(self) -> bool | None:
        """Whether the measured iteration lies in the 80 % interval; None where either is not known."""
        if self.interval is None or self.iteration_time is None:
            return None
        return self.interval.low_80 <= self.iteration_time <= self.interval.high_80

    def time_with(self, samples: float | None = None, rate: float | None = None) -> float | None:
        """Time to train [s], with samples to the target or samples per second put in the model's place."""
        samples, rate = samples or self.samples_to_target, rate or self.samples_per_second
        if samples is None or rate is None or self.evaluation_time is None:
            return None
        return samples / rate + self.evaluation_time

    @property
    def time_to_train(self) -> float | None:
        """What the model says [s]."""
        return self.time_with()

    @property
    def error(self) -> float | None:
        """Signed: predicted over measured, less 1; positive where we say too slow."""
        return self.error_of(self.time_to_train)

    def error_of(self, time: float | None) -> float | None:
        """The same of another time [s]."""
        return None if time is None else time / self.submission.time_to_train - 1

    def to_dict(self) -> dict[str, Any]:
        """Return the row as people script against it."""
        asked = self.submission
        return {
            "run_id": asked.run_id,
            "round": asked.round,
            "benchmark": asked.benchmark,
            "system": asked.system,
            "accelerator": asked.accelerator,
            "world_size": asked.world_size,
            "global_batch_size": asked.global_batch_size,
            "mode": self.mode,
            "measured_time_to_train": asked.time_to_train,
            "time_to_train": self.time_to_train,
            "naive_time_to_train": self.naive_time,
            "measured_samples_to_target": asked.samples_to_target,
            "samples_to_target": self.samples_to_target,
            "measured_samples_per_second": asked.samples_per_second,
            "samples_per_second": self.samples_per_second,
            "evaluation_time": self.evaluation_time,
            "measured_iteration_time": self.iteration_time,
            "iteration_time": _iteration_time(asked, self.samples_per_second),
            "low_80": self.interval.low_80 if self.interval else None,
            "high_80": self.interval.high_80 if self.interval else None,
            "anchor": self.anchor or None,
            "reason": self.reason or None,
        }


def _iteration_time(asked: Submission, samples_per_second: float | None) -> float | None:
    return None if samples_per_second is None else asked.global_batch_size / samples_per_second


def compare_mlperf(
    mode: Mode = "specs",
    submissions: Sequence[Submission] | None = None,
    catalogue: Catalogue | None = None,
    changes: Changes = frozenset(),
    earlier: bool = False,
) -> list[Answer]:
    """Predict the time to train of every submission on an NVIDIA accelerator, in order.

    Parameters
    ----------
    mode : ``specs``: from specs alone; ``anchored``: from single machines of the other rounds with that
        accelerator, or with another of its architecture
    submissions : by default those that come along; other makers' tell about epochs and nothing else
    catalogue : hardware; by default what comes with the package
    changes : what to take into account of the kernels that configurations name; see ``mlperf_kernels``
    earlier : whether a round is predicted from earlier rounds alone, as a forecast must be
    """
    submissions = shipped_submissions() if submissions is None else submissions
    catalogue = Catalogue.of(catalogue)
    asked = _Rounds(submissions, catalogue, changes, earlier)
    return [asked.answer(each, mode) for each in submissions if asked.is_nvidia(each.accelerator)]


def answers_beside(
    own: Sequence[Submission], others: Sequence[Submission], catalogue: Catalogue, mode: Mode = "specs"
) -> list[Answer]:
    """Predict some submissions, by what the other rounds of all tell; one of another maker is refused.

    Parameters
    ----------
    own : to be predicted
    others : submissions beside them; one with the same id as one of ``own`` is left out
    catalogue : hardware
    mode : as of ``compare_mlperf``
    """
    names = {each.run_id for each in own}
    seen = [*(each for each in others if each.run_id not in names), *own]
    asked = _Rounds(seen, catalogue, frozenset(), earlier=False)
    return [
        asked.answer(each, mode) if asked.is_nvidia(each.accelerator) else Answer(each, mode, reason=OTHERS)
        for each in own
    ]


class _Rounds:
    """Submissions, with what each round takes from the others worked out once."""

    def __init__(
        self, submissions: Sequence[Submission], catalogue: Catalogue, changes: Changes, earlier: bool
    ) -> None:
        self.submissions = submissions
        self.catalogue = catalogue
        self.changes = changes
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

    def answer(self, asked: Submission, mode: Mode) -> Answer:
        try:
            curve = self.curve(asked.round, asked.benchmark)
            scenario, anchor = scenario_of_submission(asked, self.catalogue), ""
            if mode == "anchored":
                anchor, factor = self._anchor(asked)
                scenario = self._anchored(asked, factor)
            rate = asked.global_batch_size / self._time(scenario, asked)
            result = predict(scenario, self.catalogue)
        except (Refused, InputError) as error:
            return Answer(asked, mode, reason=str(error))
        samples = curve.samples(asked.global_batch_size)
        evaluating = evaluation_time(asked, samples, result.terms["forward_time"])
        launches = result.terms["launch_overhead_time"] / result.iteration_time
        naive = self._naive(asked)
        return Answer(asked, mode, samples, rate, evaluating, naive, anchor, launches, result.interval)

    def _time(self, scenario: Scenario, asked: Submission) -> float:
        """Iteration time of a scenario with the software of a submission [s]."""
        if not self.changes:
            return predict(scenario, self.catalogue).iteration_time
        return iteration_time(scenario, asked.benchmark, asked.round, self.catalogue, self.changes)

    def _anchored(self, asked: Submission, factor: float) -> Scenario:
        """The scenario of a submission, from one accelerator that takes ``factor`` times the model's time."""
        scenario = scenario_of_submission(asked, self.catalogue)
        alone = self._time(with_options(scenario, world_size=1, accelerators_per_node=None), asked)
        return with_options(scenario, anchor=f"iteration_time={factor * alone!r}s@1")

    def _anchor(self, asked: Submission) -> tuple[str, float]:
        """Accelerator anchored on, and the median factor of its single machines in the other rounds."""
        others = [
            each
            for each in self.seen(asked.round)
            if each.benchmark == asked.benchmark
            and each.round != asked.round
            and each.nodes == 1
            and each.samples_per_second
            and each.accelerator in self.known
            and self.is_nvidia(each.accelerator)
        ]
        built = self._design(asked.accelerator)
        same = [each for each in others if each.accelerator == asked.accelerator]
        similar = [each for each in others if self._design(each.accelerator) == built]
        factors = [factor for each in same or similar if (factor := self.factor(each)) is not None]
        if not factors:
            raise Refused("unanchored", "no other round measured one machine with this architecture")
        return (asked.accelerator if same else built), median(factors)

    def _design(self, accelerator: str) -> str:
        """Architecture and chip."""
        spec = self.catalogue.accelerator(accelerator)
        return f"{spec.architecture} {spec.chip}"

    def _factor(self, single: Submission) -> float | None:
        """What the computation of one accelerator must be multiplied by for a machine's measured time."""
        if single.samples_per_second is None:
            return None
        try:
            scenario = scenario_of_submission(single, self.catalogue)
        except Refused:
            return None
        measured, factor, evaluating = single.global_batch_size / single.samples_per_second, 1.0, 0.0
        if EVALUATED in single.note and single.samples_to_target:
            forward_time = predict(scenario, self.catalogue).terms["forward_time"]
            evaluations = evaluation_time(single, single.samples_to_target, forward_time)
            evaluating = evaluations * single.global_batch_size / single.samples_to_target
        for _ in range(ANCHOR_STEPS):
            trained = self._time(self._anchored(single, factor), single)
            factor *= measured / (trained + factor * evaluating)
        return factor

    def _naive(self, asked: Submission) -> float | None:
        """The last round before with the same accelerator: its samples, and its rate per accelerator."""
        for held in reversed(ROUNDS[: ROUNDS.index(asked.round)]):
            result = [
                each
                for each in self.submissions
                if (each.benchmark, each.round, each.accelerator)
                == (asked.benchmark, held, asked.accelerator)
            ]
            rates = [each.samples_per_second / each.world_size for each in result if each.samples_per_second]
            samples = [each.samples_to_target for each in result if each.samples_to_target]
            if rates and samples:
                return median(samples) / (median(rates) * asked.world_size)
        return None


def evaluation_time(asked: Submission, samples_to_target: float, forward_time: float) -> float:
    """Return the time of all evaluations until the target is met [s].

    Parameters
    ----------
    asked : says the rule, and the batch that is evaluated at once
    samples_to_target : trained on
    forward_time : of one iteration [s]
    """
    rule = evaluation_of(asked)
    batches = -(-rule.samples // asked.global_batch_size)
    return rule.evaluations(samples_to_target, asked.global_batch_size) * batches * forward_time


def errors_by(answers: Sequence[Answer]) -> dict[str, dict[str, Errors]]:
    """Return the statistics of all, of each benchmark, and of each round in each benchmark."""
    result: dict[str, dict[str, Errors]] = {"all": {}, "benchmark": {}, "round": {}}
    result["all"]["all"] = _errors(answers)
    for benchmark in dict.fromkeys(each.submission.benchmark for each in answers):
        own = [each for each in answers if each.submission.benchmark == benchmark]
        result["benchmark"][benchmark] = _errors(own)
        for held in ROUNDS:
            of_round = [each for each in own if each.submission.round == held]
            if any(each.error is not None for each in of_round):
                result["round"][f"{benchmark} {held}"] = _errors(of_round)
    return result


def _errors(answers: Iterable[Answer]) -> Errors:
    return errors([each.error for each in answers if each.error is not None])
