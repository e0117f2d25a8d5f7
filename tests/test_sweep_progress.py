"""What a sweep shows of its progress: on a terminal one line of 80 columns, elsewhere nothing."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from perfmodel.interfaces.cli.sweep_folder import bar_on


@pytest.mark.any_version
def test_a_billion_scenarios_have_room_in_80_columns():
    out = io.StringIO()
    with bar_on(Console(file=out, force_terminal=True, width=80, color_system=None)) as bar:
        task = bar.add_task("", total=1e9, rate="")
        bar.update(task, completed=123_456_789, rate="1,234,567/s", refresh=True)
        bar.stop()
    lines = [line for line in out.getvalue().replace("\r", "\n").splitlines() if "123,456,789" in line]
    assert lines
    for words in ("123,456,789 of 1,000,000,000", "1,234,567/s", "left"):
        assert words in lines[-1]  # no part of it is cut off


@pytest.mark.any_version
def test_nothing_is_shown_where_nobody_looks(invoke, tmp_path):
    done = invoke("sweep", "--gpus", "1,2", "--output", f"{tmp_path}/out/", "--jobs", 1)
    assert done.exit_code == 0
    assert done.stderr == ""
    assert done.stdout.startswith("2 of 2 scenarios written")
