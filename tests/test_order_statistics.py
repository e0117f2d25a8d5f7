"""Order statistics against published numbers, 30-digit arithmetic, enumeration and Monte Carlo."""

from __future__ import annotations

import itertools
import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.core.errors import InputError
from perfmodel.equations import laws
from perfmodel.equations.distribution import Distribution
from perfmodel.equations.distributions import distribution, parse_distribution
from perfmodel.equations.heterogeneous import heterogeneous_order_statistic
from perfmodel.equations.order_formulas import pareto_order_variance
from perfmodel.equations.order_statistics import order_statistic
from perfmodel.equations.slowest_worker import straggler_factor, straggler_time
from perfmodel.equations.special import (
    harmonic_difference,
    log_gamma,
    log_gamma_difference,
    squared_harmonic_difference,
)

CHECKS = {
    check["name"]: check
    for check in json.loads((Path(__file__).parent / "data/check_values_stragglers.json").read_text())
}
SAMPLE = [1.0, 2.0, 3.0, 4.0, 10.0]


def _law_of_check(name: str, inputs: dict[str, Any]) -> Distribution | None:
    """The law a value of section 1 is about, by the first word of its name."""
    make: dict[str, Callable[[], Distribution]] = {
        "exp": lambda: distribution("exponential", rate=inputs["mu"]),
        "shiftexp": lambda: distribution("shifted-exponential", shift=inputs["Delta"], rate=inputs["mu"]),
        "uniform": lambda: distribution("uniform", low=inputs["a"], high=inputs["b"]),
        "pareto": lambda: distribution("pareto", scale=inputs["xm"], shape=inputs["alpha"]),
        "weibull": lambda: distribution("weibull", scale=inputs["scale"], shape=inputs["shape"]),
        "normal": lambda: distribution("normal", mean=0, std=1),
        "lognormal": lambda: distribution("lognormal", cv=math.sqrt(math.expm1(inputs["sigma"] ** 2))),
        "gamma": lambda: distribution("gamma", shape=inputs["shape"], scale=1 / inputs["shape"]),
        "empirical": lambda: distribution("empirical", sample=inputs["sample"]),
    }
    kind = name.split("_")[0]
    plain = "k" in inputs and kind in make
    return make[kind]() if plain else None


ONE_LAW = [name for name, check in CHECKS.items() if _law_of_check(name, check["inputs"])]


@pytest.mark.parametrize("name", ONE_LAW)
def test_published_value(name):
    check = CHECKS[name]
    inputs = check["inputs"]
    mean, variance = order_statistic(_law_of_check(name, inputs), inputs["k"], inputs["n"])
    value = variance if "_var_" in name else mean
    assert value == pytest.approx(check["expected"], rel=check["tolerance"]["rel"])


def _exponentials(rates: list[float]) -> list[tuple[Distribution, int]]:
    return [(distribution("exponential", rate=rate), 1) for rate in rates]


def _lognormal_by_normal(inputs: dict[str, Any]) -> float:
    """The known approximation exp(mu + s e_n + s^2 v_n / 2): it tests e_n and v_n."""
    e, v = order_statistic(distribution("normal", mean=0, std=1), inputs["n"], inputs["n"])
    s = inputs["sigma"]
    return math.exp(-s * s / 2 + s * e + s * s * v / 2)


def _one_slow(inputs: dict[str, Any]) -> float:
    rate, workers = inputs.get("mu", 1.0), inputs["P"]
    quick, slow = (distribution("exponential", rate=r) for r in (rate, rate / inputs["slowdown"]))
    return heterogeneous_order_statistic([(quick, workers - 1), (slow, 1)], workers)[0]


OTHER: dict[str, Callable[[dict[str, Any]], float]] = {
    "exp_mean_direct_sum_n100000": lambda i: harmonic_difference(i["n"], i["n"]),
    "erlang2_max2": lambda i: order_statistic(distribution("gamma", shape=2, scale=1), 2, 2)[0],
    "hetero_exp_max_1_1_1_.5": lambda i: heterogeneous_order_statistic(_exponentials(i["mu"]), 4)[0],
    "hetero_exp_k3_of_4": lambda i: heterogeneous_order_statistic(_exponentials(i["mu"]), 3)[0],
    "one_slow_exp_P4_s2.0": _one_slow,
    "one_slow_exp_P16_s3.0": _one_slow,
    "one_slow_exp_P64_s10.0": _one_slow,
    "one_slow_consistency_s1": _one_slow,
    "lognormal_max_approx_s0.1_n100000": _lognormal_by_normal,
    "P_log_P_error_P20": lambda i: harmonic_difference(20, 20) / math.log(20),
}


