"""A collective next to a listing of one's own: what was measured, and the interval after seeing it."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from perfmodel.core.errors import refusal
from perfmodel.core.records.record import Record
from perfmodel.core.units import plural, show, show_range
from perfmodel.model.collectives.place import Point
from perfmodel.model.fitted.calibration import NORMAL_80
from perfmodel.model.prediction.collectives.collective import Collective, collective
from perfmodel.model.prediction.collectives.size_errors import SizeErrors, narrowed, spreads_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
else:
    Floats = Any

BEYOND = 1.1
"""Factor past the ends of a listing up to which its times are continued: 1 MB is 5 % below 1 MiB."""


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
    """Measured time of this message size [s]; None if it is outside the sizes of the listing."""
    measured_bus_bandwidth: float | None = None
    """Bus bandwidth at that time, as nccl-tests defines it [B/s]."""
    measured_interpolated: bool = False
    """Whether it is not of a size of the listing, but of a power law through the two nearest."""
    measured_verdict: Literal["fast", "normal", "slow"] | None = None
    """Where it lies: below, in or above the 80 % interval of the prediction; None without one."""
    after_listing: AfterListing | None = None
    """The prediction after the listing."""

    @property
    def measured_text(self) -> str:
        """The measured time as text, marked where it is not of a size of the listing."""
        if self.measured_time is None:
            return "-"
        return f"{'~' if self.measured_interpolated else ''}{show(self.measured_time, 's')}"

    @property
    def measured_bus_text(self) -> str:
        """The bus bandwidth at that time as text."""
        return "-" if self.measured_bus_bandwidth is None else show(self.measured_bus_bandwidth, "B/s")

    @property
    def after_text(self) -> str:
        """The interval after the listing, as text."""
        after = self.after_listing
        return "-" if after is None else show_range(after.low_80, after.high_80, "s")


def verdict_on_listing(rows: Sequence[MeasuredCollective]) -> str | None:
    """Return whether a listing is normal, by its worst size, in words; None without any of the sizes."""
    known = [(row.measured_time / row.time, row) for row in rows if row.measured_time is not None]
    if not known:
        return None
    if all(row.measured_verdict == "normal" for _, row in known):
        return "the listing is normal: inside the 80 % interval of the prediction at every size"
    parts = []
    for verdict, words in (("slow", "slower"), ("fast", "faster")):
        alike = [(ratio, row) for ratio, row in known if row.measured_verdict == verdict]
        if alike:
            ratio, row = max(alike, key=lambda pair: abs(math.log(pair[0])))
            sizes = f"at {len(alike)} of {len(known)} {plural('size', len(known))}"
            far = f"{max(ratio, 1 / ratio):.1f} x as {verdict} as predicted at {show(row.message_bytes, 'B')}"
            parts.append(f"{words} than the 80 % interval {sizes}, {far}")
    return f"the listing is {'; '.join(parts)}"


def _interpolated(wanted: Sequence[float], sizes: Floats, times: Floats) -> list[tuple[float | None, bool]]:
    """Return the measured time of each wanted size, and whether it is not of a size of the listing.

    A power law through the two nearest sizes gives it between sizes, and up to ``BEYOND`` past either end.
    """
    listed, which = np.unique(sizes, return_inverse=True)
    logarithms = np.bincount(which, np.log(times)) / np.bincount(which)
    result: list[tuple[float | None, bool]] = []
    for size in wanted:
        if size in listed:
            result.append((float(np.exp(logarithms[np.searchsorted(listed, size)])), False))
        elif len(listed) < 2 or not listed[0] / BEYOND <= size <= listed[-1] * BEYOND:
            result.append((None, False))
        else:
            left = min(max(int(np.searchsorted(listed, size)) - 1, 0), len(listed) - 2)
            low, high = np.log(listed[left : left + 2])
            share = (math.log(size) - low) / (high - low)
            between = logarithms[left] + share * (logarithms[left + 1] - logarithms[left])
            result.append((float(np.exp(between)), True))
    return result


def _between_note(sizes: Floats, measured: Sequence[tuple[float | None, bool]]) -> list[str]:
    """Return a note on times between sizes of a listing, with the option that takes its sizes; else none."""
    if not any(between for _, between in measured):
        return []
    low, high = float(sizes.min()), float(sizes.max())
    count, ends = len(set(sizes.tolist())), f"from {show(low, 'B')} to {show(high, 'B')}"
    words = f"the listing has {count} sizes, {ends}; a time with ~ is between two of them, by a power law"
    if np.all(np.log2(sizes / low) % 1 == 0):
        words += f"; --size {_typed(low)}..{_typed(high)} takes sizes of the listing"
    return [words]


def _typed(size: float) -> str:
    """Return a size [B] as it is typed, without rounding.

    >>> _typed(2.0**23), _typed(65536.0), _typed(8.0)
    ('8MiB', '64KiB', '8B')
    """
    unit, scale = next((each for each in (("MiB", 2**20), ("KiB", 2**10)) if size % each[1] == 0), ("B", 1))
    return f"{size / scale:.0f}{unit}"


def _verdict(result: Collective, time: float | None) -> Literal["fast", "normal", "slow"] | None:
    """Return where a measured time lies in the 80 % interval of a prediction."""
    if time is None or result.interval is None:
        return None
    if time > result.interval.high_80:
        return "slow"
    return "fast" if time < result.interval.low_80 else "normal"


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
    measured = _interpolated(wanted, sizes, times)
    rows, notes = [], _between_note(sizes, measured)
    learned = zip(known.errors.tolist(), known.spreads.tolist(), strict=True)
    for result, (error, spread), (time, between) in zip(results, learned, measured, strict=True):
        middle = result.time * float(np.exp(error))
        factor = float(np.exp(NORMAL_80 * spread))
        rows.append(
            MeasuredCollective.model_construct(
                **{field: getattr(result, field) for field in Collective.model_fields if field != "warnings"},
                warnings=[*result.warnings, *notes],
                measured_time=time,
                measured_bus_bandwidth=time and result.bus_bandwidth * result.time / time,
                measured_interpolated=between,
                measured_verdict=_verdict(result, time),
                after_listing=AfterListing(time=middle, low_80=middle / factor, high_80=middle * factor),
            )
        )
    return tuple(rows)
