"""Scaling laws: how they contain each other, their limits, and the fit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.equations import scaling

world_sizes = st.integers(1, 100_000)
shares = st.floats(0.0, 1.0)


@given(n=world_sizes, share=shares)
def test_amdahl_is_usl_without_coherency_and_below_gustafson(n: int, share: float) -> None:
    amdahl = scaling.amdahl_speedup(n, share)
    assert scaling.usl_speedup(n, share, 0) == pytest.approx(amdahl, rel=1e-9)
    assert 1 - 1e-9 <= amdahl <= scaling.gustafson_speedup(n, share) * (1 + 1e-9) <= n * (1 + 2e-9)


@given(contention=st.floats(0, 0.5), coherency=st.floats(1e-6, 1e-2))
def test_usl_falls_on_both_sides_of_its_peak(contention: float, coherency: float) -> None:
    peak = scaling.usl_peak_world_size(contention, coherency)
    best = scaling.usl_speedup(peak, contention, coherency)
    for n in (0.9 * peak, 1.1 * peak):
        assert scaling.usl_speedup(n, contention, coherency) < best


@given(n=world_sizes, alone=st.floats(1e-3, 1e3), together=st.floats(1e-3, 1e3))
def test_efficiency_is_speedup_for_each_accelerator(n: int, alone: float, together: float) -> None:
    """Not n times the speed-up, and weak and strong differ by n in speed-up."""
    weak = scaling.weak_scaling_efficiency(alone, together)
    assert weak * n == pytest.approx(scaling.weak_speedup(n, alone, together), rel=1e-12)
    strong = scaling.strong_scaling_efficiency(n, alone, together)
    assert strong * n == pytest.approx(scaling.strong_speedup(alone, together), rel=1e-12)
    assert scaling.scaling_overhead_time(alone, weak) == pytest.approx(together - alone, rel=1e-9, abs=1e-9)


@given(contention=st.floats(0.001, 0.5), coherency=st.floats(1e-5, 1e-2))
def test_fit_finds_the_law_again(contention: float, coherency: float) -> None:
    n = [1, 2, 4, 8, 16, 32]
    fit = scaling.fit_usl(n, [scaling.usl_speedup(x, contention, coherency) for x in n])
    assert fit == pytest.approx((contention, coherency), rel=1e-6)


@given(st.lists(st.floats(0.3, 3.0), min_size=5, max_size=5))
def test_fit_is_the_best_that_is_not_negative(noise: list[float]) -> None:
    scipy = pytest.importorskip("scipy.optimize")
    n = np.array([2.0, 3, 4, 8, 16])
    speedup = n * np.array(noise) / 2
    fit = scaling.fit_usl(n.tolist(), speedup.tolist())
    matrix = np.stack([n - 1, n * (n - 1)], axis=1)
    _, residual = scipy.nnls(matrix, n / speedup - 1)
    assert min(fit) >= 0
    assert np.linalg.norm(matrix @ fit - (n / speedup - 1)) == pytest.approx(residual, rel=1e-7, abs=1e-9)
