"""Steps that stall: their law against random draws, and what of a spread ranks share."""

import numpy as np
import pytest

from perfmodel.equations.distributions import parse_distribution
from perfmodel.equations.order_statistics import order_statistic
from perfmodel.equations.slowest_worker import straggler_factor
from perfmodel.evidence.fitting.straggler_fit import NAMES, Row, StragglerFit, single_processes
from perfmodel.evidence.traces.over_ranks import spread_over_ranks
from perfmodel.model.fitted.calibration import before_fit

pytestmark = pytest.mark.any_version

LAW = parse_distribution("stalling:cv=0.02,probability=0.01,length=0.3")


def drawn(law, shape, seed=1):
    _, cv, probability, length = law.values
    draw, spread = np.random.default_rng(seed), np.sqrt(np.log1p(cv**2))
    usual = draw.lognormal(-(spread**2) / 2, spread, shape)
    return usual * (1 + length * (draw.random(shape) < probability)) / (1 + length * probability)


@pytest.mark.parametrize(("order", "sample_size"), [(1, 1), (1, 8), (4, 8), (8, 8), (64, 64), (200, 256)])
def test_order_statistics_are_those_of_random_draws(order, sample_size):
    times = np.sort(drawn(LAW, (20_000, sample_size)), axis=1)[:, order - 1]
    mean, variance = order_statistic(LAW, order, sample_size)
    assert times.mean() == pytest.approx(mean, abs=5 * times.std() / len(times) ** 0.5)
    assert times.var() == pytest.approx(variance, rel=0.15)


def test_without_stalls_it_is_lognormal():
    plain = parse_distribution("lognormal:cv=0.02")
    still = parse_distribution("stalling:cv=0.02,probability=0,length=0.3")
    for n in (2, 64, 10**6, 10**9):
        assert straggler_factor(still, n) == pytest.approx(straggler_factor(plain, n), rel=1e-10)


def test_quantiles_invert_the_distribution_function():
    z = np.linspace(-30, 30, 61)
    times = LAW.at_logit(z)
    assert np.log(LAW.cdf(times) / LAW.survival(times)) == pytest.approx(z, rel=1e-9, abs=1e-9)


def test_a_spread_of_ranks_is_taken_apart():
    draw = np.random.default_rng(3)
    common, own = draw.normal(0, 0.04, 4000), draw.normal(0, 0.02, (6, 4000))
    slower = np.array([[1.0], [1.0], [1.3], [1.0], [0.9], [1.0]])  # in every step: no spread
    spread = spread_over_ranks((slower * (1 + common + own)).tolist())
    assert (spread.independent, spread.shared) == pytest.approx((0.02, 0.04), rel=0.05)


def test_the_constants_before_a_fit_are_those_of_single_processes():
    known, single = before_fit(), single_processes()
    for name in ("jitter", "stall_probability"):
        assert getattr(known, name) == pytest.approx(np.exp(single[name].mean), rel=0.15)


def _made(source, jitter, slowdown, noise=0.0):
    """Return runs on 2 to 256 ranks whose steps spread by known numbers."""
    draw, law = np.random.default_rng(len(source)), parse_distribution(f"lognormal:cv={jitter}")
    rows = []
    for n in (2, 4, 8, 16, 32, 64, 128, 256):
        time = 1.01 + straggler_factor(law, n) - 1 + slowdown
        time *= np.exp(draw.normal(0, noise))
        rows.append(Row(f"{source}/{n}", source, "synthetic", ("one",), n, time, 1.01, 1.0))
    return rows


def test_what_grows_with_ranks_is_told_from_what_does_not():
    sources = [f"s{'x' * i}" for i in range(8)]
    wide = StragglerFit([row for s in sources for row in _made(s, 0.03, 0.005)]).learned()
    slow = StragglerFit([row for s in sources for row in _made(s, 0.002, 0.06)]).learned()
    assert wide.numbers["jitter"] > 3 * slow.numbers["jitter"]
    assert slow.numbers["shared_slowdown"] > 3 * wide.numbers["shared_slowdown"]
    assert all(wide.deviations[name] < 1.2 for name in NAMES["synthetic"])
    assert wide.numbers["loader_jitter"] == pytest.approx(np.exp(single_processes()["jitter"].mean), rel=0.3)


def test_a_source_that_is_left_out_tells_nothing():
    two = StragglerFit([*_made("one", 0.03, 0.01), *_made("other", 0.001, 0.01)])
    assert two.learned(without={"one"}) == StragglerFit(_made("other", 0.001, 0.01)).learned()
    only = two.learned(only=[f"other/{n}" for n in (2, 4, 8, 16, 32, 64, 128, 256)])
    assert only == two.learned(without={"one"})
