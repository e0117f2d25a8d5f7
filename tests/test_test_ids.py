"""Workers that share the suite out must collect the same tests: names hang on no clock, order or hash."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.any_version
ROOT = Path(__file__).parents[1]
ACCIDENTAL = re.compile(r"0x[0-9a-f]{6,}|/tmp/|/pytest-of-")
"""Addresses of objects, temporary folders."""


@pytest.fixture(scope="module")
def collected() -> list[str]:
    """Names as another process collects them, later and with another seed of hashes."""
    seed = str(int(os.environ.get("PYTHONHASHSEED", "1").replace("random", "1")) + 1)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-n", "0", "-p", "no:cacheprovider"],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return [line for line in done.stdout.splitlines() if "::" in line]


def test_every_process_collects_the_same_tests(collected, request):
    mine = [item.nodeid for item in request.session.items]
    assert set(mine) <= set(collected)
    if len(mine) == len(collected):
        assert mine == collected


def test_names_hold_nothing_accidental(collected):
    assert not [name for name in collected if ACCIDENTAL.search(name)]
