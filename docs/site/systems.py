"""The page of systems and techniques, made of ``docs/systems.toml``, with what commands print of each.

``python -m docs.site.systems`` writes it.
"""

from __future__ import annotations

import contextlib
import re
import shlex
import tempfile
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from docs.site.written_pages import ROOT
from perfmodel import predict
from perfmodel.core.files.writing import write_whole
from perfmodel.evidence.traces.timeline import write_timeline
from perfmodel.interfaces.cli import main

PAGE, TABLE = ROOT / "docs" / "systems.md", ROOT / "docs" / "systems.toml"
HEAD = """# Systems and techniques, and the command for each

Each row: what people read about, the command that answers for it, the equations behind the answer (each
links to the file of `perfmodel.equations` whose documentation has it, with symbols, source and a worked
example), what the tests or the validation hold it against, with the published figure where one was read, and
ours: what that command prints, or the one that is named there, also where it differs from what was published.
`make readme` makes the figures anew, from `docs/systems.toml`.  `perfmodel explain` prints the equations of a
prediction with its numbers, `perfmodel cite` their sources.

| system or technique | command | equations | held against | ours |
| --- | --- | --- | --- | --- |
"""
TAIL = """
Every formula has a caller: `tests/test_doors.py`.
"""
NOTHING_READ = "no published figure was read"
_FIGURE = re.compile(r"\{(.*?)\}(?!\})")
"""An expression whose group is a figure; what a command prints is one line to it."""


def systems() -> list[dict[str, Any]]:
    """Return the rows."""
    result: list[dict[str, Any]] = tomllib.loads(TABLE.read_text("utf-8"))["system"]
    return result


@cache
def printed(command: str) -> str:
    """Return what a command prints, as one line, in a folder with a predicted step as a trace.

    Raises
    ------
    RuntimeError : it is refused
    """
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        write_timeline(Path("my_trace.json"), predict(gpus=2))
        done = CliRunner().invoke(main, shlex.split(command))
    if done.exit_code or not done.stdout:
        raise RuntimeError(f"perfmodel {command}: {done.stderr}")
    return " ".join(done.stdout.split())


def ours(row: Mapping[str, Any]) -> str:
    """Return what the model says of a row.

    Raises
    ------
    RuntimeError : a command is refused, or prints no such figure
    """
    text = printed(row.get("by", row["command"]))

    def figure(expression: re.Match[str]) -> str:
        match = re.search(expression[1], text)
        if match is None:
            raise RuntimeError(f"{row['name']}: the command prints nothing like {expression[1]}")
        return f"`{match[1]}`"

    said = _FIGURE.sub(figure, row["ours"])
    return f"{said} (`perfmodel {row['by']}`)" if "by" in row else said


def line(row: Mapping[str, Any]) -> str:
    """Return the line of a row, with what commands print now."""
    equations = " ".join(
        f"[`{name}`](../perfmodel/equations/{name.partition('.')[0]}.py)" for name in row.get("equations", ())
    )
    cells = (
        row["name"],
        f"`perfmodel {row['command']}`",
        equations,
        row.get("against", NOTHING_READ),
        ours(row),
    )
    return f"| {' | '.join(cells)} |"


def page() -> str:
    """Return the page."""
    return HEAD + "\n".join(map(line, systems())) + "\n" + TAIL


if __name__ == "__main__":
    write_whole(PAGE, page())
