"""PCIe switches and what joins the processors of a node: links of its spec, which bind where halves talk."""

from __future__ import annotations

from itertools import pairwise

import pytest

from perfmodel import InputError, Scenario, collective, explain, predict, sweep
from perfmodel.decide.explanations.derivation import derivation
from perfmodel.decide.explanations.sources import assumed_of
from perfmodel.decide.sensitivity import sensitivity
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.step.communication import host_uplinks

CATALOGUE = Catalogue.built_in()
JOB = {"node": "pcie-server-8gpu-qpi", "accelerator": "p100-pcie-16gb", "workload": "vgg16"}
SERVER = """
id = "two-sockets"
name = "Two sockets"
accelerators = 8
host_link = "pcie3-x16"
inter_link = "ethernet-10g-tcp"
nics = 1
"""


def ring_time(**options):
    return predict(Scenario(**JOB | options, algorithm="ring", overlap="none")).communication_time


def test_four_cards_stay_on_one_processor_and_eight_cross_qpi():
    """By NCCL's constants: 12 GB/s below one processor, 6 GB/s over QPI between two, 10 GB/s over UPI."""
    four, eight = (predict(Scenario(**JOB, world_size=n)) for n in (4, 8))
    assert "QPI" not in four.verdict
    limit = "QPI, 9.6 GT/s between the sockets"
    assert f"{limit} binds, so a faster PCIe 3 x16 would save nothing" in eight.verdict
    assert eight.scaling_efficiency < four.scaling_efficiency
    qpi, upi = (ring_time(world_size=8, node=node) for node in (JOB["node"], "pcie-workstation-8gpu"))
    assert qpi / upi == pytest.approx(10 / 6, rel=0.01)
    assert qpi / ring_time(world_size=4) == pytest.approx(2 * (7 / 8) / (3 / 4), rel=0.02)


def test_the_link_between_sockets_is_an_input_and_an_equation():
    four, eight = ({row.name: row for row in sensitivity(Scenario(**JOB, world_size=n)).rows} for n in (4, 8))
    assert eight["socket_link_bandwidth"].time.value < -0.05
    assert "socket_link_bandwidth" not in four
    explained = explain(Scenario(**JOB, world_size=8))
    notes = {symbol.note for equation in explained.equations for symbol in equation.symbols}
    assert any(note.startswith("qpi-9.6.bandwidth: ") for note in notes)
    assert explained.complete
    cases = [sensitivity(Scenario(**JOB, world_size=n)).case for n in (8, 4)]
    of_eight, of_four = (assumed_of(case, derivation(case), Catalogue.built_in()) for case in cases)
    assert "qpi-9.6: achieved_fraction" in of_eight
    assert "qpi-9.6: achieved_fraction" not in of_four


def test_a_sweep_says_the_same():
    table = sweep(**JOB, world_size=[2, 4, 6, 8], strategy=["all-reduce", "parameter-server-local"]).table()
    for n, strategy, time in zip(
        table["world_size"].tolist(),
        table["strategy"].tolist(),
        table["iteration_time"].tolist(),
        strict=True,
    ):
        answer = predict(Scenario(**JOB, world_size=n, strategy=strategy))
        assert answer.iteration_time == pytest.approx(time, rel=1e-9)


def test_each_switch_is_a_way_to_the_hosts_memory():
    """Two cards below each of four switches; where nobody says, a way for each of two processors."""
    from perfmodel.model.setting.resolve import resolve

    def ways(**options):
        return host_uplinks(resolve(Scenario(strategy="parameter-server-local", **options), CATALOGUE))

    assert [ways(**JOB, world_size=n) for n in (1, 2, 4, 8)] == [1, 1, 2, 4]
    assert ways(node="pcie-workstation-8gpu", world_size=8) == 2
    assert [ways(node="pcie-workstation-8gpu", world_size=n) for n in (3, 5, 7)] == [3 / 2, 5 / 3, 7 / 4]
    servers = JOB | {"strategy": "parameter-server-local", "overlap": "none"}
    two, four = (predict(Scenario(**servers, world_size=n)).communication_time for n in (2, 4))
    assert two == pytest.approx(four, rel=1e-3)  # as many cards below each switch


