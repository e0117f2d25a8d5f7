"""Place the jobs of a queue: predict each on what is free, take the fewest GPUs that end in time.

``python examples/scheduler.py examples/queue.toml`` prints a placement for each job; exit code 1 where one
fits nowhere.  What is held against the deadline is the upper end of the 80 % interval.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import perfmodel


class Placement(NamedTuple):
    """Where a job may run."""

    pool: str
    nodes: int
    gpus: int
    hours: float
    """Predicted."""
    latest_hours: float
    """Upper end of the 80 % interval."""


def placements(job: dict[str, Any], pool: dict[str, Any], free: int) -> list[Placement]:
    """Return the placements of a job on whole nodes of a pool that fit in memory and end in time."""
    per_node = perfmodel.Catalogue.built_in().node(pool["node"]).accelerators
    sizes = [per_node * nodes for nodes in range(1, free + 1)]
    if not sizes:
        return []
    try:
        rows = perfmodel.sweep(node=pool["node"], gpus=sizes, **job["options"]).records()
    except perfmodel.InputError:  # such as a precision that the machine lacks
        return []
    hours = job["iterations"] / 3600
    return [
        Placement(pool["name"], row["nodes"], row["world_size"], hours * row["iteration_time"], latest)
        for row in rows
        if row["fits"] and (latest := hours * row["high_80"]) <= job["deadline"]
    ]


def place(queue: dict[str, Any]) -> dict[str, Placement | None]:
    """Return where each job of a queue goes, in the order of the queue; None where it fits nowhere."""
    free = {pool["name"]: pool["nodes"] for pool in queue["pool"]}
    answer: dict[str, Placement | None] = {}
    for job in queue["job"]:
        able = [one for pool in queue["pool"] for one in placements(job, pool, free[pool["name"]])]
        best = min(able, key=lambda one: (one.gpus, one.latest_hours), default=None)
        if best is not None:
            free[best.pool] -= best.nodes
        answer[job["name"]] = best
    return answer


def main(path: str) -> int:
    """Print where each job of a file goes; return the exit code."""
    queue = tomllib.loads(Path(path).read_text("utf-8"))
    answer = place(queue)
    for name, one in answer.items():
        if one is None:
            print(f"{name}: fits nowhere in time")
        else:
            print(
                f"{name}: {one.nodes} x {one.pool} ({one.gpus} GPUs), {one.hours:.1f} h, "
                f"{one.latest_hours:.1f} h at the latest with 90 % confidence"
            )
    return 1 if None in answer.values() else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else str(Path(__file__).with_name("queue.toml"))))
