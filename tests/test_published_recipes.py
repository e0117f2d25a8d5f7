"""docs/accuracy/published-recipes.md says what the model says of published recipes, each with its source."""

from __future__ import annotations

import csv
import re
from datetime import date

import pytest

from docs.site.published_recipes import (
    FORMS,
    HEAD,
    NEEDED,
    PAGE,
    TABLE,
    assumption,
    facts,
    form_of,
    line,
    memory,
    notes,
    options_of,
    recipes,
    summary,
)
from perfmodel.core.files.resources import folder

RECIPES = recipes()
TEXT = PAGE.read_text("utf-8")
NAMES = [recipe.facts["id"] for recipe in RECIPES]


@pytest.mark.any_version
@pytest.mark.parametrize("recipe", RECIPES, ids=NAMES)
def test_the_page_says_what_the_model_says(recipe):
    assert line(recipe) in TEXT.splitlines(), "make readme"
    assert assumption(recipe) in TEXT.splitlines(), "make readme"


@pytest.mark.any_version
def test_the_page_has_errors_memory_and_notes():
    assert TEXT.startswith(HEAD)
    for part in (summary(RECIPES), memory(RECIPES), notes(RECIPES)):
        assert part in TEXT, "make readme"
    assert len(re.findall("^\\| ", TEXT, re.MULTILINE)) == 2 * len(RECIPES) + 4 + 6


def test_there_are_ten_recipes_five_of_them_with_experts_each_of_its_own_document():
    assert len(RECIPES) >= 10
    assert sum(recipe.has_experts for recipe in RECIPES) >= 5
    assert len({recipe.facts["url"] for recipe in RECIPES}) == len(RECIPES)
    assert len(set(NAMES)) == len(RECIPES)


@pytest.mark.parametrize("recipe", RECIPES, ids=NAMES)
def test_every_recipe_has_its_source_and_day(recipe):
    row = recipe.facts
    assert row["url"].startswith("http")
    assert isinstance(row["read_on"], date)
    assert row["note"]


def test_no_recipe_is_of_a_source_of_the_fit():
    with (folder("validation") / "sources.csv").open(newline="", encoding="utf-8") as file:
        addresses = " ".join(row["address"] for row in csv.DictReader(file))
    for recipe in RECIPES:
        assert recipe.facts["url"] not in addresses


@pytest.mark.parametrize("name", sorted(NEEDED - {"id"}))
def test_a_fact_without_source_is_refused(name, tmp_path):
    block = TABLE.read_text("utf-8").split("[[recipe]]")[1]
    short = re.sub(f"^{name} = .*$", "", block, flags=re.MULTILINE)
    assert short != block
    path = tmp_path / "recipes.toml"
    path.write_text(f"[[recipe]]{short}", "utf-8")
    with pytest.raises(ValueError, match=name):
        facts(path)


def test_an_option_is_stated_or_assumed_not_both(tmp_path):
    block = TABLE.read_text("utf-8").split("[[recipe]]")[1].replace("assumed = { ", "assumed = { gpus = 8, ")
    path = tmp_path / "recipes.toml"
    path.write_text(f"[[recipe]]{block}", "utf-8")
    with pytest.raises(ValueError, match="gpus"):
        facts(path)


@pytest.mark.published(
    "DeepSeek-V3: 180,000 accelerator hours for 10^12 tokens, so 19.9 s for 15,360 x 4,096 on 2,048"
)
def test_forms_of_a_published_speed_agree():
    options = {"gpus": 2048, "global_batch_size": 15360, "sequence_length": 4096}
    hours = {"accelerator_hours": 180e3, "tokens": 1e12}
    speed = FORMS[frozenset(hours)](hours, options)
    step = 15360 * 4096 / 2048 / speed
    assert step == pytest.approx(19.91, abs=0.01)
    days = 180e3 / 2048 / 24
    others = (
        {"step_time": step},
        {"days": days, "tokens": 1e12},
        {"tokens_per_second": speed * 2048},
        {"tokens_per_second_per_accelerator": speed},
    )
    assert set(FORMS) == {frozenset(hours), *map(frozenset, others)}
    for published in others:
        assert FORMS[frozenset(published)](published, options) == pytest.approx(speed)


@pytest.mark.published("parameters that the documents state, in 10^9: all, and of the token")
@pytest.mark.parametrize(
    ("id", "parameters", "active"),
    [
        ("pangu-ultra-moe", 718, None),
        ("trinity-large", 398, None),
        ("dots-llm1", 142.8, 14.0),
        ("megascale-moe", 352, None),
        ("nanochat-d32", 1.879048192, None),
        ("phi-4-mini", 3.84, None),
    ],
)
def test_networks_have_the_published_parameters(id, parameters, active):
    from perfmodel.workloads.from_huggingface import workload_from_huggingface

    (row,) = (recipe.facts for recipe in RECIPES if recipe.facts["id"] == id)
    architecture = workload_from_huggingface(options_of(row)["workload"]).architecture
    assert architecture.parameters / 1e9 == pytest.approx(parameters, rel=2.5e-3)
    if active is not None:
        assert architecture.active_parameters / 1e9 == pytest.approx(active, rel=2.5e-3)


def test_an_interval_holds_what_is_inside_it():
    for recipe in RECIPES:
        low, high = recipe.limits
        assert low < recipe.tokens / recipe.prediction.iteration_time < high
        assert recipe.covered == (low <= recipe.published <= high)
        assert form_of(recipe.facts) in FORMS