@pytest.mark.parametrize("name", OTHER)
def test_other_published_value(name):
    check = CHECKS[name]
    assert OTHER[name](check["inputs"]) == pytest.approx(check["expected"], rel=check["tolerance"]["rel"])


def test_harmonic_numbers_meet_their_asymptote():
    check = CHECKS["H_n_asymptotic_n10"]
    assert harmonic_difference(10, 10) == pytest.approx(check["expected"], rel=1e-6)


def test_every_value_of_the_section_is_tested():
    section = {name for name, check in CHECKS.items() if check["section"] == "1"}
    assert section - {"H_n_asymptotic_n10"} <= set(ONE_LAW) | set(OTHER)


# --- special functions against 40 digits


@pytest.mark.parametrize(("n", "k"), [(1, 1), (4, 2), (1e5, 1), (1e6, 1), (1e6, 1e6), (1e6, 5e5), (37, 36)])
def test_differences_of_harmonic_numbers_keep_their_digits(n, k):
    with mpmath.workdps(40):
        first = float(mpmath.digamma(n + 1) - mpmath.digamma(n - k + 1))
        second = float(mpmath.polygamma(1, n - k + 1) - mpmath.polygamma(1, n + 1))
    assert harmonic_difference(n, k) == pytest.approx(first, rel=2e-15)
    assert squared_harmonic_difference(n, k) == pytest.approx(second, rel=2e-14)
    assert harmonic_difference(np.array([n]), np.array([k]))[0] == pytest.approx(first, rel=2e-15)


@pytest.mark.parametrize(("x", "step"), [(1.0, 0.3), (0.01, 5.0), (1e6, 0.4), (1e6, 1e-3), (3.0, 100.0)])
def test_gamma_ratios_keep_their_digits(x, step):
    with mpmath.workdps(40):
        exact = float(mpmath.loggamma(mpmath.mpf(x) + step) - mpmath.loggamma(x))
    assert log_gamma_difference(x, step) == pytest.approx(exact, rel=1e-13, abs=1e-14)
    assert log_gamma(np.array([x]))[0] == pytest.approx(math.lgamma(x), rel=1e-14, abs=1e-14)


# --- 30 digits: E and Var of the maximum by the survival integral, of the others by the beta density


def _exact(cdf: Callable[[Any], Any], breaks: list[Any], k: int, n: int) -> tuple[float, float]:
    """Mean and variance of the k-th of n non-negative times in 30-digit arithmetic."""
    with mpmath.workdps(30):

        def survival(t: Any) -> Any:
            done = cdf(t)
            if k == n:
                return -mpmath.expm1(n * mpmath.log(done)) if done else mpmath.mpf(1)
            return mpmath.betainc(n - k + 1, k, 0, 1 - done, regularized=True)

        mean = mpmath.quad(survival, breaks)
        square = mpmath.quad(lambda t: 2 * t * survival(t), breaks)
        return float(mean), float(square - mean**2)


def _normal_cdf(t: Any) -> Any:
    return mpmath.erfc(-t / mpmath.sqrt(2)) / 2


def _lognormal_cdf(cv: float) -> Callable[[Any], Any]:
    s = mpmath.sqrt(mpmath.log1p(mpmath.mpf(cv) ** 2))
    return lambda t: _normal_cdf((mpmath.log(t) + s * s / 2) / s) if t > 0 else mpmath.mpf(0)


EXACT = {
    "lognormal:cv=0.05": (_lognormal_cdf(0.05), [0, 0.7, 0.9, 1.0, 1.1, 1.2, 1.3, 1.5, 2]),
    "lognormal:cv=1": (_lognormal_cdf(1), [0, 0.5, 1, 2, 4, 8, 16, 32, 64, 128, 512, 4096, 65536]),
    "weibull:shape=0.5": (
        lambda t: -mpmath.expm1(-mpmath.sqrt(t)),
        [0, 0.1, 1, 4, 16, 64, 100, 150, 200, 300, 500, 1000, 5000, 40000],
    ),
    "weibull:shape=3": (lambda t: -mpmath.expm1(-(t**3)), [0, 0.5, 1, 1.5, 2, 2.3, 2.6, 3, 4, 6]),
    "normal:mean=8,std=1": (lambda t: _normal_cdf(t - 8), [0, 4, 6, 8, 10, 11, 12, 12.5, 13, 14, 16, 25]),
    "gamma:shape=4,scale=0.25": (
        lambda t: mpmath.gammainc(4, 0, 4 * t, regularized=True),
        [0, 0.5, 1, 2, 3, 4, 5, 6, 8, 12, 30],
    ),
    "pareto:shape=3.5": (
        lambda t: 1 - mpmath.mpf(t) ** -3.5 if t > 1 else mpmath.mpf(0),
        [0, 1, 1.5, 2, 4, 8, 16, 20, 26, 32, 64, 256, 1e4, 1e7, 1e12, mpmath.inf],
    ),
}


