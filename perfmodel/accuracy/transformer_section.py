"""The report's section on transformers under model parallelism."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from perfmodel.accuracy.campaign import Outcome
from perfmodel.accuracy.measured_runs import shipped_whole_transformers
from perfmodel.accuracy.summary import furthest, grouped, statistics, trusted
from perfmodel.accuracy.transformer_compare import STATED_NODES, shipped_out_of_sample
from perfmodel.accuracy.transformer_fit import data_of, fit, learned_from, left_out
from perfmodel.accuracy.transformer_memory import layout_words, peaks, shares_needed
from perfmodel.accuracy.transformer_rows import shipped_transformer_runs
from perfmodel.accuracy.transformer_scale import largest
from perfmodel.evidence import TRANSFORMERS
from perfmodel.learned import neutral_means
from perfmodel.templating import render
from perfmodel.transformers.parameters import PARAMETERS, fitted, neutral_scores

SWEEP = "vtrain-single"
"""The source with more rows than all others together."""
FAR = 0.40
"""Errors beyond which a run is listed."""


@cache
def section() -> str:
    """Return the section, as Markdown; made once."""
    (rows, specs), (_, anchored) = shipped_out_of_sample()
    return render(
        "transformers.md.j2",
        specs=specs,
        anchored=anchored,
        stated_nodes=STATED_NODES,
        regret=specs["regret"],
        far=[row for row in furthest(filter(trusted, rows)) if abs(row.error or 0.0) > FAR],
        limit=FAR,
        largest=largest(rows),
        layout_words=layout_words,
        peaks=peaks(shipped_transformer_runs()),
        needed=shares_needed(shipped_transformer_runs()),
        parameters=PARAMETERS,
        learned=fitted().parameters,
        of_one_source=len(neutral_means(TRANSFORMERS)),
        neutral=by_neutral_priors(),
        sweep=SWEEP,
    )


def by_neutral_priors() -> dict[str, Any]:
    """Return statistics out of sample, all and by source, of a fit that is drawn towards neutral means."""
    runs = learned_from(shipped_transformer_runs())
    data, drawn_to = data_of([*runs, *shipped_whole_transformers()]), neutral_scores()
    times = np.exp(left_out(data, fit(data, drawn_to), drawn_to=drawn_to)).tolist()
    rows = [Outcome(run.time, time, run=run) for run, time in zip(runs, times, strict=False)]
    return {**statistics(rows), "by_source": grouped(rows, lambda row: row.run.source)}
