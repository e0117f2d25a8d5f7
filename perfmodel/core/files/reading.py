"""Reads files that a user names: only regular files, up to a size limit, as text in UTF-8."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any, BinaryIO

from perfmodel.core.errors import InputError, refusal
from perfmodel.core.files.attachments import attached, is_request
from perfmodel.core.files.resources import folder

LARGEST_TEXT = 64 << 20
"""Most bytes of a table or a list of times."""
LARGEST_OPTIONS = 256 << 10
"""Most bytes of a file that somebody writes by hand: a scenario, a spec, a quote, a profile."""
MOST_ROWS = 200_000
"""Most rows of a table of measurements, all held in memory; two hundred times the published ones."""
DEEPEST = 64
"""Most levels of nested tables; the package's own files have up to five."""
_PART = r"(?:[\w-]{1,99}+|\"(?:[^\"\\]|\\.){0,99}+\"|'[^']{0,99}+')"
_LONG_KEY = rf"(?<![\w-])(?:{_PART}\s{{0,99}}+\.\s{{0,99}}+){{{DEEPEST}}}"
"""Matches a key of too many parts; its repeats are bounded, so the search is linear in a line's length."""


@contextmanager
def opened(path: Path | str, most: int) -> Iterator[BinaryIO]:
    """Open a file for reading, inside the ``with`` block; while a request is answered, an attachment.

    Parameters
    ----------
    most : largest size allowed [B]

    Raises
    ------
    InputError : the file is missing, not regular (a folder, device, pipe or socket), larger than ``most``, or
        fails while it is read
    """
    if not str(path).strip():
        raise _no_name(path)
    content = None if is_request() and _is_of_package(path) else attached(path)
    if content is not None:
        if len(content) > most:
            raise _too_large(path, len(content), most)
        try:
            yield BytesIO(content)
        except (OSError, EOFError) as error:
            raise _unreadable(path, error) from None
        return
    try:
        # O_NONBLOCK: opening a pipe that nobody writes to would wait
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        raise refusal("file.missing").under(path) from None
    except (OSError, ValueError) as error:  # ValueError: a null byte in the name
        raise _unreadable(path, error) from None
    try:
        _check(path, os.fstat(number), most)
        with open(number, "rb", closefd=False) as file:
            yield file
    except (OSError, EOFError) as error:
        raise _unreadable(path, error) from None
    finally:
        os.close(number)


