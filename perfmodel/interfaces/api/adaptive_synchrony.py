"""``perfmodel.adaptive_synchrony``: how much to synchronise as the error falls."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from perfmodel.core.records.arguments import COUNT, NUMBER, expect
from perfmodel.core.units import parse
from perfmodel.equations.distribution import Distribution
from perfmodel.interfaces.api.stragglers import law_from
from perfmodel.model.prediction.intervals.absurd import checked
from perfmodel.model.prediction.training.adaptive import Schedule, schedule


def adaptive_synchrony(
    *,
    workers: int = 16,
    distribution: str | Distribution = "shifted-exponential",
    params: Mapping[str, float | str] | None = None,
    communication_time: float | str = 0.0,
    interval: float | str | None = None,
    learning_rate: float = 0.05,
) -> Schedule:
    """Return how many gradients an update should wait for (AdaSync), and how many local steps (AdaComm).

    Each is what gets furthest until the next choice, by the bound on an example objective.

    Parameters
    ----------
    workers : that compute gradients
    distribution, params : of one worker's time for one gradient, as for ``stragglers``
    communication_time : of one average [s], or a text such as ``"0.5s"``
    interval : until the next choice [s], or such a text; by default 20 mean gradients
    learning_rate : above 0, at most 1

    Raises
    ------
    InputError : an unknown law or parameter, a law without a mean, a number out of its range

    Examples
    --------
    Few gradients while the error is large, more as it falls; averages seldom at first, often at the end.

    >>> first, *_, last = adaptive_synchrony(workers=16, communication_time="0.5s").choices
    >>> first.k_sync < last.k_sync, first.local_steps > last.local_steps
    (True, True)
    """
    expect(COUNT, workers=workers)
    expect(NUMBER, learning_rate=learning_rate)
    asked = partial(
        schedule,
        learning_rate=learning_rate,
        communication_time=parse(communication_time, "s"),
        interval=None if interval is None else parse(interval, "s"),
    )
    return checked(asked, law_from(distribution, params), int(workers))
