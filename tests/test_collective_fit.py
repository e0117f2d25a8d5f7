"""Measured collectives: what is read, what is fitted, how far off it is on a source it has not seen."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from perfmodel.cli import main
from perfmodel.errors import InputError
from perfmodel.prediction.collective import Fabric, collective
from perfmodel.prediction.collective_model import RESULT, Point, features, fitted, log_time, names
from perfmodel.specs.store import Catalogue
from perfmodel.validate import collective_fit
from perfmodel.validate.collective_fit import compare_collectives, shipped_measurements, summarise

CATALOGUE = Catalogue.built_in()


@pytest.fixture(scope="module")
def measured():
    return shipped_measurements()


@pytest.fixture(scope="module")
def unseen(measured):
    return compare_collectives(measured, out_of_sample=True)


def test_nothing_is_dropped(measured, unseen):
    assert len(unseen) == len(measured) > 1200
    refused = [row for row in unseen if row.predicted_time is None]
    assert {row.measurement.reason for row in refused} == {"unknown collective: sendrecv"}


def test_an_unseen_source_is_predicted_better_than_a_nominal_ring_predicts_it(unseen):
    sizes = summarise(unseen)["sizes"]
    for size in sizes.values():
        assert size["all"]["median_absolute_error"] < size["all"]["baseline"]["median_absolute_error"] / 2
    assert sizes["at least 1 MiB"]["all"]["median_absolute_error"] <= 0.12
    assert sizes["below 1 MiB"]["all"]["median_absolute_error"] <= 0.30


def test_intervals_cover_what_they_say(unseen):
    for size in summarise(unseen)["sizes"].values():
        assert 0.75 <= size["all"]["coverage_80"] <= 0.85


def test_what_is_said_of_an_unseen_source_does_not_depend_on_its_own_times(measured, unseen):
    other = "ml-engineering-a100"
    slower = [m._replace(time=3 * m.time) if m.source == other else m for m in measured]
    again = compare_collectives(slower, out_of_sample=True)
    before, after = ([row for row in rows if row.measurement.source == other] for rows in (unseen, again))
    assert len(before) == 20
    assert [row.predicted_time for row in before] == [row.predicted_time for row in after]
    # widths come from the misses of the others, whose fits did see this source: a little remains
    assert [row.high_80 for row in before] == pytest.approx([row.high_80 for row in after], rel=0.03)
    assert [row.high_80 for row in again] != [row.high_80 for row in unseen]  # but it widens the others'


def test_the_shipped_fit_is_what_the_data_give(tmp_path, monkeypatch):
    monkeypatch.setattr(collective_fit, "RESULT", tmp_path / "fit.json")
    collective_fit.refit()
    made, shipped = (json.loads(path.read_text()) for path in (tmp_path / "fit.json", RESULT))
    assert made["sha256"] == shipped["sha256"]
    for name, value in shipped["parameters"].items():
        assert made["parameters"][name] == pytest.approx(value, rel=1e-5)
    assert [file.name for file in tmp_path.iterdir()] == ["fit.json"]


def test_the_fit_finds_what_it_was_told():
    """Times made by known parameters give those parameters' times back."""
    links = ("nvlink3-nvswitch", "nvlink4-nvswitch", "nvlink2-cube-mesh")
    points = [
        Point("all-reduce", ranks, 1, size, CATALOGUE.link(link), None, 1)
        for link in links
        for ranks in (2, 4, 8)
        for size in np.geomspace(1e3, 1e10, 15)
    ]
    known = fitted().parameters + 0.1
    times = np.exp(log_time(known, features(points)))
    found = collective_fit.fit(features(points), times, [p.link.id for p in points])
    assert np.exp(log_time(found, features(points))) == pytest.approx(times, rel=0.03)
    assert len(found) == len(names())


def test_a_mesh_without_a_ring_falls_back_to_the_host_and_takes_no_more_ranks_than_it_has():
    mesh, host = CATALOGUE.link("nvlink1-cube-mesh"), CATALOGUE.link("pcie3-x16")
    on = [collective("all-reduce", "auto", Fabric(5, 1, link, None, 1), 1e9).time for link in (mesh, host)]
    assert on[0] == pytest.approx(on[1], rel=0.01)
    for algorithm in ("auto", "ring"):
        with pytest.raises(InputError, match="joins 8 ranks"):
            collective("all-reduce", algorithm, Fabric(12, 1, mesh, None, 1), 1e9)


def test_an_unseen_link_reaches_what_its_kind_does():
    told = {
        link: collective("all-reduce", "auto", Fabric(4, 1, CATALOGUE.link(link), None, 1), 1e10)
        for link in ("pcie3-x16", "pcie4-x16", "nvlink3-quad-mesh")
    }
    assert told["pcie3-x16"].bus_bandwidth == pytest.approx(12e9, rel=0.05)  # what NCCL plans with
    assert told["pcie4-x16"].bus_bandwidth == pytest.approx(24e9, rel=0.05)
    assert told["nvlink3-quad-mesh"].bus_bandwidth < 0.94 * 300e9
    switch, two = CATALOGUE.link("nvlink3-nvswitch"), ("ib-edr-100g", "ethernet-100g-tcp")
    fast, slow = (
        collective("all-reduce", "auto", Fabric(16, 2, switch, CATALOGUE.link(inter), 1), 1e10).time
        for inter in two
    )
    assert slow / fast == pytest.approx(0.96 * 12.5 / 3.125, rel=0.02)  # the ceiling of the kernel's TCP


@pytest.mark.parametrize("ranks", [2, 3, 5, 8, 16])
@pytest.mark.parametrize("name", ["all-reduce", "all-gather", "all-to-all", "reduce-scatter"])
def test_time_grows_with_bytes_and_beats_no_bound(name, ranks):
    fabric = Fabric(ranks, 1, CATALOGUE.link("nvlink3-nvswitch"), None, 1)
    found = [collective(name, "auto", fabric, size) for size in np.geomspace(1e3, 1e10, 12)]
    times = [one.time for one in found]
    assert times == sorted(times)
    assert all(one.time >= one.lower_bound for one in found)


def test_rows_and_bad_files(tmp_path):
    told = json.loads(CliRunner().invoke(main, ["validate", "--kind", "collectives", "--json"]).stdout)
    keys = {"measurement_id", "source", "measured_time", "predicted_time", "reason"}
    assert keys | {"low_80", "high_80", "low_95", "high_95"} == set(told["rows"][0])
    (tmp_path / "a.csv").write_text("source,time\nx,1\n")
    head = ",".join(collective_fit.COLUMNS)
    (tmp_path / "b.csv").write_text(f"{head}\n1,s,all_reduce,pcie3-x16,1000,nan,4,1\n")
    (tmp_path / "c.csv").write_text(f"{head}\n1,s,all_reduce,pcie9,1000,1e-3,4,1\n")
    for name, message in (("a.csv", "no column"), ("b.csv", "line 2, column time")):
        bad = CliRunner().invoke(main, ["validate", "--kind", "collectives", "--data", str(tmp_path / name)])
        assert bad.exit_code == 2
        assert message in bad.stderr
    odd = CliRunner().invoke(
        main, ["validate", "--kind", "collectives", "--data", str(tmp_path / "c.csv"), "--json"]
    )
    assert json.loads(odd.stdout)["rows"][0]["reason"].startswith("unknown link 'pcie9'")
