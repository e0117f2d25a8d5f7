"""Provenance of numbers, and base classes of all spec files."""

from collections.abc import Iterator
from datetime import date
from typing import TYPE_CHECKING, Annotated, Literal

from perfmodel.core.records.record import Record, Within, fresh

PositiveFloat = Annotated[float, Within(gt=0, allow_inf_nan=False)]
PositiveInt = Annotated[int, Within(ge=1)]
Id = Annotated[str, Within(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]
"""The name of a spec and of its file: letters, digits, dot, dash, underscore."""
Text = Annotated[str, Within(min_length=1)]


class Spec(Record):
    """Base of the classes of ``hardware_specs``: values must be of the declared type, keys must be known."""

    strict = True


class Source(Spec):
    """A publication that numbers were read from."""

    title: Text
    """Title of the page or paper."""
    url: Annotated[str, Within(pattern=r"^https?://\S+$")] | None = None
    """Its address."""
    read_on: date
    """The day a person last compared this file with the source."""
    note: str = ""
    """Comment on which part was used, or is doubtful."""


class Provenance(Spec):
    """Basis and source of one number, or of several numbers taken together."""

    basis: Literal["datasheet", "announced", "documented", "measured", "derived", "assumed"]
    """Stated by the manufacturer (datasheet), also of hardware that is not sold yet (announced), or by a
    manual or code (documented), measured, derived from other numbers, or assumed."""
    source: str | None = None
    """A key of the file's ``sources`` table; only an assumption may lack one."""
    note: str = ""
    """Comment on the number."""

    def __str__(self) -> str:
        return "a number"


class Quantity(Provenance):
    """A number with its provenance."""

    value: PositiveFloat
    """In SI units: FLOP/s, B/s, B, s, Hz, W."""

    def __str__(self) -> str:
        return f"{self.value:.4g}"


ANNOUNCED = "announced"
"""Basis of numbers of hardware that is not sold yet."""


class SourcedSpec(Spec):
    """A spec that has a file of its own, with a table of the sources of its numbers."""

    __slots__ = ("_announced",)
    if TYPE_CHECKING:
        _announced: tuple[str, ...]

    id: Id
    """The name of the file, without ``.toml``."""
    name: Text
    """The manufacturer's name of it."""
    aliases: Annotated[tuple[Text, ...], Within(strict=False)] = ()
    """Other names; case, spaces, underscores and hyphens do not count."""
    family: str = ""
    """Name that several specs share, such as ``v100``; empty for one without a family."""
    most_common: bool = False
    """Whether the name of the family means this one."""
    note: str = ""
    """Comment on the whole spec."""
    sources: dict[str, Source] = fresh(dict)
    """Sources by the keys that numbers refer to."""
    accepted: Annotated[tuple[str, ...], Within(strict=False)] = ()
    """Findings of ``perfmodel specs check`` that a person has accepted, by their codes."""

    def to_json(self) -> str:
        """Return what ``perfmodel specs show --json`` prints."""
        return self.model_dump_json(exclude_defaults=True)

    def statements(self) -> Iterator[tuple[str, Provenance]]:
        """Yield (key, statement) of everything with a provenance; a key is such as ``peak_flops.fp16``."""
        for field in type(self).model_fields:
            value = getattr(self, field)
            if isinstance(value, Provenance):
                yield field, value
            elif isinstance(value, dict):
                for key, item in value.items():
                    if isinstance(item, Provenance):
                        yield f"{field}.{key}", item

    @property
    def announced(self) -> tuple[str, ...]:
        """The fields with numbers that the maker has only announced; found once for each spec."""
        try:
            return self._announced
        except AttributeError:
            keys = [key.partition(".")[0] for key, number in self.statements() if number.basis == ANNOUNCED]
            object.__setattr__(self, "_announced", tuple(dict.fromkeys(keys)))
            return self._announced

    def check_together(self) -> None:
        """Raise ValueError for a number whose source the file does not list."""
        for _, number in self.statements():
            if number.source in self.sources or (number.source is None and number.basis == "assumed"):
                continue
            known = f"; the file has {', '.join(self.sources)}" if number.source and self.sources else ""
            raise ValueError(f"{self.id}: {number} is {number.basis} but names no known source{known}")
