"""Bandwidths above which the backward pass hides the messages of NCCL or RCCL."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from perfmodel.core.root import bisect
from perfmodel.core.units import UNITS, show
from perfmodel.decide.explanations.node import Node
from perfmodel.decide.sensitivity.case import Case
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.communication import message_times
from perfmodel.model.step.fabric import Fabric
from perfmodel.model.step.parts import fabric_of

FARTHEST = 1e4
"""Largest reported crossover, as a multiple of the present value."""


@dataclass(frozen=True)
class ExactCrossover:
    """A value at which another arm or algorithm takes over."""

    words: str
    """What changes there, in words."""
    parameter: str
    """Name of the parameter whose value it is."""
    unit: str
    """Unit of that value."""
    now: float | None
    """Present value of the parameter; null of a message size, since messages differ."""
    at: float
    """The value at which the change takes place."""
    exact: str
    """The solution as sympy writes it, in names of parameters; or the equation, where it has none."""


def shown(value: float, unit: str) -> str:
    """Return a value with its unit as people write it."""
    return show(value, unit) if unit in UNITS and unit != "1" else f"{value:.4g}"


def hidden_by_library(case: Case, node: Node) -> list[ExactCrossover]:
    """Return the bandwidth of each link above which only the last message of NCCL or RCCL is exposed."""
    setting, fabric = case.setting, fabric_of(case.setting, case.constants)
    sizes = np.asarray(node.inputs["communication_times"].inputs["message_bytes"].value, dtype=np.float64)
    ready = np.asarray(node.inputs["ready_times"].value, dtype=np.float64)
    crossovers = []
    for name in ("intra_link_bandwidth", "inter_link_bandwidth"):
        at = _hiding_bandwidth(setting, fabric, name, sizes, ready) if len(sizes) > 1 else None
        if at is not None:
            equation = "time of the messages before the last = time until it is ready"
            crossovers.append(hiding_crossover(name, float(getattr(fabric, name)), at, equation))
    return crossovers


def hiding_crossover(name: str, present: float, at: float, solution: object) -> ExactCrossover:
    """Return the crossover at the bandwidth of a link above which only the last message is exposed.

    Parameters
    ----------
    name : of the parameter
    present, at : the bandwidth now, and at the crossover [B/s]
    solution : in words or as sympy writes it
    """
    state = "now more: only the last message is exposed" if present > at else "now less: messages queue"
    words = (
        f"{name} of {shown(at, 'B/s')} (now {shown(present, 'B/s')}, {state}): from there on the backward "
        f"pass hides all messages but the last"
    )
    return ExactCrossover(
        words=words, parameter=name, unit="B/s", now=present, at=at, exact=f"{name} = {solution}"
    )


def _hiding_bandwidth(setting: Setting, on: Fabric, name: str, sizes: Any, ready: Any) -> float | None:
    """Return the bandwidth below which messages queue until the last one [B/s]; None where none is near."""
    present = float(getattr(on, name))

    def queues(log: float) -> bool:
        times = message_times(setting, sizes, on._replace(**{name: math.exp(log)}))
        ends = ready[:-1] + np.cumsum(times[:-1][::-1])[::-1]
        return bool(ends.max() > ready[-1])

    low, high = math.log(present / FARTHEST), math.log(present * FARTHEST)
    if not queues(low) or queues(high):
        return None
    return math.exp(bisect(queues, low, high)[1])