@pytest.mark.parametrize("spec", EXACT)
@pytest.mark.parametrize(
    ("k", "n"), [(1, 1), (100, 100), pytest.param(100_000, 100_000, marks=pytest.mark.any_version)]
)
def test_maximum_in_thirty_digits(spec, k, n):
    mean, variance = _exact(*EXACT[spec], k, n)
    found = order_statistic(parse_distribution(spec), k, n)
    assert found[0] == pytest.approx(mean, rel=1e-9)
    assert found[1] == pytest.approx(variance, rel=1e-8)


@pytest.mark.parametrize("spec", ["lognormal:cv=1", "weibull:shape=3", "pareto:shape=3.5"])
@pytest.mark.parametrize(("k", "n"), [(3, 7), pytest.param(190, 200, marks=pytest.mark.any_version)])
def test_others_in_thirty_digits(spec, k, n):
    mean, variance = _exact(*EXACT[spec], k, n)
    found = order_statistic(parse_distribution(spec), k, n)
    assert found[0] == pytest.approx(mean, rel=1e-9)
    assert found[1] == pytest.approx(variance, rel=1e-8)


@pytest.mark.parametrize("n", [1, 2, 10, 1000, 100_000, 1_000_000])
@pytest.mark.parametrize("part", [0.001, 0.5, 0.99, 1.0])
def test_quadrature_meets_the_closed_forms(n, part):
    """Weibull of shape 1 is exponential: two roads to one number, for any k and a million workers."""
    k = max(1, math.ceil(part * n))
    closed = order_statistic(distribution("exponential", rate=2), k, n)
    found = order_statistic(distribution("weibull", scale=0.5, shape=1), k, n)
    assert found == pytest.approx(closed, rel=1e-10)
    panels = heterogeneous_order_statistic([(distribution("exponential", rate=2), n)], k)
    assert panels == pytest.approx(closed, rel=1e-9)


def test_heavy_tail_variance_in_forty_digits():
    with mpmath.workdps(40):
        s, n = mpmath.mpf(1) / mpmath.mpf("2.5"), 100_000
        moment = [mpmath.gammaprod([n + 1, 1 - r * s], [1, n + 1 - r * s]) for r in (1, 2)]
        exact = float(moment[1] - moment[0] ** 2)
    law = distribution("pareto", scale=1, shape=2.5)
    assert order_statistic(law, n, n)[1] == pytest.approx(exact, rel=1e-9)
    assert pareto_order_variance(n, n, 1, 2.5) == pytest.approx(exact, rel=1e-9)


# --- samples, by counting


@pytest.mark.parametrize(("k", "n"), [(1, 1), (1, 3), (2, 3), (3, 3), (4, 5), (5, 5)])
def test_sample_with_replacement_by_enumeration(k, n):
    values = [sorted(draw)[k - 1] for draw in itertools.product(SAMPLE, repeat=n)]
    found = order_statistic(distribution("empirical", sample=SAMPLE), k, n)
    assert found == pytest.approx((np.mean(values), np.var(values)), rel=1e-12)


def test_two_points_and_the_closed_maximum():
    law = parse_distribution("two-point:fast=1,slow=5,probability=0.02")
    assert order_statistic(law, 64, 64)[0] == pytest.approx(5 - 4 * 0.98**64, rel=1e-13)
    assert order_statistic(law, 64, 64)[1] == pytest.approx(16 * (q := 0.98**64) * (1 - q), rel=1e-12)


# --- workers that differ


