"""The accuracy report, ``validation/report.md``: the values that ``templates/report.md.j2`` shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from perfmodel.core.files.resources import folder
from perfmodel.core.files.templating import render
from perfmodel.core.files.writing import write_whole
from perfmodel.evidence.accuracy.collectives.collective_compare import shipped_out_of_sample, summarise
from perfmodel.evidence.accuracy.ledger import ledger
from perfmodel.evidence.accuracy.measured_table import records
from perfmodel.evidence.accuracy.mlperf import mlperf_section
from perfmodel.evidence.accuracy.ratio_fit import coverages
from perfmodel.evidence.accuracy.report import achievable, leave_out_file, memory_section, refused_section
from perfmodel.evidence.accuracy.report import provenance_section as provenance
from perfmodel.evidence.accuracy.report.error_statistics import counted, furthest, summary, trusted
from perfmodel.evidence.accuracy.report.headline import headline
from perfmodel.evidence.accuracy.report.misses import LIMIT, beyond_limit, explained
from perfmodel.evidence.accuracy.training_compare import Row
from perfmodel.evidence.accuracy.transformers import transformer_section
from perfmodel.evidence.traces import public_traces as traces
from perfmodel.model.fitted.calibration import calibration

WORST = 20
"""Number of rows in the table of the largest errors."""


def write_report(path: Path, specs: Sequence[Row], anchored: Sequence[Row], more: str = "") -> None:
    """Write the accuracy report as Markdown.

    Parameters
    ----------
    path : of the file
    specs : data-parallel runs predicted from specs
    anchored : the same runs predicted from an anchor
    more : a further section as Markdown, placed before that on MLPerf

    Raises
    ------
    InputError : the file cannot be written; it is then unchanged
    """
    write_whole(path, report(specs, anchored, more))


def report(specs: Sequence[Row], anchored: Sequence[Row], more: str = "") -> str:
    """Return the accuracy report as Markdown; parameters are those of ``write_report``."""
    summaries = summary(specs), summary(anchored)
    first = headline(specs, anchored)
    sections = (
        transformer_section.section(),
        memory_section.section(),
        provenance.section(),
        leave_out_file.section(),
        render("ratios.md.j2", rows=coverages()),
        more,
        mlperf_section.section(),
        achievable.section(),
        traces.section(),
        refused_section.section(specs),
    )
    return render(
        "report.md.j2",
        specs=specs,
        ledger=ledger.section(),
        assumed=calibration().assumed,
        headline=first,
        missed=[text for line in first for text in line.missed()],
        missed_over_sources=[text for line in first for text in line.missed_over_sources()],
        mlperf_covered=mlperf_section.covered(),
        sources=_sources(specs),
        modes=[
            _mode("From specs alone", specs, summaries[0]),
            _mode("Anchored on one accelerator", anchored, summaries[1]),
        ],
        ambiguous=summaries[1]["ambiguous"]["by"]["strategy"],
        limit=LIMIT,
        beyond=sorted(beyond_limit(summaries).items()),
        explained=explained(),
        sections=[section for section in sections if section],
        collectives=summarise(shipped_out_of_sample()),
        **_refusals(specs),
    )


def _sources(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return title, year and trust of each source, and its numbers of rows and predictions."""
    known = {source["key"]: source for source in records(folder("validation") / "sources.csv")}
    counts = Counter(row.run.source for row in rows)
    predicted = Counter(row.run.source for row in rows if row.error is not None)
    blank = {"title": "", "year": "", "trust": ""}
    return [
        {**known.get(key, blank), "key": key, "runs": counts[key], "predicted": predicted[key]}
        for key in sorted(counts)
    ]


def _refusals(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the numbers of rows of trust A and B, of those with batch and time, and of their refusals."""
    sure = [row for row in rows if trusted(row)]
    complete = [row for row in sure if row.reason not in ("no batch size", "no measured time")]
    refused = Counter(row.reason for row in complete if row.reason)
    return {"trusted": len(sure), "complete": len(complete), "refused": dict(refused.most_common())}


def _mode(title: str, rows: Sequence[Row], result: dict[str, Any]) -> dict[str, Any]:
    """Return what the report shows of one mode: its summary, and the rows with the largest errors."""
    overall = {"all of trust A and B": result}
    if result["ambiguous"]["n"]:
        overall["with ambiguous anchors"] = result["with_ambiguous"]
    overall["trust C"] = result["trust_c"]
    return {
        "title": title,
        "summary": result,
        "overall": overall,
        "worst": furthest(filter(counted, rows))[:WORST],
    }
