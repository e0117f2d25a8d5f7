"""Counts and times of requests for Prometheus, over all processes of ``--workers``."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

import perfmodel

FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""Environment variable with the folder in which processes share their counts; read by the library."""
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Upper ends of the buckets of the histogram [s]."""
KIND = CONTENT_TYPE_LATEST
disable_created_metrics()  # type: ignore[no-untyped-call]


class Metrics:
    """The metrics of this process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "perfmodel_requests",
            "Requests answered, by route and status.",
            ("route", "status"),
            registry=self.registry,
        )
        self.seconds = Histogram(
            "perfmodel_request_seconds",
            "Time from the head of a request to the end of its answer.",
            ("route",),
            buckets=BUCKETS,
            registry=self.registry,
        )
        self.costly = Counter(
            "perfmodel_pool", "Costly requests, by how they ended.", ("outcome",), registry=self.registry
        )
        self.in_flight = self._gauge("perfmodel_requests_in_flight", "Requests being answered.")
        self.running = self._gauge("perfmodel_pool_running", "Costly requests being calculated.")
        self.waiting = self._gauge("perfmodel_pool_waiting", "Costly requests waiting for the pool.")
        self.buffered = self._gauge("perfmodel_buffered_bytes", "Bodies of requests in flight.")
        build = Gauge(
            "perfmodel_build_info",
            "Always 1; versions of what answers.",
            ("version", "python"),
            registry=self.registry,
            multiprocess_mode="livemax",
        )
        build.labels(perfmodel.__version__, platform.python_version()).set(1)

    def _gauge(self, name: str, words: str) -> Gauge:
        """Return a gauge that adds up over living processes."""
        return Gauge(name, words, registry=self.registry, multiprocess_mode="livesum")

    def text(self) -> bytes:
        """Return the metrics of all processes together, and system metrics of the answering one."""
        process = CollectorRegistry()
        ProcessCollector(registry=process)
        counts = self.registry
        if FOLDER in os.environ:
            counts = CollectorRegistry()
            _forget_dead(Path(os.environ[FOLDER]))
            MultiProcessCollector(counts)  # type: ignore[no-untyped-call]
        return generate_latest(counts) + generate_latest(process)


def _forget_dead(folder: Path) -> None:
    """Remove gauges of processes that have ended; their counters stay."""
    for process in {path.stem.rpartition("_")[2] for path in folder.glob("gauge_live*.db")}:
        try:
            os.kill(int(process), 0)
        except ProcessLookupError:
            mark_process_dead(int(process), str(folder))  # type: ignore[no-untyped-call]
        except OSError:
            continue
