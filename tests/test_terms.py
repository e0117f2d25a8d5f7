"""A term that is registered in the one table stands in every listing, and every listing adds up."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import perfmodel
from perfmodel import Scenario, predict, sweep
from perfmodel.core.tracing.tracing import given
from perfmodel.decide.economics import spending
from perfmodel.decide.explanations import explain
from perfmodel.decide.sensitivity.elasticity import sensitivity
from perfmodel.evidence.traces.emulate import Emulator
from perfmodel.evidence.traces.timeline import timeline
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.cli import main
from perfmodel.model.fitted.calibration import calibration
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.step.terms import TERMS, Term, added, in_step_order, names_of
from perfmodel.workloads import workload

NAME, LABEL, SECONDS = "checkpoint_time", "writing checkpoints", 0.25
JOB = {"world_size": 16, "workload": "resnet50", "accelerator": "v100-sxm2-16gb"}
OPTIONS = ["--gpus", "16", "--workload", "resnet50", "--accelerator", "v100-sxm2-16gb"]


@pytest.fixture(params=["host", "busy", "network", "wait"])
def eighth(request, monkeypatch):
    term = Term(NAME, LABEL, request.param, "checkpoint-bound", "after", lambda moment, before: SECONDS)
    monkeypatch.setitem(TERMS, NAME, term)
    return term


def run(*words):
    result = CliRunner().invoke(main, list(words))
    assert result.exit_code == 0, result.output
    return result.output


def test_a_prediction_holds_it_and_sums(eighth):
    answer = predict(Scenario(**JOB))
    assert answer.terms[NAME] == SECONDS
    assert sum(answer.terms.values()) == pytest.approx(answer.iteration_time, rel=1e-12)
    assert answer.verdict.startswith("checkpoint-bound: ")


@pytest.mark.parametrize(
    "options", [{"strategy": "local-sgd", "local_steps": 4}, {"strategy": "k-sync", "k": 6}]
)
def test_what_all_workers_lose_alike_lengthens_the_bounds_of_a_round_by_as_much(monkeypatch, options):
    def rounds():
        of = predict(Scenario(**{**JOB, "world_size": 8}, **options))
        bounds = of.update_bounds
        each = 8 / of.gradients_per_update
        return [each / rate for rate in (of.updates_per_second, bounds.low, bounds.high)]

    before = rounds()
    term = Term(NAME, LABEL, "host", "host-bound", "after", lambda step, _: SECONDS, spreads=False)
    monkeypatch.setitem(TERMS, NAME, term)
    assert [now - then for now, then in zip(rounds(), before, strict=True)] == pytest.approx([SECONDS] * 3)


@pytest.mark.parametrize("strategy", ["all-reduce", "data-parallel-single-process"])
def test_one_accelerator_that_has_it_too_is_as_fast_as_itself(monkeypatch, strategy):
    term = Term(
        NAME,
        LABEL,
        "host",
        "host-bound",
        "after",
        lambda step, before: 0.1 * before["update_time"],
        alone=True,
    )
    monkeypatch.setitem(TERMS, NAME, term)
    job = JOB | {"world_size": 1, "strategy": strategy, "input": "real"}
    assert predict(**job).speedup == pytest.approx(1, rel=1e-12)
    assert predict(**job | {"world_size": 4}).terms[NAME] > 0
    table = sweep(**job | {"world_size": [1, 2]}).table()
    assert table["speedup"][0] == pytest.approx(1, rel=1e-12)


def test_what_it_holds_itself_is_an_input_with_its_unit(monkeypatch):
    def time(step, before):
        every, write = (
            given(value, f"terms.{name}", "the test")
            for value, name in ((1800.0, "checkpoint_interval"), (90.0, "checkpoint_time"))
        )
        return write / every * before["update_time"]

    term = Term(NAME, LABEL, "host", "host-bound", "after", time)
    monkeypatch.setitem(TERMS, NAME, term)
    found = sensitivity(JOB)
    share = predict(Scenario(**JOB)).terms[NAME] / found.answer.iteration_time
    rows = {row.name: row for row in found.rows}
    assert rows["checkpoint_interval"].time.value == pytest.approx(-share, rel=1e-9)
    assert (rows["checkpoint_time"].value, rows["checkpoint_time"].unit) == (90.0, "s")
    assert rows["checkpoint_time"].high > found.answer.iteration_time
    assert explain(Scenario(**JOB)).complete


def test_one_replica_that_has_it_too_counts_it(monkeypatch):
    job = {"world_size": 16, "workload": "llama-3-8b", "accelerator": "h100-sxm5-80gb", "tensor_parallel": 8}
    without = predict(**job)
    monkeypatch.setitem(
        TERMS,
        NAME,
        Term(NAME, LABEL, "host", "host-bound", "after", lambda moment, before: SECONDS, alone=True),
    )
    assert predict(**job).baseline_time == pytest.approx(without.baseline_time + SECONDS, rel=1e-12)


def test_text_markdown_and_json_list_it(eighth):
    assert LABEL in run("predict", *OPTIONS)
    assert f"| {LABEL} |" in run("predict", *OPTIONS, "--markdown")
    answer = json.loads(run("predict", *OPTIONS, "--json"))
    assert answer["terms"][NAME] == SECONDS
    assert sum(answer["terms"].values()) == pytest.approx(answer["iteration_time"], rel=1e-12)


def test_a_sweep_has_its_column(eighth):
    table = sweep(**JOB | {"world_size": [8, 16]}).table()
    assert table[NAME].tolist() == [SECONDS, SECONDS]
    whole = sum(table[name] for name in names_of("replicas"))
    assert whole == pytest.approx(table["iteration_time"], rel=1e-12)
    header = run("sweep", *OPTIONS, "--csv").splitlines()[0].split(",")
    assert NAME in header


def test_layouts_count_it(eighth):
    found = perfmodel.layouts("llama-3-8b", gpus=16, global_batch_size=64, node="dgx-h100")
    assert {row.terms[NAME] for row in found.rows} == {SECONDS}
    row = found.rows[0]
    assert sum(row.terms.values()) == pytest.approx(row.iteration_time, rel=1e-12)


def test_an_explanation_adds_it_up(eighth):
    explained = explain(Scenario(**JOB))
    last = explained.equations[-1]
    shown = {symbol.parameter: symbol.value for symbol in last.symbols}
    assert shown[NAME] == SECONDS
    assert sum(shown.values()) == pytest.approx(explained.iteration_time, rel=1e-12)
    assert NAME in run("explain", *OPTIONS)


def test_a_timeline_and_an_emulated_step_last_as_long(eighth):
    answer = predict(Scenario(**JOB | {"jitter": "none"}))
    events = timeline(answer)["traceEvents"]
    step = next(event for event in events if event["name"] == "ProfilerStep#0")
    assert step["dur"] * 1e-6 == pytest.approx(answer.iteration_time, rel=1e-9)
    drawn = [event for event in events if event["name"] in (LABEL, f"perfmodel {NAME}")]
    assert {round(event["dur"] * 1e-6, 9) for event in drawn} == {SECONDS}
    phases = Emulator(answer, sleep=lambda seconds: None).next_step().phases
    assert NAME in [phase.name for phase in phases]
    assert sum(phase.time for phase in phases) == pytest.approx(answer.iteration_time, rel=1e-9)
    assert NAME in in_step_order(answer.terms)


def test_a_comparison_names_it(eighth):
    assert LABEL in run("compare", *OPTIONS, "--set", "inter_link=ethernet-25g-tcp")


def test_power_is_drawn_by_its_kind(eighth):
    """Rated power at work, half of it communicating, 15 % waiting: 300 W, 150 W and 45 W for 0.25 s."""
    answer, catalogue = predict(Scenario(**JOB)), Catalogue.built_in()
    conditions = Conditions(price=1.0)
    with_it = spending(answer, conditions, catalogue).iteration.energy
    less = {name: 0.0 if name == NAME else time for name, time in answer.terms.items()}
    without = answer.model_copy(update={"terms": less, "iteration_time": answer.iteration_time - SECONDS})
    watts = {"busy": 300.0, "network": 150.0, "host": 45.0, "wait": 45.0}[eighth.kind]
    drawn = with_it - spending(without, conditions, catalogue).iteration.energy
    assert drawn == pytest.approx(16 * watts * SECONDS, rel=1e-9)


def test_the_chart_of_the_pages_has_its_bar(eighth):
    charts = pytest.importorskip("app.charts")
    answer = predict(Scenario(**JOB))
    bars = [bar for bar in charts.waterfall(answer).plotly().data if bar.type == "bar"]
    assert {bar.y[0]: bar.x[0] for bar in bars}[LABEL] == SECONDS
    assert LABEL in {bar.name for bar in charts.side_by_side({"A": answer}).plotly().data}


def test_the_pages_say_what_limits_a_job_by_it(eighth):
    from perfmodel.model.prediction.card import limit_of

    assert limit_of(predict(Scenario(**JOB))).startswith(f"{LABEL}, ")


def test_what_hidden_messages_cost_is_a_term_of_its_own():
    """What hides behind ResNet-101 on 32 x 4 P100 (56 units) costs what its bytes take inside a node."""
    job = {"workload": "resnet101", "accelerator": "p100-pcie-16gb", "node": "pcie-workstation-4gpu"}
    job |= {"world_size": 128, "inter_link": "ib-edr-100g"}
    answer = predict(**job)
    terms = answer.terms
    hidden = answer.communication_time - terms["exposed_communication_time"]
    rate = calibration().link_fraction["pcie"] * Catalogue.built_in().link("pcie3-x16").bandwidth.value
    inside = 2 * 127 / 128 * workload("resnet101").parameters * 4 / rate
    cost = min(1, calibration().contention * 80 / 56) * min(1, inside / answer.communication_time)
    assert terms["contention_time"] == pytest.approx(cost * hidden, rel=0.02)
    assert added(terms) == terms["contention_time"] + terms["exposed_communication_time"]
    rest = answer.iteration_time - added(terms)
    assert answer.communication_overhead == pytest.approx(added(terms) / rest, rel=1e-9)
    assert "slows computation by" in answer.verdict
    table = sweep(**{name: [value] for name, value in job.items()}).table()
    assert table["contention_time"].tolist() == [pytest.approx(terms["contention_time"], rel=1e-9)]


@pytest.mark.parametrize(
    "options",
    [{"world_size": 1}, {"overlap": "none"}, {"strategy": "parameter-server", "local_aggregation": False}],
)
def test_where_nothing_hides_nothing_is_slowed(options):
    terms = predict(**JOB | options).terms
    assert terms["contention_time"] == pytest.approx(0.0, abs=1e-12)
    assert min(terms.values()) >= 0
