"""The scenario of an answer, asked again, gives that answer to the last bit."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from perfmodel.core.choices import Algorithm, Overlap, Placement, Precision, Strategy
from perfmodel.core.errors import InputError
from perfmodel.decide.quote.limits import bus_bandwidth_limit
from perfmodel.decide.sensitivity.arms import choices
from perfmodel.decide.sensitivity.case import Case
from perfmodel.decide.sweeps import sweep
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import calibration
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import Prediction, predict
from perfmodel.model.setting.resolve import Setting, resolve

CATALOGUE = Catalogue.built_in()
NODES = CATALOGUE.ids("nodes")
LIMITED = [name for name in NODES if CATALOGUE.node(name).network_bandwidth is not None]
LINKS = CATALOGUE.ids("links")
PROFILES = {
    "": None,
    "of computation": "",
    "of waits": 'input = "real"\nloader_workers = 2\n'
    '[input_time]\nvalue = 0.02\ndeviation = 0.001\nbasis = "t"\n'
    '[loader_time]\nvalue = 0.4\ndeviation = 0.01\nbasis = "t"\n',
    "of a link": '[link]\ngroup_size = 4\n[link.latency]\nvalue = 5e-5\ndeviation = 1e-6\nbasis = "t"\n'
    '[link.bandwidth]\nvalue = 2e10\ndeviation = 1e9\nbasis = "t"\n'
    '[jitter]\nvalue = 0.05\ndeviation = 0.01\nbasis = "t"\n',
}
"""Files of measurements, but for what all of them say."""
ALL_SAY = """
made_by = "t"
files = []
workload = "resnet50"
accelerator = "v100-sxm2-16gb"
precision = "amp"
local_batch_size = 32
accumulation_steps = 2
{more}
[computation]
value = 1.1
deviation = 0.01
basis = "t"
"""
QUESTIONS = st.fixed_dictionaries(
    {},
    optional={
        "workload": st.sampled_from(["resnet50", "vgg16", "bert-base", "transformer-base", "dlrm"]),
        "accelerator": st.sampled_from(["v100-sxm2-16gb", "k80", "t4", "a100-sxm4-40gb", "rtx-2080-ti"]),
        "world_size": st.one_of(st.integers(1, 20), st.integers(1, 5000)),
        "node": st.one_of(st.sampled_from(NODES), st.sampled_from(LIMITED)),
        "accelerators_per_node": st.integers(1, 4),
        "intra_link": st.sampled_from(LINKS),
        "inter_link": st.sampled_from(LINKS),
        "nics": st.integers(1, 9),
        "connections": st.integers(1, 20),
        "oversubscription": st.sampled_from([1.0, 2.0, 4.0]),
        "rack_nodes": st.integers(1, 8),
        "placement": st.sampled_from(Placement.__args__),
        "strategy": st.sampled_from(Strategy.__args__),
        "servers": st.integers(1, 16),
        "local_aggregation": st.booleans(),
        "algorithm": st.sampled_from(Algorithm.__args__),
        "overlap": st.sampled_from(Overlap.__args__),
        "precision": st.sampled_from(Precision.__args__),
        "local_batch_size": st.integers(1, 64),
        "global_batch_size": st.sampled_from([256, 960, 3840]),
        "accumulation_steps": st.integers(1, 4),
        "sequence_length": st.sampled_from([128, 512]),
        "optimizer": st.sampled_from(["none", "sgd", "adam", "lamb", "lars"]),
        "framework": st.builds(
            "{}{}".format,
            st.sampled_from(Catalogue.built_in().ids("software")),
            st.sampled_from(["", "@2016", "@2020", "@2030"]),
        ),
        "input": st.sampled_from(["synthetic", "real"]),
        "loader_workers": st.integers(1, 40),
        "storage": st.sampled_from(["local-ssd", "ebs-gp2", "s3"]),
        "jitter": st.sampled_from(["none", "lognormal:cv=0.1", "exponential:rate=1"]),
        "anchor": st.sampled_from(
            [
                "iteration_time=0.2s@1",
                "samples_per_second=300@1",
                "iteration_time=0.4s@2",
                "iteration_time=90s@4",
            ]
        ),
        "profile": st.sampled_from(sorted(PROFILES)),
    },
)


@pytest.fixture(scope="module")
def profiles(tmp_path_factory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("profiles")
    paths = {}
    for name, more in PROFILES.items():
        if more is not None:
            paths[name] = str(folder / f"{name}.toml")
            keys, table, rest = (more or "").partition("[")
            (folder / f"{name}.toml").write_text(ALL_SAY.format(more=keys) + table + rest)
    return paths


def without_what_contradicts(options: dict[str, Any]) -> dict[str, Any]:
    """The question less what ``predict`` would refuse of it."""
    left_out = {"anchor"} if options.get("profile") else {"profile"}
    if options.get("strategy") != "parameter-server":
        left_out.add("servers")
    if "single" in options.get("strategy", ""):
        left_out.add("overlap")
    if "rack_nodes" not in options:
        left_out.add("oversubscription")
    if options.get("workload") not in ("bert-base", "transformer-base"):
        left_out.add("sequence_length")
    if options.get("global_batch_size", 0) % (
        options.get("world_size", 1) * options.get("accumulation_steps", 1)
    ):
        left_out.add("global_batch_size")
    if options.get("global_batch_size"):
        left_out.add("local_batch_size")
    return {key: value for key, value in options.items() if key not in left_out}


def unlike(first: Prediction, second: Prediction) -> dict[str, Any]:
    """What two answers say differently; which options were left open they may, and how much that widens."""
    one, other = (json.loads(answer.to_json()) for answer in (first, second))
    if first.interval and second.interval and first.interval.scale > second.interval.scale:
        one["interval"] = other["interval"] = None
    for table in (one, other):
        table.pop("card")  # says in words what the other fields have, with an option left open
    for table in (one, other):  # advice on what was left open goes when nothing is, as what a run of several
        # accelerators says goes when the scenario holds the speed of one that came of it
        gone = ("--algorithm auto", "the anchor's run", ", the usual machine, take part; for servers of ")
        table["warnings"] = [line for line in table["warnings"] if not any(words in line for words in gone)]
    return {key: (one[key], other[key]) for key in one if key != "defaults" and one[key] != other[key]}


def settled(setting: Setting) -> dict[str, Any]:
    """What a scenario was taken to mean, but for what was left open in it."""
    return {
        name: value
        for name, value in setting._asdict().items()
        if name not in ("scenario", "defaults", "workload", "warnings")
    } | {"workload": setting.workload.id}


@pytest.mark.any_version
@settings(max_examples=400)
@given(st.one_of(QUESTIONS, QUESTIONS.map(without_what_contradicts)))
def test_an_answers_scenario_asked_again_gives_that_answer_to_the_last_bit(profiles, options):
    if options.get("profile", "") in profiles:
        options = options | {"profile": profiles[options["profile"]]}
    else:
        options = {key: value for key, value in options.items() if key != "profile"}
    try:
        answer = predict(Scenario(**options))
    except InputError:
        event("refused")
        return
    event("answered")
    again = predict(Scenario(**answer.scenario))
    assert unlike(answer, again) == {}
    # as JSON, and with only the keys that a person may write
    table = json.loads(answer.to_json())["scenario"]
    assert unlike(answer, predict(Scenario.model_validate(table))) == {}
    implied = "local_batch_size" if answer.scaling == "strong" else "global_batch_size"
    written = {
        key: value
        for key, value in table.items()
        if key in Scenario.model_fields and key != implied and value is not None
    }
    assert unlike(answer, predict(Scenario(**written))) == {}
    if "anchor" not in options and "profile" not in options:
        assert settled(resolve(Scenario(**options), CATALOGUE)) == settled(
            resolve(Scenario(**written), CATALOGUE)
        )


@pytest.mark.parametrize(
    "written", [{"nics": 1}, {"inter_link": "aws-10g"}, {"nics": 1, "inter_link": "aws-10g"}]
)
def test_a_machines_network_limit_holds_however_its_adapters_are_written(written):
    usual = predict(Scenario(node="aws-p3.2xlarge", world_size=5))
    assert predict(Scenario(node="aws-p3.2xlarge", world_size=5, **written)).terms == usual.terms
    assert usual.warnings == predict(Scenario(node="aws-p3.2xlarge", world_size=5, **written)).warnings


def test_sweeps_sensitivity_and_quotes_keep_to_that_limit_too():
    asked = {"node": "aws-p3.2xlarge", "world_size": 5, "local_batch_size": 32}
    written = asked | {"nics": 1, "inter_link": "aws-10g"}
    first, second = (sweep(**options).table()["iteration_time"][0] for options in (asked, written))
    assert first == second
    usual, told = (resolve(Scenario(**options), CATALOGUE) for options in (asked, written))
    assert bus_bandwidth_limit("all-reduce", usual) == bus_bandwidth_limit("all-reduce", told)
    assert bus_bandwidth_limit("all-reduce", told).value == pytest.approx(312.5e6, rel=1e-12)
    first, second = (choices(Case(at, calibration())) for at in (usual, told))
    assert first == second
    assert any(choice.active == "the network limit of AWS p3.2xlarge (312 MB/s)" for choice in second)
