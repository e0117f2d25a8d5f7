"""Measured collectives: what is read, what is fitted, how far off it is on a source it has not seen."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import assume, given
from hypothesis import strategies as st

from perfmodel.core.errors import InputError
from perfmodel.evidence.accuracy.collectives import collective_fit
from perfmodel.evidence.accuracy.collectives.collective_compare import (
    compare_collectives,
    shipped_out_of_sample,
    summarise,
)
from perfmodel.evidence.accuracy.collectives.collective_rows import (
    COLLECTIVES,
    COLUMNS,
    Measurement,
    read_measurements,
    shipped_measurements,
)
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.cli import main
from perfmodel.model.collectives.model import curve, fitted
from perfmodel.model.collectives.parameters import PARAMETERS
from perfmodel.model.collectives.place import Point, places
from perfmodel.model.fitted.calibration import COLLECTIVE_FIT
from perfmodel.model.prediction.collectives.collective import collective
from perfmodel.model.prediction.collectives.collective_fabric import fabric_of
from perfmodel.model.prediction.collectives.collective_spread import SIZES as SIZE_CLASSES
from perfmodel.model.prediction.collectives.collective_spread import (
    interval_of,
    scale_at,
    size_class,
    spread_of,
)

CATALOGUE = Catalogue.built_in()


@pytest.fixture(scope="module")
def measured():
    return shipped_measurements()


@pytest.fixture(scope="module")
def unseen():
    return shipped_out_of_sample()


@pytest.fixture(scope="module")
def nodes(unseen):
    """Errors by nodes and size, each source by a fit to the others."""
    return summarise(unseen)["nodes"]


def test_nothing_is_dropped(measured, unseen):
    assert len(unseen) == len(measured) == 3791
    summary = summarise(unseen)
    assert summary["refused_by_reason"] == {"another library": 216}
    assert (
        summary["untrusted"]["n"] + sum(part["all"]["n"] for part in summary["nodes"].values()) == 3791 - 216
    )
    assert {row.run.point.collective for row in unseen if row.predicted} == set(COLLECTIVES.values())


def test_an_unseen_source_is_predicted_better_than_a_nominal_ring_predicts_it(nodes):
    for part in nodes.values():
        assert part["all"]["median_absolute_error"] < part["all"]["baseline"]["median_absolute_error"] / 2


@pytest.mark.parametrize(
    ("part", "key", "bar"),
    [
        ("several nodes, at least 1 MiB", "median_over_sources", 0.10),
        ("several nodes, below 1 MiB", "median_over_sources", 0.24),
        ("one node, at least 1 MiB", "mean_of_medians", 0.10),
    ],
)
def test_sources_are_predicted_by_the_others(nodes, part, key, bar):
    assert nodes[part]["all"][key] <= bar
    assert nodes[part]["all"]["sources"] >= 9


def test_intervals_are_as_wide_as_rows_nobody_had_seen_ask_for_so_development_rows_lie_inside(nodes):
    """What intervals cover is held against the ledger; see ``test_ledger.py``."""
    for part in ("several nodes, at least 1 MiB", "several nodes, below 1 MiB"):
        assert nodes[part]["all"]["coverage_80_over_sources"] >= 0.88


@given(
    st.sampled_from(list(COLLECTIVES.values())),
    st.sampled_from(
        [("dgx-h100", 64), ("dgx-a100", 8), ("aws-g6e.48xlarge", 16), ("gcp-a4x-highgpu-4g", 72)]
    ),
    st.one_of(st.sampled_from([2.0**20, 2.0**26, 2.0**18, 2.0**24]), st.floats(1e3, 1e10)),
)
def test_the_width_of_an_interval_does_not_jump(name, machine, size):
    node, ranks = machine
    fabric = fabric_of(ranks, CATALOGUE, node=node)
    before, after = (
        interval_of(fabric.of(name, bytes), 1.0) for bytes in (size * (1 - 1e-7), size * (1 + 1e-7))
    )
    for end in ("low_80", "high_80"):
        assert getattr(after, end) == pytest.approx(getattr(before, end), rel=1e-5)


def test_classes_of_sizes_keep_their_width_from_their_first_size_to_two_octaves_before_the_last():
    fabric, spreads = fabric_of(64, CATALOGUE, node="dgx-h100"), fitted().spreads
    for sizes, label in ((2.0**10, "below 1 MiB"), (2.0**20, "1 to 64 MiB"), (2.0**26, "from 64 MiB")):
        point = fabric.of("all-reduce", sizes)
        size = SIZE_CLASSES.index(label)
        wide = spreads[f"several nodes, seen, {label}"] * scale_at(True, size).factor
        assert (spread_of(point, True, spreads), size_class(sizes)) == (wide, size)
    between = spread_of(fabric.of("all-reduce", 2.0**25), True, spreads)
    known = [spreads[f"several nodes, seen, {label}"] for label in SIZE_CLASSES[1:]]
    assert between == pytest.approx(sum(known) / 2 * scale_at(True, 1).factor)


@pytest.mark.any_version
def test_what_is_said_of_an_unseen_source_does_not_depend_on_its_own_times(measured, unseen):
    other = "ml-engineering-a100"
    slower = [m._replace(time=3 * m.time) if m.source == other else m for m in measured]
    again = compare_collectives(slower, out_of_sample=True)
    before, after = ([row for row in rows if row.run.source == other] for rows in (unseen, again))
    assert len(before) == 20
    assert [row.predicted for row in before] == [row.predicted for row in after]
    # widths come from the misses of the others, whose fits did see this source: a little remains
    assert [row.high_80 for row in before] == pytest.approx([row.high_80 for row in after], rel=0.05)
    assert [row.high_80 for row in again] != [row.high_80 for row in unseen]  # but it widens the others'


def test_the_shipped_fit_is_what_the_data_give(tmp_path, monkeypatch):
    monkeypatch.setattr(collective_fit, "COLLECTIVE_FIT", tmp_path / "fit.json")
    collective_fit.refit()
    made, shipped = (json.loads(path.read_text()) for path in (tmp_path / "fit.json", COLLECTIVE_FIT))
    assert made["sha256"] == shipped["sha256"]
    for name, value in shipped["parameters"].items():
        assert made["parameters"][name] == pytest.approx(value, rel=1e-5)
    assert [file.name for file in tmp_path.iterdir()] == ["fit.json"]


def test_the_fit_finds_what_it_was_told():
    """Times made by known parameters give those parameters' times back."""
    points = [
        Point(nodes * 8, nodes, CATALOGUE.link(link), outer if nodes > 1 else None, 8).of(name, size)
        for name in ("all-reduce", "all-gather", "all-to-all")
        for link in ("nvlink3-nvswitch", "nvlink4-nvswitch")
        for outer in (CATALOGUE.link("ib-hdr-200g"), CATALOGUE.link("efa-100g"))
        for nodes in (1, 2, 8)
        for size in np.geomspace(1e3, 1e10, 15)
    ]
    known = {name: value * 1.05 for name, value in fitted().parameters.items()}
    sizes = np.array([point.message_bytes for point in points])
    times = curve(places(points), known).time(sizes)
    rows = [
        Measurement(str(row), f"source {row}", "", float(time), point, None)
        for row, (point, time) in enumerate(zip(points, times, strict=True))
    ]
    data = collective_fit.data_of(rows)
    again = collective_fit.fit(data)
    assert np.exp(collective_fit.log_times(again, data)) == pytest.approx(times, rel=0.05)
    assert len(again) == len(PARAMETERS)


