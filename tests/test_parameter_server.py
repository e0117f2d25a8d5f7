"""Parameter servers: formulas against messages that queue at ports, and against the ring."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.equations import parameter_server as ps
from perfmodel.equations import ring_all_reduce, server_load, volumes
from tests.simulators.messages import Link, Message, Outcome, Schedule, run

SHAPES = [(1, 1), (8, 1), (8, 4), (4, 8), (7, 3), (3, 7), (5, 5)]


def push(workers: int, servers: int, shard: int, first: int = 0, last: int | None = None) -> Schedule:
    """Rounds in which no worker and no server has two transfers; servers come after the workers.

    ``first`` and ``last`` pick a part of every shard.
    """
    last = shard if last is None else last
    rounds = max(workers, servers)
    return [
        [
            Message(i, workers + (i + t) % rounds, server * shard + first, server * shard + last, add=True)
            for i in range(workers)
            if (server := (i + t) % rounds) < servers
        ]
        for t in range(rounds)
    ]


def pull(schedule: Schedule) -> Schedule:
    return [[Message(m.target, m.source, m.start, m.stop) for m in step] for step in schedule]


def start_values(workers: int, servers: int, size: int) -> np.ndarray:
    """Gradients of the workers, empty sums on the servers."""
    gradients = np.random.default_rng(workers).integers(0, 1000, (workers, size)).astype(float)
    return np.vstack([gradients, np.zeros((servers, size))])


def check_sums(outcome: Outcome, buffers: np.ndarray, workers: int) -> None:
    assert np.array_equal(outcome.buffers[:workers], np.tile(buffers[:workers].sum(axis=0), (workers, 1)))


@pytest.mark.parametrize(("workers", "servers"), SHAPES)
@pytest.mark.parametrize(("latency", "bandwidth"), [(3.0, math.inf), (0.0, 8.0), (0.5, 8.0)])
def test_dedicated_servers_with_a_barrier(
    workers: int, servers: int, latency: float, bandwidth: float
) -> None:
    shard = 6
    size = shard * servers
    buffers = start_values(workers, servers, size)
    link = Link(per_element=1 / bandwidth, delay=latency)
    pushed = run(push(workers, servers, shard), buffers, link)
    # the barrier: nobody pulls before the last push has ended
    both = run(
        pull(push(workers, servers, shard)),
        pushed.buffers,
        link,
        ready_at=[pushed.finish] * (workers + servers),
    )
    check_sums(both, buffers, workers)
    expected = ps.parameter_server_time(workers, servers, size, latency, bandwidth, bandwidth)
    assert both.finish == pytest.approx(expected, rel=1e-9)
    sent = pushed.sent + both.sent
    assert sent.sum() == server_load.parameter_server_total_bytes(workers, size)
    assert 2 * pushed.sent[:workers].sum() / servers == server_load.server_port_bytes(workers, servers, size)


@pytest.mark.parametrize("blocks", [1, 2, 5])
@pytest.mark.parametrize("workers", [1, 4, 7])
def test_one_server_in_blocks(workers: int, blocks: int) -> None:
    """The server's port takes a block from all workers while it gives back the block before."""
    latency, bandwidth, block = 0.0, 8.0, 4
    size = block * blocks
    buffers = start_values(workers, 1, size)
    schedule: Schedule = []
    for b in range(blocks):
        schedule += push(workers, 1, size, b * block, (b + 1) * block)
        schedule += pull(push(workers, 1, size, b * block, (b + 1) * block))
    outcome = run(schedule, buffers, Link(per_element=1 / bandwidth, delay=latency))
    check_sums(outcome, buffers, workers)
    expected = ps.parameter_server_time(
        workers, 1, size, latency, bandwidth, bandwidth, pipeline_blocks=blocks
    )
    assert outcome.finish == pytest.approx(expected, rel=1e-9)


