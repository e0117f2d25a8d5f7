"""The tables of ``docs/accuracy/explained-rows.md``: rows drawn at random, and what came of them.

``python -m docs.site.explained_rows`` writes them anew; what is said below each table is written by hand.
"""

from __future__ import annotations

import csv
import random
import re
from collections.abc import Sequence
from pathlib import Path

from perfmodel import explain_row
from perfmodel.core.files.resources import folder
from perfmodel.core.units import show, show_range
from perfmodel.evidence.accuracy.campaign import Campaign, Explanation
from perfmodel.evidence.accuracy.campaigns import CAMPAIGNS

PAGE = Path(__file__).parents[1] / "accuracy" / "explained-rows.md"
KINDS = ("transformers", "collectives", "training")
ROWS, SEED = 12, 20261126
TABLE = re.compile(r"(<!-- rows (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def drawn(campaign: Campaign[object]) -> list[str]:
    """Return the ids of rows drawn at random: so many sources, and one row of each.

    Of held-out rows those alone take part that have been predicted blind, which the ledger says.
    """
    with (folder("validation") / "ledger.csv").open(newline="", encoding="utf-8") as file:
        blind = {row["id"] for row in csv.DictReader(file)}
    held_out = campaign.held_out() - blind
    by_source: dict[str, list[str]] = {}
    for line in campaign.lines():
        if (id := campaign.id_of(line)) not in held_out:
            by_source.setdefault(line.cells["source"], []).append(id)
    chance = random.Random(f"{SEED} {campaign.kind}")
    return [chance.choice(by_source[source]) for source in chance.sample(sorted(by_source), ROWS)]


def table(rows: Sequence[Explanation]) -> str:
    """Return rows with what came of them, as a Markdown table."""
    lines = [
        "| | row | source | measured | predicted | error | 80 % interval | holds |",
        "| --: | --- | --- | --: | --: | --: | --- | --- |",
    ]
    for number, row in enumerate(rows, 1):
        outcome, unit = row.outcome, row.campaign.unit
        measured = "-" if outcome.measured is None else show(outcome.measured, unit)
        cells = [f"refused: {outcome.reason}", "-", "-", "-"]
        if outcome.predicted is not None:
            low, high = outcome.low_80, outcome.high_80
            span = "-" if low is None or high is None else show_range(low, high, unit)
            error = "-" if outcome.error is None else f"{outcome.error:+.0%}"
            held = {True: "yes", False: "no", None: "-"}[outcome.holds_80]
            cells = [show(outcome.predicted, unit), error, span, held]
        seen = "" if row.is_learned_from or outcome.predicted is None else " (in no fit)"
        source = row.line.source + (" (held out)" if row.held_out else seen)
        lines.append(f"| {number} | `{row.id}` | {source} | {measured} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def explained(kind: str) -> list[Explanation]:
    """Return the rows that were drawn of a kind."""
    return [explain_row(id, kind=kind).rows[0] for id in drawn(CAMPAIGNS[kind])]


def written(text: str) -> str:
    """Return the page with its tables made anew."""
    return TABLE.sub(lambda match: match[1] + table(explained(match[2])) + match[3], text)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text("utf-8")), "utf-8")
