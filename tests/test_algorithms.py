"""What ``auto``, ``best`` and algorithms by name come to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfmodel import sweep
from perfmodel.core.errors import InputError
from perfmodel.equations.algorithms import ALGORITHMS
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.collectives.place import USUAL_YEAR, Point
from perfmodel.model.fitted.calibration import calibration
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict
from perfmodel.model.prediction.collectives.collective import CLOSE, algorithms, collective
from perfmodel.model.prediction.collectives.collective_fabric import fabric_of
from perfmodel.model.prediction.intervals.bound import least_exchange_rate
from perfmodel.model.setting.resolve import resolve
from perfmodel.model.step.communication import message_times
from perfmodel.model.step.fabric import fabric as fabric_in_a_step
from perfmodel.model.step.layout import gradient_group
from perfmodel.model.step.library import library_algorithms, library_curve

CATALOGUE = Catalogue.built_in()
SIZES = (1e3, 1e5, 1e7, 1e9)

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
    fabric = Point(per_node * nodes, nodes, CATALOGUE.link(link), outer, 1)
    best, auto = (collective(name, algorithm, fabric, size) for algorithm in ("best", "auto"))
    others = {known: collective(name, known, fabric, size).time for known in algorithms(name, fabric)}
    others.pop("switch-tree", None)  # asks for a network that adds
    assert best.time <= auto.time
    assert best.time <= min(others.values()) * (1 + 1e-12)
    assert others[best.algorithm] == pytest.approx(best.time, rel=1e-12)
    assert auto.time * (1 - 1e-12) <= others[auto.algorithm] <= CLOSE * auto.time


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
    job = {"workload": "bert-large", "node": "dgx-a100-80gb", "world_size": 512}
    answer = predict(Scenario(**job))
    assert answer.iteration_time == pytest.approx(0.0803, rel=0.05)
    assert answer.scaling_efficiency == pytest.approx(0.66, abs=0.03)
    assert predict(Scenario(**job, algorithm="ring")).iteration_time > 3 * answer.iteration_time
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
    if accelerator == "rtx-2060-super":
        asked["node"] = "pcie-workstation-8gpu"
    chosen = predict(Scenario(**asked, accelerators_per_node=2)).iteration_time
    tree = predict(Scenario(**asked, accelerators_per_node=2, algorithm="tree")).iteration_time
    assert 0 < chosen <= tree
    for name in ("nvls", "nvls-tree"):
        with pytest.raises(InputError, match="unknown algorithm"):
            predict(Scenario(**asked, accelerators_per_node=2, algorithm=name))


MACHINES = {
    "dgx-1v": (8, 16, 256),
    "dgx-h100": (4, 8, 64),
    "aws-p4d.24xlarge": (8, 64),
    "gb300-nvl72": (72, 576),
}


@pytest.mark.parametrize("node", MACHINES)
def test_an_algorithm_named_takes_what_its_curve_says_as_in_a_step(node: str) -> None:
    """As in ``predict``, whose shares of links differ a little; a larger message takes no less time."""
    for ranks in MACHINES[node]:
        fabric = fabric_of(ranks, CATALOGUE, node=node)
        setting = resolve(Scenario(node=node, world_size=ranks), CATALOGUE)
        group = gradient_group(setting, fabric_in_a_step(setting, calibration()))._replace(year=USUAL_YEAR)
        for name in library_algorithms(group):
            times = [collective("all-reduce", name, fabric, size).time for size in SIZES]
            for size, time in zip(SIZES, times, strict=True):
                assert float(library_curve(group, name).time(size)) == pytest.approx(time, rel=0.09)
            assert times == sorted(times)


@pytest.mark.parametrize(("held", "used"), [(1, 1), (2, 1), (3, 2), (8, 4)])
def test_part_of_a_machine_sends_over_part_of_its_adapters_as_in_a_step(held: int, used: int) -> None:
    """A DGX-1 has four adapters for eight GPUs; a stated number wins."""
    fabric = fabric_of(2 * held, CATALOGUE, node="dgx-1v", nodes=2)
    scenario = Scenario(node="dgx-1v", world_size=2 * held, accelerators_per_node=held)
    assert fabric.nics == resolve(scenario, CATALOGUE).nics == used
    assert fabric_of(2 * held, CATALOGUE, node="dgx-1v", nodes=2, nics=4).nics == 4
    assert any("(of 4, for " in note for note in fabric.notes) == (used < 4)


def test_a_ring_by_name_is_slower_than_the_library_where_trees_are() -> None:
    """1 MB over 256 V100 by rings: 62 hops between nodes, where trees take ten."""
    fabric = fabric_of(256, CATALOGUE, node="dgx-1v")
    auto, ring = (collective("all-reduce", name, fabric, 1e6) for name in ("auto", "ring"))
    assert auto.algorithm == "tree"
    assert auto.runner_up is not None
    assert auto.runner_up.algorithm == "ring"
    assert ring.time == auto.runner_up.time > 4 * auto.time


@pytest.mark.parametrize(
    ("node", "ranks", "sizes"),
    [
        ("dgx-h100", 8, {1e3: "ring/LL", 1e9: "nvls/Simple"}),
        ("dgx-h100", 64, {1e3: "tree/LL", 1e9: "nvls-tree/Simple"}),
        ("dgx-h100", 4, {1e9: "ring/Simple"}),
        ("dgx-1v", 16, {1e3: "tree/LL", 1e9: "tree/Simple"}),
        ("dgx-1v", 32, {1e9: "ring/Simple"}),
        ("aws-p4d.24xlarge", 16, {1e3: "tree/Simple"}),
        ("pcie-workstation-8gpu", 8, {1e3: "ring/LL"}),
    ],
)
def test_what_the_library_takes_has_a_name(node: str, ranks: int, sizes: dict[float, str]) -> None:
    """By NCCL's own estimates, where its measured time does not tell: EFA of 2020 carries Simple alone."""
    fabric = fabric_of(
        ranks, CATALOGUE, node=node, accelerator=None if "pcie" not in node else "h100-pcie-80gb"
    )
    assert {size: collective("all-reduce", "auto", fabric, size).way for size in sizes} == sizes
    of_switch = {collective("all-gather", "auto", fabric, size).algorithm for size in sizes}
    assert "nvls" not in of_switch or fabric.link.switch_adds


