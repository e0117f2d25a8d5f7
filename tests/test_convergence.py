"""Error against wall clock, learning rates and batch sizes: published numbers, recursions, minimisation."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.core.errors import InputError
from perfmodel.equations.adaptive_synchrony import (
    adacomm_local_steps,
    adasync_batch_gradients,
    adasync_gradients,
    adasync_k_sync_gradients,
    best_local_steps,
    local_sgd_gradient_bound,
)
from perfmodel.equations.convergence import (
    error_after,
    error_floor,
    nonconvex_gradient_bound,
    staleness_discount,
    updates_to_error,
)
from perfmodel.equations.critical_batch import (
    epochs_to_target as epochs_formula,
)
from perfmodel.equations.distributions import distribution
from perfmodel.equations.downpour import (
    async_throughput_kept,
    extra_parameter_age,
    fetch_load,
    push_load,
)
from perfmodel.equations.learning_rate import (
    adagrad_learning_rate,
    distance_learning_rate,
    gradient_staleness_learning_rate,
    linear_scaled_learning_rate,
    mean_staleness_learning_rate,
    noise_scaled_learning_rate,
    warmed_up_learning_rate,
)
from perfmodel.equations.model_parallel import (
    DISTBELIEF,
    coherency_of_peak,
    contention_of_peak,
    contention_of_point,
    halo_of_point,
    tiled_speedup,
)
from perfmodel.equations.scaling import usl_peak_world_size, usl_speedup
from perfmodel.equations.sgd_variants import VARIANTS, straggler_variant
from perfmodel.equations.wall_clock import Objective, error_bound
from perfmodel.model.prediction.training.adaptive import schedule
from perfmodel.workloads.recipes import epochs_to_target

CHECKS = {
    check["name"]: check
    for check in json.loads((Path(__file__).parent / "data/check_values_stragglers.json").read_text())
}
ONE = distribution("exponential", rate=1)


def _expect(name: str, value: float) -> None:
    check = CHECKS[name]
    assert value == pytest.approx(check["expected"], rel=check["tolerance"]["rel"])


# --- error bounds


def test_synchronous_bound_is_the_published_value():
    floor = error_floor(0.05, 1.0, 10.0, 0.5, 1.0, 4, 32)
    _expect("ksync_error_J200", error_after(2.0, floor, 0.05, 0.5, 1.0, 200))


def test_asynchronous_bound_is_the_published_value():
    discount = staleness_discount(0.2, 0.5)
    floor = error_floor(0.05, 1.0, 10.0, 0.5, discount, 4, 32)
    assert error_after(2.0, floor, 0.05, 0.5, discount, 200) == pytest.approx(0.01348621156, rel=1e-9)


@given(
    st.floats(0.001, 0.2),
    st.floats(0.1, 1),
    st.floats(0, 50),
    st.floats(0.2, 1.2),
    st.integers(1, 32),
    st.integers(0, 80),
)
def test_bound_is_the_recursion(rate, convexity, variance, discount, gradients, updates):
    """e' = (1 - eta c g) e + eta^2 L sigma^2 / (2 K b): one update of the proof."""
    error = 2.0
    for _ in range(updates):
        error = (1 - rate * convexity * discount) * error + rate**2 * variance / (2 * gradients * 8)
    floor = error_floor(rate, 1.0, variance, convexity, discount, gradients, 8)
    assert error_after(2.0, floor, rate, convexity, discount, updates) == pytest.approx(error, rel=1e-9)


def test_bound_holds_for_sgd_on_a_quadratic():
    """F = c w^2 / 2 with noisy gradients: the mean error of 4,000 runs stays below the bound, and near it."""
    rng, rate, convexity, sigma, batch = np.random.default_rng(5), 0.1, 0.5, 2.0, 8
    w = np.full(4000, 2.0)
    floor = error_floor(rate, convexity, sigma**2, convexity, 1.0, 4, batch)
    for update in range(1, 121):
        noise = rng.normal(0, sigma / math.sqrt(4 * batch), w.shape)
        w -= rate * (convexity * w + noise)
        error, spread = (convexity * w**2 / 2).mean(), (convexity * w**2 / 2).std() / w.size**0.5
        bound = error_after(1.0, floor, rate, convexity, 1.0, update)
        assert error <= bound + 4 * spread, f"update {update}, seed 5"
    assert error > 0.3 * bound


