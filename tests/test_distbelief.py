"""Downpour SGD and model-parallel replicas: against a simulation of events, and what DistBelief reports."""

from __future__ import annotations

import heapq
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import perfmodel
from perfmodel.equations.downpour import downpour_staleness
from perfmodel.model.prediction.training.distbelief import OPTIMIZER_COPIES

COUNTS = st.integers(1, 40)


def simulated_staleness(workers, push, fetch, steps=60_000, seed=5):
    """Mean updates of other replicas between each gradient's parameters and its push, by events."""
    random = np.random.default_rng(seed)
    times = random.exponential(1.0, steps).tolist()
    done = [0] * workers
    pushes, read = [0] * workers, [0] * workers
    held = [[] for _ in range(workers)]
    updates, seen = 0, []
    waiting = [(random.exponential(), worker) for worker in range(workers)]
    heapq.heapify(waiting)
    for time in times:
        now, worker = heapq.heappop(waiting)
        held[worker].append(read[worker])
        done[worker] += 1
        if done[worker] % push == 0:
            seen += [updates - pushes[worker] - before for before in held[worker]]
            held[worker] = []
            updates += 1
            pushes[worker] += 1
        if done[worker] % fetch == 0:
            read[worker] = updates - pushes[worker]
        heapq.heappush(waiting, (now + time, worker))
    settled = np.array(seen[len(seen) // 5 :], dtype=float)
    parts = settled[: len(settled) // 40 * 40].reshape(40, -1).mean(axis=1)
    return parts.mean(), parts.std(ddof=1) / 40**0.5


@pytest.mark.parametrize(
    ("workers", "push", "fetch"), [(10, 1, 1), (10, 1, 3), (8, 4, 4), (6, 4, 1), (12, 2, 6), (5, 3, 2)]
)
def test_staleness_is_that_of_a_simulation(workers, push, fetch):
    mean, error = simulated_staleness(workers, push, fetch)
    assert abs(mean - downpour_staleness(workers, push, fetch)) < 4 * error + 1e-9


@given(replicas=COUNTS, servers=COUNTS, push=st.integers(1, 9), fetch=st.integers(1, 9))
def test_no_port_carries_more_than_it_can(replicas, servers, push, fetch):
    answer = perfmodel.downpour(
        replicas=replicas, servers=servers, push_every=push, fetch_every=fetch, step_time=0.1
    )
    for every in (push, fetch):
        carried = answer.steps_per_second / every * answer.gradient_bytes
        assert carried <= min(replicas, servers) * answer.link_bandwidth * (1 + 1e-12)
    assert answer.steps_per_second <= replicas / 0.1 * (1 + 1e-12)
    assert answer.steps_per_second_waiting <= servers * answer.link_bandwidth / answer.gradient_bytes * min(
        push, fetch
    ) * (1 + 1e-12)
    assert (answer.server_load > 1) == (answer.binds == "the servers' ports") or answer.binds == (
        "the replicas' ports"
    )


@given(more=COUNTS, push=st.integers(1, 8))
def test_more_replicas_or_rarer_pushes_are_never_slower(more, push):
    def rate(**options):
        return perfmodel.downpour(step_time="50ms", **options).steps_per_second

    assert rate(replicas=more + 1) >= rate(replicas=more)
    assert rate(push_every=push + 1, fetch_every=push + 1) >= rate(push_every=push, fetch_every=push)


def test_a_lost_replica_costs_its_share_where_computation_binds_and_nothing_where_ports_do():
    computing = perfmodel.downpour(replicas=10, servers=100, step_time=10, lost=1)
    assert computing.binds == "computation"
    assert computing.throughput_kept == pytest.approx(0.9)
    queueing = perfmodel.downpour(replicas=100, servers=1, step_time=0.01, lost=1)
    assert queueing.binds == "the servers' ports"
    assert queueing.throughput_kept == 1
    assert queueing.replicas_kept == pytest.approx(0.99)


def test_the_step_is_the_predicted_one_with_its_interval():
    one = perfmodel.predict(workload="vgg16", accelerator="p100-sxm2-16gb")
    answer = perfmodel.downpour("vgg16", accelerator="p100-sxm2-16gb", replicas=2, servers=50)
    assert answer.step_time == one.iteration_time
    assert answer.samples_per_second == pytest.approx(2 * one.samples_per_second)
    assert answer.low_80 == pytest.approx(
        answer.samples_per_second * one.iteration_time / one.interval.high_80
    )


@pytest.mark.parametrize("optimizer", OPTIMIZER_COPIES)
def test_servers_hold_the_optimizers_state(optimizer):
    answer = perfmodel.downpour(servers=4, step_time=1, server_optimizer=optimizer)
    copies = OPTIMIZER_COPIES[optimizer]
    assert answer.server_memory == pytest.approx(answer.gradient_bytes / 4 * (2 + copies))


@pytest.mark.published("Dean et al. 2012, fig. 3: 2.2 times on 8 machines, over 12 on 81")
def test_speed_ups_restate_what_was_reported_and_say_so(invoke):
    for model, machines, speedup in (("speech", 8, 2.2), ("image", 81, 12.0)):
        answer = json.loads(invoke("model-parallel", "--model", model, "--json").stdout)
        assert answer["status"] == "fitted"
        row = next(row for row in answer["rows"] if row["machines"] == machines)
        assert row["fitted"]
        assert row["speedup"] == pytest.approx(speedup)
    printed = invoke("model-parallel", "--model", "image").stdout
    assert "fitted to:" in printed
    assert "the point itself" in printed


def test_a_replica_on_several_machines_takes_its_steps_faster():
    one = perfmodel.downpour(replicas=20, step_time="2s")
    many = perfmodel.downpour(replicas=20, step_time="2s", replica_model="speech", replica_machines=8)
    assert many.replica_speedup == pytest.approx(2.2)
    assert one.step_time / many.step_time == pytest.approx(2.2)


@given(machines=st.integers(2, 200), share=st.floats(0.01, 1))
def test_a_law_goes_through_its_point(machines, share):
    speedup = 1 + share * (machines - 1)
    answer = perfmodel.model_parallel(machines=[1, machines], point=(machines, speedup))
    assert [row.speedup for row in answer.rows] == [pytest.approx(1), pytest.approx(speedup)]
    if answer.rows[1].tiled_speedup is not None:
        assert answer.rows[1].tiled_speedup == pytest.approx(speedup)


@given(machines=st.integers(2, 200), share=st.floats(0, 0.99))
def test_a_peak_is_the_largest_of_its_law(machines, share):
    speedup = 1 + share * (machines**2 / (2 * machines - 1) - 1)
    near = [max(1, machines - 1), machines, machines + 1]
    answer = perfmodel.model_parallel(machines=near, point=(machines, speedup), peak=True)
    assert answer.rows[1].speedup >= max(row.speedup for row in answer.rows) * (1 - 1e-12)


def simulated_batch(draw, workers, portions, copies):
    """Time of Sandblaster's batch: who is free takes a portion, or at the end a copy of one that is out."""
    running = [(draw(), portion) for portion in range(workers)]
    heapq.heapify(running)
    given, done = workers, set()
    while len(done) < portions:
        time, portion = heapq.heappop(running)
        done.add(portion)
        if given < portions:
            heapq.heappush(running, (time + draw(), given))
            given += 1
        elif copies and (out := [one for one in range(portions) if one not in done]):
            heapq.heappush(running, (time + draw(), out[0]))
    return time


@pytest.mark.parametrize("copies", [True, False])
def test_sandblaster_takes_at_least_as_long_as_k_batch_sync_and_at_most_its_slowest_portion_longer(copies):
    random = np.random.default_rng(3)
    law = {"shift": 1.0, "rate": 2.0}
    times = [simulated_batch(lambda: 1 + random.exponential(0.5), 20, 200, copies) for _ in range(200)]
    error = 4 * np.std(times) / len(times) ** 0.5
    answer = perfmodel.stragglers(
        variant="k-batch-sync", workers=20, k=200, distribution="shifted-exponential", params=law
    )
    slowest = 1 + 0.5 * sum(1 / rank for rank in range(1, 21))
    assert answer.low - error <= np.mean(times) <= answer.low + slowest + error
