"""Find Debian's chromium, or install it where that can be done."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = ("--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking", "--disable-gpu")
INSTALL = "apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium"


class NoChromium(Exception):
    """There is none, and none could be installed; the message says what was tried."""


@cache
def chromium() -> str:
    """Return the path of a chromium.

    Raises
    ------
    NoChromium : none found, and none could be installed
    """
    path = _installed()
    if path:
        return path
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise NoChromium(f"none of {', '.join(NAMES)} is there, and only root installs it: {INSTALL}")
    with (Path(tempfile.gettempdir()) / "perfmodel-chromium.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run in several processes; apt knows one at a time
        failure = "" if _installed() else _install()
    path = _installed()
    if not path:
        raise NoChromium(f"`{INSTALL}` brought none: {failure}")
    return path


def _install() -> str:
    """Install it, and return what went wrong, if anything did."""
    try:
        done = subprocess.run(["sh", "-c", INSTALL], capture_output=True, text=True, timeout=480, check=False)
    except subprocess.TimeoutExpired:
        return "it took more than 480 s"
    return done.stderr.strip()[-300:]


def _installed() -> str | None:
    return next((path for name in NAMES if (path := shutil.which(name))), None)
