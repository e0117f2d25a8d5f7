"""The page that says what a quote's file holds, made of the classes that read it.

``python -m docs.site.quote_format`` writes it.
"""

from __future__ import annotations

import json
import re
import typing
from collections.abc import Iterable, Sequence

from docs.site.fields import Field, fields
from docs.site.written_pages import ROOT
from perfmodel.core.files.writing import write_whole
from perfmodel.core.records.record import REQUIRED
from perfmodel.core.units import plural
from perfmodel.decide.quote.file import GOES_WITH, KINDS, LENGTH, RANGES, SYNONYMS, Claim, Per, Quote
from perfmodel.hardware.provenance import Source, Spec

PAGE = ROOT / "docs" / "quote-format.md"
EXAMPLE = """title = "An offer of 512 H100"
note = "Printed below the title."

[scenario]                      # of all claims: any option of perfmodel predict, by its name
workload = "llama-3-70b"
node = "dgx-h100"
gpus = 512
global_batch_size = 1024

[[claims]]                      # one for each figure
quantity = "days_to_train"
value = 35
tokens = "1T"                   # until when: of the claim, next to its quantity
text = "a trillion tokens in 35 days"
source = "offer"

[[claims]]
quantity = "tokens_per_second_per_gpu"
value = 650
scenario = { gpus = 1024 }      # where it differs from the one above

[sources.offer]
title = "The vendor's offer, page 3"
read_on = 2026-11-20
"""
BARE = {"1/s": "a second", "s": "seconds", "1": "a share", "USD": "US dollars"}
"""Unit of a quantity -> what a number without a unit means, where it is not that unit."""
FIGURES = {
    "samples_per_second": (22000, "22,000 images/s"),
    "tokens_per_second": (1.2e6, "1.2 Mtokens/s"),
    "iteration_time": (0.104, "104 ms"),
    "epoch_time": (1200, "20 min"),
    "time_to_train": (320000, "3.7 days"),
    "scaling_efficiency": (0.9, "90%"),
    "speedup": (29.8, "29.8"),
    "bus_bandwidth": (600e9, "600GB/s"),
    "algorithm_bandwidth": (275e9, "275 GB/s"),
    "flops": (5e15, "5PFLOP/s"),
    "mfu": (0.41, "41%"),
    "cost_per_token": (2e-7, "$0.0000002"),
    "cost_to_train": (200000, "$200,000"),
}
"""A quantity -> a figure without a unit, and one with it."""


def page() -> str:
    """Return the page."""
    return "\n\n".join(
        [
            "# What a quote's file says",
            "`perfmodel check-quote FILE` reads claims from a TOML file; the same keys as JSON go to "
            "`POST /v1/check-quote`. [Check a quote](tutorials/check-a-quote.md) shows one with its answer, "
            "[the public quotes](../validation/quotes/README.md) are more examples. This page is made of the "
            "classes that read the file (`make man`).",
            f"```toml\n{EXAMPLE}```",
            "## The file",
            _table(("key", "meaning"), _rows(Quote)),
            "## A claim",
            "`tokens`, `epochs`, `samples` and `recipe` say until when a job trains: one of them stands in "
            f"the claim, with {_listed(GOES_WITH['tokens'])}. Without any, it is the known target of the "
            "network, and the answer says which.",
            _table(("key of `[[claims]]`", "goes with", "meaning"), _claim_rows()),
            "## Quantities",
            "A figure is a number, or a text with its unit. "
            "[The limit of each](../validation/quotes/README.md) says beyond what it is impossible.",
            _table(("quantity", "what it is", "a number without a unit is", "e.g."), _quantity_rows()),
            "Other names, as publishers have them:",
            _table(("name", "read as"), _synonym_rows()),
            "Numbers that no job has are refused, as slips of the unit: "
            + "; ".join(f"`{key}` from {low:g} to {high:g}" for key, (low, high) in RANGES.items())
            + ", in SI units.",
            "## A source",
            _table(("key of `[sources.NAME]`", "meaning"), _rows(Source)),
        ]
    )


def _rows(described: type[Quote] | type[Source]) -> list[tuple[str, str]]:
    return [(f"`{field.name}`", _meaning(described, field)) for field in fields(described)]


def _meaning(described: type[Spec], field: Field) -> str:
    needed = " Needed." if described.model_fields[field.name].default is REQUIRED else ""
    return re.sub("``", "`", field.words) + needed


def _claim_rows() -> list[tuple[str, str, str]]:
    return [
        (
            f"`{field.name}`",
            _listed(GOES_WITH[field.name]) if field.name in GOES_WITH else "any",
            _meaning(Claim, field) + f" One of {_listed(typing.get_args(Per))}." * (field.name == "per"),
        )
        for field in fields(Claim)
    ]


def _quantity_rows() -> list[tuple[str, str, str, str]]:
    return [
        (
            f"`{name}`",
            kind.words,
            "times as fast" if name == "speedup" else BARE.get(kind.unit, kind.unit),
            ", ".join(f"`{json.dumps(figure)}`" for figure in FIGURES[name]),
        )
        for name, kind in KINDS.items()
    ]


def _synonym_rows() -> list[tuple[str, str]]:
    return [(f"`{name}`", f"`{synonym.kind}`{_read(name)}") for name, synonym in SYNONYMS.items()]


def _read(name: str) -> str:
    """Return what a synonym says more than the quantity."""
    synonym = SYNONYMS[name]
    words = [f"of {plural(synonym.sample, 2)}"] if synonym.sample else []
    words += [f"`per = {synonym.per!r}`".replace("'", '"')] if synonym.per else []
    words += [f"a number without a unit is {synonym.unit}"] if synonym.unit else []
    words += [f"times {synonym.times:g}"] if synonym.times != 1 else []
    lengths = LENGTH if synonym.kind in GOES_WITH["tokens"] else ()
    words += [f"with {', '.join(f'`{key}`' for key in lengths[:-1])} or `{lengths[-1]}`"] if lengths else []
    return f", {', '.join(words)}" if words else ""


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    write_whole(PAGE, page() + "\n")
