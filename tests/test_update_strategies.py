"""Asynchronous and partly synchronous strategies on named hardware, against events and against each other."""

from __future__ import annotations

import json
from typing import get_args

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from perfmodel import Scenario, explain, predict, sweep
from perfmodel.core.errors import InputError
from perfmodel.core.updates import KINDS, UpdateStrategy
from perfmodel.decide.quote.limits import limit_of_iteration
from perfmodel.equations.distributions import parse_distribution
from perfmodel.equations.sgd_variants import AVERAGING, VARIANTS, straggler_variant
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.reports.figures import update_lines
from perfmodel.model.fitted.calibration import calibration
from perfmodel.model.prediction.intervals.bound import least_iteration_time
from perfmodel.model.prediction.training.time_to_loss import time_to_loss
from perfmodel.model.setting.resolve import resolve
from perfmodel.model.step.evaluate import evaluate
from perfmodel.model.step.parts import visit_time
from perfmodel.model.step.updates import busy_time, round_of, service_time
from tests.simulators.sgd_events import simulate, through_port

SEED = 20261122
FAST = {"accelerators_per_node": 1, "inter_link": "ib-hdr-200g", "servers": 64}
"""A network that adds next to nothing."""
SLOW = {"accelerators_per_node": 1, "inter_link": "ethernet-25g-tcp", "workload": "vgg16", "overlap": "none"}
LAWS = {
    "exponential:rate=1": lambda rng: lambda n: rng.exponential(1, n),
    "shifted-exponential:shift=1,rate=1": lambda rng: lambda n: (1 + rng.exponential(1, n)) / 2,
    "uniform:low=1,high=2": lambda rng: lambda n: rng.uniform(1, 2, n) / 1.5,
    "lognormal:cv=0.5": lambda rng: lambda n: rng.lognormal(-np.log(1.25) / 2, np.log(1.25) ** 0.5, n),
}
"""Of mean 1."""
EACH = {
    "async": {},
    "k-sync": {"k": 5},
    "k-batch-sync": {"k": 5},
    "k-async": {"k": 3},
    "k-batch-async": {"k": 3},
    "backup": {"backups": 2},
    "local-sgd": {"local_steps": 4},
    "elastic": {"local_steps": 4},
}
scenarios = st.fixed_dictionaries(
    {
        "strategy": st.sampled_from(list(EACH)),
        "world_size": st.sampled_from([6, 8, 16, 24]),
        "jitter": st.sampled_from([None, "none", *LAWS, "two-point:fast=1,slow=20,probability=0.3"]),
        "inter_link": st.sampled_from(["ethernet-10g-tcp", "ib-edr-100g"]),
        "local_batch_size": st.sampled_from([4, 64]),
    }
).map(lambda options: options | EACH[options["strategy"]])


def parts(**options):
    """Setting, mean computation of a gradient, visit alone and service [s]."""
    setting = resolve(Scenario(**options), Catalogue.built_in())
    step = evaluate(setting, calibration())
    service = float(service_time(setting, step.fabric))
    visit = visit_time(setting, step.work, step.fabric, calibration())
    return setting, float(busy_time(setting, step.work)), visit, service


def test_the_words_are_those_of_stragglers():
    assert set(get_args(UpdateStrategy)) == set(KINDS) == set(VARIANTS) - {"sync"}
    assert {name for name, kind in KINDS.items() if kind.averages} == set(AVERAGING)


def test_sync_over_async_reproduces_p_times_its_harmonic_number():
    job = {"gpus": 20, "jitter": "exponential:rate=1", "precision": "fp32", "local_batch_size": 256, **FAST}
    sync = predict(strategy="parameter-server", local_aggregation=False, **job)
    free = predict(strategy="async", **job)
    expected = 20 * sum(1 / i for i in range(1, 21))
    assert expected == pytest.approx(71.955, abs=0.001)
    assert free.updates_per_second * sync.iteration_time == pytest.approx(expected, rel=1e-3)
    assert free.mean_staleness == 19
    assert free.fresh_fraction == pytest.approx(1 / 20)


