"""What may stand in the file of data sets: checked by a test, as the file comes with the package."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from perfmodel.specs.provenance import Quantity, Source, Spec, Text


class DataSetEntry(Spec):
    """One data set, each number with where it comes from."""

    name: Text
    aliases: tuple[Text, ...] = Field(default=(), strict=False)
    sample: Literal["image", "sequence"]
    encoded: bool = False
    samples: Quantity | None = None
    tokens: Quantity | None = None
    bytes: Quantity | None = None


class DataSetFile(Spec):
    """Every data set known, by its id, and the publications their numbers were read from."""

    data: dict[str, DataSetEntry]
    sources: dict[str, Source]
