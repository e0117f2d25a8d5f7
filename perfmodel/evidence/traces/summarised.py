"""Summarise traces, with recommendations: the content of ``perfmodel trace summary --json``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from perfmodel.core.errors import refusal
from perfmodel.evidence.traces.recommendations import recommendations
from perfmodel.evidence.traces.summary import summary
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.scenario import Scenario

if TYPE_CHECKING:
    from perfmodel.evidence.traces.device_trace import DeviceTrace
    from perfmodel.evidence.traces.nccl_tests import Timings


def summary_with_recommendations(
    traces: list[DeviceTrace],
    timings: list[Timings],
    *,
    accelerator: Sequence[str] = (),
    skip: int = 0,
    workload: str | None = None,
    local_batch_size: int | None = None,
    precision: str | None = None,
    catalogue: Catalogue | None = None,
) -> tuple[dict[str, Any], list[Timings]]:
    """Return the summary of traces with recommendations, and the timings of nccl-tests unchanged.

    Parameters
    ----------
    traces, timings : as ``read_all`` returns them
    accelerator : names of the GPUs, for files that do not state them
    skip : number of marked steps to leave out at the beginning
    workload, local_batch_size, precision : of the job, None if unknown
    catalogue : hardware; by default the built-in catalogue

    Raises
    ------
    InputError : a name is unknown, or batch size or precision are given without the network
    """
    known = Catalogue.of(catalogue)
    accelerators = tuple(known.accelerator(name).id for name in accelerator)
    named = {"workload": workload, "local_batch_size": local_batch_size, "precision": precision}
    job: dict[str, Any] = {name: value for name, value in named.items() if value is not None}
    if job and workload is None:
        raise refusal("trace.no_workload", next(iter(job)))
    if job and accelerators:
        job["accelerator"] = accelerators[0]
    report = summary(traces, skip, accelerators)
    described = Scenario(**job) if job else None
    report["recommendations"] = recommendations(traces, report, skip, described, known)
    return report, timings


def with_timings(report: dict[str, Any], timings: list[Timings]) -> dict[str, Any]:
    """Return a summary to which the times of nccl-tests, if there are any, are added."""
    if not timings:
        return report
    return report | {"nccl_tests": [_timing(each) for each in timings]}


def _timing(timings: Timings) -> dict[str, Any]:
    """Return an output of nccl-tests as a dictionary for JSON."""
    return {
        "file": timings.file,
        "group_size": timings.group_size,
        "collective": timings.collective,
        "rows": [row._asdict() for row in timings.rows],
    }
