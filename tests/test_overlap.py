"""Overlap: closed forms and recursions against event simulations of random networks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.equations import fusion, merging, overlap, priority
from perfmodel.equations.buckets import ddp_buckets
from tests.simulators import events

MIB = 2**20


def random_layers(count: int, most: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Backward times and message times of ``count`` networks, some layers without either."""
    rng = np.random.default_rng(7)
    networks = []
    for _ in range(count):
        layers = int(rng.integers(1, most + 1))
        backward = rng.exponential(1.0, layers) * rng.integers(0, 2, layers)
        communication = rng.exponential(float(rng.choice([0.2, 1.0, 3.0])), layers)
        networks.append((backward, communication * rng.integers(0, 2, layers)))
    return networks


def resnet50_tensors() -> list[int]:
    """Elements of the parameters of ResNet-50, in the order the network registers them (He et al. 2015)."""
    tensors = [64 * 3 * 49, 64, 64]
    channels = 64
    for width, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for block in range(blocks):
            tensors += [width * channels, width, width, width * width * 9, width, width]
            tensors += [4 * width * width, 4 * width, 4 * width]
            if block == 0:
                tensors += [4 * width * channels, 4 * width, 4 * width]
            channels = 4 * width
    return [*tensors, 1000 * channels, 1000]


def test_messages_in_order_of_400_random_networks() -> None:
    for backward, communication in random_layers(400, 40):
        ready = np.cumsum(backward)
        finish = overlap.communication_finish_time(ready, communication)
        assert finish == pytest.approx(events.in_order(ready, communication), rel=1e-12, abs=1e-12)
        exposed = overlap.exposed_communication_time(ready, communication, ready[-1])
        assert exposed == pytest.approx(max(0.0, finish - ready[-1]), abs=1e-12)
        assert exposed >= communication[-1] * (1 - 1e-9)
        assert exposed <= sum(communication) * (1 + 1e-9)


def test_rows_of_different_length_are_padded_at_the_end() -> None:
    networks = random_layers(50, 12)
    ready = np.zeros((50, 12))
    communication = np.zeros((50, 12))
    for row, (backward, message) in enumerate(networks):
        ready[row, : len(backward)] = np.cumsum(backward)
        communication[row, : len(message)] = message
    finish = overlap.communication_finish_time(ready, communication)
    assert finish.shape == (50,)
    for row, (backward, message) in enumerate(networks):
        alone = overlap.communication_finish_time(np.cumsum(backward), message)
        assert finish[row] == pytest.approx(float(alone), rel=1e-12, abs=1e-12)


@given(layers=st.integers(1, 200), backward=st.floats(0.01, 10), communication=st.floats(0.01, 10))
def test_equal_layers(layers: int, backward: float, communication: float) -> None:
    """Messages shorter than a layer leave one exposed; longer ones follow each other without a gap."""
    ready = backward * np.arange(1, layers + 1)
    finish = overlap.communication_finish_time(ready, np.full(layers, communication))
    shorter = communication <= backward
    expected = layers * backward + communication if shorter else backward + layers * communication
    assert finish == pytest.approx(expected, rel=1e-9)


def test_buckets_of_resnet50_as_pytorch_fills_them() -> None:
    tensor_bytes = [4 * elements for elements in reversed(resnet50_tensors())]
    buckets = ddp_buckets(tensor_bytes)
    size = np.bincount(buckets, tensor_bytes)
    assert sum(tensor_bytes) == 4 * 25_557_032
    assert size.tolist() == [8_196_000, 31_502_336, 26_255_360, 26_550_272, 9_724_160]


@given(st.lists(st.floats(0, 60 * MIB), min_size=1, max_size=60), st.floats(1, 50 * MIB))
def test_buckets_close_when_they_have_reached_their_cap(tensor_bytes: list[float], cap: float) -> None:
    buckets = ddp_buckets(tensor_bytes, first_bucket_bytes=MIB, bucket_cap_bytes=cap)
    assert len(buckets) == len(tensor_bytes)
    assert buckets[0] == 0
    assert set(np.diff(buckets)) <= {0, 1}
    for k in range(buckets[-1] + 1):
        members = [size for size, bucket in zip(tensor_bytes, buckets, strict=True) if bucket == k]
        limit = MIB if k == 0 else cap
        assert sum(members[:-1]) < limit
        assert sum(members) >= limit or k == buckets[-1]


