"""Write a file whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from perfmodel.errors import InputError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary file beside ``path`` to write; it takes the path's name when all went well.

    Raises
    ------
    InputError : the file cannot be written; nothing of it is left behind
    """
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None
    os.close(handle)
    try:
        yield Path(name)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None
    finally:
        Path(name).unlink(missing_ok=True)


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
    InputError : the folder does not exist or cannot be written to, or the path is a folder
    """
    if path.is_dir():
        raise InputError(f"{path}: cannot be written: it is a folder")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"{path}: cannot be written: no such folder, or not allowed to write there")
