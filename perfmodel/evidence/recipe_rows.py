"""Published training recipes: a row for each network, recipe and batch size, with what the run took."""

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
from perfmodel.workloads.recipes.token_recipes import batches_of, has_experts, published_runs
from perfmodel.workloads.workload import Workload


@dataclass(frozen=True)
class RecipeRow:
    """A published training run of one recipe at one batch size."""

    workload: str
    """Network that is trained."""
    recipe: str
    """Name of the recipe, as the option ``recipe`` takes it."""
    framework: str | None
    """Software of the recipe; None: the default one."""
    optimizer: str | None
    """Optimizer of the recipe; None: the default one."""
    target: str
    """Quality that ends the run."""
    batch_size: float | None
    """Batch size of an update, in ``batch_unit``; None where the source does not say."""
    batch_unit: str
    """samples or tokens."""
    amount: float
    """Length of the run, in ``unit``."""
    unit: str
    """epochs, samples or tokens."""
    quality: str
    """Quality that the run reached."""
    smallest_batch_size: float
    """Smallest batch size for which the recipe holds, in ``batch_unit``."""
    largest_batch_size: float
    """Largest batch size for which the recipe holds, in ``batch_unit``."""
    source: str
    """Publication."""


class Recipes(ListAnswer[RecipeRow]):
    """Published training runs of recipes, a row for each batch size."""


def recipe_rows(word: str | None = None) -> Recipes:
    """Return the published training runs of recipes, a row for each batch size.

    Parameters
    ----------
    word : name of a recipe, or part of a network's name, to select rows by; by default all

    Raises
    ------
    InputError : the word fits no recipe and no network, or no recipe of the network was published

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
    """Return the shipped network that a word means, None if there is none."""
    try:
        id = understood(word).id
    except InputError:
        return None
    return workload(id) if id in names() else None  # a file means itself


def _of_benchmarks() -> Iterator[RecipeRow]:
    """Yield the published runs of recipes with a target quality."""
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
    """Yield the published runs of language models, which end after a number of tokens."""
    for run in published_runs():
        smallest, largest = batches_of(run.tokens, has_experts(run.workload))
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
            smallest_batch_size=smallest,
            largest_batch_size=largest,
            source=run.source,
        )
