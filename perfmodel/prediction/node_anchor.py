"""Converts an anchor measured on several accelerators of one machine to one on a single accelerator."""

from __future__ import annotations

import math

from perfmodel.anchor import parse_anchor
from perfmodel.calibration import Calibration
from perfmodel.errors import InputError
from perfmodel.resolve import Setting, resolve
from perfmodel.root import bisect
from perfmodel.specs.scenario import Scenario
from perfmodel.specs.store import Catalogue

WIDEST = math.log(1e4)
"""Of the logarithm of measured over predicted time; beyond it, a slip of the unit."""


def anchored_on_one(scenario: Scenario, catalogue: Catalogue, constants: Calibration) -> Scenario:
    """Return the scenario with an anchor on one accelerator that predicts the measured time on several.

    The time on several grows with that on one, so halving an interval finds it.

    Raises
    ------
    InputError : more accelerators than a machine of the scenario holds, or a time that no speed of one
        accelerator leads to, since the exchange alone takes longer
    """
    given = str(scenario.anchor)
    anchor = parse_anchor(given)
    if anchor.world_size == 1:
        return scenario
    whole = resolve(_with(scenario, anchor=None), catalogue)
    if anchor.world_size > whole.node.accelerators:
        raise InputError(
            f"anchor {given!r}: {whole.node.id} holds {whole.node.accelerators} accelerators; "
            "expected a run on one of them (@1), or on several of one machine"
        )
    measured_on = {
        "anchor": None,
        "global_batch_size": None,
        "local_batch_size": whole.local_batch_size,
        "accelerators_per_node": None,
    }
    one = _with(scenario, **measured_on, world_size=1)
    many = _with(scenario, **measured_on, world_size=anchor.world_size)
    alone = _time(resolve(one, catalogue), constants)
    measured = anchor.iteration_time(anchor.world_size * whole.local_batch_size * whole.accumulation_steps)

    def misses(log_factor: float) -> float:
        started = _with(many, anchor=_on_one(alone * math.exp(log_factor)))
        return _time(resolve(started, catalogue), constants) - measured

    low, high = -WIDEST, WIDEST
    if misses(low) > 0 or misses(high) < 0:
        raise InputError(
            f"anchor {given!r}: no speed of one {whole.accelerator.id} leads to {measured:.3g} s on "
            f"{anchor.world_size}; check the unit, the batch and the link"
        )
    _, high = bisect(lambda log_factor: misses(log_factor) <= 0, low, high)
    return _with(scenario, anchor=_on_one(alone * math.exp(high)))


def _on_one(time: float) -> str:
    return f"iteration_time={min(max(time, 1e-6), 1e7)!r}s@1"


def _with(scenario: Scenario, **options: object) -> Scenario:
    given = {name: getattr(scenario, name) for name in scenario.model_fields_set} | options
    return Scenario.model_construct(**{name: value for name, value in given.items() if value is not None})


def _time(setting: Setting, constants: Calibration) -> float:
    from perfmodel.prediction.assemble import time_of

    return time_of(setting, constants)
