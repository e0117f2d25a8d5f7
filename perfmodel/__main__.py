"""The command, as a script or ``python -m perfmodel``; Ctrl-C ends it in a line, also while modules load."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

WORDS = "perfmodel: interrupted\n"
INTERRUPTED = 128 + 2
"""What a shell reports of a program that SIGINT ended."""


def main() -> None:
    """Run the command line."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is to be ignored
        signal.signal(signal.SIGINT, _interrupt)
    try:
        from perfmodel.interfaces.cli import main as commands

        commands(prog_name="perfmodel")
    except KeyboardInterrupt:
        sys.stderr.write(WORDS)
        sys.exit(INTERRUPTED)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, or end at once where a module is being loaded.

    There an exception may be raised in a callback, which drops it, or become an error of another type.
    """
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            os.write(2, WORDS.encode())
            os._exit(INTERRUPTED)
        frame = frame.f_back
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
