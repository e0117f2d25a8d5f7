"""Measured runs most like a model-parallel transformer job: in FLOP, machine, size and software."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from perfmodel.decide.quote.comparable import (
    ALIKE,
    Difference,
    IsSlower,
    machine_differences,
    predicted_differences,
    slower_test,
)
from perfmodel.decide.quote.similar_runs import TRIED, as_open, has_no_higher_peak
from perfmodel.equations.transformer import model_flops_per_token
from perfmodel.evidence.accuracy.ratio_pairs import transformer_job
from perfmodel.evidence.accuracy.training_rows import TRUSTED
from perfmodel.evidence.accuracy.transformers.transformer_rows import (
    PRECISIONS,
    TransformerRun,
    shipped_transformer_runs,
)
from perfmodel.evidence.accuracy.transformers.transformer_software import software_named
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.software import parts
from perfmodel.model.fitted.calibration import NORMAL_80
from perfmodel.model.prediction.intervals.ratio import Job, job_of
from perfmodel.model.prediction.names import accelerator_name, network_name
from perfmodel.model.prediction.result import Prediction
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.transformers.evaluate import case_of_setting
from perfmodel.model.transformers.job import Case
from perfmodel.model.transformers.job import job_of as whole_job
from perfmodel.model.transformers.layout_words import short
from perfmodel.model.transformers.parameters import fitted
from perfmodel.model.transformers.step import step_of
from perfmodel.model.transformers.uncertainty import novelty

FARTHEST = math.log(3.0)
"""Largest log ratio of FLOP per token at which two networks count as similar."""


class SimilarTransformer(NamedTuple):
    """A published run of a transformer similar to a claimed job."""

    run: TransformerRun
    flops_per_second: float
    """Model FLOP/s of each accelerator."""
    predicted_time: float
    """Predicted time of its step [s]."""
    half_width: float
    """Half-width of the prediction's 80 % interval in log time."""
    job: Job
    differs: tuple[Difference, ...]
    """Properties by which it is no test of a claim on the job."""

    @property
    def words(self) -> str:
        """Return rate, machines, precision and layout of the run in short."""
        run = self.run
        assert run.case is not None
        layout = run.case.layout
        tokens = layout.global_batch_size * run.case.sequence_length / run.time / layout.world_size
        rate = f"{self.flops_per_second / 1e12:.3g} TFLOP/s ({tokens:,.0f} tokens/s)"
        return f"{rate} on each of {job_words(run)}"


class RunOfNetwork(NamedTuple):
    """A published run of the claimed network on the claimed accelerator."""

    run: TransformerRun
    flops_per_second: float
    """Model FLOP/s of each accelerator."""
    software: str
    apart: float
    """Distance from the claimed job."""


def runs_of_network(setting: Setting, catalogue: Catalogue) -> Iterator[RunOfNetwork]:
    """Yield the measured runs of a setting's network on at least as many of its accelerators.

    They have samples of the same length, and a precision of no higher peak than a stated one.
    """
    claimed = case_of_setting(setting)
    for run in _runs():
        case = run.case
        assert case is not None
        if (
            run.accelerator != setting.accelerator.id
            or case.layout.world_size < setting.world_size
            or not _is_network(case, claimed)
            or not (setting.scenario.precision is None or _is_as_precise(run, setting))
        ):
            continue
        apart = _distance(run, claimed, setting, catalogue)
        if apart is not None:
            yield RunOfNetwork(run, _rate(run, case), software_of(run), apart)


def job_words(run: TransformerRun) -> str:
    """Return machines, precision, network and layout of a transformer run in short."""
    assert run.case is not None
    layout = run.case.layout
    machines = f"{layout.world_size:g} x {accelerator_name(run.accelerator)}"
    return f"{machines}, {run.precision}, {network_name(run.workload)}, {short(layout.words())}"


def software_of(run: TransformerRun) -> str:
    """Return the software of a transformer run as ``NAME@YEAR``."""
    return f"{_stack(run)}@{run.year}"


def _is_network(case: Case, claimed: Case) -> bool:
    """Return whether two jobs train the same network on samples of the same length."""
    one, other = case.model, claimed.model
    return (one.layers, one.hidden, one.feed_forward, case.sequence_length) == (
        other.layers,
        other.hidden,
        other.feed_forward,
        claimed.sequence_length,
    )


def _is_as_precise(run: TransformerRun, setting: Setting) -> bool:
    """Return whether a run's precision has a peak no higher than a setting's."""
    return has_no_higher_peak(PRECISIONS.get(run.precision, run.precision), setting)


def _rate(run: TransformerRun, case: Case) -> float:
    """Return the model FLOP/s of each accelerator in a run."""
    flops = _flops_per_token(case) * case.layout.global_batch_size * case.sequence_length
    return float(flops / run.time / case.layout.world_size)


