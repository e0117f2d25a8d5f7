"""Counts and times of requests, in the text format that Prometheus reads.

Written by hand: there are few series, all known here, and a library would bring its own registry, a lock for
each count, and for several processes a folder of shared memory.  Here each process writes its counts once a
second into a file of its own, and whoever is asked adds them up.
"""

from __future__ import annotations

import json
import os
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from perfmodel.errors import InputError
from perfmodel.writing import write_whole

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Upper ends [s] of the buckets of the histogram."""
MOST_SERIES = 2000
"""Of one process; beyond them nothing new is counted: memory stays bounded whatever the labels."""

HELP = {
    "perfmodel_requests_total": ("counter", "Requests answered, by route and status."),
    "perfmodel_request_seconds": ("histogram", "Time from the head of a request to the end of its answer."),
    "perfmodel_connections_closed_total": ("counter", "Connections that were closed early, by reason."),
    "perfmodel_pool_total": ("counter", "Costly requests, by how they ended."),
    "perfmodel_pool_starts_total": ("counter", "Processes of the pool that were started."),
    "perfmodel_requests_in_flight": ("gauge", "Requests being answered."),
    "perfmodel_pool_running": ("gauge", "Costly requests being calculated."),
    "perfmodel_pool_waiting": ("gauge", "Costly requests waiting for the pool."),
    "perfmodel_buffered_bytes": ("gauge", "Bodies of requests in flight."),
}


class Metrics:
    """The counts of one process; those of its siblings lie beside them in ``folder``."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self.series: defaultdict[str, float] = defaultdict(float)
        self.gauges: dict[str, float] = {}

    def add(self, name: str, amount: float = 1, **labels: str) -> None:
        """Add to a counter."""
        key = _series(name, tuple(labels.items()))
        if key in self.series or len(self.series) < MOST_SERIES:
            self.series[key] += amount

    def observe(self, name: str, seconds: float, **labels: str) -> None:
        """Count one time into a histogram: its bucket alone; ``text`` adds up those below."""
        at = bisect_left(BUCKETS, seconds)
        end = f"{BUCKETS[at]:g}" if at < len(BUCKETS) else "+Inf"
        self.add(f"{name}_bucket", 1, **labels, le=end)
        self.add(f"{name}_sum", seconds, **labels)

    def save(self) -> None:
        """Write the counts where sibling processes read them."""
        if self.folder is not None:
            held = json.dumps({"series": self.series, "gauges": self.gauges})
            with suppress(InputError, OSError):  # a full disk costs counts, not answers
                write_whole(self.folder / f"{os.getpid()}.json", held)

    def text(self) -> str:
        """Return the counts of all processes together."""
        series, gauges = defaultdict(float, self.series), defaultdict(float, self.gauges)
        for path in self.folder.glob("*.json") if self.folder else ():
            if path.stem == str(os.getpid()):
                continue
            with suppress(OSError, ValueError):
                held = json.loads(path.read_bytes())
                _add(series, held["series"])
                if _lives(path.stem):
                    _add(gauges, held["gauges"])
        lines = []
        for name, (kind, words) in HELP.items():
            lines += [f"# HELP {name} {words}", f"# TYPE {name} {kind}"]
            if kind == "histogram":
                lines += _histogram(name, series)
            else:
                values = gauges if kind == "gauge" else series
                lines += [
                    f"{key} {_value(values[key])}" for key in sorted(values) if key.partition("{")[0] == name
                ]
        return "\n".join(lines) + "\n"


def _histogram(name: str, series: Mapping[str, float]) -> list[str]:
    lines = []
    for key in sorted(key for key in series if key.startswith(f"{name}_sum")):
        labels = key.removeprefix(f"{name}_sum").strip("{}")
        total = 0.0
        comma = "," if labels else ""
        for end in (*(f"{end:g}" for end in BUCKETS), "+Inf"):
            bucket = f'{name}_bucket{{{labels}{comma}le="{end}"}}'
            total += series.get(bucket, 0)
            lines.append(f"{bucket} {_value(total)}")
        braces = f"{{{labels}}}" if labels else ""
        lines += [f"{name}_sum{braces} {_value(series[key])}", f"{name}_count{braces} {_value(total)}"]
    return lines


def _add(total: defaultdict[str, float], more: Mapping[str, float]) -> None:
    for key, value in more.items():
        total[key] += value


def _lives(process: str) -> bool:
    """Whether a process is still there; what it counted stays, what it was doing has gone with it."""
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _value(number: float) -> str:
    """Return a number with all its digits, and a whole one without a point.

    >>> _value(12345678.0), _value(0.25)
    ('12345678', '0.25')
    """
    return str(int(number)) if number == int(number) else repr(number)


@lru_cache(maxsize=MOST_SERIES)
def _series(name: str, labels: tuple[tuple[str, str], ...]) -> str:
    """Return a series as Prometheus writes it.

    >>> _series("a_total", (("route", '/"x'),))
    'a_total{route="/\\\\"x"}'
    """
    if not labels:
        return name
    pairs = (f'{label}="{_escaped(value)}"' for label, value in labels)
    return f"{name}{{{','.join(pairs)}}}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
