"""Replay predicted steps in real time on a machine without a GPU: it sleeps instead of computing.

>>> from perfmodel import Scenario, predict
>>> emulator = Emulator(predict(Scenario(workload="resnet50", gpus=2)), seed=1, speed=1e6)
>>> step = emulator.step()
>>> [phase.name for phase in step.phases][:2], len(step.ranks)
(['forward_time', 'backward_time'], 2)
"""

from __future__ import annotations

import json
import math
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
    """One phase of an emulated step."""

    name: str
    """Name of the prediction's term."""
    time: float
    """Time of the phase, at normal speed [s]."""


class Step(NamedTuple):
    """One emulated iteration."""

    number: int
    iteration_time: float
    """Time of the iteration, at normal speed [s]."""
    ranks: tuple[float, ...]
    """Time of each rank's computation [s]; the step waits for the slowest."""
    phases: tuple[Phase, ...]


class Emulator:
    """Replays the steps of a prediction one after another, with random jitter."""

    def __init__(
        self,
        prediction: Prediction,
        seed: int = 0,
        speed: float = 1.0,
        sleep: Callable[[float], object] = time.sleep,
        constants: Calibration | None = None,
    ) -> None:
        """Prepare the replay of a prediction.

        Parameters
        ----------
        prediction : prediction to replay
        seed : of the jitter; the same seed gives the same steps
        speed : factor by which the replay is faster than reality
        sleep : function called with the time of each phase [s]
        constants : learned numbers that the prediction was made with, among them its jitter; by default the
            shipped ones, with the jitter of the prediction's profile

        Raises
        ------
        InputError : the speed is not positive
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
        known = _settled(prediction, constants_of(constants))
        usual = str(known.spread_of_steps(prediction.scenario["input"] == "real"))
        law = given or usual
        self._law = None if law == "none" else parse_distribution(law)
        self._shared = 0.0 if given else math.sqrt(math.log1p(known.shared_jitter**2))
        self._jittering = self._share()

    def step(self) -> Step:
        """Sleep through one iteration and return its times."""
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
        stretched = self._common() * (1 + self._jittering * (factors - 1))
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

    def _common(self) -> float:
        """Return a random factor on the times of all ranks of a step, with mean 1."""
        if not self._shared:
            return 1.0
        return math.exp(self._shared * self._random.standard_normal() - self._shared**2 / 2)

    def _share(self) -> float:
        """Return the share of a rank's own time that jitters, so that the mean wait is the predicted one [1].

        The host's work once in an iteration does not jitter, nor does work that a queue hides.
        """
        terms, world_size = self._prediction.terms, self._prediction.scenario["world_size"]
        if self._law is None or world_size < 2:
            return 1.0
        computing = sum(time for name, time in terms.items() if _computes(name))
        wait = float(straggler_time(computing, self._law, world_size))
        return min(1.0, terms["straggler_time"] / wait) if wait > 0 else 1.0

    def _factors(self, world_size: int) -> np.ndarray:
        """Return random factors on the ranks' times, with mean 1, shape (ranks,)."""
        if self._law is None or world_size < 1:
            return np.ones(world_size)
        if isinstance(self._law, Empirical):
            drawn = self._random.choice(np.asarray(self._law.sample), world_size)
        else:
            uniform = self._random.random(world_size)
            drawn = np.asarray(self._law.at_logit(np.log(uniform) - np.log1p(-uniform)))
        return np.asarray(drawn / self._law.mean)


def _settled(prediction: Prediction, constants: Calibration) -> Calibration:
    """Return constants with the jitter of the prediction's profile, if it has one."""
    if prediction.scenario["profile"] is None:
        return constants
    return with_profile(constants, read_profile(prediction.scenario["profile"]))


def _computes(name: str) -> bool:
    """Whether a term is a worker's own work, launches included, which jitters."""
    return TERMS[name].kind in ("busy", "host")


@dataclass(frozen=True)
class Emulation:
    """Predicted steps; iterating over them sleeps as long as each takes."""

    prediction: Prediction
    """Prediction to replay."""
    number: int
    """Number of steps."""
    seed: int = 0
    """Seed of the jitter."""
    speed: float = 1.0
    """Factor by which the replay is faster than reality."""

    def __iter__(self) -> Iterator[Step]:
        return Emulator(self.prediction, self.seed, self.speed).steps(self.number)

    def to_json(self) -> str:
        """Replay all steps, then return what ``perfmodel emulate --json`` prints."""
        steps = [
            {**step._asdict(), "phases": {phase.name: phase.time for phase in step.phases}} for step in self
        ]
        return json.dumps({"steps": steps})
