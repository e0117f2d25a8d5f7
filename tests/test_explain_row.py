"""How a measured row was read: as data, of every kind, in every form, and on the page of explained rows."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from docs.site.explained_rows import KINDS, PAGE, ROWS, drawn
from perfmodel import explain_row, validate
from perfmodel.core.errors import InputError
from perfmodel.core.files.resources import folder
from perfmodel.evidence.accuracy.campaigns import CAMPAIGNS
from perfmodel.evidence.accuracy.readings import Reading
from perfmodel.evidence.accuracy.report.refused_section import refused_table
from perfmodel.interfaces.cli import main

ROW_OF = {
    "training": "sarus/resnet50/mpi-container/128x1/fp32-b64",
    "transformers": "titan-0006",
    "collectives": "aws-p4de2-0002",
    "mlperf": "mlperf-0021",
    "memory": "simumax-003",
}
REFUSED = {
    "training": ("flagperf/distilbert-p/2x8/fp32-bs=96", "no sequence length: distilbert"),
    "transformers": ("isamb-007", "experts not described: Nemotron-3-Nano-30B-A3B"),
    "collectives": ("abci-v2x4-mpi-4", "another library"),
    "memory": ("primuspp-0001", "no precision"),
}


def run(*words: str) -> Result:
    return CliRunner().invoke(main, ["validate", *words])


def reading(what: str, readings: Any) -> Reading:
    (found,) = (each for each in readings if each.what == what)
    assert isinstance(found, Reading)
    return found


@pytest.mark.parametrize("kind", CAMPAIGNS)
def test_a_row_of_every_kind_is_explained(kind: str) -> None:
    (row,) = explain_row(ROW_OF[kind], kind=kind).rows
    outcome = row.outcome
    assert row.campaign.kind == kind
    assert row.line.published[row.campaign.id_column] == ROW_OF[kind]
    assert outcome.reason is None
    assert outcome.measured
    assert outcome.predicted
    assert outcome.error == outcome.predicted / outcome.measured - 1
    assert row.readings
    assert row.terms
    assert not all(each.is_assumed for each in row.readings)


@pytest.mark.parametrize("kind", ["training", "transformers", "mlperf", "memory"])
def test_terms_sum_to_what_is_predicted(kind: str) -> None:
    (row,) = explain_row(ROW_OF[kind], kind=kind).rows
    assert sum(row.terms.values()) == pytest.approx(row.outcome.predicted)


@pytest.mark.parametrize("kind", REFUSED)
def test_a_refused_row_gives_its_reason(kind: str) -> None:
    name, reason = REFUSED[kind]
    (row,) = explain_row(name, kind=kind).rows
    assert row.outcome.predicted is None
    assert row.outcome.reason is not None
    assert row.outcome.reason.startswith(reason)
    assert not row.is_learned_from
    assert (
        f"refused: {reason}" in run("--explain-row", name, "--kind", "training").stdout or kind != "training"
    )


@pytest.mark.any_version
@pytest.mark.parametrize("kind", CAMPAIGNS)
def test_what_is_predicted_is_what_validate_says(kind: str) -> None:
    """No second way of reading a row: the campaign's outcome is that of the comparison."""
    if kind == "memory":
        return
    (row,) = explain_row(ROW_OF[kind], kind=kind).rows
    said = {each.get(row.campaign.id_column): each for each in validate(kind).records()}[row.id]  # type: ignore[call-overload]
    names = ("predicted_iteration_time", "predicted_time", "time_to_train")
    (predicted,) = (said[name] for name in names if name in said)
    assert row.outcome.predicted == pytest.approx(predicted, rel=1e-12)


def test_where_the_row_is_silent_something_was_assumed() -> None:
    row = explain_row("llama1-0001").rows[0]
    assert reading("tensor parallelism", row.readings)[1:3] == ("", "8")
    assert reading("samples of a step", row.readings).read_as == "2048"
    assert reading("measured time", row.readings).stated == "tokens_per_second 778240"


def test_software_nobody_described_is_its_nearest(tmp_path: Path) -> None:
    text = (folder("validation") / "measured" / "transformer_runs.csv").read_text().splitlines()
    row = next(line for line in text if line.startswith("simumax-003,"))
    runs = tmp_path / "runs.csv"
    runs.write_text("\n".join((text[0], row.replace("Megatron-LM (TE 2.11)", "Primus (Megatron-LM)"))))
    software = reading(
        "software", explain_row("simumax-003", data=str(runs), kind="transformers").rows[0].readings
    )
    assert software.stated == "Primus (Megatron-LM)"
    assert software.read_as.startswith("megatron-lm of ")
    assert "nobody described it" in software.why


def test_layers_that_nobody_states_are_said_to_be_made_up() -> None:
    assert "GPT of so many" in reading("network", explain_row("bs104-0003").rows[0].readings).why
    assert not reading("network", explain_row("titan-0006").rows[0].readings).why


def test_an_algorithm_that_is_not_followed_is_said() -> None:
    row = explain_row("dex-eth-16x1-tree-449048576").rows[0]
    assert reading("algorithm", row.readings)[1:3] == ("tree", "ring/Simple")


def test_time_and_memory_of_one_run_are_both_explained() -> None:
    assert [row.campaign.kind for row in explain_row("simumax-003").rows] == ["transformers", "memory"]


