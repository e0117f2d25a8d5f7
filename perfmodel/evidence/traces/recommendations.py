"""Recommend changes that would shorten a traced step, with the predicted saving of each."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from math import ceil
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from perfmodel.core.errors import InputError
from perfmodel.core.files.attachments import is_request, made
from perfmodel.core.units import plural, show, show_range
from perfmodel.equations.measured_steps import wait_with_workers
from perfmodel.evidence.traces.calibrate import link_of_traces, profile_of_traces
from perfmodel.evidence.traces.device_trace import DeviceTrace, intervals, length, overlap, union, within
from perfmodel.evidence.traces.summary import kept_steps
from perfmodel.evidence.traces.traced_job import accelerators_called, job_of
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import Prediction, predict
from perfmodel.model.prediction.intervals.ratio import ratio_between
from perfmodel.model.setting.profile import to_toml
from perfmodel.workloads import workload

LEAST = 0.01
"""Share of a step above which a saving is reported."""
WORKERS = (1, 2, 4, 8, 16, 32)
"""Numbers of loader workers to try."""
_PROFILE = "<profile of the trace>.toml"
PRECISIONS = ("amp", "tf32", "bf16")
"""Precisions to try."""
BATCHES = (1.5, 2, 3, 4, 6, 8)
"""Multiples of the trace's batch size to try."""
BUCKET_BYTES = 25 << 20
"""Size of a gradient bucket in PyTorch's DistributedDataParallel [B]."""


@dataclass(frozen=True)
class Recommendation:
    """One change of the job that would shorten its step."""

    change: str
    """The change in words."""
    saves: float
    """Time saved in one step; for a larger batch, in as many samples as a step has now [s]."""
    basis: str
    """How the number was computed."""
    option: str | None = None
    """Option of ``perfmodel predict`` that describes the change."""
    low_80: float | None = None
    """Lower end of the 80 % interval of a predicted saving [s]; None where it is counted."""
    high_80: float | None = None
    """Upper end [s]."""


def saving_words(change: Mapping[str, Any]) -> str:
    """Return what a change saves of a step, with its 80 % interval where it is predicted.

    >>> saving_words({"saves": 0.0384, "low_80": 0.03, "high_80": 0.045})
    '38.4 ms (80 %: 30-45 ms)'
    """
    saves, low, high = show(change["saves"], "s"), change["low_80"], change["high_80"]
    return saves if low is None or high is None else f"{saves} (80 %: {show_range(low, high, 's')})"


@dataclass(frozen=True)
class _Window:
    """The marked steps of one device, without skipped ones."""

    trace: DeviceTrace
    start: float
    end: float
    steps: int
    """Number of steps."""
    step: float
    """Median time of a step [s]."""

    def cut(self, spans: Any) -> Any:
        """Return the parts of intervals that lie in these steps."""
        return within(spans, self.start, self.end)


def recommendations(
    traces: Sequence[DeviceTrace],
    report: dict[str, Any],
    skip: int = 0,
    scenario: Scenario | None = None,
    catalogue: Catalogue | None = None,
    predict_one: Callable[[Scenario], Prediction] | None = None,
) -> list[dict[str, Any]]:
    """Return changes that would shorten the step, the largest saving first; none if no steps are marked.

    Parameters
    ----------
    traces : of one job
    report : ``summary`` of the traces
    skip : number of marked steps to leave out at the beginning
    scenario : network, batch size and precision of the job, which traces do not state; without it, only
        changes that follow from the traces alone are returned
    catalogue : hardware; by default the built-in catalogue
    predict_one : function that predicts a changed job; by default ``predict`` with the catalogue

    Raises
    ------
    InputError : the scenario names another accelerator than the traces, or an unknown network
    """
    catalogue = Catalogue.of(catalogue)
    predicted = predict_one or (lambda changed: predict(changed, catalogue))
    windows = [window for trace in traces if (window := _window(trace, skip)) is not None]
    if not windows or any(trace.marked for trace in traces):
        return []
    result = [
        *_loader(windows),
        *_pinned(windows, catalogue),
        *_buckets(windows, None if scenario is None else workload(scenario.workload).parameters),
        *_stragglers(windows, report),
        *(_by_model(traces, scenario, skip, catalogue, predicted) if scenario is not None else ()),
    ]
    least = LEAST * median(window.step for window in windows)
    rows = sorted((row for row in result if row.saves > least), key=lambda row: -row.saves)
    return [asdict(row) for row in rows]


