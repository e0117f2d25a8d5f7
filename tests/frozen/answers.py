"""Answers of requests: numbers, words and texts of what a command prints, or what it refuses."""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from perfmodel.interfaces.cli import main

FOLDER = Path(__file__).parent
REQUESTS = FOLDER / "requests.txt"
FILES = FOLDER / "files"
CHECKOUT = f"{FOLDER.parents[1]}{os.sep}"
DIGITS = 14
"""Significant digits that are kept of a number."""
LONGEST = 16
"""Entries of a list of numbers that is kept whole; of a longer one, its count, sum and largest magnitude."""

Answer = dict[str, Any]
"""``request``, ``exit``, then ``answer``, or ``refusal`` and ``options``; ``text`` is what people read."""


def requests(path: Path = REQUESTS) -> list[str]:
    """Return the requests of a file, without its comments."""
    lines = path.read_text("utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def answers(lines: list[str], jobs: int) -> Iterator[tuple[Answer, float]]:
    """Yield the answer of each request, in their order, with the seconds it took.

    Each process works in a folder of its own, which holds ``files/``, with no home directory.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(jobs, get_context("spawn"), _begin, (folder,)) as pool,
    ):
        yield from pool.map(_timed, lines, chunksize=4)


def _begin(folder: str) -> None:
    own = Path(folder, str(os.getpid()), "requests")  # a config.json is called as its folder
    shutil.copytree(FILES, own)
    os.chdir(own)
    os.environ["HOME"] = str(own / "nowhere")


def _timed(line: str) -> tuple[Answer, float]:
    begin = time.perf_counter()
    answered = answer(line)
    return answered, time.perf_counter() - begin


def answer(line: str) -> Answer:
    """Return the answer of a request, in the current folder; files that the command wrote are removed."""
    there = {*os.listdir()}
    result = CliRunner().invoke(main, [*shlex.split(line), "--json"])
    about = {"request": line, "exit": result.exit_code, "text": result.stderr}
    written = {}
    for name in sorted({*os.listdir()} - there):
        written[name] = _parsed(Path(name).read_text("utf-8")) if name.endswith(".json") else "written"
        Path(name).unlink()
    if result.exit_code > 1 or not isinstance(result.exception, SystemExit | None):
        return about | _refusal(result.stderr, result.exception)
    found = _parsed(result.stdout.replace(CHECKOUT, ""))  # measured rows name their table
    return about | {"answer": shortened(found), "files": shortened(written)}


def _refusal(message: str, error: BaseException | None) -> Answer:
    """What is refused: the type of the error and the options that its first line names."""
    first, _, _ = message.partition("\ntry: ")
    cause = type(error.__context__ if isinstance(error, SystemExit) else error).__name__
    return {"refusal": cause, "options": sorted({*re.findall(r"--[a-z][\w-]*", first)})}


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text.splitlines()


def shortened(value: Any) -> Any:
    """Return an answer with so many digits of its numbers, long lists summed up, equations as sets."""
    if isinstance(value, dict):
        if "equations" in value and "symbols" in str(value["equations"])[:2000]:
            value = value | {"equations": _equations(value["equations"])}
        return {key: shortened(inner) for key, inner in value.items()}
    if isinstance(value, list):
        if len(value) > LONGEST and all(isinstance(each, (int, float)) for each in value):
            return {"count": len(value)} | shortened(
                {"sum": math.fsum(value), "largest": max(map(abs, value))}
            )
        return [shortened(inner) for inner in value]
    if isinstance(value, str):
        return _CHECKSUM.sub("(checksum)", _LONG_NUMBER.sub(lambda number: f"{float(number[0]):.10g}", value))
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


_LONG_NUMBER = re.compile(r"\d+\.\d{12,}(e-?\d+)?")
_CHECKSUM = re.compile(r"\b[0-9a-f]{64}\b")


def _equations(equations: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the values of each formula by term, and the inputs that no equation made, whatever the order."""
    formulas: dict[str, list[Any]] = {}
    inputs: dict[str, list[Any]] = {}
    for equation in equations:
        name = f"{equation['term']}: {equation['formula']}"
        formulas.setdefault(name, []).append(shortened(equation["value"]))
        for symbol in equation["symbols"]:
            if symbol["equation"] is None:
                inputs.setdefault(symbol["parameter"], []).append(shortened(symbol["value"]))
    return {"formulas": _as_sets(formulas), "inputs": _as_sets(inputs)}


def _as_sets(values: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {name: [json.loads(each) for each in sorted({*map(json.dumps, values[name])})] for name in values}


def write(path: Path, answered: Iterable[Answer]) -> None:
    """Write answers, one a line."""
    path.write_text("".join(json.dumps(each, ensure_ascii=False) + "\n" for each in answered), "utf-8")


def read(path: Path) -> list[Answer]:
    """Return the answers of a file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
