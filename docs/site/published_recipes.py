"""The page of published recipes, made of ``validation/published_recipes.toml``: their speed next to ours.

``python -m docs.site.published_recipes`` writes it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from docs.site.written_pages import ROOT
from perfmodel import Prediction, predict
from perfmodel.core.files.writing import write_whole
from perfmodel.evidence.accuracy.report.error_statistics import errors

PAGE, TABLE = (
    ROOT / "docs" / "accuracy" / "published-recipes.md",
    ROOT / "validation" / "published_recipes.toml",
)
NEEDED = {"id", "name", "title", "url", "locator", "read_on", "published", "stated", "assumed", "assumptions"}
OPTIONAL = {"targeted", "read_in", "note"}
HEAD = """# Published recipes

Training runs that their trainers published in 2025 and 2026, each from its own document, next to what the
model says of them. None is among the measured runs: no fit has seen them, and no constant was chosen by them.
What a document states was entered from it; what it leaves open was assumed before the prediction was made,
with the published speed in sight, and was not changed afterwards. A layout that is not stated is the first of
`perfmodel layouts` for the rest of the recipe. The facts, with source, place and day, are in
`validation/published_recipes.toml`; `make readme` makes this page anew.

Speeds are tokens per second of one accelerator. An error is the predicted time of a step over the published
one, less 1: above 0 we are too slow. A speed that is derived from hours or days of a whole run includes
restarts, evaluation and checkpoints, which a predicted step does not. So few recipes, with so many
assumptions, show how wide an interval must be; they are no measure of the model's accuracy, for which see
[the report](../../validation/report.md).

| recipe | published | predicted | 80 % interval | error | inside |
| --- | --: | --: | --- | --: | --- |
"""
WHAT_WAS_ASSUMED = """
## What was assumed

| recipe | published as | source | assumed |
| --- | --- | --- | --- |
"""


class Recipe(NamedTuple):
    """A recipe with the model's prediction."""

    facts: Mapping[str, Any]
    prediction: Prediction

    @property
    def tokens(self) -> float:
        """Tokens of a step and accelerator."""
        options = options_of(self.facts)
        return float(options["global_batch_size"] * options["sequence_length"] / options["gpus"])

    @property
    def published(self) -> float:
        """Published speed of an accelerator [tokens/s]."""
        return FORMS[form_of(self.facts)](self.facts["published"], options_of(self.facts))

    @property
    def error(self) -> float:
        """Predicted time of a step over the published one, less 1."""
        return self.prediction.iteration_time * self.published / self.tokens - 1

    @property
    def limits(self) -> tuple[float, float]:
        """Speeds of an accelerator between which the model is 80 % sure [tokens/s]."""
        interval = self.prediction.interval
        return self.tokens / interval.high_80, self.tokens / interval.low_80

    @property
    def covered(self) -> bool:
        """Whether the published speed is between them."""
        low, high = self.limits
        return low <= self.published <= high

    @property
    def has_experts(self) -> bool:
        """Whether the network is a mixture of experts."""
        return int(options_of(self.facts).get("expert_parallel", 1)) > 1


def _hours(published: Mapping[str, float], options: Mapping[str, Any]) -> float:
    return published["tokens"] / (published["accelerator_hours"] * 3600)


def _days(published: Mapping[str, float], options: Mapping[str, Any]) -> float:
    return published["tokens"] / (published["days"] * 86400 * options["gpus"])


def _step(published: Mapping[str, float], options: Mapping[str, Any]) -> float:
    tokens: float = options["global_batch_size"] * options["sequence_length"] / options["gpus"]
    return tokens / published["step_time"]


FORMS: dict[frozenset[str], Callable[[Mapping[str, float], Mapping[str, Any]], float]] = {
    frozenset({"accelerator_hours", "tokens"}): _hours,
    frozenset({"days", "tokens"}): _days,
    frozenset({"step_time"}): _step,
    frozenset({"tokens_per_second"}): lambda published, options: (
        published["tokens_per_second"] / options["gpus"]
    ),
    frozenset({"tokens_per_second_per_accelerator"}): lambda published, options: published[
        "tokens_per_second_per_accelerator"
    ],
}
"""Names of the published figures -> function from them and the options to tokens/s of an accelerator."""


def form_of(facts: Mapping[str, Any]) -> frozenset[str]:
    """Return the form in which a speed was published."""
    return frozenset(facts["published"])


