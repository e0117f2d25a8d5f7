"""Recipes of networks that predict the next token: a number of tokens, published or compute-optimal."""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

from perfmodel.core.errors import refusal
from perfmodel.core.units import many
from perfmodel.equations.transformer import compute_optimal_tokens
from perfmodel.workloads.recipes.epochs_to_target import EpochsFit
from perfmodel.workloads.recipes.recipes import Evidence, Recipe, document, source_titles
from perfmodel.workloads.workload import Workload

NAME = "tokens"


class PublishedRun(NamedTuple):
    """Published training run of one network."""

    workload: str
    tokens: float
    batch_tokens: float | None
    """Tokens of a step, the largest if they grew; None where the source does not say."""
    source: str


def samples_of(tokens: float, sequence_length: int) -> float:
    """Return the samples of a step of ``tokens``, rounded to a power of two.

    >>> samples_of(4e6, 4096), samples_of(0.5e6, 2048)
    (1024.0, 256.0)
    """
    return 2.0 ** max(0, round(math.log2(tokens / sequence_length)))


@cache
def published_runs() -> tuple[PublishedRun, ...]:
    """Return the published runs, of the smallest network first in each family."""
    return tuple(
        PublishedRun(workload, float(row["tokens"]), row.get("batch_tokens"), source_titles([row["source"]]))
        for row in document()["tokens"]
        for workload in row["workloads"]
    )


def batches_of(tokens: float) -> tuple[float, float]:
    """Return the smallest and the largest batch of published runs on as many tokens or fewer [tokens].

    >>> batches_of(1e12)
    (500000.0, 4194304.0)
    """
    known = [(run.tokens, run.batch_tokens) for run in published_runs() if run.batch_tokens is not None]
    smallest = min(batch for _, batch in known)
    return float(smallest), float(max((batch for of, batch in known if of <= tokens), default=smallest))


def token_recipe(network: Workload, tokens: float | None = None) -> Recipe:
    """Return the recipe that trains a network on a number of tokens.

    Tokens to a loss hardly grow with the batch up to a critical one, which is larger the longer a network is
    trained (Zhang et al. 2024, arXiv 2410.21676): the batches for which the length holds are those that
    the published runs were trained with, up to the largest of any run on as many tokens or fewer.

    Parameters
    ----------
    network : a network that predicts the next token
    tokens : of the run; by default the published number, else 20 for each active parameter

    Raises
    ------
    InputError : the network does not predict the next token
    """
    model, length = network.architecture, network.sequence_length
    if model is None or not model.predicts_next_token or length is None:
        raise refusal("recipe.no_tokens", network=network.id, name=NAME)
    own = next((run for run in published_runs() if run.workload == network.id), None)
    if tokens is not None:
        words, source = f"{many(tokens)} tokens", "as given"
    elif own is not None:
        tokens, source = own.tokens, own.source
        words = f"{many(tokens)} tokens, as it was published"
    else:
        tokens, source = (
            float(compute_optimal_tokens(model.active_parameters)),
            source_titles(["hoffmann2022"]),
        )
        words = f"{many(tokens)} tokens, 20 for each {'active ' if model.experts else ''}parameter"
    smallest, largest = batches_of(tokens)
    evidence = tuple(
        Evidence(run.batch_tokens, run.tokens, "tokens", run.workload, run.source)
        for run in ([own] if own and own.batch_tokens else published_runs())
        if run.batch_tokens is not None
    )
    return Recipe(
        NAME,
        EpochsFit(
            benchmark="next token",
            target=words,
            unit="samples",
            batch_unit="samples",
            smallest_epochs=tokens / length,
            critical_batch_size=None,
            residual=0.0,
            smallest_batch_size=samples_of(smallest, length),
            largest_batch_size=samples_of(largest, length),
            batch_sizes=len(evidence),
            runs=len(evidence),
        ),
        (),
        source,
        evidence=evidence,
        tokens=tokens,
    )
