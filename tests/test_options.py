"""An option is declared once: its field makes command-line option, sweep axis, widget and JSON schema."""

from __future__ import annotations

import ast
import inspect
import json
import pydoc
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import click
import pytest

import perfmodel.interfaces.cli
from app.options import MONEY, SCENARIO, options
from app.plan_form import known as plan_form
from perfmodel import Scenario, sweep
from perfmodel.core.choices import Algorithm
from perfmodel.core.records.options import MEASURED, Declared, declared
from perfmodel.core.updates import KINDS
from perfmodel.decide.planning import Goal
from perfmodel.decide.planning.goal import SHARED
from perfmodel.decide.sweeps.axes import COMPUTATION, LAYOUT, PLACE, PLAN, WAY, is_number
from perfmodel.equations.algorithm import CollectiveName
from perfmodel.equations.algorithms import ALGORITHMS, GRID_ALGORITHMS
from perfmodel.equations.sgd_variants import VARIANTS
from perfmodel.hardware.software import DEFAULT_SOFTWARE
from perfmodel.interfaces.cli import command_of
from perfmodel.interfaces.commands.calibrate import CalibrateRequest
from perfmodel.model.input.loading import DEFAULT_STORAGE
from perfmodel.model.options.conditions import OF_ONE_JOB, Conditions
from perfmodel.model.options.keywords import Options
from perfmodel.model.options.run import Run
from perfmodel.model.setting.resolve import DEFAULT_ACCELERATOR
from perfmodel.workloads.recipes.recipes import NAMES as RECIPES
from tests import keywords

OF_SCENARIO, OF_MONEY = declared(Scenario), declared(Conditions)
OF_RUN = declared(Run)
OF_SOURCES = {
    name: one
    for name, one in declared(CalibrateRequest).items()
    if name not in (*OF_SCENARIO, "jobs") and one.info.shell
}
EVERY = [*OF_SCENARIO.values(), *OF_MONEY.values(), *OF_RUN.values(), *OF_SOURCES.values()]
PREDICTING = ("predict", "scale", "compare", "explain", "sensitivity", "cite", "emulate", "calibrate")
PRICED = ("predict", "compare", "explain", "cite")
MEANT_OTHERWISE = {
    ("predict", "recipe"): "of a Run, whose class would cost every start 3 %; the words are held equal below",
    ("compare", "recipe"): "of every case, each by its own framework where nobody says",
    ("predict", "tokens"): "of a recipe alone, not of a run with its deadline",
    ("trace", "accelerator"): "of each trace, where its file does not say",
    ("validate", "data"): "of runs to predict, not to learn from",
    ("collective", "algorithm"): "of any collective, not of all-reduce alone",
    ("layouts", "precision"): "of a transformer's products: 8 bits too, and no fp32",
}
"""Options of a command's own that share a name with a declared one."""


def parameters(command: str) -> dict[str, click.Option]:
    found = command_of(command)
    return {one.opts[0].removeprefix("--"): one for one in found.params if isinstance(one, click.Option)}


def words(one: Declared) -> str:
    usual = one.default_template
    return f"{one.template}  [default: {usual}]" if usual else one.template


@pytest.mark.parametrize("one", EVERY, ids=lambda one: one.field)
def test_every_option_has_words_and_every_number_a_unit(one):
    assert one.words.endswith((".", "..."))
    assert one.words[0].isupper()
    assert bool(one.unit) == (one.type in (int, float))
    assert one.info.unit in ("", one.unit)
    assert (one.info.unit != "") == (one.unit in MEASURED)


@pytest.mark.parametrize("cls", [Scenario, Conditions, Run, CalibrateRequest])
def test_the_docstring_lists_the_fields_in_their_order_and_no_other(cls):
    section = inspect.getdoc(cls).partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    others = OF_SCENARIO if cls is CalibrateRequest else ()  # whose class says them
    fields = [name for name in declared(cls) if name not in others]
    assert [line.partition(" : ")[0] for line in section.splitlines() if line[0] != " "] == fields


@pytest.mark.parametrize("one", OF_SCENARIO.values(), ids=lambda one: one.field)
def test_an_option_of_a_scenario_is_the_same_wherever_it_is_offered(one):
    for command in PREDICTING:
        option = parameters(command)[one.name]
        if (command, one.name) != ("scale", "gpus"):  # a list, with words of its own
            assert option.help == words(one)
            assert option.name == one.field
    crossed: Any = parameters("sweep")[one.name]
    assert crossed.help == words(one).partition("  [default")[0]
    if one.choices:
        assert tuple(parameters("predict")[one.name].type.choices) == one.choices
        assert tuple(crossed.type.one.choices) == one.choices
    if not one.info.file:
        widget = options()[one.name]
        assert one.name in SCENARIO
        assert widget.label == one.label
        assert widget.help.replace(" [default", "  [default") == words(one)
        assert not one.choices or widget.choices == one.choices
        assert widget.kind == {int: "whole", float: "text"}.get(one.type, widget.kind)
    schema = Scenario.model_json_schema()["properties"][one.field]
    assert schema["title"] == one.label
    assert schema["description"] == one.words
    assert schema.get("unit", "") == one.unit
    kinds = schema.get("anyOf", [schema])
    assert not one.choices or tuple(kinds[0]["enum"]) == one.choices
    assert one.least is None or one.least in (kinds[0].get("minimum"), kinds[0].get("exclusiveMinimum"))
    assert one.most is None or kinds[0]["maximum"] == one.most


