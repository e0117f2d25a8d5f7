"""One of several processes that answer on one address: ``python -m perfmodel.service.sibling DESCRIPTOR``."""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from pathlib import Path

from perfmodel.service.logs import to_standard_error
from perfmodel.service.serve import protected
from perfmodel.service.server import run
from perfmodel.service.settings import of_environment
from perfmodel.service.siblings import COUNTS


def main(descriptor: int) -> None:
    """Answer until a signal, or the end of the process that started this one."""
    to_standard_error()
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    app = protected(of_environment(os.environ), Path(os.environ[COUNTS]))
    run(app, socket.socket(fileno=descriptor))


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1.0)
    os.kill(os.getpid(), 15)


if __name__ == "__main__":
    main(int(sys.argv[1]))
