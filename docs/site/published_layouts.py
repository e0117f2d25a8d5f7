"""The page that holds published layouts against the search: rank, gap, and which terms make it.

``python -m docs.site.published_layouts`` writes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from docs.site import published_recipes
from docs.site.written_pages import ROOT
from perfmodel import layouts
from perfmodel.core.files.writing import write_whole
from perfmodel.evidence.accuracy.campaign import learned_part, measured_lines
from perfmodel.evidence.accuracy.transformers.transformer_campaign import nearest_scenario
from perfmodel.evidence.accuracy.transformers.transformer_rows import COLUMNS, transformer_run_of
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.api.layouts import Layouts
from perfmodel.interfaces.reports.layout_comparison import full_name
from perfmodel.model.options.pairs import AGAINST
from perfmodel.model.prediction.memory_odds import short_verdict
from perfmodel.model.step.terms import TERMS

PAGE = ROOT / "docs" / "accuracy" / "published-layouts.md"
ALIKE = ("schedule", "context_method", "context_inner", "shard_group", "embedding_slots")
"""Options of a layout that all layouts of a search have alike."""
NVIDIA = "megatron-bridge-25"
"""Source of measured rows whose layouts NVIDIA chose."""
NEAR = 0.05
"""Gap up to which a published layout counts as near the first."""
MOST_TERMS = 3
"""Terms of a gap that are named, the largest."""
HEAD = """# Published layouts against the search

Layouts that trainers chose, each held against the first that `perfmodel layouts` finds for the same network,
accelerators, batch, precision, software, schedule and recomputed modules, by `--against`. A trainer may have
chosen for other reasons than the time of a step, and the first may be no better than the model that ranks it;
where the two tie, the model does not say that the trainer could have done better.

- **rank**: among the layouts that fit; of one that does not fit by the model, the rank that it would have.
- **gap**: its predicted time over that of the first, less 1, and whether the two tie: whether 1 is inside the
  80 % interval of the ratio, which leaves out what both predictions get wrong alike.
- **terms**: the largest parts of the gap, as shares of the first's time.

`make readme` makes this page anew.
"""
RECIPES = """
## Published recipes

Of [published recipes](published-recipes.md), where every option and assumption stands. Where the document
does not state the layout, the one that was assumed was the first of the search when the recipe was entered.

"""
ROWS = """
## NVIDIA's own runs

The rows of Megatron-Bridge's performance summary on DGX H100 and DGX B200 in
`validation/measured/transformer_runs.csv` that have a scenario, each job and layout once. Their times are
among what the model has learned from; their layouts are not. Experts are loaded equally by force.

"""
COLUMN_NAMES = """| job | published layout | rank | gap | tie at 80 % | fits | first of the search | terms |
| --- | --- | --: | --: | --- | --- | --- | --- |
"""


class Held(NamedTuple):
    """A published layout, and the search that it is held against."""

    name: str
    """The job, in words."""
    options: Mapping[str, Any]
    """Arguments of ``layouts``, the published layout among them."""

    def answer(self) -> Layouts:
        """Return the answer of the search."""
        return layouts(**self.options, top=1)


def _held(name: str, options: Mapping[str, Any]) -> Held:
    """Return a job with the options of a prediction as a search and a layout held against it."""
    layout = {key: options[key] for key in AGAINST if key in options and key not in ALIKE}
    question = {key: value for key, value in options.items() if key not in layout}
    return Held(name, question | {"against": ",".join(f"{key}={value}" for key, value in layout.items())})


def of_recipes() -> list[Held]:
    """Return the published recipes."""
    rows = published_recipes.facts()
    return [_held(row["name"], published_recipes.options_of(row)) for row in rows]


def of_rows() -> list[Held]:
    """Return NVIDIA's measured jobs that have a scenario, each with one layout once."""
    return list({tuple(sorted(each.options.items())): each for each in _every_row()}.values())


def _every_row() -> Iterator[Held]:
    path, before = learned_part("transformer_runs.csv")
    catalogue = Catalogue.built_in()
    for line in measured_lines(path, COLUMNS, before):
        if line.cells["source"] != NVIDIA:
            continue
        scenario = nearest_scenario(line, transformer_run_of(line, catalogue), catalogue)
        if scenario is None:
            continue
        options = scenario.model_dump(exclude_unset=True)
        gpus = options.pop("world_size")
        drops = ", tokens dropped" if "capacity_factor" in options else ""
        usual = {name: options.pop(name) for name in ALIKE if name in options}
        assert usual["schedule"] in ("1f1b", "interleaved")
        name = f"{options['workload']} on {gpus} {options['accelerator']}, {options['precision']}{drops}"
        yield _held(name, {**options, "gpus": gpus})


def line(held: Held, answer: Layouts) -> str:
    """Return the line of a published layout in its table."""
    against, first = answer.against, answer.rows[0]
    assert against is not None
    row = against.row
    low, high = (f"{row.time_ratio[end]:.2f}" for end in ("low_80", "high_80"))
    itself = row.slower_than_first is None
    tie = "the first" if itself else f"{'yes' if row.ties_with_first else 'no'}: {low} to {high}"
    fits = f"{short_verdict(row.memory['fits_probability'])}, {row.memory['bytes'] / 2**30:.0f} GiB"
    terms = ", ".join(
        f"{TERMS[name].label} {by / first.iteration_time:+.1%}"
        for name, by in list(against.difference.items())[:MOST_TERMS]
    )
    why = f"; {against.not_listed}" if against.not_listed else ""
    rank = f"{against.rank:,} of {answer.fitting:,}"
    gap = f"{row.time_ratio['value'] - 1:+.1%}"
    cells = held.name, full_name(row) + why, rank, gap, tie, fits, full_name(first), terms
    return f"| {' | '.join(cells)} |"


def summary(answers: Sequence[Layouts]) -> str:
    """Return how many published layouts are near the first, tie with it, fit, and are tried."""
    every = [answer.against for answer in answers if answer.against is not None]
    near = sum(each.row.time_ratio["value"] - 1 <= NEAR for each in every)
    ties = sum(each.row.ties_with_first for each in every)
    fit = sum(each.row.memory["bytes"] <= each.row.memory["capacity"] for each in every)
    tried = sum("try" not in each.not_listed for each in every)
    return (
        f"\nOf {len(every)} layouts {near} are within {NEAR:.0%} of the first or faster, {ties} tie with it;"
        f" the model says that {fit} fit. The search tries {tried} of them.\n"
    )


def table(held: Sequence[Held]) -> str:
    """Return the table of some published layouts, with its summary."""
    answers = [each.answer() for each in held]
    lines = (line(*pair) for pair in zip(held, answers, strict=True))
    return COLUMN_NAMES + "\n".join(lines) + "\n" + summary(answers)


def page() -> str:
    """Return the page."""
    return HEAD + RECIPES + table(of_recipes()) + ROWS + table(of_rows())


if __name__ == "__main__":
    write_whole(PAGE, page())
