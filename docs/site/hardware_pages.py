"""Pages of hardware, generated from ``hardware_specs``: every number with unit, basis, source and day."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

from docs.site import rst
from perfmodel.core.files.reading import read_toml
from perfmodel.core.files.resources import folder
from perfmodel.hardware.catalogue.kinds import KINDS, Kind
from perfmodel.hardware.catalogue.spec_file import load
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.instance import Instance, InstanceFile
from perfmodel.hardware.numbers import number_rows
from perfmodel.hardware.provenance import Provenance, Source, SourcedSpec

FOLDER = "hardware"
_NO_OFFER = "Without an offer"
_FAMILIES = {"accelerators": "architecture", "links": "kind"}
"""What the pages of a kind are: a page for each value of this field."""
_ALL_SOFTWARE = "All"
_INTRODUCTION = {
    "accelerators": "One device as a framework counts them, by architecture. Peaks are dense, of one device.",
    "links": "What joins one rank to the next, by how bytes travel: of one rank or adapter, one direction.",
    "nodes": "Machines, by who offers them for hire.",
    "software": "What trains networks, and what each release of it does.",
}
_FAMILY_INTRODUCTION = {
    "accelerators": "What predictions know of accelerators of this architecture, one device of each: "
    "``--accelerator`` and an id predict on them.",
    "links": "What predictions know of links of this kind, of one rank or adapter, one direction: "
    "``--intra-link`` takes those of scope intra, ``--inter-link`` those of scope inter.",
    "nodes": "What predictions know of these machines: ``--node`` and an id predict on them, and "
    ":doc:`what they cost <prices>` is a page of its own.",
    "software": "What predictions know of software: ``--framework`` and an id, or id@YEAR, predict with it. "
    "Facts hold from the year before them on; software that is based on other has the facts of "
    "that where it states none.",
}
_STATED = (
    "Every number has its :doc:`basis <index>`, its source and the day somebody compared the two; what "
    "stands above a table is said by the sources named with it."
)
_FILES = {
    "storage": ("Storage", "How fast samples are read where they lie: ``--storage`` takes these names."),
    "datasets": (
        "Data sets",
        "What networks are trained on, and how much of it: ``--dataset`` takes these names.",
    ),
    "decoders": ("Decoders", "How fast images are decoded, and by what: ``--decoder`` takes these names."),
}
"""Files of many small things: what their pages are called and for."""
_BASES = (
    ("datasheet", "the vendor's own publication says so"),
    ("documented", "its manual or its code says so"),
    ("measured", "somebody measured it, and the source says who"),
    ("derived", "worked out from other numbers; the note says how"),
    ("assumed", "nobody published or measured it; every answer that uses it says so"),
)
_HEAD = ("number", "value", "basis", "source", "note")


def pages() -> dict[str, str]:
    """Return the pages by their path in the site."""
    catalogue = Catalogue.built_in()
    prices = load(folder("hardware_specs") / "instances.toml", InstanceFile)
    result = {}
    for kind in KINDS:
        families = _families(kind, catalogue, prices.instances)
        for family, specs in families.items():
            result[f"{FOLDER}/{kind}-{_slug(family)}.rst"] = _family_page(kind, family, specs)
        result[f"{FOLDER}/{kind}.rst"] = _kind_page(kind, families)
    result[f"{FOLDER}/prices.rst"] = _prices(prices, catalogue)
    for name, (title, words) in _FILES.items():
        result[f"{FOLDER}/{name}.rst"] = _file_page(name, title, words)
    result[f"{FOLDER}/index.rst"] = _index(catalogue, prices)
    return result


def _index(catalogue: Catalogue, prices: InstanceFile) -> str:
    counts = ", ".join(f"{len(catalogue.ids(kind))} {kind}" for kind in KINDS)
    return rst.page(
        rst.heading("Hardware"),
        f"The catalogue: {counts} and {len(prices.instances)} offers with prices, each number with where it "
        "comes from. ``perfmodel specs show NAME`` prints the same, ``--specs DIR`` adds your own "
        "(:doc:`how the files are written </project/hardware-files>`). The basis of a number:\n",
        rst.table(("basis", "means"), _BASES),
        rst.contents([*KINDS, "prices", "storage", "datasets", "decoders"]),
    )


def _families(kind: Kind, catalogue: Catalogue, offers: Iterable[Instance]) -> dict[str, list[SourcedSpec]]:
    providers = {offer.node: offer.provider for offer in offers}
    result: dict[str, list[SourcedSpec]] = {}
    for id in catalogue.ids(kind):
        spec = catalogue.spec(kind, id)
        family = getattr(spec, _FAMILIES[kind]) if kind in _FAMILIES else providers.get(id, _NO_OFFER)
        family = _ALL_SOFTWARE if kind == "software" else family
        result.setdefault(family, []).append(spec)
    return dict(sorted(result.items(), key=lambda item: (item[0] == _NO_OFFER, item[0].lower())))


def _slug(family: str) -> str:
    return family.lower().replace(" ", "-")


def _kind_page(kind: Kind, families: Mapping[str, list[SourcedSpec]]) -> str:
    rows = [
        (f":ref:`{spec.id} <hardware-{spec.id}>`", rst.text(spec.name), rst.text(family))
        for family, specs in families.items()
        for spec in specs
    ]
    return rst.page(
        rst.heading(kind.capitalize()),
        _INTRODUCTION[kind] + "\n",
        rst.contents(f"{kind}-{_slug(family)}" for family in families),
        rst.table(("id", "name", "page"), rows),
    )


def _family_page(kind: Kind, family: str, specs: Iterable[SourcedSpec]) -> str:
    title = f"{kind.capitalize()} without an offer" if family == _NO_OFFER else f"{family} {kind}"
    return rst.page(
        rst.heading(title),
        f"{_FAMILY_INTRODUCTION[kind]} {_STATED}\n",
        *(part for spec in specs for part in _spec(spec)),
    )


def _spec(spec: SourcedSpec) -> list[str]:
    plain = [
        f"{name.replace('_', ' ')}: {'yes' if value is True else rst.text(value)}"
        for name, value in vars(spec).items()
        if isinstance(value, (str, int, float))
        and value
        and name not in ("id", "name", "note", "most_common")
    ]
    called = f"; also called {', '.join(map(rst.literal, spec.aliases))}" if spec.aliases else ""
    return [
        f".. _hardware-{spec.id}:\n",
        rst.heading(spec.name, "-"),
        f"``{spec.id}``{called}\n",
        "; ".join(plain) + "\n" if plain else "",
        rst.text(spec.note) + "\n" if spec.note else "",
        _all_sources(spec.sources),
        rst.table(_HEAD, _numbers(spec.statements(), spec.sources)),
    ]


def _numbers(
    statements: Iterable[tuple[str, Provenance]], sources: Mapping[str, Source]
) -> list[tuple[str, ...]]:
    return [
        (
            rst.text(label.replace("_", " ").replace(".", ", ")),
            rst.text(value),
            stated.basis,
            _source(sources[stated.source]) if stated.source in sources else "",
            rst.text(stated.note),
        )
        for name, stated in statements
        for label, value in number_rows(name, stated)
    ]


def _source(source: Source) -> str:
    title = rst.link(source.title, source.url) if source.url else rst.text(source.title)
    note = f"; {rst.text(source.note)}" if source.note else ""
    return f"{title}, read {_day(source.read_on)}{note}"


def _day(day: date | None) -> str:
    """A day that no line breaks."""
    return str(day or "").replace("-", "\N{NON-BREAKING HYPHEN}")


def _all_sources(sources: Mapping[str, Source]) -> str:
    return f"Sources: {'; '.join(map(_source, sources.values()))}\n" if sources else ""


def _each_price(offer: Instance) -> list[tuple[str, ...]]:
    """Return kind, price, region, day, source and note of every price of an offer; a row of unknown ones."""
    rows = [
        (
            price.kind,
            f"{price.usd_per_hour:,.2f}",
            rst.text(price.region),
            _day(price.price_date),
            rst.text(price.source),
            rst.text(price.note),
        )
        for price in offer.every_price()
    ]
    unknown = ("on-demand", "unknown", rst.text(offer.region or ""), "", "", rst.text(offer.note))
    return [*([] if offer.price_usd_per_hour else [unknown]), *rows]


def _prices(file: InstanceFile, catalogue: Catalogue) -> str:
    nodes = set(catalogue.ids("nodes"))
    rows = [
        (
            rst.text(offer.provider),
            rst.text(offer.instance),
            f":ref:`{offer.node} <hardware-{offer.node}>`" if offer.node in nodes else rst.text(offer.node),
            *price,
        )
        for offer in file.instances
        for price in _each_price(offer)
    ]
    head = ("provider", "instance", "node", "kind", "$ an hour", "region", "price of", "source", "note")
    return rst.page(
        rst.heading("Prices"),
        "Of the whole machine, by kind: on demand, spot, reserved for one or three years. Prices age: "
        "``--price`` takes yours. A price that nobody publishes "
        "is unknown here, never guessed.\n",
        rst.table(head, rows),
        rst.heading("Grids of regions", "-"),
        "Grams of CO2 of a kWh, mean of the year, where a source says which grid a region lies in; "
        "``--carbon-intensity`` takes yours.\n",
        rst.table(
            ("provider", "region", "g CO2/kWh", "year", "source", "note"),
            [
                (
                    rst.text(one.provider),
                    rst.text(one.region),
                    f"{one.carbon_intensity:.0f}",
                    str(one.year),
                    rst.text(one.source),
                    rst.text(one.note),
                )
                for one in file.regions
            ],
        ),
        rst.heading("Interruptions of spot machines", "-"),
        "For each machine of a job and hour at work, and after how long half of them were back; "
        "``--interruptions`` and ``--restart-time`` take yours.\n",
        rst.table(
            ("provider", "instance", "an hour", "spread (log)", "back after [s]", "from", "source", "note"),
            [
                (
                    rst.text(one.provider),
                    rst.text(one.instance),
                    f"{one.per_machine_hour:.3g}",
                    "" if one.rate_spread is None else f"{one.rate_spread:.3g}",
                    f"{one.back_after:,.0f}",
                    _day(one.measured_on),
                    rst.text(one.source),
                    rst.text(one.note),
                )
                for one in file.interruptions
            ],
        ),
        rst.heading("Sources of the prices and grids", "-"),
        rst.table(
            ("source", "is"), [(rst.text(key), _source(source)) for key, source in file.sources.items()]
        ),
    )


def _file_page(name: str, title: str, words: str) -> str:
    """A file of many small things, its numbers in one table."""
    table = read_toml(folder("hardware_specs") / f"{name}.toml")
    sources: dict[str, Any] = table.pop("sources")
    rows = [
        (rst.text(place), _value(number), number["basis"], _written(sources, number), _note(number))
        for place, number in _stated(table, ())
    ]
    return rst.page(
        rst.heading(title),
        f"{words} From ``hardware_specs/{name}.toml``, in SI units: bytes, seconds, samples a second.\n",
        rst.table(_HEAD, rows),
    )


def _stated(table: Mapping[str, Any], path: tuple[str, ...]) -> Iterable[tuple[str, Mapping[str, Any]]]:
    for key, value in table.items():
        if isinstance(value, dict) and "basis" in value:
            yield " ".join((*path, key)).replace("_", " "), value
        elif isinstance(value, dict):
            yield from _stated(value, (*path, key))


def _value(stated: Mapping[str, Any]) -> str:
    """A number, or what has no number but a basis: the one list of a statement."""
    if "value" in stated:
        return f"{stated['value']:g}"
    (listed,) = (value for value in stated.values() if isinstance(value, list))
    return rst.text(", ".join(map(str, listed)))


def _written(sources: Mapping[str, Any], number: Mapping[str, Any]) -> str:
    source = sources.get(number.get("source", ""))
    return _source(Source(**source)) if source else ""


def _note(number: Mapping[str, Any]) -> str:
    return rst.text(number.get("note", ""))