def _window(trace: DeviceTrace, skip: int) -> _Window | None:
    """Return the marked steps of a trace, None if it has none."""
    steps = kept_steps(trace, skip)
    if not len(steps):
        return None
    step = float(np.median(steps[:, 1] - steps[:, 0]))
    return _Window(trace, float(steps[0, 0]), float(steps[:, 1].max()), len(steps), step)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _loader(windows: Sequence[_Window]) -> Iterator[Recommendation]:
    """Recommend more loader workers if the training loop waits for its loader."""
    waited, loading = [], []
    for window in windows:
        trace = window.trace
        waits = window.cut(trace.input_waits)
        busy = _busy(window)
        waited.append((length(waits) - overlap(waits, busy)) / window.steps)
        loading.append(length(waits) / window.steps)
    wait, took = _mean(waited), _mean(loading)
    if not wait:
        return
    if not any(window.trace.loads_itself for window in windows):
        yield Recommendation(
            "more loader workers, or a faster decoder",
            wait,
            "at most: samples always ready in time",
            "--loader-workers",
        )
        return
    rest = median(window.step for window in windows) - took
    left = {count: float(wait_with_workers(took, count, rest)) for count in WORKERS}
    count = next(count for count in WORKERS if left[count] <= left[WORKERS[-1]] + LEAST * rest)
    yield Recommendation(
        f"{count} {plural('loader worker', count)} in place of the training process",
        wait - left[count],
        f"one worker takes {show(took, 's')} for a step's samples, in addition to {show(rest, 's')} of other "
        "work",
        f"--loader-workers {count}",
    )


def _busy(window: _Window) -> Any:
    """Return the intervals in which a kernel ran."""
    both = [*window.cut(window.trace.compute).tolist(), *window.cut(window.trace.communication).tolist()]
    return union(intervals(map(tuple, both)))


def _pinned(windows: Sequence[_Window], catalogue: Catalogue) -> Iterator[Recommendation]:
    """Recommend pinned memory if exposed copies from pageable memory are slower than the host link."""
    saves, sizes, rates = [], [], []
    for window in windows:
        trace = window.trace
        names = accelerators_called(trace.accelerator, trace.memory, catalogue)
        if trace.activity is None or not names:
            continue
        rows = trace.activity.pageable
        rows = rows[(rows[:, 0] >= window.start) & (rows[:, 1] <= window.end)]
        if not len(rows):
            continue
        rate = catalogue.link(catalogue.accelerator(names[0]).host_link).bandwidth.value
        spans = rows[:, :2]
        exposed = 1 - overlap(spans, _busy(window)) / max(length(spans), 1e-30)
        faster = np.maximum(0.0, rows[:, 1] - rows[:, 0] - rows[:, 2] / rate)
        saves.append(float(faster.sum()) * exposed / window.steps)
        sizes.append(float(rows[:, 2].sum()) / window.steps)
        rates.append(rate)
    if saves:
        yield Recommendation(
            "pinned memory for the copies to the device",
            _mean(saves),
            f"{show(_mean(sizes), 'B')} a step at {show(_mean(rates), 'B/s')} of the link, while no "
            "kernel runs",
        )