def _filled(buckets: np.ndarray, ready: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """When each bucket is ready, with its last member, and its bytes."""
    return np.maximum.reduceat(ready, np.flatnonzero(np.diff(buckets, prepend=-1))), np.bincount(
        buckets, sizes
    )


def test_bucketed_networks_against_events() -> None:
    rng = np.random.default_rng(3)
    for backward, _ in random_layers(400, 40):
        ready, sizes = np.cumsum(backward), rng.exponential(5 * MIB, len(backward))
        buckets = ddp_buckets(sizes, MIB, 10 * MIB)
        bucket_ready, bucket_bytes = _filled(buckets, ready, sizes)
        times = 0.05 + bucket_bytes / (50 * MIB)
        finish = overlap.communication_finish_time(bucket_ready, times)
        assert finish == pytest.approx(events.in_order(bucket_ready, times), rel=1e-12)


def test_best_merging_is_the_best_of_all_ways() -> None:
    rng = np.random.default_rng(11)
    for _ in range(400):
        layers = int(rng.integers(1, 9))
        ready = np.cumsum(rng.exponential(1.0, layers))
        sizes = rng.exponential(1.0, layers)
        fixed, per_byte, cost = rng.exponential(0.5), rng.exponential(1.0), rng.choice([0.0, 0.3, 0.5, 1.0])
        buckets, finish = merging.optimal_buckets(ready, sizes, fixed, per_byte, cost)
        bucket_ready, bucket_bytes = _filled(buckets, ready, sizes)
        times = fixed + per_byte * bucket_bytes
        assert finish == pytest.approx(events.in_order(bucket_ready, times), rel=1e-12)
        added = finish + cost * (sum(times) - (finish - ready[-1]))
        assert added == pytest.approx(events.best_merging(ready, sizes, fixed, per_byte, cost), rel=1e-12)


@pytest.mark.any_version
def test_priority_against_preemptive_messages() -> None:
    for backward, communication in random_layers(400, 12):
        forward = np.roll(backward, 1) / 2 + 0.1
        formula = priority.priority_iteration_time(forward, backward, communication)
        assert formula == pytest.approx(
            events.preemptive_priority(forward, backward, communication), rel=1e-9
        )
        finish = events.in_order(np.cumsum(backward[::-1]), communication[::-1])
        assert formula <= (sum(forward) + max(sum(backward), finish)) * (1 + 1e-12)


@given(
    st.lists(st.tuples(st.integers(0, 64), st.integers(1, 30)), min_size=1, max_size=40),
    st.integers(1, 300),
    st.integers(1, 50),
    st.integers(0, 100),
    st.integers(0, 8),
)
def test_fusion_against_a_thread_that_wakes(
    layers: list[tuple[int, int]], cycle_in_64ths: int, threshold: int, startup: int, each: int
) -> None:
    """Times are multiples of 1/64 s, so that both ways round alike."""
    cycle = cycle_in_64ths / 64
    ready, sizes = np.cumsum([b for b, _ in layers]) / 64, [float(size) for _, size in layers]

    def lasting(size):
        return (startup + each * size) / 64

    could_leave, size = fusion.fused_messages(ready, sizes, lasting, cycle, threshold)
    expected = events.cycling_fusion(ready, sizes, lasting, cycle, threshold)
    assert size.tolist() == [fused for _, _, fused in expected]
    ends = [
        overlap.communication_finish_time(could_leave[:k], lasting(size[:k])) for k in range(1, len(size) + 1)
    ]
    assert np.allclose(ends, [end for _, end, _ in expected], rtol=1e-12)
    backward = float(ready[-1])
    sending = sum(max(0.0, end - max(start, backward)) for start, end, _ in expected)
    wait = fusion.cycle_wait_time(could_leave, lasting(size), backward)
    assert wait == pytest.approx(ends[-1] - backward - sending, abs=1e-9)
