"""Effects learned from a user's own runs: factors on the shipped fit, and narrower intervals.

``evidence.fitting.own_runs`` computes them, ``perfmodel calibrate --data`` writes them to a file.
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

VERSION = 3
"""Version of the file; others are refused."""
KIND = "your own runs"
"""Value of ``kind`` in the file."""
COMPONENTS = ("software", "accelerator", "network", "run")
"""Components of a run's error that other runs may share; ``run`` is the combination of all."""


def component_keys(framework: str, precision: str, accelerator: str, network: str) -> dict[str, str]:
    """Return the key of a run for each of ``COMPONENTS``; runs with the same key share that component.

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
    """Return the names of the effects on the computation of a configuration."""
    keys = component_keys(on.framework, on.precision, on.accelerator, on.workload)
    return [f"{component}/{key}" for component, key in keys.items()]


class OwnEffects(NamedTuple):
    """Effects of a user's own runs in addition to the shipped fit."""

    file: str
    runs: int
    logarithms: Mapping[str, float]
    """Logarithms of factors on computation, by ``COMPONENT/KEY``, and on link bandwidths, as ``link/ID``."""
    settled: Mapping[str, Mapping[str, float]]
    """Reduction of the effects' covariance by the runs: prior less posterior covariance."""
    components: Mapping[str, float]
    """Variance of an error's components, over that of its interval: those of ``COMPONENTS``, ``rest``, which
    no two runs share, and ``several``, on several accelerators; ``link`` is that of link bandwidths."""
    scale: float
    """Mean variance of the runs' errors before calibration, by their intervals."""
    noise: float
    """Variance of the errors that the runs do not share, over the variance that the fit expects."""
    scatter: float
    """Root mean square of the runs' logarithmic errors, each predicted from the others."""
    seen: Mapping[str, Sequence[str]]
    """Accelerators, networks, software and links of the runs."""
    jobs: Mapping[str, Sequence[float]] = {}
    """Measured data-parallel jobs, by ``job_key``: mean time [s], the standard deviation of its logarithm
    between repeated measurements, accelerators, and ln(time / prediction with these effects)."""
    transformers: Sequence[Mapping[str, object]] = ()
    """Runs of transformers, as ``model.transformers.own_runs.row_of`` writes them."""
    caution: str = ""
    """Why they should not be used as they are; "" where nothing speaks against them."""

    def computation(self, on: EffectInputs) -> float:
        """Return the logarithm of the factor on a configuration's computation."""
        return sum(self.effect(name) for name in effect_names(on))

    def effect(self, name: str) -> float:
        """Return the logarithm of one effect; 0 if the runs do not determine it."""
        known = self.logarithms.get(name)
        if known is None:
            return 0.0
        result: float = given(known, f"own_runs.{name}", f"your own runs, {self.file}")
        return result

    @property
    def _between(self) -> float:
        """Variance that runs on one accelerator may share, over that of their intervals."""
        return sum(self.components[name] for name in COMPONENTS)

    def removed_share(self, on: EffectInputs, communication: Real, several: Real) -> Real:
        """Return the share of a job's shareable error variance that the runs remove, from 0 to 1.

        Parameters
        ----------
        on : the configuration
        communication : share of communication in the time; the effects act on the rest
        several : 1 for several accelerators, whose times vary more than one's, else 0
        """
        names = effect_names(on)
        settled = sum(self.settled.get(one, {}).get(other, 0.0) for one in names for other in names)
        of_one = min(1.0, max(0.0, settled / (self._between * self.scale)))
        whole = self._between + self.components["rest"]
        return of_one * (1 - communication) ** 2 / (1 + several * self.components["several"] / whole)

    def least_variance(self, on: EffectInputs) -> float:
        """Return the least variance of a job's logarithmic error: the scatter of the runs it shares."""
        shared = sum(
            self.components[name.partition("/")[0]] for name in effect_names(on) if name in self.settled
        )
        return shared / self._between * self.scatter**2

    def narrowing(self, share: Real, least: float, deviation: Real) -> Real:
        """Return the factor on the width of an interval.

        Parameters
        ----------
        share : result of ``removed_share`` for the job
        least : result of ``least_variance`` for the job
        deviation : standard deviation of the logarithmic error of the interval without the runs

        The runs remove a share of the variance, and their noise replaces the rest's; no interval is narrower
        than the runs' own scatter, each predicted from the others.
        """
        rest = self.components["rest"]
        left = 1 - share * (self._between + rest * (1 - self.noise)) / (self._between + rest)
        return sqrt(maximum(left, least / deviation**2))

    def of_links(self) -> OwnEffects:
        """Return the effects on links only, for jobs whose profile determines the computation."""
        links = {name: value for name, value in self.logarithms.items() if name.startswith("link/")}
        return self._replace(logarithms=links, settled={}, jobs={}, transformers=())


def caution_of(standing: str, advice: str) -> str:
    """Return why a user should not use what runs teach as it is, from what the update is worth."""
    return advice if standing in ("worse", "unchecked") else ""


def fingerprint(content: bytes) -> str:
    """Return the SHA-256 of bytes, as hexadecimal text."""
    return hashlib.sha256(content).hexdigest()


def seal(table: Mapping[str, Any]) -> str:
    """Return the checksum of a file's table, without the checksum itself."""
    return fingerprint(json.dumps(table, sort_keys=True).encode())


def effects_of(table: Mapping[str, Any], path: Path | str, base: str) -> OwnEffects:
    """Return the effects in the table of a file.

    Parameters
    ----------
    table : the file's content
    path : of the file
    base : fingerprint of the shipped fit, which must equal that of the fit the effects were learned with

    Raises
    ------
    InputError : a file of another version, learned with another fit, or edited
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
            caution=caution_of(table["standing"], table["advice"]),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise refusal("calibration.damaged_by", error=str(error), again=again).under(path) from None
