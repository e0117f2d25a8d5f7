"""Compression: what is moved, and when it pays, against the collectives it has to use."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.equations import compression, quantization, ring_all_reduce, shuffles

ranks = st.integers(2, 4096)
elements = st.integers(1000, 10**9)


@given(n=ranks, d=elements, dense_bytes=st.sampled_from([2, 4]))
def test_break_even_density_is_where_the_two_exchanges_are_equally_fast(
    n: int, d: int, dense_bytes: int
) -> None:
    density = compression.break_even_density(n, dense_bytes)
    dense = ring_all_reduce.ring_all_reduce_time(n, d * dense_bytes, 0, 1e9)

    def sparse(share: float) -> float:
        return float(compression.gathered_exchange_time(n, compression.top_k_bytes(d, share), 0, 1e9))

    assert sparse(density) == pytest.approx(dense, rel=1e-9)
    assert sparse(0.9 * density) < dense < sparse(1.1 * density)


@given(n=ranks, size=st.floats(1, 1e9), latency=st.floats(0, 1e-3))
def test_gathering_is_an_all_gather_of_all_ranks_buffers(n: int, size: float, latency: float) -> None:
    gathered = compression.gathered_exchange_time(n, size, latency, 1e9)
    assert gathered == pytest.approx(shuffles.ring_all_gather_time(n, n * size, latency, 1e9), rel=1e-9)


@given(rows=st.integers(1, 5000), columns=st.integers(1, 5000), rank=st.integers(1, 8))
def test_powersgd_ratio_is_of_its_elements(rows: int, columns: int, rank: int) -> None:
    ratio = compression.powersgd_ratio(rows, columns, rank)
    assert ratio * compression.powersgd_elements(rows, columns, rank) == pytest.approx(rows * columns)


@given(d=elements)
def test_order_of_the_quantisations(d: int) -> None:
    """1 bit < QSGD's 2.8 < 16 < 32, where the scales are few."""
    one_bit = quantization.one_bit_bytes(d, 1)
    assert one_bit < quantization.qsgd_dense_bits(d) / 8 < quantization.half_precision_bytes(d) < 4 * d


def test_only_what_can_be_added_goes_through_an_all_reduce() -> None:
    summable = {name for name, way in compression.COMPRESSIONS.items() if way.collective == "all-reduce"}
    assert summable == {"half", "powersgd"}
