"""The model's prediction of a claimed quantity, with its interval, in the unit of the claim."""

from __future__ import annotations

from typing import NamedTuple

from perfmodel.core.errors import refusal
from perfmodel.decide.quote.completed_job import changed
from perfmodel.decide.quote.file import Claim
from perfmodel.equations.bandwidths import bus_bandwidth
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.collectives.place import Point
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import Prediction, predict
from perfmodel.model.prediction.collectives.collective import collective
from perfmodel.model.prediction.intervals.bound import end_at
from perfmodel.model.prediction.intervals.ratio import ratio_between
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.transformers.evaluate import network_of
from perfmodel.model.transformers.flops import COMPUTED, Count, step_flops

LARGE = 2.0**30
"""Message size at which bus bandwidth is predicted where none is given [B]."""


class Expected(NamedTuple):
    """A prediction and its 80 % interval, in increasing order."""

    expected: float
    low_80: float
    high_80: float

    def within(self, limit: float, higher_is_better: bool) -> Expected:
        """Return the prediction with an end cut at a physical limit, but not beyond the predicted value."""
        if higher_is_better:
            return self._replace(high_80=min(self.high_80, max(limit, self.expected)))
        return self._replace(low_80=end_at(self.low_80, self.expected, limit))


class Measure(NamedTuple):
    """Conversion of an iteration time t to a quantity: ``factor`` / t if higher is better, else times t."""

    factor: float
    higher_is_better: bool

    def of(self, iteration_time: float) -> float:
        """Return the quantity for an iteration time [s]."""
        return self.factor / iteration_time if self.higher_is_better else self.factor * iteration_time

    def expected(self, prediction: Prediction) -> Expected | None:
        """Return the model's prediction in this quantity; None without an interval.

        A claim may be faster than one accelerator as predicted from specs.  An interval that was cut at that
        time gets a lower end as far from the prediction as its upper end, in log time.
        """
        result = prediction.interval
        if result is None:
            return None
        time = prediction.iteration_time
        low = result.low_80
        if result.clipped_by == "one accelerator" and prediction.mode == "specs":
            low = time**2 / result.high_80
        return Expected(self.of(time), *sorted(map(self.of, (low, result.high_80))))


def shares_of(claim: Claim, setting: Setting) -> float:
    """Return how many units (jobs, nodes, accelerators) a claimed rate is of make up the job."""
    return {"job": 1.0, "node": float(setting.nodes), "accelerator": float(setting.world_size)}[claim.whose]


def measure_of(claim: Claim, setting: Setting, seen: float, usd_per_second: float) -> Measure:
    """Return how a claimed quantity follows from the iteration time.

    Parameters
    ----------
    claim, setting : the claim, and the job
    seen : samples until trained, for quantities that need it
    usd_per_second : cost of the job, for quantities that need it

    Raises
    ------
    InputError : a quantity that the workload does not have
    """
    samples = float(setting.global_batch_size)
    rate = samples / shares_of(claim, setting)
    kind = claim.kind
    if kind == "samples_per_second":
        return Measure(rate, True)
    if kind == "tokens_per_second":
        return Measure(rate * tokens_of(setting), True)
    if kind == "flops":
        return Measure(rate * flops_of(setting, claim.convention), True)
    if kind == "mfu":
        flops = samples * flops_of(setting, claim.convention)
        return Measure(flops / (setting.world_size * setting.peak_flops), True)
    if kind == "iteration_time":
        return Measure(1.0, False)
    if kind == "cost_per_token":
        return Measure(usd_per_second / (samples * tokens_of(setting)), False)
    return Measure(seen / samples * (usd_per_second if kind == "cost_to_train" else 1.0), False)


def tokens_of(setting: Setting) -> int:
    """Return the tokens of a sample.

    Raises
    ------
    InputError : samples are not sequences
    """
    if setting.workload.sequence_length is None:
        raise refusal("quote.no_tokens", workload=setting.workload.id)
    return setting.workload.sequence_length


def flops_of(setting: Setting, convention: Count | None = None) -> float:
    """Return the model FLOP for one sample: those computed, or as counted by a convention.

    For convolutions every product is counted, as is usual.
    """
    if not is_counted_in_ways(setting):
        return setting.workload.training_flops
    model, length = network_of(setting.workload)
    return float(step_flops(model, 1, length, setting.scenario.lora is not None, convention or COMPUTED))


