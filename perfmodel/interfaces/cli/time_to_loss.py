"""Text of ``perfmodel predict --time-to-loss``."""

from __future__ import annotations

from typing import Any

from perfmodel.core.units import rate, show
from perfmodel.interfaces.cli.render import console, lines_to, table
from perfmodel.model.prediction.training.time_to_loss import ahead_words


def show_time_to_loss(answer: dict[str, Any]) -> None:
    """Print the time of every strategy to a loss, and which strategy is ahead at what time."""
    out = console()
    out.print()
    rows = table(f"to a loss of {answer['loss']:g}", "updates/s", "gradients", "stale", "floor", "time")
    notes = []
    for row in answer["rows"]:
        if row["note"]:
            notes.append(f"{row['strategy']}: {row['note']}")
        if "updates_per_second" not in row:
            continue
        rows.add_row(
            row["strategy"],
            rate(row["updates_per_second"]),
            str(row["gradients_per_update"]),
            f"{row['mean_staleness']:.1f}",
            "-" if row["floor"] is None else f"{row['floor']:.2g}",
            "-" if row["time"] is None else show(row["time"], "s"),
        )
    out.print(rows)
    for line in (ahead_words(answer["ahead"], show), *notes, answer["note"]):
        lines_to(out, line)