SIZES = np.geomspace(1, 1e11, 25)
INSIDE = [link for link in map(CATALOGUE.link, CATALOGUE.ids("links")) if link.scope == "intra"]
BETWEEN = [link for link in map(CATALOGUE.link, CATALOGUE.ids("links")) if link.scope == "inter"]


def times_of(name, per_node, nodes, link, outer, nics=1):
    point = Point(per_node * nodes, nodes, link, outer if nodes > 1 else None, nics).of(name, 1.0)
    return curve(places([point]), fitted().parameters).time(SIZES)


@given(
    st.sampled_from(list(COLLECTIVES.values())),
    st.sampled_from([1, 2, 4, 8]),
    st.sampled_from([1, 2, 3, 16, 500]),
    st.sampled_from(INSIDE),
    st.sampled_from(BETWEEN),
    st.sampled_from([1, 2, 8]),
)
def test_time_is_positive_and_never_falls_with_bytes_or_a_slower_port(name, g, nodes, link, outer, nics):
    assume(g * nodes > 1)
    times = times_of(name, g, nodes, link, outer, nics)
    assert np.isfinite(times).all()
    assert times[0] > 0
    assert (np.diff(times) >= 0).all()
    faster = outer.bandwidth.model_copy(update={"value": 1.5 * outer.bandwidth.value})
    better = times_of(name, g, nodes, link, outer.model_copy(update={"bandwidth": faster}), nics)
    assert (better <= times * (1 + 1e-12)).all()
    assert (times_of(name, g, nodes, link, outer, nics + 1) <= times * (1 + 1e-12)).all()
    own = link.bandwidth.model_copy(update={"value": 1.5 * link.bandwidth.value})
    if not link.peer_graph:
        quicker = times_of(name, g, nodes, link.model_copy(update={"bandwidth": own}), outer, nics)
        assert (quicker <= times * (1 + 1e-12)).all()