def is_counted_in_ways(setting: Setting) -> bool:
    """Return whether publications count the FLOP of a job's network by several conventions."""
    return setting.workload.architecture is not None and setting.workload.tokens is not None


def expected_efficiency(
    claim: Claim, scenario: Scenario, prediction: Prediction, catalogue: Catalogue
) -> Expected | None:
    """Return the predicted efficiency or speed-up over ``claim.from_gpus`` accelerators, with its interval.

    What both jobs have in common cancels: the interval is that of the ratio of their speeds.

    Raises
    ------
    InputError : the baseline has more accelerators than the job, or cannot be predicted
    """
    n, m = prediction.scenario["world_size"], claim.from_gpus
    if m >= n:
        raise refusal("quote.from_gpus", "from_gpus", m=m, n=n)
    if prediction.layout is not None:
        return _efficiency_of_replicas(claim, scenario, prediction, catalogue)
    same_batch = {
        "global_batch_size": None,
        "local_batch_size": prediction.scenario["local_batch_size"],
    }
    smaller = predict(changed(scenario, world_size=m, **(same_batch if m == 1 else {})), catalogue)
    speedup = prediction.speedup if m == 1 else prediction.samples_per_second / smaller.samples_per_second
    factor = speedup * m / n if claim.kind == "scaling_efficiency" else speedup
    if scenario.anchor is not None or scenario.profile is not None:
        return Measure(factor * prediction.iteration_time, True).expected(prediction)
    ratio = ratio_between(prediction, smaller, f"{m} accelerators")
    if ratio.low_80 is None or ratio.high_80 is None:
        return None
    return Expected(*(factor / ratio.value * end for end in (ratio.value, ratio.low_80, ratio.high_80)))


def _efficiency_of_replicas(
    claim: Claim, scenario: Scenario, prediction: Prediction, catalogue: Catalogue
) -> Expected | None:
    """Return the same for a model-parallel transformer, whose baseline is a number of whole replicas.

    Raises
    ------
    InputError : a baseline that is no multiple of a replica
    """
    assert prediction.layout is not None
    n, replicas = prediction.scenario["world_size"], int(prediction.layout["data_parallel"])
    replica = n // replicas
    m = claim.from_gpus if "from_gpus" in claim.model_fields_set else replica
    if m % replica:
        raise refusal("quote.from_replicas", "from_gpus", m=m, replica=replica)
    weak = prediction.scaling == "weak"
    samples = prediction.scenario["global_batch_size"] * (m / n if weak else 1)
    smaller = predict(changed(scenario, world_size=m, global_batch_size=int(samples)), catalogue)
    ratio = ratio_between(prediction, smaller, f"{m} accelerators")
    factor = m / n if claim.kind == "scaling_efficiency" else 1.0
    if ratio.low_80 is None or ratio.high_80 is None:
        return None
    return Expected(*(factor * end for end in (ratio.value, ratio.low_80, ratio.high_80)))


def point_of(claim: Claim, setting: Setting) -> Point:
    """Return the collective that a claim of bandwidth is about."""
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


def algorithm_share(claim: Claim, setting: Setting) -> float:
    """Return the ratio of algorithm to bus bandwidth of a claimed collective, as of nccl-tests."""
    return 1 / float(bus_bandwidth(claim.collective, 1.0, setting.world_size))


def expected_bus_bandwidth(point: Point) -> Expected:
    """Return the bus bandwidth of a collective as run by NCCL, with its interval [B/s].

    Raises
    ------
    InputError : ranks that do not divide evenly among the nodes
    """
    if point.group_size % point.hosts:
        raise refusal("collective.uneven_group", group_size=point.group_size, hosts=point.hosts)
    result = collective(point.collective, "auto", point, point.message_bytes)
    ends = result.interval
    assert ends is not None  # as of every collective by the library
    return Expected(
        *(result.bus_bandwidth * result.time / t for t in (result.time, ends.high_80, ends.low_80))
    )


def measured_bus_bandwidth(point: Point, time: float) -> float:
    """Return the bus bandwidth of a measured collective [B/s]."""
    return float(bus_bandwidth(point.collective, point.message_bytes / time, point.group_size))
