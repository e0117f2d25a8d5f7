"""Files that came with a request: while it is answered, names of files mean these, and never the machine's.

The HTTP service answers strangers.  Whatever option of a request names a file, the name is looked up in what
the request brought along, and nothing else is opened but the data that comes with the package.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType
from typing import TypedDict

from perfmodel.core.errors import refusal

_FILES: ContextVar[Mapping[str, bytes] | None] = ContextVar("attachments", default=None)
_MADE: ContextVar[Mapping[str, bytes]] = ContextVar("made", default=MappingProxyType({}))


@contextmanager
def only_attached(files: Mapping[str, bytes]) -> Iterator[None]:
    """Let names of files mean these alone, in this thread and task.

    Parameters
    ----------
    files : what each file holds, by its name

    >>> with only_attached({"times.txt": b"1 2"}):
    ...     attached("times.txt")
    b'1 2'
    """
    token = _FILES.set(files)
    try:
        yield
    finally:
        _FILES.reset(token)


@contextmanager
def made(files: Mapping[str, bytes]) -> Iterator[None]:
    """Let names mean files that the program itself makes, besides those of the request or the machine.

    Parameters
    ----------
    files : what each holds, by a name that nobody gives a file

    >>> with only_attached({}), made({"<made>": b"1 2"}):
    ...     attached("<made>")
    b'1 2'
    """
    token = _MADE.set({**_MADE.get(), **files})
    try:
        yield
    finally:
        _MADE.reset(token)


def is_request() -> bool:
    """Whether a request is answered, whose files are its own."""
    return _FILES.get() is not None


def attached(path: Path | str) -> bytes | None:
    """Return what a file of the request, or of the program's own making, holds; None of one of the machine.

    Raises
    ------
    InputError : the request brought no such file
    """
    if (own := _MADE.get().get(str(path))) is not None:
        return own
    files = _FILES.get()
    if files is None:
        return None
    content = files.get(str(path))
    if content is None:
        raise refusal("file.not_attached", path=path, given=str(path))
    return content


class Encoded(TypedDict):
    """A file that is no text, as JSON has it."""

    base64: str


Content = str | Encoded
"""What a file holds, as a request has it: its text, or ``{"base64": ...}``."""


def sent_content(content: bytes) -> Content:
    """Return what a request has of a file.

    >>> sent_content(b"1 2"), sent_content(b"\\xff")
    ('1 2', {'base64': '/w=='})
    """
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        from base64 import b64encode

        return {"base64": b64encode(content).decode("ascii")}


def content_of(sent: object) -> bytes | None:
    """Return what a file holds that a request has; None of what is none.

    >>> content_of("1 2"), content_of({"base64": "/w=="}), content_of(7)
    (b'1 2', b'\\xff', None)
    """
    if isinstance(sent, str):
        return sent.encode("utf-8", "surrogatepass")
    if isinstance(sent, dict) and sent.keys() == {"base64"} and isinstance(sent["base64"], str):
        from base64 import b64decode

        try:
            return b64decode(sent["base64"], validate=True)
        except ValueError:
            return None
    return None
