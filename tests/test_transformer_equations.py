"""Closed forms of transformers hold against the numbers of the papers they are from."""

import pytest

from perfmodel.equations.transformer import (
    general_transformer_iteration_flops,
    hardware_flops_per_token,
    model_flops_per_token,
    model_flops_utilization,
    transformer_iteration_flops,
    transformer_parameters,
    transformer_recomputed_iteration_flops,
)


@pytest.mark.published("Narayanan et al. 2021, table 1: 174.6 billion parameters")
def test_gpt3_parameters():
    assert transformer_parameters(96, 12288, 51200, 2048) == pytest.approx(174.6e9, rel=5e-4)


@pytest.mark.published(
    "Narayanan et al. 2021, section 5.1: 300 billion tokens, 1024 A100, 140 TFLOP/s: 34 days"
)
def test_gpt3_training_days():
    batches = 300e9 / (1536 * 2048)
    flops = batches * transformer_recomputed_iteration_flops(1536, 2048, 96, 12288, 51200)
    assert flops / (1024 * 140e12) / 86400 == pytest.approx(34, abs=1)


def test_megatron_flops_two_ways():
    assert transformer_recomputed_iteration_flops(1536, 2048, 96, 12288, 51200) == pytest.approx(
        4.5109707533231063e18, rel=1e-12
    )
    assert transformer_iteration_flops(1536, 2048, 96, 12288, 51200) == pytest.approx(
        3.3861967463873244e18, rel=1e-12
    )
    assert general_transformer_iteration_flops(1536, 2048, 96, 12288, 51200, 1, 1, 4, 1, 1) == pytest.approx(
        3.3861967463873244e18, rel=1e-12
    )


@pytest.mark.published("Chowdhery et al. 2022, section 4.1: 46.2 % with attention, 45.7 % without")
def test_palm_540b():
    with_attention = model_flops_per_token(540.35e9, 118, 48, 256, 2048)
    rest = {"tokens_per_second": 238.3e3, "world_size": 6144, "peak_flops": 275e12}
    assert model_flops_utilization(with_attention, **rest) == pytest.approx(0.462, abs=0.0005)
    assert model_flops_utilization(6 * 540.35e9, **rest) == pytest.approx(0.457, abs=0.0005)


def test_recomputing_nothing_costs_nothing():
    assert hardware_flops_per_token(7e9, 0) == 7e9
