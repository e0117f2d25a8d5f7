"""Scaling laws: how they contain each other, their limits, and the fit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.equations import scaling

world_sizes = st.integers(1, 100_000)
shares = st.floats(0.0, 1.0)


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
