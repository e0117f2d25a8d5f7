"""Orders that hold whatever the setting, by random search: what is more, slower or dominated never wins."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from typing import Any

import pytest

from perfmodel.core.errors import InputError
from perfmodel.hardware.accelerator import Accelerator
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import calibration
from perfmodel.model.fitted.efficiency import NESTED
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict
from perfmodel.model.prediction.collectives.collective import collective
from perfmodel.model.prediction.collectives.collective_fabric import fabric_of
from perfmodel.model.step.all_reduce import ONLY_ON_REQUEST
from perfmodel.model.transformers.machine import EIGHT_OVER_SIXTEEN, chip_of
from perfmodel.workloads import names, workload

pytestmark = pytest.mark.any_version

BUILT_IN = Catalogue.built_in()
ACCELERATORS = {id: BUILT_IN.accelerator(id) for id in BUILT_IN.ids("accelerators")}
MESHES = {id for id in BUILT_IN.ids("links") if BUILT_IN.link(id).peer_graph}
EIGHT_IN_A_NODE = [
    id for id, spec in ACCELERATORS.items() if not (spec.peer_link in MESHES and "quad" in spec.peer_link)
]
NETWORKS = [id for id in BUILT_IN.ids("links") if BUILT_IN.link(id).scope == "inter"]
PORTS = (10, 25, 40, 50, 100, 200, 400)
EXACT = 1 + 1e-9
COLLECTIVES = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast", "send-receive")


def racks(rng: random.Random) -> dict[str, Any]:
    """Racks, often oversubscribed ones."""
    if rng.random() < 0.4:
        return {}
    return {
        "rack_nodes": rng.choice((1, 2, 3, 4, 8, 16)),
        "oversubscription": rng.choice((1.0, 1.5, 4.0, 16.0, 64.0)),
        "placement": rng.choice(("contiguous", "random")),
    }


def on_nodes(rng: random.Random) -> dict[str, Any]:
    return {
        "accelerator": rng.choice(EIGHT_IN_A_NODE),
        "node": "pcie-workstation-8gpu",
        "nics": rng.choice((1, 1, 2, 4, 8)),
        **racks(rng),
    }


@pytest.mark.parametrize("seed", range(4))
def test_an_interval_of_a_collective_says_where_it_was_cut(seed):
    rng, cut = random.Random(seed), 0
    for _ in range(150):
        per, nodes = rng.choice((1, 2, 4, 8)), rng.choice((1, 2, 3, 16, 64))
        on = on_nodes(rng)
        on |= {"nodes": nodes, "inter_link": rng.choice(NETWORKS)} if nodes > 1 else {"nodes": 1}
        result = collective(
            rng.choice(COLLECTIVES),
            "auto",
            fabric_of(per * nodes, BUILT_IN, **on),
            10 ** rng.uniform(0.5, 10),
        )
        if result.interval is None or not result.time:
            continue
        ends, time = result.interval, result.time
        if ends.clipped_at is None:
            assert ends.low_80 * ends.high_80 == pytest.approx(time**2)
        else:
            cut += 1
            assert ends.low_80 == min(ends.clipped_at, time)
            assert ends.low_80 * ends.high_80 > time**2
        assert ends.low_80 <= time <= ends.high_80
    assert cut


@pytest.mark.parametrize("seed", range(4))
def test_a_collective_over_rdma_is_never_slower_than_over_tcp(seed):
    rng = random.Random(seed)
    for _ in range(200):
        per, nodes, port = rng.choice((1, 2, 4, 8)), rng.choice((2, 3, 4, 16, 64, 512)), rng.choice(PORTS)
        on, name, size = on_nodes(rng), rng.choice(COLLECTIVES), 10 ** rng.uniform(0.5, 10)
        algorithm = rng.choice(("auto", "best"))
        fabrics = [
            fabric_of(per * nodes, BUILT_IN, nodes=nodes, inter_link=f"ethernet-{port}g-{kind}", **on)
            for kind in ("rdma", "tcp")
        ]
        try:
            rdma, tcp = (collective(name, algorithm, fabric, size).time for fabric in fabrics)
        except InputError:  # more ranks than the link joins in a node
            continue
        assert rdma <= tcp * EXACT, (name, algorithm, size, per, nodes, port, on)


@pytest.mark.parametrize("seed", range(4))
def test_training_over_rdma_is_never_slower_than_over_tcp(seed):
    rng = random.Random(seed)
    for _ in range(60):
        per, nodes, port = rng.choice((1, 2, 4, 8)), rng.choice((2, 3, 8, 32, 128)), rng.choice(PORTS)
        job = on_nodes(rng) | {
            "accelerator": rng.choice(("v100-sxm2-16gb", "h100-sxm5-80gb", "k80", "mi300x")),
            "world_size": per * nodes,
            "accelerators_per_node": per,
            "workload": rng.choice(("resnet50", "vgg16", "bert-base", "alexnet")),
            "strategy": rng.choice(("all-reduce", "all-reduce", "parameter-server")),
            "algorithm": rng.choice(("auto", "best", "ring", "hierarchical")),
            "local_batch_size": rng.choice((1, 16)),
        }
        if job["strategy"] != "all-reduce":
            job["algorithm"] = "auto"
        try:
            rdma, tcp = (
                predict(Scenario(inter_link=f"ethernet-{port}g-{kind}", **job)).iteration_time
                for kind in ("rdma", "tcp")
            )
        except InputError:
            continue
        assert rdma <= tcp * EXACT, (port, job)


@pytest.mark.parametrize("seed", range(4))
def test_the_best_algorithm_is_never_slower_than_another(seed):
    """Gradients merged for the fastest algorithm of each size went 2 % slower than by one for all sizes."""
    rng = random.Random(seed)
    others = ("ring", "tree", "hierarchical", "halving-doubling", "recursive-doubling", "torus", "leader")
    assert not {*others} & {*ONLY_ON_REQUEST}
    for _ in range(8):
        job = {
            "accelerator": rng.choice(("v100-sxm2-16gb", "h100-sxm5-80gb", "k80", "p100-sxm2-16gb")),
            "inter_link": rng.choice(NETWORKS),
            "world_size": rng.choice((3, 8, 16, 24, 64)),
            "workload": rng.choice(("resnet18", "alexnet", "vgg16", "googlenet")),
            "overlap": rng.choice(("none", "wfbp", "bucketed", "fused", "priority", "optimal")),
            "local_batch_size": rng.choice((1, 4, 16)),
        }
        best = predict(Scenario(algorithm="best", **job))
        for algorithm in others:
            try:
                other = predict(Scenario(algorithm=algorithm, **job))
            except InputError:
                continue
            assert best.iteration_time <= other.iteration_time * EXACT, (algorithm, job)


@pytest.mark.parametrize("seed", range(4))
def test_an_efficiency_above_one_is_noted(seed):
    rng = random.Random(seed)
    usual = [id for id, spec in ACCELERATORS.items() if spec.usual_node and id != "gh200-96gb"]
    for _ in range(60):
        gpus = rng.choice((2, 4, 8, 16, 64, 256))
        job: dict[str, Any] = {"accelerator": rng.choice(usual), "world_size": gpus}
        job["workload"] = rng.choice(("resnet50", "bert-base", "gpt2", "llama-3-8b", "mixtral-8x7b"))
        if rng.random() < 0.5:
            job["global_batch_size"] = gpus * rng.choice((1, 4))
        if job["workload"] not in ("resnet50", "bert-base"):
            job |= {"sequence_length": 1024, "tensor_parallel": rng.choice((1, 2))}
            job["sharding"] = rng.choice((None, "none", "zero1", "zero2", "zero3"))
        try:
            prediction = predict(Scenario(**job))
        except InputError:
            continue
        noted = any("scaling efficiency above 100 %" in words for words in prediction.warnings)
        assert noted == (prediction.scaling_efficiency > 1), job


# networks


def layers_of(name: str) -> Counter[Any]:
    return Counter(layer._replace(name="") for layer in workload(name).layers)


def test_nested_networks_have_all_layers_of_the_one_before():
    for family in NESTED:
        for smaller, larger in itertools.pairwise(family):
            assert layers_of(smaller) < layers_of(larger), (smaller, larger)


def test_every_pair_of_nested_networks_is_known():
    """Unless both were measured."""
    whole = {name: layers_of(name) for name in names()}
    learned = calibration().efficiency
    for smaller, larger in itertools.permutations(whole, 2):
        if whole[smaller] < whole[larger]:
            together = any({smaller, larger} <= {*family} for family in NESTED)
            measured = all(learned.knows(f"workload/{name}") for name in (smaller, larger))
            assert together or measured, (smaller, larger)


@pytest.mark.parametrize("precision", ["fp32", "tf32", "amp", "bf16"])
def test_a_network_with_more_of_the_same_layers_is_never_faster(precision):
    """VGG-13, which nobody measured, was up to 2 % faster than VGG-11 at batch 1: 6 % was learned of that."""
    for family in NESTED:
        for id in ACCELERATORS:
            try:
                times = [
                    predict(Scenario(workload=name, accelerator=id, precision=precision, local_batch_size=1))
                    for name in family
                ]
            except InputError:
                continue
            for smaller, larger in itertools.pairwise(times):
                assert smaller.iteration_time < larger.iteration_time, (family, id)


# accelerators


def dominated(one: Accelerator, other: Accelerator) -> bool:
    """Whether another accelerator of the same architecture has at least as much of everything."""
    if (one.vendor, one.architecture) != (other.vendor, other.architecture) or one.is_tpu:
        return False
    peaks = one.peak_flops.keys() <= other.peak_flops.keys() and all(
        peak.value <= other.peak_flops[name].value for name, peak in one.peak_flops.items()
    )
    power = [spec.tdp.value if spec.tdp else 0.0 for spec in (one, other)]
    return (
        peaks
        and one.memory_bandwidth.value <= other.memory_bandwidth.value
        and one.memory_bytes.value <= other.memory_bytes.value
        and one.compute_units <= other.compute_units
        and power[0] <= power[1]
        and not (one.achieved_flops and other.achieved_flops)  # of two measured ones, measurements decide
        and BUILT_IN.link(one.host_link).bandwidth.value <= BUILT_IN.link(other.host_link).bandwidth.value
    )


@pytest.mark.parametrize(
    "job",
    [
        {"workload": "resnet50", "precision": "amp", "local_batch_size": 64, "framework": "pytorch@2023"},
        {"workload": "bert-large", "precision": "bf16", "local_batch_size": 8, "framework": "pytorch@2023"},
        {"workload": "llama-3-8b", "precision": "bf16", "sequence_length": 2048},
        {"workload": "llama-3-8b", "precision": "fp8", "sequence_length": 2048},
    ],
    ids=["resnet50", "bert-large", "llama in 16 bits", "llama in 8 bits"],
)
def test_an_accelerator_with_less_of_everything_is_never_faster(job):
    """MI350X of 1,000 W was faster than MI355X of 1,400 W, by the share of its peak that NVIDIA's reach."""
    pairs = [
        (a, b)
        for a, b in itertools.permutations(ACCELERATORS, 2)
        if dominated(*map(ACCELERATORS.get, (a, b)))
    ]
    assert ("mi350x", "mi355x") in pairs
    for less, more in pairs:
        try:
            slow, fast = (predict(Scenario(accelerator=id, gpus=1, **job)) for id in (less, more))
        except InputError:
            continue
        assert fast.iteration_time <= slow.iteration_time * EXACT, (less, more)


@pytest.mark.parametrize("id", [id for id, spec in ACCELERATORS.items() if "fp8" in spec.peak_flops])
def test_eight_bits_are_at_most_as_much_faster_as_peaks_allow(id):
    """Of MI300X products were 2.9 times as fast as in 16 bits, of which half of the peak was measured."""
    chip, peaks = chip_of(ACCELERATORS[id]), ACCELERATORS[id].peak_flops
    faster, most = chip.product_rate_narrow / chip.product_rate, peaks["fp8"].value / peaks["bf16"].value
    assert EIGHT_OVER_SIXTEEN * most * 0.999 <= faster <= most or 1 < faster <= most
