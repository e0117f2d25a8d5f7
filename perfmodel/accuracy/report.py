"""Write the report that shows predictions beside measurements."""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from perfmodel.accuracy import achievable, mlperf_section, overlap_order, published_cases
from perfmodel.accuracy.collective_fit import compare_collectives, summarise
from perfmodel.accuracy.collective_rows import shipped_measurements
from perfmodel.accuracy.compare import Row
from perfmodel.accuracy.headline import headline, percent
from perfmodel.accuracy.misses import LIMIT, beyond_limit, explained
from perfmodel.accuracy.paragraphs import paragraphs
from perfmodel.accuracy.summary import counted, summary
from perfmodel.calibration import calibration
from perfmodel.equations.ring_search import ring_bandwidth, rings
from perfmodel.resources import folder
from perfmodel.specs.store import Catalogue
from perfmodel.traces import table as traces
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
        *achievable.section(),
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
        f"{len(rows)} runs.  Each source is predicted by a fit to all the others: the efficiencies and the numbers of scaling",
        "have not seen it.  The width of its intervals is learned from how far the other sources are missed, each by a fit",
        "without itself; those fits have seen the judged source, so its width is not strictly blind to it.  The form of the",
        "model, and what an unseen condition must widen at the least, were chosen with all sources in view, so errors on a",
        "source nobody has seen will be larger: how much larger, the lines of MLPerf below show.  The rate of decoding comes",
        "from `dlperf`, and the spread of one process's steps from `ryujaehun` and `jcjohnson`.  `lambda-tf` ran with XLA, as",
        "its repository's README sets it for every benchmark.  Assumed, neither measured nor learned: "
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
    lines = headline(specs, anchored)
    header = ["", "n", "mean", "mean over sources", "median", "bar", "naive mean", "naive median"]
    header += ["80 % covers", "95 % covers"]
    shown = [
        [
            line.name,
            str(line.n),
            percent(line.mean),
            percent(line.mean_over_sources),
            percent(line.median),
            " / ".join(map(percent, line.bar)) if line.bar else "-",
            percent(line.naive_mean),
            percent(line.naive_median),
            *map(percent, line.covered),
        ]
        for line in lines
    ]
    for each in mlperf_section.covered():
        cells = [percent(each.mean), "-", percent(each.median), "-", "-", "-", *map(percent, each.shares)]
        shown.append([f"{each.name} *", str(each.n), *cells])
    missed = [told for line in lines for told in line.missed()]
    over_sources = [told for line in lines for told in line.missed_over_sources()]
    return [
        "## In short",
        "",
        *_table(header, shown),
        "* the iteration time of MLPerf submissions, by the shipped fit, which has seen none of them.",
        "",
        "Bars: mean over rows and median below the pair given; 80 % intervals cover 75 to 87 %, 95 % intervals 91 to 98 %.",
        "Missed: " + ("; ".join(missed) if missed else "none") + ".",
        "Held to the bar of the mean over rows, the mean over sources misses it in: "
        + ("; ".join(over_sources) if over_sources else "none")
        + ".",
        "",
        "A mean over rows is mostly that of the sources with the most rows; the mean over sources is that of the",
        "sources' own means, each of the same weight.  An anchored line counts rows whose anchor is unique; where",
        "measurements on one accelerator differ by more than 10 % the anchor is ambiguous, and the line below it",
        "counts those rows too.",
        "",
        *_refusals(specs),
    ]


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
    overall = {"all of trust A and B": found}
    if found["ambiguous"]["n"]:
        overall["with ambiguous anchors"] = found["with_ambiguous"]
    overall["trust C"] = found["trust_c"]
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
            "over sources",
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
                percent(group["mean_over_sources"]),
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
        "Families whose median error exceeds the limit in either mode; `misses.md` says why, as far as anybody knows.",
        "",
        *_table(
            ["family", "entry", "from specs", "n", "anchored", "n"],
            [
                [
                    f"{kind} {name}",
                    "yes" if (kind, name) in entries else "missing",
                    *(
                        cell
                        for mode in ("specs", "anchored")
                        for cell in (
                            percent(modes[mode].median) if mode in modes else "-",
                            str(modes[mode].n) if mode in modes else "0",
                        )
                    ),
                ]
                for (kind, name), modes in sorted(found.items())
            ],
            left=2,
        ),
    ]


def _table(header: list[str], rows: list[list[str]], left: int = 1) -> list[str]:
    """A Markdown table whose first ``left`` columns are text and the rest numbers."""
    rule = ["---" if index < left else "--:" for index in range(len(header))]
    return [*("| " + " | ".join(cells) + " |" for cells in (header, rule, *rows)), ""]
