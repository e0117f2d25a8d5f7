"""Inputs of the terms of an iteration: setting, constants, and the times of one replica."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.computation import Computation
from perfmodel.model.step.own_update import with_own_update


class StepContext(NamedTuple):
    """Inputs of the terms of an iteration; numbers, or in a sweep arrays."""

    setting: Setting
    constants: Calibration
    known: Mapping[str, Any]
    """Times already computed, by the names of their terms: communication of replicas, or all parts of a step
    with a layout."""
    work: Computation | None = None
    """Times of one replica, including an anchor's factor."""
    anchor_factor: Any = 1.0

    @property
    def copy(self) -> Computation:
        """Times of one replica, of a data-parallel job."""
        assert self.work is not None
        return self.work

    @property
    def counted(self) -> Computation:
        """Times of the gradients that count and the parameters that it updates; late gradients may be
        discarded early."""
        setting, work = self.setting, self.copy
        if setting.updates is not None:
            from perfmodel.model.step.updates import counted_work

            return counted_work(setting, work, self.constants)
        return with_own_update(setting, work)