@pytest.mark.parametrize("node", [JOB["node"], "pcie-workstation-8gpu"])
def test_servers_in_a_node_take_no_less_time_where_more_cards_use_them(node):
    """The busiest switch decides: of three cards two share one, and take as long as two of two or of four."""
    job = JOB | {"node": node, "strategy": "parameter-server-local", "overlap": "none"}
    times = [predict(Scenario(**job, world_size=n)).communication_time for n in range(2, 9)]
    assert all(more >= fewer * (1 - 1e-12) for fewer, more in pairwise(times))
    assert times[1::2] == pytest.approx(times[2::2])  # an odd card has the busiest way to share
    if node == JOB["node"]:
        assert times[:3] == pytest.approx([times[0]] * 3)
    table = sweep(**job, world_size=list(range(2, 9))).table()
    assert table["communication_time"].tolist() == pytest.approx(times, rel=1e-9)


def test_a_collective_on_its_own_crosses_the_sockets_too():
    """Four cards stay below one processor; eight meet over QPI at 6 GB/s, or over UPI at 10."""
    cards = {"accelerator": "p100-pcie-16gb", "size": "1GB", "algorithm": "ring"}
    four, qpi = (collective(ranks=n, node=JOB["node"], **cards) for n in (4, 8))
    upi = collective(ranks=8, node="pcie-workstation-8gpu", **cards)
    assert qpi.bus_bandwidth == pytest.approx(6e9, rel=0.05)
    assert upi.bus_bandwidth / qpi.bus_bandwidth == pytest.approx(10 / 6, rel=0.01)
    assert not any("qpi" in note for note in four.warnings)
    assert "taken: qpi-9.6 between the processors of a node, as pcie-server-8gpu-qpi has" in qpi.warnings
    tree = collective(ranks=8, node=JOB["node"], **cards | {"algorithm": "torus"})
    assert tree.time == pytest.approx(2 * 7 / 8 * 1e9 / 6e9, rel=0.01)
    in_a_step = ring_time(world_size=8, workload="vgg16")
    gradients = predict(Scenario(**JOB, world_size=8, overlap="none")).traffic[0].message_bytes
    alone = collective(ranks=8, node=JOB["node"], **cards | {"size": gradients}).time
    assert alone == pytest.approx(in_a_step, rel=0.05)


def test_a_link_in_an_unusual_place_is_noted_in_a_collective_too():
    asked = {"ranks": 16, "size": "1MB", "node": "dgx-1p"}
    odd = collective(**asked, inter_link="nvlink2-cube-mesh")
    assert "NVLink 2 cube mesh is a link inside a node; taken between nodes as it is" in odd.warnings
    for option in ("intra_link", "inter_link"):
        with pytest.raises(InputError, match="joins the processors of a node"):
            collective(**asked, **{option: "qpi-9.6"})


def test_a_machines_own_rate_stands_before_its_links(tmp_path):
    links = {"qpi": 'socket_link = "qpi-9.6"\n', "none": ""}
    rate = '[cross_socket_bandwidth]\nvalue = 3e9\nbasis = "assumed"\nnote = "measured by hand"\n'
    nodes = tmp_path / "nodes"
    nodes.mkdir()
    times = {}
    for name, text in {**links, "measured": links["qpi"], "own": ""}.items():
        (nodes / "two-sockets.toml").write_text(SERVER + text + (rate if name in ("measured", "own") else ""))
        catalogue = Catalogue([tmp_path])
        asked = Scenario(**JOB | {"node": "two-sockets"}, world_size=8, algorithm="ring", overlap="none")
        times[name] = predict(asked, catalogue).communication_time
    assert times["measured"] == times["own"] == pytest.approx(2 * times["qpi"], rel=0.01)
    assert times["none"] == pytest.approx(times["qpi"] / 2, rel=0.01)


@pytest.mark.parametrize("option", ["intra_link", "inter_link"])
def test_it_joins_processors_and_nothing_else(option):
    with pytest.raises(InputError, match="joins the processors of a node"):
        predict(Scenario(world_size=16, **{option: "upi"}))


def test_ranks_of_a_layout_cross_the_sockets_where_their_group_spans_both():
    """Tensor parallelism over four cards stays on one processor, its replicas four apart do."""
    job = {"workload": "llama-3-8b", "accelerator": "a100-pcie-40gb", "local_batch_size": 8, "world_size": 8}

    def times(parallel):
        nodes = ("pcie-server-8gpu-qpi", "pcie-workstation-8gpu")  # 6 and 10 GB/s between processors
        steps = (predict(Scenario(**job, node=node, tensor_parallel=parallel)) for node in nodes)
        return [step.iteration_time for step in steps]

    replicas, whole = times(4), times(8)
    assert 1 < replicas[0] / replicas[1] < 1.05
    assert whole[0] / whole[1] > 1.3