@pytest.mark.parametrize("name", COLLECTIVES.values())
@pytest.mark.parametrize("rdma", [link for link in BETWEEN if link.kind in ("infiniband", "roce", "rdma")])
def test_rdma_is_never_slower_than_tcp_on_a_port_of_the_same_rate(name, rdma):
    tcp = CATALOGUE.link("ethernet-100g-tcp")
    port = rdma.bandwidth.model_copy(update={"value": tcp.bandwidth.value})
    switch = CATALOGUE.link("nvlink3-nvswitch")
    for nodes in (2, 16, 500):
        fast = times_of(name, 8, nodes, switch, rdma.model_copy(update={"bandwidth": port}))
        assert (fast <= times_of(name, 8, nodes, switch, tcp) * (1 + 1e-12)).all()


def test_a_mesh_without_a_ring_falls_back_to_the_host_and_takes_no_more_ranks_than_it_has():
    mesh, host = CATALOGUE.link("nvlink1-cube-mesh"), CATALOGUE.link("pcie3-x16")
    on = [collective("all-reduce", "auto", Point(5, 1, link, None, 1), 1e9).time for link in (mesh, host)]
    assert on[0] == pytest.approx(on[1], rel=0.01)
    for algorithm in ("auto", "ring"):
        with pytest.raises(InputError, match="joins 8 ranks"):
            collective("all-reduce", algorithm, Point(12, 1, mesh, None, 1), 1e9)


def test_an_unseen_link_reaches_what_its_kind_does():
    told = {
        link: collective("all-reduce", "auto", Point(4, 1, CATALOGUE.link(link), None, 1), 1e10)
        for link in ("pcie3-x16", "pcie4-x16", "nvlink3-quad-mesh")
    }
    assert told["pcie3-x16"].bus_bandwidth == pytest.approx(12e9 / 1.2, rel=0.05)  # what NCCL plans with
    assert told["pcie4-x16"].bus_bandwidth == pytest.approx(24e9 / 1.2, rel=0.05)
    assert told["nvlink3-quad-mesh"].bus_bandwidth < 0.94 * 300e9
    switch, two = CATALOGUE.link("nvlink3-nvswitch"), ("ib-edr-100g", "ethernet-100g-tcp")
    fast, slow = (
        collective("all-reduce", "auto", Point(16, 2, switch, CATALOGUE.link(inter), 1), 1e10).time
        for inter in two
    )
    known = fitted().parameters
    ratio = known["infiniband"] * 12.5e9 / known["tcp_ceiling"]
    assert slow / fast == pytest.approx(ratio, rel=0.02)  # the ceiling of the kernel's TCP


