"""How commands end that cannot: on a full disk, and when they are told to stop."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from perfmodel.interfaces.cli import ENDINGS, NOBODY_READS, main

FULL = Path("/dev/full")
CALL = [sys.executable, "-c", "from perfmodel.interfaces.cli import main; main()"]


@pytest.mark.skipif(not FULL.exists(), reason="no device that is always full")
@pytest.mark.parametrize("words", [["predict", "--json"], ["sweep", "--gpus", "1-300", "--csv"], ["predict"]])
def test_a_full_disk_is_told_in_a_line(words):
    with FULL.open("w") as full:
        done = subprocess.run([*CALL, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "perfmodel: the output cannot be written: No space left on device\n"


@pytest.mark.parametrize(
    "words",
    [["--help"], ["predict", "--help"], ["predict"], ["predict", "--json"], ["specs", "list"], ["cite"]],
)
def test_whoever_stops_reading_ends_any_output_as_a_broken_pipe_does(words):
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as unread:
        done = subprocess.run([*CALL, *words], stdout=unread, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (NOBODY_READS, "")


ENDED_WHILE_IT_WRITES = """
import signal, sys
from perfmodel.interfaces.cli import main
from perfmodel.decide.sweeps.table import Sweep

number, before = int(sys.argv.pop(1)), sys.argv.pop(1)
signal.signal(number, getattr(signal, before))
chunks = Sweep.chunks

def ended(sweep):
    for chunk in chunks(sweep):
        yield chunk
        signal.raise_signal(number)

Sweep.chunks = ended
main()
"""
"""A command whose sweep gets a signal each time that it has written rows; what it inherits from whoever
started the tests, such as ``nohup``, does not count."""


def ended_sweep(number: int, before: str, folder: Path) -> subprocess.CompletedProcess[str]:
    words = [str(int(number)), before, "sweep", "--gpus", "1-8", "--output", "big.csv"]
    call = [sys.executable, "-c", ENDED_WHILE_IT_WRITES, *words]
    return subprocess.run(call, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("number", [getattr(signal, name) for name in ENDINGS if hasattr(signal, name)])
def test_a_sweep_that_is_ended_leaves_no_file(number, tmp_path):
    done = ended_sweep(number, "SIG_DFL", tmp_path)
    assert (done.returncode, done.stderr) == (128 + number, "")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("number", [getattr(signal, name) for name in ENDINGS if hasattr(signal, name)])
def test_a_signal_that_was_to_be_ignored_is_ignored(number, tmp_path):
    """As ``nohup`` wants it of SIGHUP."""
    done = ended_sweep(number, "SIG_IGN", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert len((tmp_path / "big.csv").read_text().splitlines()) == 1 + 8


def test_handlers_are_put_back():
    before = signal.getsignal(signal.SIGTERM)
    main(["workloads", "list", "--json"], standalone_mode=False)
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize("words", ["sweep --gpus 1-3000 --csv", "sweep --help", "specs list --json"])
def test_a_reader_that_has_enough_ends_a_command_in_silence(words):
    with subprocess.Popen([*CALL, *words.split()], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        assert running.wait() == 128 + signal.SIGPIPE
        assert running.stderr.read() == b""


@pytest.mark.parametrize("words", ["predict", "predict --json", "stragglers", "specs list", "--help"])
def test_a_closed_output_is_named(words):
    done = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", *CALL, *words.split()], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == "perfmodel: standard output is closed; redirect it to /dev/null to drop it\n"


def test_names_that_a_terminal_cannot_show_are_escaped(tmp_path):
    name = b"\xff\xfe.csv"
    (tmp_path / "x").write_text("name,kind,forward_flops,tensors\na,linear,1e9,500000\n")
    (tmp_path / "x").rename(Path(os.fsdecode(os.path.join(os.fsencode(tmp_path), name))))
    for how in ([], ["--json"], ["--markdown"]):
        words = [*CALL, "predict", "--workload", name, *how]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("error", [MemoryError(), RecursionError()])
def test_what_is_too_large_ends_in_a_line(error, invoke, monkeypatch):
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("perfmodel.interfaces.shell.catalogue_from", fail)
    done = invoke("predict")
    assert done.exit_code == 2
    assert len(done.stderr.splitlines()) == 1


INTERRUPTS_AN_IMPORT = """
import os, signal, sys, weakref

class Interrupts:
    name = os.environ["INTERRUPTED_IMPORT"]

    def find_spec(self, name, path=None, target=None):
        if name == self.name:
            thing = type("Thing", (), {})()
            here = weakref.ref(thing, lambda _: signal.raise_signal(signal.SIGINT))
            del thing

sys.meta_path.insert(0, Interrupts())
signal.signal(signal.SIGINT, signal.default_int_handler)
"""
"""Ctrl-C while a module is being found, in a callback, which drops all exceptions.

It sets the signal: a shell that starts tests in the background has them ignore it.
"""


@pytest.mark.parametrize(
    "module", ["click", "perfmodel.interfaces.commands.predict", "perfmodel.model.prediction"]
)
@pytest.mark.parametrize("call", ["script", "module"])
def test_an_interruption_while_modules_load_is_told_in_a_line(call, module, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(INTERRUPTS_AN_IMPORT)
    pyproject = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))
    name, _, function = pyproject["project"]["scripts"]["perfmodel"].partition(":")
    words = {
        "script": ["-c", f"import sys; from {name} import {function}; sys.exit({function}())"],
        "module": ["-m", "perfmodel"],
    }[call]
    paths = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, *words, "predict"],
        env={**os.environ, "PYTHONPATH": paths, "INTERRUPTED_IMPORT": module},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr, done.stdout) == (130, "perfmodel: interrupted\n", "")
