"""What a user's own runs say beside the shipped fit: factors by name, and what of an interval they settle.

``perfmodel calibrate --data`` writes them as a file, ``evidence.fitting.own_runs`` works them out.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from perfmodel.core.errors import refusal
from perfmodel.core.ops import Real, maximum, sqrt
from perfmodel.core.tracing.tracing import given

if TYPE_CHECKING:
    from perfmodel.model.fitted.effect_inputs import EffectInputs

VERSION = 2
"""Of the file; another one is refused."""
KIND = "your own runs"
"""What the file calls itself."""
COMPONENTS = ("software", "accelerator", "network", "run")
"""What a run may share with others; ``run`` is all of it."""


def component_keys(framework: str, precision: str, accelerator: str, network: str) -> dict[str, str]:
    """Return what a run may share with others, by the component of its error.

    >>> component_keys("pytorch", "amp", "k80", "vgg16")["software"]
    'pytorch in amp'
    """
    software = f"{framework} in {precision}"
    return {
        "software": software,
        "accelerator": accelerator,
        "network": network,
        "run": f"{network} on {accelerator}, {software}",
    }


def effect_names(on: EffectInputs) -> list[str]:
    """Return the effects that act on the computation of a configuration."""
    keys = component_keys(on.framework, on.precision, on.accelerator, on.workload)
    return [f"{component}/{key}" for component, key in keys.items()]


class OwnEffects(NamedTuple):
    """What own runs moved, beside the shipped fit."""

    file: str
    runs: int
    logarithms: Mapping[str, float]
    """Of factors on computation by component and key, and on what links carry as ``link/ID``."""
    settled: Mapping[str, Mapping[str, float]]
    """How much less the effects on computation vary than before the runs: prior less posterior covariance."""
    components: Mapping[str, float]
    """Variance of an error's components, over that of its interval: those of ``COMPONENTS``, ``rest``, which
    no two runs share, and ``several``, on several accelerators; ``link`` is that of what a link carries."""
    scale: float
    """Mean variance of the runs before, as their intervals say."""
    noise: float
    """Variance of what the runs do not share, over what the fit expects."""
    scatter: float
    """Root mean square of the runs' logarithmic errors, each predicted from the others."""
    seen: Mapping[str, Sequence[str]]
    """Accelerators, networks, software and links of the runs."""
    jobs: Mapping[str, Sequence[float]] = {}
    """Jobs of copies that were measured themselves, by ``job_key``: mean time [s], and the standard deviation
    of its logarithm when it is measured again."""
    transformers: Sequence[Mapping[str, object]] = ()
    """Runs of transformers, as ``model.transformers.own_runs.row_of`` writes them."""

    def computation(self, on: EffectInputs) -> float:
        """Return the logarithm of the factor on a configuration's computation."""
        return sum(self.effect(name) for name in effect_names(on))

    def effect(self, name: str) -> float:
        """Return the logarithm of what the runs moved; 0 of what they say nothing of."""
        known = self.logarithms.get(name)
        if known is None:
            return 0.0
        result: float = given(known, f"own_runs.{name}", f"your own runs, {self.file}")
        return result

    @property
    def _between(self) -> float:
        """Variance of what runs on one accelerator may share, over that of their intervals."""
        return sum(self.components[name] for name in COMPONENTS)

    def settles(self, on: EffectInputs, communication: Real, several: Real) -> Real:
        """Return how much of what runs may share these settle of a job's error: 0 nothing, 1 all of it.

        Parameters
        ----------
        on : the configuration
        communication : share of the time; the error of the rest is as much of the whole's
        several : 1 on several accelerators, whose times vary by more than one's, else 0
        """
        names = effect_names(on)
        settled = sum(self.settled.get(one, {}).get(other, 0.0) for one in names for other in names)
        of_one = min(1.0, max(0.0, settled / (self._between * self.scale)))
        whole = self._between + self.components["rest"]
        return of_one * (1 - communication) ** 2 / (1 + several * self.components["several"] / whole)

    def least_variance(self, on: EffectInputs) -> float:
        """Return the least variance of a job's logarithmic error: the runs' own, as far as it shares them."""
        shared = sum(
            self.components[name.partition("/")[0]] for name in effect_names(on) if name in self.settled
        )
        return shared / self._between * self.scatter**2

    def narrowing(self, share: Real, least: float, deviation: Real) -> Real:
        """Return the factor on the width of an interval.

        Parameters
        ----------
        share : what ``settles`` says of the job
        least : what ``least_variance`` says of it
        deviation : standard deviation of the logarithmic error that the interval stands for without the runs

        Of the variance goes what the runs settle, and of the rest their own noise takes its share's place; no
        interval is narrower than the runs' own scatter, each predicted from the others.
        """
        rest = self.components["rest"]
        left = 1 - share * (self._between + rest * (1 - self.noise)) / (self._between + rest)
        return sqrt(maximum(left, least / deviation**2))

    def of_links(self) -> OwnEffects:
        """Return what is left where one's own profile says how fast an accelerator is."""
        links = {name: value for name, value in self.logarithms.items() if name.startswith("link/")}
        return self._replace(logarithms=links, settled={}, jobs={}, transformers=())


def fingerprint(content: bytes) -> str:
    """Return the SHA-256 of a content."""
    return hashlib.sha256(content).hexdigest()


def seal(table: Mapping[str, Any]) -> str:
    """Return the sum that stands in a file for all else it holds."""
    return fingerprint(json.dumps(table, sort_keys=True).encode())


def is_own(table: object) -> bool:
    """Whether what a JSON file holds are the effects of own runs."""
    return isinstance(table, dict) and table.get("kind") == KIND


def effects_of(table: Mapping[str, Any], path: Path | str, base: str) -> OwnEffects:
    """Return the effects that a file holds.

    Parameters
    ----------
    table : what was read of it
    path : of the file
    base : fingerprint of the shipped fit, beside which the effects were learned

    Raises
    ------
    InputError : a file of another version, beside another fit, or that was changed
    """
    again = "run perfmodel calibrate --data again"
    if table.get("version") != VERSION:
        raise refusal("calibration.version", get=table.get("version"), again=again, version=VERSION).under(
            path
        )
    if table.get("beside") != base:
        raise refusal("calibration.other_fit", again=again).under(path)
    if table.get("seal") != seal({name: value for name, value in table.items() if name != "seal"}):
        raise refusal("calibration.damaged", again=again).under(path)
    try:
        return OwnEffects(
            str(path),
            len(table["rows"]),
            {name: effect["logarithm"] for name, effect in table["effects"].items()},
            table["settled"],
            table["components"],
            **{name: table[name] for name in ("scale", "noise", "scatter", "seen", "jobs", "transformers")},
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise refusal("calibration.damaged_by", error=str(error), again=again).under(path) from None
