"""Sweeps by several processes: the same rows as by one, whatever is lost on the way."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import signal
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import perfmodel
from perfmodel import InputError, Scenario, sweep
from perfmodel.core.processes import each
from perfmodel.decide.sweeps import Sweep
from perfmodel.decide.sweeps.axes import is_number
from perfmodel.decide.sweeps.columns import WHERE_NAMED, answer_columns, unit_of
from perfmodel.decide.sweeps.data_set import write_data_set
from perfmodel.decide.sweeps.manifest import LINES, NAME
from perfmodel.decide.sweeps.part_files import part_name
from perfmodel.decide.sweeps.parts import CROSSED, Parts
from tests.test_sweep import SWEEPS

ASKED = {
    "workload": ["resnet50", "vgg16"],
    "gpus": range(1, 41),
    "local_batch_size": [16, 32, 48],
    "inter_link": ["ethernet-10g-tcp", "ib-edr-100g"],
    "servers": [None, 2],
    "strategy": "parameter-server",
}
"""960 scenarios in two groups."""


def cut(found: Sweep, most: int) -> Sweep:
    """Return a sweep with parts of so many scenarios."""
    parts = found.parts
    found.parts = Parts(parts.axes, parts.catalogue, parts.constants, parts.columns, most)
    return found


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != NAME}


@pytest.mark.any_version
@pytest.mark.parametrize("most", [1, 7, 100, 10**9])
def test_parts_hold_every_scenario_once(most):
    found = cut(sweep(**ASKED), most)
    parts, axes = found.parts, found.parts.axes
    crossed = [parts.scenarios(number) for number in range(len(parts))]
    assert sum(crossed) == len(found)
    assert max(crossed) <= most
    cells = set()
    for number in range(len(parts)):
        part = parts[number]
        places = [range(*part.slices.get(n, slice(None)).indices(len(axes[n]))) for n in CROSSED]
        cells |= {*product(part.groups, *places)}
    assert len(cells) == len(found)
    with pytest.raises(IndexError):
        parts[len(parts)]


@pytest.mark.any_version
@pytest.mark.parametrize("name", SWEEPS)
def test_small_parts_hold_the_rows_of_one(name):
    """However a sweep is cut, every row says the same, but for the last digits of its numbers."""
    whole = sweep(**SWEEPS[name])
    small = cut(sweep(**SWEEPS[name]), len(whole) // 7)
    assert len(small.parts) > 6
    tables = [whole.table(), small.table()]
    assert sum(small.refused.values()) == sum(whole.refused.values())
    options = [name for name in whole.columns if name in whole.parts.axes]
    keys = [[*zip(*(map(str, table[o].tolist()) for o in options), strict=True)] for table in tables]
    orders = [sorted(range(len(key)), key=key.__getitem__) for key in keys]
    assert [keys[0][row] for row in orders[0]] == [keys[1][row] for row in orders[1]]
    for column in ("iteration_time", "high_80", "memory_bytes", "speedup"):
        one, many = (table[column][order] for table, order in zip(tables, orders, strict=True))
        np.testing.assert_allclose(one, many, rtol=1e-12)


def test_two_processes_write_what_one_does(tmp_path):
    pytest.importorskip("pyarrow")
    import pyarrow.parquet

    found = cut(sweep(**ASKED), 100)
    one, two = (found.to_dataset(str(tmp_path / str(jobs)), jobs=jobs) for jobs in (1, 2))
    assert files(tmp_path / "1") == files(tmp_path / "2")
    manifests = [json.loads((tmp_path / str(jobs) / NAME).read_text()) for jobs in (1, 2)]
    assert manifests[0] == manifests[1]
    assert manifests[0]["is_complete"] is True
    assert (one.rows, one.refused, one.parts) == (two.rows, two.refused, two.parts)
    schema = pyarrow.parquet.read_schema(tmp_path / "1" / part_name(0))
    assert schema.metadata[b"perfmodel"].decode() == perfmodel.__version__
    assert schema.field("iteration_time").metadata[b"unit"] == b"s"
    assert not schema.field("workload").metadata
    rows = pyarrow.parquet.read_table(tmp_path / "1").to_pylist()
    assert rows == [{**row} for row in found.records()]
    assert one.rows + sum(one.refused.values()) == len(found) == one.scenarios

    found.to_csv(str(tmp_path / "one.csv"))
    assert found.to_csv(str(tmp_path / "two.csv"), jobs=2) == one.rows
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()
    found.to_parquet(str(tmp_path / "one.parquet"))
    found.to_parquet(str(tmp_path / "two.parquet"), jobs=2)
    tables = [pyarrow.parquet.read_table(tmp_path / f"{name}.parquet").to_pylist() for name in ("one", "two")]
    assert tables[0] == tables[1] == rows
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_every_column_of_numbers_has_a_unit():
    words = ("model", "scaling", "fits")
    answers = answer_columns(shared=True, updates=True, one_process=True)
    numbers = [name for name in (*answers, *WHERE_NAMED) if name not in words]
    numbers += [name for name in Scenario.model_fields if is_number(name)]
    assert not [name for name in numbers if not unit_of(name)]
    assert not any(map(unit_of, words))


@pytest.mark.any_version
def test_a_killed_process_loses_nothing(tmp_path):
    pytest.importorskip("pyarrow")
    found = cut(sweep(**ASKED), 60)
    expected = found.to_dataset(str(tmp_path / "whole"), jobs=1)
    killed = []

    def kill_one(part, _):
        if part is not None and len(killed) < 2:
            victim = multiprocessing.active_children()[0]
            os.kill(victim.pid, signal.SIGKILL)
            killed.append(victim.pid)

    answer = found.to_dataset(str(tmp_path / "killed"), jobs=2, progress=kill_one)
    assert len(killed) == 2
    assert (answer.rows, answer.refused) == (expected.rows, expected.refused)
    assert files(tmp_path / "killed") == files(tmp_path / "whole")


@pytest.mark.any_version
def test_what_ends_every_process_is_named():
    with pytest.raises(InputError, match=r"part [01]: 5 times a process .* was ended from outside"):
        list(each(_end, None, [0, 1], 2))


def _end(state, item):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_stopped_sweep_is_completed(tmp_path):
    pytest.importorskip("pyarrow")
    found = cut(sweep(**ASKED), 60)
    folder = tmp_path / "stopped"
    found.to_dataset(str(tmp_path / "whole"), jobs=1)
    done = []

    def stop(part, _):
        done.append(part)
        if len(done) == 6:  # of the start, and of five parts
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        found.to_dataset(str(folder), jobs=1, progress=stop)
    manifest = json.loads((folder / NAME).read_text())
    assert (len(manifest["complete"]), manifest["is_complete"]) == (5, False)
    (folder / part_name(0)).write_bytes(b"cut off")
    (folder / part_name(1)).unlink()
    (folder / f".{part_name(9)}.abc").write_bytes(b"left behind by a process that was killed")
    written = []
    answer = found.to_dataset(str(folder), jobs=1, progress=lambda part, _: written.append(part))
    assert answer.continued == 3
    assert {part.number for part in written[1:]} == {0, 1, *range(5, len(found.parts))}
    assert files(folder) == files(tmp_path / "whole")


def test_a_folder_of_another_sweep_is_refused(tmp_path, invoke):
    pytest.importorskip("pyarrow")
    folder = tmp_path / "all"
    words = ("sweep", "--gpus", "1-3", "--output", f"{folder}/")
    said = invoke(*words)
    assert said.stdout.startswith(f"3 of 3 scenarios written to {folder}/ in 1 part\n")
    assert "1 of the parts were there already" in invoke(*words).stdout
    other = invoke("sweep", "--gpus", "1-4", "--output", folder)
    assert other.exit_code == 2
    assert "of another sweep, whose options and scenarios differ" in other.stderr
    table = json.loads((folder / NAME).read_text())
    for change, message in (
        ({"version": 2}, "a manifest of version 2, not 1"),
        ({"sweep": table["sweep"] | {"perfmodel": "0.0.1"}}, "of another sweep, whose perfmodel differ"),
        ({"sweep": table["sweep"] | {"constants": "0"}}, "whose constants differ"),
        ({"complete": [{}]}, "no manifest of a sweep"),
    ):
        (folder / NAME).write_text(json.dumps(table | change))
        refused = invoke(*words)
        assert refused.exit_code == 2
        assert message in refused.stderr
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "data.parquet").touch()
    assert "holds data.parquet" in invoke(*words[:-1], f"{tmp_path / 'mine'}/").stderr


@pytest.mark.any_version
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--jobs", "2"), "--jobs: for --output and --csv"),
        (("--jobs", "0", "--csv"), "expected a whole number from 1 to 4096, or all"),
        (("--dask", "tcp://127.0.0.1:1"), "--dask: its workers write a folder; give --output DIR/"),
        (("--dask", "x", "--jobs", "2", "--output", "here/"), "--jobs and --dask: give one"),
    ],
)
def test_slips_are_named(words, message, invoke):
    said = invoke("sweep", "--gpus", "1-3", *words)
    assert said.exit_code == 2
    assert message in said.stderr


def test_nothing_to_predict_is_said_of_a_folder_too(tmp_path):
    pytest.importorskip("pyarrow")
    none = cut(sweep(global_batch_size=[3, 5, 7], world_size=8), 1)
    for write in (
        lambda: write_data_set(none.parts, str(tmp_path / "folder"), jobs=1),
        lambda: none.to_csv(str(tmp_path / "none.csv"), jobs=2),
    ):
        with pytest.raises(InputError, match="none of 3 scenarios can be predicted: a global batch of 3"):
            write()
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize("name", [part_name(0), part_name(9), "part-00000-a1b2.parquet", "data.parquet"])
def test_parts_that_no_manifest_names_are_left_alone(name, tmp_path, invoke):
    pytest.importorskip("pyarrow")
    (tmp_path / name).write_bytes(b"of somebody else")
    said = invoke("sweep", "--gpus", "1-3", "--output", f"{tmp_path}/")
    assert said.exit_code == 2
    assert f"holds {name}, which no manifest names as a part of this sweep; write to another" in said.stderr
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {name: b"of somebody else"}


def test_parts_of_no_number_of_this_sweep_are_refused_beside_its_own(tmp_path, invoke):
    pytest.importorskip("pyarrow")
    words = ("sweep", "--gpus", "1-3", "--output", f"{tmp_path}/")
    assert invoke(*words).exit_code == 0
    (tmp_path / part_name(1)).write_bytes(b"of somebody else")
    said = invoke(*words)
    assert said.exit_code == 2
    assert f"holds {part_name(1)}, which no manifest names" in said.stderr


def test_a_full_disk_says_how_to_go_on(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    found, folder = cut(sweep(**ASKED), 240), tmp_path / "full"
    renamed, room = os.replace, [3]  # the manifest and two parts

    def full(*names):
        room[0] -= 1
        if room[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        renamed(*names)

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", full)
        with pytest.raises(InputError, match=r"No space left on device; the same command goes on with what"):
            found.to_dataset(str(folder), jobs=1)
    assert {path.name for path in folder.iterdir()} == {NAME, LINES, part_name(0), part_name(1)}
    answer = found.to_dataset(str(folder), jobs=1)
    assert (answer.continued, answer.rows) == (2, len(found) - sum(found.refused.values()))
    assert not (folder / LINES).exists()
    assert json.loads((folder / NAME).read_text())["is_complete"] is True
