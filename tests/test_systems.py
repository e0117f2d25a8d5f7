"""docs/systems.md says what its commands print, and every equation that it names is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.site.systems import HEAD, PAGE, TAIL, line, systems
from tests.doors import formulas, without_door

ROWS = systems()
TEXT = PAGE.read_text("utf-8")


ARTICLES = (
    "dataparallel",
    "distributeddataparallel",
    "dali",
    "mixed precision",
    "horovod",
    "bytescheduler",
    "byteps",
    "parameter server",
    "ring",
    "tree",
    "torus",
    "racks as a third dimension",
    "double buffers",
    "powerai ddl",
    "qpi",
    "downpour",
    "sandblaster",
    "k-sync",
    "k-async",
    "staleness-aware",
    "compression",
    "model parallelism",
    "data parallelism",
    "hybrid parallelism",
    "profilers",
    "emulator",
)


@pytest.mark.any_version
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_a_row_says_what_the_commands_print(row):
    assert line(row) in TEXT.splitlines(), "make readme"


def test_the_page_has_no_other_rows():
    assert TEXT.startswith(HEAD)
    assert TEXT.endswith(TAIL)
    assert len(re.findall("^\\| ", TEXT, re.MULTILINE)) == len(ROWS) + 2


def test_every_row_has_a_figure_of_ours_or_says_why_there_is_none():
    for row in ROWS:
        assert "{" in row["ours"] or row["ours"].startswith("no figure: "), row["name"]


@pytest.mark.any_version
def test_the_equations_named_are_registered_and_reached():
    named = {name for row in ROWS for name in row.get("equations", ())}
    assert len(named) > 30
    assert named <= {".".join(name) for name in formulas()}
    assert not named & without_door()


def test_the_files_linked_are_there():
    linked = re.findall(r"\[(.*?)\]\((.*?)\)", TEXT)
    assert len(linked) > 60
    for words, path in linked:
        assert (PAGE.parent / path).is_file(), path
        if ".py" in path:
            assert Path(path).stem == words.strip("`").split(".")[0]


def test_every_system_that_people_read_about_has_a_row():
    listed = " ".join(row["name"] for row in ROWS).lower()
    for name in ARTICLES:
        assert name in listed, name
