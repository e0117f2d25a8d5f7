"""Spec of storage: how fast one host reads samples from it."""

import math
from functools import cache
from typing import Annotated

from perfmodel.core.errors import unknown_name
from perfmodel.core.files.resources import folder
from perfmodel.core.records.names import Named, meaning
from perfmodel.core.records.record import Within
from perfmodel.hardware.catalogue.spec_file import load
from perfmodel.hardware.provenance import Quantity, Source, Spec, Text


class StorageFile(Spec):
    """The file of storage types; its tables are by the id of a type."""

    called: dict[str, Annotated[tuple[Text, ...], Within(strict=False)]]
    """Other names of each type."""
    bandwidth: dict[str, Quantity]
    """Bandwidth of one host that reads in large blocks [B/s]."""
    requests: dict[str, Quantity]
    """Single files that one host can open and read [1/s]; memory has no such limit."""
    sources: dict[str, Source]


@cache
def storages() -> StorageFile:
    """Return every known type of storage."""
    return load(folder("hardware_specs") / "storage.toml", StorageFile)


def storage_id(name: str) -> str:
    """Return the id of the storage type that a name means.

    Raises
    ------
    InputError : an unknown name, or one that fits several types

    >>> storage_id("NVMe"), storage_id("gp3")
    ('local-ssd', 'ebs-gp3')
    """
    known = storages()
    if name in known.bandwidth:
        return name
    meant = meaning("storage", name, (Named(id, known.called.get(id, ())) for id in known.bandwidth))
    if meant is None:
        raise unknown_name("storage", name, known.bandwidth)
    return meant.id


def storage(name: str) -> float:
    """Return the bandwidth of a storage type [B/s]; errors as of ``storage_id``."""
    return storages().bandwidth[storage_id(name)].value


def storage_requests(name: str) -> float:
    """Return the single files that one host can read from a storage type [1/s]; infinite for memory."""
    known = storages().requests.get(storage_id(name))
    return math.inf if known is None else known.value
