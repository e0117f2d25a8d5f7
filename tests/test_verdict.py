"""What a verdict says binds, and what it says a change would save, against what the change does."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cache
from typing import Any

import pytest

from perfmodel.core.errors import InputError
from perfmodel.decide.economics import Conditions
from perfmodel.decide.sensitivity.case import answer
from perfmodel.decide.sensitivity.elasticity import case_of
from perfmodel.decide.sensitivity.inputs import INPUTS
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import calibration
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import Prediction, predict
from perfmodel.model.prediction.remedies import ENOUGH
from perfmodel.model.step.terms import added
from tests.properties import question

CATALOGUE = Catalogue.built_in()
INPUT = {each.name: each for each in INPUTS}
BERT = {"workload": "bert-large", "world_size": 512, "node": "dgx-a100-80gb"}
ROUNDED = 0.00051
"""Shares are printed to a tenth of a percent."""


def ask(**options) -> Prediction:
    return predict(Scenario.model_validate(options))


def stated(verdict: str) -> dict[str, float]:
    """Return each share that a verdict says would be saved, by what comes before it."""
    shares = {}
    for clause in verdict.split("; "):
        for words, share in re.findall(r"(?:^|: |, )?([^:,]*?) (?:would save )?(-?[\d.]+) %(?=, |$)", clause):
            shares[words.removesuffix(" would save")] = float(share) / 100
    return shares


def saved_by_input(scenario: Scenario, **factors: float) -> float:
    """Return the part of the iteration that inputs multiplied by factors save."""
    case = case_of(scenario, CATALOGUE, calibration(), Conditions())
    before = answer(case).iteration_time
    for name, factor in factors.items():
        case = INPUT[name].scaled(case, factor)
    return 1 - answer(case).iteration_time / before


def test_what_starts_each_message_is_named_where_it_binds_a_ring():
    asked = BERT | {"algorithm": "ring"}
    found = ask(**asked)
    shares = stated(found.verdict)
    started = "half of what the library takes for it"
    assert f"the start of each message binds: {started} would save" in found.verdict
    saves = saved_by_input(Scenario(**asked), launch_time=0.5, library_hop_latency=0.5, crowd_latency=0.5)
    assert shares[started] == pytest.approx(saves, abs=ROUNDED)
    by_nccl = 1 - ask(**asked | {"algorithm": "auto"}).iteration_time / found.iteration_time
    assert by_nccl > saves > 0.1
    assert shares["--algorithm auto"] == pytest.approx(by_nccl, abs=ROUNDED)


def test_half_the_latency_of_a_link_is_that_of_the_link_alone():
    """What the host adds to a round trip stays."""
    asked = BERT | {"algorithm": "ring"}
    (words,) = re.findall(r"half its latency ([\d.]+) %", ask(**asked).verdict)
    assert float(words) / 100 == pytest.approx(
        saved_by_input(Scenario(**asked), inter_link_hop_latency=0.5), abs=ROUNDED
    )


@pytest.mark.parametrize(
    ("asked", "words", "factors"),
    [
        (
            {
                "workload": "vgg16",
                "accelerator": "a100-pcie-40gb",
                "node": "pcie-workstation-8gpu",
                "world_size": 64,
            }
            | {"inter_link": "ib-xdr-800g", "nics": 2},
            "twice its rate",
            {"intra_link_bandwidth": 2, "socket_link_bandwidth": 2},
        ),
        (BERT | {"algorithm": "hierarchical"}, "half its latency", {"inter_link_hop_latency": 0.5}),
    ],
)
def test_a_faster_part_saves_what_the_verdict_says(asked, words, factors):
    found = ask(**asked)
    assert found.verdict.startswith("communication-bound")
    assert stated(found.verdict)[words] == pytest.approx(
        saved_by_input(Scenario(**asked), **factors), abs=ROUNDED
    )


@cache
def random_answers() -> list[tuple[dict[str, Any], Prediction]]:
    """Random scenarios that have an answer, with it."""
    result = []
    for asked in (question(11, number) for number in range(900)):
        with suppress(InputError):
            result.append((asked, ask(**asked)))
    return result


@pytest.mark.any_version
def test_another_option_saves_what_the_verdict_says():
    """Over random scenarios: NCCL's own choice, another way to overlap, more servers."""
    seen = set()
    for asked, found in random_answers():
        for option, value, share in re.findall(r"--([a-z-]+) (\S+) would save ([\d.]+) %", found.verdict):
            name = option.replace("-", "_")
            other = ask(**asked | {name: int(value) if value.isdigit() else value})
            saves = 1 - other.iteration_time / found.iteration_time
            assert float(share) / 100 == pytest.approx(saves, abs=ROUNDED), asked
            seen.add(name)
    assert seen >= {"algorithm", "servers"}


@pytest.mark.any_version
def test_communication_that_binds_is_explained():
    """Some named change saves what a cause of half of it would, unless another wait takes its place."""
    bound = 0
    for asked, found in random_answers():
        assert "-0.0 %" not in found.verdict
        if found.layout is not None or not found.verdict.startswith("communication-bound"):
            continue
        bound += 1
        share = added(found.terms) / found.iteration_time
        most = max(stated(found.verdict.partition("the rest adds ")[2]).values())
        assert most > ENOUGH * share - ROUNDED or "instead, would save" in found.verdict, (
            asked,
            found.verdict,
        )
    assert bound > 50


def test_what_waits_instead_of_communication_is_named():
    """A faster exchange with the servers, and the job waits for its samples."""
    asked = {"workload": "vgg13", "world_size": 68, "strategy": "parameter-server", "servers": 12}
    machines = {"node": "dgx-2", "accelerator": "b300-sxm", "intra_link": "pcie4-x8", "nics": 5}
    asked |= machines | {"inter_link": "ethernet-400g-rdma", "framework": "torch7-cudnn-4"}
    verdict = ask(**asked, input="real").verdict
    assert "twice the speed of the whole network, with more waiting for input instead, would save" in verdict
    assert "instead" not in ask(**asked).verdict


def test_a_shorter_exchange_with_servers_saves_less_than_itself_where_stragglers_are_waited_for():
    """The stated share is of the whole iteration: pushes of the fast hide behind the wait for the slow."""
    asked = {"workload": "vgg16", "world_size": 8, "strategy": "parameter-server", "node": "aws-p3.2xlarge"}
    asked |= {"jitter": "lognormal:cv=0.3", "inter_link": "ethernet-25g-tcp", "network_cap": False}
    scenario = Scenario(**asked)
    found = predict(scenario)
    saves = saved_by_input(scenario, inter_link_hop_latency=0.5)
    assert stated(found.verdict)["half the latency"] == pytest.approx(saves, abs=ROUNDED)
    twice = saved_by_input(scenario, tcp_ceiling=2, inter_link_bandwidth=2)
    assert stated(found.verdict)["a limit twice as high"] == pytest.approx(twice, abs=ROUNDED)


def test_hidden_communication_is_never_less_than_none():
    asked = {
        "workload": "vgg16",
        "world_size": 8,
        "node": "dgx-1p",
        "strategy": "data-parallel-single-process",
    }
    assert "; 0 % of communication is hidden, the rest adds " in ask(**asked).verdict


def test_a_scaling_table_says_of_how_many_accelerators_its_verdict_is(invoke):
    assert "\nat 16 GPUs compute-bound: " in invoke("scale", "--gpus", "8,16").stdout