@pytest.mark.parametrize("ranks", [2, 3, 5, 8, 16])
@pytest.mark.parametrize("name", ["all-reduce", "all-gather", "all-to-all", "reduce-scatter"])
def test_time_grows_with_bytes_and_beats_no_bound(name, ranks):
    fabric = Point(ranks, 1, CATALOGUE.link("nvlink3-nvswitch"), None, 1)
    found = [collective(name, "auto", fabric, size) for size in np.geomspace(1e3, 1e10, 12)]
    times = [one.time for one in found]
    assert times == sorted(times)
    assert all(one.time >= one.lower_bound for one in found)


def test_rows_and_bad_files(tmp_path):
    told = json.loads(CliRunner().invoke(main, ["validate", "--kind", "collectives", "--json"]).stdout)
    keys = {"measurement_id", "source", "measured_time", "predicted_time", "reason"}
    keys |= {"collective", "nodes", "group_size", "message_bytes"}
    assert keys | {"low_80", "high_80"} == set(told["rows"][0])
    (tmp_path / "a.csv").write_text("source,time\nx,1\n")
    head = ",".join(COLUMNS)
    (tmp_path / "b.csv").write_text(f"{head}\n1,s,all_reduce,pcie3-x16,1000,nan,4,1\n")
    (tmp_path / "c.csv").write_text(f"{head}\n1,s,all_reduce,pcie9,1000,1e-3,4,1\n")
    (tmp_path / "d.csv").write_text(f"{head},nics_per_node\n1,s,all_reduce,pcie3-x16,1000,1e-3,4,1,some\n")
    for name, message in (
        ("a.csv", "no column"),
        ("b.csv", "line 2, column time"),
        ("d.csv", "nics_per_node: 'some'"),
    ):
        bad = CliRunner().invoke(main, ["validate", "--kind", "collectives", "--data", str(tmp_path / name)])
        assert bad.exit_code == 2
        assert message in bad.stderr
    odd = CliRunner().invoke(
        main, ["validate", "--kind", "collectives", "--data", str(tmp_path / "c.csv"), "--json"]
    )
    assert json.loads(odd.stdout)["rows"][0]["reason"] == "unknown link: pcie9"
    assert json.loads(odd.stdout)["summary"]["refused_by_reason"] == {"unknown link": 1}


STATED = {
    "measurement_id": "1",
    "source": "s",
    "collective": "all_reduce",
    "accelerator": "t4",
    "intra_link": "",
    "inter_link": "efa-50g",
    "nics_per_node": "1",
    "nodes": "2",
    "world_size": "2",
    "size_bytes": "1e6",
    "time": "1e-3",
    "library": "NCCL 2.18",
    "algorithm": "",
}


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        *(({column: ""}, None) for column in ("measurement_id", "source", "accelerator", "nics_per_node")),
        *(({column: ""}, None) for column in ("library", "algorithm", "intra_link")),
        ({"collective": ""}, "no collective"),
        ({"collective": "gather"}, "unknown collective: gather"),
        ({"time": ""}, "no time"),
        ({"size_bytes": ""}, "no size_bytes"),
        ({"world_size": ""}, "no world_size"),
        ({"nodes": ""}, "no nodes"),
        ({"inter_link": ""}, "no link between nodes"),
        ({"inter_link": "string"}, "unknown link: string"),
        ({"inter_link": "EFA"}, "unknown link: EFA"),
        ({"inter_link": "EFA 50", "collective": "AllReduce", "accelerator": "T4"}, None),
        ({"world_size": "4"}, "no link inside the node"),
        ({"world_size": "3"}, "ranks not spread evenly: 3 on 2 nodes"),
        ({"library": "Open MPI 4.0.5"}, "another library: Open MPI 4.0.5"),
        ({"algorithm": "collnet"}, None),
        ({"year": "24"}, "no such year: 24"),
        ({"world_size": "1", "nodes": "1"}, "one rank"),
    ],
)
def test_a_blank_cell_is_not_stated(tmp_path, cells, reason):
    """One accelerator per node needs no link inside; what decides the time must be there."""
    row = STATED | cells
    (tmp_path / "a.csv").write_text(f"{','.join(row)}\n{','.join(row.values())}\n")
    (found,) = compare_collectives(read_measurements(tmp_path / "a.csv", CATALOGUE))
    assert found.run.reason == reason
    assert (found.predicted is None) == (reason is not None)
    if reason is None:
        assert found.run.point.link.id == "pcie3-x16"  # the host's of a T4, and of the unknown


