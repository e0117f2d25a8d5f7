"""Physical limits of claimed quantities, with their arithmetic in words."""

from __future__ import annotations

from typing import NamedTuple

from perfmodel.core.errors import unknown_name
from perfmodel.core.units import per_cent, show
from perfmodel.equations.bandwidths import bus_bandwidth
from perfmodel.hardware.accelerator import Accelerator
from perfmodel.hardware.machine_words import accelerator_words
from perfmodel.hardware.provenance import Quantity
from perfmodel.model.prediction.intervals.bound import (
    LEAST_GRADIENT_BYTES,
    boost,
    fastest,
    least_computation_time,
    least_exchanged_bytes,
    least_filled,
)
from perfmodel.model.prediction.network_cuts import cuts, exchange_limits, least_time
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.model_flops import least_flops
from perfmodel.workloads.workload import Workload

IDEAL = ("scaling_efficiency", "speedup")
"""Quantities whose limit is an ideal, which measurements may exceed as they scatter."""
SUPERLINEAR = 1.10
"""Efficiency above which a job and its baseline cannot have done the same work on each accelerator: the
largest of published runs of trust A or B with one undisputed baseline is 1.07, which is noise."""


class Limit(NamedTuple):
    """The best possible value of a quantity, with the reasons in words."""

    value: float
    because: tuple[str, ...]


def limit_of_iteration(setting: Setting) -> Limit:
    """Return the least possible iteration time of a setting [s], with its arithmetic in words."""
    work, sums = _computation(setting), _exchange(setting)
    if setting.layout is not None:
        return work
    return sums if sums.value > work.value else work


def _computation(setting: Setting) -> Limit:
    """Return the least time of the computation of a step [s]."""
    time = float(least_computation_time(setting))
    workload, accelerator = setting.workload, setting.accelerator
    if setting.layout is not None:
        peak, unit = fastest(setting)
        flops = show(time * peak, "FLOP")
        rate = f"{show(peak, 'FLOP/s')} ({unit}, dense)"
        needs = f"a step needs {flops} on each accelerator, scores that a mask leaves out not counted"
        takes = (
            f"one {accelerator_words(accelerator)} at {rate} takes {show(time, 's')} for them at the least"
        )
        return Limit(time, (needs, f"{takes}, communication not counted"))
    samples = setting.local_batch_size * setting.accumulation_steps
    least, filled = least_flops(workload), least_filled(setting)
    peak, unit = fastest(setting)
    needs = f"one {workload.sample} needs {show(workload.training_flops, 'FLOP')} forward and backward"
    if least < 0.999 * workload.training_flops:
        needs += f", {show(least, 'FLOP')} {_without(workload)}"
    if filled < 1:
        needs += f"; up to {per_cent(1 - filled, 0)} of the tokens may be padding that software skips"
    if time > 1.001 * filled * samples * least / peak:
        rate = show(accelerator.memory_bandwidth.value, "B/s")
        return Limit(time, (f"reading weights and writing gradients once at {rate} takes {show(time, 's')}",))
    rate = f"{show(peak, 'FLOP/s')} ({unit}, dense)"
    on = f"on one {accelerator_words(accelerator)} at {rate}"
    takes = f"{samples} {workload.sample}s {on} take {show(time, 's')}"
    return Limit(time, (needs, f"{takes} at the least, communication not counted"))


def _without(workload: Workload) -> str:
    """Return why the least FLOP count of a network is below the nominal one, in words."""
    return "by the fastest known convolutions" if workload.architecture is None else "without masked scores"


def _exchange(setting: Setting) -> Limit:
    """Return the least time to sum the gradients over the narrowest cut [s]."""
    limits = exchange_limits(setting)
    if not limits:
        return Limit(0.0, ())
    rate, cut = max(limits, key=lambda pair: pair[0])
    size = float(least_exchanged_bytes(setting))
    if not size:
        return Limit(0.0, ())
    time = float(size * rate)
    over = cut.words
    if setting.strategy == "parameter-server":
        over = f"{setting.servers} servers behind as much as {cut.words}"
    return Limit(
        time,
        (
            f"each iteration sums {size / LEAST_GRADIENT_BYTES / 1e6:.3g} M gradients, "
            f"{show(size, 'B')} at {LEAST_GRADIENT_BYTES} B each",
            f"over {over}, {show(cut.bandwidth, 'B/s')} in one direction, this takes {show(time, 's')} "
            f"at the least, unless gradients are compressed",
        ),
    )