def test_every_option_is_crossed_in_one_place_of_a_sweep():
    assert sorted((*COMPUTATION, *WAY, *LAYOUT, *PLAN, *PLACE, "world_size")) == sorted(Scenario.model_fields)


@pytest.mark.parametrize("one", OF_RUN.values(), ids=lambda one: one.field)
def test_an_option_of_a_run_is_declared_once(one):
    option, widget = parameters("plan")[one.name], plan_form()[one.name]
    assert option.help == words(one)
    assert option.name == one.field
    assert widget.label == one.label
    assert one.words in inspect.getdoc(perfmodel.plan)
    assert {one.field, one.name.replace("-", "_")} & {*inspect.signature(perfmodel.plan).parameters}


@pytest.mark.parametrize("cls", [Scenario, Conditions, Run])
def test_help_shows_plain_types_and_defaults(cls):
    assert "FieldInfo" not in pydoc.render_doc(cls).partition("Parameters")[0]
    for one in declared(cls).values():
        assert inspect.signature(cls).parameters[one.field].default == one.default


@pytest.mark.parametrize("one", OF_SOURCES.values(), ids=lambda one: one.field)
def test_a_source_of_calibrate_is_declared_once(one):
    assert parameters("calibrate")[one.name].help == words(one)
    assert one.words in inspect.getdoc(perfmodel.calibrate)
    assert one.field in inspect.signature(perfmodel.calibrate).parameters


@pytest.mark.parametrize("one", OF_MONEY.values(), ids=lambda one: one.field)
def test_an_option_of_money_is_the_same_wherever_it_is_offered(one):
    for command in PRICED:
        if (command, one.field) != ("predict", "tokens"):  # which may also be those of a recipe
            assert parameters(command)[one.name].help == words(one)
    assert one.name in MONEY
    assert options()[one.name].label == one.label
    if one.field in OF_MONEY and one.field not in OF_ONE_JOB:
        assert parameters("plan")[one.name].help == parameters("sensitivity")[one.name].help == words(one)


NOT_PLANNED = ("fsdp", *KINDS)
"""A sharding of which plans try every one, and updates out of step, which no plan does."""


def test_what_all_candidates_of_a_plan_share_is_as_elsewhere():
    form = plan_form()
    for one in (
        *(OF_SCENARIO[name] for name in SHARED),
        *(each for name, each in OF_MONEY.items() if name not in OF_ONE_JOB),
    ):
        assert parameters("plan")[one.name].help == words(one)
        assert one.info.file or form[one.name].label == one.label
    for name in ("accelerator", "node", "instance", "strategy", "algorithm", "precision"):
        assert form[name].kind == "choices"
        known = (
            [one for one in options()[name].choices if one not in NOT_PLANNED] if name != "instance" else []
        )
        assert list(form[name].choices) == (known or list(form[name].choices))
        assert form[name].choices


def test_no_command_writes_a_declared_option_again():
    names = {one.name for one in EVERY}
    for file in sorted(Path(perfmodel.interfaces.cli.__path__[0]).glob("*.py")):
        for call in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "click.option":
                first = ast.literal_eval(call.args[0]) if isinstance(call.args[0], ast.Constant) else ""
                name = first.partition("/")[0].removeprefix("--")
                assert name not in names or (file.stem, name) in MEANT_OTHERWISE, (file.stem, name)


EXTRA = '''
from typing import Annotated, Literal

import perfmodel.model.options.scenario as home
from perfmodel.core.records.options import OptionInfo


class Wider(home.Scenario):
    """A scenario with one option more.

    Parameters
    ----------
    wire_format : How gradients are written on the wire.  [default: as they are computed]
    """

    wire_format: Annotated[Literal["as-is", "half"] | None, OptionInfo(label="Format on the wire")] = None


home.Scenario = Wider  # before anything reads it
'''
FOUND = """
import json
from click.testing import CliRunner
from perfmodel.interfaces.cli import main
from app.options import SCENARIO, options

widget = options()["wire-format"]
swept = CliRunner().invoke(main, ["sweep", "--gpus", "4", "--wire-format", "half,As_Is", "--json"])
print(json.dumps({
    "help": {c: CliRunner().invoke(main, [c, "--help"]).stdout for c in ("predict", "sweep", "compare")},
    "answer": json.loads(CliRunner().invoke(main, ["predict", "--wire-format", "HALF", "--json"]).stdout),
    "wrong": CliRunner().invoke(main, ["predict", "--wire-format", "x"]).stderr,
    "swept": [row["wire_format"] for row in json.loads(swept.stdout)["rows"]],
    "widget": [widget.label, widget.help, widget.choices, widget.kind, widget.usual, widget.name in SCENARIO],
    "schema": home.Scenario.model_json_schema()["properties"]["wire_format"],
    "signature": str(home.Scenario.__signature__.parameters["wire_format"]),
}))
"""


