"""Spec of a decoder: what turns stored images into samples, and how fast."""

from functools import cache
from typing import Annotated

from perfmodel.core.files.resources import folder
from perfmodel.core.records.record import Within
from perfmodel.hardware.catalogue.spec_file import load
from perfmodel.hardware.provenance import Provenance, Quantity, Source, Spec, Text

FILE = "decoders.toml"
"""In ``hardware_specs``."""


class Decoder(Spec):
    """One decoder, on the processor, on the accelerator, or first on one and then on the other."""

    name: Text
    host_rate: Quantity | None = None
    """Samples that one core of the processor decodes [1/s]; None where it decodes nothing."""
    accelerator_rate: Quantity | None = None
    """Samples that one accelerator decodes [1/s]; None where it decodes nothing."""
    engine: bool = False
    """Whether the accelerator decodes beside its training, in an engine made for it, not by its cores."""
    cores_rate: Quantity | None = None
    """In place of ``accelerator_rate`` on accelerators without such an engine [1/s]."""
    pool: bool = False
    """Whether all threads of a process make a batch together, not each worker one of its own."""
    measured_on: str = ""
    """The family of accelerators that ``accelerator_rate`` is of."""


class JpegEngines(Provenance):
    """The chips that have an engine made for JPEG."""

    chips: Annotated[tuple[Text, ...], Within(strict=False)]


class DecoderFile(Spec):
    """Every decoder known, by its id, and what their numbers were read from."""

    decoder: dict[str, Decoder]
    jpeg_engines: JpegEngines
    sources: dict[str, Source]


@cache
def decoders() -> DecoderFile:
    """Every decoder known."""
    return load(folder("hardware_specs") / FILE, DecoderFile)