@pytest.mark.any_version
@pytest.mark.parametrize("law", LAWS)
def test_a_queue_at_the_server_by_events(law):
    """Exact for any law of computing where the server's times are exponential; else within the bounds."""
    job = {"strategy": "async", "gpus": 8, "jitter": law, **SLOW}
    answer, (_, busy, visit, service) = predict(**job), parts(**job)
    assert service > busy / 20  # there is a queue
    rng = np.random.default_rng(SEED)
    draw = LAWS[law](rng)

    def away(n):
        return busy * draw(n) + visit - service

    run = through_port(away, lambda n: rng.exponential(service, n), 8, 1, 200_000)
    note = f"{law}, seed {SEED}: seen {run.update_time:.6g} +- {run.standard_error:.2g}"
    assert abs(run.update_time - 1 / answer.updates_per_second) <= 4 * run.standard_error, note
    assert run.staleness.mean() == pytest.approx(answer.mean_staleness, rel=0.002)
    run = through_port(away, lambda n: np.full(n, service), 8, 1, 60_000)
    bounds = answer.update_bounds
    assert bounds.status == "approximation"
    slack = 4 * run.standard_error + 1e-9 * run.update_time  # a server that is always busy has no spread
    assert 1 / bounds.high - slack <= run.update_time <= 1 / bounds.low + slack, note


@pytest.mark.any_version
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("strategy", ["k-async", "k-batch-async", "elastic"])
@pytest.mark.parametrize("network", [FAST, SLOW], ids=["fast", "slow"])
def test_strategies_out_of_step_keep_to_their_bounds(law, strategy, network):
    if strategy == "elastic":
        network = {key: value for key, value in network.items() if key != "overlap"}
    job = {"strategy": strategy, "gpus": 8, "jitter": law, **EACH[strategy], **network}
    answer, (setting, busy, visit, service) = predict(**job), parts(**job)
    draw, steps = LAWS[law](np.random.default_rng(SEED)), setting.updates.local_steps
    per_step = (visit - service) / steps
    k = 3 if strategy != "elastic" else 1
    run = through_port(
        lambda n: busy * draw(n) + per_step,
        lambda n: np.full(n, service),
        8,
        k,
        40_000,
        waits=strategy == "k-async",
        local_steps=steps,
    )
    bounds, slack = answer.update_bounds, 4 * run.standard_error + 1e-9 * run.update_time
    note = f"{strategy}, {law}, seed {SEED}: seen {1 / run.update_time:.6g}, {bounds}"
    assert 1 / bounds.high - slack <= run.update_time <= 1 / bounds.low + slack, note
    assert run.staleness.mean() == pytest.approx(answer.mean_staleness, rel=0.01), note
    if strategy == "k-batch-async" and network is FAST:
        assert abs(run.update_time * answer.updates_per_second - 1) < 0.02, note


@pytest.mark.any_version
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("strategy", ["k-sync", "k-batch-sync", "backup"])
def test_strategies_in_step_by_events(law, strategy):
    job = {"strategy": strategy, "gpus": 8, "jitter": law, **EACH[strategy], **FAST}
    answer, (setting, busy, _, _) = predict(**job), parts(**job)
    draw, k = LAWS[law](np.random.default_rng(SEED)), int(setting.updates.awaited(8))
    run = simulate(strategy, lambda n: busy * draw(n), 8, k, 60_000)
    exposed = answer.terms["exposed_communication_time"] * k / 8  # of an update
    assert exposed < 0.02 * busy
    slack = 4 * run.standard_error
    seen = 1 / answer.updates_per_second
    assert run.update_time - slack <= seen <= run.update_time + exposed + slack, (law, SEED)
    assert 1 / answer.update_bounds.high - slack <= run.update_time + exposed
    assert run.update_time <= 1 / answer.update_bounds.low + slack
    assert answer.mean_staleness == run.staleness.mean() == 0


