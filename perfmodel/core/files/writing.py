"""Writes files atomically: the whole content or nothing."""

from __future__ import annotations

import os
import secrets
import stat
import string
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from perfmodel.core.errors import InputError

TOKEN_BYTES = 6
"""Random bytes in the name of a temporary file."""


class Unwritable(InputError):
    """A file cannot be written: the disk is full, permission is missing, or it is not a regular file."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary file next to ``path`` to write; rename it to ``path`` unless the block raises.

    A symbolic link is followed: its target is replaced, the link stays.  An existing file keeps its mode; a
    new one gets the mode of the process's umask.  Temporary files that killed processes left for the same
    path are removed.

    Raises
    ------
    InputError : the file cannot be written, or is a folder, device, pipe or socket; the temporary file is
        removed
    """
    mode = _mode(path)
    target = Path(os.path.realpath(path))
    prefix = f".{target.name[:40]}."
    temporary = target.with_name(prefix + secrets.token_hex(TOKEN_BYTES))
    held = None
    try:
        _clean(target.parent, prefix)
        held = _created(temporary)
        yield temporary
        if mode is not None:
            os.chmod(temporary, mode)
        os.replace(temporary, target)
    except OSError as error:
        raise _refused(path, error.strerror or str(error)) from None
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        if held is not None:
            os.close(held)


def _created(temporary: Path) -> int:
    """Create an empty file, locked so that no other process removes it while open; return its descriptor."""
    while True:
        held = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        _lock(held, wait=True)
        if os.path.exists(temporary):
            return held
        os.close(held)  # another process removed it before it was locked


def _clean(folder: Path, prefix: str) -> None:
    """Remove temporary files with a prefix whose writers have ended."""
    length = len(prefix) + 2 * TOKEN_BYTES
    with suppress(OSError):
        left = [name for name in os.listdir(folder) if name.startswith(prefix) and len(name) == length]
        for name in left:
            if set(name[len(prefix) :]) <= set(string.hexdigits):
                _remove_unless_written(folder / name)


def _remove_unless_written(temporary: Path) -> None:
    with suppress(OSError):
        held = os.open(temporary, os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        try:
            if stat.S_ISREG(os.fstat(held).st_mode) and _lock(held, wait=False):
                temporary.unlink()
        finally:
            os.close(held)


def _lock(held: int, *, wait: bool) -> bool:
    """Lock an open file; return False where another process holds it or the system has no locks."""
    try:
        import fcntl

        fcntl.flock(held, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except (ImportError, OSError):
        return False
    return True


def write_whole(path: Path, content: str | bytes) -> None:
    """Write text, as UTF-8, or bytes to a file, atomically.

    Raises
    ------
    InputError : the file cannot be written; an existing one is unchanged
    """
    with replacing(path) as temporary:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)


def check_writable(path: Path) -> None:
    """Raise an error if a file could not be written, for a check before a long computation.

    Raises
    ------
    InputError : the path is a folder, device, pipe or socket, or it or its folder is not writable
    """
    mode = _mode(path)
    if not os.access(os.path.dirname(os.path.realpath(path)), os.W_OK):
        raise _refused(path, "no such folder, or not allowed to write there")
    if mode is not None and not os.access(path, os.W_OK):
        raise _refused(path, "not allowed to write to it")


def _mode(path: Path) -> int | None:
    """Return the mode of an existing file; None if there is none."""
    try:
        result = os.stat(path).st_mode
    except FileNotFoundError:  # or a link that leads nowhere yet
        return None
    except (OSError, ValueError) as error:  # ValueError: a null byte in the name
        raise _refused(path, getattr(error, "strerror", None) or str(error)) from None
    if stat.S_ISDIR(result):
        raise _refused(path, "it is a folder")
    if not stat.S_ISREG(result):
        raise _refused(path, "it is a device, pipe or socket; name a regular file")
    return stat.S_IMODE(result)


def _refused(path: Path, reason: str) -> Unwritable:
    return Unwritable(f"{path}: cannot be written: {reason}")
