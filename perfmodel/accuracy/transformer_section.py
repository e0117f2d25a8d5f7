"""The report's section on transformers under model parallelism."""

from __future__ import annotations

import math
from functools import cache
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perfmodel.accuracy.transformer_compare import STATED_NODES, Row, shipped_out_of_sample
from perfmodel.accuracy.transformer_fit import data_of, fit, learned_from, left_out
from perfmodel.accuracy.transformer_memory import fitting, layout_words, peak_errors, peaks
from perfmodel.accuracy.transformer_rows import shipped_transformer_runs
from perfmodel.accuracy.transformer_scale import largest
from perfmodel.evidence import TRANSFORMERS
from perfmodel.learned import neutral_means
from perfmodel.templating import render
from perfmodel.transformers.parameters import PARAMETERS, fitted, neutral_scores
from perfmodel.transformers.step import Step, step_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

SWEEP = "vtrain-single"
"""The source with more rows than all others together."""
FAR = 0.40
"""Errors beyond which a run is listed."""
LEFT_OUT: dict[str, tuple[str, ...]] = {
    "attention": ("attention",),
    "element-wise traffic": ("elementwise",),
    "launches": ("launches",),
    "recomputation": ("recomputation",),
    "embeddings, logits and loss": ("logits",),
    "tensor, context and expert traffic": ("tensor", "context", "experts"),
    "bubble and unequal stages": ("bubble", "unequal_stages"),
    "sends between stages": ("stage_sends",),
    "exposed gradients and parameters": ("data",),
    "contention": ("contention",),
    "optimizer": ("optimizer",),
    "what every step takes": ("overhead",),
    "growth with nodes": ("growth",),
}
"""Ingredients, and their terms of ``Step``."""


class Bar(NamedTuple):
    """A figure beside what it was to reach."""

    name: str
    value: float
    stated: float
    """The same with recomputation as all rows state it."""
    bar: float


@cache
def section() -> str:
    """Return the section, as Markdown; made once."""
    published = peaks(shipped_transformer_runs())
    (rows, specs), (_, anchored) = shipped_out_of_sample()
    return render(
        "transformers.md.j2",
        specs=specs,
        anchored=anchored,
        stated_nodes=STATED_NODES,
        bars=bars(specs, anchored),
        regret=specs["regret"],
        ablation=ablation(),
        far=far(rows),
        limit=FAR,
        largest=largest(rows),
        layout_words=layout_words,
        peaks=published,
        peak_errors=peak_errors(published),
        fitting=fitting(shipped_transformer_runs()),
        parameters=PARAMETERS,
        learned=fitted().parameters,
        of_one_source=len(neutral_means(TRANSFORMERS)),
        neutral=by_neutral_priors(),
        sweep=SWEEP,
    )


class Neutral(NamedTuple):
    """Mean errors where priors that rest on one source are at their neutral means."""

    over_sources: float
    over_rows: float
    median: float
    by_source: dict[str, float]


def by_neutral_priors() -> Neutral:
    """Return the errors out of sample of a fit that is drawn towards neutral means."""
    data, drawn_to = data_of(learned_from(shipped_transformer_runs())), neutral_scores()
    logs = left_out(data, fit(data, drawn_to), drawn_to=drawn_to)
    errors = np.abs(np.exp(logs - data.logs) - 1)
    by_source = {
        source: float(errors[data.sources == source].mean()) for source in np.unique(data.sources).tolist()
    }
    return Neutral(fmean(by_source.values()), float(errors.mean()), float(np.median(errors)), by_source)


def bars(specs: dict[str, Any], anchored: dict[str, Any]) -> list[Bar]:
    """Return what was to be reached, by both readings of recomputation."""
    other, held = specs["as_stated"], anchored["as_stated"]

    def bar(name: str, part: str, key: str, limit: float) -> Bar:
        return Bar(name, specs[part][key], other[part][key], limit)

    sweep, rest = specs["regret"]
    return [
        bar("mean over sources of their means", "all", "mean_over_sources", 0.11),
        bar("mean of rows", "all", "mean_absolute_error", 0.12),
        bar("median of rows", "all", "median_absolute_error", 0.085),
        bar(f"{STATED_NODES}: mean", STATED_NODES, "mean_absolute_error", 0.11),
        bar(f"{STATED_NODES}: median", STATED_NODES, "median_absolute_error", 0.08),
        Bar(
            "anchored on the nearest other run: mean over sources",
            anchored["all"]["mean_over_sources"],
            held["all"]["mean_over_sources"],
            0.08,
        ),
        *(
            Bar(
                f"cost of the layout predicted best, {name}",
                specs["regret"][name]["mean"],
                other["regret"][name]["mean"],
                limit,
            )
            for name, limit in ((sweep, 0.03), (rest, 0.04))
        ),
    ]


def far(rows: Sequence[Row]) -> list[Row]:
    """Return the trusted rows whose error is largest, as far as it is beyond ``FAR``."""
    beyond = [row for row in rows if row.error is not None and abs(row.error) > FAR and row.run.trust in "AB"]
    return sorted(beyond, key=lambda row: (-abs(math.log(1 + (row.error or 0.0))), row.run.run_id))


def ablation() -> dict[str, float]:
    """Return by ingredient how the mean over sources grows without it, in sample, the rest scaled to fit."""
    data = data_of(learned_from(shipped_transformer_runs()))
    with np.errstate(divide="ignore", invalid="ignore"):
        step: Step = step_of(data.jobs, fitted().parameters)
    whole = np.asarray(step.iteration_time)
    sources = np.unique(data.sources).tolist()

    def mean_error(time: Array) -> float:
        logs = np.log(time) - data.logs
        off = [float(np.mean(logs[data.sources == source])) for source in sources]
        scaled = np.abs(np.exp(logs - np.mean(off)) - 1)
        return float(np.mean([scaled[data.sources == source].mean() for source in sources]))

    complete = mean_error(whole)
    terms = step._asdict()
    return {
        name: mean_error(whole - sum(terms[term] for term in left)) - complete
        for name, left in LEFT_OUT.items()
    }
