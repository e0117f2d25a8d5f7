"""Read the events of a large JSON file one by one, in bounded memory."""

from __future__ import annotations

import gzip
import json
import os
import re
import zlib
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from perfmodel.core.errors import refusal
from perfmodel.core.files.reading import opened

CHUNK = 1 << 20
LARGEST_VALUE = 8 << 20
"""Largest number of characters of one event."""
LARGEST_ENTRY = 1 << 20
"""Largest number of characters of a header entry that is kept."""
LARGEST_REST = 32 << 20
"""Largest number of characters of all skipped entries together."""
LARGEST_FILE = 8 << 30
"""Largest size of a file after decompression [B]; a trace of a few steps is smaller."""
LARGEST_RATIO = 200
"""Largest compression ratio; that of real traces is ten to forty."""
_SPACE = re.compile(r"[ \t\n\r]*")
_STRUCTURE = re.compile(r'[\[\]{}"]')
_AFTER_VALUE = re.compile(r"[,\]}]")
_QUOTE_OR_ESCAPE = re.compile(r'["\\]')


class _Source:
    """Reads the text of a plain or compressed file in pieces."""

    def __init__(self, path: Path, raw: BinaryIO, progress: Callable[[int], None] | None) -> None:
        self._path, self._progress = path, progress
        self._raw = raw
        self._size = raw.seek(0, os.SEEK_END)
        raw.seek(0)
        magic = self._raw.read(2)
        self._raw.seek(0)
        self._file: Any = gzip.GzipFile(fileobj=self._raw) if magic == b"\x1f\x8b" else self._raw
        self._read = 0

    def more(self) -> str:
        """Return the next piece, "" at the end; InputError if it cannot be unpacked or grows too large."""
        try:
            piece = self._file.read(CHUNK)
        except (OSError, EOFError, zlib.error) as error:
            raise refusal("trace.compressed", error=str(error)).under(self._path) from None
        self._read += len(piece)
        if self._read > LARGEST_FILE or self._read > LARGEST_RATIO * max(self._size, CHUNK):
            raise refusal("trace.unpacked", read=self._read).under(self._path)
        if self._progress:
            self._progress(self._raw.tell())
        return str(piece.decode("utf-8", "replace"))


class _Scanner:
    """A moving window on the text; the standard library decodes the values in it."""

    def __init__(self, source: _Source, path: Path) -> None:
        self._source, self._path = source, path
        self._text, self._at, self._ended = "", 0, False
        self._decoder = json.JSONDecoder()
        self._dropped = 0

    def _grow(self) -> bool:
        """Read at least as much text as the window holds; return whether there was any."""
        if self._ended:
            return False
        pieces = [self._text[self._at :]]
        wanted = max(1, len(pieces[0]))
        while wanted > 0 and not self._ended:
            piece = self._source.more()
            self._ended = not piece
            pieces.append(piece)
            wanted -= len(piece)
        self._text, self._at = "".join(pieces), 0
        return len(self._text) > len(pieces[0])

    def peek(self) -> str:
        """Return the next character that is not white space, "" at the end."""
        while True:
            space = _SPACE.match(self._text, self._at)
            self._at = space.end() if space else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._grow():
                return ""

    def take(self, expected: str) -> None:
        """Move past the next character, which must be ``expected``."""
        result = self.peek()
        if result != expected:
            self.fail(f"expected {expected!r}, found {result or 'its end'!r}")
        self._at += 1

    def value(self, largest: int) -> Any:
        """Decode and return the value that begins here, of at most ``largest`` characters."""
        self.peek()
        while True:
            try:
                result, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if len(self._text) - self._at > largest:
                    self.fail("one of its values is too large")
                if not self._grow():
                    self.fail(str(error.msg))
                continue
            except (RecursionError, ValueError):
                self.fail("a value is nested too deeply or a number has too many digits")
            if end == len(self._text) and not isinstance(result, (dict, list, str)) and self._grow():
                continue  # a number may go on in the next piece
            self._at = end
            return result

    def skip(self) -> None:
        """Move past the value that begins here without decoding it."""
        depth, first = 0, self.peek()
        if first not in "[{":
            if first == '"':
                self._skip_string()
            else:
                self._skip_to(_AFTER_VALUE)
            return
        while True:
            result = self._skip_to(_STRUCTURE)
            if result == '"':
                self._skip_string()
                continue
            self._at += 1
            depth += 1 if result in "[{" else -1
            if not depth:
                return

    def _skip_to(self, pattern: re.Pattern[str]) -> str:
        """Move to the next match of a pattern of one character, and return that character."""
        while True:
            result = pattern.search(self._text, self._at)
            end = result.start() if result else len(self._text)
            self._dropped += end - self._at + 1
            if self._dropped > LARGEST_REST:
                self.fail(f"over {LARGEST_REST >> 20} MiB outside its events")
            self._at = end
            if result:
                return result[0]
            if not self._grow():
                self.fail("cut off inside a value")

    def _skip_string(self) -> None:
        """Move past the string that begins here."""
        self._at += 1
        while self._skip_to(_QUOTE_OR_ESCAPE) == "\\":
            self._at += 1
            if self._at >= len(self._text) and not self._grow():
                self.fail("cut off inside a text")
            self._at += 1
        self._at += 1

    def fail(self, why: str) -> Any:
        """Raise the error that the file is not a whole trace."""
        raise refusal("trace.not_whole", why=why).under(self._path)


def read_events(
    path: Path,
    header: dict[str, Any],
    keys: Collection[str],
    progress: Callable[[int], None] | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield every event of a Chrome trace, and collect some of the other top-level entries in ``header``.

    Parameters
    ----------
    path : plain or gzip-compressed JSON: an object with ``traceEvents``, or a list of events
    header : dictionary that receives the object's entries with a key of ``keys``
    keys : keys of entries to keep; other entries are skipped
    progress : function called with the position in the file [B]

    Raises
    ------
    InputError : the file cannot be read, is incomplete, unpacks to too much, or is not a trace
    """
    with opened(path, LARGEST_FILE) as raw:
        scanner = _Scanner(_Source(path, raw, progress), path)
        first = scanner.peek()
        if first == "[":
            yield from _events(scanner)
            return
        if first != "{":
            scanner.fail("it does not begin with { or [")
        scanner.take("{")
        result = False
        while scanner.peek() != "}":
            key = scanner.value(LARGEST_ENTRY)
            if not isinstance(key, str):
                scanner.fail("a key is not text")
            scanner.take(":")
            if key == "traceEvents" and scanner.peek() == "[":
                result = True
                yield from _events(scanner)
            elif key in keys:
                header[key] = scanner.value(LARGEST_ENTRY)
            else:
                scanner.skip()
            if scanner.peek() == ",":
                scanner.take(",")
        if not result:
            scanner.fail("it has no traceEvents")


def _events(scanner: _Scanner) -> Iterator[dict[str, Any]]:
    """Yield the objects of the list that begins here."""
    scanner.take("[")
    while scanner.peek() != "]":
        event = scanner.value(LARGEST_VALUE)
        if isinstance(event, dict):
            yield event
        if scanner.peek() == ",":
            scanner.take(",")
        elif scanner.peek() != "]":
            scanner.fail("events are not separated by commas")
    scanner.take("]")
