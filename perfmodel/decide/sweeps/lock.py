"""A lock that allows one writer at a time in a folder of parts."""

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
"""Name of the locked file; readers of data sets ignore names that begin with a dot."""
_HELD: Final = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES)
"""Error numbers of a lock that another process holds."""


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Lock the folder while it is written.

    The system releases the lock of a killed process.  Where there are no such locks (Windows, some network
    file systems) two writers are not kept apart.

    Raises
    ------
    InputError : another process is writing there; the folder may not be written
    """
    path = folder / NAME
    handle = _locked(path)
    try:
        with suppress(OSError):  # on a full disk the lock holds without the name of its holder
            os.ftruncate(handle, 0)
            os.write(handle, f"{os.getpid()} on {socket.gethostname()}".encode())
        yield
    finally:
        with suppress(OSError):
            path.unlink()  # before the release, so that no other process locks a file that is deleted
        os.close(handle)


def _locked(path: Path) -> int:
    """Return a handle of the locked file; a file that its last holder has just removed is opened again."""
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
    """Lock a file; an InputError names the process that holds the lock."""
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
