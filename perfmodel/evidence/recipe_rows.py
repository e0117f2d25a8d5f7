"""What recipes are known, of which networks, and what was published of them: a row for each batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from perfmodel.core.errors import InputError, refusal, unknown_name
from perfmodel.core.files.tables import ListAnswer
from perfmodel.core.problem import Words
from perfmodel.core.records.names import squashed
from perfmodel.model.prediction.training.target import unpublished
from perfmodel.workloads import names, understood, workload
from perfmodel.workloads.recipes.recipes import NAMES, benchmarks, recipe, recipe_names
from perfmodel.workloads.recipes.token_recipes import NAME as TOKENS
from perfmodel.workloads.recipes.token_recipes import published_runs
from perfmodel.workloads.workload import Workload


@dataclass(frozen=True)
class RecipeRow:
    """What was published of one recipe at one batch."""

    workload: str
    """Network that is trained."""
    recipe: str
    """How, by the name that ``recipe`` takes."""
    framework: str | None
    """Software that goes with it; None: the usual one."""
    optimizer: str | None
    """That goes with it; None: the usual one."""
    target: str
    """Quality that ends the run."""
    batch_size: float
    """Of an update, in ``batch_unit``."""
    batch_unit: str
    """samples or tokens."""
    amount: float
    """That the run took, in ``unit``."""
    unit: str
    """epochs, samples or tokens."""
    quality: str
    """That was reached."""
    smallest_batch_size: float
    """For which the recipe holds, in ``batch_unit``."""
    largest_batch_size: float
    """For which the recipe holds, in ``batch_unit``."""
    source: str
    """Who says so."""


class Recipes(ListAnswer[RecipeRow]):
    """What was published of recipes, a row for each batch."""


def recipe_rows(word: str | None = None) -> Recipes:
    """Return what was published of every recipe, a row for each batch.

    Parameters
    ----------
    word : the recipe, or part of the network's name, to leave alone; by default all

    Raises
    ------
    InputError : a word that fits neither, or a network of which no recipe was published

    Examples
    --------
    >>> row = recipe_rows()[0]
    >>> row.workload, row.recipe, row.batch_size, row.amount, row.unit
    ('resnet50', 'stock', 256.0, 90.0, 'epochs')
    """
    every = Recipes([*_of_benchmarks(), *_of_tokens()])
    if word is None:
        return every
    rows = [row for row in every if word == row.recipe]
    rows = rows or [row for row in every if squashed(word) in squashed(row.workload)]
    if not rows:
        network = _network(word)
        if network is not None:
            raise refusal("recipe.none", "word", network=Words(unpublished(network)))
        raise unknown_name("recipe or network", word, {*NAMES, *(row.workload for row in every)})
    return Recipes(rows)


def _network(word: str) -> Workload | None:
    try:
        id = understood(word).id
    except InputError:
        return None
    return workload(id) if id in names() else None  # a file means itself


def _of_benchmarks() -> Iterator[RecipeRow]:
    for benchmark, facts in benchmarks().items():
        for network in facts.workloads:
            for one in (recipe(benchmark, name) for name in recipe_names(benchmark)):
                for row in one.evidence:
                    yield RecipeRow(
                        workload=network,
                        recipe=one.name,
                        framework=one.framework,
                        optimizer=one.optimizer,
                        target=one.fit.target,
                        batch_size=row.batch_size,
                        batch_unit="samples",
                        amount=row.amount,
                        unit=row.unit,
                        quality=row.quality,
                        smallest_batch_size=one.fit.smallest_batch_size,
                        largest_batch_size=one.fit.largest_batch_size,
                        source=row.source,
                    )


def _of_tokens() -> Iterator[RecipeRow]:
    runs = published_runs()
    for run in runs:
        yield RecipeRow(
            workload=run.workload,
            recipe=TOKENS,
            framework=None,
            optimizer=None,
            target="the tokens that it was published with; of other networks 20 for each parameter",
            batch_size=run.batch_tokens,
            batch_unit="tokens",
            amount=run.tokens,
            unit="tokens",
            quality="as published",
            smallest_batch_size=min(each.batch_tokens for each in runs),
            largest_batch_size=max(each.batch_tokens for each in runs if each.tokens <= run.tokens),
            source=run.source,
        )
