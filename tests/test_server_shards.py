"""Gradients dealt out to parameter servers whole, and the machine that a server is."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.core.errors import InputError
from perfmodel.decide.economics import economics
from perfmodel.decide.planning import Goal, search
from perfmodel.decide.planning.startable import startable_front
from perfmodel.equations.overlap import exposed_communication_time
from perfmodel.equations.server_load import (
    greedy_shard_imbalance,
    shard_imbalance,
    split_shard_imbalance,
)
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict
from perfmodel.workloads import workload

SERVED: dict[str, Any] = {"strategy": "parameter-server", "overlap": "none", "node": "aws-p3.2xlarge"}
TENSORS = st.lists(st.integers(1, 10**9), min_size=1, max_size=40)


def ask(**options: Any) -> Any:
    return predict(Scenario(**SERVED | options))


def test_tensorflow_leaves_a_server_with_most_of_vgg16():
    """8 servers in turn: one holds the 102.8 of 138.4 M parameters of the first linear layer."""
    tensors = [n for layer in workload("vgg16").layers for n in layer.tensors]
    assert shard_imbalance(tensors, 8) == pytest.approx(6.11, abs=0.005)
    plan = {"workload": "vgg16", "world_size": 64, "inter_link": "ib-edr-100g", "servers": 8}
    even, whole = (
        ask(**plan, framework="tensorflow", server_shards=shards).communication_time
        for shards in ("even", None)
    )
    assert whole == pytest.approx(6.11 * even, rel=1e-3)


@pytest.mark.parametrize(
    ("framework", "shards"),
    [("tensorflow", "round-robin"), ("mxnet", "large-split"), ("pytorch", "even"), ("paddle", "even")],
)
def test_how_shards_are_dealt_is_a_fact_of_the_framework_and_is_named(framework, shards):
    answer = ask(world_size=16, node="dgx-1v", servers=4, framework=framework)
    assert f"--server-shards {shards}" in answer.defaults
    assert answer.scenario["server_shards"] == shards
    again = predict(
        Scenario(
            **{k: v for k, v in answer.scenario.items() if k in Scenario.model_fields and v is not None}
            | {"global_batch_size": None}
        )
    )
    assert again.iteration_time == pytest.approx(answer.iteration_time, rel=1e-12)


def test_mxnet_splits_what_is_large():
    """VGG-16 has six tensors of at most a million elements that matter little: the shards are nearly even."""
    plan = {"workload": "vgg16", "world_size": 64, "servers": 8}
    mxnet, even = (ask(**plan, framework="mxnet", server_shards=s).communication_time for s in (None, "even"))
    assert 1 < mxnet / even < 1.05


def test_a_moving_mean_takes_its_turn():
    """Five variables a normalised convolution, three of which have gradients: 3 servers share them evenly.

    Dealt by their gradients alone, three to a convolution, one of 3 servers would hold every kernel.
    """
    plan = {"workload": "resnet50", "framework": "tensorflow", "world_size": 64}
    three, five = (
        ask(**plan, servers=s).communication_time
        / ask(**plan, servers=s, server_shards="even").communication_time
        for s in (3, 5)
    )
    assert three < 1.5
    assert five > 3


@given(TENSORS, st.integers(1, 60))
def test_shards_hold_everything_and_none_holds_more_than_all(tensors, servers):
    whole = sum(tensors)
    for imbalance in (
        shard_imbalance(tensors, servers),
        greedy_shard_imbalance(tensors, servers),
        split_shard_imbalance(tensors, servers, 1e6),
    ):
        assert 1 - 1e-12 <= imbalance <= servers * (1 + 1e-12)
    shards = [0] * servers
    for size in tensors:
        shards[shards.index(min(shards))] += size
    assert greedy_shard_imbalance(tensors, servers) == pytest.approx(servers * max(shards) / whole, rel=1e-12)
    split = [0.0] * servers
    turn = 0
    for size in tensors:
        if size > 1e6:
            split = [held + size / servers for held in split]
        else:
            split[turn % servers] += size
            turn += 1
    assert split_shard_imbalance(tensors, servers, 1e6) == pytest.approx(
        servers * max(split) / whole, rel=1e-9
    )


def test_a_server_has_the_network_of_its_machine():
    """A p3.2xlarge behind 16 workers of 100 Gbit/s: its own 10 Gbit/s bind."""
    plan = {"world_size": 128, "node": "dgx-1v", "servers": 1, "precision": "fp32"}
    usual, slow = ask(**plan), ask(**plan, server_node="aws-p3.2xlarge")
    assert "--server-node dgx-1v" in usual.defaults
    assert slow.scenario["server_node"] == "aws-p3.2xlarge"
    assert slow.communication_time > 5 * usual.communication_time
    assert ask(**plan, server_node="dgx-1v").iteration_time == usual.iteration_time


@pytest.mark.parametrize("option", [{"server_node": "dgx-1v"}, {"server_shards": "even"}])
def test_what_is_a_servers_goes_with_servers(option):
    with pytest.raises(InputError, match="goes with strategy parameter-server"):
        predict(Scenario(world_size=8, **option))


def test_one_server_keeps_up_with_a_ring_of_128_accelerators():
    """16 machines of 8 V100, a server each way at 12.5 GB/s, ResNet-50 with 256 images an accelerator.

    A machine sums its 8 gradients first, so a server takes in 16 times 102 MB, not 128 times: 16 x 102.2 MB
    / 12.5 GB/s = 131 ms.  BytePS sends a block back as soon as it is added up, so what goes out hides behind
    what comes in.  The backward pass takes 174 ms: the exchange hides behind it, as the ring's 10 ms do.
    The ring adds on the accelerators and costs them some of that; the server's copies do not.  A processor
    has 12.5 GB/s to add at: it reads two operands and writes one, 37.5 GB/s, and its adapter moves 25 GB/s,
    of the 100 GB/s and more that two sockets' memory gives.

    Each condition is needed: every GPU a worker of its own, a barrier between push and pull, half the batch.
    """
    plan = {"world_size": 128, "node": "dgx-1v", "local_batch_size": 256, "overlap": "wfbp"}
    server = ask(**plan, servers=1)
    ring = predict(Scenario(world_size=128, node="dgx-1v", local_batch_size=256))
    gradients = 4 * workload("resnet50").parameters
    one_way = 16 * gradients / 12.5e9
    assert one_way == pytest.approx(0.131, abs=0.001)
    inside = server.communication_time - one_way
    assert 0 < inside < 0.015
    assert server.terms["backward_time"] > server.communication_time
    assert server.terms["exposed_communication_time"] < 0.001
    assert server.iteration_time == pytest.approx(ring.iteration_time, rel=0.05)
    for less in ({"local_aggregation": False}, {"framework": "tensorflow"}, {"local_batch_size": 128}):
        assert ask(**plan | {"servers": 1} | less).scaling_efficiency < 0.9 * ring.scaling_efficiency
    # a queue that starts with the pass and is shorter than it ends with its last message
    assert float(exposed_communication_time([0.0, 0.17], [0.13, 0.001], 0.17)) == pytest.approx(0.001)


def test_a_server_is_paid_for_as_its_own_machine():
    """Two p2.8xlarge at $7.20 serve four p3.16xlarge at $24.48; 8 K80 in each wait at 15 % of their 150 W."""
    catalogue = Catalogue.built_in()
    plan = {"node": "aws-p3.16xlarge", "world_size": 32, "servers": 2}
    other = ask(**plan, server_node="aws-p2.8xlarge")
    found = economics(other, Conditions(), catalogue)
    assert found["servers"]["price"]["usd_per_hour"] == 7.2
    each = other.iteration_time / 3600
    assert found["per_iteration"]["cost"] == pytest.approx((4 * 24.48 + 2 * 7.2) * each, rel=1e-12)
    dearer = economics(other, Conditions(server_price=10.0), catalogue)
    assert dearer["per_iteration"]["cost"] == pytest.approx((4 * 24.48 + 2 * 10.0) * each, rel=1e-12)
    usual = ask(**plan)
    own = economics(usual, Conditions(), catalogue)
    assert own["per_iteration"]["cost"] == pytest.approx(6 * 24.48 * usual.iteration_time / 3600, rel=1e-12)
    k80 = catalogue.accelerator("k80").tdp.value
    times, v100 = other.terms, catalogue.accelerator("v100-sxm2-16gb").tdp.value
    busy = times["forward_time"] + times["backward_time"] + times["update_time"]
    communicating = times["exposed_communication_time"] + times["straggler_time"]
    waiting = other.iteration_time - busy - communicating
    trained = 32 * v100 * (busy + 0.5 * communicating + 0.15 * waiting)
    served = 2 * 8 * 0.15 * k80 * other.iteration_time
    assert found["per_iteration"]["energy"] * 3.6e6 == pytest.approx(trained + served, rel=1e-9)


def test_a_server_of_unknown_price_leaves_the_cost_unknown():
    found = economics(
        ask(node="aws-p3.16xlarge", world_size=32, servers=2, server_node="dgx-1p"),
        Conditions(),
        Catalogue.built_in(),
    )
    assert found["per_iteration"]["cost"] is None
    assert any("--server-price" in line for line in found["unknown"])


def test_a_plan_counts_its_servers_and_their_machine():
    goal = {"epochs": 1, "instances": ("p3.16xlarge",), "max_gpus": 32, "strategies": ("parameter-server",)}
    for node, price in ((None, 24.48), ("aws-p2.8xlarge", 7.2)):
        found = search(Goal(**goal, server_node=node))
        for index in range(0, len(found), 7):
            row = found.row(index)
            assert row["server_node"] == (node or "aws-p3.16xlarge")
            paid = row["nodes"] * 24.48 + row["servers"] * price
            assert row["cost"] == pytest.approx(paid * row["run_time"] / 3600, rel=1e-9)


@given(st.lists(st.tuples(st.floats(1, 2), st.floats(1, 2)), min_size=1, max_size=60))
def test_no_plan_of_a_front_gains_less_than_a_hundredth_on_a_cheaper_one(pairs):
    time, cost = np.array(pairs).T
    table = {
        "run_time": time,
        "cost": cost,
        "energy": cost,
        "algorithm": np.array(["ring"] * len(pairs)),
        "strategy": np.array(["all-reduce"] * len(pairs)),
        "world_size": np.full(len(pairs), 8),
    }
    rows = startable_front(table, [])
    assert cost[rows[-1]] == pytest.approx(cost.min(), rel=1e-9)
    for faster, slower in itertools.pairwise(rows.tolist()):
        assert time[slower] > 1.01 * time[faster]
    # none that leaves was more than 1 % faster than what stays at its price or less
    for row in range(len(pairs)):
        stay = [kept for kept in rows.tolist() if cost[kept] <= cost[row] * (1 + 1e-9)]
        assert min(time[kept] for kept in stay) <= 1.01 * time[row] * (1 + 1e-9)


def test_a_limit_keeps_the_plan_that_meets_it():
    table = {
        "run_time": np.array([1.0, 1.005]),
        "cost": np.array([2.0, 1.0]),
        "energy": np.array([1.0, 1.0]),
        "algorithm": np.array(["ring", "ring"]),
        "strategy": np.array(["all-reduce", "all-reduce"]),
        "world_size": np.array([8, 8]),
    }
    assert startable_front(table, []).tolist() == [1]
    assert startable_front(table, [table["run_time"] <= 1.002]).tolist() == [0, 1]
