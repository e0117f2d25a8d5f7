"""Write the report that shows predictions beside measurements."""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from perfmodel.calibration import calibration
from perfmodel.equations.ring_search import ring_bandwidth, rings
from perfmodel.resources import folder
from perfmodel.specs.store import Catalogue
from perfmodel.traces import table as traces
from perfmodel.validate import mlperf_section, overlap_order, published_cases
from perfmodel.validate.collective_fit import compare_collectives, shipped_measurements, summarise
from perfmodel.validate.compare import Row
from perfmodel.validate.misses import LIMIT, beyond_limit, explained
from perfmodel.validate.paragraphs import paragraphs
from perfmodel.validate.summary import counted, errors, summary
from perfmodel.writing import write_whole

WORST = 20
"""Rows in the table of the worst misses."""


def write_report(path: Path, specs: Sequence[Row], anchored: Sequence[Row], more: Sequence[str] = ()) -> None:
    """Write the report on the same runs predicted in both modes as Markdown, all or nothing.

    Raises
    ------
    InputError : the file cannot be written
    """
    write_whole(path, report(specs, anchored, more))


def report(specs: Sequence[Row], anchored: Sequence[Row], more: Sequence[str] = ()) -> str:
    """Return the report on the same runs predicted in both modes, with sections of ``more`` before the collectives."""
    summaries = summary(specs), summary(anchored)
    lines = [
        *_opening(specs),
        *_headline(specs, anchored),
        *_measured(specs),
        *_mode("From specs alone", specs, summaries[0]),
        *_mode("Anchored on one accelerator", anchored, summaries[1]),
        *_ambiguous(summaries[1]),
        *_beyond(summaries),
        overlap_order.section(anchored),
        *(
            [published_cases.section()]
            if any(row.run.source == overlap_order.SOURCE for row in anchored)
            else []
        ),
        paragraphs(specs, anchored),
        "",
        *more,
        *mlperf_section.section(),
        *traces.section(),
        *_collectives(),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _collectives() -> list[str]:
    """Errors of collectives, each source predicted by a fit to all the others."""
    found = summarise(compare_collectives(shipped_measurements(), out_of_sample=True))
    lines = [
        "## Collectives",
        "",
        f"{found['rows']} measured collectives, {found['refused']} refused (send and receive).  Each source is",
        "predicted by a fit to all the others.  Naive: a ring at the links' nominal bandwidth and latency.  The",
        "interval is the 80 % one, as wide as the others' misses ask.  The form of the model was chosen with all",
        "sources in view; only its numbers are out of sample.  `misses.md` says where it misses, and why.",
        "",
    ]
    header = ["size", "group", "n", "median", "naive", "bias", "within 20 %", "interval covers"]
    rows = []
    for size, groups in found["sizes"].items():
        shown = {"all": groups["all"], **groups["source"], **groups["accelerator"], **groups["link"]}
        for name, group in shown.items():
            rows.append(
                [
                    size,
                    name,
                    str(group["n"]),
                    f"{group['median_absolute_error']:.1%}",
                    f"{group['baseline']['median_absolute_error']:.1%}",
                    f"{group['bias']:+.1%}",
                    f"{group['within_20']:.0%}",
                    f"{group['coverage_80']:.0%}",
                ]
            )
    return [*lines, *_table(header, rows, left=2), *_mesh()]


def _mesh() -> list[str]:
    """Bandwidth of the rings of a DGX-1V, from its graph, beside what was measured."""
    catalogue = Catalogue.built_in()
    link, graph = catalogue.link("nvlink2-cube-mesh"), catalogue.node("dgx-1v").peer_graph
    measured = link.ring_bandwidth.by_group_size if link.ring_bandwidth else {}
    each = link.bandwidth.value / sum(count for a, b, count in graph if 0 in (a, b))
    rows = []
    for ranks, seen in sorted(measured.items()):
        derived, found = ring_bandwidth(graph, ranks, each), rings(graph, ranks)
        told = f"{found.rings}, relayed" if found.forwarded else str(found.rings)
        shown = [f"{derived / 1e9:.1f}", f"{seen / 1e9:.1f}", f"{derived / seen - 1:+.1%}"]
        rows.append([str(ranks), told, *shown])
    return [
        "### Rings of a cube mesh",
        "",
        "Bus bandwidth of a DGX-1V, from the rings that its graph of links holds (one link of 25 GB/s, 94 % of",
        "it data) and as measured.  Five ranks close no ring; that a hop is relayed there, and read at 80 %, was",
        "added after the measurement had been seen, so that row explains and does not predict.",
        "",
        *_table(["ranks", "rings", "derived GB/s", "measured GB/s", "error"], rows, left=2),
    ]


def _opening(rows: Sequence[Row]) -> list[str]:
    return [
        "# The model against published measurements",
        "",
        "Generated by `make report`; edits are overwritten.  Every measurement was published by somebody",
        "else; `README.md` says how each became a question to the model.",
        "",
        "An error is predicted / measured - 1 of the iteration time: positive where the model is too slow.",
        "Statistics take runs of trust A and B; C stands apart, D is left out.  The bias is the mean error.",
        "Next to each mean and median stands that of a naive answer on the same rows: from specs, the median",
        "utilisation which the other sources reach on that accelerator in that precision, with free",
        "communication; anchored, the iteration of one accelerator, unchanged (linear scaling).",
        "",
        f"{len(rows)} runs.  Each source is predicted by a fit to all the others: its efficiencies, the numbers of scaling and the",
        "width of its intervals have not seen it.  The form of the model was chosen with all sources in view, so an",
        "error on a source nobody has seen will be somewhat larger.  The rate of decoding comes from `dlperf`, and the",
        "spread of one process's steps from `ryujaehun` and `jcjohnson`.  Assumed and not measured: "
        + ", ".join(f"`{name}`" for name in calibration().assumed)
        + ".",
        "",
        "![Predicted against measured, from specs](plots/predicted-specs.svg)",
        "![Predicted against measured, anchored](plots/predicted-anchored.svg)",
        "![Residuals by accelerator and scale](plots/residuals.svg)",
        "![Coverage of the intervals](plots/coverage.svg)",
        "",
    ]


def _headline(specs: Sequence[Row], anchored: Sequence[Row]) -> list[str]:
    """The figures people ask for first."""
    one_process = "data-parallel-single-process"
    groups: tuple[tuple[str, Sequence[Row], Callable[[Row], bool]], ...] = (
        ("from specs, one accelerator", specs, lambda row: row.run.world_size == 1),
        ("from specs, all world sizes", specs, lambda row: True),
        ("anchored, all-reduce and parameter servers", anchored, lambda row: row.run.strategy != one_process),
        ("anchored, parameter server alone", anchored, lambda row: row.run.strategy == "parameter-server"),
        ("anchored, one process", anchored, lambda row: row.run.strategy == one_process),
        (
            "the same, fold of `ryujaehun`",
            anchored,
            lambda row: row.run.strategy == one_process and row.run.source == "ryujaehun",
        ),
    )
    shown = []
    for name, rows, keep in groups:
        kept = [row for row in rows if counted(row) and row.error is not None and keep(row)]
        if not kept:
            continue
        found, naive = (
            errors([e for e in signed if e is not None])
            for signed in ([row.error for row in kept], [row.naive_error for row in kept])
        )
        inside = [
            sum(
                getattr(r, f"low_{k}") <= r.measured_iteration_time <= getattr(r, f"high_{k}")
                for r in kept
                if r.low_80
            )
            / len(kept)
            for k in (80, 95)
        ]
        shown.append(
            [
                name,
                str(found.n),
                percent(found.mean_absolute_error),
                percent(found.median_absolute_error),
                percent(naive.mean_absolute_error),
                percent(naive.median_absolute_error),
                *map(percent, inside),
            ]
        )
    table = _table(
        ["", "n", "mean", "median", "naive mean", "naive median", "80 % covers", "95 % covers"], shown
    )
    return ["## In short", "", *table, *_refusals(specs)]


def _refusals(rows: Sequence[Row]) -> list[str]:
    trusted = [row for row in rows if row.run.trust in ("A", "B")]
    asked = [row for row in trusted if row.reason not in ("no batch size", "no measured time")]
    refused = Counter(row.reason for row in asked if row.reason)
    told = "; ".join(f"{reason} ({count})" for reason, count in refused.most_common()) or "none"
    without = len(trusted) - len(asked)
    return [
        f"Of {len(trusted)} runs of trust A and B, {without} state no batch or no time, so there is nothing to predict or to",
        f"compare with.  Of the other {len(asked)}, {sum(refused.values())} are refused "
        f"({sum(refused.values()) / max(len(asked), 1):.1%}): {told}.",
        "",
    ]


def _measured(rows: Sequence[Row]) -> list[str]:
    known = {source["key"]: source for source in _sources()}
    counts = Counter(row.run.source for row in rows)
    predicted = Counter(row.run.source for row in rows if row.error is not None)
    blank = {"title": "", "year": "", "trust": ""}
    lines = _table(
        ["source", "what", "year", "trust", "runs", "predicted"],
        [
            [
                key,
                known.get(key, blank)["title"],
                known.get(key, blank)["year"],
                known.get(key, blank)["trust"],
                str(counts[key]),
                str(predicted[key]),
            ]
            for key in sorted(counts)
        ],
        left=4,
    )
    return ["## What was measured", "", *lines]


def _sources() -> list[dict[str, str]]:
    with (folder("validation") / "sources.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _mode(title: str, rows: Sequence[Row], found: dict[str, Any]) -> list[str]:
    lines = [f"## {title}", ""]
    overall = {"all of trust A and B": found, "trust C": found["trust_c"]}
    lines += _statistics("", overall)
    lines += [f"Not predicted: {found['refused']} of {found['rows']} runs.", ""]
    lines += [f"* {reason}: {count}" for reason, count in found["refused_by_reason"].items()]
    lines.append("")
    for kind, groups in found["by"].items():
        lines += [f"### By {kind.replace('-', ' ')}", "", *_statistics(kind.replace("-", " "), groups)]
    return [*lines, "### The worst", "", *_worst(rows)]


def _statistics(kind: str, groups: dict[str, dict[str, Any]]) -> list[str]:
    return _table(
        [
            kind,
            "n",
            "mean",
            "naive",
            "median",
            "naive",
            "bias",
            "within 10 %",
            "within 20 %",
            "80 % covers",
            "95 %",
        ],
        [
            [
                name,
                str(group["n"]),
                percent(group["mean_absolute_error"]),
                percent(group["baseline"]["mean_absolute_error"]),
                percent(group["median_absolute_error"]),
                percent(group["baseline"]["median_absolute_error"]),
                percent(group["bias"], signed=True),
                percent(group["within_10"]),
                percent(group["within_20"]),
                percent(group["coverage_80"]),
                percent(group["coverage_95"]),
            ]
            for name, group in groups.items()
        ],
    )


def _worst(rows: Iterable[Row]) -> list[str]:
    """The rows whose ratio is furthest from 1, either way."""
    table = [(row, 1 + row.error) for row in rows if counted(row) and row.error is not None]
    table.sort(key=lambda pair: (-abs(math.log(pair[1])), pair[0].run.run_id))
    return _table(
        ["run", "measured", "predicted", "error"],
        [
            [
                f"`{row.run.run_id}`",
                f"{row.measured_iteration_time:.4g} s",
                f"{row.predicted_iteration_time:.4g} s",
                percent(row.error, signed=True),
            ]
            for row, _ in table[:WORST]
        ],
    )


def _ambiguous(anchored: dict[str, Any]) -> list[str]:
    return [
        "### Ambiguous anchors",
        "",
        "Measurements on one accelerator that should be the same differ by more than 10 %; their geometric",
        "mean anchors these rows, which the tables above leave out.",
        "",
        *_statistics("strategy", anchored["ambiguous"]["by"]["strategy"]),
    ]


def _beyond(summaries: Sequence[dict[str, Any]]) -> list[str]:
    found, entries = beyond_limit(summaries), explained()
    return [
        f"## Beyond {100 * LIMIT:.0f} %",
        "",
        "Families whose median error exceeds the limit; `misses.md` says why, as far as anybody knows.",
        "",
        *_table(
            ["family", "entry", "from specs", "anchored"],
            [
                [
                    f"{kind} {name}",
                    "yes" if (kind, name) in entries else "missing",
                    percent(modes.get("specs")),
                    percent(modes.get("anchored")),
                ]
                for (kind, name), modes in sorted(found.items())
            ],
            left=2,
        ),
    ]


def percent(share: float | None, signed: bool = False) -> str:
    """Return a share as people read it, or a dash.

    >>> percent(0.1234), percent(-0.5, signed=True), percent(None)
    ('12.3 %', '-50.0 %', '-')
    """
    if share is None:
        return "-"
    return f"{100 * share:{'+' if signed else ''}.1f} %"


def _table(header: list[str], rows: list[list[str]], left: int = 1) -> list[str]:
    """A Markdown table whose first ``left`` columns are text and the rest numbers."""
    rule = ["---" if index < left else "--:" for index in range(len(header))]
    return [*("| " + " | ".join(cells) + " |" for cells in (header, rule, *rows)), ""]
