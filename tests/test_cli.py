"""The command line: help with examples that run, JSON that validates, text that fits."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
from importlib import import_module

import click
import pytest
from click.testing import CliRunner, Result
from rich.text import Text

from perfmodel.core.files.resources import folder
from perfmodel.evidence.traces.timeline import write_timeline
from perfmodel.hardware.catalogue.kinds import CLASSES
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.cli import COMMANDS, main
from perfmodel.interfaces.cli.render import console
from perfmodel.interfaces.register import command, commands
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import Prediction, predict
from perfmodel.model.prediction.collectives.collective import Collective
from perfmodel.workloads import groups, names, workload


def run(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


def leaves(command: click.Command, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], click.Command]]:
    """Every command that does something, with its path."""
    if not isinstance(command, click.Group):
        return [(path, command)]
    with click.Context(command) as ctx:
        children = [(name, command.get_command(ctx, name)) for name in command.list_commands(ctx)]
    return [leaf for name, child in children if child for leaf in leaves(child, (*path, name))]


LEAVES = leaves(main)


def examples() -> list[str]:
    found = []
    for _, each in LEAVES:
        found += re.findall(r"(?:Example: |^  +)(perfmodel .*)$", each.help or "", re.MULTILINE)
    return found


@pytest.mark.parametrize(("path", "command"), LEAVES, ids=[" ".join(path) for path, _ in LEAVES])
def test_every_command_has_help_with_an_example(path, command):
    assert command.help
    assert f"perfmodel {path[0]}" in command.help
    result = run(*path, "--help")
    assert result.exit_code == 0
    assert all(option.help for option in command.params if isinstance(option, click.Option))


@pytest.fixture
def once(monkeypatch):
    """What takes long is answered once, however many forms show it."""
    for place, name in (
        ("perfmodel.decide.planning", "search"),
        ("perfmodel.interfaces.commands.validate", "_answer"),
    ):
        module = import_module(place)
        monkeypatch.setattr(module, name, _kept(getattr(module, name)))


def _kept(function):
    answers = {}

    def kept(*args, **options):
        key = repr((args, options))
        if key not in answers:
            answers[key] = function(*args, **options)
        return answers[key]

    return kept


LINES = [line for one in commands() if "shell" not in one.without for line in one.in_shell]
FORMS = {example: tuple(line.forms) for line in LINES for example in line.examples}


def test_help_has_every_example_of_a_record():
    assert FORMS.keys() <= set(examples())


@pytest.mark.usefixtures("once")
@pytest.mark.parametrize("example", examples())
def test_every_example_in_the_help_runs_and_answers_in_every_form(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "validation").mkdir()
    runs = folder("validation") / "measured" / "training_runs.csv"
    (tmp_path / "my_runs.csv").write_text("".join(runs.open().readlines()[:40]))
    files_of_examples(tmp_path)
    words = shlex.split(example)[1:]
    result = run(*words)
    assert result.exit_code in (0, 1), result.stderr
    assert result.output
    forms = FORMS.get(example, ())
    # an address stays whole, so that it can be copied
    widest = max(len(line) for line in result.output.splitlines() if not line.strip().startswith("https://"))
    has_form = {*(f"--{form}" for form in forms), "--slurm"} & set(words)
    assert widest <= 80 or has_form or "--all" in words, f"{widest} columns"
    assert not re.search(r"^\s*%", result.output, re.MULTILINE), "a line begins with a unit"
    for form in () if has_form else forms:
        if form != "json" and "--output" in words:  # which writes a form of its own
            continue
        result = run(*words, f"--{form}")
        assert result.exit_code in (0, 1), result.stderr
        assert result.stdout.strip()
        if form == "json":
            assert json.loads(result.stdout, parse_constant=pytest.fail)  # neither NaN nor Infinity


@pytest.mark.parametrize(("kind", "model"), CLASSES.items())
def test_specs_json_is_what_a_spec_file_may_say(kind, model, invoke):
    listed = json.loads(invoke("specs", "list", kind, "--json").stdout)
    assert [spec["id"] for spec in listed] == Catalogue.built_in().ids(kind)
    for spec in listed:
        model.model_validate_json(json.dumps(spec))
    shown = json.loads(invoke("specs", "show", listed[0]["id"], "--json").stdout)
    assert shown == listed[0]


def test_specs_check_exits_with_1_where_it_finds_something_suspicious(tmp_path, invoke):
    assert invoke("specs", "check").exit_code == 0
    text = (folder("hardware_specs") / "accelerators" / "k80.toml").read_text()
    (tmp_path / "k80.toml").write_text(text.replace('host_link = "', 'host_link = "no-'))
    found = invoke("specs", "check", "--specs", tmp_path)
    assert found.exit_code == 1
    assert "accelerators/k80: suspicious: unknown link" in found.stdout


def test_specs_check_of_own_files_says_all_of_them_and_nothing_else(tmp_path, invoke):
    """3 GB/s is out of the range of memories of accelerators by more than ten times."""
    text = (folder("hardware_specs") / "accelerators" / "a10.toml").read_text()
    file = tmp_path / "slow.toml"
    text = text.replace('id = "a10"', 'id = "slow"')
    file.write_text(text)
    whole = invoke("specs", "check", "--all").stdout
    found = invoke("specs", "check", "--specs", file)
    remarks = [line.removeprefix("accelerators/a10") for line in whole.splitlines() if "/a10:" in line]
    assert [line.removeprefix("accelerators/slow") for line in found.stdout.splitlines()[:-1]] == remarks
    assert found.exit_code == 0
    start, end = text.split("[memory_bandwidth]\nvalue = ")
    file.write_text(f"{start}[memory_bandwidth]\nvalue = 3e9 #{end}")
    found = invoke("specs", "check", "--specs", file)
    assert found.exit_code == 1
    assert "accelerators/slow: suspicious: memory_bandwidth = 3e+09: those of the catalogue's" in found.stdout
    file.write_text(
        file.read_text().replace('id = "slow"', 'id = "slow"\naccepted = ["magnitude of memory_bandwidth"]')
    )
    assert invoke("specs", "check", "--specs", file).exit_code == 0


LONGEST = {
    "--workload": max(names(), key=len),
    "--accelerator": max(Catalogue.built_in().ids("accelerators"), key=len),
    "--node": max(Catalogue.built_in().ids("nodes"), key=len),
    "--intra-link": max(Catalogue.built_in().ids("links"), key=len),
    "--inter-link": max(Catalogue.built_in().ids("links"), key=len),
    "--strategy": "parameter-server",
    "--local-batch-size": "1000000000",
    "--input": "real",
}


@pytest.mark.parametrize("command", ["predict", "scale"])
@pytest.mark.parametrize("count", range(len(LONGEST) + 1))
def test_text_fits_80_columns(command, count, invoke):
    words = [word for pair in list(LONGEST.items())[:count] for word in pair]
    result = invoke(command, "--gpus", "1000000", "--precision", "bf16" if count > 1 else "amp", *words)
    assert result.exit_code == 0, result.stderr
    assert max(map(len, result.stdout.splitlines())) <= 80


def files_of_examples(folder):
    (folder / "times.csv").write_text("0.1\n0.11\n0.1\n0.12\n0.1\n")
    (folder / "a.toml").write_text("gpus = 8\n")
    (folder / "b.toml").write_text('gpus = 8\nworkload = "resnet50"\nprecision = "fp32"\n')
    (folder / "mine.csv").write_text(
        "workload,accelerator,local_batch_size,iteration_time\nresnet50,k80,32,0.5\n"
    )
    (folder / "saved.json").write_text(predict(Scenario(world_size=8)).to_json())
    (folder / "train.log").write_text("".join(f"Iter #{n}: 700.0 img/sec per GPU\n" for n in range(5)))
    (folder / "all_reduce.txt").write_text(command("diagnose").bodies["a listing"]["measured"])
    for name in ("my_trace.json", "step.json"):
        write_timeline(folder / name, predict(Scenario(world_size=2)))


@pytest.mark.parametrize("path", [path for path, _ in LEAVES if path != ("validate",)], ids=" ".join)
def test_json_parses(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files_of_examples(tmp_path)
    needed = {
        "app": ["--check"],
        "calibrate": ["--times", "times.csv"],
        "check-quote": ["--examples"],
        "diagnose": ["--gpus", "8", "--measured", "100ms"],
        "emulate": ["--steps", "1", "--speed", "1000"],
        "trace diff": ["my_trace.json", "step.json"],
        "trace report": ["my_trace.json", "--report", "report.html"],
        "trace summary": ["my_trace.json"],
        "compare": ["--set", "gpus=2"],
        "collective": ["--ranks", "8", "--size", "1MB", "--link", "pcie3-x16"],
        "layouts": [
            "--workload",
            "llama-3-8b",
            "--node",
            "dgx-h100",
            "--gpus",
            "8",
            "--global-batch-size",
            "8",
        ],
        "learning-rate": ["--global-batch-size", "512"],
        "plan": ["--max-gpus", "8"],
        "serve": ["--check"],
        "specs show": ["k80"],
        "workloads show": ["alexnet"],
    }.get(" ".join(path), [])
    result = run(*path, *needed, "--json")
    assert result.exit_code in (0, 1), result.stderr
    assert json.loads(result.stdout) is not None


def test_no_command_shows_what_there_is():
    result = run()
    assert result.exit_code == 0
    assert all(name in result.stdout for name in COMMANDS)


def test_predict_prints_what_python_returns():
    result = run("predict", "--gpus", "32", "--workload", "vgg16", "--json")
    told = Prediction.model_validate_json(result.stdout)
    assert told == Prediction.model_validate(predict(Scenario(workload="vgg16", world_size=32)).model_dump())


def test_the_example_in_the_first_sentence_of_the_manual_works_alone():
    result = run("predict", "--gpus", "32")
    assert result.exit_code == 0
    for word in ("iteration time", "scaling efficiency", "throughput", "defaults taken", "memory"):
        assert word in result.stdout


def test_a_scenario_file_and_options_laid_over_it(tmp_path):
    file = tmp_path / "job.toml"
    file.write_text('workload = "vgg16"\ngpus = 8\nprecision = "fp32"\nlocal-batch-size = 32\n')
    plain = json.loads(run("predict", "--scenario", str(file), "--json").stdout)
    assert (plain["scenario"]["workload"], plain["scenario"]["world_size"]) == ("vgg16", 8)
    over = json.loads(
        run("predict", "--scenario", str(file), "--gpus", "4", "--global-batch-size", "64", "--json").stdout
    )
    assert over["scenario"]["world_size"] == 4
    assert over["scaling"] == "strong"


def test_specs_of_ones_own_override_the_built_in(tmp_path):
    from perfmodel.core.files.resources import folder

    text = (folder("hardware_specs") / "accelerators" / "v100-sxm2-16gb.toml").read_text()
    (tmp_path / "v100-sxm2-16gb.toml").write_text(
        re.sub(r"value = 900e9|value = 9e11|value = 900000000000", "value = 1800e9", text)
    )
    usual = json.loads(run("predict", "--json").stdout)["iteration_time"]
    own = json.loads(run("predict", "--specs", str(tmp_path), "--json").stdout)["iteration_time"]
    assert own < usual


def test_scale_tables_agree():
    words = ("scale", "--gpus", "1,2,4-5", "--workload", "alexnet")
    rows = json.loads(run(*words, "--json").stdout)["rows"]
    table = list(csv.DictReader(io.StringIO(run(*words, "--csv").stdout)))
    assert [row["world_size"] for row in rows] == [1, 2, 4, 5]
    assert [float(row["iteration_time"]) for row in table] == [row["iteration_time"] for row in rows]


def test_a_link_shows_its_rings_by_rank_count():
    shown = run("specs", "show", "nvlink2-cube-mesh").stdout
    rows = [line.split() for line in shown.splitlines() if "ranks" in line]
    assert [row[1:4] for row in rows[:2]] == [["2", "ranks", "22.6"], ["3", "ranks", "45.2"]]


@pytest.mark.parametrize(
    ("words", "known"),
    [
        (("workloads", "list"), names()),
        (("specs", "list", "nodes"), Catalogue.built_in().ids("nodes")),
        (("specs", "list", "links"), Catalogue.built_in().ids("links")),
    ],
)
def test_what_is_listed_can_be_copied_by_its_name(words, known):
    lines = run(*words).stdout.splitlines()
    assert set(known) <= {line.split()[0] for line in lines if line.strip()}
    assert max(map(len, lines)) <= 80


def test_networks_are_listed_by_kind_families_together():
    lines = [line.strip() for line in run("workloads", "list").stdout.splitlines()]
    headings = [line for line in lines if line in groups()]
    assert headings == list(groups())
    assert sorted(name for members in groups().values() for name in members) == sorted(names())
    assert {"detr-r50", "unet3d", "ssd300-r34"} <= set(groups()["detection"])
    assert {"gnmt", "transformer-xl-base"} <= set(groups()["encoders"])
    llama_2 = [line.split()[0] for line in lines if line.startswith("llama-2")]
    assert llama_2 == ["llama-2-7b", "llama-2-13b", "llama-2-70b"]
    assert lines.index(next(line for line in lines if line.startswith("mixtral"))) > lines.index(headings[-1])


def test_a_word_lists_the_networks_that_have_it():
    rows = json.loads(run("workloads", "list", "Llama 3.1", "--json").stdout)
    assert {row["id"] for row in rows} == {"llama-3.1-8b", "llama-3.1-70b", "llama-3.1-405b"}
    (mixtral,) = json.loads(run("workloads", "list", "mixtral-8x7b", "--json").stdout)
    assert mixtral["active_parameters"] == 12_879_925_248 < mixtral["parameters"]
    assert "12,879,925,248 of them active" in run("workloads", "show", "mixtral-8x7b").stdout
    widths = json.loads(run("workloads", "show", "mixtral-8x7b", "--json").stdout)["architecture"]
    assert (widths["hidden"], widths["experts"], widths["top_k"]) == (4096, 8, 2)
    missing = run("workloads", "list", "mixtrel")
    assert missing.exit_code == 2
    assert "unknown workload 'mixtrel'; nearest: mixtral-8x7b" in missing.stderr


@pytest.mark.parametrize("name", ["resnet50", "bert-base", "mobilenet-v2", "dlrm"])
def test_a_layer_table_that_is_printed_can_be_read(name, tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text(run("workloads", "show", name, "--csv").stdout)
    assert workload(str(path)).layers == workload(name).layers


def test_collective_json_validates():
    words = ("collective", "--ranks", "16", "--nodes", "2", "--size", "1MB", "--link", "nvlink2-cube-mesh")
    told = Collective.model_validate_json(run(*words, "--inter-link", "ib-edr-100g", "--json").stdout)
    assert told.time >= told.lower_bound > 0
    assert told.runner_up is not None
    assert told.runner_up.time >= told.time
    assert told.algorithm_bandwidth == pytest.approx(1e6 / told.time)
    assert told.bus_bandwidth == pytest.approx(told.algorithm_bandwidth * 2 * 15 / 16)


@pytest.mark.published("Dutta et al. 2018: exponential times, K of P, (H_P - H_{P-K}) / mu")
def test_stragglers_json_holds_the_promised_keys():
    words = ("stragglers", "--variant", "k-sync", "--workers", "4", "--k", "2")
    told = json.loads(run(*words, "--distribution", "exponential", "--param", "rate=2", "--json").stdout)
    assert told["update_time"] == pytest.approx((1 / 4 + 1 / 3) / 2)
    assert told["time_per_gradient"] == pytest.approx(told["update_time"] / 2)
    assert told["status"] == "exact"
    promised = {"variant", "gradients_per_update", "mean_staleness", "fresh_fraction", "low", "high"}
    assert promised <= told.keys()
    order = json.loads(
        run("stragglers", "--order-statistic", "4:4", "--distribution", "exponential:rate=1", "--json").stdout
    )
    assert order["mean"] == pytest.approx(25 / 12)
    assert order["variance"] == pytest.approx(1 + 1 / 4 + 1 / 9 + 1 / 16)


def test_all_variants_agree_where_they_must():
    rows = {
        row["variant"]: row
        for row in json.loads(run("stragglers", "--workers", "8", "--k", "8", "--json").stdout)
    }
    assert rows["k-sync"]["update_time"] == pytest.approx(rows["sync"]["update_time"])
    assert rows["k-async"]["update_time"] == pytest.approx(rows["sync"]["update_time"])
    assert rows["async"]["update_time"] < rows["sync"]["update_time"]
    assert rows["async"]["mean_staleness"] == 7


def test_the_straggler_term_follows_the_law():
    def waited(*words):
        answer = json.loads(
            run("predict", "--gpus", "64", "--local-batch-size", "16384", "--json", *words).stdout
        )
        spread = ("forward_time", "backward_time", "launch_overhead_time")
        return answer["terms"]["straggler_time"] / sum(answer["terms"][name] for name in spread)

    assert waited("--jitter", "none") == 0
    assert waited("--jitter", "exponential:rate=1") == pytest.approx(
        sum(1 / i for i in range(1, 65)) - 1, rel=2e-3
    )
    assert waited("--jitter", "lognormal:cv=0.01") < waited() < waited("--jitter", "lognormal:cv=0.1")


def test_a_larger_batch_needs_more_epochs_to_the_target():
    def reached(batch):
        words = (
            "predict",
            "--gpus",
            "64",
            "--global-batch-size",
            str(batch),
            "--time-to-target",
            "--recipe",
            "mlperf",
            "--json",
        )
        answer = json.loads(run(*words).stdout)
        assert answer["time_to_target"]["time"] == pytest.approx(
            answer["time_to_target"]["amount"] * 1281167 / answer["samples_per_second"]
        )
        return answer["time_to_target"]

    small, large = reached(2048), reached(16384)
    assert 30 < small["amount"] < large["amount"]
    assert small["within_range"]
    assert not reached(256)["within_range"]


@pytest.mark.parametrize("quantity", ["1234 %", "12.3 GB/s", "(7-9 ms)"])
def test_a_text_is_printed_with_each_number_beside_its_unit(quantity, capsys):
    words = f"{'word ' * 15}{quantity} of it"  # whose number would just fit into the first line
    console().print(Text(words))
    first, second = (line.rstrip() for line in capsys.readouterr().out.splitlines())
    assert f"{first} {second}" == words
    assert second.startswith(quantity)