def test_fresh_gradients_of_many_workers():
    """What is left of the first of many workers is short; a coarse quadrature took nearly all for fresh."""
    rng = np.random.default_rng(SEED)
    run = simulate("async", lambda n: rng.lognormal(0, 0.3, n), 256, 1, 100_000)
    law = parse_distribution("lognormal:cv=0.3")
    assert run.fresh_fraction < 1e-3
    for workers in (64, 256, 4096, 100_000):
        assert 0 <= straggler_variant("async", law, workers).fresh_fraction < 1e-4


@settings(max_examples=40, deadline=None)
@given(scenarios, st.sampled_from([1, 4]), st.sampled_from([None, "none", "bucketed", "priority"]))
def test_waiting_for_all_is_training_in_step(options, servers, overlap):
    """K of all, and no backups, are parameter servers that every worker pushes to."""
    options = {name: value for name, value in options.items() if name not in EACH and name != "strategy"}
    options = {name: options[name] for name in ("world_size", "jitter", "inter_link", "local_batch_size")}
    options |= {"servers": servers, "overlap": overlap}
    n = options["world_size"]
    whole = predict(strategy="parameter-server", local_aggregation=False, **options).iteration_time
    for own in ({"strategy": "k-sync", "k": n}, {"strategy": "k-async", "k": n}):
        assert predict(**options, **own).iteration_time == pytest.approx(whole, rel=1e-12)
    none = predict(**options, strategy="backup", backups=0).iteration_time
    assert none == pytest.approx(whole, rel=1e-12)
    alone = options | {"world_size": 1}
    one = predict(strategy="parameter-server", **alone).iteration_time
    for strategy in ("async", "k-batch-async", "k-async", "backup"):
        assert predict(strategy=strategy, **alone).iteration_time == pytest.approx(one, rel=1e-9)


@pytest.mark.parametrize("gpus", [1, 8, 24])
def test_an_average_every_step_is_an_all_reduce_after_it(gpus):
    averaged = predict(gpus=gpus, strategy="local-sgd", local_steps=1)
    assert averaged.iteration_time == pytest.approx(
        predict(gpus=gpus, overlap="none").iteration_time, rel=1e-12
    )
    assert predict(gpus=gpus, strategy="local-sgd", local_steps=8).iteration_time <= averaged.iteration_time


@pytest.mark.any_version
@settings(max_examples=80, deadline=None)
@given(scenarios, st.sampled_from([None, 24, 40]))
@example({"strategy": "k-batch-sync", "world_size": 16, "local_batch_size": 64}, 24)
@example({"strategy": "k-batch-sync", "world_size": 16, "local_batch_size": 64}, 32)
def test_what_an_answer_holds_to(options, k):
    if k is not None and "batch" in options["strategy"]:
        options = options | {"k": k}
    answer = predict(**options)
    assert sum(answer.terms.values()) == pytest.approx(answer.iteration_time, rel=1e-12)
    assert min(answer.terms.values()) >= -1e-12
    bounds = answer.update_bounds
    assert bounds.low * (1 - 1e-9) <= answer.updates_per_second <= bounds.high * (1 + 1e-9)
    gradients = answer.updates_per_second * answer.gradients_per_update
    assert gradients * options["local_batch_size"] == pytest.approx(answer.samples_per_second, rel=1e-9)
    assert predict(answer.scenario).iteration_time == pytest.approx(answer.iteration_time, rel=1e-12)
    assert answer.fresh_fraction is None or 0 <= answer.fresh_fraction <= 1
    if not KINDS[options["strategy"]].in_step:
        setting, _, _, service = parts(**options)
        visits = answer.updates_per_second * setting.updates.awaited(setting.world_size)
        assert visits * service <= 1 + 1e-9  # of the port that all share


SELDOM = [
    ("local-sgd", {"local_steps": 1000}),
    ("elastic", {"local_steps": 1000}),
    ("k-batch-sync", {"k": 96}),
]