def test_classes_by_monte_carlo():
    rng, seed_runs = np.random.default_rng(7), 400_000
    quick, slow = distribution("gamma", shape=4, scale=0.25), distribution("uniform", low=1, high=3)
    draws = np.sort(
        np.hstack([rng.gamma(4, 0.25, (seed_runs, 6)), rng.uniform(1, 3, (seed_runs, 2))]), axis=1
    )
    for k in (1, 5, 8):
        mean, variance = heterogeneous_order_statistic([(quick, 6), (slow, 2)], k)
        error = draws[:, k - 1].std() / seed_runs**0.5
        assert abs(draws[:, k - 1].mean() - mean) < 4 * error, f"seed 7, standard error {error:.2e}"
        assert draws[:, k - 1].var() == pytest.approx(variance, rel=0.02)


# --- properties

LAWS_WITH_MOMENTS = st.sampled_from(
    [
        parse_distribution(spec)
        for spec in (
            "exponential:rate=2",
            "shifted-exponential:shift=1,rate=1",
            "uniform:low=1,high=2",
            "normal:mean=5,std=1",
            "lognormal:cv=0.3",
            "pareto:shape=3",
            "weibull:shape=1.5",
            "gamma:shape=2",
            "two-point:slow=4,probability=0.1",
        )
    ]
)


@given(LAWS_WITH_MOMENTS, st.integers(1, 40))
def test_order_statistics_ascend_and_average_to_the_mean(law, n):
    """sum_k E[X_(k:n)] = n E[X], and each is at least the one before."""
    k = np.arange(1, n + 1)
    means, variances = order_statistic(law, k, n)
    assert np.all(np.diff(means) >= -1e-12 * means[-1])
    assert np.all(variances >= 0)
    assert means.mean() == pytest.approx(law.mean, rel=1e-9)


@given(LAWS_WITH_MOMENTS, st.integers(1, 10**6))
def test_one_of_one_is_the_law_and_more_workers_wait_longer(law, n):
    assert order_statistic(law, 1, 1) == pytest.approx((law.mean, law.variance), rel=1e-8)
    assert order_statistic(law, n + 1, n + 1)[0] >= order_statistic(law, n, n)[0] * (1 - 1e-12)


@given(LAWS_WITH_MOMENTS, st.floats(-12, 12))
def test_quantiles_and_probabilities_invert_each_other(law, z):
    if law.atoms:
        return
    x = law.at_logit(np.array([z]))
    tail = law.survival(x) if z > 0 else law.cdf(x)
    assert math.log(tail[0]) == pytest.approx(-math.log1p(math.exp(-abs(z))) - abs(z), abs=1e-6)


def test_arrays_broadcast():
    law = parse_distribution("lognormal:cv=0.2")
    k, n = np.array([[1], [2]]), np.array([2, 3, 4])
    means, variances = order_statistic(law, k, n)
    assert means.shape == variances.shape == (2, 3)
    assert means[1, 2] == order_statistic(law, 2, 4)[0]


# --- the straggler term of a prediction


@pytest.mark.parametrize("n", [2, 8, 300, 100_000])
@pytest.mark.parametrize("spec", ["lognormal:cv=0.05", "lognormal:cv=3", "lognormal:cv=20", "normal:std=0.1"])
def test_shared_rule_is_the_order_statistic(spec, n):
    law = parse_distribution(spec)
    assert straggler_factor(law, float(n)) == pytest.approx(
        order_statistic(law, n, n)[0] / law.mean, rel=1e-10
    )


def test_straggler_time_of_arrays():
    law = parse_distribution("lognormal:cv=0.1")
    times = straggler_time(np.array([0.1, 0.2, 0.1]), law, np.array([1, 8, 8]))
    assert times[0] == 0.0
    assert times[1] == 2 * times[2] == straggler_time(0.2, law, 8)


def test_straggler_time_ignores_the_unit_of_a_sample():
    seconds = distribution("empirical", sample=[0.1, 0.11, 0.15])
    milliseconds = distribution("empirical", sample=[100, 110, 150])
    assert straggler_time(1.0, seconds, 4) == pytest.approx(straggler_time(1.0, milliseconds, 4), rel=1e-14)


def test_normal_quantile_in_thirty_digits():
    z = np.array([-600.0, -40.0, -3.0, -1e-9, 0.0, 0.5, 12.0, 300.0])
    with mpmath.workdps(40):
        for logit, x in zip(z.tolist(), laws.normal_at_logit(z).tolist(), strict=True):
            tail = 1 / (1 + mpmath.exp(abs(mpmath.mpf(logit))))
            start = -abs(x) if x else 0
            root = mpmath.findroot(lambda y, p=tail: mpmath.log(_normal_cdf(y)) - mpmath.log(p), start)
            assert abs(x) == pytest.approx(abs(float(root)), rel=1e-13, abs=1e-15)