@pytest.mark.parametrize("name", ["send-receive", "broadcast"])
def test_every_measured_collective_can_be_asked_for(name, measured):
    """By the command as by validate: of one row the same time."""
    row = next(m for m in measured if m.point and m.point.collective == name)
    point = row.point
    arguments = ["--collective", name, "--ranks", point.group_size, "--nodes", point.nodes]
    arguments += ["--link", point.link.id, "--size", f"{point.message_bytes:.0f}B", "--nics", point.nics]
    if point.inter_link:
        arguments += ["--inter-link", point.inter_link.id]
    shown = CliRunner().invoke(main, ["collective", "--json", *map(str, arguments)], catch_exceptions=False)
    told = json.loads(shown.stdout)
    assert told["time"] == pytest.approx(compare_collectives([row])[0].predicted)
    assert told["bus_bandwidth"] == pytest.approx(told["algorithm_bandwidth"])
    assert told["time"] >= told["lower_bound"]


def test_a_bridge_that_joins_fewer_ranks_leaves_the_rest_to_the_host():
    bridge, host = CATALOGUE.link("nvlink3-bridge"), CATALOGUE.link("pcie4-x16")
    chip = CATALOGUE.accelerator("a100-pcie-40gb")
    times = [
        collective("all-reduce", "auto", Point(4, 1, link, None, 1, chip, host), 1e9).time
        for link in (bridge, host)
    ]
    assert times[0] == pytest.approx(times[1])


@pytest.mark.parametrize("name", COLLECTIVES.values())
def test_several_nodes_need_a_link_between_them(name):
    inside = CATALOGUE.link("nvlink3-nvswitch")
    with pytest.raises(InputError, match="2 nodes need inter_link"):
        collective(name, "auto", Point(16, 2, inside, None, 1), 1e6)


@pytest.mark.parametrize("name", COLLECTIVES.values())
@pytest.mark.parametrize("size", [1.0, 1e6, 1e10])
def test_no_time_is_below_its_bound(name, size):
    inside = CATALOGUE.link("nvlink3-nvswitch")
    for outer in BETWEEN:
        for nodes in (2, 16):
            one = collective(name, "auto", Point(8 * nodes, nodes, inside, outer, 4), size)
            assert one.time >= one.lower_bound, outer.id


def test_a_ring_that_a_user_took_does_not_sum_in_the_switch():
    switch = CATALOGUE.link("nvlink4-nvswitch")
    chosen, ring = (Point(8, 1, switch, None, 1, by_ring=by_ring) for by_ring in (False, True))
    at_once, around = curve(places([chosen, ring]), fitted().parameters).time(1e9)
    assert around > 1.2 * at_once


def test_links_of_one_id_from_two_catalogues_are_two_places():
    slow = CATALOGUE.link("ib-ndr-400g")
    fast = slow.model_copy(
        update={"bandwidth": slow.bandwidth.model_copy(update={"value": 4 * slow.bandwidth.value})}
    )
    inside = CATALOGUE.link("nvlink4-nvswitch")
    rows = [
        Measurement(link.id, "s", "", 1.0, Point(16, 2, inside, link, 1).of("all-gather", 1e9), None)
        for link in (slow, fast)
    ]
    assert len(set(collective_fit.data_of(rows).at.tolist())) == 2
