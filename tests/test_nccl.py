"""NCCL's own model: hand-worked latencies and bandwidths, its choices, one array call for all."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from perfmodel.equations import nccl
from perfmodel.equations.nccl import Graph
from perfmodel.equations.nccl_constants import PROTOCOLS, TREE_CORRECTION

H200 = Graph(18, 20.6e9, 20e9, generation="hopper")
V100 = Graph(6, 20e9, 12e9, generation="volta")


def microseconds(algorithm: str, protocol: str, n: int, nodes: int, graph: Graph) -> float:
    return float(nccl.nccl_latency("all-reduce", algorithm, protocol, n, nodes, graph)) * 1e6


def chosen(collective: str, n: int, nodes: int, sizes: Any, graph: Graph) -> list[tuple[str, str]]:
    names, times = nccl.nccl_times(collective, n, nodes, sizes, graph)
    return [names[row] for row in np.atleast_1d(times.argmin(axis=0))]


@pytest.mark.parametrize(
    ("algorithm", "protocol", "expected"),
    [
        # 4 nodes of 8: 62 steps, 6 of them between nodes; posting takes 1 us a step, 3 us for Simple
        ("ring", "LL", 6.6 + 56 * 1.0 + 6 * 2.7),
        ("ring", "LL128", 14.0 + 56 * 1.9 + 6 * 4.0),
        ("ring", "Simple", 8.4 + 56 * 3.4 + 6 * 14.0),
        ("tree", "LL", 6.8 + 2 * (7 * 0.6 + 2 * 5.0)),
        ("tree", "Simple", 8.4 + 2 * (7 * 4.0 + 2 * 14.0)),
    ],
)
def test_latency_of_four_nodes_by_hand(algorithm: str, protocol: str, expected: float) -> None:
    assert microseconds(algorithm, protocol, 32, 4, H200) == pytest.approx(expected, rel=1e-12)


def test_one_rank_per_node_goes_by_the_trees_network_latency() -> None:
    assert microseconds("ring", "Simple", 4, 4, V100) == pytest.approx(8.4 + 6 * 14.0)
    assert microseconds("ring", "LL", 4, 4, V100) == pytest.approx(6.6 + 6 * 5.0)


@pytest.mark.parametrize(
    ("algorithm", "protocol", "n", "nodes", "graph", "expected"),
    [
        ("ring", "Simple", 8, 1, V100, 120 * 8 / 14),
        ("ring", "LL", 8, 1, V100, min(39.0, 60.0) * 8 / 14),
        ("ring", "LL128", 8, 1, V100, min(0.92 * 120, 120.0) * 8 / 14),
        ("ring", "Simple", 32, 4, V100, 72 * 32 / 62),
        ("tree", "Simple", 32, 4, V100, min(0.92 * 72, 60.0) / 2),
        ("tree", "LL", 8, 1, V100, min(0.92 * 120, 6 * 26.5) / 3.8 / 2),
        ("nvls", "Simple", 8, 1, H200, 17 * 20.6 * 0.85 * 2 * 8 / 14),
        ("nvls", "Simple", 8, 1, V100, 0.0),
        ("nvls", "Simple", 16, 2, H200, 0.0),
        ("nvls-tree", "Simple", 8, 1, H200, 0.0),
    ],
)
def test_bandwidth_by_hand(
    algorithm: str, protocol: str, n: int, nodes: int, graph: Graph, expected: float
) -> None:
    bandwidth = nccl.nccl_bandwidth("all-reduce", algorithm, protocol, n, nodes, graph)
    assert float(bandwidth) / 1e9 == pytest.approx(expected, rel=1e-12)


def test_ring_bus_bandwidth_of_h100_is_what_is_measured() -> None:
    """18 links of 20.6 GB/s give 370 GB/s of bus bandwidth; 363 to 370 are measured on H100 and H200."""
    time = nccl.nccl_time("all-reduce", "ring", "Simple", 8, 1, 8 * 2**30, H200)
    bus = 8 * 2**30 / time * 14 / 8
    assert 355e9 < bus < 371e9


def test_choices_on_8_h200() -> None:
    """NCCL 2.27 goes by ring and LL for small messages, by NVLS and Simple for large ones."""
    small, _, large, largest = chosen("all-reduce", 8, 1, np.array([8.0, 64e3, 256e6, 8e9]), H200)
    assert small == ("ring", "LL")
    assert large == largest == ("nvls", "Simple")


def test_small_messages_on_many_nodes_go_by_tree_and_large_ones_by_ring() -> None:
    ways = chosen("all-reduce", 256, 32, np.array([1e3, 8e9]), V100)
    assert [algorithm for algorithm, _ in ways] == ["tree", "ring"]


@pytest.mark.parametrize("collective", list(nccl.ALGORITHMS))
@pytest.mark.parametrize(
    ("link", "capability"),
    [("pci", 7.0), ("pci", 9.0), ("nvlink", 6.0)],
    ids=["V100 over PCIe", "H100 over PCIe", "P100 over NVLink"],
)
def test_ll128_needs_nvlink_and_volta(collective: str, link: str, capability: float) -> None:
    graph = V100._replace(intra_link=link, compute_capability=capability)
    sizes = 2.0 ** np.arange(3, 34)
    for ranks, nodes in ((8, 1), (16, 2), (64, 8), (8, 8)):
        names, times = nccl.nccl_times(collective, ranks, nodes, sizes, graph)
        assert {
            protocol for (_, protocol), row in zip(names, times, strict=True) if np.isfinite(row).any()
        } == {
            "LL",
            "Simple",
        }


def test_half_a_mebibyte_over_pcie_by_hand() -> None:
    """8 ranks at 12 GB/s: LL at half the rate; LL128, which NVLink alone gets, would take a quarter less."""
    pcie = Graph(1, 12e9, 12e9, intra_link="pci")
    size, steps = 2.0**19, 14
    by_ll = 6.6e-6 + steps * 1.0e-6 + size / (6e9 * 8 / steps)
    by_ll128 = 14.0e-6 + steps * 1.9e-6 + size / (0.92 * 12e9 * 8 / steps)
    by_simple = 8.4e-6 + steps * 5.7e-6 + size / (12e9 * 8 / steps)
    least = nccl.nccl_times("all-reduce", 8, 1, size, pcie)[1].min()
    assert chosen("all-reduce", 8, 1, size, pcie) == [("ring", "Simple")]
    assert least == pytest.approx(min(by_ll, by_simple), rel=1e-12)
    nvlink = pcie._replace(intra_link="nvlink")
    assert chosen("all-reduce", 8, 1, size, nvlink) == [("ring", "LL128")]
    with_ll128 = nccl.nccl_times("all-reduce", 8, 1, size, nvlink)[1].min()
    assert with_ll128 == pytest.approx(by_ll128, rel=1e-12)
    assert with_ll128 < 0.8 * least


@pytest.mark.parametrize("collective", list(nccl.ALGORITHMS))
def test_arrays_agree_with_numbers(collective: str) -> None:
    ranks, nodes = np.array([[2], [8], [16], [64], [8]]), np.array([[1], [1], [2], [8], [8]])
    sizes = np.array([8.0, 1e3, 1e5, 1e6, 1e9])
    names, times = nccl.nccl_times(collective, ranks, nodes, sizes, V100)
    assert times.shape == (len(names), 5, 5)
    for i in range(5):
        for j in range(5):
            alone = [
                float(nccl.nccl_time(collective, *name, int(ranks[i, 0]), int(nodes[i, 0]), sizes[j], V100))
                for name in names
            ]
            np.testing.assert_allclose(times[:, i, j], alone, rtol=1e-12)
            assert math.isfinite(min(alone))


def test_tree_correction_is_taken_at_its_size() -> None:
    """1 MiB is 2^14 times 64 bytes: the 15th entry, 0.5 for LL."""
    size = 2.0**20
    bare = nccl.nccl_bandwidth("all-reduce", "tree", "LL", 8, 1, V100)
    latency = nccl.nccl_latency("all-reduce", "tree", "LL", 8, 1, V100)
    time = nccl.nccl_time("all-reduce", "tree", "LL", 8, 1, size, V100)
    assert float((time - latency) * bare) == pytest.approx(size / 0.5, rel=1e-12)
    assert [len(row) for row in TREE_CORRECTION] == [23] * len(PROTOCOLS)


def test_plateau_of_a_ring_between_nodes() -> None:
    """Bytes add the same either side; only the latency jumps, by 1.9 on V100 and 1.4 from Ampere on."""
    for graph, factor in ((V100, 1.9), (H200, 1.4)):
        edge = 64.0 * graph.channels * 16
        below, above = (
            float(nccl.nccl_time("all-reduce", "ring", "Simple", 16, 2, size, graph))
            for size in (edge - 1e-6, edge)
        )
        latency = float(nccl.nccl_latency("all-reduce", "ring", "Simple", 16, 2, graph))
        assert above - below == pytest.approx((factor - 1) * latency, rel=1e-6)
