"""Caveats on plans: machines without measured runs, and batches that need more epochs."""

from __future__ import annotations

from typing import Any

from perfmodel.decide.planning.results import SearchResult
from perfmodel.model.prediction.intervals.bound import clipped_words

Row = dict[str, Any]

MORE_EPOCHS = 1.05
"""Growth of the epochs with a plan's batch above which a note questions given epochs."""


def extrapolated(result: SearchResult) -> list[str]:
    """Return why the chosen plan's interval is wider, and accelerators without measured runs."""
    chosen, which = result.in_question, "the plan chosen" if result.met else "the surest plan"
    interval = result.predicted(chosen).interval if chosen is not None else None
    lines = []
    if interval is not None and interval.wider_because:
        lines.append(f"the interval of {which} is wider because: {'; '.join(interval.wider_because)}")
    if interval is not None and interval.clipped_at is not None:
        lines.append(f"of its iterations, the interval is cut at {clipped_words(interval)}")
    first = {row["accelerator"]: row for row in reversed(result.front)}
    unseen = [
        row["accelerator_name"]
        for name, row in reversed(first.items())
        if (chosen is None or name != chosen["accelerator"])
        and (its := result.predicted(row).interval) is not None
        and any(row["accelerator_name"] in reason for reason in its.wider_because)
    ]
    if unseen:
        lines.append(f"other plans of the front rest on specs: no measured run on {', '.join(unseen)}")
    return lines


def of_options(result: SearchResult) -> list[str]:
    """Return what the prediction of the chosen plan says of given options, such as that one changes nothing.

    Without a chosen plan, as where no price is known, it is that of any plan.
    """
    given = tuple(f"--{name.replace('_', '-')} " for name in result.goal.options)
    return [
        line
        for line in result.predicted(result.in_question or result.row(0)).warnings
        if line.startswith(given)
    ]


def harder_batches(result: SearchResult) -> list[str]:
    """Return sentences on epochs that the batches of the chosen and the fastest plans need in addition.

    A run of a given length is held against what published runs of the workload took to their target.
    """
    goal = result.goal
    published = None if result.fit is not None else goal.published()
    if published is None:
        return []
    within = {} if goal.budget is None else {"the fastest within the budget": result.fastest}
    front = result.front
    rows = {"the plan chosen": result.chosen, **within, "the fastest": front[0] if front else None}
    counted = "epochs" if published.unit == "epochs" else "samples"
    grown, short, seen = [], [], set()
    for which, row in rows.items():
        batch = row["global_batch_size"] if row else None
        if row is None or batch in seen:
            continue
        seen.add(batch)
        needed = float(published.epochs(batch))
        growth, given = needed / published.smallest_epochs, row[counted]
        if growth > MORE_EPOCHS:
            grown.append(f"{growth:.2f} times at a global batch of {batch:,} ({which})")
        if given is not None and MORE_EPOCHS * given < needed:
            short.append(f"{batch:,} takes {needed:,.4g} ({which})")
    lines = []
    if grown:
        lines.append(
            f"To reach {published.target}, published runs take more {counted} than at small batches: "
            f"{', '.join(grown)}; without --epochs and --samples that is counted."
        )
    if short:
        lines.append(f"Too few {counted} to reach {published.target}: a global batch of {', '.join(short)}.")
    return lines
