"""Collectives: each formula against a simulation that moves and adds the data, and against its bounds."""

from __future__ import annotations

import math
from math import ceil, log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import perfmodel
from perfmodel.equations import (
    broadcast,
    in_network,
    ring_all_reduce,
    topology,
    tree_all_reduce,
)
from perfmodel.equations.algorithm import Algorithm
from perfmodel.equations.algorithms import ALGORITHMS, GRID_ALGORITHMS
from perfmodel.equations.bandwidths import bus_bandwidth
from perfmodel.hardware.catalogue.store import Catalogue
from tests.simulators import blocks as blocks_in
from tests.simulators import schedules, switches
from tests.simulators.messages import Link, Outcome, Schedule, run

RANKS = range(2, 18)
#: latency, bytes/s and bytes added/s: each term alone, then all at once
TERMS = [(3.0, math.inf, math.inf), (0.0, 8.0, math.inf), (0.0, math.inf, 5.0), (0.7, 8.0, 5.0)]
TERM_IDS = ["latency", "bandwidth", "reduction", "all"]
EVERY = [algorithm for by_name in ALGORITHMS.values() for algorithm in by_name.values()]

SIMULATED_APART = ("ring-chunked", "tree", "exchange", "nvls", "switch-tree")


def name_of(algorithm: Algorithm) -> str:
    return f"{algorithm.collective}/{algorithm.name}"


def numbers(ranks: int, size: int) -> np.ndarray:
    """Whole numbers, so that sums are exact in any order."""
    return np.random.default_rng(ranks).integers(0, 1000, (ranks, size)).astype(float)


def close(measured: float, expected: float) -> bool:
    return measured == pytest.approx(expected, rel=1e-9, abs=1e-12)


def simulate(schedule: Schedule, buffers: np.ndarray, terms: tuple[float, float, float]) -> Outcome:
    latency, bandwidth, reduction = terms
    return run(schedule, buffers, Link(latency, 1 / bandwidth), 1 / reduction)


def all_reduce_schedule(name: str, n: int, size: int) -> Schedule:
    return {
        "ring": lambda: schedules.ring_all_reduce(range(n), 0, size),
        "recursive-doubling": lambda: schedules.recursive_doubling(n, size),
        "halving-doubling": lambda: schedules.halving_doubling(n, size),
        "reduce-broadcast": lambda: schedules.reduce_broadcast(range(n), size),
        "hub": lambda: schedules.hub(n, size),
    }[name]()


@pytest.mark.parametrize("terms", TERMS, ids=TERM_IDS)
@pytest.mark.parametrize("name", [name for name in ALGORITHMS["all-reduce"] if name not in SIMULATED_APART])
def test_all_reduce_adds_rightly_in_the_time_of_its_formula(
    name: str, terms: tuple[float, float, float]
) -> None:
    algorithm = ALGORITHMS["all-reduce"][name]
    for n in RANKS:
        size = n * 2 ** int(log2(n))
        buffers = numbers(n, size)
        outcome = simulate(all_reduce_schedule(name, n, size), buffers, terms)
        assert np.array_equal(outcome.buffers, np.tile(buffers.sum(axis=0), (n, 1)))
        assert close(outcome.finish, algorithm.time(n, size, *terms))
        assert close(outcome.sent.max(), algorithm.bytes_per_rank(n, size))


@pytest.mark.parametrize("terms", TERMS, ids=TERM_IDS)
def test_exchange_with_everybody(terms: tuple[float, float, float]) -> None:
    algorithm = ALGORITHMS["all-reduce"]["exchange"]
    for n in RANKS:
        own = numbers(n, 12)
        outcome = simulate(schedules.exchange(n, 12), np.hstack([own, own]), terms)
        assert np.array_equal(outcome.buffers[:, 12:], np.tile(own.sum(axis=0), (n, 1)))
        assert close(outcome.finish, algorithm.time(n, 12, *terms))
        assert close(outcome.sent.max(), algorithm.bytes_per_rank(n, 12))


