"""Options of a job's software that are left to their defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfmodel.hardware.software import parts
from perfmodel.model.fitted.ledger_scales import YEAR
from perfmodel.model.setting.resolve import Setting

OPTIONS = "framework", "sharding", "recompute"
"""Options that affect the memory and the time of a transformer with a layout."""


def not_stated(setting: Setting) -> list[str]:
    """Return the options of a transformer's layout and software that are left to their defaults.

    On one accelerator there is nothing to share, so that sharding is not open.
    """
    if setting.layout is None:
        return []
    given = {name for name in OPTIONS if getattr(setting.scenario, name) is not None}
    is_settled = setting.scenario.strategy == "fsdp" or setting.world_size == 1
    given |= {"sharding"} if is_settled else set()
    return [name for name in OPTIONS if name not in given]


def left_open_by(framework: str | None, others: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the options that widen the interval of a job's time, with whether each is left to its default.

    Parameters
    ----------
    framework : as stated, or None; without a year ``YEAR`` is left open
    others : other options -> whether each is left to its default, a number or an array
    """
    if framework is None:
        return {"framework": True, **others}
    return others if parts(framework)[1] else {YEAR: True, **others}


def left_to_defaults(setting: Setting) -> Mapping[str, Any]:
    """Return the options that a setting leaves to their defaults and that widen its interval."""
    others = dict.fromkeys((name for name in not_stated(setting) if name != "framework"), True)
    return left_open_by(setting.scenario.framework, others)
