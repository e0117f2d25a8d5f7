"""Read the events of a large JSON file one by one, in bounded memory and never more than was allowed."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from perfmodel.errors import InputError

CHUNK = 1 << 20
LARGEST_VALUE = 32 << 20
"""Characters of one event or one entry of the header."""
LARGEST_FILE = 8 << 30
"""Bytes after decompression; beyond that a file is not a trace of a few steps."""
LARGEST_RATIO = 200
"""Of decompression: real traces shrink ten to forty times."""
_SPACE = re.compile(r"[ \t\n\r]*")


class _Source:
    """Text of a plain or compressed file, in pieces."""

    def __init__(self, path: Path, progress: Callable[[int], None] | None) -> None:
        self._path, self._progress = path, progress
        try:
            self._size = path.stat().st_size
            self._raw = path.open("rb")
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror}") from None
        magic = self._raw.read(2)
        self._raw.seek(0)
        self._file: Any = gzip.GzipFile(fileobj=self._raw) if magic == b"\x1f\x8b" else self._raw
        self._read = 0

    def close(self) -> None:
        self._raw.close()

    def more(self) -> str:
        try:
            piece = self._file.read(CHUNK)
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"{self._path}: broken compressed file: {error}") from None
        self._read += len(piece)
        if self._read > LARGEST_FILE or self._read > LARGEST_RATIO * max(self._size, CHUNK):
            raise InputError(f"{self._path}: unpacks to over {self._read:,} bytes; not a profiler's trace")
        if self._progress:
            self._progress(self._raw.tell())
        return str(piece.decode("utf-8", "replace"))


class _Scanner:
    """A window on the text that moves forward; values are decoded by the standard library."""

    def __init__(self, source: _Source, path: Path) -> None:
        self._source, self._path = source, path
        self._text, self._at, self._ended = "", 0, False
        self._decoder = json.JSONDecoder()

    def _grow(self) -> bool:
        if self._ended:
            return False
        piece = self._source.more()
        self._ended = not piece
        self._text = self._text[self._at :] + piece
        self._at = 0
        return bool(piece)

    def peek(self) -> str:
        """The next character that is no space; empty at the end."""
        while True:
            space = _SPACE.match(self._text, self._at)
            self._at = space.end() if space else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._grow():
                return ""

    def take(self, expected: str) -> None:
        found = self.peek()
        if found != expected:
            self.fail(f"expected {expected!r}, found {found or 'its end'!r}")
        self._at += 1

    def value(self) -> Any:
        """Decode the value that begins here, asking for more text as long as it is not whole."""
        self.peek()
        while True:
            try:
                found, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if len(self._text) - self._at > LARGEST_VALUE:
                    self.fail("one of its values is too large")
                if not self._grow():
                    self.fail(str(error.msg))
                continue
            except (RecursionError, ValueError):
                self.fail("a value is nested too deeply or a number has too many digits")
            if end == len(self._text) and not isinstance(found, (dict, list, str)) and self._grow():
                continue  # a number may go on in the next piece
            self._at = end
            return found

    def fail(self, why: str) -> Any:
        raise InputError(f"{self._path}: not a whole JSON trace: {why}")


def read_events(
    path: Path, header: dict[str, Any], progress: Callable[[int], None] | None = None
) -> Iterator[dict[str, Any]]:
    """Yield every event of a Chrome trace; other top-level entries go into ``header`` as they are met.

    Parameters
    ----------
    path : plain or gzip-compressed JSON: an object with ``traceEvents``, or a list of events
    header : filled with the rest of the object
    progress : told the position in the file [B]

    Raises
    ------
    InputError : the file cannot be read, is cut off, unpacks without end, or is not a trace
    """
    source = _Source(path, progress)
    try:
        scanner = _Scanner(source, path)
        first = scanner.peek()
        if first == "[":
            yield from _events(scanner)
            return
        if first != "{":
            scanner.fail("it does not begin with { or [")
        scanner.take("{")
        found = False
        while scanner.peek() != "}":
            key = scanner.value()
            if not isinstance(key, str):
                scanner.fail("a key is not text")
            scanner.take(":")
            if key == "traceEvents" and scanner.peek() == "[":
                found = True
                yield from _events(scanner)
            else:
                header[key] = scanner.value()
            if scanner.peek() == ",":
                scanner.take(",")
        if not found:
            scanner.fail("it has no traceEvents")
    finally:
        source.close()


def _events(scanner: _Scanner) -> Iterator[dict[str, Any]]:
    scanner.take("[")
    while scanner.peek() != "]":
        event = scanner.value()
        if isinstance(event, dict):
            yield event
        if scanner.peek() == ",":
            scanner.take(",")
        elif scanner.peek() != "]":
            scanner.fail("events are not separated by commas")
    scanner.take("]")
