"""Spec of a data set: number and stored size of its samples."""

from functools import cache
from typing import Annotated, Any, Literal

from perfmodel.core.errors import unknown_name
from perfmodel.core.files.reading import read_toml
from perfmodel.core.files.resources import folder
from perfmodel.core.records.names import word_of
from perfmodel.core.records.record import Within
from perfmodel.hardware.catalogue.spec_file import built
from perfmodel.hardware.provenance import Quantity, Source, Spec, Text

FILE = "datasets.toml"
"""In ``hardware_specs``."""


class DataSet(Spec):
    """A training set, each number with where it comes from; of sequences, those that its text is cut into."""

    name: Text
    aliases: Annotated[tuple[Text, ...], Within(strict=False)] = ()
    sample: Literal["image", "sequence"]
    encoded: bool = False
    """Whether a loader worker must decode each sample."""
    objects: bool = False
    """Whether objects are marked in its images, as detection and segmentation need."""
    height: Quantity | None = None
    width: Quantity | None = None
    """Of its images [pixels]; None where they are of many sizes."""
    samples: Quantity | None = None
    tokens: Quantity | None = None
    """Of text that is cut into sequences of any length."""
    bytes: Quantity | None = None
    """Of all samples as they are stored [B]; token numbers take what the network reads of them."""
    files: Quantity | None = None
    """That the samples lie in; None where they are few large ones."""

    def size(self, sequence_length: int | None) -> int | None:
        """Return how many samples there are, each of so many tokens."""
        if self.samples is not None:
            return int(self.samples.value)
        if self.tokens is None or sequence_length is None:
            return None
        return max(1, int(self.tokens.value // sequence_length))

    @property
    def image_size(self) -> tuple[int, int] | None:
        """Height and width of every image; None where they are of many sizes."""
        if self.height is None or self.width is None:
            return None
        return int(self.height.value), int(self.width.value)

    @property
    def file_bytes(self) -> float | None:
        """Mean size of one file [B]; None where nobody says how many there are."""
        return None if self.bytes is None or self.files is None else self.bytes.value / self.files.value

    @property
    def has_files_of_one_sample(self) -> bool:
        """Whether each sample takes a read of its own."""
        return self.files is not None and self.samples is not None and self.files.value >= self.samples.value

    @property
    def sample_bytes(self) -> float | None:
        """Mean size of one stored sample [B]; None for token numbers."""
        return None if self.bytes is None or self.samples is None else self.bytes.value / self.samples.value


class DataSetFile(Spec):
    """Every data set known, by its id, and the publications their numbers were read from.

    The tests hold the file to it; of what it holds only the sets that are asked for are built.
    """

    data: dict[str, DataSet]
    sources: dict[str, Source]


@cache
def _tables() -> dict[str, Any]:
    tables: dict[str, Any] = read_toml(folder("hardware_specs") / FILE)["data"]
    return tables


@cache
def _built(id: str) -> DataSet:
    return built(_tables()[id], DataSet)


def data_sets() -> dict[str, DataSet]:
    """Every data set known, by its id."""
    return {id: _built(id) for id in _tables()}


def data_set(name: str) -> DataSet:
    """Return a data set; an unknown name is an InputError."""
    if name in _tables():
        return _built(name)
    known = data_sets()
    synonyms = {alias: key for key, one in known.items() for alias in (*one.aliases, one.name)}
    meant = word_of(name, known, synonyms)
    if meant not in known:
        raise unknown_name("data set", name, known)
    return known[meant]
