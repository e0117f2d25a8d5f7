"""The physical lower bound on the time of an iteration, for any software.

It is the larger of two bounds, as one may hide behind the other.  The bound of computation includes the
savings of fast algorithms: Winograd's on 3x3 convolutions, Fourier transforms on larger filters.  It counts
the bytes that no cache avoids, and takes the nominal peak of the fastest unit for the precision.  The bound
of the exchange sends gradients over the narrowest cut of the network at its nominal rate.  Launches,
latencies and software overheads are left out.

Quotes are checked against this bound, and intervals do not extend below it.  The interval of several
accelerators does not extend below the time of one of them alone for its share of the work either.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

from perfmodel.core import ops
from perfmodel.core.units import per_cent, show
from perfmodel.equations.lower_bounds import physical_iteration_time
from perfmodel.hardware.accelerator import Accelerator
from perfmodel.model.prediction.network_cuts import exchange_limits
from perfmodel.model.prediction.result import Interval
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.model_flops import counted_flops, least_flops
from perfmodel.workloads.workload import Workload

LEAST_FILLED = 0.5
"""Share of a sequence's tokens that are no padding, at the least, in the corpora BERT is trained on (Krell et
al. 2021: packing saves half); software may leave padding out, and sources count whole sequences."""
LEAST_GRADIENT_BYTES = 2
"""Bytes of one uncompressed gradient as sent: fp16 or bf16, in any arithmetic."""


@lru_cache(maxsize=256)
def dense_parameters(workload: Workload) -> float:
    """Return the number of parameters that every iteration uses, without embedding tables, used by row."""
    return float(sum(layer.parameters for layer in workload.layers if layer.kind != "embedding"))


def least_filled(setting: Setting) -> float:
    """Return the share of the tokens that must be computed, as the rest may be padding."""
    return LEAST_FILLED if setting.workload.padded and setting.scenario.input == "real" else 1.0


def fastest(setting: Setting) -> tuple[float, str]:
    """Return the peak that bounds a precision [FLOP/s], and its number format."""
    peaks, accelerator = [(setting.peak_flops, setting.peak_format)], setting.accelerator
    if setting.precision != "tf32" and "fp32" in accelerator.peak_flops:
        peaks.append((accelerator.peak_flops["fp32"].value, "fp32"))
    peak, unit = max(peaks)
    return peak * boost(accelerator), unit


def boost(accelerator: Accelerator) -> float:
    """Return the factor by which an accelerator may exceed its stated peak temporarily."""
    base, top = accelerator.base_clock, accelerator.boost_clock
    if base is None or top is None or accelerator.peak_clock == "boost":
        return 1.0
    return max(1.0, top.value / base.value)


def least_computation_time(setting: Setting) -> Any:
    """Return the least time of an iteration's computation on each accelerator [s].

    Parameters
    ----------
    setting : of which workload, accelerator, precision and batch are used; the batch may be an array
    """
    workload, peak = setting.workload, fastest(setting)[0]
    if setting.layout is not None:  # ranks divide the arithmetic, and none needs all weights
        flops = counted_flops(setting).computed * setting.global_batch_size / setting.world_size
        return physical_iteration_time(flops, 0.0, peak, setting.accelerator.memory_bandwidth.value)
    samples = setting.local_batch_size * setting.accumulation_steps
    weights = setting.format.weight_copy_bytes or setting.format.activation_bytes
    return physical_iteration_time(
        least_filled(setting) * samples * least_flops(workload),
        # weights are read once and their gradients written once
        2 * weights * dense_parameters(workload),
        peak,
        setting.accelerator.memory_bandwidth.value,
    )


def above_peak(setting: Setting, counted: float | None = None) -> str:
    """Return the reason for a utilisation above 100 %: MFU counts operations that are not computed.

    Parameters
    ----------
    setting : of the job
    counted : FLOP of a sample that the utilisation counts; by default those computed
    """
    reasons = []
    computed = counted_flops(setting).computed
    least, counted = min(least_flops(setting.workload), computed), counted or computed
    if least < 0.999 * counted:
        words = "every multiplication of a direct convolution, and the fastest known ones need"
        if setting.workload.architecture is not None:
            words = "scores that a mask hides, or embeddings; what is computed is"
        reasons.append(f"counts {words} {per_cent(least / counted, 0)} of the network's arithmetic")
    if (filled := least_filled(setting)) < 1:
        reasons.append(
            f"counts padding, up to {per_cent(1 - filled, 0)} of the tokens, which software may skip"
        )
    peak, unit = fastest(setting)
    if peak > 1.001 * setting.peak_flops:
        reasons.append(
            f"takes a peak of {show(setting.peak_flops, 'FLOP/s')}, where {unit} units may reach "
            f"{show(peak, 'FLOP/s')}"
        )
    return "it may pass 100 %, as MFU " + ", and ".join(reasons)


def least_exchanged_bytes(setting: Setting) -> Any:
    """Return the least bytes of an iteration's gradients; 0 for compressed ones.

    Workers that exchange once in several gradients may sum theirs before; each update needs one sum.
    """
    if setting.compression is not None:
        return 0.0
    size = least_gradient_bytes(setting.workload)
    if setting.updates is None:
        return size
    return size * ops.minimum(1.0, setting.updates.exchanges(setting.world_size))


def least_gradient_bytes(workload: Workload) -> float:
    """Return the bytes of a network's gradients in the smallest uncompressed format.

    Embedding tables are left out, as their gradients may be sent by row.
    """
    return LEAST_GRADIENT_BYTES * dense_parameters(workload)


def least_exchange_rate(setting: Setting) -> Any:
    """Return the least time to sum one byte of gradients over the narrowest cut [s/B]; 0 without exchange.

    Counts may be arrays of placements with the same cuts.
    """
    least: Any = 0.0
    for time, _ in exchange_limits(setting):
        least = ops.maximum(least, time)
    return least


def least_times(setting: Setting, rate: Any = None) -> tuple[Any, Any]:
    """Return the least time of a setting's computation, and of its whole iteration [s], numbers or arrays.

    The least time of the iteration is the larger of those of its arithmetic and of its gradients.

    Parameters
    ----------
    setting : of the job
    rate : least time to sum one byte of its gradients [s/B], if already computed
    """
    computing = least_computation_time(setting)
    if setting.layout is not None:
        return computing, computing
    rate = least_exchange_rate(setting) if rate is None else rate
    return computing, ops.maximum(computing, least_exchanged_bytes(setting) * rate)


def least_iteration_time(setting: Setting) -> Any:
    """Return the physical lower bound on a setting's iteration time [s]."""
    least: float = ops.number(least_times(setting)[1])
    return least