def test_variants_against_the_clock():
    """Asynchronous SGD is ahead early and ends higher; synchronous SGD the other way round."""
    objective = Objective(
        learning_rate=0.02, smoothness=1, strong_convexity=0.5, gradient_variance=10,
        local_batch_size=32, initial_error=2, staleness_bound=0.5,
    )  # fmt: skip
    law = distribution("shifted-exponential", shift=0.2, rate=1)
    bounds = {
        variant: error_bound(straggler_variant(variant, law, 16, k=k), objective)
        for variant, k in (
            ("sync", None),
            ("k-sync", 4),
            ("k-async", 4),
            ("k-batch-async", 4),
            ("async", None),
        )
    }
    early, late = ({name: bound.at(t) for name, bound in bounds.items()} for t in (20.0, 1e5))
    assert early["async"] < early["k-async"] < early["sync"]
    assert late["sync"] < late["k-sync"] < late["k-async"] <= late["async"]
    assert bounds["sync"].at(np.array([0.0, 1e9])) == pytest.approx([2.0, bounds["sync"].floor])


def test_every_variant_has_a_bound_or_says_why():
    objective = Objective(0.01, 1, 0.5, 10, 32, 2, staleness_bound=0.8)
    for variant in VARIANTS:
        k = None if variant in ("sync", "async", "local-sgd", "elastic") else 4
        prediction = straggler_variant(variant, ONE, 8, k=k)
        if variant in ("local-sgd", "elastic"):
            with pytest.raises(InputError, match="no bound is known for"):
                error_bound(prediction, objective)
        else:
            assert 0 < error_bound(prediction, objective).floor < 1


def test_bounds_refused():
    sync = straggler_variant("sync", ONE, 8)
    with pytest.raises(InputError, match="learning rate in"):
        error_bound(sync, Objective(0.9, 1, 0.5, 10, 32, 2))
    stale = straggler_variant("async", distribution("uniform", low=1, high=1.001), 8)
    with pytest.raises(InputError, match="one below 1"):
        error_bound(stale, Objective(0.01, 1, 0.5, 10, 32, 2, staleness_bound=1.0 + 1e-9))
    served = straggler_variant("async", ONE, 8, server_time=0.1)
    with pytest.raises(InputError, match="not known"):
        error_bound(served, Objective(0.01, 1, 0.5, 10, 32, 2))


def test_updates_to_error_inverts_the_bound():
    floor = error_floor(0.05, 1.0, 10.0, 0.5, 1.0, 4, 32)
    updates = updates_to_error(0.1, 2.0, floor, 0.05 * 0.5)
    assert error_after(2.0, floor, 0.05, 0.5, 1.0, updates) == pytest.approx(0.1, rel=1e-12)
    assert updates_to_error(3.0, 2.0, floor, 0.025) == 0
    with pytest.raises(InputError, match="below the floor"):
        updates_to_error(floor / 2, 2.0, floor, 0.025)
    with pytest.raises(InputError, match=r"0\.\.1"):
        updates_to_error(0.1, 2.0, floor, 1.5)


# --- how much to synchronise


def test_adasync_of_k_sync_is_the_published_value():
    i = CHECKS["adasync_Kstar_ksync_exp"]["inputs"]
    k = adasync_k_sync_gradients(i["eta"], i["L"], i["sigma2"], i["t"], i["P"], i["mu"], i["m"], i["F0"])
    _expect("adasync_Kstar_ksync_exp", k)


