"""The page of what own runs teach."""

from __future__ import annotations

import math
from pathlib import Path

from perfmodel.core.records.options import Described
from perfmodel.core.units import per_cent
from perfmodel.evidence.fitting.other_sizes import HEADINGS
from perfmodel.evidence.fitting.own_file import OwnRuns
from perfmodel.evidence.fitting.own_summary import COLUMNS, MEANING, SIGN, measured_words, moved_rows
from perfmodel.interfaces.reports.given import given, in_short
from perfmodel.interfaces.reports.page import Listing, Page, Span, Spans

DRAWN = 30
"""Most runs in the chart."""


def page_of_own_runs(answer: OwnRuns, command: str | None, request: Described | None = None) -> Page:
    """Return the page of what own runs teach.

    Parameters
    ----------
    command : shell command that repeats it, or None
    request : what was given, or None
    """
    fields = {name: head for name, head in COLUMNS.items() if answer.worth.is_tested or name != "left_out"}
    runs = [
        (
            one.where,
            one.run,
            ", ".join(measured_words(one)),
            *(per_cent(math.expm1(getattr(one, name)), signed=True) for name in fields),
        )
        for one in answer.answers
    ]
    tested = "left_out" if answer.worth.is_tested else "after"
    spans = [
        Span(
            one.where,
            math.exp(getattr(one, tested)),
            None,
            None,
            ", before ".join(
                per_cent(math.expm1(error), signed=True) for error in (getattr(one, tested), one.before)
            ),
            mark=math.exp(one.before),
        )
        for one in answer.answers[:DRAWN]
    ]
    caption = (
        f"Predicted over measured, equal steps are equal factors; the line is what was measured, the point "
        f"{COLUMNS[tested]}, the red mark (a diamond in text) before."
    )
    meaning = [f"{head}: {MEANING[name]}" for name, head in fields.items()]
    sizes = answer.other_sizes
    of_sizes = [] if sizes is None else [Listing(sizes.title, HEADINGS, sizes.rows, texts=2)]
    files = ", ".join(Path(name).name for name in answer.files)
    return Page(
        question=f"Do the runs of {files} make predictions better?",
        answer=[answer.card.advice],
        charts=[Spans("Errors of the runs", spans, caption, line=1.0, logarithmic=True)],
        tables=[
            in_short(answer.card),
            *given(request),
            Listing("The runs", ("", "run", "measured", *fields.values()), runs, texts=2),
            *of_sizes,
            Listing("What moved", ("of", "factor", "known within"), moved_rows(answer.learned)),
        ],
        assumptions=[*([] if sizes is None else [sizes.assumed]), *meaning, SIGN],
        notes=answer.warnings,
        sources=["the fit that comes with the package, and your runs"],
        command=command,
    )
