"""An explanation is the prediction: its equations give their results."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from functools import cache
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import perfmodel
from perfmodel.core.formula import FORMULAS
from perfmodel.decide import economics as economics_module
from perfmodel.decide.economics import economics
from perfmodel.decide.explanations import explain, write
from perfmodel.decide.explanations import money as money_module
from perfmodel.decide.explanations.derivation import derivation
from perfmodel.decide.explanations.equations import latex
from perfmodel.decide.explanations.plain_math import plain
from perfmodel.decide.explanations.sources import assumed_of, sources_of
from perfmodel.decide.sensitivity.elasticity import case_of
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.cli import main
from perfmodel.model.fitted.calibration import calibration
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict
from perfmodel.model.step.communication import message_times
from perfmodel.model.step.messages import messages
from perfmodel.model.step.parts import computation_of, fabric_of
from tests.recorder import recorded

BUILT_IN = Catalogue.built_in()
EXACT = {
    "one accelerator": {},
    "a ring over Ethernet": {
        "world_size": 32,
        "accelerator": "p100-pcie-16gb",
        "node": "pcie-workstation-8gpu",
        "precision": "fp32",
    },
    "a ring in the cloud": {"world_size": 32, "node": "aws-p3.16xlarge"},
    "out of a rack": {
        "world_size": 64,
        "node": "aws-p3.16xlarge",
        "oversubscription": 4.0,
        "rack_nodes": 4,
        "placement": "random",
    },
    "at a kink": {"world_size": 32, "node": "dgx-1v"},
    "a network alone": {"world_size": 4, "accelerator": "k80", "workload": "vgg16"},
    "a tree": {"world_size": 8, "accelerator": "gtx-1080-ti", "algorithm": "tree", "overlap": "wfbp"},
    "two levels": {"world_size": 16, "node": "aws-p3.16xlarge", "algorithm": "hierarchical"},
    "after the pass": {
        "world_size": 16,
        "node": "aws-p3.16xlarge",
        "overlap": "none",
        "workload": "bert-base",
    },
    "merged": {"world_size": 8, "accelerator": "gtx-1080-ti", "overlap": "optimal"},
    "parameter servers": {
        "world_size": 16,
        "node": "aws-p3.16xlarge",
        "strategy": "parameter-server",
        "servers": 3,
        "workload": "vgg16",
    },
    "servers for every worker": {
        "world_size": 6,
        "accelerator": "p100-pcie-16gb",
        "node": "pcie-workstation-8gpu",
        "accelerators_per_node": 2,
        "strategy": "parameter-server",
        "servers": 1,
        "local_aggregation": False,
    },
    "whole tensors to servers of another kind": {
        "world_size": 16,
        "node": "aws-p3.16xlarge",
        "strategy": "parameter-server",
        "servers": 4,
        "server_node": "aws-p2.8xlarge",
        "framework": "tensorflow",
        "workload": "vgg16",
    },
    "variables on the host": {
        "world_size": 4,
        "node": "aws-p3.16xlarge",
        "strategy": "parameter-server-local",
    },
    "one process": {"world_size": 4, "strategy": "data-parallel-single-process"},
    "one process, not Python": {
        "world_size": 4,
        "strategy": "data-parallel-single-process",
        "framework": "mxnet",
        "workload": "mobilenet-v2",
    },
    "anchored": {"world_size": 16, "anchor": "iteration_time=0.145s@1", "inter_link": "ethernet-10g-tcp"},
    "anchored by a rate": {"world_size": 16, "anchor": "samples_per_second=400@1", "input": "real"},
    "real input": {"world_size": 8, "input": "real", "loader_workers": 30},
    "slow storage": {"world_size": 8, "input": "real", "storage": "ebs-gp2"},
    "micro-batches": {
        "world_size": 8,
        "accelerator": "a100-sxm4-40gb",
        "accumulation_steps": 4,
        "workload": "bert-large",
        "precision": "bf16",
        "framework": "tensorflow-xla@2020",
    },
    "as NCCL would": {"world_size": 16, "algorithm": "auto"},
    "many nodes": {"world_size": 512, "node": "dgx-a100-80gb", "workload": "bert-large"},
    "sixteen behind switches": {"world_size": 16, "node": "dgx-2"},
    "a law of one's own": {"world_size": 8, "jitter": "lognormal:cv=0.2", "framework": "torch7-cudnn-4"},
}
EXACT |= {
    "the cheapest": {"world_size": 16, "algorithm": "best"},
    "the cheapest of several": {"world_size": 32, "node": "dgx-1p", "algorithm": "best", "overlap": "wfbp"},
    "by priority": {"world_size": 8, "overlap": "priority"},
    "no jitter": {"world_size": 8, "jitter": "none", "overlap": "priority"},
}
SEARCHED = {
    "fused": {"world_size": 8, "overlap": "fused", "accelerator": "gtx-1080-ti"},
}
ALL = EXACT | SEARCHED


@cache
def of(name):
    return explain(Scenario(**ALL[name]))


def case(name):
    return case_of(Scenario(**ALL[name]), BUILT_IN, calibration(), Conditions(price=10.0))


@pytest.mark.parametrize("name", ALL)
def test_the_terms_are_the_predictions_own(name):
    found, predicted = of(name), predict(Scenario(**ALL[name]))
    assert found.terms == predicted.terms
    assert sum(found.terms.values()) == pytest.approx(predicted.iteration_time, rel=1e-12)
    assert found.complete
    last = found.equations[-1]
    assert last.formula == "iteration.iteration_time"
    assert last.value == pytest.approx(predicted.iteration_time, rel=1e-12)
    for symbol in last.symbols:
        assert symbol.value == pytest.approx(predicted.terms[symbol.parameter], rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("name", ALL)
def test_every_equation_gives_its_result(name):
    """From the JSON alone: the formula of that name, with the values shown, gives the value shown."""
    assert evaluated(of(name)) >= 20


def evaluated(explanation):
    told = json.loads(explanation.to_json())
    count = 0
    for equation in told["equations"]:
        function = FORMULAS[equation["formula"]].function
        if any(isinstance(symbol["value"], str) for symbol in equation["symbols"]):
            continue  # NCCL's graph and tables
        values = {
            symbol["parameter"]: np.inf
            if symbol["value"] is None
            else np.array(symbol["value"])
            if isinstance(symbol["value"], list)
            else symbol["value"]
            for symbol in equation["symbols"]
        }
        if equation["formula"].startswith("server_load."):
            values["servers"] = int(values["servers"])  # whose shards are counted
        result = function(**values)
        result = result[0] if isinstance(result, tuple) else result
        assert result == pytest.approx(np.array(equation["value"]), rel=1e-9, abs=1e-300), equation
        count += 1
    return count


@pytest.mark.parametrize("name", ALL)
def test_a_number_is_carried_from_equation_to_equation(name):
    equations = of(name).equations
    for equation in equations:
        for symbol in equation.symbols:
            if symbol.equation is not None:
                assert symbol.equation < equation.number
                assert equations[symbol.equation - 1].value == symbol.value
    used = {
        number
        for equation in equations
        for symbol in equation.symbols
        for number in (symbol.equation, *symbol.rests_on)
    }
    assert {equation.number for equation in equations} - used == {equations[-1].number}


def concatenated(values):
    return np.concatenate([np.atleast_1d(np.asarray(value, dtype=float)) for value in values])


@pytest.mark.parametrize("name", ALL)
def test_the_equations_are_those_that_ran(name):
    """Every formula shown was called by ``predict``, and came to the value shown."""
    with recorded() as calls:
        predict(Scenario(**ALL[name]))
    ran = {}
    for call in calls:
        parts = call.result if isinstance(call.result, tuple) else (call.result,)
        for part in parts:
            if isinstance(part, (int, float, np.ndarray, np.generic)):
                ran.setdefault(call.name, []).append(np.atleast_1d(part).ravel())
    for equation in of(name).equations:
        formula = equation.formula
        assert formula in ran
        results = concatenated(ran[formula])
        for value in np.atleast_1d(equation.value):
            assert np.min(np.abs(results - value)) <= 1e-9 * abs(value) + 1e-15, formula


MONEY = {
    "on demand": {},
    "a run that fails": {
        "epochs": 90,
        "node_failure_interval": 3.6e6,
        "checkpoint_time": 60.0,
        "restart_time": 600.0,
        "carbon_intensity": 300.0,
        "pue": 1.3,
        "host_power": 800.0,
    },
    "a run that writes checkpoints": {
        "epochs": 900,
        "node_failure_interval": 3.6e5,
        "checkpoint_time": 60.0,
    },
    "checkpoints written by every machine": {
        "epochs": 900,
        "node_failure_interval": 3.6e5,
        "checkpoint_bandwidth": 1e6,
    },
    "a node of one's own": {
        "samples": 1e9,
        "purchase_price": 150e3,
        "used_fraction": 0.5,
        "electricity_price": 0.2,
    },
    "a price given": {"price": 10.0, "electricity_price": 0.2, "epochs": 1},
}


@pytest.mark.any_version
@pytest.mark.parametrize("name", MONEY)
@pytest.mark.parametrize("which", ["a ring in the cloud", "parameter servers", "anchored"])
def test_costs_are_worked_out_to_what_economics_says(name, which):
    scenario, conditions = Scenario(**ALL[which]), Conditions(**MONEY[name])
    found = explain(scenario, conditions=conditions)
    told = economics(predict(scenario), conditions, BUILT_IN)
    costs = {key: each.value for key, each in found.costs.items()}
    for span, key in (("iteration", "per_iteration"), ("run", "run")):
        for amount, unit in (("cost", 1), ("energy", 3.6e6), ("carbon", 1)):
            expected = told[key] and told[key][amount]
            shown = costs.get(f"{amount}_of_{span}")
            assert shown == (expected if expected is None else pytest.approx(expected * unit, rel=1e-15))
    if told["reliability"]:
        assert costs["goodput"] == told["reliability"]["goodput"]
        assert costs.get("checkpoint_interval") == told["reliability"]["checkpoint_interval"]
        assert costs["failures_of_run"] == told["reliability"]["failures"]
    values = {}
    for equation in found.equations:
        values[equation.term] = equation.value
        assert equation.formula in found.recorded
    assert set(costs) <= set(values)
    for key, value in costs.items():
        assert values[key] == pytest.approx(value, rel=1e-12), key
    assert evaluated(found) > 20
    assert "patterson2021" in found.sources
    assert ("daly2006" in found.sources) == (told["reliability"] is not None)
    text = write.text(found)
    assert max(map(len, text.splitlines())) <= 80
    assert all(f"{key.upper()} = " in text for key in costs)
    assert all(line in " ".join(text.split()) for line in told["assumed"])


@pytest.mark.parametrize("name", ["one process", "one process, not Python", "anchored", "slow storage"])
def test_a_term_that_takes_time_ends_its_one_section_or_is_arithmetic_on_equations(name):
    """Also the update of one process, which stragglers rest on and which is listed after them."""
    found = of(name)
    sections = [(term, list(group)) for term, group in groupby(found.equations, lambda each: each.term)]
    last = {term: group[-1].value for term, group in sections}
    assert len(last) == len(sections)
    spent = {term: time for term, time in found.terms.items() if time}
    ended = {term: time for term, time in spent.items() if not found.arithmetic(term)}
    assert {term: last.get(term) for term in ended} == pytest.approx(ended, rel=1e-12)
    whole = found.equations[-1]
    made = {each.parameter: each for each in whole.symbols if each.parameter in spent.keys() - ended.keys()}
    assert {term: each.value for term, each in made.items()} | ended == pytest.approx(spent, rel=1e-12)
    assert all(each.rests_on for each in made.values())
    text, words = " ".join(str(found).split()), [each.note for term, each in made.items() if term in last]
    assert all(note in text for note in words)


def test_rent_power_and_checkpoints_are_cited_where_they_are_asked_for():
    asked = ["cite", "--gpus", "16", "--node", "aws-p3.16xlarge"]

    def keys(*more):
        return {source["key"] for source in json.loads(run(*asked, *more, "--json").stdout)["sources"]}

    plain = keys()
    assert not {"patterson2021", "daly2006", "karpenter-aws"} & plain
    assert keys("--cost") - plain == {"patterson2021", "karpenter-aws"}
    failing = ["--epochs", "90", "--node-mtbf", "6000h", "--checkpoint-time", "60s"]
    assert keys(*failing) - plain == {"patterson2021", "daly2006", "karpenter-aws"}
    assert "rated power" in " ".join(run(*asked, "--cost").stdout.split())
    told = run("explain", "--gpus", "16", "--node", "aws-p3.16xlarge", *failing).stdout
    assert "p3.16xlarge on demand, us-east-1" in " ".join(told.split())
    assert "[daly2006]" in told
    assert (
        "| cost_of_run | "
        in run("explain", "--gpus", "8", "--price", "3", "--epochs", "1", "--markdown").stdout
    )
    assert (
        "cost\\_of\\_run: "
        in run("explain", "--gpus", "8", "--price", "3", "--epochs", "1", "--latex").stdout
    )


def notes_below(equations, number):
    """Notes of the inputs that an equation rests on."""
    found = set()
    for symbol in equations[number - 1].symbols:
        found |= {symbol.note}
        for below in [*filter(None, [symbol.equation]), *symbol.rests_on]:
            found |= notes_below(equations, below)
    return found


@pytest.mark.parametrize("name", ALL)
def test_bandwidths_are_worked_out_from_the_specs(name):
    """No message takes a bandwidth that no formula made, unless rings were measured."""
    equations = of(name).equations
    timed = (
        "collective_bandwidths.",
        "parameter_server.",
        "single_process.",
        "two_level_ring.",
    )
    for equation in equations:
        for symbol in equation.symbols:
            if not equation.formula.startswith(timed) or symbol.unit != "B/s":
                continue
            if symbol.parameter == "reduction_bandwidth":
                continue
            notes = {symbol.note}.union(
                *(
                    notes_below(equations, number)
                    for number in [*filter(None, [symbol.equation]), *symbol.rests_on]
                )
            )
            assert any("bandwidth" in note for note in notes)


def test_active_arms_are_told():
    equations = of("sixteen behind switches").equations
    (start,) = (each for each in equations if each.formula == "collective_latencies.tree_start_time")
    assert start.active == ["min is 7.00000000000000, not accelerators_per_node - 1"]
    feeding = [line for equation in of("slow storage").equations for line in equation.active]
    assert any("storage_bandwidth/stored_bytes" in line.partition("not")[0] for line in feeding)


@pytest.mark.parametrize("name", ["a ring in the cloud", "a ring over Ethernet", "at a kink"])
def test_the_bandwidth_that_hides_messages_is_exact(name):
    """A millionth more, and only the last message is exposed; a millionth less, and others queue."""
    turn = next(t for t in of(name).turns if "hides all messages but the last" in t.words)
    here = case(name)
    on = fabric_of(here.setting, here.constants)
    work = computation_of(here.setting, here.setting.local_batch_size, here.constants, 1)
    for factor, only_last in ((1 + 1e-6, True), (1 - 1e-6, False)):
        changed = on._replace(**{turn.parameter: turn.at * factor})

        def times_of(sizes, changed=changed):
            return message_times(here.setting, sizes, changed)

        sent = messages(here.setting, work, times_of)
        times = times_of(sent.message_bytes)
        ends = sent.ready_times + np.cumsum(times[::-1])[::-1]
        assert (int(np.argmax(ends)) == len(ends) - 1) == only_last


def test_the_input_at_which_an_arm_changes_is_exact():
    """Storage that is so much faster that the samples are there in time."""
    found = of("slow storage")
    turn = next(t for t in found.turns if t.parameter == "input_rate" and "0 takes over" in t.words)
    rest = next(e for e in found.equations if e.formula == "input_pipeline.exposed_input_time")
    values = {symbol.parameter: symbol.value for symbol in rest.symbols}
    exposed = FORMULAS["input_pipeline.exposed_input_time"].function
    assert exposed(**values | {"input_rate": turn.at * (1 + 1e-9)}) == 0
    assert exposed(**values | {"input_rate": turn.at * (1 - 1e-6)}) > 0
    assert turn.now == values["input_rate"]


def test_plain_equations_hold_no_latex():
    for entry in FORMULAS.values():
        told = plain(latex(entry.function))
        assert told
        assert not re.search(r"[\\{}&]", told), told
        assert told.count("(") == told.count(")"), told


@pytest.mark.parametrize("name", ALL)
def test_text_fits_and_sums(name):
    found = of(name)
    text = write.text(found)
    assert max(map(len, text.splitlines())) <= 80
    listed = re.findall(r"^  \w+ +([0-9.e-]+) ms +[0-9.]+ %$", text, re.M)
    assert len(listed) == len(found.terms)
    assert sum(map(float, listed)) == pytest.approx(1e3 * found.iteration_time, rel=1e-5)
    assert text.isprintable() or "\x1b" not in text


def test_latex_is_balanced():
    text = write.latex(of("real input"))
    assert text.count("\\begin{") == text.count("\\end{")
    outside = re.sub(r"\\\[.*?\\\]|\$[^$]*\$|\\(begin|end|documentclass|usepackage)[^\n]*", "", text)
    assert not re.search(r"(?<!\\)[_%#&]", outside)


def test_sources_are_those_of_what_ran():
    scenario = Scenario(**EXACT["a ring in the cloud"])
    here = case_of(scenario, BUILT_IN, calibration(), Conditions())
    result = derivation(here)
    ran, found = result.trace.ran, sources_of(here, result, BUILT_IN)
    keys = {source.key for source in found if source.kind == "formula"}
    assert keys == {key for name in ran for key in FORMULAS[name].cites}
    assert {"patarasuk2009", "williams2009", "li2020"} <= keys
    price = next(source for source in found if source.kind == "price")
    assert price.date
    assert "24.48" in price.used_for[0]
    specs = {source.key.partition("/")[0] for source in found if source.kind == "spec"}
    assert {"v100-sxm2-16gb", "aws-25g", "aws-p3.16xlarge"} <= specs
    assert "a100-sxm4-40gb" not in specs
    flow = next(s for s in found if "flow_bandwidth" in s.used_for)
    assert flow.url.startswith("https://")
    assert all(line.partition(": ")[2] for line in assumed_of(here, result, BUILT_IN))
    assert any(source.key == "calibration.json" for source in found)


def test_numbers_and_facts_are_cited_where_they_are_taken():
    """NCCL's times take the latency of a hop, not that of large messages; a job alone takes none."""

    def taken(**options):
        case = case_of(Scenario(**options), BUILT_IN, calibration(), Conditions())
        result = derivation(case)
        used = {each.key: each.used_for for each in sources_of(case, result, BUILT_IN)}
        return used, assumed_of(case, result, BUILT_IN)

    of_library, assumed = taken(world_size=32)
    of_textbook, _ = taken(world_size=32, algorithm="ring", framework="tensorflow@2018")
    assert "ib-edr-100g: hop_latency" in assumed
    assert "ib-edr-100g: bulk_hop_latency" not in assumed
    assert "pytorch: channels_first, python_replicas, pipelined_servers" in assumed
    assert of_library["pytorch/ddp-note"] == ["hides_data"]
    assert of_library["nvlink2-cube-mesh/vtrain-nccl"] == ["ring_bandwidth"]
    assert not any(key.startswith("pytorch/") for key in of_textbook)
    alone, _ = taken(world_size=1)
    assert not any(key.startswith(("pcie3-x16/", "ib-edr-100g/")) for key in alone)


