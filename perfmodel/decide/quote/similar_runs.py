"""Measured runs most like a claimed job: same network and accelerator family, nearest in size."""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

from perfmodel.core.errors import InputError
from perfmodel.evidence.accuracy.anchors import Anchors
from perfmodel.evidence.accuracy.collectives.collective_rows import Measurement, shipped_measurements
from perfmodel.evidence.accuracy.mlperf.mlperf_rows import Submission
from perfmodel.evidence.accuracy.scenarios import measured_time, network_of
from perfmodel.evidence.accuracy.software import software_of
from perfmodel.evidence.accuracy.training_rows import Run, shipped_runs
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.software import parts
from perfmodel.model.collectives.place import Point
from perfmodel.model.prediction.names import accelerator_name
from perfmodel.model.setting.resolve import Setting
from perfmodel.workloads import workload
from perfmodel.workloads.catalogue import version_of

SHOWN, TRIED = 3, 8
"""Number of nearest runs that are listed, and that are tried as evidence."""
_TRUSTED = ("A", "B", "C")


class SimilarRun(NamedTuple):
    """A published training run similar to a claimed job."""

    run: Run
    time: float
    """Iteration time [s]."""
    rate: float
    """Samples per second on each accelerator."""
    scaling_efficiency: float | None
    """Relative to its source's own run on one accelerator; None without such a run."""
    software: str | None = None
    """``NAME@YEAR``; None where unknown."""
    submission: Submission | None = None
    """The MLPerf submission it was; None of other runs."""
    padded: int | None = None
    """Tokens to which its sequences are padded, where its software skips padding."""

    @property
    def words(self) -> str:
        """Return machines, precision and batch of the run in short."""
        run = self.run
        machines = f"{run.world_size} x {accelerator_name(run.accelerator)}"
        words = f"{machines}, {run.precision or 'precision not stated'}"
        if run.local_batch_size:
            words += f", batch {run.local_batch_size} each"
        return f"{words}, up to {self.padded} tokens without padding" if self.padded else words


def similar_runs(setting: Setting, catalogue: Catalogue, several: bool = False) -> list[SimilarRun]:
    """Return the ``TRIED`` measured runs most like a setting, the nearest first.

    Parameters
    ----------
    setting : the claimed job
    catalogue : where the architecture of accelerators is looked up
    several : whether to return only runs on several accelerators with a run on one by the same source
    """
    family = family_of(catalogue, setting.accelerator.architecture)
    anchors = _anchors()
    result: list[tuple[float, SimilarRun]] = []
    for run in shipped_runs():
        time = measured_time(run)
        if (
            time is None
            or run.trust not in _TRUSTED
            or version_of(run.workload) != version_of(setting.workload.id)
        ):
            continue
        if run.accelerator not in family or run.sequence_length != setting.workload.sequence_length:
            continue
        anchor = anchors.of(run) if run.world_size > 1 else None
        if several and anchor is None:
            continue
        samples = (run.local_batch_size or 1) * run.accumulation_steps
        efficiency = anchor.iteration_time / time if anchor else None
        similar = SimilarRun(run, time, samples / time, efficiency, software_of_run(run))
        result.append((distance(run, setting), similar))
    result.sort(key=lambda pair: pair[0])
    return _one_of_each([similar for _, similar in result])


def similar_collectives(point: Point) -> list[Measurement]:
    """Return the measured collectives over the same links most like a claimed one, one per source."""
    result = []
    for measured in _measurements():
        other = measured.point
        if other is None or (other.collective, other.link.id) != (point.collective, point.link.id):
            continue
        if (other.inter_link and other.inter_link.id) != (point.inter_link and point.inter_link.id):
            continue
        apart = abs(math.log(other.group_size / point.group_size)) + abs(math.log(other.nodes / point.nodes))
        result.append((apart, abs(math.log(other.message_bytes / point.message_bytes)), measured))
    result.sort(key=lambda item: item[:2])
    nearest: dict[str, Measurement] = {}
    for _, _, measured in result:
        nearest.setdefault(measured.source, measured)
    return list(nearest.values())[:SHOWN]


def software_of_run(run: Run) -> str | None:
    """Return the software of a run as ``NAME@YEAR``; None where unknown."""
    try:
        family = workload(network_of(run), run.sequence_length).family
    except InputError:
        return None
    return software_of(run, family)


def has_no_higher_peak(precision: str, setting: Setting) -> bool:
    """Return whether a precision has a peak no higher than a setting's; False where unknown."""
    return peak_in(precision, setting) <= setting.peak_flops


def peak_in(precision: str, setting: Setting) -> float:
    """Return the peak of a setting's accelerator in a precision [FLOP/s]; not a number where unknown."""
    try:
        return setting.accelerator.training_peak(precision)[0]
    except InputError:
        return math.nan


def as_open(measured: str, claimed: str, stated: str | None) -> str:
    """Return the software of a run: the claimed one, where the claim names it without a year.

    >>> as_open("nemo@2024", "nemo@2026", "nemo"), as_open("nemo@2024", "nemo@2026", "nemo@2026")
    ('nemo@2026', 'nemo@2024')
    """
    is_alike = parts(measured)[0] == parts(claimed)[0]
    return claimed if is_alike and parts(stated or "")[1] is None else measured


def _one_of_each(runs: list[SimilarRun]) -> list[SimilarRun]:
    """Return the nearest runs, one per configuration and source."""
    kept: dict[tuple[object, ...], SimilarRun] = {}
    for similar in runs:
        run = similar.run
        kept.setdefault((run.source, run.accelerator, run.world_size, run.precision), similar)
    return list(kept.values())[:TRIED]


def distance(run: Run, setting: Setting) -> float:
    """Return the distance of a run from a setting; 1 is a factor of e in the number of accelerators."""
    batch = (run.local_batch_size or 1) / setting.local_batch_size
    return (
        abs(math.log(run.world_size / setting.world_size))
        + 0.5 * abs(math.log(batch))
        + 1.0 * (run.accelerator != setting.accelerator.id)
        + 1.0 * (run.precision != setting.precision)
        + 0.5 * (run.strategy not in (setting.strategy, "single"))
        + 0.5 * (run.nodes > 1 and run.inter_link != setting.inter_link.id)
        + 0.25 * (run.input != setting.scenario.input)
        + 0.25 * (run.workload != setting.workload.id)
    )


@cache
def _anchors() -> Anchors:
    """Return the index of runs on one accelerator."""
    return Anchors(shipped_runs())


@cache
def _measurements() -> tuple[Measurement, ...]:
    """Return the built-in measurements of collectives."""
    return tuple(shipped_measurements())


@cache
def family_of(catalogue: Catalogue, architecture: str) -> frozenset[str]:
    """Return the accelerators of one architecture, such as Volta."""
    ids = catalogue.ids("accelerators")
    return frozenset(id for id in ids if catalogue.accelerator(id).architecture == architecture)
