"""NVLink domains that span nodes: one group of ranks up to their size, beyond it several."""

from __future__ import annotations

import csv

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import perfmodel
from perfmodel.core.errors import InputError
from perfmodel.decide.sensitivity.elasticity import sensitivity
from perfmodel.evidence.accuracy.collectives.collective_rows import COLUMNS, read_measurements
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.link import Link
from perfmodel.interfaces.cli.collective_plot import title_of
from perfmodel.model.collectives.place import Point, places
from perfmodel.model.fitted.calibration import calibration
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction.assemble import time_of
from perfmodel.model.prediction.collectives.collective_fabric import fabric_of
from perfmodel.model.prediction.collectives.collective_spread import NVLINK_DOMAIN, transport_of
from perfmodel.model.prediction.intervals.bound import least_iteration_time
from perfmodel.model.setting.resolve import resolve
from perfmodel.model.step.fabric import adapter_limits

CATALOGUE = Catalogue.built_in()
NVL72 = CATALOGUE.link("nvl72")


def one_node(ranks: int, link: Link = NVL72) -> Point:
    return Point(ranks, 1, link, None, 1, CATALOGUE.accelerator("gb200"))


@pytest.mark.parametrize("chip", ["gb200", "gb300"])
@pytest.mark.parametrize(("ranks", "domains"), [(4, 1), (8, 1), (72, 1), (76, 2), (144, 2), (1024, 15)])
def test_ranks_run_as_one_domain_up_to_72_and_beyond_it_over_all_adapters(chip, ranks, domains):
    fabric = fabric_of(ranks, CATALOGUE, accelerator=chip)
    assert (fabric.nodes, fabric.hosts) == (domains, ranks // 4)
    at = places([fabric.of("all-reduce", 1e9)])
    assert at.nodes[0] == domains
    if domains > 1:
        assert at.adapters[0] == 4 * (ranks // 4 // domains)
        assert at.per_node[0] <= 72


def test_72_ranks_are_not_slowed_by_the_network_between_racks():
    result = perfmodel.collective(ranks=72, size="1GB", accelerator="gb200")
    assert result.nodes == 18
    assert result.bus_bandwidth > 700e9
    assert result.time == perfmodel.collective(ranks=72, size="1GB", intra_link="nvl72", nodes=18).time
    assert (
        result.warnings[-1]
        == "taken: 18 nodes as one NVLink domain, as NVLink 5, domain of 72 GPUs joins 72 ranks"
    )
    two = perfmodel.collective(ranks=144, size="1GB", accelerator="gb200")
    assert two.time > result.time
    assert (
        two.warnings[-1]
        == "taken: 36 nodes as 2 NVLink domains, as NVLink 5, domain of 72 GPUs joins 72 ranks"
    )
    assert two.warnings[1].startswith("taken: --intra-link nvl72, --inter-link roce-400g, --nics 4")


def test_nobody_has_measured_one_so_the_interval_is_wide_and_says_so():
    for ranks in (72, 144):
        fabric = fabric_of(ranks, CATALOGUE, accelerator="gb200")
        assert transport_of(fabric.of("all-reduce", 1e9)) == NVLINK_DOMAIN
        answer = perfmodel.collective(ranks=ranks, size="1GB", accelerator="gb200")
        (why,) = answer.interval.wider_because
        assert why.startswith(f"fewer than two sources measured collectives over {NVLINK_DOMAIN} (x")
        assert answer.interval.high_80 / answer.time > 1.5
    tray = perfmodel.collective(ranks=4, size="1GB", accelerator="gb200")
    assert tray.interval.wider_because == []


def test_nodes_taken_in_part_count_whole():
    """One rank in each of 36 nodes: 18 nodes fill a domain, whatever is used of them."""
    fabric = fabric_of(36, CATALOGUE, accelerator="gb200", nodes=36)
    assert (fabric.nodes, fabric.per_node, fabric.link.id) == (2, 18, "nvl72")


def test_a_machine_for_any_accelerator_has_the_domain_of_the_link_in_it():
    fabric = fabric_of(72, CATALOGUE, accelerator="gb300", node="pcie-workstation-8gpu")
    assert (fabric.nodes, fabric.hosts) == (1, 9)


def test_another_link_inside_knows_no_domain():
    fabric = fabric_of(72, CATALOGUE, accelerator="gb200", intra_link="pcie5-x16")
    assert (fabric.nodes, fabric.nics) == (18, 4)
    assert not any("domain" in note for note in fabric.notes)


@pytest.mark.parametrize(
    ("ranks", "words"), [(72, "one NVLink domain, NVLink 5"), (144, "2 NVLink domains, 72 x RoCE")]
)
def test_the_title_of_a_figure_names_domains(ranks, words):
    assert words in title_of("all-reduce", fabric_of(ranks, CATALOGUE, accelerator="gb200"))


@given(st.integers(1, 500), st.integers(1, 72))
def test_domains_hold_their_nodes(nodes, held):
    domains = NVL72.domains(nodes, held)
    assert 1 <= domains <= nodes
    assert -(-nodes // domains) * held <= 72
    assert CATALOGUE.link("nvlink5-nvswitch").domains(nodes, held) == nodes


@pytest.mark.parametrize(("nodes", "outer", "groups"), [(18, "", 1), (36, "ib-ndr-400g", 2), (36, "", None)])
def test_a_measured_row_lies_on_domains_too(nodes, outer, groups, tmp_path):
    row = dict.fromkeys(COLUMNS, "") | {
        "collective": "all_reduce",
        "intra_link": "nvl72",
        "size_bytes": "1e9",
        "time": "0.002",
        "world_size": str(4 * nodes),
        "nodes": str(nodes),
        "inter_link": outer,
        "nics_per_node": "4",
    }
    path = tmp_path / "own.csv"
    with path.open("w") as file:
        writer = csv.DictWriter(file, row)
        writer.writeheader()
        writer.writerow(row)
    [one] = read_measurements(path, CATALOGUE)
    if groups is None:
        assert (one.point, one.reason) == (None, "no link between nodes")
    else:
        assert (one.point.nodes, one.point.nics, one.point.machines) == (groups, 72, nodes)


@pytest.mark.parametrize("changed", [{"switched": False, "switch_adds": False}, {"domain": 72.5}])
def test_a_domain_is_a_whole_number_of_accelerators_behind_a_switch(changed):
    table = NVL72.model_dump()
    table["domain"]["value"] = changed.pop("domain", 72.0)
    with pytest.raises((InputError, ValueError), match=r"expected a whole number, of a switched link"):
        Link.model_validate(table | changed)


ASKED = {"node": "gb300-nvl72", "workload": "vgg16", "overlap": "none"}


def test_gradients_inside_one_domain_cross_its_link_alone():
    answer = perfmodel.predict(**ASKED, gpus=72)
    assert answer.placement == "18 nodes of 4 accelerators in one NVLink domain"
    assert "twice the bandwidth of NVLink 5" in answer.verdict
    assert not any("--inter-link" in option for option in answer.defaults)
    assert not any("NVLink domain" in words for words in answer.warnings)
    slow = perfmodel.predict(**ASKED, gpus=72, inter_link="ethernet-1g-tcp", nics=1)
    assert slow.communication_time == answer.communication_time
    apart = perfmodel.predict(**ASKED, gpus=72, intra_link="nvlink5-nvswitch")
    assert apart.communication_time > 1.5 * answer.communication_time


def test_gradients_of_several_domains_leave_each_by_the_adapters_of_all_its_nodes():
    answer = perfmodel.predict(**ASKED, gpus=144, inter_link="ethernet-25g-tcp")
    assert answer.placement == "36 nodes of 4 accelerators in 2 NVLink domains"
    assert "the kernel's TCP" in answer.verdict
    limits = adapter_limits(setting_of(144), calibration())
    assert limits["link"] == pytest.approx(18 * adapter_limits(setting_of(8, "nvl5"), calibration())["link"])


def setting_of(gpus: int, inside: str | None = None):
    link = {"nvl5": "nvlink5-nvswitch"}.get(inside or "", inside)
    return resolve(Scenario(**ASKED, gpus=gpus, intra_link=link), CATALOGUE)


def test_parameter_servers_are_reached_from_every_node():
    asked = ASKED | {"strategy": "parameter-server", "gpus": 72}
    apart = perfmodel.predict(**asked, intra_link="nvlink5-nvswitch")
    assert perfmodel.predict(**asked).placement == "18 nodes of 4 accelerators"
    assert perfmodel.predict(**asked).communication_time == pytest.approx(apart.communication_time, rel=0.05)


@given(
    st.sampled_from([4, 8, 40, 72, 76, 144, 200, 576]),
    st.sampled_from(["auto", "ring", "tree", "best", "hierarchical"]),
    st.sampled_from(["nvl72", "ib-xdr-800g"]),
    st.sampled_from(["bandwidth", "hop_latency"]),
    st.floats(1.01, 50),
)
@settings(max_examples=60, deadline=None)
def test_no_answer_is_faster_over_a_worse_link(gpus, algorithm, name, what, factor):
    """Neither inside a domain nor between domains; nor is any faster than the bound."""
    link = CATALOGUE.link(name)
    quantity = getattr(link, what)
    value = quantity.value / factor if what == "bandwidth" else quantity.value * factor
    worse = link.model_copy(update={what: quantity.model_copy(update={"value": value})})
    scenario = Scenario(**ASKED, gpus=gpus, algorithm=algorithm)
    setting, constants = resolve(scenario, CATALOGUE), calibration()
    place = "intra_link" if name == "nvl72" else "inter_link"
    now, then = (time_of(each, constants) for each in (setting, setting._replace(**{place: worse})))
    assert now <= then * (1 + 1e-9)
    assert least_iteration_time(setting) <= now


def test_sensitivity_and_explain_know_which_link_is_crossed():
    inside, between = (
        {row.name: row.time.value for row in sensitivity(Scenario(**ASKED, gpus=gpus)).rows}
        for gpus in (72, 144)
    )
    assert inside["intra_link_bandwidth"] < -0.01
    assert "inter_link_bandwidth" not in inside
    assert "inter_link_bandwidth" in between
    words = str(perfmodel.explain(**ASKED, gpus=144))
    assert "g, accelerators_per_node = 72; of an NVLink domain" in words
    assert "n_a, adapters = 72; of an NVLink domain" in words
