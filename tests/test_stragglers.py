"""Variants of distributed SGD against published numbers, an event simulation and Monte Carlo."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel import stragglers
from perfmodel.core.errors import InputError
from perfmodel.equations.distribution import Distribution
from perfmodel.equations.distributions import distribution, parse_distribution
from perfmodel.equations.local_sgd import slowest_mean
from perfmodel.equations.sgd_variants import AVERAGING, VARIANTS, straggler_variant, sync_over_async
from perfmodel.equations.staleness import k_async_staleness_probability
from perfmodel.equations.update_rounds import averaged_time
from perfmodel.equations.update_times import (
    server_update_rate,
)
from perfmodel.equations.wall_clock import Objective, error_bound
from perfmodel.model.prediction.training.stragglers import Stragglers

from .simulators.sgd_events import Draw, Run, server_queue, simulate

CHECKS = {
    check["name"]: check
    for check in json.loads((Path(__file__).parent / "data/check_values_stragglers.json").read_text())
}
SEED = 20
ONE = distribution("exponential", rate=1)
SHIFTED = distribution("shifted-exponential", shift=1, rate=1)
SCATTERED = distribution("weibull", scale=1, shape=0.6)
"""A worker that has run long has long to go."""

LAWS: dict[str, tuple[Distribution, Callable[[np.random.Generator], Draw]]] = {
    "exponential": (ONE, lambda rng: lambda n: rng.exponential(1, n)),
    "shifted-exponential": (SHIFTED, lambda rng: lambda n: 1 + rng.exponential(1, n)),
    "uniform": (distribution("uniform", low=1, high=2), lambda rng: lambda n: rng.uniform(1, 2, n)),
    "pareto": (distribution("pareto", scale=1, shape=4), lambda rng: lambda n: 1 + rng.pareto(4, n)),
    "scattered": (SCATTERED, lambda rng: lambda n: rng.weibull(0.6, n)),
}
"""The law and its own generator in numpy, which knows nothing of our quantiles."""


def _variant(variant: str, law: Any, workers: int, **options: Any) -> Any:
    return straggler_variant(variant, law, workers, **options)


def _agree(seen: float, standard_error: float, expected: float, what: str) -> None:
    """Within four standard errors, and the standard error small enough to mean something."""
    note = f"{what}: seen {seen:.6g} +- {standard_error:.2g}, expected {expected:.6g}, seed {SEED}"
    print(note)
    assert standard_error <= 0.0025 * seen, f"too few runs; {note}"
    assert abs(seen - expected) <= 4 * standard_error, note


# --- published values


def _pasgd(inputs: dict[str, Any]) -> float:
    options = {"communication_time": inputs["D"]}
    sync = _variant("sync", ONE, inputs["m"], **options)
    local = _variant("local-sgd", ONE, inputs["m"], local_steps=inputs["tau"], **options)
    return sync.update_time / (local.update_time / inputs["tau"])


VALUES: dict[str, Callable[[dict[str, Any]], float]] = {
    "sync_exp_P8": lambda i: _variant("sync", ONE, 8).update_time,
    "ksync_sexp_P8_K4": lambda i: _variant("k-sync", SHIFTED, 8, k=4).update_time,
    "backup_N96_b4_exp": lambda i: _variant("backup", ONE, i["N"] + i["b"], k=i["N"]).update_time,
    "backup_gain_N100_b0_vs_N96_b4": lambda i: (
        _variant("sync", ONE, 100).update_time / _variant("backup", ONE, 100, k=96).update_time
    ),
    "kbatchsync_exp_P8_K4": lambda i: _variant("k-batch-sync", ONE, 8, k=4).update_time,
    "kbatchsync_sexp_P8_K4": lambda i: _variant("k-batch-sync", SHIFTED, 8, k=4).update_time,
    "kbatchsync_sexp_P8_K8": lambda i: _variant("k-batch-sync", SHIFTED, 8, k=8).update_time,
    "kbatchsync_sexp_P4_K6": lambda i: _variant("k-batch-sync", SHIFTED, 4, k=6).update_time,
    "kasync_exp_P8_K4_ET": lambda i: _variant("k-async", ONE, 8, k=4).update_time,
    "kasync_P8_K4_staleness": lambda i: _variant("k-async", ONE, 8, k=4).mean_staleness,
    "kasync_exp_P8_K4_p0": lambda i: _variant("k-async", ONE, 8, k=4).fresh_fraction,
    "kasync_exp_P8_K4_P(stal=2)": lambda i: k_async_staleness_probability(8, 4, 2),
    "kasync_sexp_P8_K4_staleness": lambda i: _variant("k-async", SHIFTED, 8, k=4).mean_staleness,
    "async_P20_staleness": lambda i: _variant("async", ONE, 20).mean_staleness,
    "kbatchasync_exp_P8_K4_ET": lambda i: _variant("k-batch-async", ONE, 8, k=4).update_time,
    "kbatchasync_exp_P8_K4_staleness": lambda i: _variant("k-batch-async", ONE, 8, k=4).mean_staleness,
    "kbatchasync_exp_p0": lambda i: _variant("k-batch-async", ONE, 8, k=4).fresh_fraction,
    "kbatchasync_sexp_P8_K4_ET": lambda i: _variant("k-batch-async", SHIFTED, 8, k=4).update_time,
    "kbatchasync_hetero_staleness": lambda i: (
        _variant("k-batch-async", [(ONE, 7), (SHIFTED, 1)], 8, k=4).mean_staleness
    ),
    "thm1_ratio_exp_P20": lambda i: sync_over_async(ONE, 20)[0],
    "thm1_ratio_pareto2_P20": lambda i: sync_over_async(distribution("pareto", scale=1, shape=2), 20)[0],
    "sync_common_comm_P16": lambda i: _variant("sync", ONE, 16, communication_time=0.25).update_time,
    "pasgd_speedup_m16_tau10_D1": _pasgd,
    "pasgd_Emax_mean_m8_tau4": lambda i: slowest_mean(ONE, i["m"], i["tau"])[0],
    "pasgd_const_speedup": lambda i: (1 + i["alpha"]) / (1 + averaged_time(i["alpha"], i["tau"])),
    "async_ps_contention_P8_s0.05": lambda i: server_update_rate(i["P"], i["Z"], i["s"]),
}
ELSEWHERE = {  # tests/test_convergence.py
    "adacomm_tau_star",
    "ksync_error_J200",
    "adasync_Kstar_ksync_exp",
    "lr_linear_scaling_256gpu",
    "gupta_lr",
}
INEQUALITIES = {"p0_ordering_async_P8"}


@pytest.mark.parametrize("name", VALUES)
def test_published_value(name):
    check = CHECKS[name]
    assert VALUES[name](check["inputs"]) == pytest.approx(check["expected"], rel=check["tolerance"]["rel"])


def test_every_value_of_the_section_is_tested():
    section = {name for name, check in CHECKS.items() if check["section"] == "2"}
    assert section == set(VALUES) | ELSEWHERE | INEQUALITIES


def test_the_bound_of_k_async_flips_where_used_workers_are_worse():
    prediction = straggler_variant("k-async", SCATTERED, 8, k=4)
    sync = straggler_variant("k-sync", SCATTERED, 8, k=4).update_time
    assert prediction.low >= sync
    run = simulate("k-async", LAWS["scattered"][1](np.random.default_rng(SEED)), 8, 4, 40_000)
    assert run.update_time > sync + 10 * run.standard_error, f"seed {SEED}, se {run.standard_error}"


def test_freshness_orders_by_ageing():
    """Rarer than 1/P where used workers are better, more often where they are worse."""
    expected = CHECKS["p0_ordering_async_P8"]["expected"]
    found = [straggler_variant("async", law, 8).fresh_fraction for law in (SHIFTED, ONE, SCATTERED)]
    assert found[0] < found[1] == 1 / 8 < found[2]
    assert found[:2] == pytest.approx(expected[:2], rel=0.12)  # the first was counted, 1 in 1,000


@pytest.mark.published("lecture notes on distributed SGD; Dutta et al. 2018")
def test_theorem_of_sync_over_async():
    per_update, per_gradient = sync_over_async(ONE, 20)
    assert per_update == pytest.approx(20 * sum(1 / i for i in range(1, 21)), rel=1e-14)
    assert per_update == pytest.approx(71.95, abs=0.005)
    assert per_gradient == pytest.approx(per_update / 20, rel=1e-14)
    assert sync_over_async(SHIFTED, 20)[0] == pytest.approx(45.98, abs=0.005)


# --- barriers by sorting


@pytest.mark.any_version
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(
    ("variant", "workers", "k"), [("sync", 2, None), ("sync", 32, None), ("k-sync", 8, 4), ("backup", 32, 28)]
)
def test_barrier_by_monte_carlo(law, variant, workers, k):
    rule, make = LAWS[law]
    runs = 4_000_000 // workers if law == "scattered" else 1_200_000 // workers
    runs = max(runs, 120_000)
    draws = make(np.random.default_rng(SEED))(runs * workers).reshape(runs, workers)
    order = k or workers
    times = np.partition(draws, order - 1, axis=1)[:, order - 1]
    found = straggler_variant(variant, rule, workers, k=k)
    assert (found.status, found.low, found.high) == ("exact", found.update_time, found.update_time)
    _agree(times.mean(), times.std() / runs**0.5, found.update_time, f"{variant} {law} {workers}/{order}")


# --- everything else by events

EVENTS = {"exponential": 320_000, "shifted-exponential": 80_000, "uniform": 40_000, "pareto": 80_000,
          "scattered": 500_000}  # fmt: skip


def _run(variant: str, law: str, workers: int, k: int, events: int | None = None) -> Run:
    draw = LAWS[law][1](np.random.default_rng(SEED))
    return simulate(variant, draw, workers, k, (events or EVENTS[law]) // k)


SIZES = ((2, 1), (8, 4), (4, 6), (32, 24))
SLOW_TO_SETTLE = ("exponential", "scattered")
"""Laws that need many runs."""


@pytest.mark.any_version
@pytest.mark.parametrize(
    ("law", "workers", "k"),
    [(law, *size) for law in LAWS for size in (SIZES[1:3] if law in SLOW_TO_SETTLE else SIZES)],
)
def test_k_batch_sync_by_events(law, workers, k):
    run = _run("k-batch-sync", law, workers, k)
    found = straggler_variant("k-batch-sync", LAWS[law][0], workers, k=k)
    assert found.status == "exact"
    _agree(run.update_time, run.standard_error, found.update_time, f"k-batch-sync {law} {workers}/{k}")


@pytest.mark.any_version
@pytest.mark.parametrize("law", ["exponential", "shifted-exponential", "uniform", "pareto"])
@pytest.mark.parametrize(("workers", "k"), SIZES)
def test_k_batch_async_by_events(law, workers, k):
    run = _run("k-batch-async", law, workers, k)
    found = straggler_variant("k-batch-async", LAWS[law][0], workers, k=k)
    _agree(run.update_time, run.standard_error, found.update_time, f"k-batch-async {law} {workers}/{k}")
    assert run.staleness.mean() == pytest.approx(found.mean_staleness, rel=0.002)
    assert run.fresh_fraction == pytest.approx(found.fresh_fraction, abs=0.006)


@pytest.mark.any_version
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("workers", "k"), [(2, 1), (8, 2), (8, 4), (32, 24), (8, 8)])
def test_k_async_by_events(law, workers, k):
    rule = LAWS[law][0]
    run = _run("k-async", law, workers, k, 200_000 if law == "scattered" else 80_000)
    found = straggler_variant("k-async", rule, workers, k=k)
    what = f"k-async {law} {workers}/{k}, se {run.standard_error:.2g}, seed {SEED}"
    assert run.staleness.mean() == pytest.approx(found.mean_staleness, rel=0.004, abs=0.001), what
    assert found.low - 4 * run.standard_error <= run.update_time <= found.high + 4 * run.standard_error, what
    if law == "exponential" or k in (1, workers):
        assert found.status == "exact"
        assert abs(run.update_time - found.update_time) <= 4 * run.standard_error, what
        assert run.fresh_fraction == pytest.approx(found.fresh_fraction, abs=0.006), what
    else:
        assert found.status == "bound"
        assert found.low <= found.update_time <= found.high
        assert found.update_time == pytest.approx(run.update_time, rel=0.35), what  # said to err by a quarter


def test_error_curves_are_the_bound_and_say_whom_they_leave_out(invoke):
    answer = stragglers(workers=8)
    usual = answer.error_curves(0.05)
    assert {curve.variant for curve in usual.variants} == set(VARIANTS) - set(AVERAGING)
    assert set(usual.left_out) == set(AVERAGING)
    large = answer.error_curves(0.9)  # stale updates of several gradients may be larger
    assert {curve.variant for curve in large.variants} == {"k-async", "k-batch-async"}
    assert "needs a learning rate in 0..0.5, not 0.9" in large.left_out["sync"]
    for prediction in answer.rows:
        if prediction.variant in usual.left_out:
            continue
        curve = next(each for each in usual.variants if each.variant == prediction.variant)
        bound = error_bound(prediction, Objective(0.05, 1.0, 0.5, 10.0, 32, 2.0, staleness_bound=0.2))
        assert curve.error == pytest.approx(bound.at(np.array(usual.times)), rel=1e-12)
    with pytest.raises(InputError, match="no bound is known"):
        Stragglers(answer.rows[-1:], answer.distribution, 8, {}).error_curves()
    command = ("stragglers", "--workers", "8", "--curve", "--learning-rate")
    assert "left out: no bound is known for local-sgd" in " ".join(invoke(*command, "0.05").stdout.split())


@pytest.mark.any_version
@pytest.mark.parametrize(("workers", "k"), [(16, 8), (64, 32), (16, 5), (16, 2), (8, 6)])
@pytest.mark.parametrize("cv", [0.028, 0.1])
def test_k_async_of_workers_that_hardly_vary(workers, k, cv):
    """Late workers started together, and end their updates in turn."""
    spread, rng = np.log1p(cv * cv), np.random.default_rng(SEED)
    run = simulate("k-async", lambda n: rng.lognormal(-spread / 2, spread**0.5, n), workers, k, 8_000)
    found = straggler_variant("k-async", parse_distribution(f"lognormal:cv={cv}"), workers, k=k)
    what = f"{workers}/{k}, cv {cv}, se {run.standard_error:.2g}, seed {SEED}"
    near = 0.015 if 2 * k == workers else 0.08
    assert found.update_time == pytest.approx(run.update_time, rel=near), what
    assert found.fresh_fraction == pytest.approx(run.fresh_fraction, abs=0.02), what
    assert found.mean_staleness == pytest.approx(run.staleness.mean(), rel=0.01), what


def test_geometric_staleness():
    run = _run("k-async", "exponential", 8, 4)
    counts = np.bincount(run.staleness, minlength=6)[:6] / len(run.staleness)
    assert counts == pytest.approx(k_async_staleness_probability(8, 4, np.arange(6.0)), abs=0.005)


def test_events_cancel_and_wait_as_they_should():
    """The simulation itself: constant times leave nothing to chance."""
    draw: Draw = np.ones
    assert np.all(simulate("sync", draw, 4, 4, 50).gaps == 1)
    assert np.all(simulate("k-sync", draw, 4, 2, 50).staleness == 0)
    assert simulate("k-batch-sync", draw, 2, 4, 50).update_time == 2
    assert simulate("local-sgd", draw, 3, 3, 50, local_steps=5).update_time == 5
    assert simulate("sync", draw, 3, 3, 50, slow=7.0).update_time == 7


def test_variants_simulated_agree_with_their_exact_form():
    for variant, workers, k in (("sync", 8, 8), ("backup", 8, 6)):
        run = _run(variant, "exponential", workers, k, 400_000)
        found = straggler_variant(variant, ONE, workers, k=None if variant == "sync" else k)
        _agree(run.update_time, run.standard_error, found.update_time, variant)
        assert run.fresh_fraction == found.fresh_fraction == 1


def test_slow_worker_in_async_and_sync():
    """One worker three times slower: async loses its share, sync waits for it."""
    classes = [(ONE, 7), (distribution("exponential", rate=1 / 3), 1)]
    draw = LAWS["exponential"][1](np.random.default_rng(SEED))
    async_run = simulate("k-batch-async", draw, 8, 4, 75_000, slow=3.0)
    found = straggler_variant("k-batch-async", classes, 8, k=4)
    _agree(async_run.update_time, async_run.standard_error, found.update_time, "slow worker, k-batch-async")
    assert async_run.staleness.mean() == pytest.approx(found.mean_staleness, rel=0.005)
    rng = np.random.default_rng(SEED)
    times = rng.exponential(1, (300_000, 8))
    times[:, 0] *= 3
    slowest = times.max(axis=1)
    sync = straggler_variant("sync", classes, 8)
    _agree(slowest.mean(), slowest.std() / 300_000**0.5, sync.update_time, "slow worker, sync")


# --- local SGD


@pytest.mark.any_version
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("workers", "steps"), [(2, 3), (16, 10)])
def test_local_sgd_by_monte_carlo(law, workers, steps):
    rule, make = LAWS[law]
    runs = 60_000
    averages = (
        make(np.random.default_rng(SEED))(runs * workers * steps).reshape(runs, workers, steps).mean(-1)
    )
    slowest = averages.max(axis=1)
    found = straggler_variant("local-sgd", rule, workers, local_steps=steps)
    assert found.gradients_per_update == workers * steps
    error = slowest.std() / runs**0.5
    allowed = 4 * error + (0.01 * slowest.mean() if found.status == "approximation" else 0)
    note = f"local-sgd {law}: seen {slowest.mean():.5g} +- {error:.2g}, seed {SEED}"
    assert abs(slowest.mean() - found.update_time / steps) <= allowed, note
    assert found.low - 4 * steps * error <= found.update_time <= found.high + 4 * steps * error


@pytest.mark.parametrize("spec", ["exponential:rate=1", "gamma:shape=3", "normal:mean=1,std=0.1"])
def test_lattice_of_local_steps_meets_the_known_sums(spec):
    from perfmodel.equations.local_sgd import _on_lattice

    law = parse_distribution(spec)
    assert _on_lattice(law, 8, 4, heavy=False) == pytest.approx(slowest_mean(law, 8, 4)[0], rel=1e-6)


# --- the server


def test_server_contention_by_events():
    rng = np.random.default_rng(SEED)
    run = server_queue(lambda n: rng.exponential(1, n), lambda n: rng.exponential(0.2, n), 8, 400_000)
    found = straggler_variant("async", ONE, 8, server_time=0.2)
    _agree(run.update_time, run.standard_error, found.update_time, "server, exponential service")
    assert found.low <= found.update_time <= found.high
    assert found.status == "approximation"


@given(st.integers(1, 60), st.floats(0.01, 10), st.floats(0.001, 5))
def test_server_rate_never_beats_its_bounds(workers, think, service):
    rate = server_update_rate(workers, think, service)
    assert rate <= min(workers / (think + service), 1 / service) * (1 + 1e-12)
    assert rate >= workers / (think + workers * service) * (1 - 1e-12)


def test_a_free_server_is_no_server():
    assert server_update_rate(8, 2.0, 0.0) == 4.0


# --- communication inside the barrier


def test_a_ring_hides_nothing_and_a_queue_does():
    """Message by message: every block visits every rank, each hop as soon as block and rank are there."""
    rng = np.random.default_rng(SEED)
    for _ in range(50):
        ready, hop, ranks = rng.exponential(1, 8), 0.1, 8
        done = np.array(
            ready
        )  # rank i may start step s when it has started and its neighbour's step s-1 came
        for _step in range(2 * (ranks - 1)):
            done = np.maximum(done, np.roll(done, 1)) + hop
        assert done.max() == pytest.approx(ready.max() + 2 * (ranks - 1) * hop, rel=1e-12)
        queued = 0.0
        for at in sorted(ready):
            queued = max(queued, at) + 0.1
        assert queued <= ready.max() + 8 * 0.1


def test_normal_jitter():
    """mu = 1, sigma = 0.05, 256 workers: a number somebody else worked out."""
    law = distribution("normal", mean=1, std=0.05)
    assert _variant("sync", law, 256).update_time == pytest.approx(1.141343164, rel=1e-9)


# --- properties and edges


@given(st.sampled_from(sorted(LAWS)), st.integers(1, 40), st.data())
def test_variants_order_as_they_must(law, workers, data):
    rule = LAWS[law][0]
    k = data.draw(st.integers(1, workers))
    sync, k_sync, k_batch, batch_async = (
        straggler_variant(variant, rule, workers, k=None if variant == "sync" else k)
        for variant in ("sync", "k-sync", "k-batch-sync", "k-batch-async")
    )
    assert k_batch.update_time <= k_sync.update_time * (1 + 1e-4) <= sync.update_time * (1 + 2e-4)
    assert batch_async.time_per_gradient == pytest.approx(rule.mean / workers, rel=1e-12)
    for found in (sync, k_sync, k_batch, batch_async):
        assert found.low <= found.update_time <= found.high
        assert found.time_per_gradient == found.update_time / found.gradients_per_update
        assert 0 <= found.fresh_fraction <= 1 + 1e-12


@pytest.mark.parametrize("law", LAWS)
def test_one_worker_is_plain_sgd(law):
    rule = LAWS[law][0]
    for variant in VARIANTS:
        k = None if variant in ("sync", "async", "local-sgd", "elastic") else 1
        found = straggler_variant(variant, rule, 1, k=k)
        assert found.update_time == pytest.approx(rule.mean, rel=1e-5), variant
        assert found.mean_staleness == 0
        assert found.fresh_fraction == pytest.approx(1, abs=1e-9)


def test_k_async_with_all_workers_is_sync_and_k_batch_async_is_not():
    everyone = straggler_variant("k-async", SHIFTED, 8, k=8)
    assert everyone.update_time == straggler_variant("sync", SHIFTED, 8).update_time
    assert everyone.mean_staleness == 0
    assert straggler_variant("k-batch-async", SHIFTED, 8, k=8).mean_staleness == 7 / 8


def test_discrete_and_many_gradients():
    two = parse_distribution("two-point:slow=4,probability=0.1")
    found = straggler_variant("k-batch-sync", two, 4, k=6)
    rng = np.random.default_rng(SEED)
    run = simulate("k-batch-sync", lambda n: np.where(rng.random(n) < 0.1, 4.0, 1.0), 4, 6, 20_000)
    assert found.status == "approximation"
    assert found.low - 4 * run.standard_error <= run.update_time <= found.high + 4 * run.standard_error
    assert found.update_time == pytest.approx(run.update_time, rel=0.01)
    many = straggler_variant("k-batch-sync", SHIFTED, 8, k=1000)
    assert many.status == "bound"
    assert many.low <= many.update_time <= many.high
    narrow = parse_distribution("uniform:low=1,high=2")
    assert (
        straggler_variant("k-batch-sync", narrow, 8, k=5).update_time
        == straggler_variant("k-sync", narrow, 8, k=5).update_time
    )


def test_a_law_without_a_mean_may_still_have_a_k_sync():
    heavy = distribution("pareto", scale=1, shape=0.8)
    assert straggler_variant("k-sync", heavy, 8, k=4).update_time > 1
    assert straggler_variant("k-batch-sync", heavy, 8, k=4).update_time > 1


def test_epoch_time():
    found = straggler_variant("k-sync", ONE, 8, k=4)
    assert found.epoch_time(1000) == pytest.approx(250 * found.update_time, rel=1e-14)


@pytest.mark.parametrize(
    ("variant", "workers", "options", "words"),
    [
        ("k-sink", 8, {"k": 4}, "nearest: k-sync"),
        ("k-sync", 8, {"k": 9}, "k 9 of 8 cannot be"),
        ("k-async", 8, {"k": 9}, "k 9 of 8 cannot be"),
        ("backup", 8, {"k": 9}, "k 9 of 8 cannot be"),
        ("k-sync", 8, {"k": 0}, "at least 1"),
        ("k-batch-sync", 8, {"k": 0}, "at least 1"),
        ("k-batch-async", 8, {"k": 2.5}, "whole number"),
        ("k-batch-async", 8, {}, "needs k"),
        ("sync", 8, {"k": 4}, "has k 8"),
        ("async", 8, {"k": 4}, "has k 1"),
        ("sync", 0, {}, "workers"),
        ("sync", 2.5, {}, "workers"),
        ("sync", 8, {"local_steps": 2}, "takes no local_steps"),
        ("local-sgd", 8, {"local_steps": 0}, "at least 1"),
        ("async", 8, {"communication_time": 1}, "no barrier"),
        ("sync", 8, {"communication_time": -1}, "at least 0"),
        ("sync", 8, {"server_time": 1}, "takes no server_time"),
        ("async", 8, {"server_time": -1}, "at least 0"),
    ],
)
def test_variants_refused(variant, workers, options, words):
    with pytest.raises(InputError, match=words):
        straggler_variant(variant, ONE, workers, **options)


@pytest.mark.parametrize("variant", ["sync", "async", "local-sgd", "elastic"])
def test_a_law_without_a_mean_is_refused(variant):
    with pytest.raises(InputError, match="mean"):
        straggler_variant(variant, distribution("pareto", scale=1, shape=1), 4)


def test_classes_and_negative_times_are_refused():
    with pytest.raises(InputError, match="workers that differ"):
        straggler_variant("k-async", [(ONE, 4), (SHIFTED, 4)], 8, k=2)
    with pytest.raises(InputError, match="sum over their classes"):
        straggler_variant("sync", [(ONE, 4), (SHIFTED, 4)], 9)
    with pytest.raises(InputError, match="negative"):
        straggler_variant("sync", distribution("normal", mean=1, std=1), 4)


def test_no_nan_anywhere():
    for law in LAWS.values():
        for variant in VARIANTS:
            k = None if variant in ("sync", "async", "local-sgd", "elastic") else 3
            found = straggler_variant(variant, law[0], 8, k=k)
            assert all(
                math.isfinite(x) for x in (found.update_time, found.low, found.high, found.mean_staleness)
            )
