"""Recipes of networks that predict the next token: a number of tokens, published or compute-optimal."""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

from perfmodel.core.errors import refusal
from perfmodel.core.units import many
from perfmodel.equations.transformer import compute_optimal_tokens
from perfmodel.workloads.catalogue import workload
from perfmodel.workloads.recipes.epochs_to_target import EpochsFit
from perfmodel.workloads.recipes.recipes import Evidence, Recipe, document, source_titles
from perfmodel.workloads.workload import Workload

NAME = "tokens"
ROUNDED = 1.05
"""Ratio of a power of two to the round number by which it is published: 4,194,304 tokens are "4 M"."""


class PublishedRun(NamedTuple):
    """Published training run of one network."""

    workload: str
    tokens: float
    batch_tokens: float | None
    """Tokens of a step, the largest if they grew; None where the source does not say."""
    source: str


def samples_of(tokens: float, sequence_length: int) -> float:
    """Return the samples of a published step of ``tokens``: whole ones, never more than were published.

    Batches are published rounded: "4 M tokens" are 1,024 samples of 4,096, within 5 %.

    >>> samples_of(4e6, 4096), samples_of(0.5e6, 2048), samples_of(62914560, 8192)
    (1024.0, 256.0, 7680.0)
    """
    samples = tokens / sequence_length
    power = 2.0 ** round(math.log2(samples)) if samples > 1 else 1.0
    return power if samples < power <= ROUNDED * samples else float(max(1, math.floor(samples)))


@cache
def published_runs() -> tuple[PublishedRun, ...]:
    """Return the published runs, of the smallest network first in each family."""
    return tuple(
        PublishedRun(workload, float(row["tokens"]), row.get("batch_tokens"), source_titles([row["source"]]))
        for row in document()["tokens"]
        for workload in row["workloads"]
    )


def batches_of(tokens: float, experts: bool = True) -> tuple[float, float]:
    """Return the smallest and the largest batch of published runs on as many tokens or fewer [tokens].

    Parameters
    ----------
    tokens, experts : as of ``largest_batch_run``

    >>> batches_of(1e12), batches_of(15e12), batches_of(15e12, experts=False)
    ((500000.0, 4194304.0), (500000.0, 62914560.0), (500000.0, 8388608.0))
    """
    smallest = min(run.batch_tokens for run in published_runs() if run.batch_tokens is not None)
    run = largest_batch_run(tokens, experts)
    return float(smallest), float((run and run.batch_tokens) or smallest)


@cache
def largest_batch_run(tokens: float, experts: bool) -> PublishedRun | None:
    """Return the published run with the largest batch on as many tokens or fewer; None where none is.

    Parameters
    ----------
    tokens : of the run
    experts : whether the network has experts.  Each of them sees a small share of a step's tokens, so their
        batches say nothing of a network without any (a choice: nobody has published such a comparison)
    """
    shorter = [run for run in published_runs() if run.batch_tokens is not None and run.tokens <= tokens]
    return next(
        (
            run
            for run in sorted(shorter, key=lambda run: -(run.batch_tokens or 0.0))
            if experts or not has_experts(run.workload)
        ),
        None,
    )


def has_experts(name: str) -> bool:
    """Return whether a network is a mixture of experts."""
    architecture = workload(name).architecture
    return architecture is not None and bool(architecture.experts)


def token_recipe(network: Workload, tokens: float | None = None) -> Recipe:
    """Return the recipe that trains a network on a number of tokens.

    Tokens to a loss hardly grow with the batch up to a critical one, which is larger the longer a network is
    trained (Zhang et al. 2024, arXiv 2410.21676): the batches for which the length holds are those that
    the published runs were trained with, up to the largest of any run on as many tokens or fewer; of a
    network without experts, of runs of such networks.

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
        words = f"{many(tokens)} tokens, as its publisher trained it"
    else:
        tokens, source = (
            float(compute_optimal_tokens(model.active_parameters)),
            source_titles(["hoffmann2022"]),
        )
        words = f"{many(tokens)} tokens, 20 for each {'active ' if model.experts else ''}parameter"
    smallest, largest = batches_of(tokens, bool(model.experts))
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
