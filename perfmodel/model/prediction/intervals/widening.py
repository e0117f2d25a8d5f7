"""What can widen the interval of a job: conditions, and how strongly each holds."""

from __future__ import annotations

from typing import Any

from perfmodel.core import ops
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.prediction.limits import crossed_link
from perfmodel.model.prediction.open_options import left_to_defaults
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.setting.sharing import has_layouts
from perfmodel.model.step.computation import Computation
from perfmodel.model.step.layer_rates import conditions, unit
from perfmodel.model.step.terms import of_kind

OWN, LEAST = "own runs", "least variance"
"""Among what is known of a job: how much one's own runs settle of its error."""
AGAIN = "measured itself"
"""The same: standard deviation of its time when it is measured again, 0 where it was not measured itself."""
OPEN = "left to defaults"
"""The same: options of its software that it leaves to their defaults."""
IS_NEW = "unseen software"
"""Condition that puts a job in the class ``new`` of the ledger.

Of other architectures than were measured its rows ask for no more than the shape of an interval has."""


def unseen_link(setting: Setting, constants: Calibration) -> float:
    """Return 1 where no measured run went over the link that the setting's gradients cross, else 0."""
    return float(crossed_link(setting).id not in constants.seen["link"])


def software_of(setting: Setting) -> str:
    """Return ``FRAMEWORK in PRECISION``: by which measured runs are distinguished."""
    return f"{setting.software_name} in {setting.precision}"


def local_batch_of(setting: Setting) -> str:
    """Return the name under which the reach of a network's local batches is kept."""
    return f"local batch/{setting.workload.id}"


def _beyond(value: Any, ends: tuple[float, float]) -> Any:
    """How far a value lies outside what was measured, as a logarithm; 0 inside."""
    low, high = ends
    return ops.log(ops.maximum(1.0, ops.maximum(value / high, low / value)))


def is_new_to(setting: Setting, constants: Calibration) -> bool:
    """Return whether nobody measured the software of a setting."""
    return software_of(setting) not in constants.seen["software"]


def strengths(
    setting: Setting, work: Computation, terms: dict[str, Any], link: Any, constants: Calibration
) -> dict[str, Any]:
    """Return how strongly each condition holds that can widen the interval, numbers or arrays.

    Parameters
    ----------
    setting, work, terms : of the iteration
    link : what ``unseen_link`` says of it
    constants : hold what the measured runs have seen
    """
    accelerator = setting.accelerator
    whole = sum(terms.values())
    communication = (of_kind(terms, "network") + terms["contention_time"]) / whole
    learned, seen = constants.efficiency, constants.seen
    several = (setting.world_size > 1) * 1.0
    batches = constants.reach.get(local_batch_of(setting))
    is_whole = has_layouts(setting.workload) and batches is not None
    result = {
        "always": 1.0,
        "unseen accelerator": float(accelerator.id not in seen["accelerator"]),
        "unseen architecture": float(not learned.knows(f"architecture/traffic/{accelerator.pool}")),
        "unseen network": float(not (learned.knows(f"workload/{setting.workload.id}") or is_whole)),
        IS_NEW: float(is_new_to(setting, constants)),
        "beyond batch": _beyond(setting.local_batch_size, batches) if batches else 0.0,
        "world size": ops.log(setting.world_size * 1.0),
        "beyond world size": _beyond(
            setting.world_size, (1.0, constants.reach.get("world size", (1.0, 1.0))[1])
        ),
        "host": work.host_share,
        "detection": float(setting.workload.detection_heads),
        "slow fp16": float(unit(setting) == 1),
        "communication": communication,
        "several accelerators": several,
        "single process": several * (setting.strategy == "data-parallel-single-process"),
        "parameter server": float(setting.strategy == "parameter-server"),
        "unseen link": several * link,
        "input": terms["input_time"] / whole,
        OPEN: left_to_defaults(setting),
    }
    if setting.repeat is not None:
        result[AGAIN] = setting.repeat.noise
    if constants.own is not None:
        on = conditions(setting)
        result[OWN] = constants.own.settles(on, communication, several)
        result[LEAST] = constants.own.least_variance(on)
    return result


def widening_strengths(
    setting: Setting, work: Computation, terms: dict[str, float], constants: Calibration
) -> dict[str, float]:
    """Return how strongly each condition holds that can widen the interval, from 0 to about 1."""
    return strengths(setting, work, terms, unseen_link(setting, constants), constants)
