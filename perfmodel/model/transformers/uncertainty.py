"""How far a transformer's predicted time may be off: by what was measured of its like, and by the ledger."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, NamedTuple

from perfmodel.core import ops
from perfmodel.hardware.software import parts
from perfmodel.model.fitted.calibration import NORMAL_80, NORMAL_95
from perfmodel.model.fitted.ledger_scales import (
    EXPERTS,
    KNOWN,
    NEW,
    TRANSFORMERS,
    Open,
    Scale,
    left_open,
    reason,
    scale_of,
)
from perfmodel.model.transformers.architecture import Dimensions
from perfmodel.model.transformers.parameters import Fitted, fitted
from perfmodel.workloads.architecture import Architecture

DENSE, MIXED = "dense, stated layout", "experts"
"""Keys of the learned spreads."""
NOTICED = 1.05
"""Factor by which what is new about a job must widen its interval to be named."""
SAME_LIBRARY = {"fsdp": "torchtitan", "pytorch": "mingpt"}
"""Software that is PyTorch's libraries alone -> measured software that trains by the same library."""


WELL_USED, MOST_WIDER = 0.3, 1.5
"""Utilisation below which a job is missed by more, as the root of how far below, and by which factor at most.

Of runs that the fit learned from, each source by a fit to the others, intervals as wide as their class is
missed hold 87 % with more of the peak (31 sources), 69 % with less, and so 80 % (25 sources); a steeper or
wider law has a worse interval score.  Chosen with these numbers in view, as those below."""
LONGEST, LONGER = 2.0**20, 0.25
"""Tokens of the longest sequence that was measured, and the exponent of a longer one by which it is missed by
more.  Where a fit sees no sequence beyond 1,024 or 2,048 tokens, those up to 8 times as long are missed by
1.0 to 1.2 times as much as usual, longer ones by 2.7 (4 sources, some 30 times as long).  More accelerators
and larger batches do not widen: left out alike, they are missed by 0.9 to 1.1 times as much, however big."""
PRECISIONS, OTHER_PRECISION = ("fp16", "bf16", "fp8", "mxfp8"), 1.35
"""Those that were measured, and by which factor a job in another is missed by more: the median of what
leaving out fp16, bf16 and 8 bits does (2.2, 1.35 and 1.31)."""
ENCODER_DECODER, LATENT = 1.16, 1.07
"""By how much more they are missed than others of their class, each source by a fit to the others: 1.44 and
1.19, of two sources each, drawn towards 1 as if three more had that, as scales of the ledger are."""


class Widening(NamedTuple):
    """What else about a job makes its interval wider."""

    factor: Any
    """Number or array."""
    words: str
    sources: int
    """That say so."""


class Novelty(NamedTuple):
    """What about a job no run tells of that the shipped fit learned from, or few."""

    experts: bool
    accelerator: str | None
    """Its id, where it is new."""
    software: str | None
    """Its stack, where that is new."""
    others: tuple[Widening, ...] = ()
    """What else."""
    left_open: tuple[Open, ...] = ()
    """Options that it leaves to their defaults."""

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
        """Scale of that class."""
        return scale_of(TRANSFORMERS, self.job)

    @property
    def spread(self) -> Any:
        """Standard deviation of ln(measured / predicted) from specs."""
        return self.spread_by(fitted().spreads, self.kind)

    @property
    def plain(self) -> Novelty:
        """The novelty without what else widens, of which other jobs of its source tell nothing."""
        return self._replace(others=(), left_open=())

    @property
    def stretch(self) -> Any:
        """Factor by which what else there is widens an interval."""
        return math.prod(each.factor for each in self.others + self.left_open)

    @property
    def common(self) -> Any:
        """Factor by which what two jobs share that are compared widens both intervals."""
        return math.prod((self.scale.factor, *(each.factor for each in self.left_open)))

    def spread_by(self, spreads: Mapping[str, float], kind: str, fit: Fitted | None = None) -> Any:
        """Return the deviation by the spread of a class of development rows, of another fit than the shipped.

        Deviations are added, not their squares: software is tuned for the accelerators that somebody
        measured, so what they differ by is the least that another does.
        """
        fit = fit or fitted()
        on_new = (self.accelerator is not None) * fit.accelerator_spread
        by_new = (self.software is not None) * fit.software_spread
        return (spreads[kind] + on_new + by_new) * self.scale.factor * self.stretch

    def reasons(
        self, spread_of: Callable[[Novelty], Any] = attrgetter("spread")
    ) -> list[tuple[float, str, Scale]]:
        """Return, for each thing new about a job, by which factor it widens the interval, in words, and why.

        Parameters
        ----------
        spread_of : what is left of the error of a job with this novelty; by default all of it
        """
        others: list[tuple[Novelty, Widening | Open]]
        others = [(self._replace(others=_but(self.others, one)), one) for one in self.others]
        opened = [(self._replace(left_open=_but(self.left_open, one)), one) for one in self.left_open]
        result = []
        for without, one in (*others, *opened):
            factor = float(spread_of(self) / spread_of(without))
            result.append((factor, one.words, Scale(one.factor, one.sources)))
        for without, words in (
            (self._replace(experts=False), "few runs of mixtures of experts were measured"),
            (self._replace(accelerator=None), f"no measured run of a transformer on {self.accelerator}"),
            (self._replace(software=None), f"no measured run of {self.software}"),
        ):
            if without != self:
                result.append((float(spread_of(self) / spread_of(without)), words, self.scale))
        return sorted(result, reverse=True)