def test_one_field_more_is_in_help_sweep_widget_and_schema():
    done = subprocess.run([sys.executable, "-c", EXTRA + FOUND], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    for text in found["help"].values():
        assert "How gradients are written on the wire." in " ".join(text.split())
    assert "--wire-format [as-is|half]" in found["help"]["predict"]
    assert "[default: as they are computed]" in " ".join(found["help"]["compare"].split())
    assert found["answer"]["scenario"]["wire_format"] == "half"
    assert "'as-is', 'half'" in found["wrong"]
    assert found["swept"] == ["half", "as-is"]
    assert found["widget"] == [
        "Format on the wire",
        "How gradients are written on the wire. [default: as they are computed]",
        ["as-is", "half"],
        "choice",
        "as they are computed (default)",
        True,
    ]
    assert found["schema"]["title"] == "Format on the wire"
    assert found["schema"]["description"] == "How gradients are written on the wire."
    assert found["schema"]["anyOf"][0]["enum"] == ["as-is", "half"]
    assert "wire_format" in found["signature"]


def test_the_signature_shows_every_field_with_its_plain_type():
    code = "import inspect; from perfmodel import Scenario; print(inspect.signature(Scenario)); "
    code += "Scenario(world_size=2); print(inspect.signature(Scenario))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    first, built = done.stdout.splitlines()
    assert first == built
    assert "workload: str = 'resnet50'" in first
    assert "world_size: int = 1" in first
    assert "placement: Literal['contiguous', 'random'] = 'contiguous'" in first
    assert "Annotated" not in first
    assert [*inspect.signature(Scenario).parameters] == [*Scenario.model_fields]


def test_the_keywords_of_functions_are_the_fields_of_a_scenario():
    text = keywords.FILE.read_text("utf-8")
    assert keywords.rewritten(text) == text, "make keywords"
    assert {*Options.__annotations__, "world_size"} == {*Scenario.model_fields}


def test_defaults_in_words_are_the_models_own():
    assert OF_SCENARIO["accelerator"].usual.startswith(DEFAULT_ACCELERATOR)
    assert OF_SCENARIO["storage"].usual == DEFAULT_STORAGE
    assert OF_SCENARIO["framework"].usual.startswith(f"{DEFAULT_SOFTWARE}, ")


def test_words_of_other_options_are_those_of_what_they_name():
    assert (
        set(get_args(CollectiveName))
        == set(ALGORITHMS)
        == {*parameters("collective")["collective"].type.choices}
    )
    assert {*parameters("stragglers")["variant"].type.choices} == {*VARIANTS, "all"}
    for command in ("predict", "plan"):
        assert tuple(parameters(command)["recipe"].type.choices) == RECIPES
        assert parameters(command)["recipe"].help == words(declared(Goal)["recipe"])


def test_every_all_reduce_can_be_asked_for():
    registered = {*ALGORITHMS["all-reduce"], *GRID_ALGORITHMS}
    assert {*get_args(Algorithm)} == registered | {"auto", "best", "torus", "multi-ring", "nvls-tree"}


def test_defaults_of_commands_are_those_of_the_functions():
    usual = {name: one.default for name, one in inspect.signature(perfmodel.stragglers).parameters.items()}
    for name, field in (("variant", "variant"), ("workers", "workers"), ("local-steps", "local_steps")):
        assert parameters("stragglers")[name].usual == str(usual[field])
    assert parameters("stragglers")["distribution"].usual == usual["distribution"]
    assert parameters("plan")["max-gpus"].usual == str(Goal().max_gpus)
    usual = {name: one.default for name, one in inspect.signature(perfmodel.collective).parameters.items()}
    assert parameters("collective")["collective"].usual == usual["name"]
    assert parameters("collective")["algorithm"].usual == usual["algorithm"]


def test_a_word_is_understood_in_any_spelling_in_every_field():
    for one in OF_SCENARIO.values():
        for choice in one.choices:
            assert getattr(Scenario(**{one.field: choice.upper().replace("-", "_")}), one.field) == choice


def test_numbers_of_a_sweep_are_those_of_a_scenario():
    assert is_number("nics")
    assert is_number("oversubscription")
    assert not is_number("placement")


def test_a_placement_is_text_in_parquet(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    file = tmp_path / "a.parquet"
    racks = {"rack_nodes": 2, "oversubscription": 4.0, "node": "dgx-1v"}
    sweep(world_size=[32], placement=["contiguous", "random"], **racks).to_parquet(str(file))
    assert parquet.read_table(file)["placement"].to_pylist() == ["contiguous", "random"]


def test_names_joined_by_commas_have_no_gaps(invoke):
    assert "expected names joined by commas" in invoke("sweep", "--workload", "resnet50,,vgg16").stderr