def best_product(accelerator: Accelerator, format: str) -> Quantity | None:
    """Return the best measured rate of a matrix product in a format, or in one of the same peak [FLOP/s]."""
    peaks: dict[str, Quantity] = dict(accelerator.peak_flops.items())
    measured: dict[str, Quantity] = dict(accelerator.achieved_flops.items())
    alike = (
        name for name in (format, *measured) if peaks.get(name, peaks[format]).value == peaks[format].value
    )
    return next((measured[name] for name in alike if name in measured), None)


def accelerators_of(per: str, setting: Setting) -> int:
    """Return the number of accelerators in a job, node or accelerator."""
    counts: dict[str, int] = {
        "job": setting.world_size,
        "node": setting.accelerators_per_node,
        "accelerator": 1,
    }
    return counts[per]


def peak_of(setting: Setting, per: str, format: str | None = None) -> Limit:
    """Return the data-sheet peak of an accelerator, a node or the job [FLOP/s].

    Raises
    ------
    InputError : the accelerator has no peak for the number format
    """
    accelerator, n = setting.accelerator, accelerators_of(per, setting)
    peak, unit = fastest(setting)
    if format is not None:
        peaks = dict(accelerator.peak_flops.items())
        if format not in peaks:
            raise unknown_name(f"peak of {accelerator.id}", format, peaks)
        peak, unit = peaks[format].value * boost(accelerator), format
    each = f"{n} x {accelerator_words(accelerator)} at {show(peak, 'FLOP/s')} ({unit}, dense)"
    return Limit(n * peak, (f"{each}: {show(n * peak, 'FLOP/s')}",))


def best_efficiency(baseline: int, world_size: int, scaling: str, claimed: float = 0.0) -> Limit:
    """Return the largest scaling efficiency of ``world_size`` accelerators over ``baseline`` ones."""
    same = "the same batch" if scaling == "weak" else "its share of the batch"
    against = "alone" if baseline == 1 else f"among {baseline}"
    lines = [
        f"each of {world_size} accelerators computes {same} and also communicates, so it is no faster "
        f"than {against}: at most 100 %, or {per_cent(SUPERLINEAR, 0)} with errors of measurement"
    ]
    if claimed > 1:
        lines.append(
            "more than 100 % says that the baseline was slow for another reason (other software, batch or "
            "input, a cold start): then throughputs are what to compare"
        )
    return Limit(SUPERLINEAR, tuple(lines))


def bus_bandwidth_limit(collective: str, setting: Setting) -> Limit:
    """Return the largest bus bandwidth of a collective over all accelerators of a job [B/s].

    The narrowest cut decides: the links of a rank, the adapters of a node, or the uplinks of a rack.  Latency
    is left out, and every switch that can reduce is assumed to do so.
    """
    n = setting.world_size
    result = [
        (float(bus_bandwidth(collective, 1 / float(least_time(collective, n, 1.0, cut)), n)), cut)
        for cut in cuts(setting)
    ]
    if not result:
        return Limit(float("inf"), ("one rank sends nothing",))
    rate, cut = min(result, key=lambda pair: pair[0])
    lines = [f"{cut.words} carries {show(cut.bandwidth, 'B/s')} in one direction"]
    if abs(rate / cut.bandwidth - 1) > 1e-9:
        why = " and a switch that adds" if cut.adds else ""
        lines.append(
            f"{collective} over {cut.groups} such groups{why}: at most {show(rate, 'B/s')} as nccl-tests "
            f"counts bus bandwidth"
        )
    return Limit(rate, tuple(lines))
