"""Spec of a decoder: software that turns stored images into samples, with its rates."""

from functools import cache
from typing import Annotated

from perfmodel.core.files.resources import folder
from perfmodel.core.records.record import Within
from perfmodel.hardware.catalogue.spec_file import load
from perfmodel.hardware.provenance import Provenance, Quantity, Source, Spec, Text

FILE = "decoders.toml"
"""Name of the file in ``hardware_specs``."""


class Decoder(Spec):
    """One decoder, on the processor, on the accelerator, or first on one and then on the other."""

    name: Text
    host_rate: Quantity | None = None
    """Samples that one processor core decodes [1/s]; None: processors decode nothing."""
    accelerator_rate: Quantity | None = None
    """Samples that one accelerator decodes [1/s]; None: accelerators decode nothing."""
    engine: bool = False
    """Whether the accelerator decodes in a dedicated engine, in parallel with training, not by its cores."""
    cores_rate: Quantity | None = None
    """Rate on accelerators without such an engine [1/s], in place of ``accelerator_rate``."""
    pool: bool = False
    """Whether all threads of a process decode one batch together, instead of a batch for each worker."""
    measured_on: str = ""
    """Family of the accelerators on which ``accelerator_rate`` was measured."""


class JpegEngines(Provenance):
    """Chips with a dedicated JPEG engine."""

    chips: Annotated[tuple[Text, ...], Within(strict=False)]


class DecoderFile(Spec):
    """The file of decoders: decoders by id, and the sources of their numbers."""

    decoder: dict[str, Decoder]
    jpeg_engines: JpegEngines
    sources: dict[str, Source]


@cache
def decoders() -> DecoderFile:
    """Return every known decoder."""
    return load(folder("hardware_specs") / FILE, DecoderFile)