@pytest.mark.parametrize("terms", TERMS, ids=TERM_IDS)
def test_reduce_scatter_and_all_gather(terms: tuple[float, float, float]) -> None:
    for n in RANKS:
        size, owned = 3 * n, lambda i, n=n: slice(3 * ((i + 1) % n), 3 * ((i + 1) % n) + 3)
        buffers = numbers(n, size)
        outcome = simulate(schedules.ring_reduce_scatter(range(n), 0, size), buffers, terms)
        for i in range(n):
            assert np.array_equal(outcome.buffers[i, owned(i)], buffers[:, owned(i)].sum(axis=0))
        assert close(outcome.finish, ALGORITHMS["reduce-scatter"]["ring"].time(n, size, *terms))
        gathered = simulate(schedules.ring_all_gather(range(n), 0, size), outcome.buffers, terms)
        assert np.array_equal(gathered.buffers, np.tile(buffers.sum(axis=0), (n, 1)))
        algorithm = ALGORITHMS["all-gather"]["ring"]
        assert close(gathered.finish, algorithm.time(n, size, *terms[:2]))
        assert close(gathered.sent.max(), algorithm.bytes_per_rank(n, size))


@pytest.mark.parametrize("terms", TERMS[:2], ids=TERM_IDS[:2])
def test_all_to_all(terms: tuple[float, float, float]) -> None:
    algorithm = ALGORITHMS["all-to-all"]["pairwise"]
    for n in RANKS:
        chunk, own = 5, numbers(n, 5 * n)
        buffers = np.hstack([own, np.zeros_like(own)])
        for i in range(n):  # a rank's share for itself does not travel
            buffers[i, (n + i) * chunk : (n + i + 1) * chunk] = own[i, i * chunk : (i + 1) * chunk]
        outcome = simulate(schedules.all_to_all(n, chunk), buffers, terms)
        expected = own.reshape(n, n, chunk).transpose(1, 0, 2).reshape(n, -1)
        assert np.array_equal(outcome.buffers[:, n * chunk :], expected)
        assert close(outcome.finish, algorithm.time(n, n * chunk, *terms[:2]))
        assert close(outcome.sent.max(), algorithm.bytes_per_rank(n, n * chunk))


def _broadcast(schedule: Schedule, n: int, size: int, terms: tuple[float, float, float]) -> Outcome:
    buffers = np.zeros((n, size))
    buffers[0] = numbers(1, size)[0]
    outcome = simulate(schedule, buffers, terms)
    assert np.array_equal(outcome.buffers, np.tile(buffers[0], (n, 1)))
    return outcome


@pytest.mark.parametrize("terms", [*TERMS[:2], (0.7, 8.0, math.inf)], ids=["latency", "bandwidth", "both"])
def test_broadcast(terms: tuple[float, float, float]) -> None:
    for n in RANKS:
        for name, schedule in (
            ("binomial", schedules.binomial_broadcast(range(n), n)),
            ("scatter-all-gather", schedules.scatter_all_gather(n, n)),
        ):
            outcome = _broadcast(schedule, n, n, terms)
            algorithm = ALGORITHMS["broadcast"][name]
            assert close(outcome.finish, algorithm.time(n, n, *terms[:2])), (name, n)
            assert close(outcome.sent.max(), algorithm.bytes_per_rank(n, n)), (name, n)
        for blocks in (1, 3, 8):
            outcome = _broadcast(schedules.chain_broadcast(n, 24, blocks), n, 24, terms)
            assert close(outcome.finish, blocks_in.chain_broadcast(n, 24, *terms[:2], blocks))
            assert outcome.sent.max() == 24


