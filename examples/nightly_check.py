"""Check every night that predicted and measured steps of jobs still agree: exit code 1 where one does not.

``python examples/nightly_check.py examples/nightly.toml`` holds the median of measured steps of each job
against the 80 % interval of its prediction, or the prediction give or take ``--tolerance``.  Exit code 2:
what is needed cannot be read or predicted, which is not the same as a step that has changed.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tomllib
from pathlib import Path
from statistics import median
from typing import Any

import perfmodel


def measured_time(file: Path, skip: int) -> float:
    """Return the median of the measured steps [s], less the first ones.

    Raises
    ------
    ValueError : fewer steps than are left out, or a line that is no number
    """
    with file.open(newline="", encoding="utf-8") as lines:
        times = [float(row["iteration_time"]) for row in csv.DictReader(lines)][skip:]
    if not times:
        raise ValueError(f"{file}: no step after the first {skip}")
    return median(times)


def check(job: dict[str, Any], folder: Path, tolerance: float | None) -> tuple[bool, str]:
    """Return whether a job's prediction and its measured step agree, and a line that says so."""
    answer = perfmodel.predict(**job["options"])
    time = measured_time(folder / job["times"], job.get("skip", 0))
    predicted = answer.iteration_time
    if tolerance is None:
        low, high = answer.interval.low_80, answer.interval.high_80
    else:
        low, high = predicted * (1 - tolerance), predicted * (1 + tolerance)
    agrees = low <= time <= high
    line = (
        f"{'agrees' if agrees else 'DIFFERS'}: {job['name']}: measured {time * 1e3:.1f} ms, predicted "
        f"{predicted * 1e3:.1f} ms ({predicted / time - 1:+.1%}), {low * 1e3:.1f} to {high * 1e3:.1f} ms"
    )
    return agrees, line


def main(words: list[str]) -> int:
    """Check every job of a file; return the exit code."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--tolerance", type=float, help="of the prediction, instead of its 80 %% interval")
    asked = parser.parse_args(words)
    try:
        jobs = tomllib.loads(asked.file.read_text("utf-8"))["job"]
        answers = [check(job, asked.file.parent, asked.tolerance) for job in jobs]
    except (OSError, ValueError, KeyError, TypeError) as error:  # perfmodel.InputError is a ValueError
        print(f"cannot check: {error!r}" if isinstance(error, KeyError) else f"cannot check: {error}")
        return 2
    for _, line in answers:
        print(line)
    return 0 if all(agrees for agrees, _ in answers) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
