"""``perfmodel collective``: an accelerator in place of links, what was taken, intervals and the plot."""

from __future__ import annotations

import json
import re
import sys

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

import perfmodel
from perfmodel.core.errors import InputError
from perfmodel.evidence.accuracy.collectives.collective_curves import nearest_curves
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.cli import main
from perfmodel.interfaces.cli.collective_plot import collective_figure
from perfmodel.model.prediction.collectives.collective_fabric import fabric_of
from perfmodel.model.prediction.collectives.collective_spread import transport_of

CATALOGUE = Catalogue.built_in()
H100 = ("--accelerator", "h100-sxm5-80gb", "--ranks", "64")


def invoke(*words: object) -> Result:
    return CliRunner().invoke(main, ["collective", *map(str, words)], env={"COLUMNS": "80"})


# --- what is taken


def test_an_accelerator_brings_its_usual_machine_and_the_answer_says_so():
    result = perfmodel.collective(ranks=64, size="1GB", accelerator="h100-sxm5-80gb")
    assert result.nodes == 8
    assert result.warnings == [
        "taken: --node dgx-h100, the usual machine of H100 SXM5 80 GB",
        "taken: --intra-link nvlink4-nvswitch, --inter-link ib-ndr-400g, --nics 8, as dgx-h100 has",
    ]
    said = {"node": "dgx-h100", "intra_link": "nvlink4-nvswitch", "inter_link": "ib-ndr-400g", "nics": 8}
    given = perfmodel.collective(ranks=64, size="1GB", accelerator="h100-sxm5-80gb", **said)  # type: ignore[call-overload]
    assert (given.time, given.warnings) == (result.time, [])


def test_what_is_said_comes_before_what_the_machine_has():
    given = {"intra_link": "pcie5-x16", "inter_link": "ethernet-100g-tcp", "nics": 2}
    fabric = fabric_of(16, CATALOGUE, accelerator="h100-sxm5-80gb", **given)
    assert (fabric.link.id, fabric.inter_link.id, fabric.nics) == tuple(given.values())  # type: ignore[union-attr]
    node, connections = fabric.notes
    assert node == "taken: --node dgx-h100, the usual machine of H100 SXM5 80 GB"
    assert connections == "taken: --connections 16, by default"


@pytest.mark.parametrize("named", [{"accelerator": "a100-sxm4-80gb"}, {"node": "dgx-a100-80gb"}])
def test_accelerator_and_host_link_reach_the_model(named):
    fabric = fabric_of(16, CATALOGUE, **named)
    assert (fabric.accelerator.id, fabric.host_link.id) == ("a100-sxm4-80gb", "pcie4-x16")


def test_another_accelerator_than_a_machine_is_sold_with_is_named():
    fabric = fabric_of(8, CATALOGUE, accelerator="h100-sxm5-80gb", node="dgx-a100-80gb")
    assert fabric.notes[0] == (
        "NVIDIA DGX A100 80 GB is sold with A100 SXM4 80 GB; predicted with H100 SXM5 80 GB in it"
    )


@pytest.mark.parametrize("id", CATALOGUE.ids("accelerators"))
@pytest.mark.parametrize("nodes", [None, 4])
def test_every_accelerator_with_a_usual_machine_needs_no_other_word(id, nodes):
    spec, more = CATALOGUE.accelerator(id), {}
    if nodes and spec.usual_node is None:
        more = {"node": "pcie-workstation-8gpu"}
    elif id == "gh200-96gb":  # whose usual machine holds one, without a network
        more = {"inter_link": "slingshot11-200g"}
    result = perfmodel.collective(ranks=4, nodes=nodes, size="16MiB", accelerator=id, **more)
    assert result.time > 0
    within = spec.is_tpu or any("NVLink domain" in note for note in result.warnings)
    crosses = result.nodes > 1 and not within
    assert any("--nics" in note for note in result.warnings) == crosses


@pytest.mark.parametrize(
    ("named", "link", "note"),
    [
        ({}, "pcie3-x16", "taken: --intra-link pcie3-x16, --nics 1, by default"),
        ({"accelerator": "l40s"}, "pcie4-x16", "taken: --intra-link pcie4-x16, "),
    ],
)
def test_one_rank_in_each_node_needs_no_inner_link(named, link, note):
    fabric = fabric_of(4, CATALOGUE, nodes=4, inter_link="ib-hdr-200g", **named)
    assert fabric.link.id == link
    assert any(each.startswith(note) for each in fabric.notes)


@pytest.mark.parametrize(
    ("accelerator", "inside", "note"),
    [
        ("a40", "pcie4-x16", "taken: --intra-link pcie4-x16, as a40 has"),
        ("h100-sxm5-80gb", "nvlink4-nvswitch", "taken: --intra-link nvlink4-nvswitch, as h100-sxm5-80gb has"),
    ],
)
def test_a_link_is_said_to_be_of_the_spec_that_names_it(accelerator, inside, note):
    fabric = fabric_of(4, CATALOGUE, accelerator=accelerator, node="pcie-workstation-8gpu")
    assert (fabric.link.id, fabric.notes[-1]) == (inside, note)