@pytest.mark.parametrize("terms", [(1.0, math.inf, math.inf), (0.0, 8.0, math.inf), (0.7, 8.0, 5.0)])
def test_two_trees_take_at_most_their_formula(terms: tuple[float, float, float]) -> None:
    """From above the formulas, 2 (h + k) steps each way; from below the root's port, which sends 2k blocks,
    and the bound of every all-reduce.
    """
    latency, bandwidth, _ = terms
    for n in RANKS:
        for blocks in (1, 2, 7):
            size = 4 * blocks
            step = latency + 2 / bandwidth
            edges = schedules.rooted_double_tree_edges(n)
            outcome = _broadcast(schedules.two_tree_broadcast(edges, size, blocks), n, size, terms)
            formula = blocks_in.two_tree_broadcast(n, size, latency, bandwidth, blocks)
            assert max(formula - 3 * step, 2 * blocks * step) * (1 - 1e-9) <= outcome.finish
            assert outcome.finish <= (formula - 2 * step) * (1 + 1e-9)
            assert outcome.sent.max() == size
            assert outcome.sent.sum() == (n - 1) * size

            down = schedules.two_tree_broadcast(schedules.double_tree_edges(n), size, blocks)
            buffers = numbers(n, size)
            outcome = simulate(schedules.reverse(down) + down, buffers, terms)
            assert np.array_equal(outcome.buffers, np.tile(buffers.sum(axis=0), (n, 1)))
            formula = blocks_in.double_tree_all_reduce(n, size, *terms, blocks)
            bound = ALGORITHMS["all-reduce"]["tree"].lower_bound(n, size, *terms)
            assert bound * (1 - 1e-9) <= outcome.finish <= formula * (1 + 1e-9)
            assert outcome.sent.max() <= 2 * size
            assert outcome.sent.sum() == 2 * (n - 1) * size
            assert _depth(schedules.double_tree_edges(n)) <= ceil(log2(n))


def _depth(edges: list[schedules.Edge]) -> int:
    above = {(tree, child): parent for tree, parent, child in edges}

    def depth(tree: int, rank: int) -> int:
        return 1 + depth(tree, above[tree, rank]) if (tree, rank) in above else 0

    return max(depth(tree, child) for tree, _, child in edges)


def test_two_trees_reach_their_formula_as_blocks_grow() -> None:
    """The bandwidth term is exact: with many blocks the simulated time tends to the formula's."""
    n, blocks = 6, 200
    size = 2 * blocks
    down = schedules.two_tree_broadcast(schedules.double_tree_edges(n), size, blocks)
    outcome = simulate(schedules.reverse(down) + down, numbers(n, size), (0.0, 1.0, math.inf))
    formula = blocks_in.double_tree_all_reduce(n, size, 0.0, 1.0, math.inf, blocks)
    assert outcome.finish == pytest.approx(formula, rel=0.02)


@given(
    n=st.integers(2, 4096),
    message_bytes=st.floats(1, 1e12),
    latency=st.floats(1e-9, 1e-3),
    bandwidth=st.floats(1e6, 1e12),
)
def test_best_number_of_blocks_is_the_best(
    n: int, message_bytes: float, latency: float, bandwidth: float
) -> None:
    """No whole number of blocks beats the closed form, and the best of them is close to it."""
    wire = message_bytes / bandwidth
    depth = ceil(log2(n))
    for best, time, ideal in (
        (
            broadcast.best_chain_broadcast_time(n, message_bytes, latency, bandwidth),
            lambda k: blocks_in.chain_broadcast(n, message_bytes, latency, bandwidth, k),
            math.sqrt((n - 2) * wire / latency),
        ),
        (
            broadcast.best_two_tree_broadcast_time(n, message_bytes, latency, bandwidth),
            lambda k: blocks_in.two_tree_broadcast(n, message_bytes, latency, bandwidth, k),
            math.sqrt(depth * wire / (2 * latency)),
        ),
        (
            tree_all_reduce.best_double_tree_all_reduce_time(n, message_bytes, latency, bandwidth, 1e10),
            lambda k: blocks_in.double_tree_all_reduce(n, message_bytes, latency, bandwidth, 1e10, k),
            math.sqrt(depth * (2 * wire + message_bytes / 1e10) / (4 * latency)),
        ),
    ):
        assert best == pytest.approx(time(max(1.0, ideal)), rel=1e-9)
        for blocks in {1, max(1, math.floor(ideal)), max(1, math.ceil(ideal)), 2 * math.ceil(ideal) + 1}:
            assert time(blocks) >= best * (1 - 1e-9)