def end_at(low: Any, iteration_time: Any, least_time: Any) -> Any:
    """Return the lower end of an interval, raised to the physical lower bound [s], numbers or arrays.

    An anchor may put the predicted time itself below the bound; the end is then the predicted time, and the
    answer warns.
    """
    return ops.maximum(low, ops.minimum(least_time, iteration_time))


class Alone(NamedTuple):
    """Lower ends of the interval of one accelerator alone with its share of the work [s].

    No job on several accelerators takes less; 0 if unknown.
    """

    low_80: Any = 0.0
    low_95: Any = 0.0


NOT_KNOWN = Alone()
CUT_BY: dict[str, str] = {
    "peaks and links": "the least that peaks and links allow",
    "one accelerator": "the fast end of what one accelerator alone takes for its share of the work",
}
"""Reasons that raise a lower end of an interval, as text."""


def cut_ends(
    ends: dict[str, Any], iteration_time: Any, least_time: Any, alone: Alone = NOT_KNOWN
) -> dict[str, Any]:
    """Return the ends of intervals with lower ends raised to what is possible, and ``clipped_at`` for these.

    Parameters
    ----------
    ends : ``low_80``, ``high_80``, ``low_95``, ``high_95`` as arrays [s], the last two None where not stated
    iteration_time, least_time : of each prediction, and its physical lower bound [s]
    alone : lower ends of one accelerator, for each prediction
    """
    clipped_at: Any = math.nan
    low = {}
    for name, least_alone in zip(("low_95", "low_80"), reversed(alone), strict=True):
        if ends[name] is not None:
            least = ops.maximum(least_time, least_alone)
            low[name] = end_at(ends[name], iteration_time, least)
            clipped_at = ops.where(ends[name] < least, least, clipped_at)
    return ends | low | {"clipped_at": clipped_at}


def clipped_words(interval: Interval) -> str:
    """Return, as text, the time to which lower ends of an interval were raised, and why."""
    assert interval.clipped_at is not None
    return f"{show(interval.clipped_at, 's')}, {CUT_BY[interval.clipped_by or 'peaks and links']}"


def interval_of(ends: dict[str, Any], least_time: Any, **fields: Any) -> Interval:
    """Return the interval of one job, with the bound that raised its lower ends, if any.

    Parameters
    ----------
    ends : result of ``cut_ends``
    least_time : physical lower bound [s]
    fields : other fields of the interval
    """
    plain = {name: None if end is None else float(end) for name, end in ends.items()}
    clipped_at = float(ends["clipped_at"])
    by = "peaks and links" if clipped_at == least_time else "one accelerator"
    cut = {"clipped_at": None} if math.isnan(clipped_at) else {"clipped_at": clipped_at, "clipped_by": by}
    return Interval.model_construct(**plain | cut, **fields)
