"""What a data set is: how many samples it has, and what one takes in storage."""

from __future__ import annotations

import tomllib
from functools import cache
from typing import Any, NamedTuple

from perfmodel.errors import unknown_name
from perfmodel.resources import folder
from perfmodel.specs.names import word_of

FILE = "datasets.toml"
"""In ``hardware_specs``; what may stand in it, ``dataset_file.py`` says and a test checks."""


class DataSet(NamedTuple):
    """A training set; of sequences, those that its text is cut into."""

    name: str
    aliases: tuple[str, ...]
    sample: str
    """``image`` or ``sequence``."""
    encoded: bool
    """Whether a loader worker must decode each sample."""
    samples: float | None
    tokens: float | None
    """Of text that is cut into sequences of any length."""
    bytes: float | None
    """Of all samples as they are stored [B]; token numbers take what the network reads of them."""

    def size(self, sequence_length: int | None) -> int | None:
        """Return how many samples there are, each of so many tokens."""
        if self.samples is not None:
            return int(self.samples)
        if self.tokens is None or sequence_length is None:
            return None
        return max(1, int(self.tokens // sequence_length))

    @property
    def sample_bytes(self) -> float | None:
        """Mean size of one stored sample [B]; None for token numbers."""
        return None if self.bytes is None or self.samples is None else self.bytes / self.samples


@cache
def data_sets() -> dict[str, DataSet]:
    """Every data set known, by its id."""
    table = tomllib.loads((folder("hardware_specs") / FILE).read_text("utf-8"))["data"]
    return {key: _read(one) for key, one in table.items()}


def _read(one: dict[str, Any]) -> DataSet:
    numbers = (one[name]["value"] if name in one else None for name in ("samples", "tokens", "bytes"))
    return DataSet(
        one["name"], tuple(one.get("aliases", ())), one["sample"], one.get("encoded", False), *numbers
    )


def data_set(name: str) -> DataSet:
    """Return a data set; an unknown name is an InputError."""
    known = data_sets()
    synonyms = {alias: key for key, one in known.items() for alias in (*one.aliases, one.name)}
    meant = word_of(name, known, synonyms)
    if meant not in known:
        raise unknown_name("data set", name, known)
    return known[meant]
