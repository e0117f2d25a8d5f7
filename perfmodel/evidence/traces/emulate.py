"""Predicted steps replayed in real time on a machine without a GPU: sleeping in place of computing.

>>> from perfmodel import Scenario, predict
>>> emulator = Emulator(predict(Scenario(workload="resnet50", gpus=2)), seed=1, speed=1e6)
>>> step = emulator.step()
>>> [phase.name for phase in step.phases][:2], len(step.ranks)
(['forward_time', 'backward_time'], 2)
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from perfmodel.core.errors import refusal
from perfmodel.core.records.arguments import FROM_ZERO, Kind, a, expect
from perfmodel.core.units import is_number
from perfmodel.equations.distribution import Empirical
from perfmodel.equations.distributions import parse_distribution
from perfmodel.equations.slowest_worker import straggler_time
from perfmodel.model.fitted.calibration import Calibration, constants_of
from perfmodel.model.prediction.result import Prediction
from perfmodel.model.setting.profile import read_profile
from perfmodel.model.step.profiled import with_profile
from perfmodel.model.step.terms import TERMS, in_step_order


class Phase(NamedTuple):
    """One part of a step, as the slowest rank lives it."""

    name: str
    """Of the term."""
    time: float
    """[s]"""


class Step(NamedTuple):
    """One emulated iteration."""

    number: int
    iteration_time: float
    """[s], before it is sped up."""
    ranks: tuple[float, ...]
    """Computation of each rank [s]; the step waits for the largest."""
    phases: tuple[Phase, ...]


class Emulator:
    """Steps of a prediction, one after another, with seeded jitter."""

    def __init__(
        self,
        prediction: Prediction,
        seed: int = 0,
        speed: float = 1.0,
        sleep: Callable[[float], object] = time.sleep,
        constants: Calibration | None = None,
    ) -> None:
        """Take the prediction to replay.

        Parameters
        ----------
        prediction : whose terms are slept
        seed : of the jitter; the same seed gives the same steps
        speed : how many times faster than in reality
        sleep : called with each phase's time [s]
        constants : the prediction was made with, which hold its jitter; by default those of the package, with
            its profile's own

        Raises
        ------
        InputError : a speed that is not positive
        """
        expect(a(Prediction), prediction=prediction)
        expect(FROM_ZERO, seed=seed)
        if not (is_number(speed) and speed > 0):
            raise refusal("trace.speed", "speed", speed=speed)
        expect(Kind("a function", callable), sleep=sleep)
        self._prediction, self._speed, self._sleep = prediction, speed, sleep
        self._random = np.random.default_rng(seed)
        self._number = 0
        given = prediction.scenario["jitter"]
        self._still = given == "none"
        cv = _settled(prediction, constants_of(constants)).jitter
        self._law = (
            parse_distribution(given or f"lognormal:cv={cv}") if not self._still and (given or cv) else None
        )
        self._jittering = self._share()

    def step(self) -> Step:
        """Sleep through one iteration and return what it was."""
        result = self.next_step()
        for phase in result.phases:
            if phase.time > 0:
                self._sleep(phase.time / self._speed)
        return result

    def steps(self, count: int) -> Iterator[Step]:
        """Sleep through ``count`` iterations, one at a time."""
        for _ in range(count):
            yield self.step()

    def next_step(self) -> Step:
        """Return the next iteration without sleeping."""
        terms, world_size = self._prediction.terms, self._prediction.scenario["world_size"]
        computing = sum(time for name, time in terms.items() if _computes(name))
        factors = self._factors(world_size)
        stretched = 1 + self._jittering * (factors - 1)
        ranks = tuple((computing * stretched).tolist())
        own = float(stretched[0])
        waited = max(ranks) - ranks[0]
        phases = [
            Phase(
                name, waited if name == "straggler_time" else terms[name] * (own if _computes(name) else 1.0)
            )
            for name in in_step_order(terms)
            if terms[name] or (name == "straggler_time" and waited)
        ]
        self._number += 1
        return Step(self._number, sum(phase.time for phase in phases), ranks, tuple(phases))

    def _share(self) -> float:
        """Of a rank's own time, what has to jitter for the mean wait to be the predicted one [1].

        What the host does once in an iteration does not, nor what a queue hides.
        """
        terms, world_size = self._prediction.terms, self._prediction.scenario["world_size"]
        if self._law is None or world_size < 2:
            return 1.0
        computing = sum(time for name, time in terms.items() if _computes(name))
        wait = float(straggler_time(computing, self._law, world_size))
        return min(1.0, terms["straggler_time"] / wait) if wait > 0 else 1.0

    def _factors(self, world_size: int) -> np.ndarray:
        """Each rank's time over the mean, shape (ranks,)."""
        if self._law is None or world_size < 1:
            return np.ones(world_size)
        if isinstance(self._law, Empirical):
            drawn = self._random.choice(np.asarray(self._law.sample), world_size)
        else:
            uniform = self._random.random(world_size)
            drawn = np.asarray(self._law.at_logit(np.log(uniform) - np.log1p(-uniform)))
        return np.asarray(drawn / self._law.mean)


def _settled(prediction: Prediction, constants: Calibration) -> Calibration:
    """Constants with a profile's jitter in them, where the prediction stands on one."""
    if prediction.scenario["profile"] is None:
        return constants
    return with_profile(constants, read_profile(prediction.scenario["profile"]))


def _computes(name: str) -> bool:
    """Whether a term is a part of what jitters: a worker's own work, launches included."""
    return TERMS[name].kind in ("busy", "host")


@dataclass(frozen=True)
class Emulation:
    """Predicted steps, which sleep as long as they take while somebody goes through them."""

    prediction: Prediction
    """Of the job."""
    number: int
    """Of steps."""
    seed: int = 0
    """Of the jitter."""
    speed: float = 1.0
    """Times faster than in reality."""

    def __iter__(self) -> Iterator[Step]:
        return Emulator(self.prediction, self.seed, self.speed).steps(self.number)

    def to_json(self) -> str:
        """Return what ``perfmodel emulate --json`` prints, once all steps are over."""
        steps = [
            {**step._asdict(), "phases": {phase.name: phase.time for phase in step.phases}} for step in self
        ]
        return json.dumps({"steps": steps})
