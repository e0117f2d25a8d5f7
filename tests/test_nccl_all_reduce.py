"""Every way of NCCL at once, against its model one by one; and what ``auto``, ``best`` and names come to."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfmodel import sweep
from perfmodel.equations import nccl
from perfmodel.equations.algorithms import ALGORITHMS
from perfmodel.equations.nccl import Graph
from perfmodel.equations.nccl_all_reduce import Latencies, size_class, ways
from perfmodel.equations.nccl_constants import NCCL_2_30
from perfmodel.errors import InputError
from perfmodel.prediction import predict
from perfmodel.prediction.collective import algorithms, collective
from perfmodel.prediction.collective_fabric import CollectiveFabric
from perfmodel.specs.scenario import Scenario
from perfmodel.specs.store import Catalogue

CATALOGUE = Catalogue.built_in()
SWITCH = {"switch_adds": True, "switch_bandwidth": 370e9}
NET = Latencies(2.7e-6, 14e-6)
INSIDE = {"nvlink": Latencies(0.6e-6, 3.4e-6), "pci": Latencies(1.0e-6, 5.7e-6)}
NO_PLATEAU = NCCL_2_30._replace(plateau_factor=(1.0, 1.0, 1.0, 1.0))
SIZES = 2.0 ** np.arange(3, 34) * 1.1


def graphs() -> list[Graph]:
    return [
        Graph(6, 20e9, 12e9),
        Graph(1, 12e9, 3e9, intra_link="pci"),
        Graph(12, 20e9, 20e9, "ampere", processor="intel", compute_capability=8.0),
        Graph(18, 20.6e9, 20e9, "hopper", compute_capability=9.0),
        Graph(4, 18e9, 10e9, compute_capability=6.0),
    ]


@pytest.mark.parametrize(("ranks", "nodes"), [(2, 1), (8, 1), (16, 2), (64, 8), (8, 8), (24, 3), (512, 64)])
@pytest.mark.parametrize("graph", graphs(), ids=lambda g: f"{g.generation}-{g.intra_link}-{g.channels}")
def test_all_ways_at_once_are_those_one_by_one(graph: Graph, ranks: int, nodes: int) -> None:
    """With the latencies NCCL assumes, and without its factor for long messages of a ring."""
    adds, inside = graph.generation == "hopper", graph.intra_bandwidth * graph.channels
    if nodes > 1:  # NCCL's search has one bandwidth for two nodes, and the network's beyond
        graph = graph._replace(intra_bandwidth=graph.inter_bandwidth)
        inside = graph.inter_bandwidth * graph.channels
    known = ways(
        ranks, nodes, graph, INSIDE[graph.intra_link], NET, switch_adds=adds, switch_bandwidth=inside
    )
    times = known.times(SIZES)[:, 0]
    for (algorithm, protocol), found in zip(known.names, times, strict=True):
        way = "all-reduce", algorithm, protocol, ranks, nodes
        np.testing.assert_allclose(found, nccl.nccl_time(*way, SIZES, graph, NO_PLATEAU), rtol=1e-12)
    offered = {
        name
        for name in itertools.product(nccl.ALGORITHMS["all-reduce"], nccl.PROTOCOLS)
        if np.isfinite(nccl.nccl_time("all-reduce", *name, ranks, nodes, 1e6, graph))
        and (not name[0].startswith("nvls") or name[1] == "Simple")
    }
    assert set(known.names) == offered


def test_arrays_of_settings_agree_with_each_alone() -> None:
    graph = Graph(18, 20.6e9, 20e9, "hopper", compute_capability=9.0)
    ranks, nodes = np.array([[16], [64], [8], [24]]), np.array([[2], [8], [8], [3]])
    at_once = ways(ranks, nodes, graph, INSIDE["nvlink"], NET, **SWITCH).times(SIZES)
    for row in range(4):
        alone = ways(int(ranks[row, 0]), int(nodes[row, 0]), graph, INSIDE["nvlink"], NET, **SWITCH)
        np.testing.assert_allclose(at_once[:, row], alone.times(SIZES)[:, 0], rtol=1e-12)


def test_columns_of_the_size_correction() -> None:
    assert size_class(np.array([0.0, 63.0, 64.0, 127.0, 128.0, 2.0**28, 2.0**29, 1e12])).tolist() == [
        0, 0, 1, 1, 2, 23, 24, 24,
    ]  # fmt: skip


NODES = ("dgx-1v", "dgx-1p", "aws-p3.16xlarge", "aws-p3.2xlarge", "dgx-a100-80gb", "pcie-workstation-8gpu")
BY_NAME = ("ring", "tree")
scenarios = st.fixed_dictionaries(
    {
        "node": st.sampled_from(NODES),
        "world_size": st.integers(2, 512),
        "inter_link": st.sampled_from(["ethernet-10g-tcp", "ib-edr-100g", "ib-hdr-200g", "efa-100g"]),
        "workload": st.sampled_from(["resnet50", "vgg16", "bert-large", "mobilenet-v2"]),
        "overlap": st.sampled_from(["none", "bucketed", "wfbp"]),
        "local_batch_size": st.sampled_from([1, 32]),
    }
)


def communication(algorithm: str, options: dict[str, object]) -> float:
    return float(predict(Scenario(algorithm=algorithm, **options)).communication_time)


@settings(max_examples=30, deadline=None)
@given(scenarios)
def test_best_is_no_slower_than_auto_and_auto_than_what_it_chooses_from(options: dict[str, object]) -> None:
    best, auto = communication("best", options), communication("auto", options)
    named = [communication(name, options) for name in BY_NAME]
    assert best <= auto * (1 + 1e-12)
    assert auto <= min(named) * (1 + 1e-12)


def test_the_same_in_a_sweep() -> None:
    names = ["best", "auto", *BY_NAME, "hierarchical", "halving-doubling"]
    table = sweep(
        algorithm=names,
        node=list(NODES),
        world_size=[2, 3, 8, 12, 16, 64, 512],
        inter_link=["ethernet-25g-tcp", "ib-hdr-200g"],
        overlap=["none", "bucketed"],
    ).table()
    times = {name: table["communication_time"][table["algorithm"] == name] for name in names}
    assert len({len(each) for each in times.values()}) == 1
    for name in names:
        assert np.all(times["best"] <= times[name] * (1 + 1e-12))
    for name in BY_NAME:
        assert np.all(times["auto"] <= times[name] * (1 + 1e-12))


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(sorted(ALGORITHMS)),
    st.sampled_from(["nvlink2-nvswitch", "nvlink4-nvswitch", "nvlink1-cube-mesh", "pcie3-x16", "xgmi-gen3"]),
    st.sampled_from(["ethernet-10g-tcp", "ib-hdr-200g"]),
    st.integers(1, 8),
    st.integers(1, 32),
    st.floats(1, 1e10),
)
def test_best_among_collectives_is_no_slower_than_any_other(
    name: str, link: str, inter: str, per_node: int, nodes: int, size: float
) -> None:
    if per_node * nodes == 1:
        return
    outer = CATALOGUE.link(inter) if nodes > 1 else None
    fabric = CollectiveFabric(per_node * nodes, nodes, CATALOGUE.link(link), outer, 1)
    best, auto = (collective(name, algorithm, fabric, size) for algorithm in ("best", "auto"))
    others = {known: collective(name, known, fabric, size).time for known in algorithms(name, fabric)}
    others.pop("switch-tree", None)  # asks for a network that adds
    assert best.time <= auto.time
    assert best.time <= min(others.values()) * (1 + 1e-12)
    assert others[best.algorithm] == pytest.approx(best.time, rel=1e-12)
    assert others[auto.algorithm] == pytest.approx(auto.time, rel=1e-12)


@pytest.mark.parametrize("node", NODES)
@pytest.mark.parametrize("world_size", [4, 8, 16, 128, 512])
def test_an_algorithm_named_takes_as_long_as_chosen(node: str, world_size: int) -> None:
    """One message: where ``auto`` chose a ring or a tree, naming it changes nothing."""
    options = {"node": node, "world_size": world_size, "overlap": "none", "inter_link": "ib-hdr-200g"}
    auto = predict(Scenario(algorithm="auto", **options))
    told = next(line for line in auto.warnings if line.startswith("--algorithm auto chose"))
    chosen = told.split()[3].split("/")[0]
    assert communication(chosen, options) == auto.communication_time


def test_bert_on_512_a100_goes_by_trees_by_default() -> None:
    answer = predict(Scenario(workload="bert-large", node="dgx-a100-80gb", world_size=512))
    assert answer.iteration_time == pytest.approx(0.13, rel=0.05)
    assert answer.scaling_efficiency == pytest.approx(0.75, abs=0.03)
    assert "--algorithm auto" in answer.defaults


def test_where_no_nccl_runs_auto_is_a_ring() -> None:
    for name in ("auto", "ring"):
        assert communication(
            name, {"accelerator": "tpu-v4", "world_size": 16, "precision": "bf16"}
        ) == communication("ring", {"accelerator": "tpu-v4", "world_size": 16, "precision": "bf16"})
    libraries = {CATALOGUE.accelerator(each).vendor: CATALOGUE.accelerator(each).collective_library
                 for each in ("tpu-v4", "mi300x", "v100-sxm2-16gb")}  # fmt: skip
    assert libraries == {"Google": None, "AMD": "RCCL", "NVIDIA": "NCCL"}


@pytest.mark.parametrize("nodes", [2, 3, 5])
@pytest.mark.parametrize(("per_node", "more"), [(1, -2), (2, -1), (3, 0), (4, 0), (8, 0)])
def test_crossings_of_the_slowest_piece_of_a_ring(nodes: int, per_node: int, more: int) -> None:
    """NCCL counts 2(N-1) hops between nodes whatever the node holds; a piece may pass up to 2N."""
    ranks = per_node * nodes
    crossings = [
        sum((first + hop) % ranks % per_node == per_node - 1 for hop in range(ranks - 1))
        + sum((first - 1 + hop) % ranks % per_node == per_node - 1 for hop in range(ranks - 1))
        for first in range(ranks)
    ]
    assert max(crossings) == 2 * nodes + more


@pytest.mark.parametrize("accelerator", ["v100-sxm2-16gb", "rtx-2060-super", "a100-sxm4-40gb"])
@pytest.mark.parametrize("gpus", [6, 64])
def test_a_gpu_that_no_switch_adds_for_does_without(accelerator: str, gpus: int) -> None:
    """NVLink SHARP takes a Hopper GPU besides its switch; NCCL's table has no bandwidth for older ones."""
    asked = {"accelerator": accelerator, "intra_link": "nvlink4-nvswitch-x8", "world_size": gpus}
    chosen = predict(Scenario(**asked, accelerators_per_node=2)).iteration_time
    tree = predict(Scenario(**asked, accelerators_per_node=2, algorithm="tree")).iteration_time
    assert 0 < chosen <= tree
    for name in ("nvls", "nvls-tree"):
        with pytest.raises(InputError, match="unknown algorithm"):
            predict(Scenario(**asked, accelerators_per_node=2, algorithm=name))
