"""Entity tags: of what an answer is made, and whether a request has it already."""

from __future__ import annotations

from hashlib import sha256

import perfmodel


def entity_tag(name: str, body: bytes) -> str:
    """Return the tag of an answer, which hangs on nothing but the version, the command and the body."""
    whole = sha256(f"{perfmodel.__version__} {name} ".encode())
    whole.update(body)
    return f'"{whole.hexdigest()[:32]}"'


def names(header: str, tag: str, whatever: bool = False) -> bool:
    """Whether If-None-Match names a tag; ``whatever``: by a star too, which is of what is there in any case.

    >>> names('"a", W/"b"', '"b"'), names('"abc"', '"b"'), names("*", '"b"'), names("*", '"b"', whatever=True)
    (True, False, False, True)
    """
    given = {each.strip().removeprefix("W/") for each in header.split(",")}
    return tag in given or (whatever and "*" in given)