def _buckets(windows: Sequence[_Window], parameters: float | None) -> Iterator[Recommendation]:
    """Recommend larger buckets if there are more all-reduces in a step than buckets of the usual size.

    Parameters
    ----------
    windows : the marked steps of each device
    parameters : of the network, None if unknown; needed if the traces do not state message sizes
    """
    messages = [
        [
            one
            for one in window.trace.collectives
            if one.kind == "all-reduce" and window.start <= one.start <= window.end
        ]
        for window in windows
    ]
    every = [one for sent in messages for one in sent]
    sized = all(one.message_bytes for one in every)
    if not every or not (sized or parameters):
        return
    steps = sum(window.steps for window in windows)
    count = len(every) / steps
    total = sum(one.message_bytes or 0.0 for one in every) / steps if sized else 4 * (parameters or 0.0)
    wanted = max(1, ceil(total / BUCKET_BYTES))
    link = link_of_traces([window.trace for window in windows])
    start = link.latency.value if link else min(one.duration for one in every)
    how = "by a line fitted to the messages of the trace" if link else "at most: the shortest of the trace"
    if count > wanted:
        yield Recommendation(
            f"buckets of {BUCKET_BYTES >> 20} MiB: {wanted} {plural('all-reduce', wanted)} a step, "
            f"not {count:.0f}",
            (count - wanted) * start,
            f"each takes {show(start, 's')} to start, {how}",
            "--overlap bucketed",
        )


def _stragglers(windows: Sequence[_Window], report: dict[str, Any]) -> Iterator[Recommendation]:
    """Recommend to speed up each straggler."""
    steps = min(window.steps for window in windows)
    for row in report["ranks"]:
        if row["straggler"]:
            yield Recommendation(
                f"rank {row['rank']} as fast as the others",
                row["waited_for"] / steps,
                f"the last in {row['last_in']} of the messages that all ranks have",
            )


@contextmanager
def _readable(profile: str) -> Iterator[str]:
    """Yield the name of a temporary file with a profile; in a request of the service it is in memory."""
    if is_request():
        with made({_PROFILE: profile.encode()}):
            yield _PROFILE
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "profile.toml"
        path.write_text(profile, "utf-8")
        yield str(path)


def _by_model(
    traces: Sequence[DeviceTrace],
    scenario: Scenario,
    skip: int,
    catalogue: Catalogue,
    predicted: Callable[[Scenario], Prediction],
) -> Iterator[Recommendation]:
    """Recommend another precision and a larger batch, by predictions from a profile of the traces."""
    job, _ = job_of(traces, scenario, catalogue)
    with _readable(to_toml(profile_of_traces(traces, [], scenario, catalogue, skip))) as profile:
        given = {name: getattr(job, name) for name in job.model_fields_set} | {"profile": profile}

        def with_change(**change: Any) -> Prediction | None:
            try:
                return predicted(Scenario(**given | change))
            except InputError:
                return None  # the accelerator has no such precision

        base = predicted(Scenario(**given))
        now = base.scenario["precision"]
        others = {
            precision: other
            for precision in PRECISIONS
            if precision != now and (other := with_change(precision=precision)) is not None
        }
        if others:
            precision = min(others, key=lambda name: others[name].iteration_time)
            yield _predicted_saving(
                f"{precision} arithmetic in place of {now}",
                base,
                others[precision],
                "predicted from a profile of the trace",
                f"--precision {precision}",
            )
        yield from _larger_batch(base, with_change)


def _larger_batch(base: Prediction, with_change: Any) -> Iterator[Recommendation]:
    """Recommend the larger batch that fits into memory and takes the least time for each sample."""
    batch = base.scenario["local_batch_size"]
    fitting = [
        int(factor * batch) for factor in BATCHES if factor * batch <= base.memory.largest_local_batch_size
    ]
    tried = [
        (other.samples_per_second, size, other)
        for size in fitting
        if (other := with_change(local_batch_size=size, global_batch_size=None)) is not None
    ]
    if tried:
        _, size, other = max(tried, key=lambda each: each[:2])
        yield _predicted_saving(
            f"a batch of {size} fits, in place of {batch}",
            base,
            other,
            f"for {batch} samples, predicted from a profile of the trace; a larger batch may need more "
            "epochs",
            f"--local-batch-size {size}",
        )


def _predicted_saving(
    change: str, base: Prediction, other: Prediction, basis: str, option: str
) -> Recommendation:
    """Return a change with what it saves in a step, or in as many samples, and the interval of that."""
    ratio = ratio_between(other, base, "the traced job")
    saves, low, high = (
        None if each is None else base.iteration_time * (1 - 1 / each)
        for each in (ratio.value, ratio.low_80, ratio.high_80)
    )
    assert saves is not None
    return Recommendation(change, saves, basis, option, low, high)