OVER_NODES = GRID_ALGORITHMS | {
    "rails": ring_all_reduce.hierarchical_all_reduce_time,
    "torus": ring_all_reduce.torus_all_reduce_time,
}
GRIDS = [(2, 2), (4, 2), (2, 5), (3, 4), (4, 4), (1, 6), (8, 1), (8, 2)]


@pytest.mark.parametrize("terms", TERMS, ids=TERM_IDS)
@pytest.mark.parametrize("name", list(OVER_NODES))
def test_grids_add_rightly_in_the_time_of_their_formula(name: str, terms: tuple[float, float, float]) -> None:
    """Ranks of one node, or of one row of a torus, are numbered in a row."""
    latency, bandwidth, reduction = terms
    for g, nodes in GRIDS:
        n, size = g * nodes, 2 * g * nodes
        ranks = np.arange(n).reshape(nodes, g).T
        # a card shared by a node lets each of its g rings have 1/g
        inter = bandwidth / 3 / (g if name == "hierarchical" else 1)

        def link(i: int, j: int, g: int = g, inter: float = inter) -> Link:
            same = i // g == j // g
            return Link(latency if same else 5 * latency, 1 / bandwidth if same else 1 / inter)

        if name == "leader":
            leaders = [int(r) for r in ranks[0]]
            inside = [schedules.binomial_broadcast([int(r) for r in node], size) for node in ranks.T]
            down = schedules.together(inside)
            schedule = schedules.reverse(down) + schedules.ring_all_reduce(leaders, 0, size) + down
        else:
            schedule = schedules.grid_all_reduce(ranks, 0, size)
        buffers = numbers(n, size)
        outcome = run(schedule, buffers, link, 1 / reduction)
        assert np.array_equal(outcome.buffers, np.tile(buffers.sum(axis=0), (n, 1)))
        expected = OVER_NODES[name](g, nodes, size, latency, bandwidth, 5 * latency, bandwidth / 3, reduction)
        assert close(outcome.finish, expected), (g, nodes)
        if name != "leader":
            assert close(outcome.sent.max(), 2 * (n - 1) / n * size)
            assert outcome.messages.max() == 2 * (g - 1) + 2 * (nodes - 1)


@pytest.mark.parametrize("shape", [(2, 3, 2), (4, 1, 2), (2, 2, 2, 2), (5,)])
def test_any_number_of_dimensions(shape: tuple[int, ...]) -> None:
    n = math.prod(shape)
    size = 2 * n
    ranks = np.arange(n).reshape(shape)
    place = {int(rank): np.unravel_index(int(rank), shape) for rank in ranks.ravel()}
    latencies, bandwidths = (1.0, 3.0, 7.0, 0.5)[: len(shape)], (9.0, 4.0, 2.0, 1.0)[: len(shape)]

    def link(i: int, j: int) -> Link:
        dimension = next(d for d in range(len(shape)) if place[i][d] != place[j][d])
        return Link(latencies[dimension], 1 / bandwidths[dimension])

    buffers = numbers(n, size)
    outcome = run(schedules.grid_all_reduce(ranks, 0, size), buffers, link, 1 / 6.0)
    assert np.array_equal(outcome.buffers, np.tile(buffers.sum(axis=0), (n, 1)))
    expected = ring_all_reduce.per_dimension_all_reduce_time(shape, size, latencies, bandwidths, 6.0)
    assert close(outcome.finish, expected)


