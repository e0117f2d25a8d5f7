"""The templates that CONTRIBUTING.md points to are what they say they are."""

from __future__ import annotations

import csv
import doctest
import re
import runpy
import shutil
from pathlib import Path

import pytest

from perfmodel import Scenario, predict
from perfmodel.evidence.accuracy import read_runs
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.step.terms import TERMS

ROOT = Path(__file__).parents[1]
TEMPLATES = ROOT / "docs" / "templates"
KINDS = {"accelerator": "accelerators", "link": "links", "node": "nodes"}


@pytest.mark.parametrize("template", KINDS)
def test_a_filled_in_spec_is_one(template, tmp_path):
    text = (TEMPLATES / f"{template}.toml").read_text("utf-8")
    (id,) = re.findall(r'^id = "(.+)"$', text, re.M)
    (tmp_path / KINDS[template]).mkdir()
    shutil.copy(TEMPLATES / f"{template}.toml", tmp_path / KINDS[template] / f"{id}.toml")
    catalogue = Catalogue([tmp_path])
    field = {"accelerator": "accelerator", "link": "inter_link", "node": "node"}[template]
    assert predict(Scenario(gpus=16, **{field: id}), catalogue).iteration_time > 0


def test_a_network_a_formula_and_a_term_run(monkeypatch):
    built = runpy.run_path(str(TEMPLATES / "network.py"))["build"]("example")
    assert built.parameters > 0
    assert built.training_flops > 0
    term = runpy.run_path(str(TEMPLATES / "term.py"))["TERM"]
    monkeypatch.setitem(TERMS, term.name, term)
    assert predict(Scenario(gpus=8)).terms[term.name] > 0


def test_the_formula_does_what_its_example_says():
    names = runpy.run_path(str(TEMPLATES / "collective.py"))
    (example,) = doctest.DocTestFinder().find(names["example_all_reduce_time"], globs=names)
    assert doctest.DocTestRunner().run(example).failed == 0


def test_a_measured_run_is_read():
    (run,) = read_runs(TEMPLATES / "measured_runs.csv")
    with (ROOT / "validation" / "measured" / "training_runs.csv").open(newline="", encoding="utf-8") as file:
        columns = next(csv.reader(file))
    with (TEMPLATES / "measured_runs.csv").open(newline="", encoding="utf-8") as file:
        assert next(csv.reader(file)) == columns
    assert run.world_size == 8


def test_every_template_is_pointed_to():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    assert [path.name for path in TEMPLATES.iterdir() if f"docs/templates/{path.name}" not in text] == []
