"""``perfmodel.learning_rate``: the learning rate of a batch by the published rules."""

from __future__ import annotations

import math
from typing import Final

from perfmodel.arguments import COUNT, NUMBER, expect
from perfmodel.errors import InputError
from perfmodel.prediction.learning_rates import WARM_UP_EPOCHS, LearningRates, learning_rates

LARGEST: Final = 1e12
MOST_WARM_UP_EPOCHS: Final = 1000


def learning_rate(
    base: float = 0.1,
    base_batch: int = 256,
    global_batch_size: int = 256,
    *,
    staleness: float | None = None,
    warm_up_epochs: float = WARM_UP_EPOCHS,
    distance_constant: float | None = None,
    squared_distance: float | None = None,
    squared_gradient_sum: float | None = None,
    noise_scale: float | None = None,
) -> LearningRates:
    """Return the learning rate of a batch by the published rules, each with its validity and source.

    Parameters
    ----------
    base : learning rate that is good at ``base_batch``
    base_batch : samples of an update it is good for
    global_batch_size : samples of an update it is asked for
    staleness : mean number of updates between reading parameters and applying a gradient; of
        ``perfmodel.stragglers``
    warm_up_epochs : over which the rate rises from ``base``; 0 for none
    distance_constant : learning rate times squared distance; with ``squared_distance``
    squared_distance : between the parameters now and those a gradient was taken at
    squared_gradient_sum : of one parameter, of all its gradients so far
    noise_scale : of the gradient, in samples

    Raises
    ------
    InputError : a number that is none, or not positive where it must be

    Examples
    --------
    32 times the batch of 256: 32 times the rate, or its square root.

    >>> [(row.rule, round(row.learning_rate, 3)) for row in learning_rate(0.1, 256, 8192).rows]
    [('linear', 3.2), ('square root', 0.566)]
    """
    positive = {"base": base}
    optional = {
        "distance_constant": distance_constant,
        "squared_gradient_sum": squared_gradient_sum,
        "noise_scale": noise_scale,
    }
    from_zero = {"staleness": staleness, "squared_distance": squared_distance}
    expect(COUNT, base_batch=base_batch, global_batch_size=global_batch_size)
    expect(NUMBER, **positive, warm_up_epochs=warm_up_epochs)
    expect(NUMBER.or_none, **optional, **from_zero)
    for name, value in (positive | optional).items():
        if value is not None and not 0 < value <= LARGEST:
            raise InputError(f"{name} = {value!r:.60}: expected a number above 0, at most {LARGEST:g}")
    for name, value, most in (
        ("warm_up_epochs", warm_up_epochs, MOST_WARM_UP_EPOCHS),
        *((name, value, LARGEST) for name, value in from_zero.items()),
    ):
        if value is not None and not 0 <= value <= most:
            raise InputError(f"{name} = {value!r:.60}: expected a number from 0 to {most:g}")
    if (distance_constant is None) != (squared_distance is None):
        raise InputError("distance_constant and squared_distance go together; give both or neither")
    result = learning_rates(
        float(base),
        float(base_batch),
        float(global_batch_size),
        staleness=staleness,
        warm_up_epochs=float(warm_up_epochs),
        distance_constant=distance_constant,
        squared_distance=squared_distance,
        squared_gradient_sum=squared_gradient_sum,
        noise_scale=noise_scale,
    )
    if not all(math.isfinite(row.learning_rate) for row in result.rows):
        raise InputError("the learning rate overflows; are the batches in samples?")
    return result
