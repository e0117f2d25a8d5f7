"""What lies in ``examples/`` runs, and says what its first lines promise."""

from __future__ import annotations

import runpy
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def example(name):
    """Return the names of an example, without its ``__main__``."""
    return runpy.run_path(str(EXAMPLES / name))


def test_every_example_is_listed():
    listed = (EXAMPLES / "README.md").read_text("utf-8")
    assert all(f"[{path.name}]" in listed for path in EXAMPLES.iterdir() if path.suffix in (".py", ".toml"))


def test_a_scheduler_places_jobs_where_they_end_in_time(tmp_path, capsys):
    names = example("scheduler.py")
    assert names["main"](str(EXAMPLES / "queue.toml")) == 0
    said = capsys.readouterr().out
    assert said.startswith("images: ")
    assert "\ntext: " in said
    queue = tomllib.loads((EXAMPLES / "queue.toml").read_text("utf-8"))
    first = names["place"](queue)
    assert all(
        one.latest_hours <= job["deadline"] for one, job in zip(first.values(), queue["job"], strict=True)
    )
    queue["pool"] = [{"name": "one", "node": "dgx-a100", "nodes": 1}]
    both = names["place"](queue)
    assert [one is None for one in both.values()] == [False, True]  # the first takes the only machine
    (tmp_path / "late.toml").write_text(
        (EXAMPLES / "queue.toml").read_text("utf-8").replace("deadline = 12", "deadline = 0.01")
    )
    assert names["main"](str(tmp_path / "late.toml")) == 1
    assert "text: fits nowhere in time" in capsys.readouterr().out


def test_readers_of_a_data_set_agree(tmp_path, capsys):
    pytest.importorskip("pyarrow")
    answers = example("notebook.py")["main"](str(tmp_path), jobs=1)
    assert set(answers) == {name for name in ("pandas", "polars", "duckdb") if find_spec(name)}
    assert capsys.readouterr().out.startswith("512 rows in 1 part, 0 of which were there\n")
    assert all(answer == next(iter(answers.values())) for answer in answers.values())
    assert all(len(answer) == 4 for answer in answers.values())


@pytest.mark.parametrize(
    ("factor", "words", "code"),
    [(1, (), 0), (3, (), 1), (1, ("--tolerance", "0.001"), 1), (1, ("--tolerance", "0.5"), 0)],
)
def test_a_nightly_check_fails_where_a_step_has_changed(factor, words, code, tmp_path, capsys):
    text = (EXAMPLES / "nightly_times.csv").read_text("utf-8").splitlines()
    steps = [line.split(",") for line in text[1:]]
    lines = [text[0], *(f"{step},{float(time) * factor}" for step, time in steps)]
    (tmp_path / "nightly_times.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "nightly.toml").write_text((EXAMPLES / "nightly.toml").read_text("utf-8"))
    assert example("nightly_check.py")["main"]([str(tmp_path / "nightly.toml"), *words]) == code
    assert capsys.readouterr().out.startswith("DIFFERS: " if code else "agrees: ")


def test_a_nightly_check_that_cannot_be_made_is_no_change(tmp_path, capsys):
    main = example("nightly_check.py")["main"]
    (tmp_path / "nightly.toml").write_text((EXAMPLES / "nightly.toml").read_text("utf-8"))
    assert main([str(tmp_path / "nightly.toml")]) == 2
    (tmp_path / "nightly_times.csv").write_text("step,iteration_time\n0,1.0\n")
    assert main([str(tmp_path / "nightly.toml")]) == 2
    (tmp_path / "nightly.toml").write_text(
        '[[job]]\nname = "x"\ntimes = "nightly_times.csv"\noptions = { gpu = 8 }'
    )
    assert main([str(tmp_path / "nightly.toml")]) == 2
    said = capsys.readouterr().out
    assert "no step after the first 3" in said
    assert "unknown option 'gpu'" in said
