"""Specs of cloud offers, nodes for hire with the region and date of their price, and of regions."""

from datetime import date
from typing import Annotated

from perfmodel.core.records.record import Within
from perfmodel.hardware.provenance import Id, PositiveFloat, Source, Spec, Text


class Instance(Spec):
    """One offer in one region; unknown prices are absent, never guessed."""

    provider: Text
    """Who rents it out."""
    instance: Text
    """As the provider names it."""
    node: Id
    """Id of the machine that it is."""
    price_usd_per_hour: PositiveFloat | None = None
    """On demand, the whole machine."""
    region: str | None = None
    """Where the price holds, in the provider's words."""
    price_date: date | None = None
    """The day the price was published, or was read where the source dates it no closer."""
    source: str | None = None
    """A key of the file's ``sources`` table."""
    note: str = ""
    """What is worth knowing beside the price."""

    def check_together(self) -> None:
        """Refuse a price without region, date and source."""
        if self.price_usd_per_hour is not None and not (self.region and self.price_date and self.source):
            raise ValueError(f"{self.instance}: a price needs region, price_date and source")


class Region(Spec):
    """The electricity of one region of one provider."""

    provider: Text
    """Whose region it is."""
    region: Text
    """As the provider names it."""
    carbon_intensity: PositiveFloat
    """Of the grid it lies in, mean of a year [g CO2/kWh]."""
    year: Annotated[int, Within(ge=1990, le=2100)]
    """Of the carbon intensity."""
    source: Text
    """A key of the file's ``sources`` table."""
    note: str = ""
    """What is worth knowing beside it."""


class InstanceFile(Spec):
    """The whole of ``instances.toml``."""

    instances: Annotated[tuple[Instance, ...], Within(strict=False)]
    regions: Annotated[tuple[Region, ...], Within(strict=False)] = ()
    sources: dict[str, Source]

    def check_together(self) -> None:
        """Refuse an offer whose source the file does not list."""
        for offer in self.instances:
            if offer.source is not None and offer.source not in self.sources:
                raise ValueError(f"{offer.instance}: source {offer.source!r} is not in the sources table")
        for region in self.regions:
            if region.source not in self.sources:
                raise ValueError(f"{region.region}: source {region.source!r} is not in the sources table")
