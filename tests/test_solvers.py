"""The root finder and the least-squares solver that all fits and searches share."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.core.least_squares import least_squares, newton
from perfmodel.core.root import bisect

PACKAGE = Path(__file__).parents[1] / "perfmodel"


@given(st.floats(-100, 100))
def test_a_root_is_found_to_the_last_digits(at):
    low, high = bisect(lambda x: x**3 + x < at**3 + at, -128.0, 128.0)
    assert low <= at <= high
    assert high - low <= 3e-14


def test_every_halving_halves_the_interval():
    for halvings in range(8):
        low, high = bisect(lambda x: x < 0.3, 0.0, 1.0, halvings)
        assert high - low == 0.5**halvings
        assert low < 0.3 <= high


@given(st.integers(0, 1000))
def test_least_squares_of_a_line_are_numpys(seed):
    rng = np.random.default_rng(seed)
    x, y, weights = rng.normal(size=(30, 3)), rng.normal(size=30), rng.uniform(0.1, 2, 30)
    result = least_squares(
        lambda numbers: (x @ numbers, x),
        y,
        weights,
        np.zeros(3),
        np.full(3, np.inf),
        noise=1.0,
        robust=np.inf,
    )
    root = np.sqrt(weights)
    assert result == pytest.approx(np.linalg.lstsq(x * root[:, None], y * root)[0], rel=1e-9, abs=1e-9)


def test_least_squares_find_the_line_through_outliers():
    rng = np.random.default_rng(1)
    x = np.column_stack([np.ones(200), rng.normal(size=200)])
    truth = np.array([0.5, -0.3])
    y = x @ truth + rng.normal(scale=0.02, size=200)
    y[:10] += 5
    result = least_squares(
        lambda p: (x @ p, x), y, np.ones(200), np.zeros(2), np.full(2, 10.0), noise=0.15, robust=0.12
    )
    assert result == pytest.approx(truth, abs=0.02)


def test_least_squares_without_data_stay_at_the_prior():
    x = np.zeros((3, 2))
    prior = np.array([1.0, 2.0])
    result = least_squares(
        lambda p: (x @ p, x), np.ones(3), np.ones(3), prior, np.ones(2), noise=0.15, robust=0.12
    )
    assert result.tolist() == prior.tolist() == [1.0, 2.0]


def test_a_row_without_weight_is_left_out_whatever_it_holds():
    x = np.array([[1.0], [np.nan]])
    weights = np.array([1.0, 0.0])
    result = least_squares(
        lambda p: (x @ p, x),
        np.array([3.0, np.nan]),
        weights,
        np.zeros(1),
        np.full(1, 1e6),
        noise=1,
        robust=9,
    )
    assert result == pytest.approx([3.0])


def test_newton_moves_in_short_steps_and_stays_within_its_bounds():
    visited = []

    def derivatives(numbers):
        visited.append(numbers)
        return 2 * (numbers - np.array([3.0, -1.0])), 2 * np.eye(2)

    result = newton(derivatives, np.zeros(2), least=np.array([-np.inf, -0.25]), longest_step=0.5)
    assert result.tolist() == [3.0, -0.25]
    assert max(np.abs(np.diff(visited, axis=0)).max(axis=1)) <= 0.5


def test_nothing_else_solves_normal_equations_or_halves_an_interval():
    solvers = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if "linalg.solve" in (text := path.read_text("utf-8")) or "middle = (low + high) / 2" in text
    }
    others = {
        "equations/stalling.py",  # halves the intervals of an array
        "model/prediction/collectives/size_errors.py",  # conditions a normal law on what was measured
    }
    assert solvers == {"core/least_squares.py", "core/root.py"} | others