@pytest.mark.parametrize(("strategy", "own"), SELDOM)
def test_the_least_time_counts_no_more_exchanges_than_there_are(strategy, own):
    job = {"workload": "alexnet", "gpus": 16, "nics": 1, "inter_link": "ethernet-10g-tcp", **own}
    answer = predict(strategy=strategy, **job)
    assert answer.interval.clipped_at is None or answer.interval.clipped_at < answer.iteration_time
    assert not [words for words in answer.warnings if "peaks and links allow" in words]
    setting = resolve(Scenario(strategy=strategy, **job), Catalogue.built_in())
    assert limit_of_iteration(setting).value == pytest.approx(least_iteration_time(setting), rel=1e-12)
    assert least_iteration_time(setting) <= answer.iteration_time
    (row,) = sweep(strategy=strategy, **job).rows()
    for name in ("clipped_at", "low_80"):
        end = getattr(answer.interval, name)
        assert row[name] == (end if end is None else pytest.approx(end, rel=1e-12))


@pytest.mark.parametrize(
    ("strategy", "own", "messages"),
    [
        ("local-sgd", {"local_steps": 100}, 0.01),
        ("elastic", {"local_steps": 100}, 0.01),
        ("k-sync", {"k": 4}, 4.0),
        ("backup", {"backups": 8}, 2.0),
        ("k-batch-sync", {"k": 32}, 0.5),
        ("k-async", {"k": 16}, 1.0),
        ("k-async", {"k": 4}, 1.0),
        ("async", {}, 1.0),
    ],
)
def test_traffic_is_no_faster_than_its_link(strategy, own, messages):
    link = {"accelerators_per_node": 1, "nics": 1, "inter_link": "ethernet-10g-tcp"}
    (row,) = predict(strategy=strategy, gpus=16, workload="vgg16", **link, **own).traffic
    assert row.messages == pytest.approx(messages, rel=1e-12)
    assert row.messages * row.message_bytes / row.time < 1.25e9


@pytest.mark.parametrize(
    ("own", "words"),
    [
        ({"strategy": "k-sync", "k": 8}, "8 of 16 gradients of every update are pushed and discarded"),
        ({"strategy": "backup", "backups": 2}, "2 of 16 gradients of every update are pushed and discarded"),
        ({"strategy": "k-batch-sync", "k": 8}, "gradients under way when an update ends are discarded"),
        ({"strategy": "k-sync", "k": 16}, None),
        ({"strategy": "k-async", "k": 8}, None),
        ({"strategy": "async"}, None),
    ],
)
def test_discarded_work_is_said(own, words):
    said = [each for each in predict(gpus=16, **own).warnings if "discarded" in each]
    assert len(said) == (words is not None)
    assert words is None or words in said[0]


RACKS = {"workload": "vgg16", "accelerators_per_node": 1, "inter_link": "ethernet-25g-rdma", "rack_nodes": 4}


@pytest.mark.parametrize("framework", ["pytorch", "mxnet"])
def test_out_of_step_uplinks_carry_pushes_and_pulls_at_once(framework):
    """Of four racks and as many servers three quarters of the pushes and pulls cross each uplink, of any
    framework; of one rack's nodes and servers the servers' ports bind."""
    job = {"servers": 4, "gpus": 16, "framework": framework, "nics": 1, **RACKS}
    setting, _, _, service = parts(strategy="async", oversubscription=8.0, **job)
    on = evaluate(setting, calibration()).fabric
    flat = evaluate(
        setting._replace(scenario=setting.scenario.model_copy(update={"rack_nodes": None})), calibration()
    )
    crossing = 8 * (3 / 4 + 3 / 4)
    assert float(flat.fabric.inter_link_bandwidth / on.inter_link_bandwidth) == pytest.approx(
        crossing, rel=1e-9
    )
    whole_bytes = float(setting.format.gradient_bytes * setting.workload.parameters)
    assert service == pytest.approx(whole_bytes / (16 * float(on.inter_link_bandwidth)), rel=1e-9)
    whole = predict(strategy="parameter-server", local_aggregation=False, oversubscription=8.0, **job)
    for own in ({"strategy": "k-sync", "k": 16}, {"strategy": "k-async", "k": 16}):
        assert predict(oversubscription=8.0, **own, **job).iteration_time == pytest.approx(
            whole.iteration_time, rel=1e-12
        )


