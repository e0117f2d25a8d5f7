"""Files that commands write: whole or not at all, through links, with the mode they had."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from perfmodel.core.errors import InputError
from perfmodel.core.files.writing import check_writable, write_whole


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(params=[0o022, 0o077, 0o002])
def umask(request: pytest.FixtureRequest) -> int:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def test_a_new_file_has_what_the_umask_leaves(tmp_path, umask):
    write_whole(tmp_path / "new", "x")
    assert mode(tmp_path / "new") == 0o666 & ~umask


@pytest.mark.parametrize("kept", [0o600, 0o640, 0o664, 0o755])
def test_a_file_keeps_its_mode(tmp_path, kept):
    (tmp_path / "old").write_text("before")
    (tmp_path / "old").chmod(kept)
    write_whole(tmp_path / "old", "after")
    assert (tmp_path / "old").read_text() == "after"
    assert mode(tmp_path / "old") == kept


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_and_its_file_is_written(tmp_path, there):
    (tmp_path / "elsewhere").mkdir()
    target, link = tmp_path / "elsewhere" / "file", tmp_path / "link"
    if there:
        target.write_text("before")
    link.symlink_to(Path("elsewhere") / "file")
    check_writable(link)
    write_whole(link, "after")
    assert link.is_symlink()
    assert target.read_text() == "after"
    assert [path.name for path in target.parent.iterdir()] == ["file"]


@pytest.mark.parametrize(
    "kind", ["device", "link to a device", "pipe", "folder", "loop", "null", "no folder"]
)
def test_what_is_no_file_is_refused_and_left_alone(tmp_path, kind):
    path = tmp_path / "odd"
    if kind == "device":
        path = Path("/dev/null")
    elif kind == "link to a device":
        path.symlink_to("/dev/null")
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "loop":
        path.symlink_to(path)
    elif kind == "null":
        path = tmp_path / "a\0b"
    else:
        path = tmp_path / "none" / "file"
    before = sorted(tmp_path.iterdir())
    for write in (check_writable, lambda path: write_whole(path, "x")):
        with pytest.raises(InputError, match="cannot be written"):
            write(path)
    assert sorted(tmp_path.iterdir()) == before
    assert kind != "pipe" or path.is_fifo()


def test_long_names_are_written(tmp_path):
    for name in ("a" * 255, "é" * 127):
        write_whole(tmp_path / name, "x")
        assert (tmp_path / name).read_text() == "x"


def test_a_command_keeps_a_link_and_refuses_a_pipe(tmp_path, invoke):
    (tmp_path / "link.csv").symlink_to("rows.csv")
    assert invoke("sweep", "--gpus", "1,2", "--output", tmp_path / "link.csv").exit_code == 0
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "rows.csv").read_text().count("\n") == 3
    os.mkfifo(tmp_path / "pipe.csv")
    for words in (
        ["sweep", "--gpus", "1,2", "--output", tmp_path / "pipe.csv"],
        ["predict", "--timeline", tmp_path / "pipe.csv"],
    ):
        done = invoke(*words)
        assert done.exit_code == 2
        assert "a device, pipe or socket" in done.stderr
    assert (tmp_path / "pipe.csv").is_fifo()


@pytest.mark.parametrize(
    ("package", "line", "work"),
    [
        ("matplotlib", "validate --report r.md --plots", "perfmodel.evidence.accuracy.training_compare"),
        ("matplotlib", "scale --plot x.svg", "perfmodel.model.prediction.predict"),
        ("plotly", "scale --plot x.html", "perfmodel.model.prediction.predict"),
        (
            "plotly",
            "collective --ranks 8 --size 1MB --accelerator h100 --plot x.html",
            "perfmodel.model.prediction.collectives.collective.collective",
        ),
        ("pyarrow", "sweep --output x.parquet", "perfmodel.decide.sweeps.table.answers"),
        ("onnx", "predict --workload {model}", "perfmodel.workloads.from_onnx.read_bytes"),
    ],
)
def test_a_missing_package_is_named_before_the_work(package, line, work, invoke, monkeypatch, tmp_path):
    for loaded in [package, *(name for name in sys.modules if name.startswith(f"{package}."))]:
        monkeypatch.setitem(sys.modules, loaded, None)
    import_module("perfmodel.interfaces.cli.collective_plot")  # else it would keep what is set below
    module, _, name = work.rpartition(".")
    monkeypatch.setattr(f"{module}.{name}", lambda *_, **__: pytest.fail("worked first"), raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"")
    done = invoke(*line.format(model="model.onnx").split())
    assert done.exit_code == 2, done.exception
    assert f"needs {package}: pip install 'perfmodel[" in done.stderr


def test_every_straggler_variant_but_two_needs_no_scipy(invoke, monkeypatch):
    from perfmodel.core.errors import missing
    from perfmodel.equations import laws

    def absent(what: str) -> None:
        raise missing("scipy", "stats", what)

    for module in ("laws", "heterogeneous"):
        monkeypatch.setattr(f"perfmodel.equations.{module}.require_scipy", absent)
    assert laws.require_scipy is absent
    done = invoke("stragglers")
    assert done.exit_code == 0
    assert "k-batch-sync" in done.stdout
    assert [line.split()[1] for line in done.stderr.splitlines()] == ["k-async", "local-sgd"]
    assert invoke("stragglers", "--variant", "k-async").exit_code == 2


def test_what_a_killed_process_left_goes_with_the_next_run_and_nothing_else(tmp_path):
    """A killed writer leaves its temporary file; one that still writes keeps its own."""
    target = tmp_path / "sweep.csv"
    program = (
        "import sys, time; from pathlib import Path; from perfmodel.core.files.writing import replacing\n"
        "with replacing(Path(sys.argv[1])) as temporary:\n"
        "    temporary.write_text('half'); print(temporary.name, flush=True); time.sleep(60)\n"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", program, str(target)], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    killed, alive = (str(writer.stdout and writer.stdout.readline().strip()) for writer in writers)
    try:
        assert {killed, alive} == {each.name for each in tmp_path.iterdir()}
        writers[0].kill()
        writers[0].wait()
        others = {".sweep.csv.notes", ".sweep.csv.0123456789xy", ".other.csv.0123456789ab"}
        for name in others:
            (tmp_path / name).write_text("")
        write_whole(target, "whole")
        assert {each.name for each in tmp_path.iterdir()} == {"sweep.csv", alive, *others}
        assert target.read_text() == "whole"
    finally:
        for writer in writers:
            writer.kill()
            writer.communicate()
