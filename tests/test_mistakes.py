"""One wording for every error of pydantic, whatever the table is of."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from perfmodel import Conditions, InputError, Scenario
from perfmodel.core.files.reading import read_toml
from perfmodel.core.files.resources import folder
from perfmodel.decide.quote.file import quote_of
from perfmodel.hardware.accelerator import Accelerator
from perfmodel.hardware.catalogue.spec_file import check

CLAIM = {"quantity": "speedup", "value": 2.0}
QUOTE = {"title": "x", "claims": (CLAIM,)}
REFUSED = {
    "gpus = 'x': expected a whole number": lambda: Scenario(gpus="x"),
    "gpus = 2.5: expected a whole number": lambda: Scenario(gpus=2.5),
    "node = 3: expected text": lambda: Scenario(node=3),
    "price = 'x': expected a number": lambda: Conditions(price="x"),
    "region = 3: expected text": lambda: Conditions(region=3),
    "title = 3: expected text": lambda: quote_of(QUOTE | {"title": 3}),
    "title: the key is missing": lambda: quote_of({"claims": (CLAIM,)}),
    "claims = 3: expected a list of tables: [[claims]]": lambda: quote_of({"title": "x", "claims": 3}),
    "claim 1 = 3: expected a table": lambda: quote_of({"title": "x", "claims": (3,)}),
    "claim 1: unknown per 'board'; known: accelerator, job, node": lambda: quote_of(
        QUOTE | {"claims": (CLAIM | {"per": "board"},)}
    ),
    "claim 2: unknown key 'valu'; nearest: value": lambda: quote_of(
        QUOTE | {"claims": (CLAIM, CLAIM | {"valu": 1})}
    ),
    "gpus = 0: expected greater than or equal to 1 (and 2 more)": lambda: Scenario(node=3, gpus=0, pue=2),
    "x.toml: id: the key is missing; name: the key is missing; ": lambda: check(
        {"peak_flops": 3}, Accelerator, Path("x.toml")
    ),
    "(and 2 more)": lambda: check({"peak_flops": 3}, Accelerator, Path("x.toml")),
    "bandwidth: the key is missing; unknown key 'memory_bandwith'; nearest: memory_bandwidth": lambda: (
        misspelt()
    ),
    "claim 1: value = '1.2M images/s': not of tokens": lambda: quote_of(
        QUOTE | {"claims": (CLAIM | {"quantity": "tokens_per_second", "value": "1.2M images/s"},)}
    ),
    "claim 1: unknown key 'valu'; nearest: value; claim 2: value = 'fast' is not a plain number": lambda: (
        quote_of(QUOTE | {"claims": (CLAIM | {"valu": 1}, CLAIM | {"value": "fast"})})
    ),
}


def misspelt():
    """Refuse a card of the catalogue with a letter too few in one key."""
    table = read_toml(folder("hardware_specs") / "accelerators" / "k80.toml")
    table["memory_bandwith"] = table.pop("memory_bandwidth")
    check(table, Accelerator, Path("x.toml"))


@pytest.mark.parametrize("said", REFUSED)
def test_tables_of_any_kind_are_refused_in_the_same_words(said):
    with pytest.raises(InputError, match=re.escape(said)):
        REFUSED[said]()


def test_only_one_place_words_the_errors_of_pydantic():
    root = folder("hardware_specs").parent
    files = [*root.glob("perfmodel/**/*.py"), *root.glob("app/**/*.py")]
    assert [file.name for file in files if ".errors(" in file.read_text("utf-8")] == ["mistakes.py"]
