"""How far a transformer's predicted time may be off: by what was measured of its like, and by the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from perfmodel import ops
from perfmodel.evidence import EXPERTS, KNOWN, NEW, TRANSFORMERS, Scale, reason, scale_of
from perfmodel.specs.architecture import Architecture
from perfmodel.step.profiled import NORMAL_80, NORMAL_95
from perfmodel.transformers.anchor import SAME
from perfmodel.transformers.architecture import Dimensions
from perfmodel.transformers.parameters import Fitted, fitted

DENSE, MIXED = "dense, stated layout", "experts"
"""Keys of the learned spreads."""
SAME_LIBRARY = {"fsdp": "torchtitan", "pytorch-ddp": "mingpt"}
"""Stacks that are libraries of PyTorch alone -> a measured stack that trains by the same library."""


class Novelty(NamedTuple):
    """What about a job no run tells of that the shipped fit learned from."""

    experts: bool
    accelerator: str | None
    """Its id, where it is new."""
    software: str | None
    """Its stack, where that is new."""

    @property
    def kind(self) -> str:
        """Key of its learned spread."""
        return MIXED if self.experts else DENSE

    @property
    def job(self) -> str:
        """Class of the job in the ledger."""
        is_new = self.accelerator is not None or self.software is not None
        return EXPERTS if self.experts else NEW if is_new else KNOWN

    @property
    def scale(self) -> Scale:
        """Of that class."""
        return scale_of(TRANSFORMERS, self.job)

    @property
    def spread(self) -> float:
        """Standard deviation of ln(measured / predicted) from specs."""
        return self.spread_by(fitted().spreads, self.kind)

    def spread_by(self, spreads: Mapping[str, float], kind: str, fit: Fitted | None = None) -> float:
        """Return the same by the spread of a class of development rows, and by another fit than the shipped.

        Deviations are added, not their squares: software is tuned for the accelerators that somebody
        measured, so what they differ by is the least that another does.
        """
        fit = fit or fitted()
        on_new = (self.accelerator is not None) * fit.accelerator_spread
        by_new = (self.software is not None) * fit.software_spread
        return (spreads[kind] + on_new + by_new) * self.scale.factor

    def reasons(self) -> list[tuple[float, str]]:
        """Return by which factor each of it widens the interval, and in which words."""
        result = []
        for without, words in (
            (self._replace(experts=False), "few runs of mixtures of experts were measured"),
            (self._replace(accelerator=None), f"no measured run of a transformer on {self.accelerator}"),
            (self._replace(software=None), f"no measured run of {self.software}"),
        ):
            if without != self:
                result.append((self.spread / without.spread, words))
        return sorted(result, reverse=True)


def novelty(
    model: Architecture | Dimensions, accelerator: str, stack: str, fit: Fitted | None = None
) -> Novelty:
    """Return what is new about a job.

    Parameters
    ----------
    model, accelerator : what is trained, and the id of what it is trained on
    stack : its software, with or without a year: ``nemo@2025``
    fit : what was learned; None: the shipped fit
    """
    fit, name = fit or fitted(), stack.partition("@")[0]
    return Novelty(
        bool(model.experts),
        None if accelerator in fit.accelerators else accelerator,
        None if SAME_LIBRARY.get(name, name) in fit.stacks else name,
    )


def spread_of(
    new: Novelty, anchor_weight: Any = None, kind: str | None = None, fit: Fitted | None = None
) -> Any:
    """Return the standard deviation of ln(measured / predicted) on rows that are new to the model.

    From that of runs predicted from the nearest other one it grows, as the weight of an anchor falls to
    nothing, to that of runs predicted from specs; a measurement can only narrow that.

    Parameters
    ----------
    new : what is new about the job
    anchor_weight : of the measured run that the prediction starts from, number or array; None without one
    kind, fit : class of the spreads, and what was learned; by default the job's, and the shipped fit
    """
    fit, kind = fit or fitted(), kind or new.kind
    return _narrowed(new.spread_by(fit.spreads, kind, fit), anchor_weight, kind, fit)


def _narrowed(alone: float, anchor_weight: Any, kind: str, fit: Fitted) -> Any:
    """Return a spread from specs, narrowed by a measured run of that weight."""
    if anchor_weight is None:
        return alone
    near = min(fit.anchored_spreads[kind], fit.spreads[kind])
    return alone + ops.minimum(anchor_weight / fit.anchor_weights[SAME], 1.0) * (near - alone)


def scale_in(new: Novelty, anchor_weight: Any = None) -> float:
    """Return the factor of the ledger in that spread: 1 where a measured run has taken it away."""
    unscaled = _narrowed(new.spread / new.scale.factor, anchor_weight, new.kind, fitted())
    return float(spread_of(new, anchor_weight) / unscaled)


def why_wider(new: Novelty, anchor_weight: Any = None) -> list[str]:
    """Return in words what makes that spread wider than usual, and by which factor, the largest first."""
    if anchor_weight is not None and anchor_weight >= fitted().anchor_weights[SAME]:
        return [words for _, words in new.reasons() if new.experts and "experts" in words]
    return [reason(words, factor, new.scale) for factor, words in new.reasons()]


def ends(time: Any, spread: Any, scale: Scale) -> dict[str, Any]:
    """Return where a time lies with 80 and 95 % confidence [s], as far as the sources of a scale say."""
    return scale.ends(time, ops.exp(NORMAL_80 * spread), ops.exp(NORMAL_95 * spread))
