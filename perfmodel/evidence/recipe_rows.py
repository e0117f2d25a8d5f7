"""What recipes are known, of which networks, and what was published of them: a row for each batch."""

from __future__ import annotations

from collections.abc import Iterator

from perfmodel.core.errors import InputError, refusal, unknown_name
from perfmodel.core.files.tables import Record
from perfmodel.core.problem import Words
from perfmodel.core.records.names import squashed
from perfmodel.model.prediction.training.target import unpublished
from perfmodel.workloads import names, understood, workload
from perfmodel.workloads.recipes.recipes import NAMES, benchmarks, recipe, recipe_names
from perfmodel.workloads.recipes.token_recipes import NAME as TOKENS
from perfmodel.workloads.recipes.token_recipes import published_runs
from perfmodel.workloads.workload import Workload


def recipe_rows(word: str | None = None) -> list[Record]:
    """Return what was published of every recipe, a row for each batch.

    Parameters
    ----------
    word : the recipe, or part of the network's name, to leave alone; by default all

    Returns
    -------
    workload, recipe, framework (that goes with it; None: the usual one), optimizer (likewise), target,
    batch_size in ``batch_unit`` (samples, or tokens), amount in ``unit`` (epochs, samples or tokens), quality
    that was reached, smallest_batch_size and largest_batch_size (for which the recipe holds), source

    Raises
    ------
    InputError : a word that fits neither, or a network of which no recipe was published

    Examples
    --------
    >>> row = recipe_rows()[0]
    >>> row["workload"], row["recipe"], row["batch_size"], row["amount"], row["unit"]
    ('resnet50', 'stock', 256.0, 90.0, 'epochs')
    """
    every = [*_of_benchmarks(), *_of_tokens()]
    if word is None:
        return every
    rows = [row for row in every if word == row["recipe"]]
    rows = rows or [row for row in every if squashed(word) in squashed(str(row["workload"]))]
    if not rows:
        network = _network(word)
        if network is not None:
            raise refusal("recipe.none", "word", network=Words(unpublished(network)))
        raise unknown_name("recipe or network", word, {*NAMES, *(str(row["workload"]) for row in every)})
    return rows


def _network(word: str) -> Workload | None:
    try:
        id = understood(word).id
    except InputError:
        return None
    return workload(id) if id in names() else None  # a file means itself


def _of_benchmarks() -> Iterator[Record]:
    for benchmark, facts in benchmarks().items():
        for network in facts.workloads:
            for one in (recipe(benchmark, name) for name in recipe_names(benchmark)):
                for row in one.evidence:
                    yield {
                        "workload": network,
                        "recipe": one.name,
                        "framework": one.framework,
                        "optimizer": one.optimizer,
                        "target": one.fit.target,
                        "batch_size": row.batch_size,
                        "batch_unit": "samples",
                        "amount": row.amount,
                        "unit": row.unit,
                        "quality": row.quality,
                        "smallest_batch_size": one.fit.smallest_batch_size,
                        "largest_batch_size": one.fit.largest_batch_size,
                        "source": row.source,
                    }


def _of_tokens() -> Iterator[Record]:
    runs = published_runs()
    for run in runs:
        yield {
            "workload": run.workload,
            "recipe": TOKENS,
            "framework": None,
            "optimizer": None,
            "target": "the tokens that it was published with; of other networks 20 for each parameter",
            "batch_size": run.batch_tokens,
            "batch_unit": "tokens",
            "amount": run.tokens,
            "unit": "tokens",
            "quality": "as published",
            "smallest_batch_size": min(each.batch_tokens for each in runs),
            "largest_batch_size": max(each.batch_tokens for each in runs if each.tokens <= run.tokens),
            "source": run.source,
        }
