"""How commands end that cannot: on a full disk, and when they are told to stop."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from perfmodel.cli import ENDINGS, main

FULL = Path("/dev/full")
CALL = [sys.executable, "-c", "from perfmodel.cli import main; main()"]


@pytest.mark.skipif(not FULL.exists(), reason="no device that is always full")
@pytest.mark.parametrize("words", [["predict", "--json"], ["sweep", "--gpus", "1-300", "--csv"], ["predict"]])
def test_a_full_disk_is_told_in_a_line(words):
    with FULL.open("w") as full:
        done = subprocess.run([*CALL, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "perfmodel: the output cannot be written: No space left on device\n"


@pytest.mark.parametrize("number", [getattr(signal, name) for name in ENDINGS if hasattr(signal, name)])
def test_a_sweep_that_is_ended_leaves_no_file(number, tmp_path):
    words = ["sweep", "--gpus", "1-5000", "--local-batch-size", "1-500", "--output", "big.csv"]
    with subprocess.Popen([*CALL, *words], cwd=tmp_path, stderr=subprocess.PIPE, text=True) as running:
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob(".big.csv.*")) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert list(tmp_path.glob(".big.csv.*"))
        running.send_signal(number)
        _, said = running.communicate(timeout=60)
    assert running.returncode == 128 + number
    assert not list(tmp_path.iterdir())
    assert said == ""


def test_handlers_are_put_back():
    before = signal.getsignal(signal.SIGTERM)
    main(["workloads", "list", "--json"], standalone_mode=False)
    assert signal.getsignal(signal.SIGTERM) is before
