"""What else than new software and accelerators makes intervals of transformers wider, and what says so."""

from __future__ import annotations

import math

import numpy as np
import pytest

from perfmodel import Scenario, layouts, predict, sweep
from perfmodel.evidence.accuracy.transformers.transformer_fit import learned_from
from perfmodel.evidence.accuracy.transformers.transformer_novelty import novelty_of
from perfmodel.evidence.accuracy.transformers.transformer_rows import shipped_transformer_runs
from perfmodel.model.transformers import uncertainty
from perfmodel.model.transformers.uncertainty import MOST_WIDER, novelty, why_wider, widenings
from perfmodel.workloads.catalogue import workload


def architecture(name):
    return workload(name).architecture


LARGE = {
    "workload": "gpt3-175b",
    "accelerator": "a100-sxm4-80gb",
    "gpus": 1024,
    "tensor_parallel": 8,
    "pipeline_parallel": 16,
    "global_batch_size": 1536,
    "framework": "megatron-core@2026",
    "recompute": "none",
    "sharding": "none",
}
SMALL = {
    "workload": "gpt2",
    "accelerator": "a100-sxm4-80gb",
    "gpus": 8,
    "framework": "pytorch-ddp@2026",
    "recompute": "none",
    "sharding": "none",
    "local_batch_size": 1,
}


def half_width(answer):
    return math.log(answer.interval.high_80 / answer.iteration_time)


def test_a_job_that_uses_little_is_wider_and_says_so():
    used, idle = predict(Scenario(**LARGE)), predict(Scenario(**SMALL))
    assert used.mfu > 0.3 > idle.mfu
    assert not used.interval.wider_because
    assert idle.interval.wider_because == ["predicted utilisation below 30 % (x1.5; 25 sources say so)"]
    assert half_width(idle) == pytest.approx(math.sqrt(0.3 / idle.mfu) * half_width(used), rel=1e-9)


def test_the_width_grows_steadily_as_utilisation_falls():
    model = architecture("gpt3-175b")
    used = np.linspace(0.05, 0.6, 200)
    new = novelty(model, "a100-sxm4-80gb", "nemo", others=widenings(model, 2048, "bf16", used))
    spreads = new.spread
    assert (np.diff(spreads) <= 0).all()
    assert np.abs(np.diff(np.log(spreads))).max() < 0.05
    for one, spread in zip(used[::20].tolist(), spreads[::20].tolist(), strict=True):
        alone = novelty(model, "a100-sxm4-80gb", "nemo", others=widenings(model, 2048, "bf16", one))
        assert alone.spread == pytest.approx(spread, rel=1e-12)


def test_what_widens_is_named_largest_first():
    model = architecture("t5-11b")
    new = novelty(model, "mi355x", "nemo", others=widenings(model, 2.0**24, "nvfp4", 0.2))
    said = why_wider(new)
    assert [words.partition(" (x")[0] for words in said] == [
        "no measured sequence beyond 1,048,576 tokens",
        "no measured run of a transformer on mi355x",
        "no measured run in nvfp4",
        "predicted utilisation below 30 %",
        "few runs of encoder-decoders were measured",
    ]
    factors = [float(words.partition("(x")[2].partition(";")[0]) for words in said]
    assert factors == sorted(factors, reverse=True)
    latent = architecture("deepseek-v3")
    assert any(
        "latent attention" in words
        for words in why_wider(
            novelty(latent, "h100-sxm5-80gb", "nemo", others=widenings(latent, 4096, "bf16", 0.4))
        )
    )


def test_limits_are_those_of_the_runs_that_were_learned_from():
    runs = learned_from(shipped_transformer_runs())
    assert max(run.case.sequence_length for run in runs) == uncertainty.LONGEST
    assert {run.precision for run in runs} == set(uncertainty.PRECISIONS)


def test_measured_rows_are_as_wide_as_their_utilisation():
    runs = {run.run_id: run for run in shipped_transformer_runs()}
    used, idle = (
        next(run for run in runs.values() if run.source == source and run.case is not None)
        for source in ("korthikanti-2022", "vtrain-single")
    )
    assert [each.factor for each in novelty_of(used).others] == [1.0]
    assert 1 < novelty_of(idle).others[0].factor <= MOST_WIDER


def test_layouts_are_each_as_wide_as_they_are_used():
    software = {"framework": "megatron-core@2026"}
    answer = layouts("gpt2", accelerator="a100-sxm4-80gb", gpus=8, global_batch_size=8, **software)
    widths = np.array([math.log(row.interval["high_80"] / row.iteration_time) for row in answer.rows])
    used = np.array([row.mfu for row in answer.rows])
    factors = np.clip(np.sqrt(0.3 / used), 1.0, MOST_WIDER)
    assert widths / factors == pytest.approx(np.full(len(used), widths[0] / factors[0]), rel=1e-9)
    assert any("utilisation" in words for words in answer.wider_because) == (used[0] < 0.3)


def test_a_sweep_is_as_wide_as_predictions():
    swept = sweep(**SMALL | {"local_batch_size": [1, 8, 64]})
    for row in swept.records():
        alone = predict(Scenario(**SMALL | {"local_batch_size": row["local_batch_size"]}))
        assert row["high_80"] == pytest.approx(alone.interval.high_80, rel=1e-9)
