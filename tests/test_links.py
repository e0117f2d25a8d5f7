"""A better link is never slower: more bandwidth, less latency, the same transport or a better one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.link import Link
from perfmodel.model.collectives.model import curve, fitted
from perfmodel.model.collectives.place import Point, places
from perfmodel.model.fitted.calibration import before_fit, calibration
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict
from perfmodel.model.prediction.collectives.collective import ALGORITHMS, collective
from perfmodel.model.step.ports import KERNEL_TCP, bulk_bandwidth

CATALOGUE = Catalogue.built_in()
LINKS = [CATALOGUE.link(name) for name in CATALOGUE.ids("links")]
BETWEEN = [link for link in LINKS if link.scope == "inter"]


def is_no_worse(link: Link, than: Link) -> bool:
    """Whether a link is as good as another in all that its data sheet says, and so is its transport.

    Every transport is better than the kernel's TCP; of others nothing is known.
    """
    if than.kind not in (link.kind, KERNEL_TCP):
        return False
    more = [(link.bandwidth.value, than.bandwidth.value)]
    more.append(tuple(of.flow_bandwidth.value if of.flow_bandwidth else math.inf for of in (link, than)))
    less = [(link.hop_latency.value, than.hop_latency.value)]
    less.append(tuple((of.bulk_hop_latency or of.hop_latency).value for of in (link, than)))
    return all(a >= b for a, b in more) and all(a <= b for a, b in less)


PAIRS = [(a, b) for a, b in itertools.permutations(BETWEEN, 2) if is_no_worse(a, b)]
"""The better first."""
OF_LIKE_PROTOCOLS = [
    (a, b) for a, b in PAIRS if a.low_latency >= b.low_latency and a.low_latency_from <= b.low_latency_from
]
"""Without plug-ins that carry NCCL's Simple protocol alone, beside transports that carry the others too: an
empty message takes longer over them (136 us over TCPXO, 164 over the first EFA, as measured)."""


def slower(
    time_over: Callable[[Link], float], pairs: list[tuple[Link, Link]] = PAIRS
) -> list[tuple[str, float, str, float]]:
    """Pairs of which the better link takes longer."""
    times = {link.id: time_over(link) for link in BETWEEN}
    return [
        (better.id, times[better.id], worse.id, times[worse.id])
        for better, worse in pairs
        if times[better.id] > times[worse.id] * (1 + 1e-12)
    ]


def test_pairs_hold_every_transport_at_the_same_port_speed():
    named = {(better.id, worse.id) for better, worse in PAIRS}
    for speed in (10, 25, 40, 50, 100, 200, 400):
        assert (f"ethernet-{speed}g-rdma", f"ethernet-{speed}g-tcp") in named
    assert len(named) > 300


@pytest.mark.parametrize("constants", [calibration(), before_fit()], ids=["fitted", "before"])
def test_bulk_bandwidth(constants):
    assert slower(lambda link: 1 / bulk_bandwidth(link, constants)) == []


@pytest.mark.parametrize("size", [8, 1e6, 1e9])
@pytest.mark.parametrize("nodes", [2, 32])
@pytest.mark.parametrize(("per_node", "nics", "algorithm"), [(1, 1, "auto"), (8, 4, "auto"), (8, 1, "best")])
@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_collectives(name, per_node, nics, algorithm, nodes, size):
    inside = CATALOGUE.link("nvlink2-nvswitch")

    def time_over(link: Link) -> float:
        return collective(name, algorithm, Point(per_node * nodes, nodes, inside, link, nics), size).time

    assert slower(time_over, OF_LIKE_PROTOCOLS) == []


@pytest.mark.parametrize("nodes", [2, 32])
@pytest.mark.parametrize(("per_node", "nics"), [(1, 1), (8, 4), (8, 1)])
@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_bytes_on_the_wire(name, per_node, nics, nodes):
    inside = CATALOGUE.link("nvlink2-nvswitch")

    def wire_time(link: Link) -> float:
        at = places([Point(per_node * nodes, nodes, inside, link, nics).of(name, 1.0)])
        return float(curve(at, fitted().parameters).byte_time[0])

    assert slower(wire_time) == []


OPTIONS = st.fixed_dictionaries(
    {
        "workload": st.sampled_from(["resnet50", "vgg16", "bert-base"]),
        "accelerator": st.sampled_from(["v100-sxm2-16gb", "t4", "a100-sxm4-40gb"]),
        "world_size": st.sampled_from([9, 16, 64, 512]),
        "nics": st.integers(1, 4),
        "strategy": st.sampled_from(["all-reduce", "parameter-server"]),
        "overlap": st.sampled_from(["none", "wfbp", "bucketed", "priority"]),
        "algorithm": st.sampled_from(["ring", "tree", "hierarchical", "halving-doubling", "best"]),
        "local_batch_size": st.sampled_from([8, 64]),
        "connections": st.integers(1, 16),
    },
    optional={"node": st.sampled_from(["aws-p3.2xlarge", "dgx-1v", "pcie-workstation-4gpu"])},
)


@pytest.mark.any_version
@settings(max_examples=40)
@given(OPTIONS)
def test_iterations(options):
    def time_over(link: Link) -> float:
        answer = predict(Scenario(**options, inter_link=link.id))
        node = CATALOGUE.node(answer.scenario["node"])
        # under a machine's limit its own link has a share of its own
        limited = node.network_bandwidth is not None and node.inter_link == link.id
        return math.nan if limited else answer.iteration_time

    assert slower(time_over, OF_LIKE_PROTOCOLS) == []


@pytest.mark.parametrize("strategy", ["all-reduce", "parameter-server"])
def test_rdma_is_no_slower_than_tcp_at_any_port_speed(strategy):
    for speed in (10, 25, 40, 50, 100, 200, 400):
        times = [
            predict(
                Scenario(
                    workload="vgg16",
                    world_size=32,
                    strategy=strategy,
                    nics=1,
                    inter_link=f"ethernet-{speed}g-{by}",
                )
            ).iteration_time
            for by in ("rdma", "tcp")
        ]
        assert times == sorted(times)
