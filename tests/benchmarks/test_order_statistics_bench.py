"""How long order statistics take; the budget is 5 ms at n = 100,000 and 20 us for a straggler term."""

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
def test_order_statistic_of_many_workers(benchmark, law, k):
    mean, variance = benchmark(order_statistic, LAWS[law], k, 100_000)
    assert mean > 0
    assert variance > 0


def test_straggler_time_of_a_known_law(benchmark):
    law = parse_distribution("lognormal:cv=0.05")
    assert benchmark(straggler_time, 0.1, law, 256) > 0


def test_straggler_time_of_a_new_spread(benchmark):
    spreads = iter(range(1, 10**9))

    def once() -> float:
        return straggler_time(0.1, Distribution("lognormal", (1.0, 1e-7 * next(spreads))), 256)

    assert benchmark(once) > 0
