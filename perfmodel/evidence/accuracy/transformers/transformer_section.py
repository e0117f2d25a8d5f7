"""The report's section on transformers under model parallelism."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from perfmodel.core.files.templating import render
from perfmodel.evidence.accuracy.campaign import Outcome
from perfmodel.evidence.accuracy.measured_runs import shipped_whole_transformers
from perfmodel.evidence.accuracy.report.error_statistics import furthest, grouped, statistics, trusted
from perfmodel.evidence.accuracy.transformers.transformer_compare import STATED_NODES, shipped_out_of_sample
from perfmodel.evidence.accuracy.transformers.transformer_fit import data_of, fit, learned_from, left_out
from perfmodel.evidence.accuracy.transformers.transformer_memory import layout_words, peaks, shares_needed
from perfmodel.evidence.accuracy.transformers.transformer_rows import shipped_transformer_runs
from perfmodel.evidence.accuracy.transformers.transformer_scale import largest
from perfmodel.model.fitted.learned import neutral_means
from perfmodel.model.fitted.ledger_scales import TRANSFORMERS
from perfmodel.model.transformers.parameters import PARAMETERS, fitted, neutral_scores

SWEEP = "vtrain-single"
"""The source with more rows than all others together."""
FAR = 0.40
"""Absolute error above which the report lists a run."""


@cache
def section() -> str:
    """Return the section as Markdown; rendered once."""
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
    """Return out-of-sample error statistics, all and by source, of fits whose priors have neutral means."""
    runs = learned_from(shipped_transformer_runs())
    data, drawn_to = data_of([*runs, *shipped_whole_transformers()]), neutral_scores()
    times = np.exp(left_out(data, fit(data, drawn_to), drawn_to=drawn_to)).tolist()
    rows = [Outcome(run.time, time, run=run) for run, time in zip(runs, times, strict=False)]
    return {**statistics(rows), "by_source": grouped(rows, lambda row: row.run.source)}
