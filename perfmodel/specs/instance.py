"""Spec of a cloud offer: a node for hire, with the region and date of its price."""

from __future__ import annotations

from datetime import date
from typing import Self

from pydantic import Field, model_validator

from perfmodel.specs.provenance import Id, PositiveFloat, Source, Spec, Text


class Instance(Spec):
    """One offer in one region; unknown prices are absent, never guessed."""

    provider: Text
    instance: Text
    """As the provider names it."""
    node: Id
    price_usd_per_hour: PositiveFloat | None = None
    """On demand, the whole machine."""
    region: str | None = None
    price_date: date | None = None
    """The day the price was published, or was read where the source dates it no closer."""
    source: str | None = None
    """A key of the file's ``sources`` table."""
    note: str = ""

    @model_validator(mode="after")
    def _price_has_region_and_date(self) -> Self:
        if self.price_usd_per_hour is not None and not (self.region and self.price_date and self.source):
            raise ValueError(f"{self.instance}: a price needs region, price_date and source")
        return self


class InstanceFile(Spec):
    """The whole of ``instances.toml``."""

    instances: tuple[Instance, ...] = Field(strict=False)
    sources: dict[str, Source]

    @model_validator(mode="after")
    def _sources_exist(self) -> Self:
        for offer in self.instances:
            if offer.source is not None and offer.source not in self.sources:
                raise ValueError(f"{offer.instance}: source {offer.source!r} is not in the sources table")
        return self
