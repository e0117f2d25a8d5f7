"""Entity tags of answers, and whether the client of a request has the answer already."""

from __future__ import annotations

from functools import cache
from hashlib import sha256

from perfmodel.decide.sweeps.manifest import package_sha256


@cache
def package_digest() -> str:
    """Return the SHA-256 of code and data at the first call, when the service starts."""
    return package_sha256("validation")


def entity_tag(name: str, body: bytes) -> str:
    """Return the tag of an answer, which depends on code, data, command and body only."""
    whole = sha256(f"{package_digest()} {name} ".encode())
    whole.update(body)
    return f'"{whole.hexdigest()[:32]}"'


def names(header: str, tag: str, any_tag: bool = False) -> bool:
    """Return whether If-None-Match names a tag; with ``any_tag`` a star matches too.

    >>> names('"a", W/"b"', '"b"'), names('"abc"', '"b"'), names("*", '"b"'), names("*", '"b"', any_tag=True)
    (True, False, False, True)
    """
    given = {each.strip().removeprefix("W/") for each in header.split(",")}
    return tag in given or (any_tag and "*" in given)
