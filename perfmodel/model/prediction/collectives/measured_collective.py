"""A collective next to a listing of one's own: what was measured, and the interval after seeing it."""

from collections.abc import Sequence

import numpy as np

from perfmodel.core.errors import refusal
from perfmodel.core.records.record import Record
from perfmodel.core.units import show_range
from perfmodel.model.collectives.place import Point
from perfmodel.model.fitted.calibration import NORMAL_80
from perfmodel.model.prediction.collectives.collective import Collective, collective
from perfmodel.model.prediction.collectives.size_errors import SizeErrors, narrowed, spreads_at


class AfterListing(Record):
    """The time of a collective after a listing of the same machines has been seen; times in seconds."""

    time: float
    """Median."""
    low_80: float
    """Lower end of the 80 % interval when it is measured again."""
    high_80: float
    """Upper end."""


class MeasuredCollective(Collective):
    """A collective with what a listing of the same machines says."""

    measured_time: float | None = None
    """Measured time of this message size [s]; None if the listing does not have it."""
    after_listing: AfterListing | None = None
    """The prediction after the listing."""

    @property
    def after_text(self) -> str:
        """The interval after the listing, as text."""
        after = self.after_listing
        return "-" if after is None else show_range(after.low_80, after.high_80, "s")


def after_listing(
    results: Sequence[Collective],
    algorithm: str,
    fabric: Point,
    listed: Sequence[tuple[float, float]],
) -> tuple[MeasuredCollective, ...]:
    """Return collectives with their times after a listing, whose errors they share.

    Parameters
    ----------
    results : predicted, of one collective on one fabric
    algorithm : as they were predicted
    fabric : placement of the ranks
    listed : message size [B] and measured time [s] of each row of the listing

    Raises
    ------
    InputError : an algorithm without measurements, which has no interval
    """
    name = results[0].collective
    if any(result.interval is None for result in results):
        raise refusal("collective.no_interval", "measured", "algorithm", algorithm=results[0].algorithm)
    sizes, times = (np.array(column, dtype=float) for column in zip(*listed, strict=True))
    predicted = np.array([collective(name, algorithm, fabric, float(size)).time for size in sizes])
    point = fabric.of(name, float(sizes[-1]))
    errors = np.log(times / predicted)
    wanted = [result.message_bytes for result in results]
    prior = SizeErrors(sizes, spreads_at(point, sizes.tolist()))
    known = narrowed(prior, errors, wanted, spreads_at(point, wanted))
    measured = dict(zip(sizes.tolist(), times.tolist(), strict=True))
    rows = []
    for result, error, spread in zip(results, known.errors.tolist(), known.spreads.tolist(), strict=True):
        middle = result.time * float(np.exp(error))
        factor = float(np.exp(NORMAL_80 * spread))
        rows.append(
            MeasuredCollective.model_construct(
                **{field: getattr(result, field) for field in Collective.model_fields},
                measured_time=measured.get(result.message_bytes),
                after_listing=AfterListing(time=middle, low_80=middle / factor, high_80=middle * factor),
            )
        )
    return tuple(rows)
