"""How long order statistics take."""

import pytest

from perfmodel.equations.distributions import Distribution, parse_distribution
from perfmodel.equations.order_statistics import order_statistic
from perfmodel.equations.slowest_worker import straggler_time

LAWS = {
    spec.split(":")[0]: parse_distribution(spec)
    for spec in (
        "exponential:rate=1",
        "uniform:low=1,high=2",
        "normal:mean=5,std=1",
        "lognormal:cv=0.1",
        "pareto:shape=2.5",
        "weibull:shape=1.5",
        "gamma:shape=4",
    )
}


@pytest.mark.parametrize("k", [1, 50_000, 99_900, 100_000])
@pytest.mark.parametrize("law", LAWS)
def test_order_statistic_of_many_workers(within, law, k):
    mean, variance = within(0.3, lambda: order_statistic(LAWS[law], k, 100_000))
    assert mean > 0
    assert variance > 0


def test_straggler_times_of_a_known_law(within):
    law = parse_distribution("lognormal:cv=0.05")
    assert within(0.00026, lambda: [straggler_time(0.1, law, 256) for _ in range(1000)], per=1000)


def test_straggler_times_of_new_spreads(within):
    spreads = iter(range(1, 10**9))

    def once() -> float:
        return straggler_time(0.1, Distribution("lognormal", (1.0, 1e-7 * next(spreads))), 256)

    assert within(0.0035, lambda: [once() for _ in range(100)], per=100)
