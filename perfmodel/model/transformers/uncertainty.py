"""Error of a transformer's predicted time, from errors on similar measured jobs and from the ledger."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, NamedTuple

from perfmodel.core import ops
from perfmodel.core.units import per_cent
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
"""Least factor of a widening that is reported."""
SAME_LIBRARY = {"fsdp": "torchtitan", "pytorch": "mingpt"}
"""Software that is only PyTorch's libraries -> measured software that uses the same library."""


WELL_USED, MOST_WIDER = 0.3, 1.5
"""Utilisation below which errors grow, as the root of the ratio, and the largest factor of that growth.

On fitted runs, each source predicted by a fit to the others, intervals of their class's width hold 87 % above
this utilisation (31 sources) and 69 % below it, 80 % with this law (25 sources); a steeper or wider law has a
worse interval score.  Chosen with these numbers in view, as those below."""
LONGEST, LONGER = 2.0**20, 0.25
"""Tokens of the longest measured sequence, and the exponent by which errors grow for longer ones.  If a fit
sees no sequence beyond 1,024 or 2,048 tokens, errors of those up to 8 times as long are 1.0 to 1.2 times as
large as usual, of longer ones 2.7 times (4 sources, some 30 times as long).  More accelerators and larger
batches do not widen: left out alike, their errors are 0.9 to 1.1 times as large, at any size."""
PRECISIONS, OTHER_PRECISION = ("fp16", "bf16", "fp8", "mxfp8"), 1.35
"""Measured precisions, and the factor on the errors of jobs in another: the median of leaving out fp16, bf16
and 8 bits (2.2, 1.35 and 1.31)."""
SCANS = 1.3
"""Factor on the errors of networks with scans, linear attention or modules that predict further tokens, of
which no run was measured (assumed)."""
ENCODER_DECODER, LATENT = 1.16, 1.07
"""Factors on the errors of encoder-decoders and of latent attention, each source predicted by a fit to the
others: 1.44 and 1.19, of two sources each, shrunk towards 1 with the weight of three sources."""


class Widening(NamedTuple):
    """A property of a job that widens its interval, with its factor and sources."""

    factor: Any
    """Number or array."""
    words: str
    sources: int
    """Number of sources behind the factor."""


class Novelty(NamedTuple):
    """Properties of a job that no run, or few runs, of the shipped fit have."""

    experts: bool
    accelerator: str | None
    """Id of the accelerator, if it is new."""
    software: str | None
    """Name of the software, if it is new."""
    others: tuple[Widening, ...] = ()
    """Other properties that widen the interval."""
    left_open: tuple[Open, ...] = ()
    """Widening by options left to their defaults."""

    @property
    def kind(self) -> str:
        """Key of the job's learned spread."""
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
        """The novelty without ``others`` and ``left_open``, which other jobs of the source do not reduce."""
        return self._replace(others=(), left_open=())

    @property
    def stretch(self) -> Any:
        """Factor by which ``others`` and ``left_open`` widen an interval."""
        return math.prod(each.factor for each in self.others + self.left_open)

    @property
    def common(self) -> Any:
        """Factor that widens the intervals of two compared jobs alike: ledger scale and options left open."""
        return math.prod((self.scale.factor, *(each.factor for each in self.left_open)))

    def spread_by(self, spreads: Mapping[str, float], kind: str, fit: Fitted | None = None) -> Any:
        """Return the standard deviation from the spreads of a class, by default with the shipped fit.

        Deviations are added, not their squares: software is tuned for the accelerators that were measured, so
        the differences between these are a lower bound for a new one.
        """
        fit = fit or fitted()
        on_new = (self.accelerator is not None) * fit.accelerator_spread
        by_new = (self.software is not None) * fit.software_spread
        return (spreads[kind] + on_new + by_new) * self.scale.factor * self.stretch

    def reasons(
        self, spread_of: Callable[[Novelty], Any] = attrgetter("spread")
    ) -> list[tuple[float, str, Scale]]:
        """Return, for each novelty of a job, its factor on the interval, text and scale, largest first.

        Parameters
        ----------
        spread_of : standard deviation of a job with this novelty, if own runs reduce it; by default
            ``spread``
        """
        others: list[tuple[Novelty, Widening | Open]]
        others = [(self._replace(others=_without(self.others, one)), one) for one in self.others]
        opened = [(self._replace(left_open=_without(self.left_open, one)), one) for one in self.left_open]
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