def version(path: Path | str) -> tuple[int, int]:
    """Return a number that changes with the content of a file, for keys of caches, and its size [B].

    Raises
    ------
    InputError : no such file
    """
    if not str(path).strip():
        raise _no_name(path)
    content = attached(path)
    if content is not None:
        from hashlib import sha256

        return int.from_bytes(sha256(content).digest()), len(content)
    try:
        status = os.stat(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no name"
        raise refusal("file.unreadable", reason=reason).under(path) from None
    return status.st_mtime_ns, status.st_size


def _is_of_package(path: Path | str) -> bool:
    """Whether a file belongs to the package, whose code names its files by absolute ``Path``.

    Code that turns a user's text into such a path looks it up with ``attached`` first.
    """
    return (
        isinstance(path, Path)
        and ".." not in path.parts
        and any(path.is_relative_to(home) for home in _homes())
    )


@cache
def _homes() -> tuple[Path, ...]:
    return Path(__file__).parents[2], folder("hardware_specs"), folder("validation")


def _unreadable(path: Path | str, error: Exception) -> InputError:
    return refusal("file.unreadable", reason=getattr(error, "strerror", None) or error).under(path)


def _check(path: Path | str, status: os.stat_result, most: int) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise refusal("file.folder").under(path)
    if not stat.S_ISREG(status.st_mode):
        raise refusal("file.device").under(path)
    if status.st_size > most:
        raise _too_large(path, status.st_size, most)


def _no_name(path: Path | str) -> InputError:
    return refusal("file.no_name", path=str(path))


def _too_large(path: Path | str, size: int, most: int) -> InputError:
    return refusal("file.too_large", size=size, most=most).under(path)


def read_bytes(path: Path | str, most: int) -> bytes:
    """Return the content of a file of at most ``most`` bytes.

    Raises
    ------
    InputError : as of ``opened``
    """
    with opened(path, most) as file:
        content = file.read(most + 1) or b""
    if len(content) > most:  # it grew, or is a file of /proc, which states no size
        raise _too_large(path, len(content), most)
    return content


def read_text(path: Path | str, most: int = LARGEST_TEXT) -> str:
    """Return the text of a file of at most ``most`` bytes, without a byte order mark.

    Raises
    ------
    InputError : as of ``opened``, or the content is not UTF-8
    """
    try:
        return read_bytes(path, most).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise refusal("file.not_utf8", start=error.start + 1).under(path) from None


def read_table(path: Path | str, most: int = LARGEST_TEXT, before: str | None = None) -> StringIO:
    """Return the text of a table, for ``csv.reader``.

    Parameters
    ----------
    before : first cell of the row that ends the table; by default the end of the file

    Raises
    ------
    InputError : as of ``read_text``, or more rows than ``MOST_ROWS``
    """
    text = read_text(path, most)
    if before is not None:
        text = text[: text.index(f"\n{before},") + 1]
    rows = text.count("\n")
    if rows > MOST_ROWS:
        raise refusal("file.too_long", rows=rows, most_rows=MOST_ROWS).under(path)
    return StringIO(text, newline="")


def read_toml(path: Path | str, most: int = LARGEST_OPTIONS) -> dict[str, Any]:
    """Return the tables of a TOML file.

    Raises
    ------
    InputError : as of ``read_text``, not TOML, or nested too deeply
    """
    return parse_toml(read_text(path, most), path)


def parse_toml(text: str, path: Path | str) -> dict[str, Any]:
    """Return the tables of a TOML text; errors name ``path``, the file it was read from.

    Raises
    ------
    InputError : not TOML, or nested too deeply
    """
    import tomllib

    # the standard library takes time with the square of a key's parts
    if any(line.count(".") > DEEPEST and re.search(_LONG_KEY, line) for line in text.splitlines()):
        raise refusal("file.not_toml", too_deep=_too_deep()).under(path)
    return _parsed(path, "TOML", tomllib.loads, text)  # type: ignore[no-any-return]


def read_json(
    path: Path | str, most: int, wanted: str = "", parse_constant: Callable[[str], Any] | None = None
) -> Any:
    """Return the value of a JSON file.

    Parameters
    ----------
    wanted : what the file should hold, for the message about a file that is not JSON
    parse_constant : as of ``json.loads``: called for NaN and infinities, may raise ValueError to refuse them

    Raises
    ------
    InputError : as of ``read_text``, not JSON, or nested too deeply
    """
    import json

    text = read_text(path, most)
    kind = f"JSON; expected {wanted}" if wanted else "JSON"
    return _parsed(path, kind, lambda text: json.loads(text, parse_constant=parse_constant), text)


def _parsed(path: Path | str, kind: str, parse: Callable[[str], Any], text: str) -> Any:
    try:
        value = parse(text)
    except RecursionError:
        raise refusal("file.malformed", kind=kind, too_deep=_too_deep()).under(path) from None
    except ValueError as error:  # also a number of more digits than Python reads
        raise refusal("file.malformed", kind=kind, too_deep=str(error)).under(path) from None
    layer = [value]
    for _ in range(DEEPEST):
        layer = [part for whole in layer for part in _parts(whole)]
        if not layer:
            return value
    raise refusal("file.malformed", kind=kind, too_deep=_too_deep()).under(path)


def _parts(value: Any) -> list[Any]:
    """Return the dicts and lists directly inside a value."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [part for part in inside if isinstance(part, (dict, list))]


def _too_deep() -> str:
    return f"nested more than {DEEPEST} deep"
