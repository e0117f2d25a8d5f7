"""Gradients dealt out to parameter servers whole, and the machine that a server is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.equations.overlap import exposed_communication_time
from perfmodel.equations.server_load import (
    greedy_shard_imbalance,
    shard_imbalance,
    split_shard_imbalance,
)
from perfmodel.errors import InputError
from perfmodel.prediction import predict
from perfmodel.specs.scenario import Scenario
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
    with pytest.raises(InputError, match="goes with --strategy parameter-server"):
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