@pytest.mark.parametrize("form", ["batch", "k-sync"])
def test_adasync_minimises_the_bound(form):
    eta, smooth, variance, t, workers, mu, b, error = 0.1, 5.0, 20.0, 50.0, 16, 1.0, 8, 0.5
    k = np.linspace(0.5, 15.9, 40_001)
    update_time = k / (workers * mu) if form == "batch" else np.log(workers / (workers - k)) / mu
    bound = nonconvex_gradient_bound(error, t / update_time, eta, 1.0, smooth, variance, k, b)
    chosen = (adasync_batch_gradients if form == "batch" else adasync_k_sync_gradients)(
        eta, smooth, variance, t, workers, mu, b, error
    )
    assert chosen == pytest.approx(k[bound.argmin()], abs=0.001)


@given(st.integers(1, 32), st.floats(1e-3, 1))
def test_adasync_stays_within_the_workers_and_rises(first, left):
    chosen = adasync_gradients(first, 1.0, left, 32)
    assert first <= chosen <= 32
    assert adasync_gradients(first, 1.0, left / 2, 32) >= chosen


def test_adacomm():
    i = CHECKS["adacomm_tau_star"]["inputs"]
    tau = best_local_steps(i["F0"] - i["Finf"], i["D"], i["eta"], i["L"], i["sigma2"], i["T"])
    _expect("adacomm_tau_star", tau)
    steps = np.linspace(1, 60, 60_001)
    bound = local_sgd_gradient_bound(i["F0"], i["eta"], i["T"], 1.0, i["D"], steps, i["L"], i["sigma2"], 8)
    assert tau == pytest.approx(steps[bound.argmin()], abs=0.002)
    assert adacomm_local_steps(20, 2.0, 0.1) == 5
    assert adacomm_local_steps(20, 2.0, 1e-9) == 1


# --- learning rates


@pytest.mark.published("Goyal et al. 2017, arXiv:1706.02677, sec. 2")
def test_linear_scaling():
    i = CHECKS["lr_linear_scaling_256gpu"]["inputs"]
    _expect("lr_linear_scaling_256gpu", linear_scaled_learning_rate(0.1, i["k"] * i["n"], 256))
    e = np.array([0.0, 5.0, 80.0])
    assert warmed_up_learning_rate(3.2, 0.1, e, 5) == pytest.approx([0.1, 3.2, 3.2])


def test_goyal_epoch_is_half_a_minute():
    i = CHECKS["goyal_352gpu_epoch_seconds"]["inputs"]
    seconds = i["images"] / (i["gpus"] * i["b"]) * i["t_iter"]
    _expect("goyal_352gpu_epoch_seconds", seconds)


def test_staleness_rules():
    _expect("gupta_lr", mean_staleness_learning_rate(0.001, 30))
    stale = np.array([0.0, 1.0, 2.0, 10.0])
    assert gradient_staleness_learning_rate(0.1, stale) == pytest.approx([0.1, 0.1, 0.05, 0.01])
    assert mean_staleness_learning_rate(0.1, 0.0) == 0.1
    assert distance_learning_rate(0.1, 0.01, np.array([0.0, 0.1, 1.0])) == pytest.approx([0.1, 0.1, 0.01])


def test_adagrad_and_noise_scale():
    gradients = np.array([0.3, -0.4])
    assert adagrad_learning_rate(0.01, (gradients**2).sum()) == pytest.approx(0.02)
    assert noise_scaled_learning_rate(0.4, 1000, 1e12) == pytest.approx(0.4, rel=1e-8)
    assert noise_scaled_learning_rate(0.4, 1000, 1) == pytest.approx(0.4 / 1001)


# --- batch size


def test_mccandlish_values():
    i = CHECKS["mccandlish_examples"]["inputs"]
    _expect("mccandlish_examples", epochs_formula(i["Emin"], i["Emin"] / i["Smin"], i["B"]))


def test_shipped_fits_are_what_the_fit_gives(tmp_path):
    names = ("validation/measured", "../shared/measured")
    root = Path(__file__).parents[1]
    files = [file for name in names if (file := root / name / "epochs_to_target.csv").is_file()]
    if not files:
        pytest.skip("the measured epochs are not beside this checkout")
    epochs_to_target.regenerate(files[0], tmp_path / "fits.json")
    assert json.loads((tmp_path / "fits.json").read_text()) == json.loads(epochs_to_target.RESULT.read_text())


