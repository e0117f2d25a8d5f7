"""Budgets of speed fail where something has become slower, and only where they are asked for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TESTS = """
from tests.benchmarks.conftest import within, yardstick

def test_within(within):
    within(4, lambda: yardstick(1))

def test_above(within):
    within(0.5, lambda: yardstick(2))
"""


@pytest.mark.any_version
@pytest.mark.parametrize(("switch", "failed"), [("--benchmark-enable", 1), ("--benchmark-disable", 0)])
def test_what_takes_four_times_its_budget_fails_where_benchmarks_are_enabled(switch, failed, tmp_path):
    (tmp_path / "test_budgets.py").write_text(TESTS)
    words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n", "0", switch, str(tmp_path)]
    alone = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_XDIST")}
    done = subprocess.run(words, cwd=ROOT, env=alone, capture_output=True, text=True, check=False)
    assert done.returncode == failed, done.stdout
    assert ("above it in each of 10 pairs" in done.stdout) == bool(failed)
    assert ("FAILED" in done.stdout, "test_within" in done.stdout.partition("FAILED")[2]) == (
        bool(failed),
        False,
    )
