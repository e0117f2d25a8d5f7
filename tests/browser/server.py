"""Start the app as ``perfmodel app`` does, on a free port of the loopback interface, and stop it."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LONGEST_START = 30.0


@contextmanager
def app_server(log: Path) -> Iterator[str]:
    """Yield the address of a running app; what it prints goes to ``log``."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["perfmodel.cli", "app", "--port", str(port), "--no-open"]
    code = "import sys; from perfmodel.cli import main; sys.argv[:] = sys.argv[1:]; main()"
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-c", code, *words], stdout=out, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            _wait(f"http://127.0.0.1:{port}/_stcore/health", process, log)
            yield f"http://127.0.0.1:{port}"
        finally:
            _stop(process)


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + LONGEST_START
    while time.monotonic() < end:
        try:
            with urllib.request.urlopen(url, timeout=1):
                return
        except (urllib.error.URLError, OSError):
            if process.poll() is not None:
                break
            time.sleep(0.05)
    raise RuntimeError(f"the app did not start: {log.read_text()[-2000:]}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    import os
    import signal

    try:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(10)
    except ProcessLookupError:
        return
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