def test_shipped_fits_are_sane():
    fits = epochs_to_target.load_fits()
    assert {fit.benchmark for fit in fits} >= {
        "resnet50",
        "bert",
        "ssd300",
        "maskrcnn",
        "gnmt",
        "transformer",
    }
    for fit in fits:
        assert fit.batch_sizes >= epochs_to_target.FEWEST_BATCH_SIZES
        assert fit.residual < 0.15
        assert fit.epochs(fit.largest_batch_size) > fit.epochs(fit.smallest_batch_size) > fit.smallest_epochs


@pytest.mark.published("MLPerf training submissions, medians of runs to top-1 0.759")
@pytest.mark.parametrize(("batch", "epochs"), [(3264, 35), (8192, 42), (16384, 48), (32768, 64), (65536, 88)])
def test_resnet50_epochs(batch, epochs):
    fit = epochs_to_target.epochs_fit("resnet50")
    assert fit.epochs(batch) == pytest.approx(epochs, rel=2 * fit.residual)
    assert fit.within_range(batch)


def test_time_to_a_target_accuracy():
    fit = epochs_to_target.epochs_fit("resnet50", "top-1 0.759")
    batches = np.array([256.0, 2048.0, 8192.0, 65536.0])
    # a rate that grows like the batch: larger is faster, ever less so
    times = fit.time(batches, 0.01 * batches * 1e3, 1281167)
    assert np.all(np.diff(times) < 0)
    assert times[0] / times[-1] < 256
    bert = epochs_to_target.epochs_fit("bert")
    assert bert.time(4096, 1000.0, samples_per_epoch=1e9) == pytest.approx(bert.epochs(4096) / 1000.0)


def test_fits_of_nothing_or_noise(tmp_path):
    smallest, critical, residual = epochs_to_target.fit_epochs([64, 128, 256, 512], [10, 10, 10, 10], [1] * 4)
    assert (smallest, critical, residual) == (pytest.approx(10), None, pytest.approx(0, abs=1e-12))
    flat = epochs_to_target.EpochsFit("x", "y", "epochs", "samples", 10, None, 0, 64, 512, 4, 4)
    assert flat.epochs(1e9) == 10
    with pytest.raises(InputError, match="nearest: resnet50"):
        epochs_to_target.epochs_fit("resnet-50")
    with pytest.raises(InputError, match="target of resnet50"):
        epochs_to_target.epochs_fit("resnet50", "top-1 0.8")
    with pytest.raises(InputError, match="cannot read"):
        epochs_to_target.regenerate(tmp_path / "none.csv", tmp_path / "out.json")
    (tmp_path / "bad.csv").write_text("benchmark,target\nx,y\nx,y\nx,y\nx,y\n")
    with pytest.raises(InputError, match="not a table"):
        epochs_to_target.fit_file(tmp_path / "bad.csv")


# --- Downpour and DistBelief


def test_downpour():
    assert push_load(10, 1e8, 5, 0.1) * 5 == pytest.approx(push_load(10, 1e8, 1, 0.1))
    assert fetch_load(10, 1e8, 5, 0.1) == pytest.approx(push_load(10, 1e8, 5, 0.1))
    ages = [step % 7 for step in range(70_000)]  # a replica that fetches every seventh step
    assert np.mean(ages) == extra_parameter_age(7)
    lost, whole = straggler_variant("async", ONE, 9), straggler_variant("async", ONE, 10)
    assert whole.update_time / lost.update_time == pytest.approx(async_throughput_kept(10, 1), rel=1e-12)