@given(
    workers=st.integers(1, 500),
    servers=st.integers(1, 500),
    imbalance=st.floats(1, 10),
    incast=st.floats(0.1, 1),
    speed=st.floats(0.1, 10),
)
def test_blocks_lead_from_the_barrier_to_the_pipeline(
    workers: int, servers: int, imbalance: float, incast: float, speed: float
) -> None:
    common = (workers, servers, 1e9, 1e-5, 1e9, speed * 1e9, imbalance, incast)
    limit = ps.pipelined_parameter_server_time(*common)
    times = [ps.parameter_server_time(*common, blocks) for blocks in (1, 2, 16, 10**9)]
    assert times == sorted(times, reverse=True)
    assert times[0] <= 2 * limit
    assert times[-1] == pytest.approx(limit, rel=1e-6)


@pytest.mark.parametrize("worker_bandwidth", [2.0, 8.0, 100.0])
def test_ports_of_different_speed(worker_bandwidth: float) -> None:
    """One server is exact; with several, one shard may still be on its way when the formula ends."""
    server_bandwidth, shard = 8.0, 6
    link = Link(per_element=1 / worker_bandwidth, per_element_received=1 / server_bandwidth)
    for workers, servers in SHAPES:
        size = shard * servers
        outcome = run(push(workers, servers, shard), start_values(workers, servers, size), link)
        formula = ps.parameter_server_push_time(workers, servers, size, worker_bandwidth, server_bandwidth)
        one_shard = shard / min(worker_bandwidth, server_bandwidth)
        if workers * servers == 1 or (servers == 1 and worker_bandwidth >= server_bandwidth):
            assert outcome.finish == pytest.approx(formula, rel=1e-9)
        assert formula * (1 - 1e-9) <= outcome.finish
        if workers == 1 or servers == 1:
            assert outcome.finish <= (formula + one_shard) * (1 + 1e-9)


@pytest.mark.parametrize("workers", [2, 3, 8, 17])
@pytest.mark.parametrize(("latency", "bandwidth"), [(3.0, math.inf), (0.0, 8.0), (0.5, 8.0)])
def test_servers_on_the_workers_machines(workers: int, latency: float, bandwidth: float) -> None:
    """Every machine owns a shard and keeps its own part of it."""
    shard = 6
    buffers = start_values(workers, 0, shard * workers)
    link = Link(per_element=1 / bandwidth, delay=latency)

    def part(server: int) -> tuple[int, int]:
        return server * shard, (server + 1) * shard

    pushing = [
        [Message(i, (i + t) % workers, *part((i + t) % workers), add=True) for i in range(workers)]
        for t in range(1, workers)
    ]
    pushed = run(pushing, buffers, link)
    pulled = run(pull(pushing), pushed.buffers, link, ready_at=[pushed.finish] * workers)
    check_sums(pulled, buffers, workers)
    expected = ps.colocated_parameter_server_time(workers, workers, shard * workers, latency, bandwidth)
    assert pulled.finish == pytest.approx(expected, rel=1e-9)
    sent = pushed.sent + pulled.sent
    assert sent.sum() == server_load.colocated_total_bytes(workers, shard * workers)
    assert np.all(sent == volumes.all_reduce_bytes_per_rank(workers, shard * workers))


@pytest.mark.parametrize(("workers", "servers"), [(2, 1), (5, 2), (8, 3), (8, 8)])
def test_fewer_servers_than_machines(workers: int, servers: int) -> None:
    """The busiest port, counted: with a server it takes W-1 shards; without, it gives the whole buffer."""
    shard = 1.0 / servers
    into_server = (workers - 1) * shard
    out_of_worker = 1.0 if servers < workers else (servers - 1) * shard
    time = ps.colocated_parameter_server_time(workers, servers, 1.0, 0.0, 1.0)
    assert time == pytest.approx(2 * max(into_server, out_of_worker), rel=1e-12)


