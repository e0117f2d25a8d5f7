"""Where a number comes from: the base every spec file is built on."""

from collections.abc import Iterator
from datetime import date
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

PositiveFloat = Annotated[float, Field(gt=0, allow_inf_nan=False)]
PositiveInt = Annotated[int, Field(ge=1)]
Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]
"""The name of a spec and of its file: letters, digits, dot, dash, underscore."""
Text = Annotated[str, StringConstraints(min_length=1)]


class Spec(BaseModel):
    """Base of spec models: frozen, strict, without unknown keys."""

    # The strings below the fields are for readers of the code: to make pydantic read them
    # (use_attribute_docstrings) costs 17 ms of each start, as much as all the rest of this module.
    # Nor are annotations strings in modules of models: pydantic would compile each of them at every start.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)


class Source(Spec):
    """A publication that numbers were read from."""

    title: Text
    url: str | None = Field(default=None, pattern=r"^https?://\S+$")
    read_on: date
    """The day a person last compared this file with the source."""
    note: str = ""


class Provenance(Spec):
    """Where one number, or a row of numbers taken together, comes from."""

    basis: Literal["datasheet", "measured", "derived", "assumed"]
    source: str | None = None
    """A key of the file's ``sources`` table; only an assumption may lack one."""
    note: str = ""

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
    aliases: tuple[Text, ...] = Field(default=(), strict=False)
    """What else people call it; case, spaces, underscores and hyphens do not matter."""
    family: str = ""
    """Things that share a name, such as ``v100``; empty for one that stands alone."""
    most_common: bool = False
    """Whether the name of the family means this one."""
    note: str = ""
    sources: dict[str, Source] = Field(default_factory=dict)
    accepted: tuple[str, ...] = Field(default=(), strict=False)
    """Findings of ``perfmodel specs check`` that a person has accepted, by their codes."""

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

    @model_validator(mode="after")
    def _sources_exist(self) -> Self:
        for _, number in self.statements():
            if number.source in self.sources or (number.source is None and number.basis == "assumed"):
                continue
            known = f"; the file has {', '.join(self.sources)}" if number.source and self.sources else ""
            raise ValueError(f"{self.id}: {number} is {number.basis} but names no known source{known}")
        return self
