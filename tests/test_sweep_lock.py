"""A folder that a sweep is writing takes no second writer, and one that was killed blocks nobody."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from perfmodel import InputError, sweep
from perfmodel.decide.sweeps.manifest import LINES, NAME
from perfmodel.decide.sweeps.part_files import part_name
from tests.test_sweep_parts import ASKED, cut, files

pytest.importorskip("fcntl")
pytest.importorskip("pyarrow")

KILLED = """
import os, signal, sys
from perfmodel import sweep
from tests.test_sweep_parts import cut

def end(part, _):
    if part is not None and part.number == 1:
        os.kill(os.getpid(), signal.SIGKILL)

cut(sweep(gpus=range(1, 4)), 1).to_dataset(sys.argv[1], jobs=1, progress=end)
"""


def test_a_second_writer_is_refused_and_harms_nothing(tmp_path):
    found = cut(sweep(**ASKED), 240)
    found.to_dataset(str(tmp_path / "alone"), jobs=1)
    folder, refusals = tmp_path / "both", []

    def write_too(part, _):
        with pytest.raises(
            InputError, match=rf"being written by another process \({os.getpid()} on "
        ) as said:
            found.to_dataset(str(folder), jobs=1)
        refusals.append(said)

    found.to_dataset(str(folder), jobs=1, progress=write_too)
    assert len(refusals) == 1 + len(found.parts)
    assert files(folder) == files(tmp_path / "alone")
    assert json.loads((folder / NAME).read_text())["is_complete"] is True
    assert {path.name for path in folder.iterdir()} == {NAME, *files(tmp_path / "alone")}


def test_a_writer_that_was_killed_blocks_nobody_and_loses_nothing(tmp_path):
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False, timeout=120)
    assert done.returncode == -signal.SIGKILL
    assert (tmp_path / ".writing").is_file()
    assert json.loads((tmp_path / NAME).read_text())["complete"] == []
    assert len((tmp_path / LINES).read_text().splitlines()) == 2
    with (tmp_path / LINES).open("a") as lines:
        lines.write('{"number": 2, "rows"')  # cut off by the kill
    answer = cut(sweep(gpus=range(1, 4)), 1).to_dataset(str(tmp_path), jobs=1)
    assert (answer.continued, answer.rows) == (2, 3)
    assert {path.name for path in tmp_path.iterdir()} == {NAME, *map(part_name, range(3))}
