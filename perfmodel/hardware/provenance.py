"""Where a number comes from: the base every spec file is built on."""

from collections.abc import Iterator
from datetime import date
from typing import Annotated, Literal

from perfmodel.core.records.record import Record, Within, fresh

PositiveFloat = Annotated[float, Within(gt=0, allow_inf_nan=False)]
PositiveInt = Annotated[int, Within(ge=1)]
Id = Annotated[str, Within(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]
"""The name of a spec and of its file: letters, digits, dot, dash, underscore."""
Text = Annotated[str, Within(min_length=1)]


class Spec(Record):
    """Base of what the files of ``hardware_specs`` hold: each value of the declared type, no unknown keys."""

    strict = True


class Source(Spec):
    """A publication that numbers were read from."""

    title: Text
    """Of the page or paper."""
    url: Annotated[str, Within(pattern=r"^https?://\S+$")] | None = None
    """Where it can be read."""
    read_on: date
    """The day a person last compared this file with the source."""
    note: str = ""
    """What of it was used, or doubted."""


class Provenance(Spec):
    """Where one number, or a row of numbers taken together, comes from."""

    basis: Literal["datasheet", "documented", "measured", "derived", "assumed"]
    """Whether its maker says it, its manual or its code, somebody measured it, it follows from others, or
    nobody knows."""
    source: str | None = None
    """A key of the file's ``sources`` table; only an assumption may lack one."""
    note: str = ""
    """What is worth knowing beside the number."""

    def __str__(self) -> str:
        return "a number"


class Quantity(Provenance):
    """A number with where it comes from."""

    value: PositiveFloat
    """In SI units: FLOP/s, B/s, B, s, Hz, W."""

    def __str__(self) -> str:
        return f"{self.value:.4g}"


class SourcedSpec(Spec):
    """A spec that has a file of its own, with a table of the sources its numbers name."""

    id: Id
    """The name of the file, without ``.toml``."""
    name: Text
    """As its maker writes it."""
    aliases: Annotated[tuple[Text, ...], Within(strict=False)] = ()
    """What else people call it; case, spaces, underscores and hyphens do not matter."""
    family: str = ""
    """Things that share a name, such as ``v100``; empty for one that stands alone."""
    most_common: bool = False
    """Whether the name of the family means this one."""
    note: str = ""
    """What is worth knowing beside the numbers."""
    sources: dict[str, Source] = fresh(dict)
    """Who says the numbers, by the keys that they name."""
    accepted: Annotated[tuple[str, ...], Within(strict=False)] = ()
    """Findings of ``perfmodel specs check`` that a person has accepted, by their codes."""

    def to_json(self) -> str:
        """Return what ``perfmodel specs show --json`` prints."""
        return self.model_dump_json(exclude_defaults=True)

    def statements(self) -> Iterator[tuple[str, Provenance]]:
        """Everything of the file that carries its provenance, by key (``peak_flops.fp16``)."""
        for field in type(self).model_fields:
            value = getattr(self, field)
            if isinstance(value, Provenance):
                yield field, value
            elif isinstance(value, dict):
                for key, item in value.items():
                    if isinstance(item, Provenance):
                        yield f"{field}.{key}", item

    def check_together(self) -> None:
        """Refuse a number whose source the file does not list."""
        for _, number in self.statements():
            if number.source in self.sources or (number.source is None and number.basis == "assumed"):
                continue
            known = f"; the file has {', '.join(self.sources)}" if number.source and self.sources else ""
            raise ValueError(f"{self.id}: {number} is {number.basis} but names no known source{known}")
