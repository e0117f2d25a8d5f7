"""The file of bearer tokens, one per line with an optional name; it is read again when it changes."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from perfmodel.core.errors import InputError, refusal
from perfmodel.interfaces.service.logs import event

SHORTEST = 16
"""Smallest length of a token; shorter ones could be guessed."""
LARGEST_FILE = 65536
"""Largest file of tokens [B]."""
LOOK = 1.0
"""Interval between checks for changes of the file [s]."""


class Tokens:
    """The tokens of a file, kept as digests only; none without a file.

    Raises
    ------
    InputError : a file that cannot be read, that others can read, that is not regular or too long, or that
        has no token or too short ones
    """

    def __init__(self, path: str | None) -> None:
        self.path = path
        self._state = self._look()
        self._names = {} if path is None else _read(path)
        self._looked = time.monotonic()

    @property
    def names(self) -> Mapping[bytes, str]:
        """The name of each token by its SHA-256; those of the last valid file where it has become invalid."""
        if self.path is not None and time.monotonic() > self._looked + LOOK:
            self._looked = time.monotonic()
            if (state := self._look()) != self._state:
                self._state = state
                try:
                    self._names = _read(self.path)
                    event("tokens read again", names=sorted(self._names.values()))
                except InputError as error:
                    event("tokens not read again", "error", detail=str(error))
        return self._names

    def _look(self) -> tuple[int, ...]:
        """Return the properties that change with the file."""
        try:
            status = Path(self.path or os.devnull).stat()
        except OSError:
            return ()
        return (status.st_mtime_ns, status.st_ino, status.st_size, status.st_mode)


def named(text: bytes) -> dict[bytes, str]:
    """Return the name of each token in the text of a file, by its digest.

    A line is a token, or a name and the token; a token without a name is named by its line number.

    >>> sorted(named(b"# of the day\\n0123456789abcdef\\nalice 0123456789ABCDEF\\n").values())
    ['alice', 'line 2']
    """
    names = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith(b"#"):
            continue
        if len(words) > 2:
            raise refusal("token.words", number=number, count=len(words))
        if len(words[-1]) < SHORTEST:
            raise refusal("token.short", number=number, shortest=SHORTEST)
        name = words[0].decode("utf-8", "replace") if len(words) == 2 else f"line {number}"
        names[sha256(words[-1]).digest()] = name
    if not names:
        raise refusal("token.none")
    return names


def _read(path: str) -> dict[bytes, str]:
    """Return the names of the tokens in a file; errors name the option."""
    try:
        return named(_read_secret(Path(path)))
    except OSError as error:
        raise refusal("token.unreadable", path=path, strerror=error.strerror) from None
    except InputError as error:
        raise error.under(said=f"--token-file {path}") from None


def _read_secret(path: Path) -> bytes:
    """Return the content of a private file.

    Raises
    ------
    InputError : others may read or change it; it is not a regular file, or too long
    OSError : it cannot be read
    """
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise refusal("token.no_file")
    if os.name == "posix" and status.st_mode & (stat.S_IRWXO | stat.S_IWGRP):
        raise refusal("token.shared", path=path)
    if status.st_size > LARGEST_FILE:
        raise refusal("token.long", largest_file=LARGEST_FILE)
    return path.read_bytes()