@pytest.mark.parametrize(("workers", "extra"), [(2, 0), (4, 2), (8, 0), (8, 4), (8, 8), (5, 3), (16, 1)])
def test_extra_servers_split_by_linear_programme(workers: int, extra: int) -> None:
    """Choose the share x on each worker and y on each extra machine so that the busiest port is least busy.

    Per pipelined direction a worker's port carries its own gradients to elsewhere, and the sums of its
    share to the others; an extra machine's port its share from every worker.
    """
    optimize = pytest.importorskip("scipy.optimize")
    solution = optimize.linprog(
        c=[0, 0, 1],
        A_ub=[[-1 + (workers - 1), 0, -1], [0, workers, -1]],
        b_ub=[-1, 0],
        A_eq=[[workers, extra, 0]],
        b_eq=[1],
        bounds=[(0, None)] * 3,
    )
    time = ps.extra_server_time(workers, extra, 1.0, 0.0, 1.0)
    assert time == pytest.approx(solution.fun, rel=1e-9)


def test_more_extra_servers_than_workers_do_not_help() -> None:
    assert ps.extra_server_time(8, 8, 1.0, 0.0, 1.0) == 1.0
    assert ps.extra_server_time(8, 80, 1.0, 0.0, 1.0) == 1.0
    assert ps.extra_server_time(1, 1, 1.0, 0.0, 1.0) == 0.0


def test_one_large_tensor_fills_a_server() -> None:
    """VGG-16: its first fully connected layer is three quarters of the model, whatever the servers."""
    vgg16 = [1728, 36864, 73728, 147456, 294912, 589824, 589824, 1179648, *[2359296] * 5]
    vgg16 += [102760448, 16777216, 4096000]
    for servers in (1, 2, 4, 8, 16):
        imbalance = server_load.shard_imbalance(vgg16, servers)
        assert imbalance >= servers * 102760448 / sum(vgg16) * (1 - 1e-12)
        slow = ps.parameter_server_time(8, servers, 1e9, 0, 1e9, 1e9, shard_imbalance=imbalance)
        assert slow >= ps.parameter_server_time(8, servers, 1e9, 0, 1e9, 1e9) * (1 - 1e-12)
    assert server_load.shard_imbalance([3, 3, 3, 3], 2) == 1.0


@given(st.integers(1, 1000), st.floats(1, 1e12))
def test_a_ring_and_a_parameter_server_move_as_much(ranks: int, size: float) -> None:
    """One of the ranks is the server, or servers run on the ranks: the same total as a ring."""
    ring = ranks * volumes.all_reduce_bytes_per_rank(ranks, size)
    assert server_load.parameter_server_total_bytes(ranks - 1, size) == pytest.approx(ring, rel=1e-12)
    assert server_load.colocated_total_bytes(ranks, size) == pytest.approx(ring, rel=1e-12)


@given(st.integers(1, 1000), st.floats(1, 1e12), st.floats(1e6, 1e12))
def test_colocated_is_a_ring_but_for_latency(workers: int, size: float, bandwidth: float) -> None:
    ring = ring_all_reduce.ring_all_reduce_time(workers, size, 0.0, bandwidth)
    assert ps.colocated_parameter_server_time(workers, workers, size, 0.0, bandwidth) == pytest.approx(
        ring, rel=1e-12
    )
    assert ps.extra_server_time(workers, 0, size, 0.0, bandwidth) == pytest.approx(ring, rel=1e-12)


@given(st.integers(1, 100), st.integers(1, 100), st.floats(1, 5), st.floats(0.1, 1))
def test_more_servers_help_and_imbalance_and_incast_hurt(
    workers: int, servers: int, imbalance: float, incast: float
) -> None:
    def time(servers: int, imbalance: float, incast: float) -> float:
        return float(ps.parameter_server_time(workers, servers, 1e9, 0, 1e9, 1e9, imbalance, incast))

    fair = time(servers, 1, 1)
    assert time(servers + 1, 1, 1) <= fair
    assert time(servers, imbalance, 1) >= fair
    assert time(servers, 1, incast) >= fair
