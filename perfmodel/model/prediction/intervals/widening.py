"""Conditions that widen the interval of a job, and their strengths."""

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
"""Keys of the strengths: the results of ``OwnEffects.settles`` and ``least_variance``."""
AGAIN = "measured itself"
"""Key of the standard deviation of a measured job's log time between repeats."""
OPEN = "left to defaults"
"""Key of the options of its software that a job leaves to their defaults."""
IS_NEW = "unseen software"
"""Condition for the class ``new`` of the ledger.

For unmeasured architectures the ledger's rows need no wider interval than its shape already has."""


def unseen_link(setting: Setting, constants: Calibration) -> float:
    """Return 1 if no measured run used the link of the setting's gradients, else 0."""
    return float(crossed_link(setting).id not in constants.seen["link"])


def software_of(setting: Setting) -> str:
    """Return ``FRAMEWORK in PRECISION``, the software class of measured runs."""
    return f"{setting.software_name} in {setting.precision}"


def local_batch_of(setting: Setting) -> str:
    """Return the key of the range of a network's measured local batches in ``Calibration.reach``."""
    return f"local batch/{setting.workload.id}"


def _beyond(value: Any, ends: tuple[float, float]) -> Any:
    """Return the log distance of a value outside the measured range; 0 inside."""
    low, high = ends
    return ops.log(ops.maximum(1.0, ops.maximum(value / high, low / value)))


def is_new_to(setting: Setting, constants: Calibration) -> bool:
    """Return whether the software of a setting was not measured."""
    return software_of(setting) not in constants.seen["software"]


def strengths(
    setting: Setting, work: Computation, terms: dict[str, Any], link: Any, constants: Calibration
) -> dict[str, Any]:
    """Return the strength of each condition that can widen the interval, numbers or arrays.

    Parameters
    ----------
    setting, work, terms : of the iteration
    link : result of ``unseen_link``
    constants : with the software, links and ranges of the measured runs
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
        effects = conditions(setting)
        result[OWN] = constants.own.settles(effects, communication, several)
        result[LEAST] = constants.own.least_variance(effects)
    return result


def widening_strengths(
    setting: Setting, work: Computation, terms: dict[str, float], constants: Calibration
) -> dict[str, float]:
    """Return the strength of each condition that can widen the interval of one job."""
    return strengths(setting, work, terms, unseen_link(setting, constants), constants)
