"""Money, energy, carbon and failures: published figures, second methods, limits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.equations.cost import carbon_mass, job_energy, three_state_power
from perfmodel.equations.reliability import (
    daly_checkpoint_interval,
    expected_failures,
    goodput_fraction,
    job_failure_interval,
)

KWH, HOUR, DAY = 3.6e6, 3600.0, 86400.0


@pytest.mark.published("Patterson et al. 2021, arXiv:2104.10350, table 4: GPT-3")
def test_energy_and_carbon_of_gpt3():
    """10,000 V100s of 330 W, hosts included, for 14.8 days at a PUE of 1.10; days are printed to 0.3 %."""
    energy = job_energy(10_000, 330, 0, 0, 1.10, 14.8 * DAY)
    assert energy / KWH == pytest.approx(1287e3, rel=0.004)
    assert carbon_mass(energy, 429 / KWH) / 1e6 == pytest.approx(552.1, rel=0.004)


@pytest.mark.published("Llama team 2024, arXiv:2407.21783, sec. 3.3.4")
def test_a_large_job_stops_as_often_as_published():
    """16,384 accelerators in 2,048 nodes stopped 419 times in 54 days: once in three hours."""
    node = 54 * DAY * 2048 / 419
    job = job_failure_interval(node, 2048)
    assert job / HOUR == pytest.approx(3, abs=0.5)  # printed to one digit
    assert expected_failures(54 * DAY, job) == pytest.approx(419)


@given(st.floats(1e-3, 0.2), st.floats(0, 0.5))
def test_dalys_interval_wastes_no_more_than_the_best_one(checkpoint, restart):
    """Against a search of the complete model, in units of the time between failures."""
    tried = np.geomspace(1e-3, 3, 20_000)
    best = goodput_fraction(tried, checkpoint, restart, 1.0).max()
    chosen = goodput_fraction(daly_checkpoint_interval(checkpoint, 1.0), checkpoint, restart, 1.0)
    assert best * (1 - 1e-4) <= chosen <= best * (1 + 1e-6)


def test_goodput_is_what_a_simulated_job_keeps():
    """Events: failures strike work, checkpoints and restarts alike; 3000 checkpoints are kept."""
    interval, checkpoint, restart, failures = 0.5, 0.05, 0.1, 1.0
    rng = np.random.default_rng(7)
    kept, clock = 0, 0.0
    while kept < 3000:
        fails_after = rng.exponential(failures)
        if fails_after > interval + checkpoint:
            kept, clock = kept + 1, clock + interval + checkpoint
            continue
        clock += fails_after
        while (again := rng.exponential(failures)) < restart:
            clock += again
        clock += restart
    expected = goodput_fraction(interval, checkpoint, restart, failures)
    assert kept * interval / clock == pytest.approx(expected, rel=0.03)


def test_a_job_that_never_fails_keeps_all_but_its_checkpoints():
    assert goodput_fraction(900, 100, 50, 1e12) == pytest.approx(0.9, rel=1e-6)
    assert goodput_fraction(900, 0, 50, 1e12) == pytest.approx(1, rel=1e-6)


def test_the_interval_is_the_time_between_failures_where_checkpoints_take_longer():
    assert daly_checkpoint_interval(3.0, 1.0) == 1.0
    assert math.isfinite(daly_checkpoint_interval(2.0, 1.0))


@given(st.floats(0, 1), st.floats(0, 1))
def test_mean_power_lies_between_idle_and_busy(busy, share):
    power = three_state_power(busy, share * (1 - busy), 300, 150, 45)
    assert 45 * (1 - 1e-12) <= power <= 300 * (1 + 1e-12)