@given(st.integers(1, 200), st.sampled_from(["nvlink3-nvswitch", "nvlink3-quad-mesh", "pcie4-x16"]))
def test_ranks_with_a_link_between_nodes_cross_it_or_the_answer_says_that_they_do_not(ranks, inside):
    fabric = fabric_of(ranks, CATALOGUE, intra_link=inside, inter_link="ib-hdr-200g")
    most = 4 if "quad" in inside else 8
    assert fabric.group_size == fabric.nodes * fabric.per_node
    assert fabric.per_node <= most
    assert not any(ranks % n == 0 for n in range(-(-ranks // most), fabric.nodes))
    if fabric.nodes > 1:
        assert fabric.inter_link.id == "ib-hdr-200g"  # type: ignore[union-attr]
        assert fabric.notes[0].startswith(f"taken: --nodes {fabric.nodes}")
    else:
        assert fabric.notes == ("--inter-link ib-hdr-200g is not crossed: all ranks lie in one node",)


def test_twelve_ranks_with_a_link_between_nodes_lie_on_two():
    result = perfmodel.collective(ranks=12, size="1GB", intra_link="pcie3-x16", inter_link="ib-edr-100g")
    assert result.nodes == 2
    assert result.warnings == ["taken: --nodes 2, --nics 1, by default"]


@pytest.mark.parametrize(
    ("accelerator", "ranks", "where"), [("a100-sxm4-80gb", 8, "node"), ("gb200", 64, "NVLink domain")]
)
def test_a_link_that_no_rank_crosses_is_named(accelerator, ranks, where):
    fabric = fabric_of(ranks, CATALOGUE, accelerator=accelerator, inter_link="ib-hdr-200g")
    assert fabric.notes[-1] == f"--inter-link ib-hdr-200g is not crossed: all ranks lie in one {where}"


@pytest.mark.parametrize("chip", ["h100-sxm5-80gb", "a100-sxm4-80gb", "l40s"])
@pytest.mark.parametrize("name", ["all-reduce", "all-to-all", "send-receive"])
@pytest.mark.parametrize("size", ["1KB", "1GB"])
@pytest.mark.parametrize("algorithm", ["auto", "best"])
def test_with_one_rank_in_each_node_the_link_inside_matters_to_nothing(chip, name, size, algorithm):
    inside = [None, "nvlink4-nvswitch", "nvlink3-bridge", "nvlink2-quad-mesh", "pcie3-x16", "xgmi-gen3"]
    words = {"ranks": 4, "nodes": 4, "accelerator": chip, "inter_link": "ib-hdr-200g", "size": size}
    words["algorithm"] = algorithm
    times = {perfmodel.collective(name, **words, intra_link=link).time for link in inside}
    assert len(times) == 1


def test_a_prediction_for_nodes_of_one_accelerator_names_no_link_inside():
    words = ["predict", "--gpus", "4", "--node", "lambda-gpu_1x_gh200", "--inter-link", "ib-hdr-200g"]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines()[1] == "4 nodes of 1 accelerator; 1 x InfiniBand HDR 200 Gbit/s between"


def test_without_machine_accelerator_and_link_all_three_are_named():
    with pytest.raises(InputError, match="give accelerator, node, or intra_link"):
        fabric_of(8, CATALOGUE)


# --- text


@pytest.mark.parametrize("size", ["16GiB", "1KiB..16GiB"])
def test_text_has_the_interval_and_the_notes_in_80_columns(size):
    result = invoke(*H100, "--size", size)
    assert result.exit_code == 0, result.stderr
    assert all(len(line.rstrip()) <= 80 for line in result.stdout.splitlines())
    assert "80 % interval" in result.stdout
    assert re.search(r"--nics 8,\s+as dgx-h100 has", result.stdout)
    assert "interval wider because" not in result.stdout
    answer = json.loads(invoke(*H100, "--size", "16GiB", "--json").stdout)["interval"]
    assert f"{1e3 * answer['low_80']:.3g}-{1e3 * answer['high_80']:.3g} ms" in result.stdout


def test_an_unmeasured_transport_is_named_where_the_interval_is_wider():
    words = ("--ranks", "4", "--nodes", "4", "--inter-link", "cray-aries", "--size")
    for size in ("1GB", "1MB..1GB"):
        text = invoke(*words, size).stdout
        reason = "interval wider because: fewer than two sources measured collectives over aries"
        assert text.count(reason) == 1


def test_an_algorithm_of_textbooks_has_no_interval():
    text = invoke(*H100, "--size", "1GB", "--algorithm", "halving-doubling").stdout
    assert "interval" not in text


# --- plot


def test_the_nearest_measured_curves_are_of_the_same_kind():
    for collective in ("all-reduce", "all-gather", "all-to-all", "broadcast"):
        for fabric in (
            fabric_of(64, CATALOGUE, node="dgx-h100"),
            fabric_of(8, CATALOGUE, node="dgx-h100"),
            fabric_of(16, CATALOGUE, node="aws-p4d.24xlarge"),
        ):
            point = fabric.of(collective, 1e9)
            curves = nearest_curves(point)
            assert len({curve.source for curve in curves}) == len(curves) <= 3
            for curve in curves:
                assert curve.point.collective == collective
                assert transport_of(curve.point) == transport_of(point)
                assert list(curve.sizes) == sorted(set(curve.sizes))
                assert len(curve.times) == len(curve.sizes) >= 4
    assert nearest_curves(fabric_of(64, CATALOGUE, node="dgx-h100").of("all-reduce", 1e9))


def test_the_figure_shows_prediction_band_and_measured_curves():
    fabric = fabric_of(64, CATALOGUE, accelerator="h100-sxm5-80gb")
    figure = collective_figure("all-reduce", "auto", fabric, [1e9])
    names = [trace.name for trace in figure.data]
    assert names.count("predicted") == names.count("80 % interval") == 2
    measured = {name for name in names if name.startswith("measured by ")}
    assert len(measured) == 3
    assert all(re.search(r": \d+ x [\w ]+ on \d+ nodes, \d+ x InfiniBand ", name) for name in measured)
    line = next(trace for trace in figure.data if trace.name == "predicted")
    assert (line.x[0], line.x[-1]) == (pytest.approx(2**10), pytest.approx(2**34))
    asked = perfmodel.collective(ranks=64, size=1e9, accelerator="h100-sxm5-80gb")
    star = next(trace for trace in figure.data if trace.name.startswith("1 GB: "))
    assert (star.x, star.y) == ((1e9,), (asked.time,))


def test_the_band_holds_the_line_and_a_range_sets_the_ends():
    fabric = fabric_of(16, CATALOGUE, node="dgx-a100")
    figure = collective_figure("all-reduce", "auto", fabric, [1e3, 1e6])
    for column in (0, 1):
        band, line = (
            [trace for trace in figure.data if trace.name == name][column]
            for name in ("80 % interval", "predicted")
        )
        points = len(line.x)
        upper, lower = band.y[:points], band.y[points:][::-1]
        assert all(low <= y <= high for low, y, high in zip(lower, line.y, upper, strict=True)) or all(
            high <= y <= low for low, y, high in zip(lower, line.y, upper, strict=True)
        )
    assert (line.x[0], line.x[-1]) == (pytest.approx(1e3), pytest.approx(1e6))
    assert all(1e3 <= x <= 1.001e6 for trace in figure.data for x in trace.x)


def test_the_plot_is_a_whole_page_that_needs_no_network(tmp_path):
    path = tmp_path / "all-reduce.html"
    result = invoke(*H100, "--size", "1GB", "--plot", path)
    assert result.exit_code == 0, result.stderr
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    page = path.read_text()
    assert "<title>all-reduce over 64 ranks on 8 nodes, 8 x InfiniBand NDR 400 Gbit/s</title>" in page
    assert "nccl-tests issue 309: 64 x H100 SXM5 80 GB on 8 nodes" in page
    assert not re.search(r"<(script|link|img|iframe)[^>]*(src|href)=", page)
    assert f"drawn: {path}" in result.stdout
    json.loads(invoke(*H100, "--size", "1GB", "--plot", path, "--json").stdout)


def test_a_plot_without_measured_curves_says_so(tmp_path):
    path = tmp_path / "a.html"
    invoke("--ranks", "4", "--nodes", "4", "--inter-link", "cray-aries", "--size", "1GB", "--plot", path)
    assert "none of the measured curves is of this collective over this kind of link" in path.read_text()


@pytest.mark.parametrize(
    ("words", "name", "expected"),
    [
        (H100, "a.svg", "expected a name in .html"),
        (H100, "no/a.html", "cannot be written"),
        (("--accelerator", "h100", "--ranks", "1"), "a.html", "one rank sends nothing"),
        ((*H100, "--algorithm", "nonsense"), "a.html", "algorithm"),
        (("--accelerator", "h100", "--ranks", "9"), "a.html", "evenly"),
    ],
)
def test_what_cannot_be_drawn_leaves_nothing_behind(words, name, expected, tmp_path):
    result = invoke(*words, "--size", "1GB", "--plot", tmp_path / name)
    assert (result.exit_code, expected in result.stderr) == (2, True), result.stderr
    assert not list(tmp_path.iterdir())


def test_without_plotly_the_extra_is_named_and_an_old_plot_stays(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    path = tmp_path / "a.html"
    path.write_text("old")
    result = invoke(*H100, "--size", "1GB", "--plot", path)
    assert (result.exit_code, "perfmodel[app]" in result.stderr) == (2, True)
    assert path.read_text() == "old"


def test_an_algorithm_of_one_node_names_the_one_of_several():
    result = invoke("--ranks", 16, "--size", "1MB", "--node", "dgx-h100", "--algorithm", "nvls")
    assert result.exit_code == 2
    assert "over several nodes: nvls-tree" in result.output