def test_a_users_own_measurement_is_cited():
    asked = Scenario(anchor="iteration_time=0.145s@1")
    here = case_of(asked, BUILT_IN, calibration(), Conditions())
    assert "iteration_time=0.145s@1" in sources_of(here, derivation(here), BUILT_IN)[-1].cited


def run(*args):
    return CliRunner().invoke(main, args)


def test_the_commands_tell_the_same():
    options = ["--gpus", "16", "--node", "aws-p3.16xlarge"]
    scenario = Scenario(world_size=16, node="aws-p3.16xlarge")
    assert json.loads(run("explain", *options, "--json").stdout) == json.loads(explain(scenario).to_json())
    assert run("explain", *options).stdout == write.text(explain(scenario))
    assert run("explain", *options, "--markdown").stdout.startswith("# ResNet-50 on 16")
    assert run("explain", *options, "--latex").stdout.startswith("\\documentclass")
    answered = json.loads(run("cite", *options, "--json").stdout)
    text = run("cite", *options).stdout
    assert max(len(line) for line in text.splitlines() if "https://" not in line) <= 80
    for source in answered["sources"]:
        assert f"[{source['key']}]" in text
        assert source["url"] is None or f"  {source['url']}\n" in text
    bibtex = run("cite", *options, "--bibtex").stdout
    entries = re.findall(r"^@misc\{([^,]+),$", bibtex, re.M)
    assert len(entries) == len(answered["sources"])
    assert len(set(entries)) == len(entries)
    assert bibtex.count("{") == bibtex.count("}")