@pytest.mark.parametrize("blocks", [1, 4, 32])
def test_tree_of_switches_that_add(blocks: int) -> None:
    """Exact for any number of blocks; many of them tend to the formula."""
    for n in RANKS:
        buffers = numbers(n, 2 * blocks)
        delay, per_element = 0.5, 0.25
        result, finish, levels = switches.switch_tree(buffers, 4, blocks, delay, per_element)
        assert np.array_equal(result, buffers.sum(axis=0))
        formula = in_network.switch_tree_all_reduce_time(n, 2 * blocks, delay, 1 / per_element, levels)
        wire = 2 * blocks * per_element
        assert close(finish, formula + (2 * levels - 1) * wire / blocks)


@pytest.mark.parametrize("blocks", [1, 4, 32])
def test_switch_that_adds_and_multicasts(blocks: int) -> None:
    """From below the formula, whose latency is of the whole; from above what its docstring promises."""
    for n in RANKS:
        size = 8 * n * blocks  # a block lasts longer than its way through the switch
        buffers = numbers(n, size)
        delay, per_element = 0.5, 0.25
        result, finish, sent = switches.multicast_switch(buffers, blocks, delay, per_element)
        assert np.array_equal(result, np.tile(buffers.sum(axis=0), (n, 1)))
        algorithm = ALGORITHMS["all-reduce"]["nvls"]
        assert algorithm.time(n, size, delay, 1 / per_element) <= finish
        upper = 4 * delay + (1 + 3 / blocks) * (n + 1) / n * size * per_element
        assert finish <= upper * (1 + 1e-9)
        assert np.all(sent == algorithm.bytes_per_rank(n, size))


def test_random_ring_in_an_oversubscribed_fat_tree() -> None:
    """Count the neighbours in other racks over many random orders: o times their share is the factor."""
    ranks, per_rack, o = 64, 16, 4.0
    rng = np.random.default_rng(1)
    crossings = []
    for _ in range(2000):
        rack = rng.permutation(ranks) // per_rack
        crossings.append(np.mean(rack != np.roll(rack, -1)))
    factor = topology.random_ring_factor(ranks, o, per_rack)
    assert o * np.mean(crossings) == pytest.approx(factor, rel=0.005)


# ---- properties -------------------------------------------------------------------------------------------

group_sizes = st.integers(2, 5000)
sizes = st.floats(1.0, 1e11)
latencies = st.floats(0.0, 1e-2)
bandwidths = st.floats(1e6, 1e12)


def arguments(algorithm: Algorithm, reduction: float) -> tuple[float, ...]:
    return (reduction,) if algorithm.adds else ()


@pytest.mark.parametrize("algorithm", EVERY, ids=name_of)
@settings(max_examples=60)
@given(n=group_sizes, s=sizes, a=latencies, b=bandwidths, r=bandwidths)
def test_no_algorithm_beats_its_lower_bound(
    algorithm: Algorithm, n: int, s: float, a: float, b: float, r: float
) -> None:
    extra = arguments(algorithm, r)
    assert algorithm.time(n, s, a, b, *extra) >= algorithm.lower_bound(n, s, a, b, *extra) * (1 - 1e-9)


@pytest.mark.parametrize("algorithm", EVERY, ids=name_of)
@settings(max_examples=40)
@given(n=group_sizes, s=sizes, a=latencies, b=bandwidths, r=bandwidths, more=st.floats(1.0, 10.0))
def test_time_grows_with_bytes_and_latency_and_falls_with_bandwidth(
    algorithm: Algorithm, n: int, s: float, a: float, b: float, r: float, more: float
) -> None:
    extra = arguments(algorithm, r)
    time = algorithm.time(n, s, a, b, *extra)
    slack = time * (1 - 1e-9)
    assert algorithm.time(n, s * more, a, b, *extra) >= slack
    assert algorithm.time(n, s, a * more, b, *extra) >= slack
    assert algorithm.time(n, s, a, b * more, *extra) <= time * (1 + 1e-9)
    assert algorithm.time(n, s, a, b, *arguments(algorithm, r * more)) <= time * (1 + 1e-9)


