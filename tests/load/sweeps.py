"""Sweeps on a Dask cluster of this machine: how many workers one client keeps busy, and what they cost.

``python -m tests.load.sweeps busy [--workers 100] [--parts 20000] [--seconds 0.2]``: the workers sleep for
each part instead of evaluating it, so that scheduler, client and manifest are all that takes the processor;
says what share of the time of all workers is sleep.  With ``--threads 4`` four workers share a process.

``python -m tests.load.sweeps processor [--repeats 3] [--columns NAMES]``: the processor time of a sweep of
8.4 million scenarios by two processes and by two new Dask workers, in turn; that of the cluster is of
scheduler, workers and client.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dask
import distributed
import psutil

from perfmodel import sweep
from perfmodel.decide.sweeps import Sweep, part_files
from perfmodel.decide.sweeps.part_files import PartSummary, PartWriter, part_name
from perfmodel.decide.sweeps.parts import Parts

OPTIONS = {
    "workload": "resnet50,vgg16",
    "gpus": "8-4096:8",
    "local-batch-size": "1-512",
    "inter-link": "ethernet-10g-tcp,ethernet-25g-tcp,ib-edr-100g,ethernet-100g-rdma",
    "strategy": "all-reduce,parameter-server",
    "precision": "fp32,amp",
}
"""8,388,608 scenarios in 32 parts."""


def sleep_for_parts(seconds: float) -> None:
    """Make a worker sleep for each part and write a file of a few bytes."""

    def write_part(writer: PartWriter, number: int) -> PartSummary:
        time.sleep(seconds)
        words = b"a part of %d" % number
        (Path(writer.folder) / part_name(number, writer.suffix)).write_bytes(words)
        return PartSummary(number, 1, {}, len(words), hashlib.sha256(words).hexdigest(), seconds, 0)

    part_files.write_part = write_part


def in_parts(count: int) -> Sweep:
    """Return a sweep in so many parts, each of one scenario."""
    result = sweep(gpus=range(1, count + 1), columns=["gpus", "iteration_time"])
    one = result.parts
    result.parts = Parts(one.axes, one.catalogue, one.constants, one.columns, 1)
    return result


def busy(workers: int, parts: int, seconds: float, threads: int) -> None:
    """Print what share of their time all workers are at work, from the first task to the last part."""
    # samples of stacks, a hundred a second of each worker, would all take this one machine
    dask.config.set({"distributed.worker.profile.enabled": False})
    with (
        tempfile.TemporaryDirectory() as folder,
        distributed.LocalCluster(
            n_workers=workers // threads, threads_per_worker=threads, dashboard_address=None, silence_logs=50
        ) as cluster,
    ):
        with distributed.Client(cluster) as client:
            client.wait_for_workers(workers // threads)
            client.run(sleep_for_parts, seconds)
        for count in (10 * workers, parts):  # the first time all modules are imported
            done: list[float] = []
            before = psutil.Process().cpu_times()
            in_parts(count).to_dataset(
                f"{folder}/{count}",
                dask=cluster.scheduler_address,
                progress=lambda part, _, done=done: done.append(time.monotonic()),
            )
            after, rate = psutil.Process().cpu_times(), count / (done[-1] - done[0])
            print(
                f"{count:,} parts of {seconds:g} s, {workers} workers: {done[-1] - done[0]:.1f} s, "
                f"{rate:.0f} parts/s, {rate * seconds / workers:.0%} busy; client and scheduler take "
                f"{after.user + after.system - before.user - before.system:.1f} s of processor",
                flush=True,
            )


def taken_by(processes: list[psutil.Process]) -> float:
    """Return the processor time of processes and their children so far [s]."""
    every = [each for process in processes for each in (process, *process.children(recursive=True))]
    return sum(each.cpu_times().user + each.cpu_times().system for each in every)


def run_sweep(folder: Path, *words: str) -> float:
    """Run the sweep as a command; return the processor time of it and of its children [s]."""
    options = [word for name, value in OPTIONS.items() for word in (f"--{name}", value)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "perfmodel", "sweep", *options, "--output", f"{folder}/", *words]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@contextmanager
def two_workers(address: str) -> Iterator[list[psutil.Process]]:
    """Give the processes of a scheduler and of two workers, started as users start them."""
    every = (
        ["scheduler", "--host", address, "--no-dashboard"],
        ["worker", address, "--nworkers", "2", "--nthreads", "1", "--no-dashboard"],
    )
    started = [
        subprocess.Popen([sys.executable, "-m", "dask", *words], stderr=subprocess.DEVNULL) for words in every
    ]
    try:
        with distributed.Client(address, timeout=60) as client:
            client.wait_for_workers(2)
        yield [psutil.Process(process.pid) for process in started]
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait(30)


def processor(repeats: int, columns: str) -> None:
    """Print the processor time of two processes and of two new Dask workers, in turn."""
    ratios = []
    address, words = "tcp://127.0.0.1:8799", ("--columns", columns) if columns else ()
    for repeat in range(repeats):
        with tempfile.TemporaryDirectory() as folder, two_workers(address) as cluster:
            jobs = run_sweep(Path(folder) / "jobs", "--jobs", "2", *words)
            start = taken_by(cluster)
            own = run_sweep(Path(folder) / "dask", "--dask", address, *words)
            there = taken_by(cluster) - start
        ratios.append((own + there) / jobs)
        print(
            f"{repeat}: --jobs 2 {jobs:.1f} s; --dask {own + there:.1f} s "
            f"(client {own:.1f}, cluster {there:.1f}): {ratios[-1]:.2f} x; "
            f"with the start of the cluster {own + there + start:.1f} s: "
            f"{(own + there + start) / jobs:.2f} x",
            flush=True,
        )
    print(f"median {statistics.median(ratios):.2f} x")


def main() -> None:
    """Measure what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    kinds = parser.add_subparsers(dest="kind", required=True)
    one = kinds.add_parser("busy")
    one.add_argument("--workers", type=int, default=100)
    one.add_argument("--threads", type=int, default=1)
    one.add_argument("--parts", type=int, default=20_000)
    one.add_argument("--seconds", type=float, default=0.2)
    two = kinds.add_parser("processor")
    two.add_argument("--repeats", type=int, default=3)
    two.add_argument("--columns", default="workload,gpus,local_batch_size,iteration_time")
    given = vars(parser.parse_args())
    {"busy": busy, "processor": processor}[given.pop("kind")](**given)


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