def test_maxima_of_the_jitter_laws_need_no_scipy():
    program = (
        "import sys; sys.modules['scipy'] = None\n"
        "from perfmodel.equations.distributions import parse_distribution, distribution\n"
        "from perfmodel.equations.slowest_worker import straggler_time\n"
        "from perfmodel.core.errors import InputError\n"
        "for spec in ('lognormal:cv=0.1', 'normal:std=0.1', 'exponential:rate=1', 'pareto:shape=3',\n"
        "             'two-point:slow=2,probability=0.1', 'weibull:shape=2', 'uniform:low=1,high=2'):\n"
        "    assert straggler_time(1.0, parse_distribution(spec), 64) > 0\n"
        "assert straggler_time(1.0, distribution('empirical', sample=[1, 2, 3]), 64) > 0\n"
        "try: straggler_time(1.0, parse_distribution('gamma:shape=2'), 64)\n"
        "except InputError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "pip install 'perfmodel[stats]'" in done.stdout


# --- refusals


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("exponential:rate=0", "rate must be positive"),
        ("exponential:rate=-1", "rate must be positive"),
        ("exponential:rate=fast", "finite number"),
        ("exponential:rate=nan", "finite number"),
        ("exponential", "needs rate"),
        ("exponential:rate=1,rate=2", "given twice"),
        ("exponential:1", "key=value"),
        ("exponential:mean=1", "has no parameter"),
        ("lognormal:cv=0", "cv must be positive"),
        ("shifted-exponential:shift=-1,rate=1", "shift must not be negative"),
        ("uniform:low=2,high=1", "below high"),
        ("uniform:low=-1,high=1", "at least 0"),
        ("two-point:fast=2,slow=1,probability=0.5", "at most slow"),
        ("two-point:slow=2,probability=1.5", "0..1"),
        ("weibull:shape=0.001", "at least 0.02"),
        ("pareto:scale=0,shape=2", "scale must be positive"),
        ("logormal:cv=1", "nearest: lognormal"),
        ("empirical:no-such-file", "cannot be read: no such file"),
        ("empirical", "file=PATH"),
    ],
)
def test_specs_refused(spec, words):
    with pytest.raises(InputError, match=words.replace(".", r"\.")):
        parse_distribution(spec)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "holds no times"),
        ("# nothing\n", "holds no times"),
        ("1\n-2\n", "not negative"),
        ("0 0", "nor all zero"),
        ("1\ntwo\n", "finite number"),
    ],
)
def test_sample_files_refused(tmp_path, text, words):
    file = tmp_path / "times.txt"
    file.write_text(text)
    with pytest.raises(InputError, match=words):
        parse_distribution(f"empirical:{file}")


def test_sample_file_read(tmp_path):
    file = tmp_path / "times.csv"
    file.write_text("# seconds\n0.2, 0.1\n0.3\n")
    assert parse_distribution(f"empirical:{file}").mean == pytest.approx(0.2, rel=1e-15)


@pytest.mark.parametrize(("k", "n"), [(0, 1), (2, 1), (1.5, 2), (1, 0), (1, 2.5), (1, 1e10)])
def test_ranks_refused(k, n):
    with pytest.raises(InputError, match="whole numbers"):
        order_statistic(distribution("exponential", rate=1), k, n)


def test_moments_that_do_not_exist_are_refused():
    heavy = distribution("pareto", scale=1, shape=0.8)
    with pytest.raises(InputError, match="does not exist"):
        order_statistic(heavy, 5, 5)
    assert order_statistic(heavy, 4, 5)[0] > 1  # two must be late: the mean exists again
    assert order_statistic(distribution("pareto", scale=1, shape=2), 5, 5)[1] == math.inf
    with pytest.raises(InputError, match="does not exist"):
        heterogeneous_order_statistic([(heavy, 1), (distribution("exponential", rate=1), 5)], 6)
    with pytest.raises(InputError, match="does not exist"):
        straggler_factor(heavy, 4)


def test_classes_refused():
    law = distribution("exponential", rate=1)
    with pytest.raises(InputError, match="at least one"):
        heterogeneous_order_statistic([(law, 0), (law, 3)], 1)
    with pytest.raises(InputError, match="1 <= k"):
        heterogeneous_order_statistic([(law, 3)], 4)
    with pytest.raises(InputError, match="at most"):
        heterogeneous_order_statistic([(law, 30_000), (distribution("exponential", rate=2), 1)], 2)
