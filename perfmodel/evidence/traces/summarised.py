"""Traces summed up, with what the model recommends: what ``perfmodel trace summary --json`` prints."""

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


def summarised(
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
    """Return the summary of traces with recommendations, and what nccl-tests timed.

    Parameters
    ----------
    traces, timings : as ``read_all`` returns them
    accelerator : what the GPUs are, where a file does not say
    skip : steps at the start to leave out
    workload, local_batch_size, precision : of the job, where it is known
    catalogue : hardware to look in, by default the built-in

    Raises
    ------
    InputError : an unknown name; a batch or precision without the network
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
    """Return a summary with the times of nccl-tests, where there are any."""
    if not timings:
        return report
    return report | {"nccl_tests": [_timing(each) for each in timings]}


def _timing(timings: Timings) -> dict[str, Any]:
    return {
        "file": timings.file,
        "group_size": timings.group_size,
        "collective": timings.collective,
        "rows": [row._asdict() for row in timings.rows],
    }