@pytest.mark.parametrize("framework", ["pytorch", "mxnet"])
@pytest.mark.parametrize("strategy", ["async", "k-async", "k-sync", "backup", "elastic"])
def test_a_sweep_knows_what_uplinks_carry(strategy, framework):
    k = {"k": 16} if strategy.startswith("k") else {}
    job = {"strategy": strategy, "framework": framework, "servers": 4, "oversubscription": 8.0, **k, **RACKS}
    for row in sweep(gpus=[16, 24, 32], **job).rows():
        expected = predict(gpus=int(row["world_size"]), **job)
        assert row["iteration_time"] == pytest.approx(expected.iteration_time, rel=1e-9)


def test_compressed_gradients_rule_no_quote_out():
    job = {"workload": "vgg16", "gpus": 16, "nics": 1, "inter_link": "ethernet-10g-tcp", "node": "dgx-a100"}
    whole, setting = (
        resolve(Scenario(compression=scheme, **job), Catalogue.built_in()) for scheme in (None, "topk:0.001")
    )
    assert limit_of_iteration(setting).value == least_iteration_time(setting)
    assert limit_of_iteration(setting).value < limit_of_iteration(whole).value


FIGURES = ("updates_per_second", "gradients_per_update", "mean_staleness", "fresh_fraction")


@settings(max_examples=12, deadline=None)
@given(
    st.lists(st.sampled_from([*EACH, "parameter-server"]), min_size=1, max_size=3, unique=True),
    st.sampled_from([None, 1, 4, 9]),
    st.sampled_from([None, *LAWS, "pareto:scale=1,shape=2.5"]),
    st.sampled_from([None, "none", "optimal"]),
)
def test_a_sweep_gives_what_predict_gives(strategies, k, jitter, overlap):
    shared = {"k": k, "jitter": jitter, "overlap": overlap}
    crossed = {"strategy": strategies, "gpus": [1, 4, 16, 24], "local_batch_size": [8, 64]}
    expected, refused = [], 0
    for strategy in strategies:
        for batch in crossed["local_batch_size"]:
            for gpus in crossed["gpus"]:
                job = {"strategy": strategy, "gpus": gpus, "local_batch_size": batch, **shared}
                try:
                    expected.append(((strategy, gpus, batch), predict(**job)))
                except InputError:
                    refused += 1
    result = sweep(**crossed, **shared)
    if not expected:
        with pytest.raises(InputError):
            result.table()
        return
    rows = {(row["strategy"], row["world_size"], row["local_batch_size"]): row for row in result.rows()}
    assert len(rows) == len(expected)
    assert sum(result.refused.values()) == refused
    for key, answer in expected:
        row = rows[key]
        for name in ("iteration_time", "samples_per_second", *answer.terms):
            own = answer.terms.get(name, getattr(answer, name, None))
            assert row[name] == pytest.approx(own, rel=1e-9, abs=1e-15), (key, name)
        for name in FIGURES:
            own = getattr(answer, name)
            assert row.get(name) == (own if own is None else pytest.approx(own, rel=1e-9, abs=1e-15)), key


@pytest.mark.any_version
@pytest.mark.parametrize("strategy", EACH)
@pytest.mark.parametrize("jitter", ["lognormal:cv=0.1", "two-point:fast=1,slow=30,probability=0.4"])
def test_explain_is_complete(strategy, jitter):
    job = {"strategy": strategy, "gpus": 8, "jitter": jitter, **EACH[strategy]}
    told = explain(**job)
    assert told.complete
    assert told.iteration_time == pytest.approx(predict(**job).iteration_time, rel=1e-12)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"strategy": "k-sync", "k": 9}, "at most 8"),
        ({"strategy": "k-async", "k": 9}, "at most 8"),
        ({"strategy": "backup", "backups": 8}, "at most 7"),
        ({"strategy": "local-sgd", "local_steps": 0}, "local_steps"),
        ({"strategy": "async", "k": 2}, "k goes with strategy k-sync"),
        ({"k": 2}, "not all-reduce"),
        ({"strategy": "k-sync", "backups": 1}, "backups goes with strategy backup"),
        ({"strategy": "async", "local_steps": 2}, "local-sgd, elastic"),
        ({"strategy": "elastic", "overlap": "wfbp"}, "local steps"),
        ({"strategy": "local-sgd", "servers": 2}, "servers"),
        ({"strategy": "async", "workload": "llama-3-8b", "tensor_parallel": 2}, "all-reduce"),
    ],
)
def test_nonsense_is_refused(options, words):
    with pytest.raises(InputError, match=words):
        predict(gpus=8, **options)


