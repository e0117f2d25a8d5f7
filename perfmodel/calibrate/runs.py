"""The measured runs that can be learned from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from perfmodel.errors import InputError
from perfmodel.resolve import Setting, resolve
from perfmodel.specs.store import Catalogue
from perfmodel.validate.runs import Run
from perfmodel.validate.scenarios import Refused, measured_time, scenario_of

TRUSTED = ("A", "B")


class Measured(NamedTuple):
    """A run, the setting the model takes it for, and what it took."""

    run: Run
    setting: Setting
    time: float
    """Measured iteration time [s]."""


def measured(runs: Iterable[Run], catalogue: Catalogue) -> list[Measured]:
    """Return the trusted runs that the model can be asked for, in order."""
    found = []
    for run in runs:
        time = measured_time(run)
        if run.trust not in TRUSTED or time is None:
            continue
        try:
            found.append(Measured(run, resolve(scenario_of(run, catalogue), catalogue), time))
        except (Refused, InputError):
            continue  # validate names each of them, with the reason
    return found
