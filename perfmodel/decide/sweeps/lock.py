"""One writer at a time in a folder of parts."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from perfmodel.core.errors import refusal

NAME: Final = ".writing"
"""Of the file that is locked; readers of data sets pass over names that begin with a dot."""
_HELD: Final = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES)
"""By which a lock that another process holds is refused."""


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Hold the folder while it is written.

    The system gives the lock back where a process is killed.  Where there are no such locks (Windows, some
    file systems of networks) two writers are not kept apart.

    Raises
    ------
    InputError : another process is writing there; the folder may not be written
    """
    path = folder / NAME
    handle = _locked(path)
    try:
        with suppress(OSError):  # a full disk takes no words, but keeps the lock
            os.ftruncate(handle, 0)
            os.write(handle, f"{os.getpid()} on {socket.gethostname()}".encode())
        yield
    finally:
        with suppress(OSError):
            path.unlink()  # before the lock goes, so that nobody holds a file that is going
        os.close(handle)


def _locked(path: Path) -> int:
    """Return a handle of the file, locked; one that its last holder removed meanwhile is opened anew."""
    while True:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise refusal("sweep.unwritable", strerror=error.strerror).under(path.parent) from None
        try:
            _lock(handle, path)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(handle), path.stat()):
                    return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _lock(handle: int, path: Path) -> None:
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in _HELD:
            return  # a file system without locks
        holder = os.read(handle, 1000).decode(errors="replace")
        who = f" ({holder})" if holder else ""
        raise refusal("sweep.locked", who=who).under(path.parent) from None