def similar_transformers(
    setting: Setting, prediction: Prediction, catalogue: Catalogue
) -> list[SimilarTransformer]:
    """Return the measured runs most like a setting, one per source, the nearest first."""
    claimed, job = case_of_setting(setting), job_of(prediction)
    near: dict[str, tuple[float, TransformerRun]] = {}
    for run in _runs():
        apart = _distance(run, claimed, setting, catalogue)
        if apart is not None and apart < near.get(run.source, (math.inf,))[0]:
            near[run.source] = apart, run
    nearest = sorted(near.values(), key=lambda pair: pair[0])[:TRIED]
    is_slower = slower_test(setting, prediction.iteration_time, catalogue)
    return [_similar(run, claimed, job, setting, is_slower) for _, run in nearest]


def _similar(
    run: TransformerRun, claimed: Case, job: Job, setting: Setting, is_slower: IsSlower
) -> SimilarTransformer:
    """Return a run with its predicted step time and the half-width of that prediction."""
    case = run.case
    assert case is not None
    is_same_network = _is_network(case, claimed)
    measured = transformer_job(run)._replace(
        workload=job.workload if is_same_network else (run.workload, case.sequence_length),
        software=as_open(software_of(run), job.software, setting.scenario.framework),
        precision=PRECISIONS.get(run.precision, run.precision),
    )
    time = float(step_of(whole_job(case), fitted().parameters).iteration_time)
    uncertainty = novelty(case.model, run.accelerator, software_of(run))
    half_width = (
        NORMAL_80 * uncertainty.spread / uncertainty.scale.factor
    )  # in ratios the ledger's scale is no part
    differs = _differences(run, case, claimed, setting, is_slower)
    return SimilarTransformer(run, _rate(run, case), time, half_width, measured, differs)


def _differences(
    run: TransformerRun, case: Case, claimed: Case, setting: Setting, is_slower: IsSlower
) -> tuple[Difference, ...]:
    """Return the properties by which a run is no test of a claim on a setting."""
    precision = PRECISIONS.get(run.precision, run.precision)
    world, fabric = case.layout.world_size, case.fabric
    bandwidth, links = None, {}
    if world > fabric.domain:
        bandwidth = fabric.nics * fabric.inter_link.bandwidth.value / fabric.per_node
        nics = max(1, round(fabric.nics * setting.accelerators_per_node / fabric.per_node))
        if setting.domains > 1 and (fabric.inter_link.id, nics) != (setting.inter_link.id, setting.nics):
            links = {"inter_link": fabric.inter_link.id, "nics": nics}
    machines = (run.accelerator, precision, software_of(run), world, bandwidth)
    result = machine_differences(*machines, setting)
    expected = predicted_differences(software_of(run), links, setting, is_slower)
    result += [each for each in expected if each not in result]
    if abs(math.log(_flops_per_token(case) / _flops_per_token(claimed))) > math.log(ALIKE):
        result.append("network")
    if abs(math.log(case.sequence_length / claimed.sequence_length)) > math.log(ALIKE):
        result.append("sequence length")
    return tuple(result)


def _distance(run: TransformerRun, claimed: Case, setting: Setting, catalogue: Catalogue) -> float | None:
    """Return the distance of a run from a claim, 1 being a factor of e in FLOP; None if too unlike."""
    case = run.case
    assert case is not None
    if catalogue.accelerator(run.accelerator).pool != setting.accelerator.pool:
        return None
    arithmetic = abs(math.log(_flops_per_token(case) / _flops_per_token(claimed)))
    if bool(case.model.experts) != bool(claimed.model.experts) or arithmetic > FARTHEST:
        return None
    return (
        arithmetic
        + 0.5 * abs(math.log(case.layout.world_size / setting.world_size))
        + 0.5 * abs(math.log(case.sequence_length / claimed.sequence_length))
        + 1.0 * (run.accelerator != setting.accelerator.id)
        + 1.0 * (PRECISIONS.get(run.precision) != PRECISIONS.get(setting.precision))
        + 0.5 * (_stack(run) != parts(setting.scenario.framework or "")[0])
    )


def _flops_per_token(case: Case) -> float:
    """Return the model FLOP per token, as computed: of the weights in use, and of attention scores."""
    at = case.model
    experts = at.hidden * at.experts + (at.top_k + at.shared_experts) * at.expert_parameters
    layer = at.attention_parameters + at.dense_share * at.dense_parameters + (1 - at.dense_share) * experts
    weights = at.layers * layer + at.predicted_share * at.embedding_parameters
    width, positions = (at.head_size + at.value_size) / 2, at.attended * case.sequence_length / 2
    return float(model_flops_per_token(weights, at.layers, at.heads, width, positions))


def _stack(run: TransformerRun) -> str:
    """Return the name of a run's software."""
    software = software_named(run.framework)
    return software.stack if software else run.framework.lower()


@cache
def _runs() -> tuple[TransformerRun, ...]:
    """Return the trusted runs of transformers with a known job."""
    runs = shipped_transformer_runs()
    return tuple(run for run in runs if run.case is not None and run.trust in TRUSTED and run.time > 0)
