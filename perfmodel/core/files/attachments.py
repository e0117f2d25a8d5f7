"""Files attached to a request: while the service answers it, file names refer to these and not to its disk.

The HTTP service answers strangers.  Any option that names a file is looked up among the attachments, and
nothing else is opened except the data of the package itself.
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
    """Make file names refer only to the given files inside the ``with`` block, in this thread and task.

    Parameters
    ----------
    files : content of each file by its name

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
    """Add files that exist only in memory to those that names refer to, inside the ``with`` block.

    Parameters
    ----------
    files : content of each file by a name that no real file has, such as ``<made>``

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
    """Whether a request with attachments of its own is being answered."""
    return _FILES.get() is not None


def attached(path: Path | str) -> bytes | None:
    """Return the content of an attached or in-memory file; None if the name refers to a file on the disk.

    Raises
    ------
    InputError : a request is being answered and has no such attachment
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
    """The content of a binary file in JSON."""

    base64: str


Content = str | Encoded
"""The content of a file in a request: its text, or ``{"base64": ...}``."""


def sent_content(content: bytes) -> Content:
    """Return the content of a file in the form that a request sends.

    >>> sent_content(b"1 2"), sent_content(b"\\xff")
    ('1 2', {'base64': '/w=='})
    """
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        from base64 import b64encode

        return {"base64": b64encode(content).decode("ascii")}


def content_of(sent: object) -> bytes | None:
    """Return the bytes of a file from the form that a request sends; None of any other value.

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
