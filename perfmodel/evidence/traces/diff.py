"""Compare the parts of a step in two traces, such as a measured and a predicted one."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from perfmodel.core.errors import refusal
from perfmodel.evidence.traces.device_trace import DeviceTrace
from perfmodel.evidence.traces.summary import summary

PARTS = (
    "compute_time",
    "exposed_communication_time",
    "hidden_communication_time",
    "input_time",
    "idle_time",
)
"""Parts of a step, in addition to the whole."""


def difference(
    first: Sequence[DeviceTrace], second: Sequence[DeviceTrace], skip: int = 0
) -> list[dict[str, Any]]:
    """Return each part of a step in both traces, means over devices [s], with difference and ratio.

    Parameters
    ----------
    first, second : traces of a job's devices
    skip : number of steps of the first to leave out at its beginning

    Raises
    ------
    InputError : one of the traces has no marked steps
    """
    sides = [_parts(traces, skip if index == 0 else 0) for index, traces in enumerate((first, second))]
    return [
        {
            "part": name,
            "first": sides[0][name],
            "second": sides[1][name],
            "difference": sides[1][name] - sides[0][name],
            "ratio": sides[1][name] / sides[0][name] if sides[0][name] else None,
        }
        for name in ("iteration_time", *PARTS)
    ]


def _parts(traces: Sequence[DeviceTrace], skip: int) -> dict[str, float]:
    """Return the whole step and its parts, means over devices [s]; InputError without marked steps."""
    devices = summary(traces, skip)["devices"]
    marked = [device for device in devices if device["per_step"]]
    if not marked:
        name = traces[0].file if traces else "no file"
        raise refusal("trace.no_marked_steps", name=name)
    result = {name: fmean(device["per_step"][name] for device in marked) for name in PARTS}
    return {"iteration_time": fmean(device["iteration_time"] for device in marked), **result}
