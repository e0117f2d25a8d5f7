"""Files that came with a request: while it is answered, names of files mean these, and never the machine's.

The HTTP service answers strangers.  Whatever option of a request names a file, the name is looked up in what
the request brought along, and nothing else is opened but the data that comes with the package.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from perfmodel.errors import InputError

_FILES: ContextVar[Mapping[str, bytes] | None] = ContextVar("attachments", default=None)


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


def is_request() -> bool:
    """Whether a request is answered, whose files are its own."""
    return _FILES.get() is not None


def attached(path: Path | str) -> bytes | None:
    """Return what the file of a request holds; None where no request is answered.

    Raises
    ------
    InputError : the request brought no such file
    """
    files = _FILES.get()
    if files is None:
        return None
    content = files.get(str(path))
    if content is None:
        raise InputError(
            f"{path!s:.99}: no file of this request, and files of the server are not read; send what it "
            "holds under files, by this name"
        )
    return content
