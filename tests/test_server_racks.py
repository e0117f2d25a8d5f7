"""Parameter servers and racks: what pushes and pulls send over uplinks, counted message by message."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import perfmodel
from perfmodel.decide.sweeps import sweep
from perfmodel.equations.topology import random_ring_factor, server_exchange_factor, server_push_factor
from perfmodel.model.collectives.racks import Racks
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict

ASKED = {
    "workload": "vgg16",
    "accelerator": "v100-sxm2-16gb",
    "node": "aws-p3.2xlarge",
    "inter_link": "roce-100g",
    "network_cap": False,
    "strategy": "parameter-server",
    "server_shards": "even",
    "overlap": "none",
    "jitter": "none",
}


def counted(racks: int, rack: int, servers: int, both_ways: bool) -> float:
    """Return what the busiest direction of any rack's uplinks carries, in pushes of a node.

    Servers are dealt out to the racks in turn, and every node sends each an equal shard.
    """
    up, down = [0.0] * racks, [0.0] * racks
    for node in range(racks * rack):
        for server in range(servers):
            home, there = node // rack, server % racks
            if home != there:
                up[home] += 1 / servers
                down[there] += 1 / servers
                if both_ways:
                    up[there] += 1 / servers
                    down[home] += 1 / servers
    return max(*up, *down)


@pytest.mark.parametrize("both_ways", [False, True])
@pytest.mark.parametrize(("racks", "rack"), [(2, 1), (2, 8), (4, 4), (7, 3), (16, 2)])
def test_factors_are_what_counting_messages_comes_to(racks, rack, both_ways):
    factor = server_exchange_factor if both_ways else server_push_factor
    for servers in {1, min(2, racks), racks, 3 * racks}:
        crossing = counted(racks, rack, servers, both_ways)
        # uplinks of a rack carry what rack / o ports do
        for ratio in (1.0, 2.5, 40.0):
            expected = max(1.0, crossing * ratio / rack)
            assert factor(racks * rack, servers, ratio, rack) == pytest.approx(expected)


def test_with_servers_everywhere_all_but_one_share_in_as_many_as_there_are_racks_crosses():
    for racks in (2, 5, 10):
        assert server_push_factor(racks * 4, racks * 4, 6.0, 4) == pytest.approx(6 * (1 - 1 / racks))
    # of a ring of random order the sender itself is no neighbour
    assert server_push_factor(64, 64, 4, 16) < random_ring_factor(64, 4, 16) < 3.1


@given(st.integers(1, 200), st.integers(1, 60), st.integers(1, 300), st.floats(1, 100), st.booleans())
def test_a_worse_network_is_never_faster(nodes, rack, servers, ratio, pipelined):
    def slowdown(nodes: int, rack: int, servers: int, ratio: float) -> float:
        return Racks(rack, ratio).server_slowdown(nodes, servers, pipelined)

    here = slowdown(nodes, rack, servers, ratio)
    assert here >= 1
    if nodes <= rack:
        assert here == 1
    assert slowdown(nodes, rack, servers, 2 * ratio) >= here
    assert slowdown(nodes + rack, rack, servers, ratio) >= here * (1 - 1e-12)
    assert slowdown(nodes, rack, servers + 1, ratio) <= here * (1 + 1e-12)
    assert Racks(rack, ratio).server_slowdown(nodes, servers, False) <= slowdown(nodes, rack, servers, ratio)


def alone(**options: object) -> float:
    return perfmodel.predict(**ASKED | {"gpus": 16} | options).communication_time


def test_pushes_cross_the_uplinks_and_not_one_edge_of_a_ring():
    """A ring has one sender in a rack of eight, so 4 to 1 costs it nothing; half of all pushes leave it."""
    plain = alone(servers=16)
    racks = {"rack_nodes": 8, "oversubscription": 4.0}
    assert alone(servers=16, rack_nodes=16, oversubscription=4.0) == plain
    # pushes and pulls together, as the default framework sends them: half of them each way, 4 to 1
    assert alone(servers=16, **racks) == pytest.approx(4 * plain, rel=0.01)
    assert alone(servers=16, framework="mxnet", **racks) == pytest.approx(
        2 * alone(servers=16, framework="mxnet"), rel=0.01
    )
    for placement in ("contiguous", "random"):
        assert alone(servers=16, placement=placement, **racks) == alone(servers=16, **racks)


def test_one_server_is_slower_than_the_uplinks_of_its_rack():
    """Eight of 16 nodes push through two ports' worth of uplinks, all of them through one port."""
    racks = {"rack_nodes": 8, "oversubscription": 4.0}
    assert alone(servers=1, **racks) == pytest.approx(alone(servers=1))
    assert alone(servers=1, rack_nodes=8, oversubscription=32.0) == pytest.approx(
        2 * alone(servers=1), rel=0.01
    )


def test_uplinks_slow_no_host_that_is_slower_itself():
    tcp = {"inter_link": "ethernet-100g-tcp", "servers": 16}
    assert alone(**tcp, rack_nodes=8, oversubscription=1.1) == pytest.approx(alone(**tcp))


def test_the_verdict_names_uplinks():
    words = perfmodel.predict(**ASKED, gpus=16, servers=16, rack_nodes=8, oversubscription=4.0).verdict
    assert "what the uplinks of racks carry to servers and back binds" in " ".join(words.split())
    words = perfmodel.predict(**ASKED, gpus=16, servers=1, rack_nodes=8, oversubscription=4.0).verdict
    assert "uplinks" not in words


def test_a_sweep_and_an_explanation_know_them_too():
    axes = {
        "framework": ["pytorch", "mxnet"],
        "servers": [1, 4, 16],
        "oversubscription": [1.0, 4.0],
        "world_size": [1, 8, 12, 64],
    }
    fixed = ASKED | {"rack_nodes": 8}
    table = sweep(**fixed, **axes).table()
    assert len(table["world_size"]) == 48
    for row in range(48):
        options = {name: table[name][row] for name in axes}
        options |= {name: int(options[name]) for name in ("servers", "world_size")}
        one = predict(Scenario(**fixed, **options))
        assert table["iteration_time"][row] == pytest.approx(one.iteration_time, rel=1e-9)
    report = perfmodel.explain(**fixed, gpus=64, servers=16, oversubscription=4.0)
    assert report.complete
    assert "s, servers = 16" in str(report)
    assert "r, ranks_per_rack = 8" in str(report)


@given(
    st.integers(2, 300),
    st.integers(1, 64),
    st.integers(1, 40),
    st.sampled_from(["ib-edr-100g", "ethernet-100g-tcp", "efa-100g"]),
    st.sampled_from(["aws-p3.2xlarge", "dgx-1v"]),
    st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_no_uplink_makes_a_job_faster(gpus, servers, rack, link, node, aggregated):
    options = ASKED | {"node": node, "inter_link": link, "servers": servers, "local_aggregation": aggregated}
    times = [
        predict(Scenario(**options, gpus=gpus, rack_nodes=rack, oversubscription=ratio)).iteration_time
        for ratio in (1.0, 1.5, 8.0, 100.0)
    ]
    assert times == sorted(times)