MEASURED = {
    "computation": 1.2,
    "launch_overhead": 0.004,
    "idle_time": 0.003,
    "input_time": 0.01,
    "loader_time": 0.9,
    "jitter": 0.03,
}
PROFILED = {
    "computation": (("computation",), {}),
    "gaps and idling": (("computation", "launch_overhead", "idle_time"), {"workload": "vgg16"}),
    "idling": (("computation", "idle_time", "jitter"), {"overlap": "wfbp", "accumulation_steps": 2}),
    "waits": (("computation", "input_time"), {"input": "real"}),
    "other workers": (("input_time", "loader_time"), {"input": "real", "loader_workers": 3}),
    "the same workers": (("input_time", "loader_time"), {"input": "real", "loader_workers": 32}),
    "a link": (("link",), {"algorithm": "ring"}),
    "all": ((*MEASURED, "link"), {"input": "real", "loader_workers": 8}),
}


@pytest.mark.any_version
@pytest.mark.parametrize("name", PROFILED)
def test_a_profile_is_explained_whole(name, tmp_path):
    measures, options = PROFILED[name]
    file = tmp_path / "mine.toml"
    text = (
        'made_by = "t"\nfiles = []\nworkload = "resnet50"\naccelerator = "v100-sxm2-16gb"\n'
        'precision = "amp"\nlocal_batch_size = 64\ninput = "real"\nloader_workers = 4\n'
    )
    for measure in measures:
        if measure == "link":
            text += "\n[link]\ngroup_size = 8\n"
            for part, value in (("latency", 5e-5), ("bandwidth", 6e10)):
                text += f'[link.{part}]\nvalue = {value}\ndeviation = 0.1\nbasis = "t"\n'
        else:
            text += f'\n[{measure}]\nvalue = {MEASURED[measure]}\ndeviation = 0.1\nbasis = "t"\n'
    file.write_text(text)
    scenario = Scenario(world_size=8, profile=str(file), **options)
    found, predicted = explain(scenario), predict(scenario)
    assert found.complete
    assert found.terms == predicted.terms
    assert evaluated(found) >= 20
    notes = {symbol.note for equation in found.equations for symbol in equation.symbols}
    assert any("profile." in note for note in notes)


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (["explain", "--gpus", "0"], "whole number"),
        (["explain", "--json", "--latex"], "give one"),
        (["cite", "--json", "--bibtex"], "give one"),
        (["cite", "--accelerator", "v10"], "v100"),
    ],
)
def test_bad_input_is_told_in_a_line(bad, told):
    result = run(*bad)
    assert result.exit_code == 2
    assert told in result.stderr
    assert "Traceback" not in result.stderr


def test_sympy_is_imported_by_exact_derivatives_alone():
    package = Path(perfmodel.__file__).parent
    importing = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if re.search(r"^\s*(import|from) sympy", path.read_text(), re.M)
    }
    # ops names it for types alone
    assert importing <= {
        "decide/explanations/arms.py",
        "decide/explanations/exact_crossovers.py",
        "core/ops.py",
    }
    code = (
        "import sys; from perfmodel.interfaces.cli import main; "
        "main(['cite', '--gpus', '8'], standalone_mode=False); assert 'sympy' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_cited_publications_exist():
    known = tomllib.loads((Path(perfmodel.__file__).parent / "equations" / "references.toml").read_text())
    for name in ALL:
        assert set(of(name).sources) <= set(known)


def test_an_explanation_works_its_costs_out_once(monkeypatch):
    times = []
    once = economics_module.spending
    for place in (economics_module, money_module):
        monkeypatch.setattr(place, "spending", lambda *given: times.append(1) or once(*given))
    explain(gpus=8, conditions=Conditions(price=10.0, epochs=90))
    assert len(times) == 1
