"""Make a profile from traces of a job: measured factors that predictions of other job sizes use."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median, pstdev
from typing import TYPE_CHECKING, Any

import numpy as np

from perfmodel.core.errors import refusal
from perfmodel.core.units import per_cent, show
from perfmodel.equations.bandwidths import all_reduce_bus_factor
from perfmodel.evidence.traces.device_trace import DeviceTrace, intervals, length, overlap, union, within
from perfmodel.evidence.traces.nccl_tests import Timings
from perfmodel.evidence.traces.over_ranks import spread_over_ranks
from perfmodel.evidence.traces.summary import kept_steps
from perfmodel.evidence.traces.traced_job import NOT_IN_TRACE, check_network, job_of
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import calibration
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.setting.profile import LinkMeasure, Measure, Profile
from perfmodel.model.setting.resolve import Setting, resolve
from perfmodel.model.step.computation import computation

if TYPE_CHECKING:
    from numpy.typing import NDArray

SHORT_GAP = 20e-6
"""Longest gap between two kernels that counts as launch overhead [s]; longer ones have another cause."""
FARTHEST = 100.0
"""Largest ratio of measured to predicted times, up or down; a wrong unit is a factor of a thousand."""
FEWEST_STEPS = 5
"""Least number of steps from which jitter is computed."""
NOTICED = 0.05
"""Share of a step spent waiting for samples above which the loader is the bottleneck."""
MADE_BY = "perfmodel calibrate"


def profile_of_traces(
    traces: Sequence[DeviceTrace],
    timings: Sequence[Timings],
    scenario: Scenario,
    catalogue: Catalogue,
    skip: int = 0,
) -> Profile:
    """Return the profile of a job from traces of it.

    Parameters
    ----------
    traces : of the job's devices
    timings : outputs of nccl-tests on its network
    scenario : the job
    catalogue : hardware
    skip : number of steps to leave out at the beginning

    Raises
    ------
    InputError : the traces have no marked steps, or another accelerator or network than the scenario
    """
    setting = resolve(job_of(traces, scenario, catalogue)[0], catalogue)
    check_network(traces, setting.workload)
    result: dict[str, Any] = {}
    of_ranks = [_steps(trace, skip) for trace in traces]
    steps = [row for rows in of_ranks for row in rows]
    if traces and not steps:
        raise refusal("trace.no_steps").under(traces[0].file)
    if steps:
        busy = [row["compute"] for row in steps]
        model = computation(setting, setting.local_batch_size, calibration())
        expected = setting.accumulation_steps * (model.forward_time + model.backward_time) + model.update_time
        basis = (
            f"busy {1e3 * median(busy):.4g} ms in {len(steps)} steps; the model says {1e3 * expected:.4g} ms"
        )
        result["computation"] = Measure(
            value=median(busy) / expected, deviation=_error(busy) / expected, basis=basis
        )
        result |= _waits(steps, traces, setting)
        talk = [row["communication"] for row in steps if row["communication"]]
        if talk:
            hidden = [row["overlap"] / row["communication"] for row in steps if row["communication"]]
            result["overlap"] = Measure(
                value=fmean(hidden),
                deviation=_error(hidden),
                basis=f"{len(talk)} steps; for information, not carried over",
            )
        result |= _spread([[row["compute"] for row in rows] for rows in of_ranks if rows])
    files = [*(trace.file for trace in traces), *(timing.file for timing in timings)]
    return _profile(setting, files, link=link_of_traces(traces, timings), **result)


def _spread(busy: Sequence[Sequence[float]]) -> dict[str, Measure]:
    """Return the spread of busy times: of several ranks what is independent and what they share.

    Parameters
    ----------
    busy : of the steps of each rank [s]
    """
    steps, ranks = min(map(len, busy)), len(busy)
    if ranks > 1 and steps >= FEWEST_STEPS:
        split = spread_over_ranks([each[:steps] for each in busy])
        basis = f"busy time of {steps} steps of {ranks} ranks"
        return {
            "jitter": Measure(
                value=split.independent,
                deviation=split.independent / (2 * (steps - 1) * (ranks - 1)) ** 0.5,
                basis=f"{basis}: what is independent between them",
            ),
            "shared_jitter": Measure(
                value=split.shared,
                deviation=split.shared / (2 * (steps - 1)) ** 0.5,
                basis=f"{basis}: what they share",
            ),
        }
    every = [time for each in busy for time in each]
    if len(every) < FEWEST_STEPS:
        return {}
    spread = pstdev(every) / fmean(every)
    deviation = spread / (2 * len(every)) ** 0.5
    return {"jitter": Measure(value=spread, deviation=deviation, basis=f"busy time of {len(every)} steps")}


def _profile(setting: Setting, files: Sequence[str], **result: Any) -> Profile:
    """Return a profile of measured quantities, with the job that they belong to."""
    return Profile(
        made_by=MADE_BY,
        files=[file.rsplit("/", 1)[-1] for file in files],
        workload=setting.workload.id,
        accelerator=setting.accelerator.id,
        precision=setting.precision,
        local_batch_size=setting.local_batch_size,
        accumulation_steps=setting.accumulation_steps,
        **result,
    )


def _waits(steps: list[dict[str, float]], traces: Sequence[DeviceTrace], setting: Setting) -> dict[str, Any]:
    """Return the measured times of a step without kernels (gaps, samples, idle), and facts on the loader."""

    def middle(values: list[float], basis: str) -> Measure:
        return Measure(value=median(values), deviation=_error(values), basis=basis)

    idle = median(row["idle"] / row["step"] for row in steps)
    result: dict[str, Any] = {
        "launch_overhead": middle(
            [row["gaps"] for row in steps], f"gaps under {1e6 * SHORT_GAP:.0f} us between kernels"
        ),
        "idle_time": middle(
            [row["idle"] for row in steps], f"{per_cent(idle, 0)} of the step: its host's or its profiler's"
        ),
        "input_time": middle(
            [row["input"] for row in steps], "waiting for the loader while nothing computed"
        ),
    }
    scenario = setting.scenario
    if not any(len(trace.input_waits) for trace in traces):
        return result | ({"input": scenario.input} if "input" in scenario.model_fields_set else {})
    loader, prepared = scenario.loader_workers, None
    if any(trace.loads_itself for trace in traces):
        loader = 0
        prepared = middle([row["loading"] for row in steps], "in the training process, its step before done")
    elif loader is not None and result["input_time"].value > NOTICED * median(row["step"] for row in steps):
        prepared = middle(
            [loader * row["step"] for row in steps], f"{loader} workers set the pace of the step"
        )
    return result | {"input": "real", "loader_workers": loader, "loader_time": prepared}


def profile_of_times(times: Sequence[float], scenario: Scenario, catalogue: Catalogue, file: str) -> Profile:
    """Return a profile from iteration times of one accelerator: a factor on the whole step, and jitter.

    Parameters
    ----------
    times : of successive iterations [s]
    scenario : the job
    catalogue : hardware
    file : that the times were read from

    Raises
    ------
    InputError : the times differ so much from the prediction that their unit must be wrong
    """
    setting = resolve(scenario, catalogue)
    model = computation(setting, setting.local_batch_size, calibration())
    expected = model.alone(setting.accumulation_steps)
    if not 1 / FARTHEST < fmean(times) / expected < FARTHEST:
        raise refusal("trace.other_time", times=show(fmean(times), "s"), expected=show(expected, "s")).under(
            file
        )
    spread = pstdev(times) / fmean(times) if len(times) >= FEWEST_STEPS else None
    return _profile(
        setting,
        [file],
        computation=Measure(
            value=fmean(times) / expected,
            deviation=_error(times) / expected,
            basis=f"{len(times)} iteration times, mean {1e3 * fmean(times):.4g} ms, waits included",
        ),
        jitter=None
        if spread is None
        else Measure(
            value=spread, deviation=spread / (2 * len(times)) ** 0.5, basis=f"{len(times)} iteration times"
        ),
    )


def _error(values: Sequence[float]) -> float:
    """Return the standard error of a mean; 10 % of the value if there is only one."""
    return pstdev(values) / len(values) ** 0.5 if len(values) > 1 else abs(values[0]) * 0.1


def _steps(trace: DeviceTrace, skip: int) -> list[dict[str, float]]:
    """Return the times of each marked step by part [s]; a step ends where the next begins.

    A single step ends with its last kernel.
    """
    marks = kept_steps(trace, skip)
    if not len(marks):
        return []
    starts, last = marks[:, 0].tolist(), float(marks[-1, 1])
    if len(marks) == 1:
        last = max([last, *trace.compute[-1:, 1].tolist()])
    rows = []
    for start, end in zip(starts, [*starts[1:], last], strict=True):
        compute, talk = within(trace.compute, start, end), within(trace.communication, start, end)
        busy = union(intervals([*map(tuple, compute.tolist()), *map(tuple, talk.tolist())]))
        if not len(busy):
            continue
        waits = within(trace.input_waits, start, end)
        row = {
            "step": end - start,
            "compute": length(compute),
            "communication": length(talk),
            "overlap": overlap(compute, talk),
            "gaps": _short_gaps(busy),
            "loading": length(waits),
            "input": length(waits) - overlap(waits, busy),
        }
        row["idle"] = max(0.0, row["step"] - length(busy) - row["gaps"] - row["input"])
        rows.append(row)
    return rows


def _short_gaps(busy: NDArray[np.float64]) -> float:
    """Return the total length of the gaps shorter than ``SHORT_GAP`` [s]."""
    gaps = busy[1:, 0] - busy[:-1, 1]
    return float(gaps[gaps < SHORT_GAP].sum())


def link_of_traces(traces: Sequence[DeviceTrace], timings: Sequence[Timings] = ()) -> LinkMeasure | None:
    """Return latency and bus bandwidth of all-reduces, by least squares of relative errors over sizes.

    None if there are fewer than two sizes, or if times do not grow with size.

    Raises
    ------
    InputError : an output of nccl-tests has another collective
    """
    points: dict[tuple[float, int], float] = {}
    for trace in traces:
        for one in trace.collectives:
            if one.kind == "all-reduce" and one.message_bytes and (one.group_size or 0) > 1:
                key = (one.message_bytes, int(one.group_size or 0))
                points[key] = min(points.get(key, one.duration), one.duration)
    for timing in timings:
        if timing.collective != "all-reduce":
            raise refusal(
                "trace.no_all_reduce", collective=timing.collective or "a collective that reduces nothing"
            ).under(timing.file)
        if timing.group_size and timing.group_size > 1:
            points |= {(row.message_bytes, timing.group_size): row.time for row in timing.rows}
    groups = {group for _, group in points}
    if not groups:
        return None
    group = max(groups, key=lambda g: sum(member == g for _, member in points))
    sizes = np.array([size for size, member in points if member == group])
    times = np.array([time for (_, member), time in points.items() if member == group])
    if len(sizes) < 2:
        return None
    design = np.column_stack([np.ones(len(sizes)), sizes]) / times[:, None]
    (latency, inverse), *_ = np.linalg.lstsq(design, np.ones(len(sizes)), rcond=None)
    if inverse <= 0:
        return None
    latency = max(0.0, float(latency))
    residual = np.abs(latency + inverse * sizes - times)
    factor = float(all_reduce_bus_factor(group))
    basis = f"{len(sizes)} sizes of all-reduce, the least time of each"
    spread = float(np.mean(residual / times))
    return LinkMeasure(
        group_size=group,
        latency=Measure(value=latency, deviation=float(np.median(residual)), basis=basis),
        bandwidth=Measure(value=factor / inverse, deviation=spread * factor / inverse, basis=basis),
    )


def of_traces(
    devices: Sequence[DeviceTrace],
    timings: Sequence[Timings],
    scenario: Scenario,
    catalogue: Catalogue,
    skip: int = 0,
) -> tuple[Profile, list[str]]:
    """Return the profile of traces that were read, and what they do not say of their job.

    Raises
    ------
    InputError : a trace without marked steps; another accelerator, precision or batch than the scenario's
    """
    job, notes = job_of(devices, scenario, catalogue)
    profile = profile_of_traces(devices, timings, scenario, catalogue, skip)
    said = {*job.model_fields_set, *(["local_batch_size"] if job.global_batch_size else [])}
    left = [name for name in NOT_IN_TRACE if name not in said]
    if devices and left:
        taken = ", ".join(f"--{name.replace('_', '-')} {getattr(profile, name)}" for name in left)
        notes.append(f"a trace does not say {taken}: say it, if that is not the job")
    return profile, notes
