"""Which model answers for a transformer that does not predict tokens: its network and its layout decide."""

from __future__ import annotations

import math

import pytest
from click.testing import CliRunner

import perfmodel
from app import layout_search
from perfmodel import predict
from perfmodel.core.errors import InputError
from perfmodel.decide.planning.fleets.job import Job
from perfmodel.decide.planning.fleets.written import joined, read_fleet
from perfmodel.decide.quote import Claim, Quote, check_quote
from perfmodel.decide.sensitivity.elasticity import sensitivity
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.cli import main
from perfmodel.interfaces.service.application import application
from perfmodel.model.options.laid_out import laid_out
from perfmodel.model.options.scenario import Scenario
from tests.asgi import Caller

BERT = {"workload": "bert-large", "node": "dgx-h100", "gpus": 8, "precision": "bf16", "local_batch_size": 8}
NEUTRAL = (
    {"recompute": "none"},
    {"sharding": "none"},
    {"virtual_stages": 2},
    {"tensor_parallel": 1, "pipeline_parallel": 1, "context_parallel": 1, "expert_parallel": 1},
)
SHARED = (
    {"tensor_parallel": 2},
    {"pipeline_parallel": 2},
    {"context_parallel": 2},
    {"sharding": "zero1"},
    {"strategy": "fsdp"},
    {"recompute": "selective"},
    {"lora": 8},
)


@pytest.mark.parametrize("options", NEUTRAL)
@pytest.mark.parametrize("name", ["bert-large", "vit-l-16"])
def test_values_that_share_nothing_out_change_nothing(name, options):
    plain, answer = (predict(**BERT | {"workload": name} | more) for more in ({}, options))
    assert answer.model == plain.model == "data-parallel"
    assert answer.iteration_time == plain.iteration_time
    assert ("changes nothing" in " ".join(answer.warnings)) == ("virtual_stages" in options)


@pytest.mark.parametrize("options", SHARED)
def test_what_shares_a_network_out_is_another_job(options):
    answer = predict(**BERT, **options)
    assert answer.model == "transformer"
    assert predict(Scenario(**answer.scenario)).iteration_time == answer.iteration_time


def test_a_micro_batch_without_a_layout_is_refused_with_what_is_right():
    whole = {name: value for name, value in BERT.items() if name != "local_batch_size"}
    with pytest.raises(InputError, match="without one the batch of a GPU is local_batch_size"):
        predict(**whole, global_batch_size=64, micro_batch_size=8)
    shared = predict(**whole, global_batch_size=64, micro_batch_size=8, sharding="zero1")
    assert shared.model == "transformer"


def test_every_door_keeps_the_model():
    words = [word for name, value in BERT.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    time = predict(**BERT).iteration_time
    for command in ("predict", "scale", "explain"):
        done = CliRunner().invoke(main, [command, *words, "--recompute", "none", "--json"])
        assert repr(time) in done.stdout, done.output
    body = {**BERT, "sharding": "none"}
    assert Caller(application()).post("/v1/predict", json=body).json()["iteration_time"] == time
    both = perfmodel.compare(BERT, BERT | {"recompute": "none", "sharding": "none"})
    assert both.to_json().count(repr(time)) >= 2


def test_fewer_ranks_of_a_layout_are_counted_by_the_same_model():
    """Half of two tensor-parallel ranks is one: a slope between two models would be none."""
    job = {
        "workload": "bert-large",
        "node": "dgx-h100",
        "gpus": 8,
        "global_batch_size": 64,
        "micro_batch_size": 8,
    }
    found = sensitivity(Scenario(**job, tensor_parallel=2))
    count = next(each for each in found.counts if each.name == "tensor_parallel")
    one = predict(laid_out(Scenario(**job)))
    assert one.model == "transformer"
    two = predict(Scenario(**job, tensor_parallel=2)).iteration_time
    assert count.time.below == pytest.approx(math.log2(two / one.iteration_time))


@pytest.mark.parametrize("options", [{"sharding": "none"}, *SHARED])
def test_a_quote_is_checked_by_the_model_of_what_it_states(options):
    claim = Claim(quantity="iteration_time", value=0.02)
    (checked,) = check_quote(Quote(title="t", scenario=BERT | options, claims=(claim,)))
    assert checked.expected == pytest.approx(predict(**BERT, **options).iteration_time, rel=0.25)
    assert (checked.layout is None) == ("sharding" in options and options["sharding"] == "none")


def test_a_fleet_keeps_the_model_of_its_job():
    catalogue = Catalogue.built_in()
    options = {"workload": "bert-large", "sharding": "zero1", "global_batch_size": 64}
    job, machines = Job(options, catalogue), joined(read_fleet("1 x dgx-h100", catalogue), catalogue)
    layout = job.layout(machines.groups[0], machines)
    assert job.on(machines.groups[0], machines, **layout).model == "transformer"


def test_a_layout_of_replicas_alone_leads_to_a_job_that_predict_takes():
    found = perfmodel.layouts("bert-large", gpus=1, global_batch_size=64, node="dgx-h100")
    row = next(row for row in found.rows if row.words == "dp1")
    asked = {"workload": "bert-large", "gpus": 1, "global-batch-size": 64, "node": "dgx-h100"}
    linked = layout_search.as_link(asked, row)
    answer = predict(**{name.replace("-", "_"): value for name, value in linked.items()})
    assert answer.model == "data-parallel"
