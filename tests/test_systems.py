"""Every command and equation that docs/systems.md names is there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from perfmodel import predict
from perfmodel.traces.timeline import write_timeline
from tests.doors import formulas, without_door

PAGE = Path(__file__).parents[1] / "docs" / "systems.md"
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.read_text("utf-8").splitlines()
    if line.startswith("|")
][2:]


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


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_systems_command_answers(row, tmp_path, monkeypatch, invoke):
    monkeypatch.chdir(tmp_path)
    write_timeline(tmp_path / "my_trace.json", predict(gpus=2))
    (command,) = re.findall(r"`perfmodel (.*?)`", row[1])
    done = invoke(*shlex.split(command))
    assert done.exit_code == 0, done.stderr
    assert done.stdout
    printed = " ".join(done.stdout.split())
    for figure in re.findall(r"`(.*?)`", row[4]):
        assert figure in printed


def test_the_equations_named_are_registered_and_reached():
    named = {name for row in ROWS for name in re.findall(r"`([a-z_]+\.[a-z_]+)`", row[2])}
    assert len(named) > 30
    assert named <= {".".join(name) for name in formulas()}
    assert not named & without_door()


def test_the_files_linked_are_there():
    linked = re.findall(r"\[(.*?)\]\((.*?)\)", PAGE.read_text("utf-8"))
    assert len(linked) > 60
    for words, path in linked:
        assert (PAGE.parent / path).is_file(), path
        if ".py" in path:
            assert Path(path).stem == words.strip("`").split(".")[0]


def test_every_system_that_people_read_about_has_a_row():
    listed = " ".join(row[0] for row in ROWS).lower()
    for name in ARTICLES:
        assert name in listed, name
