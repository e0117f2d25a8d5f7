"""The ledger: blind errors, the scales they teach, and what today's intervals cover of them."""

from __future__ import annotations

import csv
import json
import math
from hashlib import sha256

import pytest
from click.testing import CliRunner

from perfmodel.core.errors import InputError
from perfmodel.core.files.resources import folder
from perfmodel.evidence.accuracy.by_source import JudgedRow, quantile
from perfmodel.evidence.accuracy.ledger.held_out import require_entries
from perfmodel.evidence.accuracy.ledger.ledger import (
    COLUMNS,
    EXCLUDED,
    Entry,
    ledger,
    left_out,
    lines,
    read_ledger,
    scales,
)
from perfmodel.interfaces.cli import main
from perfmodel.model.fitted.ledger_scales import KNOWN, NEW, RESULT, TRANSFORMERS, scale_of

FILE = folder("validation") / "ledger.csv"
MEASURED = folder("validation") / "measured"
TARGETS = {
    "transformers, from specs": 0.27,
    "collectives, several nodes, from 1 MiB": 0.55,
    "data parallel, from specs, one accelerator": 1.0,
}
"""Kinds that intervals must hold for, and their largest median half-width."""


def entry(source: str, error: float, half: float = 0.1, job: str = KNOWN, scale: float = 1.0) -> Entry:
    return Entry("0.2.0", "transformers, from specs", source, f"{source}-{error}", job, error, half, scale)


def test_the_shipped_scales_are_what_the_ledger_says() -> None:
    table = json.loads(RESULT.read_text("utf-8"))
    assert table["sha256"] == sha256(FILE.read_bytes()).hexdigest()
    for kind, of in scales(ledger()).items():
        for job, (factor, sources) in of.items():
            assert table["scales"][kind][job] == {
                "factor": pytest.approx(factor, rel=1e-3),
                "sources": sources,
            }


def test_intervals_hold_on_rows_that_nobody_had_seen_each_source_left_out() -> None:
    """80 % intervals cover 72 to 88 % over sources and at least 68 % by row, and score better than before."""
    found = {line.name: line for line in lines() if line.name in TARGETS}
    assert found.keys() == TARGETS.keys()
    for name, line in found.items():
        today = line.today
        assert 0.72 <= today.coverage_80_over_categories <= 0.88
        assert today.coverage_80 >= 0.68
        assert today.half_width <= TARGETS[name]
        assert today.score < min(line.stated.score, line.constant.score)


def test_a_source_says_nothing_of_its_own_width() -> None:
    """Its errors doubled, its own half-widths stay, and those of others grow or stay."""
    changed = [e._replace(error=2 * e.error) if e.source == "fms-fsdp" else e for e in ledger()]
    before, after = left_out(ledger()), left_out(changed)
    for one, other in zip(before, after, strict=True):
        same = one.half_width == other.half_width
        assert same if one.entry.source == "fms-fsdp" else other.half_width >= one.half_width


def test_scales_by_hand() -> None:
    """Sources alike; one class is drawn to all as if three sources had that; new is never narrower."""
    entries = [entry("a", 0.2), entry("a", -0.1), entry("b", 0.3), entry("c", 0.1, job=NEW)]
    assert quantile({"a": [2.0, 1.0], "b": [3.0], "c": [1.0]}, 0.8) == pytest.approx(3)
    found = scales(entries)[TRANSFORMERS]
    assert found[KNOWN] == (pytest.approx(3), 2)
    assert found[NEW] == (pytest.approx(3), 1)  # by itself 3^0.75
    assert scales([*entries, entry("d", 9.0, job="misread")]) == scales(entries)
    # a stated width that had a scale in it says the same
    scaled = [e._replace(half_width=2 * e.half_width, scale=2.0) for e in entries]
    assert scales(scaled)[TRANSFORMERS][KNOWN][0] == pytest.approx(3)


def test_the_score_of_an_interval() -> None:
    assert JudgedRow("", "", 0.0, 0.3, 0.3).score == pytest.approx(0.6)
    assert JudgedRow("", "", -0.5, 0.3, 0.3).score == pytest.approx(0.6 + 2 / 0.2 * 0.2)


def test_new_rows_are_appended_once_and_those_misread_again(tmp_path) -> None:
    """The error is that of the shipped fit; an earlier entry stays as it is."""
    with (MEASURED / "transformer_runs.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    own = [row | {"run_id": f"own-{n}", "source": "mine"} for n, row in enumerate(rows[:3])]
    data, path = tmp_path / "own.csv", tmp_path / "ledger.csv"
    with data.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows([*own, rows[3]])
    arguments = ["validate", "--kind", "transformers", "--data", str(data), "--ledger", str(path)]
    first = CliRunner().invoke(main, arguments)
    assert f"{path}: 3 rows appended, 0 were there" in first.output  # the fit learned from the fourth
    (one, *_) = entries = read_ledger(path)
    assert [each.id for each in entries] == ["own-0", "own-1", "own-2"]
    assert one.scale == scale_of(TRANSFORMERS, one.job).factor
    told = json.loads(CliRunner().invoke(main, [*arguments[:5], "--json"]).stdout)["rows"][0]
    ratio = told["measured_iteration_time"] / told["predicted_iteration_time"]
    assert one.error == pytest.approx(math.log(ratio), abs=1e-3)
    assert "0 rows appended, 3 were there" in CliRunner().invoke(main, arguments).output
    path.write_text(path.read_text("utf-8").replace(f"own-0,{one.job}", "own-0,misread"), "utf-8")
    assert "1 rows appended, 2 were there" in CliRunner().invoke(main, arguments).output
    assert [each.job in EXCLUDED for each in read_ledger(path)] == [True, False, False, False]


def test_other_files_and_other_questions_are_refused(tmp_path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n1,2\n", "utf-8")
    with pytest.raises(InputError, match="expected a ledger, whose columns are kind, source"):
        read_ledger(tmp_path / "x.csv")
    assert read_ledger(tmp_path / "none.csv") == ()
    for more in ([], ["--data", "x.csv", "--out-of-sample"], ["--kind", "claims"]):
        refused = CliRunner().invoke(main, ["validate", "--ledger", str(tmp_path / "y.csv"), *more])
        assert "--ledger is of training, transformers or collectives" in " ".join(refused.output.split()) or (
            "--ledger is of training" in str(refused.exception)
        )
    assert len(COLUMNS) == 8


def test_a_fit_refuses_new_rows_without_an_entry() -> None:
    with (MEASURED / "transformer_runs.csv").open(newline="", encoding="utf-8") as file:
        ids = [row["run_id"] for row in csv.DictReader(file)]
    known, fresh = {each.id for each in ledger()}, ids[ids.index("foundry-0001") :]
    require_entries("transformer_runs.csv", ["foundry-0001", *ids[:5]])  # one has one, the others are old
    unread = next(each for each in fresh if each not in known)
    with pytest.raises(InputError, match=f"1 new rows have no entry in the ledger, the first is {unread}"):
        require_entries("transformer_runs.csv", [unread])
