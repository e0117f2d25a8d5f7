"""Numbers of one spec for display: one unit for each quantity, main ones first, each with its source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from app.answer_card import Shown
from app.plain import plain
from perfmodel.core.units import counted
from perfmodel.hardware.numbers import UNITS, number_rows
from perfmodel.hardware.provenance import Quantity, SourcedSpec

SHOWN_IN = {
    "FLOP/s": ("TFLOP/s", 1e12),
    "B/s": ("GB/s", 1e9),
    "s": ("µs", 1e-6),
    "Hz": ("MHz", 1e6),
    "W": ("W", 1.0),
}
"""Unit of a quantity -> the unit in which every number of it is shown, and its size."""
CACHE, MEMORY = ("MiB", 2.0**20), ("GiB", 2.0**30)
MAIN = (
    *("peak_flops.fp16", "peak_flops.bf16", "peak_flops.fp32", "memory_bytes", "memory_bandwidth", "tdp"),
    *("bandwidth", "hop_latency", "network_bandwidth", "host_memory_bytes"),
)
"""Numbers of a spec that a planner asks for first."""
LARGE = 4
"""Numbers that are drawn large."""
BASES = {"datasheet": "data sheet", "measured": "measured", "assumed": "assumed", "derived": "worked out"}
LONGEST = 48
"""Most letters of the title of a source in a table."""
GROUPS = {
    "Peak rates": ("peak_flops",),
    "Memory": ("memory", "usable_memory", "l2_cache", "host_memory", "storage"),
    "Clocks and power": ("base_clock", "boost_clock", "tdp"),
    "Rates that were measured": ("achieved",),
}
"""Title of a group -> how the names of its numbers begin."""
OTHERS = "Other facts"


class Number(NamedTuple):
    """A number in the unit of its quantity."""

    value: float
    unit: str

    def __str__(self) -> str:
        return (
            f"{self.value:,.4g} {self.unit}".rstrip()
            if self.value < 1e4
            else f"{self.value:,.0f} {self.unit}"
        )


def number_of(name: str, value: float) -> Number:
    """Return a number of a spec in the one unit in which its quantity is shown.

    >>> str(number_of("peak_flops.fp16", 2.25e15)), str(number_of("memory_bytes", 2**34))
    ('2,250 TFLOP/s', '16 GiB')
    >>> str(number_of("hop_latency", 5e-6)), str(number_of("compute_units", 80))
    ('5 µs', '80')
    """
    field = name.partition(".")[0]
    if field.endswith("_bytes"):
        unit, size = CACHE if "cache" in field else MEMORY
    else:
        unit, size = SHOWN_IN.get(UNITS.get(field, ""), ("", 1.0))
    return Number(value / size, unit)


def in_words(name: str) -> str:
    """Return the name of a number in plain words.

    >>> in_words("usable_memory_bytes"), in_words("peak_flops.fp16"), in_words("tdp")
    ('usable memory', 'peak rate, fp16', 'rated power')
    """
    field, _, format = name.removesuffix("_bytes").partition(".")
    words = field.replace("tdp", "rated_power").replace("flops", "rate").replace("_", " ")
    return f"{words}, {format}" if format else words


def figures(spec: SourcedSpec) -> dict[str, Shown]:
    """Return the main numbers of a spec, each with what it rests on and what was measured of it.

    Of several peaks the first.
    """
    known = {name: stated for name, stated in spec.statements() if isinstance(stated, Quantity)}
    names = [name for name in MAIN if name in known]
    peaks = [name for name in names if name.startswith("peak_flops")]
    kept = [name for name in names if name not in peaks[1:]][:LARGE]
    return {
        in_words(name): Shown(
            str(number_of(name, known[name].value)),
            "; ".join([BASES.get(known[name].basis, known[name].basis), *_measured(name, known)]),
        )
        for name in kept
    }


def _measured(name: str, known: Mapping[str, Quantity]) -> list[str]:
    """Return what was measured of a number that a data sheet states."""
    rate, usable = known.get(f"achieved_{name.removeprefix('peak_')}"), known.get(f"usable_{name}")
    words = [f"{number_of(name, rate.value)} measured"] if rate else []
    return words + ([f"{number_of(name, usable.value)} usable"] if usable else [])


def in_short(spec: SourcedSpec) -> str:
    """Return the main numbers of a spec in a sentence, and how many of all rest on what."""
    main = {name: shown.value for name, shown in figures(spec).items()}
    bases = [stated.basis for _, stated in spec.statements()]
    counts = ", ".join(f"{bases.count(basis)} {BASES.get(basis, basis)}" for basis in dict.fromkeys(bases))
    rest = f"{counted(len(bases), 'number')} in all: {counts}".replace("data sheet", "from data sheets")
    words = ", ".join(f"{value} {name.removeprefix('peak rate, ')}" for name, value in main.items())
    return f"{words}; {rest}" if words else rest


def grouped(spec: SourcedSpec) -> dict[str, list[dict[str, str]]]:
    """Return the numbers of a spec by group, the main ones first, as rows of tables in Markdown."""
    order = sorted(spec.statements(), key=lambda each: MAIN.index(each[0]) if each[0] in MAIN else len(MAIN))
    groups: dict[str, list[dict[str, str]]] = {name: [] for name in (*GROUPS, OTHERS)}
    for name, stated in order:
        group = next((key for key, starts in GROUPS.items() if name.startswith(starts)), OTHERS)
        source = spec.sources.get(stated.source or "")
        read = f"{linked(source.title, source.url)} ({source.read_on.isoformat()})" if source else ""
        origin = ": ".join(filter(None, (BASES.get(stated.basis, stated.basis), read)))
        for label, text in number_rows(name, stated):
            value = str(number_of(name, stated.value)) if isinstance(stated, Quantity) else text
            groups[group].append(
                {
                    "number": in_words(label),
                    "value": plain(value),
                    "source (read on)": "; ".join(filter(None, (origin, plain(stated.note)))),
                }
            )
    return {name: rows for name, rows in groups.items() if rows}


def linked(title: str, address: str | None) -> str:
    """Return the short title of a source as Markdown, which leads to its address.

    >>> linked("Whitepaper of the Volta generation, commit 9d82827, all tables", "https://a.b/c")
    '[Whitepaper of the Volta generation](https://a.b/c)'
    >>> linked("A note", None)
    'A note'
    """
    short = title if len(title) <= LONGEST else title.split(", ")[0]
    if len(short) > LONGEST:
        short = f"{short[:LONGEST].rpartition(' ')[0]} ..."
    escaped = (address or "").replace("(", "%28").replace(")", "%29").replace(" ", "%20")
    is_link = escaped.startswith(("https://", "http://"))
    return f"[{plain(short)}]({escaped})" if is_link else plain(short)


def in_columns(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows of specs, which have the same columns, with the unit of a column's numbers in its name.

    >>> in_columns([{"id": "a", "tdp": number_of("tdp", 300.0)}, {"id": "b", "tdp": ""}])
    [{'id': 'a', 'tdp [W]': 300.0}, {'id': 'b', 'tdp [W]': None}]
    """
    units = {name: value.unit for row in rows for name, value in row.items() if isinstance(value, Number)}
    return [
        {
            (f"{name} [{units[name]}]" if units.get(name) else name): (
                float(f"{value.value:.4g}")
                if isinstance(value, Number)
                else (value or None if name in units else value)
            )
            for name, value in row.items()
        }
        for row in rows
    ]
