"""Several processes that answer on one address, and one more that starts, replaces and ends them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from types import FrameType

from perfmodel.service.logs import event
from perfmodel.service.server import ENDINGS
from perfmodel.service.settings import PREFIX, Settings

COUNTS = f"{PREFIX}COUNTS"
"""Folder in which the processes keep their counts for each other."""
LOOK = 0.2
"""Seconds between two looks at whether all are there."""
AGAIN = 1.0
"""Seconds before a process is started anew, so that one that cannot start keeps nobody busy."""
GRACE = 5.0
"""Seconds beyond those of draining after which a process is killed."""


def siblings(settings: Settings, taken: socket.socket) -> None:
    """Run processes that answer on a socket, each with a pool of its own, until a signal ends them all."""
    ended: list[int] = []

    def end(number: int, _: FrameType | None) -> None:
        ended.append(number)

    before = {number: signal.signal(number, end) for number in ENDINGS}
    processes: list[subprocess.Popen[bytes]] = []
    try:
        with tempfile.TemporaryDirectory(prefix="perfmodel-serve-") as folder:
            environment = os.environ | settings.handed_down() | {COUNTS: folder}
            while not ended:
                processes = [process for process in processes if _is_there(process)]
                while len(processes) < settings.workers:
                    processes.append(_start(taken, environment))
                time.sleep(LOOK)
            taken.close()  # or connections would wait for somebody to take them
            _end(processes, settings.drain_seconds + GRACE)
    finally:
        for process in processes:
            process.kill()
        for number, handler in before.items():
            signal.signal(number, handler)


def _start(taken: socket.socket, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-P", "-m", "perfmodel.service.sibling", str(taken.fileno())]
    return subprocess.Popen(words, env=environment, pass_fds=[taken.fileno()], start_new_session=True)


def _is_there(process: subprocess.Popen[bytes]) -> bool:
    code = process.poll()
    if code is not None:
        event("process ended", process=process.pid, code=code)
        time.sleep(AGAIN)
    return code is None


def _end(processes: list[subprocess.Popen[bytes]], seconds: float) -> None:
    """Have all finish what they have begun, and kill those that do not."""
    for process in processes:
        process.send_signal(signal.SIGTERM)
    deadline = time.monotonic() + seconds
    for process in processes:
        try:
            process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
