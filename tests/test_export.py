"""Answers in every form: CSV and Markdown hold what JSON says, and figures are files that open alone."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from pathlib import Path

import click
import numpy as np
import pytest

from perfmodel.core.files.resources import folder
from perfmodel.core.files.tables import csv_text, flat, markdown_table
from perfmodel.core.files.writing import write_whole
from perfmodel.evidence.traces.timeline import write_timeline
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.provenance import Quantity
from perfmodel.interfaces.cli import main
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict

TABLES = {
    "predict": ("predict", "--gpus", "16"),
    "predict, all of it": ("predict", "--gpus", "16", "--cost", "--time-to-target", "--price", "10"),
    "scale": ("scale", "--gpus", "1,2,8"),
    "collective": ("collective", "--ranks", "8", "--size", "1KB..1MB", "--link", "pcie3-x16"),
    "one collective": ("collective", "--ranks", "8", "--size", "1MB", "--link", "pcie3-x16"),
    "stragglers": ("stragglers", "--workers", "8", "--k", "4"),
    "one variant": ("stragglers", "--variant", "k-sync", "--workers", "8", "--k", "4"),
    "order statistic": ("stragglers", "--order-statistic", "8:8", "--distribution", "lognormal:cv=0.1"),
    "compressed exchanges": ("compression", "--gpus", "16"),
    "Downpour": ("downpour", "--replicas", "20", "--servers", "4"),
    "speed-ups of a model": ("model-parallel", "--model", "image"),
    "learning rates": ("learning-rate", "--global-batch-size", "8192", "--staleness", "3"),
    "networks": ("workloads", "list"),
    "findings": ("specs", "check"),
    "difference": ("trace", "diff", "step.json", "step.json"),
    "measured collectives": ("validate", "--kind", "collectives"),
    "measured runs": ("validate", "--data", "runs.csv"),
}


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_timeline(Path("step.json"), predict(Scenario(world_size=2)))
    runs = folder("validation") / "measured" / "training_runs.csv"
    Path("runs.csv").write_text("".join(runs.open().readlines()[:40]))


def rows_of_json(text):
    answer = json.loads(text)
    if isinstance(answer, dict):
        card = {"card": answer["card"]} if "rows" in answer and "card" in answer else {}
        answer = [{**row, **card} for row in answer.get("rows") or answer.get("parts") or [answer]]
    return [flat(row) for row in answer]


@pytest.mark.parametrize("words", TABLES.values(), ids=TABLES)
def test_csv_holds_what_json_says(words, files, invoke):
    told = rows_of_json(invoke(*words, "--json").stdout)
    printed = list(csv.DictReader(io.StringIO(invoke(*words, "--csv").stdout)))
    assert len(printed) == len(told)
    for cells, row in zip(printed, told, strict=True):
        for name, cell in cells.items():
            value = row[name]
            if isinstance(value, bool):
                assert cell == str(value).lower()
            elif isinstance(value, (int, float)):
                assert float(cell) == value
            else:
                assert cell == (value or "")


@pytest.mark.parametrize("words", TABLES.values(), ids=TABLES)
def test_markdown_is_a_table(words, files, invoke):
    lines = [line for line in invoke(*words, "--markdown").stdout.splitlines() if line.startswith("|")]
    assert re.fullmatch(r"\|( :?-+:? \|)+", lines[1])
    counts = {line.replace("\\|", "").count("|") for line in lines}
    assert len(counts) <= 3  # of one table; a prediction has a few
    assert len(lines) >= 3


@pytest.mark.parametrize("words", TABLES.values(), ids=TABLES)
def test_two_forms_at_once_are_refused(words, files, invoke):
    result = invoke(*words, "--csv", "--markdown")
    assert result.exit_code == 2
    assert result.stderr == "perfmodel: --csv and --markdown: give one of them\n"


@pytest.mark.parametrize("kind", ["accelerators", "nodes", "links"])
def test_a_catalogue_is_a_table_of_its_numbers(kind, invoke):
    catalogue = Catalogue.built_in()
    rows = list(csv.DictReader(io.StringIO(invoke("specs", "list", kind, "--csv").stdout)))
    assert [row["id"] for row in rows] == catalogue.ids(kind)
    for row in rows:
        spec = getattr(catalogue, kind.removesuffix("s"))(row["id"])
        told = {name: number.value for name, number in spec.statements() if isinstance(number, Quantity)}
        assert {name: float(row[name]) for name in told} == told


def test_a_trace_has_a_row_for_each_device(files, invoke):
    devices = json.loads(invoke("trace", "summary", "step.json", "--json").stdout)["devices"]
    rows = list(csv.DictReader(io.StringIO(invoke("trace", "summary", "step.json", "--csv").stdout)))
    assert [float(row["totals.span"]) for row in rows] == [device["totals"]["span"] for device in devices]


def test_every_command_with_csv_has_markdown_and_json():
    for path, command in leaves(main):
        options = {name for option in command.params for name in option.opts}
        if "--csv" in options:
            assert {"--json", "--markdown"} <= options, path


def leaves(command, path=()):
    if not isinstance(command, click.Group):
        return [(path, command)]
    with click.Context(command) as ctx:
        names = command.list_commands(ctx)
        return [leaf for name in names for leaf in leaves(command.get_command(ctx, name), (*path, name))]


def test_the_curve_has_a_column_for_each_variant(invoke):
    words = ("stragglers", "--curve", "--workers", "8", "--k", "4")
    curves = json.loads(invoke(*words, "--json").stdout)
    rows = list(csv.DictReader(io.StringIO(invoke(*words, "--csv").stdout)))
    assert [float(row["time"]) for row in rows] == curves["times"]
    for curve in curves["variants"]:
        assert [float(row[curve["variant"]]) for row in rows] == curve["error"]
    assert invoke(*words, "--markdown").stdout.count("\n") == len(rows) + 2


def test_rows_keep_the_order_of_their_keys_and_the_kind_of_their_values():
    rows = [{"a": 1, "b": {"c": 0.1}}, {"d": None, "a": np.float64(2.5), "e": np.bool_(True)}]
    assert csv_text(rows) == "a,b.c,d,e\n1,0.1,,\n2.5,,,true\n"
    assert csv_text(rows, ["e", "a"]) == "e,a\n,1\ntrue,2.5\n"
    assert csv_text([]) == "\n"


def test_what_is_no_number_is_a_blank():
    assert csv_text([{"x": float("nan"), "y": float("inf"), "z": 1}]) == "x,y,z\n,,1\n"
    assert markdown_table([{"x": float("nan"), "z": 1}]).splitlines()[2] == "|  | 1 |"


def test_csv_quotes_what_needs_it():
    rows = [{"name": 'a, "b"\nc', "value": 1}]
    assert list(csv.DictReader(io.StringIO(csv_text(rows)))) == [{"name": 'a, "b"\nc', "value": "1"}]


def test_markdown_writes_everyday_numbers_without_powers_of_ten():
    table = markdown_table([{"x": 43210.9, "y": 0.000123456, "z": True, "w": "a|b\\c"}])
    assert table.splitlines()[2] == "| 43211 | 0.0001235 | yes | a\\|b\\\\c |"


# --- figures


@pytest.mark.parametrize(("name", "begins"), [("a.svg", b"<?xml"), ("a.png", b"\x89PNG"), ("A.HTML", b"<")])
def test_a_figure_is_a_whole_file_of_its_kind(name, begins, tmp_path, invoke):
    path = tmp_path / name
    result = invoke("scale", "--gpus", "1,2,4", "--plot", path)
    assert result.exit_code == 0, result.stderr
    assert path.read_bytes().startswith(begins)
    assert [file.name for file in tmp_path.iterdir()] == [name]  # nothing temporary is left
    assert f"drawn: {path}" in result.stdout.replace("\n", "")


def test_svg_is_the_same_for_the_same_rows(tmp_path, invoke):
    for name in ("a.svg", "b.svg"):
        invoke("scale", "--gpus", "1,2,4", "--plot", tmp_path / name)
    text = (tmp_path / "a.svg").read_text()
    assert text == (tmp_path / "b.svg").read_text()
    assert "ResNet-50 on V100 SXM2 16 GB" in text


def test_a_page_asks_the_network_for_nothing(tmp_path, invoke):
    invoke("scale", "--gpus", "1,2,4", "--plot", tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text()
    assert not re.search(r"<(script|link|img|iframe)[^>]*(src|href)=", page)
    assert "<title>ResNet-50 on V100 SXM2 16 GB" in page
    assert len(page) > 1_000_000  # the library is in it


def test_many_counts_and_one_count_are_drawn(tmp_path, invoke):
    for counts in ("1-40", "8"):
        result = invoke("scale", "--gpus", counts, "--plot", tmp_path / "a.png", "--json")
        assert result.exit_code == 0, result.stderr
        json.loads(result.stdout)


@pytest.mark.parametrize("name", ["a.pdf", "a", "a.svg.gz"])
def test_an_unknown_ending_names_the_three(name, tmp_path, invoke):
    result = invoke("scale", "--plot", tmp_path / name)
    assert result.exit_code == 2
    assert all(ending in result.stderr for ending in (".svg", ".png", ".html"))
    assert not list(tmp_path.iterdir())


def test_no_folder_is_told_before_anything_is_computed(tmp_path, invoke):
    result = invoke("scale", "--plot", tmp_path / "no" / "a.svg")
    assert (result.exit_code, "cannot be written" in result.stderr) == (2, True)


@pytest.mark.parametrize(
    ("name", "missing", "extra"),
    [("a.svg", "matplotlib.figure", "perfmodel[plot]"), ("a.html", "plotly.graph_objects", "perfmodel[app]")],
)
def test_a_missing_extra_is_named(name, missing, extra, tmp_path, monkeypatch, invoke):
    monkeypatch.setitem(sys.modules, missing, None)
    result = invoke("scale", "--plot", tmp_path / name)
    assert result.exit_code == 2
    assert extra in result.stderr


def test_bytes_and_text_are_written_whole(tmp_path):
    write_whole(tmp_path / "a", b"\x00\xff")
    write_whole(tmp_path / "b", "µ\n")
    assert (tmp_path / "a").read_bytes() == b"\x00\xff"
    assert (tmp_path / "b").read_bytes() == "µ\n".encode()
