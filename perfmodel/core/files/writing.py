"""Write a file whole or not at all."""

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
"""Of the name of a temporary file."""


class Unwritable(InputError):
    """A file cannot be written: a full disk, no permission, no regular file."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary file beside ``path`` to write; it takes the path's name when all went well.

    A link is followed: the file it leads to is replaced, the link stays.  A file that was there keeps its
    mode; a new one gets what the process's umask leaves.  What processes that were killed left of the same
    file goes.

    Raises
    ------
    InputError : the file cannot be written, or is a folder, device, pipe or socket; nothing is left behind
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
    """Make an empty file that nobody cleans away while it is open."""
    while True:
        held = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        _lock(held, wait=True)
        if os.path.exists(temporary):
            return held
        os.close(held)  # cleaned away before it was locked


def _clean(folder: Path, prefix: str) -> None:
    """Remove temporary files of a target whose writers are no longer there."""
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
    """Lock an open file; return whether it is: not where another holds it, or a system has no locks."""
    try:
        import fcntl

        fcntl.flock(held, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except (ImportError, OSError):
        return False
    return True


def write_whole(path: Path, content: str | bytes) -> None:
    """Write text, as UTF-8, or bytes under a temporary name beside ``path`` and rename it.

    Raises
    ------
    InputError : the file cannot be written; nothing of it is left behind
    """
    with replacing(path) as temporary:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)


def check_writable(path: Path) -> None:
    """Refuse early what could not be written after a long computation.

    Raises
    ------
    InputError : the path is a folder, device, pipe or socket, or may not be written; or its folder
    """
    mode = _mode(path)
    if not os.access(os.path.dirname(os.path.realpath(path)), os.W_OK):
        raise _refused(path, "no such folder, or not allowed to write there")
    if mode is not None and not os.access(path, os.W_OK):
        raise _refused(path, "not allowed to write to it")


def _mode(path: Path) -> int | None:
    """Mode of the file that is there; None where there is none."""
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