@pytest.mark.any_version
def test_held_out_and_learned_rows_are_told_apart() -> None:
    held_out, learned = explain_row("cscs-ofi-8").rows[0], explain_row("titan-0006").rows[0]
    assert (held_out.held_out, held_out.is_learned_from) == (True, False)
    assert (learned.held_out, learned.is_learned_from) == (False, True)
    judge = explain_row(ROW_OF["training"]).rows[0]  # of a source that no fit has seen
    assert (judge.held_out, judge.is_learned_from) == (False, False)
    assert "held out: in no fit" in run("--explain-row", "cscs-ofi-8").stdout
    assert not explain_row("mlperf-0021").rows[0].is_learned_from


def test_the_command_answers_what_was_predicted() -> None:
    """Of these rows a command can be given all that they say."""
    for name in ("foundry-0078", "aws-p4de2-0002", ROW_OF["training"]):
        row = explain_row(name).rows[0]
        assert row.command is not None
        assert row.command.answer == pytest.approx(row.outcome.predicted)
        answer = CliRunner().invoke(main, [*row.command.line.split()[1:], "--json"])
        said = json.loads(answer.stdout)
        assert said.get("iteration_time", said.get("time")) == pytest.approx(row.command.answer)


def test_an_unknown_id_names_near_ones() -> None:
    with pytest.raises(InputError, match="unknown row 'titan-006'; nearest: titan-0006"):
        explain_row("titan-006")
    result = run("--explain-row", "titan-006")
    assert result.exit_code == 2
    assert "nearest: titan-0006" in result.stderr
    assert "unknown row" in run("--explain-row", "titan-0006", "--kind", "training").stderr
    assert "unknown kind 'claims'" in run("--explain-row", "titan-0006", "--kind", "claims").stderr


@pytest.mark.parametrize("words", [["--out-of-sample"], ["--by", "source"], ["--mode", "anchored"]])
def test_options_of_many_rows_are_refused(words: list[str]) -> None:
    result = run("--explain-row", "titan-0006", *words)
    assert result.exit_code == 2
    assert "--explain-row" in result.stderr


def test_json_has_all_of_it() -> None:
    (row,) = json.loads(run("--explain-row", "foundry-0078", "--json").stdout)["rows"]
    assert row["id"] == "foundry-0078"
    assert row["published"]["workload"] == "MPT-70b"
    assert row["readings"][0]["what"] == "software"
    assert {each["assumed"] for each in row["readings"]} == {False}
    assert row["holds_80"] is True
    assert row["error"] == pytest.approx(row["predicted"] / row["measured"] - 1)
    assert row["command"]["line"].startswith("perfmodel predict --workload mpt-70b")
    assert row["reason"] is None


def test_text_says_what_was_read_assumed_and_predicted() -> None:
    text = " ".join(run("--explain-row", "llama1-0001").stdout.split())
    assert "workload = LLaMA-65B" in text
    assert "assumed, as the row is silent: tensor parallelism: 8" in text
    assert "as a command: perfmodel predict --workload llama-65b" in text
    assert re.search(r"measured 5\.39 s, predicted \S+ s, error \+\d+\.\d %", text)
    assert re.search(r"80 % interval: \S+ s, (holds|does not hold)", text)


def own(path: Path, kind: str, **changed: str) -> str:
    """A file with one row of those that come along, changed."""
    line = next(each for each in CAMPAIGNS[kind].lines() if CAMPAIGNS[kind].id_of(each) == ROW_OF[kind])
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, line.cells)
        writer.writeheader()
        writer.writerow(line.cells | changed)
    return str(path)


@pytest.mark.parametrize("kind", CAMPAIGNS)
def test_rows_of_a_file_of_ones_own_are_explained(tmp_path: Path, kind: str) -> None:
    path = own(tmp_path / "own.csv", kind, **{CAMPAIGNS[kind].id_column: "mine", "source": "me"})
    of_kind = ["--kind", kind] if kind in ("transformers", "mlperf") else []
    (row,) = json.loads(run("--explain-row", "mine", "--data", path, *of_kind, "--json").stdout)["rows"]
    assert (row["kind"], row["file"], row["held_out"], row["learned_from"]) == (kind, path, False, False)
    assert row["predicted"]
    assert "unknown row 'yours'" in run("--explain-row", "yours", "--data", path, *of_kind).stderr


def test_rows_of_a_table_of_few_columns_are_explained(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("workload,accelerator,gpus,samples_per_second\nresnet50,v100-sxm2-16gb,8,3000\n")
    (row,) = explain_row("line 2", data=path).rows
    assert reading("network", row.readings).read_as == "resnet50"
    assert reading("samples of an accelerator", row.readings).is_assumed
    assert row.outcome.predicted


@pytest.mark.any_version
def test_refused_rows_are_counted_by_kind_and_reason() -> None:
    reasons = {kind: CAMPAIGNS[kind].reasons() for kind in ("transformers", "collectives", "memory")}
    table = refused_table(reasons)
    assert "| collectives | 3791 | 216 | another library | 216 |" in table
    assert "| memory | 101 | 36 | no precision | 13 |" in table
    assert len(reasons["transformers"]) == 2529


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_explains_the_rows_that_are_drawn(kind: str) -> None:
    text = PAGE.read_text("utf-8").partition(f"<!-- rows {kind} -->")[2].partition("\n## ")[0]
    names = re.findall(r"^\| \d+ \| `([^`]+)`", text, re.MULTILINE)
    assert names == drawn(CAMPAIGNS[kind])
    assert re.findall(r"^(\d+)\. ", text, re.MULTILINE) == [str(n + 1) for n in range(ROWS)]
