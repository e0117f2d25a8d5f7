"""Start the app as ``perfmodel app`` does, on a free port of the loopback interface, and stop it."""

from __future__ import annotations

import random
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

LONGEST_START = 120.0
"""Seconds; a start takes three, on a machine with nothing else to do."""
PORTS = 10_000, 32_000
"""Below those that the system gives to who connects: a port that is free stays so until the app listens."""
MOST_TRIES = 3
"""A port that was free may be taken a moment later."""


@contextmanager
def app_server(log: Path) -> Iterator[str]:
    """Yield the address of a running app; what it prints goes to ``log``."""
    for tried in range(1, MOST_TRIES + 1):
        port = free_port()
        with log.open("w") as out:
            process = subprocess.Popen(
                app_words(port, "--no-open"), stdout=out, stderr=subprocess.STDOUT, start_new_session=True
            )
        try:
            wait(port, process, log)
        except RuntimeError:
            stop(process)
            if "cannot listen on" not in log.read_text() or tried == MOST_TRIES:
                raise
            continue
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            stop(process)
        return


def free_port() -> int:
    """Return a port of the loopback interface that nobody listens on."""
    while True:
        port = random.randint(*PORTS)
        with socket.socket() as free, suppress(OSError):
            free.bind(("127.0.0.1", port))
            return port


def app_words(port: int, *options: str) -> list[str]:
    """Return what starts ``perfmodel app`` with this interpreter."""
    code = "import sys; from perfmodel.interfaces.cli import main; sys.argv[:] = sys.argv[1:]; main()"
    return [sys.executable, "-c", code, "perfmodel.interfaces.cli", "app", "--port", str(port), *options]


def wait(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    """Return when the app answers.

    Raises
    ------
    RuntimeError : it ended, or says nothing for ``LONGEST_START`` seconds
    """
    url = f"http://127.0.0.1:{port}/_stcore/health"
    end = time.monotonic() + LONGEST_START
    while time.monotonic() < end:
        try:
            with urllib.request.urlopen(url, timeout=10):
                return
        except (urllib.error.URLError, OSError):
            if process.poll() is not None:
                break
            time.sleep(0.05)
    raise RuntimeError(f"the app did not start: {log.read_text(errors='replace')[-2000:]}")


def stop(process: subprocess.Popen[bytes]) -> None:
    import os
    import signal

    try:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(10)
    except ProcessLookupError:
        return
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
