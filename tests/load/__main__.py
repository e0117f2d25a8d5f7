"""Start a service on loopback and measure it: ``python -m tests.load --seconds 60 [--plans 4] [--kill]``.

Predictions differ in network, accelerator, batch and number of GPUs.  With ``--plans`` so many plans run all
the while; with ``--kill`` processes of the pool are killed under them, and every plan must still be answered
once.  The load has an end in time and number, and goes to an address of this machine alone.  On a machine
that others use, look at the processor time of a prediction: its inverse is what a core of its own would give.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.load.client import Tally, load

PLAN = {"workload": "resnet50", "epochs": 90, "max_gpus": 128}


def predictions() -> Iterator[bytes]:
    """Bodies of which no two of the first thousands are alike."""
    networks = ("resnet50", "vgg16", "bert-base", "inception-v3", "alexnet")
    accelerators = ("v100-sxm2-16gb", "a100-sxm4-80gb", "h100-sxm5-80gb", "t4")
    for count in itertools.count():
        table = {
            "workload": networks[count % 5],
            "accelerator": accelerators[count // 5 % 4],
            "gpus": (1, 8, 16, 32, 64, 128)[count // 20 % 6],
            "local_batch_size": 8 + count // 120 % 97,
        }
        yield json.dumps(table).encode()


def plans(table: dict[str, object]) -> Iterator[bytes]:
    for count in itertools.count():
        yield json.dumps({**table, "epochs": 60 + count % 64}).encode()


def memory_of(process: int) -> float:
    """Return the memory of a process [MB]."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1e3


def processor_time_of(process: int) -> float:
    """Return the processor time of a process without its children [s]."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def children_of(process: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


async def measure(arguments: argparse.Namespace, address: tuple[str, int], process: int) -> int:
    warm = await load(address, "/v1/predict", predictions(), 4, 20, 2000)
    print(warm.line("warm-up"), flush=True)
    before, processor = memory_of(process), processor_time_of(process)
    background: list[asyncio.Task[Tally]] = []
    if arguments.plans:
        bodies = plans(json.loads(arguments.plan))
        work = load(address, "/v1/plan", bodies, arguments.plans, arguments.seconds, 10_000)
        background.append(asyncio.create_task(work))
    killer = asyncio.create_task(_kill(process, arguments.seconds)) if arguments.kill else None
    tally = await load(
        address, "/v1/predict", predictions(), arguments.clients, arguments.seconds, arguments.requests
    )
    print(tally.line("predictions"))
    each = (processor_time_of(process) - processor) / max(1, len(tally.seconds))
    print(f"processor time: {each * 1e6:.0f} us a prediction, {1 / each:,.0f}/s on a core of its own")
    for task in background:
        print((await task).line("plans"))
    if killer is not None:
        print(f"killed: {await killer} processes of the pool")
    print(f"memory of the service: {before:.0f} MB before, {memory_of(process):.0f} MB after")
    return tally.errors.total() + sum(n for status, n in tally.statuses.items() if status != 200)


async def _kill(process: int, seconds: float) -> int:
    """Kill a process of the pool every ten seconds: two that one request needs would be refused."""
    killed = 0
    for _ in range(int(seconds / 10)):
        await asyncio.sleep(8)
        forked = [worker for child in children_of(process) for worker in children_of(child)]
        for worker in forked[:1]:
            os.kill(worker, signal.SIGKILL)
            killed += 1
    return killed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--requests", type=int, default=500_000)
    parser.add_argument("--plans", type=int, default=0)
    parser.add_argument("--plan", default=json.dumps(PLAN))
    parser.add_argument("--kill", action="store_true")
    arguments = parser.parse_args()
    command = [str(Path(sys.executable).with_name("perfmodel")), "serve", "--port", "0"]
    with (
        open(os.devnull, "w") as nowhere,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=nowhere, text=True) as service,
    ):
        try:
            assert service.stdout is not None
            host, _, port = service.stdout.readline().rpartition("//")[2].strip().partition(":")
            wrong = asyncio.run(measure(arguments, (host, int(port)), service.pid))
        finally:
            service.terminate()
    print(f"exit code of the service: {service.returncode}")
    return int(bool(wrong or service.returncode))


if __name__ == "__main__":
    sys.exit(main())
