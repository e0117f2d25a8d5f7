"""Specs of cloud offers (rented nodes with price, region and date) and of cloud regions."""

from datetime import date
from typing import Annotated

from perfmodel.core.records.record import Within
from perfmodel.hardware.provenance import Id, PositiveFloat, Source, Spec, Text


class Instance(Spec):
    """One offer of a provider in one region; an unknown price is None, never guessed."""

    provider: Text
    """Company that rents it out."""
    instance: Text
    """The provider's name of the offer."""
    node: Id
    """Id of the node's spec."""
    price_usd_per_hour: PositiveFloat | None = None
    """On-demand price of the whole machine [USD/h]."""
    region: str | None = None
    """The provider's name of the region where the price holds."""
    price_date: date | None = None
    """The day the price was published, or was read where the source dates it no closer."""
    source: str | None = None
    """A key of the file's ``sources`` table."""
    note: str = ""
    """Comment on the price."""

    def check_together(self) -> None:
        """Raise ValueError for a price without region, date and source."""
        if self.price_usd_per_hour is not None and not (self.region and self.price_date and self.source):
            raise ValueError(f"{self.instance}: a price needs region, price_date and source")


class Region(Spec):
    """Carbon intensity of the electricity in one cloud region."""

    provider: Text
    """Provider of the region."""
    region: Text
    """The provider's name of the region."""
    carbon_intensity: PositiveFloat
    """Mean over a year of the region's grid [g CO2/kWh]."""
    year: Annotated[int, Within(ge=1990, le=2100)]
    """Year of the carbon intensity."""
    source: Text
    """A key of the file's ``sources`` table."""
    note: str = ""
    """Comment on the carbon intensity."""


class InstanceFile(Spec):
    """The file ``instances.toml``: offers, regions and their sources."""

    instances: Annotated[tuple[Instance, ...], Within(strict=False)]
    regions: Annotated[tuple[Region, ...], Within(strict=False)] = ()
    sources: dict[str, Source]

    def check_together(self) -> None:
        """Raise ValueError for an offer or region whose source the file does not list."""
        for offer in self.instances:
            if offer.source is not None and offer.source not in self.sources:
                raise ValueError(f"{offer.instance}: source {offer.source!r} is not in the sources table")
        for region in self.regions:
            if region.source not in self.sources:
                raise ValueError(f"{region.region}: source {region.source!r} is not in the sources table")
