"""How far a prediction may be off: as far as runs of unseen sources were missed under its conditions."""

from __future__ import annotations

import math
from typing import NamedTuple

from perfmodel.calibration import Calibration, Spread
from perfmodel.prediction.computation import Computation, conditions, unit
from perfmodel.prediction.result import Interval
from perfmodel.resolve import Setting


class Doubt(NamedTuple):
    """One condition that can widen an interval."""

    name: str
    """Key of its learned weight."""
    strength: float
    """From 0, absent, to about 1."""
    reason: str
    """In words, where it applies."""


def doubts(
    setting: Setting, work: Computation, terms: dict[str, float], constants: Calibration
) -> list[Doubt]:
    """Return every condition that can widen the interval, with how strongly it holds."""
    accelerator, on = setting.accelerator, conditions(setting)
    whole = sum(terms.values())
    learned, seen = constants.efficiency, constants.seen
    several = setting.world_size > 1
    one_process = setting.strategy == "data-parallel-single-process" and several
    exposed = (terms["exposed_communication_time"] + terms["straggler_time"]) / whole
    link = setting.inter_link if setting.nodes > 1 else setting.intra_link
    return [
        Doubt("always", 1.0, ""),
        Doubt(
            "unseen accelerator",
            float(accelerator.id not in seen["accelerator"]),
            f"no measured run on {accelerator.id}",
        ),
        Doubt(
            "unseen architecture",
            float(not learned.knows(f"architecture/traffic/{on.architecture}")),
            f"no measured run on the {on.architecture} architecture",
        ),
        Doubt(
            "unseen network",
            float(not learned.knows(f"workload/{setting.workload.id}")),
            f"no measured run of {setting.workload.id}",
        ),
        Doubt("host", work.host_share, f"the host paces {work.host_share:.0%} of the step, and hosts differ"),
        Doubt("detection", on.detection, "work on boxes and regions is not in the layer table"),
        Doubt("slow fp16", float(unit(setting) == 1), f"{accelerator.id} has no fast fp16 arithmetic"),
        Doubt("communication", exposed, f"{exposed:.0%} of the iteration waits for other accelerators"),
        Doubt("several accelerators", float(several), ""),
        Doubt("single process", float(one_process), "one process drives all accelerators"),
        Doubt("parameter server", float(setting.strategy == "parameter-server"), "parameter servers queue"),
        Doubt(
            "unseen link",
            float(several and link.id not in seen["link"]),
            f"no measured run over {link.id}",
        ),
        Doubt("input", terms["input_time"] / whole, "it waits for samples"),
    ]


def interval(
    iteration_time: float, mode: str, found: list[Doubt], spreads: dict[str, Spread]
) -> Interval | None:
    """Return where the iteration time lies with 80 and 95 % confidence; None before a spread was learned."""
    spread = spreads.get(mode)
    if spread is None:
        return None
    widened = [doubt.strength * spread.weights.get(doubt.name, 0.0) for doubt in found]
    scale = math.exp(sum(widened))
    near, far = math.exp(spread.quantile_80 * scale), math.exp(spread.quantile_95 * scale)
    reasons = [
        doubt.reason
        for doubt, widening in zip(found, widened, strict=True)
        if doubt.reason and widening > 0.1
    ]
    return Interval.model_construct(
        low_80=iteration_time / near,
        high_80=iteration_time * near,
        low_95=iteration_time / far,
        high_95=iteration_time * far,
        wider_because=reasons,
    )