@pytest.mark.parametrize("algorithm", EVERY, ids=name_of)
@given(s=sizes, a=latencies, b=bandwidths, r=bandwidths)
def test_one_rank_costs_nothing(algorithm: Algorithm, s: float, a: float, b: float, r: float) -> None:
    extra = arguments(algorithm, r)
    assert algorithm.time(1, s, a, b, *extra) == 0
    assert algorithm.bytes_per_rank(1, s) == 0
    assert algorithm.lower_bound(1, s, a, b, *extra) == 0


@pytest.mark.parametrize("name", list(OVER_NODES))
@given(g=st.integers(1, 64), s=sizes, a=latencies, b=bandwidths, e=bandwidths)
def test_grid_of_one_rank_costs_nothing_and_of_one_node_no_network(
    name: str, g: int, s: float, a: float, b: float, e: float
) -> None:
    time = OVER_NODES[name]
    assert time(1, 1, s, a, b, a, e, b) == 0
    assert time(g, 1, s, a, b, 1e9, e, b) == time(g, 1, s, a, b, 0.0, 1.0, b)


@given(g=st.integers(1, 64), nodes=st.integers(1, 64), s=sizes, b=bandwidths)
def test_hierarchy_of_equal_links_moves_what_a_ring_does(g: int, nodes: int, s: float, b: float) -> None:
    hierarchy = ring_all_reduce.hierarchical_all_reduce_time(g, nodes, s, 0.0, b, 0.0, b)
    assert hierarchy == pytest.approx(ring_all_reduce.ring_all_reduce_time(g * nodes, s, 0.0, b), rel=1e-9)


@given(n=group_sizes, s=sizes, b=bandwidths)
def test_bus_bandwidth_of_a_ring_is_its_link(n: int, s: float, b: float) -> None:
    """What nccl-tests made the definition for: without latency every ring shows the link's bandwidth."""
    for collective in ("all-reduce", "reduce-scatter", "all-gather"):
        time = ALGORITHMS[collective]["ring"].time(n, s, 0.0, b)
        assert bus_bandwidth(collective, s / time, n) == pytest.approx(b, rel=1e-9)


def test_every_algorithm_takes_arrays() -> None:
    n = np.array([1.0, 2.0, 3.0, 17.0, 1024.0])[:, None]
    s = np.array([1e3, 1e6, 1e9])
    for algorithm in EVERY:
        extra = arguments(algorithm, 1e11)
        times = algorithm.time(n, s, 1e-6, 1e10, *extra)
        assert times.shape == (5, 3)
        assert times[3, 1] == pytest.approx(algorithm.time(17, 1e6, 1e-6, 1e10, *extra), rel=1e-12)


@pytest.mark.parametrize(
    ("name", "algorithm", "link"),
    [
        ("reduce-scatter", "ring", "pcie4-x16"),
        ("reduce-scatter", "ring", "nvlink3-nvswitch"),
        ("all-reduce", "nvls", "nvlink4-nvswitch"),
    ],
)
def test_what_was_measured_is_no_faster_than_the_textbook_at_the_nominal_rate(
    name: str, algorithm: str, link: str
) -> None:
    """Nor is it much slower once the message is long: the pages of the textbook's forms say so."""
    rate = Catalogue.built_in().link(link).bandwidth.value
    for n in (2, 4, 8):
        for size in (1e6, 1e8, 8e9):
            fitted = perfmodel.collective(name, ranks=n, size=size, intra_link=link, algorithm=algorithm).time
            assert fitted > ALGORITHMS[name][algorithm].time(n, size, 0.0, rate)
        assert fitted < 2.0 * ALGORITHMS[name][algorithm].time(n, size, 0.0, rate)