@pytest.mark.published("Dean et al. 2012, fig. 3")
def test_distbelief_speedups():
    check = CHECKS["distbelief_speech_sigma"]["inputs"]
    coherency = coherency_of_peak(check["n"], check["S"])
    contention = contention_of_peak(check["n"], coherency)
    _expect("distbelief_speech_sigma", contention)
    assert usl_peak_world_size(contention, coherency) == pytest.approx(8, rel=1e-12)
    assert usl_speedup(8, contention, coherency) == pytest.approx(2.2, rel=1e-12)
    assert usl_speedup(16, contention, coherency) == pytest.approx(2.004, abs=0.0005)
    check = CHECKS["distbelief_image_serial_frac"]["inputs"]
    _expect("distbelief_image_serial_frac", contention_of_point(check["n"], check["S"]))
    halo = halo_of_point(81, 12)
    assert halo == pytest.approx(0.1796875, rel=1e-12)
    assert tiled_speedup(81, halo) == pytest.approx(12, rel=1e-12)
    assert tiled_speedup(1, halo) == 1


def test_distbelief_fits_restate_their_facts():
    for fit in DISTBELIEF.values():
        assert fit.status == "fitted"
        assert fit.speedup_on(fit.machines) == pytest.approx(fit.speedup, rel=1e-12)
        assert fit.speedup_on(1) == 1
    assert DISTBELIEF["speech"].speedup_on(16) < 2.2
    assert DISTBELIEF["image"].speedup_on(1e9) == pytest.approx(13.9, abs=0.05)


def test_values_of_the_other_sections_are_tested():
    names = {name for name, check in CHECKS.items() if check["section"] in ("7", "8")}
    assert names == {
        "goyal_352gpu_epoch_seconds",
        "mccandlish_examples",
        "distbelief_speech_sigma",
        "distbelief_image_serial_frac",
    }


def test_a_schedule_chooses_what_gets_furthest():
    """The best K of each row, of all there are, by the bound that the row shows."""
    law = distribution("exponential", rate=1.0)
    answer = schedule(law, 16, learning_rate=0.5, communication_time=50.0, interval=300.0)
    for each in answer.choices:
        bounds = [
            nonconvex_gradient_bound(
                each.error,
                300 / straggler_variant("k-sync", law, 16, k=k).update_time,
                0.5,
                1.0,
                1.0,
                10.0,
                k,
                32,
            )
            for k in range(1, 17)
        ]
        assert min(bounds) <= each.k_sync_bound <= 1.05 * min(bounds)  # ln(W / (W - K)) for its sum
    chosen = [each.k_sync for each in answer.choices]
    assert chosen == sorted(chosen)
    steps = [each.local_steps for each in answer.choices]
    assert steps == sorted(steps, reverse=True)
    assert steps[0] > 1


@pytest.mark.parametrize(
    "asked",
    [
        ("--variant", "k-sync"),
        ("--k", "4"),
        ("--backups", "2"),
        ("--local-steps", "3"),
        ("--server-time", "1ms"),
        ("--curve",),
    ],
)
def test_a_schedule_refuses_what_it_chooses_itself(asked, invoke):
    done = invoke("stragglers", "--adaptive", *asked)
    assert done.exit_code == 2
    assert f"leave {asked[0]} out" in done.stderr


def test_titles_of_one_worker(invoke):
    shown = invoke("stragglers", "--variant", "async", "--workers", "1").stdout
    assert "1 worker," in shown


def test_a_schedule_is_printed(invoke):
    printed = invoke("stragglers", "--adaptive", "--workers", "16", "--communication-time", "0.5s")
    assert printed.exit_code == 0
    assert "AdaComm" in printed.stdout
    slow = invoke("stragglers", "--adaptive", "--distribution", "exponential", "--param", "rate=1e-9")
    assert slow.exit_code == 0
    for asked, words in (
        (("--interval", "0s"), "above 0"),
        (("--interval", "1e300"), "at most"),
        (("--interval", "1e-320"), "absurd number"),
        (("--learning-rate", "3"), "at most 1"),
        (("--learning-rate", "1e-300"), "absurd number"),
    ):
        done = invoke("stragglers", "--adaptive", *asked)
        assert done.exit_code == 2
        assert words in done.stderr
