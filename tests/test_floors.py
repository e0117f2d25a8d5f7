"""Every version that ``pyproject.toml`` asks for at least is one that the suite has run with."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version

import pytest

from tests.floors import PROJECT, floors


def test_every_package_has_a_floor():
    found = floors()
    assert {"click", "numpy", "pydantic", "rich", "sympy", "scipy", "onnx", "streamlit"} <= set(found)


@pytest.mark.skipif(
    "PERFMODEL_FLOORS" not in os.environ, reason="make test-floors runs with the lowest versions"
)
@pytest.mark.parametrize("name", floors())
def test_the_floors_are_what_runs(name):
    ours, there = (list(map(int, text.split(".")[:3])) for text in (floors()[name], version(name)))
    assert there[: len(ours)] == ours
    assert not any(there[len(ours) :])


def test_what_no_version_changes_is_left_out():
    files = ("tests/test_floors.py", "tests/test_structure.py")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-n", "0", "-p", "no:cacheprovider", *files],
        cwd=PROJECT.parent,
        env={**os.environ, "PERFMODEL_FLOORS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "tests/test_floors.py" in done.stdout
    assert "tests/test_structure.py" not in done.stdout
