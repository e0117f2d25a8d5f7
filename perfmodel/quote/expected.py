"""The model's prediction of a claimed quantity, with its interval, in the unit of the claim."""

from __future__ import annotations

from typing import NamedTuple

from perfmodel.collectives.place import Point
from perfmodel.equations.bandwidths import bus_bandwidth
from perfmodel.errors import InputError
from perfmodel.prediction import Prediction, predict
from perfmodel.prediction.bound import end_at
from perfmodel.prediction.collective import collective
from perfmodel.quote.file import Claim
from perfmodel.resolve import Setting
from perfmodel.specs.scenario import Scenario
from perfmodel.specs.store import Catalogue

LARGE = 2.0**30
"""Message whose bus bandwidth is quoted where no size is given [B]."""


class Expected(NamedTuple):
    """A prediction and its interval, in increasing order."""

    expected: float
    low_80: float
    high_80: float
    low_95: float
    high_95: float

    def within(self, limit: float, higher_is_better: bool) -> Expected:
        """Return the same with its ends cut at a physical limit, but not beyond the point itself."""
        if higher_is_better:
            most = max(limit, self.expected)
            return self._replace(high_80=min(self.high_80, most), high_95=min(self.high_95, most))
        return self._replace(
            low_80=end_at(self.low_80, self.expected, limit),
            low_95=end_at(self.low_95, self.expected, limit),
        )


class Measure(NamedTuple):
    """How a quantity follows from the iteration time t: ``factor`` / t where more is better, else * t."""

    factor: float
    higher_is_better: bool

    def of(self, iteration_time: float) -> float:
        """Return the quantity."""
        return self.factor / iteration_time if self.higher_is_better else self.factor * iteration_time

    def expected(self, prediction: Prediction) -> Expected | None:
        """Return the model's answer in this quantity; None without an interval."""
        result = prediction.interval
        if result is None:
            return None
        times = (prediction.iteration_time, result.low_80, result.high_80, result.low_95, result.high_95)
        point, *ends = (self.of(time) for time in times)
        return Expected(point, *sorted(ends[:2]), *sorted(ends[2:]))


def measure_of(claim: Claim, setting: Setting) -> Measure:
    """Return how a claimed quantity follows from the iteration time.

    Raises
    ------
    InputError : it does not exist for this workload
    """
    workload, samples = setting.workload, float(setting.global_batch_size)
    rate = samples / (setting.world_size if claim.per == "accelerator" else 1)
    kind = claim.kind
    if kind == "samples_per_second":
        return Measure(rate, True)
    if kind == "tokens_per_second":
        if workload.sequence_length is None:
            raise InputError(f"{workload.id} has no tokens; claim samples_per_second")
        return Measure(rate * workload.sequence_length, True)
    if kind == "flops":
        return Measure(rate * workload.training_flops, True)
    if kind == "mfu":
        return Measure(samples * workload.training_flops / (setting.world_size * setting.peak_flops), True)
    if kind == "iteration_time":
        return Measure(1.0, False)
    seen = claim.samples
    if seen is None:
        if workload.dataset_samples is None:
            raise InputError(f"the size of {workload.id}'s data set is not known; claim samples_per_second")
        seen = workload.dataset_samples * (claim.epochs or 1.0)
    return Measure(seen / samples, False)


def expected_efficiency(
    claim: Claim, scenario: Scenario, prediction: Prediction, catalogue: Catalogue
) -> Expected | None:
    """Return efficiency or speed-up against ``claim.from_gpus`` accelerators.

    What both jobs have in common cancels: the interval is that of a prediction which starts from one
    accelerator's time.

    Raises
    ------
    InputError : the baseline has more accelerators than the job, or cannot be predicted
    """
    n, m = prediction.scenario["world_size"], claim.from_gpus
    if m >= n:
        raise InputError(f"from_gpus = {m}: expected fewer than the job's {n}")
    if m == 1:
        speedup = prediction.speedup
    else:
        smaller = predict(_with(scenario, world_size=m), catalogue)
        speedup = prediction.samples_per_second / smaller.samples_per_second
    factor = speedup * m / n if claim.kind == "scaling_efficiency" else speedup
    started = prediction
    if scenario.anchor is None and scenario.profile is None:
        alone = predict(
            _with(
                scenario,
                world_size=1,
                global_batch_size=None,
                local_batch_size=prediction.scenario["local_batch_size"],
            ),
            catalogue,
        )
        started = predict(_with(scenario, anchor=f"iteration_time={alone.iteration_time!r}s@1"), catalogue)
    ratio = Measure(factor * started.iteration_time, True)
    return ratio.expected(started)


def _with(scenario: Scenario, **changed: object) -> Scenario:
    """The scenario with options replaced; None takes one back."""
    table = scenario.model_dump(exclude_unset=True) | changed
    return Scenario.model_validate({key: value for key, value in table.items() if value is not None})


def point_of(claim: Claim, setting: Setting) -> Point:
    """Return the collective a claim of bus bandwidth is about."""
    groups = setting.domains
    return Point(
        setting.world_size,
        groups,
        setting.intra_link,
        setting.inter_link if groups > 1 else None,
        setting.nics * setting.nodes_per_domain,
        setting.accelerator,
        setting.host_link,
        claim.collective,
        claim.message_bytes or LARGE,
        machines=setting.nodes,
    )


def expected_bus_bandwidth(point: Point) -> Expected:
    """Return the bus bandwidth of a collective as NCCL would run it [B/s].

    Raises
    ------
    InputError : ranks that do not spread evenly over the nodes
    """
    if point.group_size % point.hosts:
        raise InputError(f"{point.group_size} ranks do not spread evenly over {point.hosts} nodes")
    result = collective(point.collective, "auto", point, point.message_bytes)
    ends = result.interval
    assert ends is not None  # as of every collective by the library
    low_80, high_80, low_95, high_95 = (
        result.bus_bandwidth * result.time / end
        for end in (ends.high_80, ends.low_80, ends.high_95, ends.low_95)
    )
    return Expected(result.bus_bandwidth, low_80, high_80, low_95, high_95)


def measured_bus_bandwidth(point: Point, time: float) -> float:
    """Return the bus bandwidth of a measured collective [B/s]."""
    return float(bus_bandwidth(point.collective, point.message_bytes / time, point.group_size))
