"""One meaning and one spelling of an option in every command; old spellings, shares, durations and ranges."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import click
import pytest
from click.testing import CliRunner

from perfmodel import Scenario, sweep
from perfmodel.interfaces.cli import COMMANDS, command_of, main
from perfmodel.interfaces.cli.types import Cases, Counts, Names
from perfmodel.model.options.scenario import SHORT

TWO_TYPES = {
    "--algorithm": "of any collective in `collective`, of all-reduce elsewhere",
    "--precision": "of a transformer's products in `layouts`, fp8 among them; of any training elsewhere",
    "--price": "of each of several machines in `plan`, NODE=USD; of the one machine elsewhere",
    "--purchase-price": "likewise",
}
"""Options whose values differ between commands, and why."""
OLD = {
    ("plan", "--nodes"): "--node",
    ("plan", "--accelerators"): "--accelerator",
    ("plan", "--instances"): "--instance",
    ("plan", "--strategies"): "--strategy",
    ("plan", "--algorithms"): "--algorithm",
    ("plan", "--precisions"): "--precision",
    ("plan", "--local-batch-sizes"): "--local-batch-size",
    ("plan", "--max-global-batch"): "--max-global-batch-size",
    ("collective", "--link"): "--intra-link",
    ("collective", "--gpus"): "--ranks",
    ("stragglers", "--gpus"): "--workers",
}


def commands() -> Iterator[tuple[str, click.Command]]:
    def below(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
        if not isinstance(command, click.Group):
            yield name, command
            return
        for one, its in command.commands.items():
            yield from below(f"{name} {one}", its)

    for name in COMMANDS:
        yield from below(name, command_of(name))


def shown(option: click.Option) -> list[str]:
    return [name for name in (*option.opts, *option.secondary_opts) if name not in getattr(option, "old", ())]


def options() -> Iterator[tuple[str, click.Option, str]]:
    for command, its in commands():
        for option in its.params:
            if isinstance(option, click.Option):
                for name in shown(option):
                    yield command, option, name


def kind(option: click.Option) -> Any:
    """What a value is; a list of many is what each of them is."""
    of: Any = option.type
    of = of.one if isinstance(of, Names | Cases) else of
    if option.is_flag:
        return "flag"
    if isinstance(of, Counts | click.IntRange) or of.name == "integer":
        return "count"
    if isinstance(of, click.Choice):
        return tuple(of.choices)
    return {"float": "number"}.get(of.name, of.name)


def test_one_spelling_has_one_meaning_in_every_command():
    kinds: dict[str, dict[Any, list[str]]] = defaultdict(lambda: defaultdict(list))
    for command, option, name in options():
        kinds[name][kind(option)].append(command)
    several = {name: dict(of) for name, of in kinds.items() if len(of) > 1}
    assert several.keys() == TWO_TYPES.keys() | {"--strategy"}, several  # plan tries every sharding


def test_one_meaning_has_one_spelling_in_every_command():
    short = {field: word for word, field in SHORT.items()}
    for command, option, name in options():
        field = str(option.name)
        if field in Scenario.model_fields and not option.secondary_opts:
            assert name == f"--{short.get(field, field).replace('_', '-')}", command


def test_no_option_is_another_in_the_plural():
    names = {name for _, _, name in options()}
    number_of = {"--nodes", "--servers"}  # how many there are, beside which one it is
    either = {"--plots", "--collectives"}  # figures of a report, files of measured ones, beside the one asked
    assert not {name for name in names if f"{name}s" in names - number_of - either}


def test_old_spellings_work_and_are_not_shown():
    every = dict(commands())
    found = {
        (command, old): shown(option)[0]
        for command, its in every.items()
        for option in its.params
        for old in getattr(option, "old", ())
    }
    assert OLD.items() <= found.items()
    for command, old in found:
        text = CliRunner().invoke(main, [*command.split(), "--help"]).stdout
        assert f"{old} " not in text.replace(",", " "), old
    words = ("collective", "--size", "1MB", "--json")
    old = CliRunner().invoke(main, [*words, "--gpus", "8", "--link", "pcie3-x16"])
    new = CliRunner().invoke(main, [*words, "--ranks", "8", "--intra-link", "pcie3-x16"])
    assert old.stdout == new.stdout
    assert json.loads(new.stdout)["group_size"] == 8
    wrong = CliRunner().invoke(main, ["plan", "--precisions", "fp12"])
    assert "'--precision': 'fp12'" in wrong.stderr


def test_ranges_with_steps_are_read_by_scale_as_by_sweep():
    rows = json.loads(CliRunner().invoke(main, ["scale", "--gpus", "8-32:8", "--json"]).stdout)["rows"]
    swept = json.loads(CliRunner().invoke(main, ["sweep", "--gpus", "8-32:8", "--json"]).stdout)["rows"]
    counts = [8, 16, 24, 32]
    assert [row["world_size"] for row in rows] == [row["world_size"] for row in swept] == counts


def test_gpus_is_world_size_wherever_a_scenario_is_written(tmp_path):
    assert Scenario(gpus=32) == Scenario(world_size=32)
    with pytest.raises(ValueError, match="gpus and world_size: give one"):
        Scenario(gpus=32, world_size=32)
    assert len(sweep(gpus=[8, 16], columns=["gpus"])) == 2
    file = tmp_path / "a.toml"
    file.write_text("gpus = 8")
    said = json.loads(CliRunner().invoke(main, ["predict", "--scenario", str(file), "--json"]).stdout)
    assert said["scenario"]["world_size"] == 8


@pytest.mark.parametrize(
    ("share", "number"),
    [
        ("--jitter lognormal:cv=5%", "--jitter lognormal:cv=0.05"),
        ("--purchase-price 1e5 --used-fraction 76%", "--purchase-price 1e5 --used-fraction 0.76"),
        (
            "--node-mtbf 10h --checkpoint-time 1m --restart-time 10m",
            "--node-mtbf 10h --checkpoint-time 60s --restart-time 600s",
        ),
    ],
)
def test_shares_and_durations_are_read_as_people_type_them(share, number):
    words = ["predict", "--gpus", "8", "--epochs", "90", "--json"]
    said, meant = (CliRunner().invoke(main, [*words, *each.split()]) for each in (share, number))
    assert said.exit_code == 0, said.stderr
    assert json.loads(said.stdout)["economics"] == json.loads(meant.stdout)["economics"]
    assert json.loads(said.stdout)["iteration_time"] == json.loads(meant.stdout)["iteration_time"]


def test_what_is_no_share_has_no_percent():
    assert "'120%' is not a number" in CliRunner().invoke(main, ["predict", "--pue", "120%"]).stderr