def _without(every: tuple[Any, ...], one: object) -> tuple[Any, ...]:
    """Return a tuple without one of its objects."""
    return tuple(each for each in every if each is not one)


def low_utilisation_factor(utilisation: Any) -> Any:
    """Return the factor on the interval of a job with low utilisation of the peak, number or array."""
    return ops.minimum(ops.sqrt(ops.maximum(WELL_USED / utilisation, 1.0)), MOST_WIDER)


def widenings(
    model: Architecture | Dimensions, sequence_length: float, precision: str, utilisation: Any
) -> tuple[Widening, ...]:
    """Return the widenings of an interval by properties other than software and accelerator.

    Parameters
    ----------
    model, sequence_length, precision : the network, tokens of a sample, precision of training
    utilisation : predicted model FLOP over the peak; number or array
    """
    is_latent = isinstance(model, Architecture) and bool(model.kv_rank)
    of_architecture = isinstance(model, Architecture) and bool(model.scan or model.mtp_layers)
    is_of_types = of_architecture or getattr(model, "layer_types", None) is not None
    is_both = bool(model.encoder_layers if isinstance(model, Architecture) else model.is_encoder_decoder)
    longer = max(sequence_length / LONGEST, 1.0) ** LONGER
    result = [
        Widening(
            low_utilisation_factor(utilisation), f"predicted utilisation below {per_cent(WELL_USED, 0)}", 25
        )
    ]
    if longer > 1:
        result.append(Widening(longer, f"no measured sequence beyond {LONGEST:,.0f} tokens", 4))
    if precision not in PRECISIONS:
        result.append(Widening(OTHER_PRECISION, f"no measured run in {precision}", 24))
    if is_both:
        result.append(Widening(ENCODER_DECODER, "few runs of encoder-decoders were measured", 2))
    if is_of_types:
        result.append(Widening(SCANS, "no measured run with scans or modules for further tokens", 0))
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
    """Return the novelty of a job compared with the runs of a fit.

    Parameters
    ----------
    model, accelerator : the network, and the id of the accelerator
    stack : its software, with or without a year: ``nemo@2025``
    fit : the fit to compare with; None: the shipped fit
    others : result of ``widenings``
    """
    fit, name = fit or fitted(), parts(stack)[0]
    return Novelty(
        bool(model.experts),
        None if accelerator in fit.accelerators else accelerator,
        None if SAME_LIBRARY.get(name, name) in fit.stacks else name,
        others,
    )


def with_open(new: Novelty, options: Mapping[str, Any]) -> Novelty:
    """Return the novelty of a job with the widenings of options left to their defaults.

    Parameters
    ----------
    new : novelty of the job with all options stated
    options : as for ``left_open``
    """
    return new._replace(left_open=tuple(left_open(TRANSFORMERS, options, new.spread)))


def why_wider(new: Novelty, spread_of: Callable[[Novelty], Any] | None = None) -> list[str]:
    """Return, as text, the reasons for a wider interval with their factors, largest first.

    Parameters
    ----------
    new : novelty of the job
    spread_of : as for ``Novelty.reasons``, if own runs narrow the interval
    """
    reasons = new.reasons() if spread_of is None else new.reasons(spread_of)
    return [reason(words, factor, scale) for factor, words, scale in reasons if factor > NOTICED]


def ends(time: Any, spread: Any, scale: Scale) -> dict[str, Any]:
    """Return the ends of the 80 and 95 % intervals of a time [s]; the latter only with enough sources."""
    return scale.ends(time, ops.exp(NORMAL_80 * spread), ops.exp(NORMAL_95 * spread))