def test_an_update_may_wait_for_more_gradients_than_workers_in_a_batch_variant():
    assert predict(gpus=8, strategy="k-batch-async", k=12).gradients_per_update == 12


@pytest.mark.parametrize(
    "own",
    [{"strategy": "k-sync", "k": 4}, {"strategy": "k-async", "k": 4}, {"strategy": "backup", "backups": 2}],
)
def test_an_anchor_of_several_starts_from_one_that_waits_for_nobody(own):
    """What is predicted on eight leads back to the same speed."""
    one = predict(gpus=8, anchor="iteration_time=0.1s@1", local_batch_size=32, **own)
    anchor = f"iteration_time={one.iteration_time!r}s@8"
    again = predict(gpus=8, anchor=anchor, local_batch_size=32, **own)
    assert again.iteration_time == pytest.approx(one.iteration_time, rel=1e-9)
    larger = predict(gpus=16, anchor=anchor, local_batch_size=32, **own)
    expected = predict(gpus=16, anchor="iteration_time=0.1s@1", local_batch_size=32, **own)
    assert larger.iteration_time == pytest.approx(expected.iteration_time, rel=1e-6)


def test_bounds_say_what_they_are_of():
    """A queue is an approximation whatever the law; without one the law's own status stands."""
    job = {"strategy": "k-async", "gpus": 8, "k": 3, "jitter": "uniform:low=1,high=2"}
    assert predict(**job, **SLOW).update_bounds.status == "approximation"
    setting, _, _, _ = parts(**job, **SLOW)
    assert round_of(setting, calibration()).status == "bound"
    assert round_of(parts(**job | {"k": 8}, **SLOW)[0], calibration()).status == "exact"


@pytest.mark.parametrize(
    "options",
    [{"strategy": "local-sgd", "local_steps": 8}, {"strategy": "k-sync", "k": 6}, {"strategy": "async"}],
)
def test_bounds_hold_the_wait_for_samples(options):
    """One loader for eight V100 takes 3.7 s a step, which every bound must wait for as well."""
    answer = predict(gpus=8, input="real", loader_workers=1, **options)
    bounds = answer.update_bounds
    assert answer.terms["input_time"] > 0.9 * answer.iteration_time
    assert bounds.low <= answer.updates_per_second * (1 + 1e-9)
    assert answer.updates_per_second <= bounds.high * (1 + 1e-9)
    assert bounds.high < 1.1 * answer.updates_per_second


def test_a_range_that_rounds_to_one_number_is_left_out():
    answer = predict(gpus=8, strategy="async", **SLOW)
    assert "between" in update_lines(answer)[0][1]
    near = {"low": answer.updates_per_second * (1 - 1e-9), "high": answer.updates_per_second * (1 + 1e-9)}
    same = answer.model_copy(update={"update_bounds": answer.update_bounds.model_copy(update=near)})
    assert "between" not in update_lines(same)[0][1]


def test_other_strategies_say_nothing_of_updates():
    answer = predict(gpus=8)
    assert all(getattr(answer, name) is None for name in (*FIGURES, "update_bounds"))
    assert "updates_per_second" not in sweep(gpus=[1, 8]).columns


def test_json_and_text(invoke):
    done = invoke("predict", "--gpus", "8", "--strategy", "k-batch-async", "--k", "2", "--json")
    answer = json.loads(done.stdout)
    assert answer["gradients_per_update"] == 2
    assert answer["mean_staleness"] == 3.5
    assert answer["update_bounds"]["low"] < answer["updates_per_second"] < answer["update_bounds"]["high"]
    text = invoke("predict", "--gpus", "8", "--strategy", "async").stdout
    assert "7.00 updates on average" in text
    assert "/s, of 1 gradient each; between" in text