def test_sums_in_the_network_do_not_grow_with_nodes() -> None:
    """Each byte crosses a port once each way, whatever number of nodes: as trees over two."""
    asked = {"node": "dgx-a100-80gb", "workload": "bert-large", "overlap": "none"}
    few, many = (
        predict(Scenario(**asked, gpus=gpus, algorithm="sharp")).communication_time for gpus in (16, 4096)
    )
    auto = predict(Scenario(**asked, gpus=4096)).communication_time
    assert few == pytest.approx(many, rel=0.05)
    assert many < 0.7 * auto
    fabric = fabric_of(4096, CATALOGUE, node="dgx-a100-80gb")
    one = collective("all-reduce", "switch-tree", fabric, 1e9)
    assert one.time >= one.lower_bound
    assert collective("all-reduce", "best", fabric, 1e9).algorithm != "switch-tree"  # nobody said they add


@pytest.mark.parametrize("link", ["ib-hdr-200g", "ethernet-100g-tcp"])
@pytest.mark.parametrize("gpus", [8, 16, 512])
def test_sums_in_the_network_beat_no_bound(link: str, gpus: int) -> None:
    asked = Scenario(
        node="dgx-a100-80gb", gpus=gpus, inter_link=link, algorithm="switch-tree", overlap="none"
    )
    setting = resolve(asked, CATALOGUE)
    assert least_exchange_rate(setting) * 1e9 <= float(message_times_of(setting, 1e9))


def message_times_of(setting, size):
    return message_times(setting, np.array([size]), fabric_in_a_step(setting, calibration()))[0]


def test_where_rccl_runs_switches_add_as_in_textbooks() -> None:
    """RCCL has no CollNet: each rank's share of its node's adapters carries a whole message."""
    asked = {"accelerator": "mi300x", "gpus": 64, "overlap": "none"}
    flat, auto = (predict(Scenario(**asked, algorithm=name)) for name in ("switch-tree", "auto"))
    assert flat.communication_time > 2 * auto.communication_time