def _but(every: tuple[Any, ...], one: object) -> tuple[Any, ...]:
    return tuple(each for each in every if each is not one)


def less_used(utilisation: Any) -> Any:
    """Return by which factor a job is wider that uses little of the peak, number or array."""
    return ops.minimum(ops.sqrt(ops.maximum(WELL_USED / utilisation, 1.0)), MOST_WIDER)


def widenings(
    model: Architecture | Dimensions, sequence_length: float, precision: str, utilisation: Any
) -> tuple[Widening, ...]:
    """Return what else than software and accelerator makes an interval wider.

    Parameters
    ----------
    model, sequence_length, precision : what is trained, on how many tokens of a sample, and in what
    utilisation : predicted, of the peak by the model's FLOP; number or array
    """
    is_latent = isinstance(model, Architecture) and bool(model.kv_rank)
    is_both = bool(model.encoder_layers if isinstance(model, Architecture) else model.is_encoder_decoder)
    longer = max(sequence_length / LONGEST, 1.0) ** LONGER
    result = [Widening(less_used(utilisation), f"predicted utilisation below {WELL_USED:.0%}", 25)]
    if longer > 1:
        result.append(Widening(longer, f"no measured sequence beyond {LONGEST:,.0f} tokens", 4))
    if precision not in PRECISIONS:
        result.append(Widening(OTHER_PRECISION, f"no measured run in {precision}", 24))
    if is_both:
        result.append(Widening(ENCODER_DECODER, "few runs of encoder-decoders were measured", 2))
    if is_latent:
        result.append(Widening(LATENT, "few runs with latent attention were measured", 2))
    return tuple(result)


def novelty(
    model: Architecture | Dimensions,
    accelerator: str,
    stack: str,
    fit: Fitted | None = None,
    others: tuple[Widening, ...] = (),
) -> Novelty:
    """Return what is new about a job.

    Parameters
    ----------
    model, accelerator : what is trained, and the id of what it is trained on
    stack : its software, with or without a year: ``nemo@2025``
    fit : what was learned; None: the shipped fit
    others : what else widens, by ``widenings``
    """
    fit, name = fit or fitted(), parts(stack)[0]
    return Novelty(
        bool(model.experts),
        None if accelerator in fit.accelerators else accelerator,
        None if SAME_LIBRARY.get(name, name) in fit.stacks else name,
        others,
    )


def with_open(new: Novelty, options: Mapping[str, Any]) -> Novelty:
    """Return what is new about a job some options of which are left to their defaults.

    Parameters
    ----------
    new : of the job, were all stated
    options : as of ``left_open``
    """
    return new._replace(left_open=tuple(left_open(TRANSFORMERS, options, new.spread)))


def why_wider(new: Novelty, spread_of: Callable[[Novelty], Any] | None = None) -> list[str]:
    """Return in words what makes the interval of a job wider than usual, and by which factor, largest first.

    Parameters
    ----------
    new : what is new about the job
    spread_of : as of ``Novelty.reasons``, where own runs narrow it
    """
    reasons = new.reasons() if spread_of is None else new.reasons(spread_of)
    return [reason(words, factor, scale) for factor, words, scale in reasons if factor > NOTICED]


def ends(time: Any, spread: Any, scale: Scale) -> dict[str, Any]:
    """Return where a time lies with 80 and 95 % confidence [s], as far as the sources of a scale say."""
    return scale.ends(time, ops.exp(NORMAL_80 * spread), ops.exp(NORMAL_95 * spread))