# --- error against wall clock


def test_time_to_a_loss_is_where_the_bound_meets_it():
    answer = predict(gpus=16, strategy="k-batch-sync", k=4, jitter="exponential:rate=1", **FAST)
    reached = time_to_loss(answer, 0.005)
    assert [row["strategy"] for row in reached["rows"]] == ["parameter-server", *KINDS]
    own = next(row for row in reached["rows"] if row["strategy"] == "k-batch-sync")
    assert reached["time"] == own["time"] == pytest.approx(own["updates"] / answer.updates_per_second)
    times = {row["strategy"]: row["time"] for row in reached["rows"] if row["time"] is not None}
    assert reached["ahead"][-1]["strategy"] == min(times, key=times.__getitem__)
    assert reached["ahead"][-1]["to_time"] == pytest.approx(min(times.values()))
    assert [span["from_time"] for span in reached["ahead"][1:]] == [
        span["to_time"] for span in reached["ahead"][:-1]
    ]
    noisy = next(row for row in reached["rows"] if row["strategy"] == "async")
    assert reached["ahead"][0]["strategy"] == "async"  # many updates at first, and a high floor
    assert noisy["floor"] > own["floor"]
    errors = reached["curve"]["errors"]["k-batch-sync"]
    assert errors == sorted(errors, reverse=True)


def test_time_to_a_loss_on_the_command_line(invoke):
    done = invoke("predict", "--gpus", "8", "--strategy", "async", "--time-to-loss", "0.1", "--json")
    reached = json.loads(done.stdout)["time_to_loss"]
    assert reached["loss"] == 0.1
    assert reached["time"] > 0
    text = invoke("predict", "--gpus", "8", "--strategy", "async", "--time-to-loss", "0.1").stdout
    assert "ahead: " in text
    assert "compare strategies by it" in " ".join(text.split())
    for wrong in ("0", "2", "-1", "nan"):
        refused = invoke("predict", "--gpus", "8", "--time-to-loss", wrong)
        assert refused.exit_code == 2
        assert "Traceback" not in refused.stderr


def test_backups_in_stragglers(invoke):
    def told(*options):
        done = invoke("stragglers", "--variant", "backup", "--workers", "8", *options, "--json")
        assert done.exit_code == 0, done.stderr
        return json.loads(done.stdout)

    assert told("--backups", "2") == told("--k", "6")
    for wrong in (("--backups", "8"), ("--backups", "1", "--k", "2")):
        assert invoke("stragglers", "--variant", "backup", "--workers", "8", *wrong).exit_code == 2
    elastic = invoke("stragglers", "--variant", "elastic", "--workers", "8", "--local-steps", "4", "--json")
    assert json.loads(elastic.stdout)["gradients_per_update"] == 4


def test_rounding_makes_no_term_negative():
    """The first of two exponential gradients comes exactly as early as the other is computed for nothing."""
    terms = predict(
        workload="alexnet",
        accelerator="a100-sxm4-40gb",
        gpus=2,
        strategy="k-sync",
        precision="fp32",
        overlap="none",
        jitter="exponential:rate=1",
    ).terms
    assert min(terms.values()) >= 0


def test_rounding_makes_no_wait_below_nothing():
    answer = predict(
        workload="alexnet", accelerator="a10", node="pcie-workstation-8gpu", gpus=249, strategy="async"
    )
    assert answer.terms["straggler_time"] == 0.0


@pytest.mark.parametrize("strategy", ["k-sync", "k-batch-sync", "k-async", "k-batch-async"])
def test_one_worker_waits_for_nobody(strategy):
    job = {"workload": "alexnet", "accelerator": "a10", "node": "pcie-workstation-8gpu", "precision": "fp32"}
    job["local_batch_size"] = 1
    terms = predict(**job, world_size=1, strategy=strategy, jitter="exponential:rate=1").terms
    assert min(terms.values()) >= 0
