"""Specs of cloud offers (rented nodes with price, region and date) and of cloud regions."""

from datetime import date
from typing import Annotated

from perfmodel.core.choices import RentKind
from perfmodel.core.records.record import Within
from perfmodel.hardware.provenance import Id, PositiveFloat, Source, Spec, Text


class OfferPrice(Spec):
    """What an offer costs at one kind of price, in one region."""

    kind: RentKind
    """On demand, spot, or reserved for one or three years."""
    usd_per_hour: PositiveFloat
    """Of the whole machine [USD/h]; of a reserved one for every hour of the term."""
    region: Text
    """The provider's name of the region where the price holds."""
    price_date: date
    """The day the price was published, or was read where the source dates it no closer."""
    source: Text
    """A key of the file's ``sources`` table."""
    note: str = ""
    """Comment on the price."""


class Interruptions(Spec):
    """How often machines at spot prices are taken back, as measured."""

    provider: Text
    """Whose machines they were."""
    instance: Text
    """The provider's name of them."""
    per_machine_hour: PositiveFloat
    """Interruptions of a job of several machines, for each of them and hour at work [1/h]."""
    rate_spread: PositiveFloat | None = None
    """Standard deviation of the rate between traces of such machines, in log rate [1]; None: not known."""
    back_after: PositiveFloat
    """Time from an interruption until as many machines are back, half the time [s]."""
    measured_on: date
    """The first day."""
    source: Text
    """A key of the file's ``sources`` table."""
    note: str = ""
    """How it was counted."""


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
    prices: Annotated[tuple[OfferPrice, ...], Within(strict=False)] = ()
    """At other kinds of price, and on demand in other regions."""

    def check_together(self) -> None:
        """Raise ValueError for a price without region, date and source."""
        if self.price_usd_per_hour is not None and not (self.region and self.price_date and self.source):
            raise ValueError(f"{self.instance}: a price needs region, price_date and source")

    def every_price(self) -> tuple[OfferPrice, ...]:
        """Return every known price, that on demand first."""
        if self.price_usd_per_hour is None:
            return self.prices
        on_demand = OfferPrice.model_construct(
            kind="on-demand",
            usd_per_hour=self.price_usd_per_hour,
            region=self.region,
            price_date=self.price_date,
            source=self.source,
            note=self.note,
        )
        return (on_demand, *self.prices)


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
    """The file ``instances.toml``: offers, regions, interruptions and their sources."""

    instances: Annotated[tuple[Instance, ...], Within(strict=False)]
    regions: Annotated[tuple[Region, ...], Within(strict=False)] = ()
    interruptions: Annotated[tuple[Interruptions, ...], Within(strict=False)] = ()
    sources: dict[str, Source]

    def check_together(self) -> None:
        """Raise ValueError for a price, region or interruption whose source the file does not list."""
        named = [(offer.instance, offer.source) for offer in self.instances]
        named += [(offer.instance, price.source) for offer in self.instances for price in offer.prices]
        named += [(region.region, region.source) for region in self.regions]
        named += [(each.instance, each.source) for each in self.interruptions]
        for name, source in named:
            if source is not None and source not in self.sources:
                raise ValueError(f"{name}: source {source!r} is not in the sources table")
