"""Measured rows that came after the last fit: in no fit and in no table, but read like all others."""

from __future__ import annotations

import csv
import json
from hashlib import sha256
from pathlib import Path

import pytest

from perfmodel.core.files.resources import folder
from perfmodel.evidence.accuracy import compare
from perfmodel.evidence.accuracy.collectives.collective_rows import read_measurements, shipped_measurements
from perfmodel.evidence.accuracy.ledger.held_out import learned_bytes, learned_part
from perfmodel.evidence.accuracy.mlperf.mlperf_rows import read_submissions, shipped_submissions
from perfmodel.evidence.accuracy.report.error_statistics import by_reason
from perfmodel.evidence.accuracy.training_rows import read_runs, shipped_runs
from perfmodel.evidence.accuracy.transformers.transformer_rows import (
    read_transformer_runs,
    shipped_transformer_runs,
)
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import COLLECTIVE_FIT, FITTED, TRANSFORMER_FIT

pytestmark = pytest.mark.any_version

VALIDATION = folder("validation")
MEASURED = VALIDATION / "measured"
SHARED = Path(__file__).parents[1].parent / "shared" / "measured"
FILES = {
    "training_runs.csv": 790,
    "collectives.csv": 652,
    "transformer_runs.csv": 324,
    "mlperf.csv": 143,
}


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def held_out(name: str) -> list[str]:
    """Ids of the rows that are held out."""
    ids = [next(iter(row.values())) for row in table(MEASURED / name)]
    return ids[ids.index(learned_part(name)[1]) :]


@pytest.mark.parametrize("name", FILES)
def test_rows_below_the_first_are_held_out(name: str) -> None:
    assert len(held_out(name)) == FILES[name]
    assert {row["file"] for row in table(VALIDATION / "held_out.csv")} == set(FILES)


def test_nothing_is_learned_from_them() -> None:
    """Every reader of the shipped rows stops above them."""
    learned = {
        "training_runs.csv": [run.run_id for run in shipped_runs()],
        "collectives.csv": [each.run_id for each in shipped_measurements()],
        "transformer_runs.csv": [run.run_id for run in shipped_transformer_runs()],
        "mlperf.csv": [each.job.run_id for each in shipped_submissions()],
    }
    for name, ids in learned.items():
        assert ids
        assert not set(ids) & set(held_out(name))


@pytest.mark.parametrize(
    ("name", "fit"),
    [
        ("training_runs.csv", FITTED),
        ("collectives.csv", COLLECTIVE_FIT),
        ("transformer_runs.csv", TRANSFORMER_FIT),
    ],
)
def test_a_fit_hashes_what_it_learned_from(name: str, fit: Path) -> None:
    assert json.loads(fit.read_text("utf-8"))["sha256"] == sha256(learned_bytes(name)).hexdigest()


def test_they_are_read_like_all_others() -> None:
    catalogue = Catalogue.built_in()
    assert len(read_runs(MEASURED / "training_runs.csv")) == 3001 + 790
    assert len(read_measurements(MEASURED / "collectives.csv", catalogue)) == 3791 + 652
    assert len(read_transformer_runs(MEASURED / "transformer_runs.csv", catalogue)) == 2529 + 324
    assert len(read_submissions(MEASURED / "mlperf.csv")[0]) == len(shipped_submissions()) + 143


def test_the_ledger_is_of_rows_held_out() -> None:
    """Of named sources; others are in no file here."""
    ids = {name for file in FILES for name in held_out(file)}
    ledger = table(VALIDATION / "ledger.csv")
    assert len(ledger) == 1038 + 1094 + 123
    assert len({row["source"] for row in ledger}) == 41
    assert {row["id"] for row in ledger if not row["source"].startswith("unnamed-")} <= ids


@pytest.mark.skipif(not SHARED.is_dir(), reason="the published files are not beside the checkout")
def test_the_ledger_begins_as_published() -> None:
    for row, published in zip(
        table(VALIDATION / "ledger.csv"), table(SHARED / "ledger-2026-11-23.csv"), strict=False
    ):
        assert (row["version"], row["scale"]) == ("0.2.0", "1")
        apart = row["class"] == "no measured time"
        assert published.items() <= (row | {"class": published["class"]} if apart else row).items()


def test_accelerators_that_no_spec_describes_are_refused_by_name() -> None:
    runs = read_runs(MEASURED / "training_runs.csv")
    row = next(row for row in compare(runs) if row.run.accelerator == "ascend-910-32gb")
    assert row.reason == "unknown accelerator: ascend-910-32gb"


def test_rows_that_nobody_can_read_are_refused_with_their_reason() -> None:
    every = read_transformer_runs(MEASURED / "transformer_runs.csv", Catalogue.built_in())
    refused = [run.reason for run in every[len(shipped_transformer_runs()) :]]
    assert by_reason(refused) == {
        "unknown accelerator": 62,
        "experts not described": 31,
        "no precision": 17,
    }
    assert refused.count("unknown accelerator: ascend-910b-64gb") == 62
