"""Closed forms of transformers hold against the numbers of the papers they are from."""

import pytest

from perfmodel.equations.compute import flops_utilization
from perfmodel.equations.transformer import hardware_flops_per_token, model_flops_per_token


@pytest.mark.published("Chowdhery et al. 2022, section 4.1: 46.2 % with attention, 45.7 % without")
def test_palm_540b():
    with_attention = model_flops_per_token(540.35e9, 118, 48, 256, 2048)
    rest = {"iteration_time": 1 / 238.3e3, "world_size": 6144, "peak_flops": 275e12}  # of one token
    assert flops_utilization(with_attention, **rest) == pytest.approx(0.462, abs=0.0005)
    assert flops_utilization(6 * 540.35e9, **rest) == pytest.approx(0.457, abs=0.0005)


def test_recomputing_nothing_costs_nothing():
    assert hardware_flops_per_token(7e9, 0) == 7e9
