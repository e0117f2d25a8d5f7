"""What users of 0.2.0 could import, pass, name or have saved is still taken."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import perfmodel
from perfmodel.decide.planning.goal import SHARED
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.cli import main
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction.result import Prediction
from perfmodel.workloads.built_in import names

DATA = Path(__file__).parent / "data"
BEFORE = json.loads((DATA / "public_0_2_0.json").read_text("utf-8"))
CATALOGUE = Catalogue.built_in()
REMOVED = {"validate": {"--ablation"}}
"""Options that a release announced as removed, by their command: 0.2.1."""


def commands(command: click.Command, path: str = "") -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            inner = command.get_command(click.Context(command), name)
            yield from commands(inner, f"{path} {name}".strip())


NOW = dict(commands(main))


@pytest.mark.parametrize("name", BEFORE["parameters"])
def test_every_name_can_be_imported_and_takes_its_parameters(name):
    there = getattr(perfmodel, name)
    if parameters := BEFORE["parameters"][name]:
        now = {*inspect.signature(there).parameters}
        assert {*parameters} - {"options"} <= now
        assert "options" not in parameters or "options" in now or {*SHARED} <= now


def test_every_field_of_scenarios_and_predictions_is_there():
    assert {*BEFORE["scenario"]} <= {*Scenario.model_fields}
    assert {*BEFORE["prediction"]} <= {*Prediction.model_fields}


@pytest.mark.parametrize("command", BEFORE["options"])
def test_every_command_has_its_options_and_their_choices(command):
    known = [each for each in NOW[command].params if isinstance(each, click.Option)]
    options = {word: each for each in known for word in (*each.opts, *each.secondary_opts)}
    assert {*BEFORE["options"][command]} - REMOVED.get(command, set()) <= options.keys()
    for word, option in options.items():
        of_all = BEFORE["choices"].get(word, [])
        choices = BEFORE["choices"].get(f"{command} {word}", of_all)
        assert {*choices} <= {*map(str, getattr(option.type, "choices", choices))}


def test_everything_in_the_catalogue_is_known_by_its_name():
    for kind, ids in BEFORE["hardware"].items():
        assert {*ids} <= {*CATALOGUE.ids(kind)}
    assert {*BEFORE["workloads"]} <= {*names()}
    for name in BEFORE["software"]:
        assert CATALOGUE.software(name)


@pytest.mark.parametrize("name", ["prediction_0_2_0.json", "prediction_0_2_0_layout.json"])
def test_a_saved_prediction_is_compared_with(name):
    result = CliRunner().invoke(main, ["compare", "--gpus", "32", "--compare-to", str(DATA / name)])
    assert result.exit_code == 0, result.stderr
    assert name in result.stdout
