"""What storage is: where samples lie, and how fast one host reads them."""

from __future__ import annotations

from functools import cache

from perfmodel.errors import unknown_name
from perfmodel.resources import folder
from perfmodel.specs.provenance import Quantity, Source, Spec
from perfmodel.specs.spec_file import load


class StorageFile(Spec):
    """Every kind of storage, by name."""

    bandwidth: dict[str, Quantity]
    """Of one host reading in large blocks [B/s]."""
    sources: dict[str, Source]


@cache
def storages() -> StorageFile:
    """Every kind of storage known."""
    return load(folder("hardware_specs") / "storage.toml", StorageFile)


def storage(name: str) -> float:
    """Return the bandwidth [B/s] of one kind of storage; an unknown name is an InputError."""
    known = storages().bandwidth
    if name not in known:
        raise unknown_name("storage", name, known)
    return known[name].value
