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
"""Name of the file in ``hardware_specs``."""


class DataSet(Spec):
    """A training set of images or token sequences, each number with its source."""

    name: Text
    aliases: Annotated[tuple[Text, ...], Within(strict=False)] = ()
    sample: Literal["image", "sequence"]
    encoded: bool = False
    """Whether a loader worker must decode each sample."""
    objects: bool = False
    """Whether objects are marked in its images, as detection and segmentation need."""
    height: Quantity | None = None
    width: Quantity | None = None
    """Width of its images [pixels]; height and width are None where images differ in size."""
    samples: Quantity | None = None
    """Number of samples [1]; None of a text, which has ``tokens``."""
    tokens: Quantity | None = None
    """Tokens of a text [1], which is cut into sequences of any length."""
    bytes: Quantity | None = None
    """Size of all samples in storage [B]; None of token numbers, whose size follows from the network."""
    files: Quantity | None = None
    """Number of files that store the samples [1]; None: a few large files."""

    def size(self, sequence_length: int | None) -> int | None:
        """Return the number of samples, of text those of ``sequence_length`` tokens; None if unknown."""
        if self.samples is not None:
            return int(self.samples.value)
        if self.tokens is None or sequence_length is None:
            return None
        return max(1, int(self.tokens.value // sequence_length))

    @property
    def image_size(self) -> tuple[int, int] | None:
        """Height and width of every image [pixels]; None where images differ in size."""
        if self.height is None or self.width is None:
            return None
        return int(self.height.value), int(self.width.value)

    @property
    def file_bytes(self) -> float | None:
        """Mean size of one file [B]; None where the number of files is unknown."""
        return None if self.bytes is None or self.files is None else self.bytes.value / self.files.value

    @property
    def has_files_of_one_sample(self) -> bool:
        """Whether each sample is a file of its own, so that it takes a read request."""
        return self.files is not None and self.samples is not None and self.files.value >= self.samples.value

    @property
    def sample_bytes(self) -> float | None:
        """Mean size of one stored sample [B]; None for token numbers."""
        return None if self.bytes is None or self.samples is None else self.bytes.value / self.samples.value


class DataSetFile(Spec):
    """The file of data sets: data sets by id, and the sources of their numbers.

    Tests check the file by this class; programs build only the data sets that they read.
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
    """Return every known data set by its id."""
    return {id: _built(id) for id in _tables()}


def data_set(name: str) -> DataSet:
    """Return a data set by its id, name or alias; an unknown name raises InputError."""
    if name in _tables():
        return _built(name)
    known = data_sets()
    synonyms = {alias: key for key, one in known.items() for alias in (*one.aliases, one.name)}
    meant = word_of(name, known, synonyms)
    if meant not in known:
        raise unknown_name("data set", name, known)
    return known[meant]