def options_of(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of the prediction: those stated and those assumed."""
    options = {**facts["stated"], **facts["assumed"]}
    if options["workload"].endswith(".json"):
        options["workload"] = str(TABLE.parent / options["workload"])
    return options


def facts(path: Path = TABLE) -> list[dict[str, Any]]:
    """Return the recipes as they were published.

    Raises
    ------
    ValueError : a fact without source, place or day, an unknown one, or an option stated and assumed
    """
    rows: list[dict[str, Any]] = tomllib.loads(path.read_text("utf-8"))["recipe"]
    for row in rows:
        absent = sorted(name for name in NEEDED if not row.get(name))
        unknown = sorted(set(row) - NEEDED - OPTIONAL)
        twice = sorted(set(row.get("stated", ())) & set(row.get("assumed", ())))
        if absent or unknown or twice or form_of(row) not in FORMS:
            raise ValueError(
                f"{row.get('id')}: absent {absent}, unknown {unknown}, stated and assumed {twice},"
                f" published as {sorted(row.get('published', ()))}"
            )
    return rows


@cache
def recipes() -> tuple[Recipe, ...]:
    """Return every recipe with its prediction."""
    return tuple(Recipe(row, predict(**options_of(row))) for row in facts())


def line(recipe: Recipe) -> str:
    """Return the line of a recipe in the first table."""
    low, high = recipe.limits
    predicted = recipe.tokens / recipe.prediction.iteration_time
    experts = ", experts" if recipe.has_experts else ""
    cells = (
        f"[{recipe.facts['name']}]({recipe.facts['url']}){experts}",
        f"{recipe.published:,.0f}",
        f"{predicted:,.0f}",
        f"{low:,.0f} to {high:,.0f}",
        f"{recipe.error:+.0%}",
        "yes" if recipe.covered else "no",
    )
    return f"| {' | '.join(cells)} |"


def assumption(recipe: Recipe) -> str:
    """Return the line of a recipe in the table of what was assumed."""
    row = recipe.facts
    figures = ", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in row["published"].items())
    source = f"{row['title']}; {row['locator']}; read on {row['read_on']}"
    if "read_in" in row:
        source += f", in: {row['read_in']}"
    return f"| {row['name']} | {figures} | {source} | {row['assumptions']} |"


def _summary(name: str, rows: Sequence[Recipe]) -> str:
    result = errors([row.error for row in rows])
    held = sum(row.covered for row in rows)
    width = fmean(high / low for low, high in (row.limits for row in rows))
    return (
        f"| {name} | {len(rows)} | {result.mean_absolute_error:.0%} | {result.median_absolute_error:.0%} |"
        f" {result.bias:+.0%} | {held} of {len(rows)} | {width:.1f} |"
    )


def summary(rows: Sequence[Recipe]) -> str:
    """Return errors and coverage over all recipes, with and without experts, and without the target."""
    groups = {
        "all": rows,
        "mixtures of experts": [row for row in rows if row.has_experts],
        "dense": [row for row in rows if not row.has_experts],
        "all but DeepSeek-V3 on H800, whose speed was in view": [
            row for row in rows if not row.facts.get("targeted")
        ],
    }
    head = (
        "\n| recipes | n | mean absolute error | median | bias | inside 80 % | mean upper / lower limit |\n"
        "| --- | --: | --: | --: | --: | --: | --: |\n"
    )
    return head + "\n".join(_summary(name, each) for name, each in groups.items()) + "\n"


def memory(rows: Sequence[Recipe]) -> str:
    """Return what the model says of the memory of recipes that ran."""
    doubted = []
    for row in rows:
        answer = row.prediction.memory
        if answer is not None and answer.fits_probability is not None and answer.fits_probability < 0.5:
            doubted.append(f"{row.facts['name']} ({answer.fits_probability:.0%})")
    if not doubted:
        return "\nThe model says of each of them that it more likely fits into memory than not.\n"
    return (
        "\nAll of these ran. With what is assumed of recomputation, the model gives the following less than"
        f" an even chance to fit into memory: {'; '.join(doubted)}.\n"
    )


def notes(rows: Sequence[Recipe]) -> str:
    """Return what became known of the misses."""
    lines = [
        f"- **{row.facts['name']}** ({row.error:+.0%}): {row.facts['note']}"
        for row in rows
        if "note" in row.facts
    ]
    return (
        "\n## The misses\n\nWritten after the predictions, which they did not change; seconds in them are of"
        " 2026-11-27.\n\n" + "\n".join(lines) + "\n"
    )


def page() -> str:
    """Return the page."""
    rows = recipes()
    return (
        HEAD
        + "\n".join(map(line, rows))
        + "\n"
        + summary(rows)
        + memory(rows)
        + notes(rows)
        + WHAT_WAS_ASSUMED
        + "\n".join(map(assumption, rows))
        + "\n"
    )


if __name__ == "__main__":
    write_whole(PAGE, page())
