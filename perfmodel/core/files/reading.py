"""Read the files that a user names: regular ones alone, of a bounded size, as text in UTF-8."""

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
"""Bytes of a table or a list of times."""
LARGEST_OPTIONS = 256 << 10
"""Bytes of a file that somebody writes by hand: a scenario, a spec, a quote, a profile."""
MOST_ROWS = 200_000
"""Of a table of measurements, which are all held at once: two hundred times what is published."""
DEEPEST = 64
"""Tables within tables; no file of ours has more than five."""
_PART = r"(?:[\w-]{1,99}+|\"(?:[^\"\\]|\\.){0,99}+\"|'[^']{0,99}+')"
_LONG_KEY = rf"(?<![\w-])(?:{_PART}\s{{0,99}}+\.\s{{0,99}}+){{{DEEPEST}}}"
"""Bounded, so that looking for it takes time with the length of a line."""


@contextmanager
def opened(path: Path | str, most: int) -> Iterator[BinaryIO]:
    """Open a file of at most ``most`` bytes for reading; of a request, one that came with it.

    Raises
    ------
    InputError : no such file, no regular file (a folder, device, pipe or socket), a larger one, or one that
        fails while it is read
    """
    if not str(path).strip():
        raise _no_name(path)
    content = None if is_request() and _comes_along(path) else attached(path)
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
    """Return what changes with the content of a file, for who keeps what was read, and its size in bytes.

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


def _comes_along(path: Path | str) -> bool:
    """Whether a file comes with the package, which names it by a whole ``Path``.

    A user's name that becomes such a path is asked for by ``attached`` where it does.
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
    """Return what a file holds.

    Raises
    ------
    InputError : as of ``opened``
    """
    with opened(path, most) as file:
        content = file.read(most + 1) or b""
    if len(content) > most:  # it grew, or is one of the system's own, which have no size
        raise _too_large(path, len(content), most)
    return content


def read_text(path: Path | str, most: int = LARGEST_TEXT) -> str:
    """Return the text of a file, without the mark that may stand before UTF-8.

    Raises
    ------
    InputError : as of ``opened``, or what it holds is not UTF-8
    """
    try:
        return read_bytes(path, most).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise refusal("file.not_utf8", start=error.start + 1).under(path) from None


def read_table(path: Path | str, most: int = LARGEST_TEXT, before: str | None = None) -> StringIO:
    """Return the text of a table, for ``csv.reader``.

    Parameters
    ----------
    before : first cell of the row where the table ends; None, it ends with the file

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
    """Return the tables of TOML that was read from ``path``.

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
    wanted : what the file should be, for the message about one that is no JSON
    parse_constant : as of ``json.loads``: called for NaN and infinities, may refuse them by a ValueError

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
    """What of a value holds other values."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [part for part in inside if isinstance(part, (dict, list))]


def _too_deep() -> str:
    return f"nested more than {DEEPEST} deep"
