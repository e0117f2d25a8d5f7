"""Crossovers of NCCL: sizes at which another algorithm takes over, bandwidths at which messages hide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from perfmodel.equations.nccl_all_reduce import NEARLY, SMALLEST_CORRECTED, Ways
from perfmodel.explanations.node import Node
from perfmodel.sensitivity.case import Case
from perfmodel.step.communication import library_ways
from perfmodel.step.fabric import Fabric
from perfmodel.step.parts import fabric_of
from perfmodel.units import UNITS, show

FARTHEST = 1e4
"""Largest crossover reported, over the present value."""
STEP = 1e-6
MOST_TRIES = 20


@dataclass(frozen=True)
class ExactCrossover:
    """One exact crossover."""

    words: str
    parameter: str
    unit: str
    now: float | None
    """What the parameter is; None for a message, which is of many sizes."""
    at: float
    exact: str
    """The solution as sympy writes it, in the parameters' names."""


def shown(value: float, unit: str) -> str:
    """Return a value as people write it."""
    return show(value, unit) if unit in UNITS and unit != "1" else f"{value:.4g}"


def sizes_of_library(case: Case) -> list[ExactCrossover]:
    """Return the message sizes at which NCCL takes another algorithm or protocol.

    Between two sizes of its table the time of each way is a line, so where two lines meet is exact.
    """
    known = library_ways(case.setting, fabric_of(case.setting, case.constants))
    fixed = known.times(np.zeros(1))[:, 0, 0]
    crossovers = []
    for column in range(known.correction.shape[1]):
        step = SMALLEST_CORRECTED / NEARLY
        low = step * 2.0 ** (column - 1) if column else 1.0
        high = step * 2.0**column if column + 1 < known.correction.shape[1] else 1e12
        slope = known.correction[:, column] / known.algorithm_bandwidth[:, 0, 0]
        at, now = low, int(np.argmin(fixed + slope * low))
        while True:
            with np.errstate(divide="ignore", invalid="ignore"):
                meets = (fixed - fixed[now]) / (slope[now] - slope)
            meets = np.where((slope < slope[now]) & (meets > at), meets, np.inf)
            after = int(np.argmin(meets))
            if not meets[after] < high:
                break
            at = float(meets[after])
            smaller, larger = ("/".join(known.names[row]) for row in (now, after))
            crossovers.append(
                ExactCrossover(
                    words=f"messages below {show(round(at), 'B')} are faster by {smaller} than by {larger}",
                    parameter="message_bytes",
                    unit="B",
                    now=None,
                    at=at,
                    exact=f"message_bytes = ({fixed[after]:.9g} - {fixed[now]:.9g})"
                    f"/({slope[now]:.9g} - {slope[after]:.9g})",
                )
            )
            now = after
    return crossovers


def hidden_by_library(case: Case, node: Node) -> list[ExactCrossover]:
    """Return the bandwidth from which on the network is idle before the last message: only it is exposed."""
    setting, on = case.setting, fabric_of(case.setting, case.constants)
    sizes = np.asarray(node.inputs["communication_times"].inputs["message_bytes"].value, dtype=np.float64)
    ready = np.asarray(node.inputs["ready_times"].value, dtype=np.float64)
    crossovers = []
    for name in ("intra_link_bandwidth", "inter_link_bandwidth"):
        present = float(getattr(on, name))
        at = _hiding(setting, on, name, sizes, ready) if len(sizes) > 1 else None
        if at is None or not present / FARTHEST < at < present * FARTHEST:
            continue
        crossovers.append(hiding_crossover(name, present, at, "total/(gap - fixed)"))
    return crossovers


def hiding_crossover(name: str, present: float, at: float, solution: object) -> ExactCrossover:
    """Return the crossover at a link's bandwidth from which on only the last message is exposed [B/s]."""
    state = "now more: only the last message is exposed" if present > at else "now less: messages queue"
    words = (
        f"{name} of {shown(at, 'B/s')} (now {shown(present, 'B/s')}, {state}): from there on the backward "
        f"pass hides all messages but the last"
    )
    return ExactCrossover(
        words=words, parameter=name, unit="B/s", now=present, at=at, exact=f"{name} = {solution}"
    )


def _hiding(setting: Any, on: Fabric, name: str, sizes: Any, ready: Any) -> float | None:
    """The bandwidth at which some messages still queue until the last, NCCL's choice being that at it.

    With the choice as it is, a message takes f + s/B or, where NCCL's limits bind, f alone; the messages k to
    K-1 fill the time between the k-th and the last, which gives B.  The choice is made again there, until
    it stays.
    """
    at = float(getattr(on, name))
    for _ in range(MOST_TRIES):
        known, more = (library_ways(setting, on._replace(**{name: at * f})) for f in (1.0, 1 + STEP))
        best = known.times(sizes)[:, 0].argmin(axis=0)
        times, bytes_time = _parts(known, best, sizes)
        follows = np.abs(_parts(more, best, sizes)[1] / bytes_time * (1 + STEP) - 1) < STEP / 2
        scaled = np.where(follows, bytes_time * at, 0.0)
        fixed = times - np.where(follows, bytes_time, 0.0)
        totals, fixes = (np.cumsum(each[:-1][::-1])[::-1] for each in (scaled, fixed))
        with np.errstate(divide="ignore", invalid="ignore"):
            needed = totals / (ready[-1] - ready[:-1] - fixes)
        if not np.all(needed > 0) or not np.all(np.isfinite(needed)):
            return None
        result = float(needed.max())
        if abs(result / at - 1) < 1e-12:
            return result
        at = result
    return None


def _parts(known: Ways, best: Any, sizes: Any) -> tuple[Any, Any]:
    """Time of each message by its way, and what of it its bytes take [s]."""
    rows = np.arange(len(sizes))
    times = known.times(sizes)[best, 0, rows]
    return times, times - known.times(np.zeros(len(sizes)))[best, 0, rows]
